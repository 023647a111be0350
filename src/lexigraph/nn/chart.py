"""Charts of the trees over a sentence: the best one (Cocke, Kasami, Younger), the sum over all (inside algorithm).

    best(i, j)   = v(i, j) + max_k  best(i, k) + best(k, j)                      one word: v(i, i + 1)
    inside(i, j) = v(i, j) + log Σ_k exp(inside(i, k) + inside(k, j))

v(i, j) is what it is worth to have the words i … j - 1 as a node of a tree with two children at every node. A chart
is filled by widths, all places of all sentences at once: an array for every width, by where a node begins.

Shapes: B batch, N = T + 1 places between words, 0 … T.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


def best_trees(values: Float[np.ndarray, "B N N"], lengths: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The nodes (i, j) of the tree of greatest value over each sentence, parents first."""
    places = values.shape[1]
    best = [np.zeros((len(values), places)), values[:, np.arange(places - 1), np.arange(1, places)]]
    splits = [np.zeros((len(values), places), np.int64)] * 2
    for width in range(2, places):
        begin = np.arange(places - width)
        options = np.stack(
            [best[k][:, : len(begin)] + best[width - k][:, k : k + len(begin)] for k in range(1, width)]
        )
        splits.append(options.argmax(0) + 1)
        best.append(options.max(0) + values[:, begin, begin + width])
    return [_nodes([split[row] for split in splits[: length + 1]], length) for row, length in enumerate(lengths)]


def _nodes(splits: list[np.ndarray], length: int) -> list[tuple[int, int]]:
    found, waiting = [], [(0, length)]
    while waiting:
        i, j = waiting.pop()
        found.append((i, j))
        if j - i > 1:
            k = i + int(splits[j - i][i])
            waiting += [(k, j), (i, k)]
    return found


def inside(values: Float[Tensor, "B N N"], lengths: Sequence[int]) -> Float[Tensor, " B"]:
    """The logarithm of Σ exp(value) over all trees of each sentence."""
    places = values.shape[1]
    by_width = [values[:, 0], values.diagonal(1, 1, 2)]
    for width in range(2, places):
        count = places - width
        options = [by_width[k][:, :count] + by_width[width - k][:, k : k + count] for k in range(1, width)]
        by_width.append(torch.stack(options).logsumexp(0) + values.diagonal(width, 1, 2))
    return torch.stack([by_width[length][row, 0] for row, length in enumerate(lengths)])
