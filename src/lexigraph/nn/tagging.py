"""What taggers have in common: one tag for each word of a sentence.

loss = - Σ log p(tag) / words            over words whose tag was seen in training
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.batches import padded

WORDS, TAGS = "words", "tags"


class Tagged(NamedTuple):
    """How probable each tag is for each word."""

    probabilities: Float[Tensor, "T C"]


class TaggerNetwork(Predictor[Tagged]):
    """A network with logits for every word's tags."""

    tag_names: tuple[str, ...]

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        logits, tags = self.logits(batch), batch[TAGS]
        nll = F.cross_entropy(logits.transpose(1, 2), tags, reduction="none", ignore_index=IGNORE)
        return {"loss": Term(nll.sum(), batch.counts["loss"], items=nll.detach())}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {TAGS: [row[:n] for row, n in zip(self.logits(batch), batch["lengths"].tolist(), strict=True)]}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Tagged]:
        return [Tagged(row.float().softmax(1)) for row in self.outputs(batch)[TAGS]]

    def merge(self, windows: Sequence[Tagged]) -> Tagged:
        """Windows that do not overlap, one after the other."""
        return Tagged(torch.cat([window.probabilities for window in windows]))


def tagged(tensors: dict[str, Tensor], examples: Examples) -> Batch:
    """A batch with the tags of its words, where they have any; one that training has not seen does not count."""
    if TAGS not in examples:
        return Batch(tensors, {"loss": 0.0})
    rows = ragged(examples[TAGS])
    tags = torch.from_numpy(padded(rows, IGNORE))
    known = tags.where(tags >= 0, IGNORE)
    return Batch(tensors | {TAGS: known}, {"loss": float((known != IGNORE).sum())})
