"""Phrases over the words of a sentence, by scores of spans (Stern et al. 2017; Gaddy et al. 2018; Zhang et al. 2020).

    f_t, b_t = the word encoder's states of word t, forward and backward; 0 outside         nn/words.py
    r(i, j) = [f_j - f_i; b_i - b_j]                what each way took in between two positions
    s(i, j, ·) = W2 relu(LN(W1 r(i, j)))            a score for every label; no phrase: 0
    p(tag of t) = softmax(W_t [f_t; b_t])           learned beside, for the words' own nodes

Labels of a chain of phrases over the same words are joined: S+VP. How trees are learned and found: nn/phrases.py.

Shapes: B batch, T words, S spans of all sentences, L labels, K tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn import words
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import NO_PARTS, Examples, Parts, Seeds
from lexigraph.nn.phrases import PHRASES, TAGS, WORDS, PhraseNetwork, phrased, span_positions
from lexigraph.nn.words import WordConfig, WordEncoder
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(WordConfig):
    context: int = ranged(300, 1, about="most words of a sentence; a longer one is left out and counted")
    spans: int = ranged(250, 1, about="numbers in the vector of a span")


@dataclass(frozen=True)
class Objective:
    learned: Literal["trees", "spans"] = key("trees", about="how probable the whole tree is, or every span by itself")
    tags: float = ranged(1.0, 0, about="weight of the words' tags in the loss")
    functions: bool = key(False, about="tell NP-SBJ from NP; else labels are cut at - and =")


class ConstituencyParser(PhraseNetwork):
    """The network."""

    part_names = ("reader",)

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__()
        self.config, self.objective = config, objective
        self.learned, self.tag_weight = objective.learned, objective.tags
        self.labels, self.tags = (vocabularies.labels(name).names for name in (PHRASES, TAGS))
        self.traits = Traits(windowed=WORDS, context=config.context, reads_whole=True, terms=("loss", TAGS))
        self.reader = parts.get("reader")
        self.words = WordEncoder(config, vocabularies, self.reader)
        self.W1 = nn.Linear(self.words.width, config.spans)
        self.norm = nn.LayerNorm(config.spans)
        self.W2 = nn.Linear(config.spans, len(self.labels))
        self.W_t = OutputTable(self.words.width, len(self.tags))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        until = "" if recipe.objective.functions else "-=|"
        return {
            **words.columns(recipe.model),
            TAGS: Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True),
            PHRASES: Column("spans", vocabulary=PHRASES, aligned=WORDS, optional=True, until=until),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """What is read of the words, their tags, and a chart of their phrases."""
        return phrased(self.words.prepare(examples, seeds, self.reader), examples)

    def states(self, batch: Batch) -> Float[Tensor, "B T h"]:
        return self.words(batch, self.reader)

    def scores(self, h: Float[Tensor, "B T h"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "S L"]:
        f, b = h.chunk(2, 2)
        ends = torch.cat([F.pad(f, (0, 0, 1, 0)), -F.pad(b, (0, 0, 0, 1))], 2)
        position = ends @ self.W1.weight.T  # W1 r(i, j) is the difference of two of these
        row, i, j = span_positions(lengths, h.shape[1])
        return self.W2(F.relu(self.norm(position[row, j] - position[row, i] + self.W1.bias)))

    def tag_logits(self, h: Float[Tensor, "B T h"]) -> Float[Tensor, "B T K"]:
        return self.W_t(h)
