"""A system that exists in the tests alone: words kept apart, a neighbour, windows that overlap, and a second table.

It guesses a word's tag from the word, from the sentence before and from hints, which are lines of another file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from lexigraph.nn.network import Examples, Network, Outputs, Seeds, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

SEEN: list[dict[str, Any]] = []  # the columns of every batch that was prepared


@dataclass(frozen=True)
class Config:
    dim: int = 8


@dataclass(frozen=True)
class Objective:
    pass


class Toy(Network):
    traits = Traits(context=4, windowed="words", overlap=1, corrupts_on_host=True, terms=("loss", "hints"))

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens, tags = vocabularies.tokens(), vocabularies.labels("tags")
        self.embedding, self.output = nn.Embedding(len(tokens), config.dim), nn.Linear(config.dim, len(tags))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {
            "words": Column("tokens", field="tokens", by_word=True),
            "before": Column("tokens", field="tokens", by_word=True, at="before"),
            "tags": Column("tags", vocabulary="tags", aligned="words"),
            "hints": Column("tokens", field="text", table="hints"),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        SEEN.append(dict(examples))
        words, before = (cast(Sequence[list[np.ndarray]], examples[name]) for name in ("words", "before"))
        rows = [np.array([word[0] for word in row]) for row in words]
        context = [np.array([word[0] for word in row], int) for row in before]
        tensors = {"words": padded(rows, 0), "before": padded(context, 0, longest=1)}
        tensors["tags"] = padded(ragged(examples["tags"]), IGNORE)
        counts = {"loss": float((tensors["tags"] != IGNORE).sum())}
        if "hints" in examples:
            tensors["hints"] = padded(ragged(examples["hints"]), 0)
            counts["hints"] = float(len(tensors["hints"]))
        return Batch({name: torch.from_numpy(array) for name, array in tensors.items()}, counts)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        states = self.embedding(batch["words"]) + self.embedding(batch["before"]).mean(1, keepdim=True)
        nll = nn.functional.cross_entropy(self.output(states).transpose(1, 2), batch["tags"], reduction="sum")
        terms = {"loss": Term(nll, batch.counts["loss"])}
        if "hints" in batch.tensors:
            terms["hints"] = Term(self.embedding(batch["hints"]).square().sum(), batch.counts["hints"])
        return terms, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {"tags": list(self.output(self.embedding(batch["words"])))}
