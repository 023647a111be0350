"""A tag for every word: a bidirectional LSTM with a softmax (Graves & Schmidhuber 2005; Huang et al. 2015).

    e_t = mean of E[piece] over the pieces of word t          (a word tokenizer: one piece)
          or of the last states that another network has for them (its part `reader`: --from runs/bert)
    h_t = [LSTM(e_1 … e_t); LSTM(e_n … e_t)]                  every word sees the whole sentence
    p(tag of t) = softmax(W h_t + b)

Shapes: B batch, T words, P pieces of a word, d width of a direction, C tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Reader, Seeds, read_words
from lexigraph.nn.tagging import TAGS, WORDS, TaggerNetwork, tagged
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

READ = "read_"  # before the names of the tensors that the part is given


@dataclass(frozen=True)
class Config:
    layers: int = ranged(1, 1, about="LSTM layers in each direction")
    dim: int = ranged(128, 1, about="numbers in the LSTM's state in each direction")
    embedding: int = ranged(100, 1, about="numbers in the vector of a token, where no part reads for it")
    dropout: float = ranged(
        0.3, 0, 0.999, about="share of the numbers set to 0 on embeddings, between layers and on states"
    )


@dataclass(frozen=True)
class Objective:
    pass


class Tagger(TaggerNetwork):
    """The network; `network(pieces, inside, lengths)` gives the logits of every word's tags."""

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
        tokens, tags = vocabularies.tokens(), vocabularies.labels(TAGS)
        self.config, self.objective, self.tag_names = config, objective, tags.names
        self.pad, self.end = tokens.pad, tokens.eos
        self.reader = parts.get("reader")
        self.embedding = None if self.reader else TokenTable(len(tokens), config.embedding)
        between = config.dropout if config.layers > 1 else 0.0
        self.lstm = nn.LSTM(
            self.reader.width if self.reader else config.embedding,
            config.dim,
            config.layers,
            batch_first=True,
            dropout=between,
            bidirectional=True,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = OutputTable(2 * config.dim, len(tags))
        if self.embedding is not None:
            nn.init.normal_(self.embedding.weight, std=config.embedding**-0.5)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        words = Column("tokens", field="tokens", by_word=True)
        return {WORDS: words, TAGS: Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """The pieces of every word, and the words' tags."""
        rows = cast(Sequence[list[np.ndarray]], examples[WORDS])
        lengths = [len(row) for row in rows]
        if self.reader is not None:
            read, where = read_words(self.reader, rows, self.end)
            tensors = {f"{READ}{name}": tensor for name, tensor in read.items()}
            pieces, inside = where.clip(min=0), where >= 0
        else:
            tensors, most = {}, max((len(word) for row in rows for word in row), default=1)
            pieces = np.full((len(rows), max(lengths), max(1, most)), self.pad, np.int64)
            inside = np.zeros(pieces.shape, bool)
            for index, row in enumerate(rows):
                for position, word in enumerate(row):
                    pieces[index, position, : len(word)], inside[index, position, : len(word)] = word, True
        tensors |= {"pieces": torch.from_numpy(pieces), "inside": torch.from_numpy(inside)}
        return tagged(tensors | {"lengths": torch.tensor(lengths)}, examples)

    def forward(
        self,
        pieces: Int[Tensor, "B T P"],
        inside: Bool[Tensor, "B T P"],
        lengths: Int[Tensor, " B"],
        table: Float[Tensor, "V e"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Logits of the tags of every word, whose pieces are rows of a table: of the network's own, or as given."""
        table = self.embedding.weight if self.embedding is not None else table
        assert table is not None, "a part reads the pieces"
        vectors = F.embedding(pieces, table)
        weights = inside.to(vectors.dtype)
        e = (vectors * weights.unsqueeze(3)).sum(2) / weights.sum(2, keepdim=True).clamp(min=1)
        packed = pack_padded_sequence(self.dropout(e), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.output(self.dropout(h))

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        table = None
        if self.reader is not None:
            read = {name: batch[f"{READ}{name}"] for name in ("inputs", "lengths")}
            table = self.reader.states(Batch(read)).layers[-1].flatten(0, 1)
        return self(batch["pieces"], batch["inside"], batch["lengths"], table)
