"""Texts in which no n-gram comes twice (Paulus et al. 2018), as summaries are searched for.

A token that would end an n-gram which its hypothesis has already written gets probability 0; the others keep theirs.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Repeats:
    """What each row of a search has written; nothing is kept if n is 0."""

    def __init__(self, n: int, rows: int) -> None:
        self.n = n
        self.rows: list[list[int]] = [[] for _ in range(rows if n else 0)]

    def forbid(self, log_p: Float[Tensor, "rows V"]) -> None:
        """Take from every row the tokens that would write an n-gram again."""
        for number, row in enumerate(self.rows):
            if never := again(row, self.n):
                log_p[number, torch.tensor(never, device=log_p.device)] = -torch.inf

    def keep(self, going: Int[Tensor, " sentences"], width: int) -> None:
        """Only these sentences."""
        if self.n:
            self.rows = [self.rows[first * width + place] for first in going.tolist() for place in range(width)]

    def follow(self, parents: Int[Tensor, "sentences width"], tokens: Int[Tensor, "sentences width"]) -> None:
        """Every row goes on from its parent with a token."""
        if self.n:
            width, both = parents.shape[1], zip(parents.flatten().tolist(), tokens.flatten().tolist(), strict=True)
            self.rows = [[*self.rows[r // width * width + p], token] for r, (p, token) in enumerate(both)]


def again(row: list[int], n: int) -> list[int]:
    """The tokens that would make the last n tokens of a row an n-gram that it has already.

    >>> again([5, 6, 7, 5, 6], 3), again([5, 5], 1)
    ([7], [5])
    """
    last = row[len(row) - n + 1 :]
    return sorted({row[i + n - 1] for i in range(len(row) - n + 1) if row[i : i + n - 1] == last})
