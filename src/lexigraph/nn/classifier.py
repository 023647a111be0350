"""What classifiers have in common: one label for an example.

loss = - Σ log p(label) / examples            over examples whose label was seen in training
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.terms import Batch, Carry, Term, Terms

LABEL = "label"


class Classified(NamedTuple):
    """How probable each class is."""

    probabilities: Float[Tensor, " C"]


class ClassifierNetwork(Predictor[Classified]):
    """A network with logits for every class."""

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        raise NotImplementedError

    def token_weights(self) -> Float[Tensor, "V C"] | None:
        """What one more of each token does to each class, where that can be said."""
        return None

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        logits, labels = self.logits(batch), batch[LABEL]
        nll = F.cross_entropy(logits, labels, reduction="none", ignore_index=-1)
        return {"loss": Term(nll.sum(), batch.counts["loss"], items=nll.detach()[:, None])}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {LABEL: list(self.logits(batch))}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Classified]:
        return [Classified(row) for row in self.logits(batch).float().softmax(1)]

    def merge(self, windows: Sequence[Classified]) -> Classified:
        """The mean over the windows of a long text."""
        return Classified(torch.stack([window.probabilities for window in windows]).mean(0))


def labelled(tensors: dict[str, Tensor], examples: Examples) -> Batch:
    """A batch with the labels of its examples, where they have any; one that training has not seen does not count."""
    if LABEL not in examples:
        return Batch(tensors, {"loss": 0.0})
    labels = torch.tensor([int(label) for label in ragged(examples[LABEL])])
    return Batch(tensors | {LABEL: labels}, {"loss": float((labels >= 0).sum())})
