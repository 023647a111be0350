"""Predict words in any order (XLNet: Yang et al. 2019).

    p(x) = Π_t p(x_{z_t} | x_{z_1} … x_{z_{t-1}})          z: an order of the positions, drawn for each text
    only the last sixth of the order is predicted; what comes before is context

The words stay where they are: the order is in the masks alone. Two streams run through the network, and position i
sees position j, when `ranks` says at which step of the order a position becomes known, as

    content    rank_j ≤ rank_i     what is at i, as those after it in the order see it
    query      rank_j < rank_i     all that is known when i is predicted; i's word is not

Words of the context come first and need no order among themselves: they have rank 0 and see one another, as in the
authors' code (`ordered=True`: as in their equations, each sees only those before it). A model gives its boundaries
rank 0 and its padding rank FAR: seen by no word, and itself never without anything to see.

Rows are texts without boundaries. Ids below `special` are never predicted.

Shapes: n tokens of a row.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Int, Integer
from torch import Tensor

from lexigraph.objectives.masking import choose, choose_spans

FAR = 1 << 30  # the rank of padding

Array = TypeVar("Array", np.ndarray, Tensor)


def factorise(
    row: Integer[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    special: int,
    mask_rate: float = 1 / 6,
    longest: int = 5,
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """An order of the positions, and which of them are predicted: always the last in it.

    Predicted are max(1, round(mask_rate n)) positions, in spans of up to `longest` (1: each for itself; then all
    orders are equally likely)."""
    if longest > 1:
        predicted = choose_spans(row, random, special=special, mask_rate=mask_rate, longest=longest)
    else:
        predicted = choose(row, random, special=special, mask_rate=mask_rate)
    order = random.permutation(len(row))
    return order[np.argsort(predicted[order], kind="stable")], predicted


def ranks_of(
    order: Int[np.ndarray, " n"], predicted: Bool[np.ndarray, " n"], *, ordered: bool = False
) -> Int[np.ndarray, " n"]:
    """The step at which each position becomes known; 0 for all of the context, unless it is ordered, too."""
    steps = order if ordered else order[predicted[order]]
    ranks = np.zeros(len(order), np.int64)
    ranks[steps] = np.arange(1, len(steps) + 1)
    return ranks


def masks(ranks: Int[Array, "*rows n"]) -> tuple[Bool[Array, "*rows n n"], Bool[Array, "*rows n n"]]:
    """Where the content stream and the query stream may look: true at [i, j] if i may look at j.

    >>> content, query = masks(np.array([0, 2, 1]))
    >>> content.astype(int).tolist()
    [[1, 0, 0], [1, 1, 1], [1, 0, 1]]
    >>> query.astype(int).tolist()
    [[0, 0, 0], [1, 0, 1], [1, 0, 0]]
    """
    looking, seen = ranks[..., :, None], ranks[..., None, :]
    return seen <= looking, seen < looking
