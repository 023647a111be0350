"""Analogies of sentences as a target: what was done to one sentence is done to another by adding vectors.

    z = z(given) + f (z(after) − z(before)) + (z(after2) − z(before2))      →  result
    before   He sang.         after   Did he sing?
    given    She is tired.    result  Is she tired?

A further table [data.analogies] has these six texts a row; a second difference may be left out. Sentences need not be
alike, so that a difference must mean the same wherever it comes from. In training f is 1 for most rows and between
0.5 and 1.5 for the others, and the result is the same: people do not weigh their words.

Shapes: R rows, T time, k entries of z.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.objectives import rng
from lexigraph.objectives.next_token import IGNORE
from lexigraph.text.columns import Column, Columns

TABLE = "analogies"
TERMS = ("before", "after", "before2", "after2", "given")
RESULT = "result"
COLUMNS: Columns = {
    name: Column("tokens", table=TABLE, optional=True, blank=name.endswith("2")) for name in (*TERMS, RESULT)
}
STRENGTH = 13  # stream of random numbers (objectives/rng.py)
WEAKER = 0.3  # the share of rows with another factor than 1
LEAST, MOST = 0.5, 1.5

Read = Callable[[Int[Tensor, "N T"], Bool[Tensor, "N T"], Int[Tensor, " N"] | None], Float[Tensor, "N k"]]


def sums(texts: dict[str, Int[Tensor, "R _"]], read: Read, seeds: Int[Tensor, " R"] | None) -> Float[Tensor, "R k"]:
    """The sum of every row, from the targets of its texts (padded with IGNORE), all read at once."""
    width = max(texts[name].shape[1] for name in TERMS)
    ids = torch.cat([F.pad(texts[name], (0, width - texts[name].shape[1]), value=IGNORE) for name in TERMS])
    each = None if seeds is None else torch.cat([(seeds + n * 0x1E3779B1) & rng.WORD for n in range(len(TERMS))])
    before, after, before2, after2, given = read(ids.clamp(min=0), ids != IGNORE, each).unflatten(0, (len(TERMS), -1))
    second = ((texts["after2"] != IGNORE).sum(1) > 1)[:, None]  # more than the end
    return given + _strengths(seeds, len(given), given) * (after - before) + second * (after2 - before2)


def _strengths(seeds: Int[Tensor, " R"] | None, rows: int, like: Tensor) -> Float[Tensor, "R 1"]:
    if seeds is None:
        return like.new_ones(rows, 1)
    drawn = rng.uniform(seeds, 2, STRENGTH)
    return torch.where(drawn[:, 0] < WEAKER, LEAST + (MOST - LEAST) * drawn[:, 1], 1.0)[:, None].to(like.dtype)
