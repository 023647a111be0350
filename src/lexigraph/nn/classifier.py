"""What classifiers have in common: one label for an example.

loss = - Σ w(label) log p(label) / Σ w(label)            over examples whose label was seen in training; w is 1 unless
                                                         a system's objective weighs classes
With label smoothing ε, log p(label) is (1 - ε) log p(label) + ε Σ_c log p(c) / C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.registry import nearest
from lexigraph.text.vocabularies import Labels

LABEL = "label"
WEIGHT = "weight"


class Classified(NamedTuple):
    """How probable each class is; where attention pools, what was read and the share of each token."""

    probabilities: Float[Tensor, " C"]
    tokens: Int[Tensor, " T"] | None = None
    attention: Float[Tensor, " T"] | None = None


class ClassifierNetwork(Predictor[Classified]):
    """A network with logits for every class."""

    smoothing = 0.0  # of labels, in the loss

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        raise NotImplementedError

    def token_weights(self) -> Float[Tensor, "V C"] | None:
        """What one more of each token does to each class, where that can be said."""
        return None

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        return self.terms(self.logits(batch), batch), None

    def terms(self, logits: Float[Tensor, "B C"], batch: Batch) -> Terms:
        """The loss of some logits."""
        labels = batch[LABEL]
        nll = F.cross_entropy(logits, labels, reduction="none", ignore_index=-1, label_smoothing=self.smoothing)
        total = (nll * batch[WEIGHT]).sum() if WEIGHT in batch.tensors else nll.sum()
        return {"loss": Term(total, batch.counts["loss"], items=nll.detach()[:, None])}

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {LABEL: list(self.logits(batch))}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Classified]:
        return [Classified(row) for row in self.logits(batch).float().softmax(1)]

    def merge(self, windows: Sequence[Classified]) -> Classified:
        """The mean over the windows of a long text."""
        return Classified(torch.stack([window.probabilities for window in windows]).mean(0))


def labelled(tensors: dict[str, Tensor], examples: Examples, weights: Float[Tensor, " C"] | None = None) -> Batch:
    """A batch with the labels of its examples, where they have any; one that training has not seen does not count.

    weights: how much an example of each class counts, where they differ.
    """
    if LABEL not in examples:
        return Batch(tensors, {"loss": 0.0})
    labels = torch.tensor([int(label) for label in ragged(examples[LABEL])])
    known = (labels >= 0).float()
    if weights is None:
        return Batch(tensors | {LABEL: labels}, {"loss": float(known.sum())})
    weight = known * weights[labels.clamp(min=0)]
    return Batch(tensors | {LABEL: labels, WEIGHT: weight}, {"loss": float(weight.sum())})


def weights_of(given: Mapping[str, float], labels: Labels) -> Float[Tensor, " C"] | None:
    """The weight of each class in the loss, 1 where none is given; None where none is at all."""
    for name, weight in given.items():
        if name not in labels.names:
            raise UsageError(f"objective.class_weights: there is no class {name!r}{nearest(name, labels.names)}")
        if not 0 < weight < float("inf"):
            raise UsageError(f"objective.class_weights: {name} = {weight} must be greater than 0.")
    return torch.tensor([float(given.get(name, 1)) for name in labels.names], device="cpu") if given else None
