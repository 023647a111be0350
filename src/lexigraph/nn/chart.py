"""Charts of the trees over a sentence: the best one (Cocke, Kasami, Younger), the sum over all (inside algorithm).

v(i, j) is what it is worth that the words i … j - 1 are a phrase, 0 that they are none. A phrase of many parts is
made of its first part, and of what is no phrase with the rest in it: so every tree is made in one way.

    body(i, j)  = Σ_k first(i, k) any(k, j)            one word: 1
    any(i, j)   = (1 + exp v(i, j)) body(i, j)
    first(i, j) = exp v(i, j) body(i, j)               one word, which need not be a phrase: any(i, j)

in logarithms; the best tree has max for Σ, and so max(0, v) for 1 + exp v. The whole is always a phrase. A chart is
filled by widths, all positions of all sentences at once: an array for every width, by where its spans begin.

Shapes: B batch, N = T + 1 positions between words, 0 … T.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def best_trees(v: Float[np.ndarray, "B N N"], lengths: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The phrases (i, j) of the tree of greatest value over each sentence, parents first."""
    words = np.diagonal(v, 1, 1, 2)
    either = [np.zeros_like(v[:, 0]), np.maximum(words, 0)]  # any, by width
    first, splits = list(either), [np.zeros(v.shape[:2], np.int64)] * 2
    for width in range(2, v.shape[1]):
        count, here = v.shape[1] - width, np.diagonal(v, width, 1, 2)
        options = np.stack([first[k][:, :count] + either[width - k][:, k : k + count] for k in range(1, width)])
        splits.append(options.argmax(0) + 1)
        body = options.max(0)
        either.append(body + np.maximum(here, 0))
        first.append(body + here)
    return [_phrases(v[row], [split[row] for split in splits], length) for row, length in enumerate(lengths)]


def _phrases(v: Float[np.ndarray, "N N"], splits: list[np.ndarray], length: int) -> list[tuple[int, int]]:
    found, waiting = [], [(0, length, True)]
    while waiting:
        i, j, phrase = waiting.pop()
        if phrase or v[i, j] > 0:
            found.append((i, j))
        if j - i > 1:
            k = i + int(splits[j - i][i])
            waiting += [(k, j, False), (i, k, k - i > 1)]
    return found


def inside(v: Float[Tensor, "B N N"], lengths: Sequence[int]) -> Float[Tensor, " B"]:
    """The logarithm of Σ exp(value) over all trees of each sentence."""
    words = v.diagonal(1, 1, 2)
    either = [v[:, 0], F.softplus(words)]
    first, whole = list(either), [v[:, 0], words]
    for width in range(2, v.shape[1]):
        count, here = v.shape[1] - width, v.diagonal(width, 1, 2)
        options = [first[k][:, :count] + either[width - k][:, k : k + count] for k in range(1, width)]
        body = torch.stack(options).logsumexp(0)
        either.append(body + F.softplus(here))
        first.append(body + here)
        whole.append(first[-1])
    return torch.stack([whole[length][row, 0] for row, length in enumerate(lengths)])
