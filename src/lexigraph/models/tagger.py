"""A tag for every word: a bidirectional LSTM with a softmax (Graves & Schmidhuber 2005) or a CRF (Huang et al. 2015).

    h_t = a vector for word t that knows the sentence         (nn/words.py: tokens, letters, own vectors, or a part)
    E_t = W h_t + b
    p(tag of t) = softmax(E_t)                                output = "softmax"
    p(tags) ∝ exp(Σ_t E[t, y_t] + A[y_{t-1}, y_t])            output = "crf" (nn/crf.py)

Where tags are spans, `scheme` says in which one they are learned, whatever scheme the data are in (text/spans.py).
Answers are in BIO then.

Shapes: B batch, T words, C tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from lexigraph.nn import words
from lexigraph.nn.crf import CRF
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import NO_PARTS, Examples, Parts, Seeds
from lexigraph.nn.tagging import TAGS, TaggerNetwork, tagged
from lexigraph.nn.words import WORDS, WordConfig, WordEncoder
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(WordConfig):
    output: Literal["softmax", "crf"] = key("softmax", about="each word's tag by itself, or tags that fit together")
    scheme: Literal["given", "BIO", "BIOES"] = key(
        "given", about="how spans are written for the model; given: tags as the data have them, of whatever kind"
    )


@dataclass(frozen=True)
class Objective:
    constrained: bool = key(
        False, about="crf: moves that the scheme does not have are ruled out in training, too, not only in answers"
    )


class Tagger(TaggerNetwork):
    """The network; `network(batch)` gives the logits of every word's tags."""

    traits = Traits(windowed=WORDS, reads_whole=True)
    part_names = ("reader",)

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__()
        tags = vocabularies.labels(TAGS)
        self.config, self.objective, self.tag_names = config, objective, tags.names
        self.reader = parts.get("reader")
        self.words = WordEncoder(config, vocabularies, self.reader)
        self.output = OutputTable(self.words.width, len(tags))
        self.scheme = "" if config.scheme == "given" else config.scheme
        self.crf = CRF(tags.names, self.scheme, objective.constrained) if config.output == "crf" else None

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        scheme = "" if recipe.model.scheme == "given" else recipe.model.scheme
        tags = Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True, scheme=scheme)
        return {**words.columns(recipe.model), TAGS: tags}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """What is read of every word, and the words' tags."""
        return tagged(self.words.prepare(examples, seeds, self.reader), examples)

    def forward(self, batch: Batch) -> Float[Tensor, "B T C"]:
        """Logits of the tags of every word."""
        return self.output(self.words(batch, self.reader))

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        return self(batch)
