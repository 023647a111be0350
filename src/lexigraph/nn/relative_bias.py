"""How far apart two positions stand, as a number that is added to their score (Raffel et al. 2020).

    score(t, s) = q_t · k_s + b[bucket(s - t)]                 b: one number per bucket and head, learned

Near distances have a bucket each; from half of the buckets on, these widen with the logarithm of the distance, and
all from `farthest` on share the last one. With `bidirectional` half of them belong to positions that come later.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class RelativeBias(nn.Module):
    """The table of b; one serves all layers of a stack."""

    def __init__(self, heads: int, *, bidirectional: bool, buckets: int = 32, farthest: int = 128) -> None:
        super().__init__()
        self.table = nn.Embedding(buckets, heads)
        self.bidirectional, self.buckets, self.farthest = bidirectional, buckets, farthest

    def forward(self, queries: int, keys: int, first: int = 0) -> Float[Tensor, "1 H queries keys"]:
        """What is added to the scores of so many queries, the first at position `first`, and of keys from 0 on."""
        device = self.table.weight.device
        distance = torch.arange(keys, device=device) - torch.arange(first, first + queries, device=device)[:, None]
        found = bucket(distance, bidirectional=self.bidirectional, buckets=self.buckets, farthest=self.farthest)
        return self.table(found).permute(2, 0, 1)[None]


def bucket(
    distance: Int[Tensor, "*shape"], *, bidirectional: bool, buckets: int = 32, farthest: int = 128
) -> Int[Tensor, "*shape"]:
    """The bucket of each distance, key minus query; without `bidirectional`, later keys count as the query's own
    position.

    >>> bucket(torch.tensor([-200, -20, -3, 0, 3, 200]), bidirectional=True).tolist()
    [15, 10, 3, 0, 19, 31]
    """
    later = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        later = (distance > 0) * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    single = buckets // 2  # distances that have a bucket of their own
    octaves = (distance.clamp(min=1).float() / single).log() / math.log(farthest / single)
    wide = (single + (octaves * (buckets - single)).long()).clamp(max=buckets - 1)
    return later + torch.where(distance < single, distance, wide)
