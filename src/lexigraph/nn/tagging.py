"""What taggers have in common: one tag for each word of a sentence.

softmax   p(tags) = Π_t p(tag of t),   p(tag of t) = softmax(E_t)
CRF       tags of a sentence that fit together (nn/crf.py)
loss      - Σ log p(tags) / words            over words whose tag was seen in training

Shapes: B batch, T words, C tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.crf import CRF
from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.batches import padded

WORDS, TAGS = "words", "tags"


class Tagged(NamedTuple):
    """The tag of each word, and how probable each one is for it."""

    tags: Int[Tensor, " T"]
    probabilities: Float[Tensor, "T C"]


class TaggerNetwork(Predictor[Tagged]):
    """A network that says of every word how well each tag would do."""

    tag_names: tuple[str, ...]
    scheme: str = ""  # BIO or BIOES, where it answers in one of them
    crf: CRF | None  # else a softmax

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        raise NotImplementedError

    def nll(self, logits: Float[Tensor, "B T C"], batch: Batch) -> Float[Tensor, " B"]:
        """- log p(tags) of every sentence."""
        if self.crf is not None:
            return self.crf.nll(logits, batch[TAGS], batch["lengths"])
        return F.cross_entropy(logits.transpose(1, 2), batch[TAGS], reduction="none", ignore_index=IGNORE).sum(1)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        nll = self.nll(self.logits(batch), batch)
        return {"loss": Term(nll.sum(), batch.counts["loss"], items=nll.detach()[:, None])}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """The logits of every word's tags, and how probable they are."""
        logits, lengths = self.logits(batch), batch["lengths"].tolist()
        found = {"logits": logits, TAGS: self.decoded(logits, batch["lengths"])[1]}
        return {name: [row[:n] for row, n in zip(rows, lengths, strict=True)] for name, rows in found.items()}

    def decoded(
        self, logits: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"]
    ) -> tuple[Int[Tensor, "B T"], Float[Tensor, "B T C"]]:
        """The best tags, and the probability of each."""
        if self.crf is not None:
            return self.crf.viterbi(logits, lengths), self.crf.marginals(logits, lengths)
        return logits.argmax(2), logits.softmax(2)

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Tagged]:
        tags, probabilities = self.decoded(self.logits(batch).float(), batch["lengths"])
        rows = zip(tags, probabilities, batch["lengths"].tolist(), strict=True)
        return [Tagged(best[:n], row[:n]) for best, row, n in rows]

    def merge(self, windows: Sequence[Tagged]) -> Tagged:
        """Windows that do not overlap, one after the other."""
        return Tagged(*(torch.cat(parts) for parts in zip(*windows, strict=True)))


def tagged(tensors: dict[str, Tensor], examples: Examples) -> Batch:
    """A batch with the tags of its words, where they have any; one that training has not seen does not count."""
    if TAGS not in examples:
        return Batch(tensors, {"loss": 0.0})
    rows = ragged(examples[TAGS])
    tags = torch.from_numpy(padded(rows, IGNORE))
    known = tags.where(tags >= 0, IGNORE)
    return Batch(tensors | {TAGS: known}, {"loss": float((known != IGNORE).sum())})
