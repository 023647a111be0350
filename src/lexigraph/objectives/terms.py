"""A loss is a dictionary of terms, and its value is the sum of weight * total / count.

Totals and counts travel apart, so that a batch may be cut into micro-batches and over processes: counts are
known before the network runs (`Batch.counts`), are summed over all parts, and each part's total is divided by
that sum. Then 1 x 32 rows, 32 x 1 rows and 2 processes x 16 rows give the same gradient, whatever the padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Term:
    """One part of a loss: `total` is a sum over `count` items (tokens, sentences, pairs)."""

    total: Float[Tensor, ""]
    count: float
    weight: float = 1.0
    items: Float[Tensor, "rows time"] | None = None  # what was summed, for scores of single texts


Terms = dict[str, Term]
Carry = dict[str, Tensor]  # what a system with memory hands to its next window


@dataclass(frozen=True)
class Batch:
    """A batch as the network takes it: named tensors, and how many items each loss term will count."""

    tensors: dict[str, Tensor]
    counts: dict[str, float] = field(default_factory=dict)

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        moved = {name: value.to(device, non_blocking=True) for name, value in self.tensors.items()}
        return Batch(moved, self.counts)

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]


def value(terms: Mapping[str, Term], counts: Mapping[str, float | Tensor] | None = None) -> Float[Tensor, ""]:
    """The loss: each total over its count, here or (given `counts`) over all parts of the batch."""
    shares = []
    for name, term in terms.items():
        count = term.count if counts is None else counts.get(name, 0.0)
        if term.weight and not (isinstance(count, float) and count == 0):  # else only reported, or of nothing
            shares.append(term.weight * term.total / count)
    return torch.stack(shares).sum()
