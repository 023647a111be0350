"""A label for a text or for a pair of texts: encoded into one vector, and classified.

    v = the vector of a text, or of a pair       nn/text_vectors.py has the equations of every encoder and pooling
    v = ReLU(W v + b)                            for each of the `hidden` layers
    p(class) = softmax(W v + b)
    loss = - log p(label)  +  λ · NLL of the text's own tokens        λ (`auxiliary`): if a language model reads

`lexigraph classify RUN --weights` prints the attention α of each token. With --from my.vec, E holds the vectors of
all words of that file, those that training has not seen too; they are tuned unless model.tuned = false. --from RUN:
another network reads, and its states take the place of E; fine-tuning proper is `model.encoder = "bag"` and
`model.pooling = "summary"` (the recipes classifier-tuned and classifier-pairs).

Shapes: B batch, T tokens, e numbers of x, w of v, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.nn.classifier import LABEL, Classified, ClassifierNetwork, labelled, weights_of
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import NO_PARTS, Examples, Parts, Seeds
from lexigraph.nn.text_config import TextConfig, TextObjective
from lexigraph.nn.text_vectors import TextNetwork
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(TextConfig):
    pass


@dataclass(frozen=True)
class Objective(TextObjective):
    smoothing: float = ranged(0.0, 0, 0.999, about="label smoothing: the share that goes to all classes alike")
    class_weights: dict[str, float] = key(
        {}, about="how much an example of a class counts in the loss, where not 1: {rare = 5.0}"
    )


class Classifier(TextNetwork, ClassifierNetwork):
    """The network; `network(ids, lengths)` gives the logits of the classes."""

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__(config, vocabularies, parts, objective.auxiliary)
        labels = vocabularies.labels(LABEL)
        self.objective = objective
        self.smoothing, self.class_weights = objective.smoothing, weights_of(objective.class_weights, labels)
        self.output = OutputTable(self.width, len(labels))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {**super().columns(recipe), LABEL: Column("class", vocabulary=LABEL, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Texts or pairs, and their labels."""
        return self.counted(labelled(self.read(examples, seeds), examples, self.class_weights))

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B C"]:
        """Of texts that no part reads."""
        return self.output(self.above(self.encoded(self.embedding(ids), lengths)[0]))

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        read = self.represented(batch)
        return self.terms(self.output(read.vectors), batch) | self.language_terms(batch, read), None

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self.output(self.represented(batch).vectors)

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Classified]:
        read = self.represented(batch)
        rows = [Classified(row) for row in self.output(read.vectors).float().softmax(1)]
        if read.attention is None:
            return rows
        each = zip(rows, batch["inputs"], read.attention, batch["lengths"].tolist(), strict=True)
        return [Classified(row.probabilities, ids[:n], alpha[:n]) for row, ids, alpha, n in each]
