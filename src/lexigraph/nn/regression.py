"""What regressors have in common: one number for an example.

ŷ = mean + deviation · network(x)                       of the training split's numbers
loss = Σ ((y - ŷ) / deviation)² / examples
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.vocabularies import Numbers

VECTORS, NUMBER = "vectors", "number"


class RegressorNetwork(Predictor[float]):
    """A network with one value for each example, in deviations from the mean."""

    numbers: Numbers

    def values(self, batch: Batch) -> Float[Tensor, " B"]:
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        return self.terms(self.values(batch), batch), None

    def terms(self, values: Float[Tensor, " B"], batch: Batch) -> Terms:
        """The loss of some values."""
        squares = (values - (batch[NUMBER] - self.numbers.mean) / self.numbers.deviation).square()
        return {"loss": Term(squares.sum(), batch.counts["loss"], items=squares.detach()[:, None])}

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {NUMBER: list(self.values(batch)[:, None])}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[float]:
        return (self.numbers.mean + self.numbers.deviation * self.values(batch).double()).tolist()

    def merge(self, windows: Sequence[float]) -> float:
        """The mean over the windows of a long sequence."""
        return sum(windows) / len(windows)


def numbered(tensors: dict[str, Tensor], examples: Examples) -> Batch:
    """A batch with the numbers of its examples, where they have any."""
    if NUMBER not in examples:
        return Batch(tensors, {"loss": 0.0})
    numbers = torch.tensor([float(number) for number in ragged(examples[NUMBER])])
    return Batch(tensors | {NUMBER: numbers}, {"loss": float(len(numbers))})
