"""A number for a pair of texts: how alike they are, how one follows from the other, on whatever scale the data has.

    v = the vector of the pair                      nn/text_vectors.py: read together, apart, in both orders
    v = ReLU(W v + b)                               for each of the `hidden` layers
    ŷ = mean + deviation · (w · v + b)              of the training split's numbers
    loss = Σ ((y - ŷ) / deviation)² / pairs  +  λ · NLL of the texts' own tokens      λ: `auxiliary`

Fine-tuned networks estimate the similarity of the STS benchmark so (Devlin et al. 2019; Radford et al. 2018, who read
both orders: `model.symmetric`). It is a system of its own, for a 4 in the place of a 5 is nearly right and a class is
not, and the scores are correlations. It reads as `classifier` does, and has its numbers from what `regressor` has.

Shapes: B batch, w of v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.nn.network import NO_PARTS, Examples, Parts, Seeds
from lexigraph.nn.regression import NUMBER, RegressorNetwork, numbered
from lexigraph.nn.text_config import TextConfig, TextObjective
from lexigraph.nn.text_vectors import TextNetwork
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key
from lexigraph.text.columns import Column, Columns
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(TextConfig):
    pairs: Literal["together", "apart"] = key(
        "together", about="a part reads both texts as one (without a part: apart), or each has a vector"
    )
    symmetric: bool = key(True, about="read in both orders, and the mean of both vectors taken")


@dataclass(frozen=True)
class Objective(TextObjective):
    pass


class Similarity(TextNetwork, RegressorNetwork):
    """The network; `network.values(batch)` gives a number for each pair, in deviations from the mean."""

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__(config, vocabularies, parts, objective.auxiliary)
        self.objective, self.numbers = objective, vocabularies.numbers(NUMBER)
        self.output = nn.Linear(self.width, 1)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {**super().columns(recipe), NUMBER: Column("number", vocabulary=NUMBER, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Pairs, and their numbers."""
        return self.counted(numbered(self.read(examples, seeds), examples))

    def values(self, batch: Batch) -> Float[Tensor, " B"]:
        return self.output(self.represented(batch).vectors)[:, 0]

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        read = self.represented(batch)
        values = self.output(read.vectors)[:, 0]
        return self.terms(values, batch) | self.language_terms(batch, read), None
