"""A tag for every word: a bidirectional LSTM with a softmax (Graves & Schmidhuber 2005; Huang et al. 2015).

    e_t = mean of E[piece] over the pieces of word t          (a word tokenizer: one piece)
    h_t = [LSTM(e_1 … e_t); LSTM(e_n … e_t)]                  every word sees the whole sentence
    p(tag of t) = softmax(W h_t + b)

Shapes: B batch, T words, P pieces of a word, d width of a direction, C tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds
from lexigraph.nn.tagging import TAGS, WORDS, TaggerNetwork, tagged
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(1, 1)
    dim: int = ranged(128, 1)  # of each direction
    embedding: int = ranged(100, 1)
    dropout: float = ranged(0.3, 0, 0.999)  # on embeddings, between layers and on states


@dataclass(frozen=True)
class Objective:
    pass


class Tagger(TaggerNetwork):
    """The network; `network(pieces, inside, lengths)` gives the logits of every word's tags."""

    traits = Traits(windowed=WORDS, reads_whole=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens, tags = vocabularies.tokens(), vocabularies.labels(TAGS)
        self.config, self.objective, self.pad, self.tag_names = config, objective, tokens.pad, tags.names
        self.embedding = nn.Embedding(len(tokens), config.embedding)
        between = config.dropout if config.layers > 1 else 0.0
        self.lstm = nn.LSTM(
            config.embedding, config.dim, config.layers, batch_first=True, dropout=between, bidirectional=True
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = OutputTable(2 * config.dim, len(tags))
        nn.init.normal_(self.embedding.weight, std=config.embedding**-0.5)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        words = Column("tokens", field="tokens", by_word=True)
        return {WORDS: words, TAGS: Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """The pieces of every word, and the words' tags."""
        rows = cast(Sequence[list[np.ndarray]], examples[WORDS])
        lengths = [len(row) for row in rows]
        most = max((len(word) for row in rows for word in row), default=1)
        pieces = np.full((len(rows), max(lengths), max(1, most)), self.pad, np.int64)
        inside = np.zeros(pieces.shape, bool)
        for index, row in enumerate(rows):
            for position, word in enumerate(row):
                pieces[index, position, : len(word)], inside[index, position, : len(word)] = word, True
        tensors = {"pieces": torch.from_numpy(pieces), "inside": torch.from_numpy(inside)}
        return tagged(tensors | {"lengths": torch.tensor(lengths)}, examples)

    def forward(
        self, pieces: Int[Tensor, "B T P"], inside: Bool[Tensor, "B T P"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T C"]:
        """Logits of the tags of every word."""
        weights = inside.to(self.embedding.weight.dtype)
        e = (self.embedding(pieces) * weights.unsqueeze(3)).sum(2) / weights.sum(2, keepdim=True).clamp(min=1)
        packed = pack_padded_sequence(self.dropout(e), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.output(self.dropout(h))

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        return self(batch["pieces"], batch["inside"], batch["lengths"])
