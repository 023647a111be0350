"""Bag of words: a text is what it counts, whatever the order of its words.

    x_v  = how often token v stands in the text          (counts; or 1 if it does: binary; or the share of its tokens)
    p(c) = softmax(W x + b)_c

That is multinomial logistic regression. Row v of Wᵀ is what one more v does to each class, so that the model can be
read: `lexigraph classify RUN --words 5` prints the words that speak most for each class. W starts at 0 and is held
small by weight decay (train.weight_decay), which is its only smoothing.

Shapes: B batch, T time, V vocabulary, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.classifier import ClassifierNetwork, labelled
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    features: Literal["counts", "binary", "shares"] = key(
        "counts", about="what of a word counts: how often it occurs, whether it does, or its share of the text"
    )


@dataclass(frozen=True)
class Objective:
    pass


class BagOfWords(ClassifierNetwork):
    """The network; `network(ids, lengths)` gives the logits of the classes."""

    traits = Traits(corrupts_on_host=True)  # a text of any length, sorted where it is read

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens, labels = vocabularies.tokens(), vocabularies.labels("label")
        self.config, self.objective, self.pad = config, objective, tokens.pad
        self.weight = nn.Embedding(len(tokens), len(labels))  # Wᵀ
        self.bias = nn.Parameter(torch.zeros(len(labels)))
        nn.init.zeros_(self.weight.weight)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens"), "label": Column("class", vocabulary="label", optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Texts without their boundaries, sorted, so that equal tokens stand together; and their labels."""
        rows = [np.sort(row[1:-1]) for row in ragged(examples["text"])]
        lengths = torch.tensor([len(row) for row in rows])
        return labelled({"inputs": torch.from_numpy(padded(rows, self.pad, longest=1)), "lengths": lengths}, examples)

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B C"]:
        """Logits of texts whose tokens are sorted."""
        counted = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).to(self.bias.dtype)
        if self.config.features == "binary":  # the first of each run of equal tokens
            counted = counted * F.pad(ids[:, 1:] != ids[:, :-1], (1, 0), value=True)
        if self.config.features == "shares":
            counted = counted / lengths.clamp(min=1)[:, None]
        return (self.weight(ids) * counted.unsqueeze(2)).sum(1) + self.bias

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self(batch["inputs"], batch["lengths"])

    def token_weights(self) -> Float[Tensor, "V C"]:
        return self.weight.weight
