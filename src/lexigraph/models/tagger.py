"""A tag for every word: a bidirectional LSTM with a softmax (Graves & Schmidhuber 2005; Huang et al. 2015).

    h_t = a vector for word t that knows the sentence         (nn/words.py: tokens, letters, own vectors, or a part)
    p(tag of t) = softmax(W h_t + b)

Shapes: B batch, T words, C tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jaxtyping import Float
from torch import Tensor

from lexigraph.nn import words
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Reader, Seeds
from lexigraph.nn.tagging import TAGS, TaggerNetwork, tagged
from lexigraph.nn.words import WORDS, WordConfig, WordEncoder
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(WordConfig):
    pass


@dataclass(frozen=True)
class Objective:
    pass


class Tagger(TaggerNetwork):
    """The network; `network(batch)` gives the logits of every word's tags."""

    traits = Traits(windowed=WORDS, reads_whole=True)
    part_names = ("reader",)

    def __init__(
        self,
        config: Config,
        objective: Objective,
        vocabularies: Vocabularies,
        parts: Mapping[str, Reader] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        tags = vocabularies.labels(TAGS)
        self.config, self.objective, self.tag_names = config, objective, tags.names
        self.reader = parts.get("reader")
        self.words = WordEncoder(config, vocabularies, self.reader)
        self.output = OutputTable(self.words.width, len(tags))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        tags = Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True)
        return {**words.columns(recipe.model), TAGS: tags}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """What is read of every word, and the words' tags."""
        return tagged(self.words.prepare(examples, seeds, self.reader), examples)

    def forward(self, batch: Batch) -> Float[Tensor, "B T C"]:
        """Logits of the tags of every word."""
        return self.output(self.words(batch, self.reader))

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        return self(batch)
