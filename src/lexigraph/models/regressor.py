"""Recurrent regressor: a sequence of vectors is read, and one number is said at its end.

    h_t = cell(x_t, h_{t-1})             x_t brought to mean 0 and deviation 1 where `standardise` is set
    ŷ   = w · h_T + b                    in deviations of the training split's numbers from their mean

It is how the adding problem is asked (Hochreiter & Schmidhuber 1997; Le et al. 2015, Arjovsky et al. 2016): numbers
come with marks, and the answer is the sum of the two that were marked, however long ago.

Shapes: B batch, T time, k numbers in a vector, d width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.nn.cells import CellName
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.regression import NUMBER, VECTORS, RegressorNetwork, numbered
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    cell: CellName = key("lstm", about="the recurrent cell")
    layers: int = ranged(1, 1, about="layers, one above the other")
    dim: int = ranged(128, 1, about="numbers in a state")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    standardise: bool = key(False, about="bring each number of the vectors to mean 0 and deviation 1 first")


@dataclass(frozen=True)
class Objective:
    pass


class RecurrentRegressor(RegressorNetwork):
    """The network; `network(vectors, lengths)` gives a number for each sequence."""

    traits = Traits(windowed=VECTORS, reads_whole=True, corrupts_on_host=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        self.config, self.objective = config, objective
        self.numbers, self.inputs = vocabularies.numbers(NUMBER), vocabularies.numbers(VECTORS)
        self.recurrent = Recurrent(config.cell, len(self.inputs), config.dim, config.layers, dropout=config.dropout)
        self.output = nn.Linear(self.recurrent.width, 1)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {
            VECTORS: Column("vectors", vocabulary=VECTORS),
            NUMBER: Column("number", vocabulary=NUMBER, optional=True),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Sequences padded on the right, and their numbers."""
        rows = ragged(examples[VECTORS])
        lengths = np.array([len(row) for row in rows])
        vectors = np.zeros((len(rows), lengths.max(), *self.inputs.shape), np.float32)
        for number, row in enumerate(rows):
            vectors[number, : len(row)] = row
        return numbered({"inputs": torch.from_numpy(vectors), "lengths": torch.from_numpy(lengths)}, examples)

    def forward(self, vectors: Float[Tensor, "B T k"], lengths: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """What is said at the end of each sequence, in deviations from the mean."""
        x = vectors.to(self.output.weight.dtype)
        if self.config.standardise:
            x = (x - x.new_tensor(self.inputs.means)) / x.new_tensor(self.inputs.deviations)
        h, _ = self.recurrent(x, lengths)
        last = h[torch.arange(len(h), device=h.device), lengths - 1]
        return self.output(last)[:, 0]

    def values(self, batch: Batch) -> Float[Tensor, " B"]:
        return self(batch["inputs"], batch["lengths"])
