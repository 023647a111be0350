"""Words as vectors that know their sentence: what a tagger or a parser reads, before a head of its own.

    e_t = [w_t; c_t; v_t]          those that there are; or, with `joined = "summed"`, [w_t + v_t; c_t]
    w_t = mean of E[piece] over the pieces of word t           (a word tokenizer: one piece), or instead
          of the last states that another network has for them (its part `reader`: --from runs/bert)
    c_t = max over positions of conv(C[character])             (Ma & Hovy 2016), or
          [LSTM(C[c_1] … C[c_n]); LSTM(C[c_n] … C[c_1])]       (Lample et al. 2016): both last states
    v_t = V[word t]                                            own vectors (--from my.vec), also of unseen words
    h_t = [LSTM(e_1 … e_t); LSTM(e_n … e_t)]                   every word sees the whole sentence

In training, with probability `word_dropout`, a word's pieces are read as unknown, so that what is unknown is known to
be possible; its characters and its own vector stay. What is drawn follows from the seed of the example.

A network that reads words has these columns (`columns`), makes a `WordEncoder` from its config, which has the keys of
`WordConfig`, puts `words.prepare(…)` into its batch and calls `words(batch, reader)`.

Shapes: B batch, T words, P pieces of a word, U different words of a batch, L characters, h both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.mix import mix_of
from lexigraph.nn.network import READ, Examples, Reader, Seeds, given_to_part, read_words
from lexigraph.nn.recurrent import Recurrent
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns
from lexigraph.text.vocabularies import VECTORS, Vocabularies

WORDS, CHARACTERS = "words", "characters"
LONGEST = 40  # characters of a word: the rest of a longer one, an address mostly, is not looked at
WORD_DROPOUT = 7  # the stream of its random numbers


@dataclass(frozen=True)
class TableConfig:
    embedding: int = ranged(100, 1, about="numbers in the vector of a token, where no part reads for it")
    characters: Literal["none", "cnn", "lstm"] = key("none", about="what reads the letters of a word")
    character_embedding: int = ranged(30, 1, about="numbers in the vector of a character")
    character_dim: int = ranged(
        50, 1, about="numbers that the letters of a word come to: filters, or of each direction"
    )
    vectors: int = ranged(0, 0, about="numbers in a word's own vector; 0: there is none. `--from my.vec` sets it")
    tuned: bool = key(False, about="own vectors: trained with the rest; else they stay as they came")
    joined: Literal["concatenated", "summed"] = key(
        "concatenated", about="own vectors stand beside those of tokens, or are added to them"
    )
    reader_layers: tuple[int, ...] = key(
        (),
        about="layers of a part that are mixed, by weights that are learned; 0: what goes in; none: the last alone",
    )
    word_dropout: float = ranged(0.0, 0, 0.999, about="share of the words that are read as unknown, in training")
    dropout: float = ranged(
        0.3, 0, 0.999, about="share of the numbers set to 0 on embeddings, between layers and on states"
    )


@dataclass(frozen=True)
class WordConfig(TableConfig):
    cell: Literal["lstm", "gru", "rnn"] = key("lstm", about="the recurrent cell that reads a sentence")
    layers: int = ranged(1, 1, about="recurrent layers in each direction")
    dim: int = ranged(128, 1, about="numbers in the state of each direction")
    locked: bool = key(False, about="dropout sets the same numbers to 0 in all words of a sentence")


def columns(config: TableConfig) -> Columns:
    """What is read of a sentence: its words, and as the config says their letters and their own vectors."""
    found = {WORDS: Column("tokens", field="tokens", by_word=True)}
    if config.characters != "none":
        found[CHARACTERS] = Column("tokens", CHARACTERS, field="tokens", by_word=True, cut="char")
    if config.vectors:
        found[VECTORS] = Column("tokens", VECTORS, field="tokens", by_word=True, cut="word")
    return found


class Characters(nn.Module):
    """A vector for every word from its letters."""

    def __init__(self, kind: str, count: int, embedding: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(count, embedding)
        nn.init.uniform_(self.embedding.weight, -((3 / embedding) ** 0.5), (3 / embedding) ** 0.5)
        self.conv = nn.Conv1d(embedding, dim, 3, padding=1) if kind == "cnn" else None
        self.lstm = None if self.conv else Recurrent("lstm", embedding, dim, bidirectional=True)
        self.width = dim if self.conv else 2 * dim

    def forward(self, ids: Int[Tensor, "U L"], lengths: Int[Tensor, " U"]) -> Float[Tensor, "U c"]:
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        C = self.embedding(ids) * inside[:, :, None]
        if self.conv is not None:
            found = self.conv(C.transpose(1, 2)).masked_fill(~inside[:, None], -torch.inf)
            return found.amax(2)
        assert self.lstm is not None
        return self.lstm(C, lengths)[1]["h"].flatten(1)  # the last state of each direction


class WordTables(nn.Module):
    """A vector for every word that does not see the others: `words.vectors_of(batch, reader)`."""

    def __init__(self, config: TableConfig, vocabularies: Vocabularies, reader: Reader | None = None) -> None:
        """reader: the part that reads in the place of the table of tokens; it stays the network's own."""
        super().__init__()
        tokens = vocabularies.tokens()
        self.config: TableConfig = config
        self.end, self.unk = tokens.eos, tokens.unk
        self.embedding = None if reader else TokenTable(len(tokens), config.embedding)
        self.characters = self.vectors = None
        if config.characters != "none":
            letters = len(vocabularies.tokens(CHARACTERS))
            self.characters = Characters(config.characters, letters, config.character_embedding, config.character_dim)
        if config.vectors:
            self.vectors = TokenTable(len(vocabularies.tokens(VECTORS)), config.vectors, VECTORS)
        self.mix = mix_of(config.reader_layers, reader)
        self.summed = bool(config.vectors) and config.joined == "summed"
        own = reader.width if reader else config.embedding
        if self.summed and own != config.vectors:
            raise UsageError(
                f"Own vectors of {config.vectors} numbers cannot be added to token vectors of {own}: set "
                f'model.embedding = {config.vectors}, or model.joined = "concatenated".'
            )
        widths = [own, self.characters.width if self.characters else 0, 0 if self.summed else config.vectors]
        self.width = sum(widths)
        for table in filter(None, (self.embedding, self.vectors)):
            nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
        if self.vectors is not None:
            self.vectors.weight.requires_grad_(config.tuned)
            if self.summed and self.embedding is not None:
                nn.init.zeros_(self.embedding.weight)  # so that words begin as their own vectors are

    def prepare(
        self, examples: Examples, seeds: Seeds | None = None, reader: Reader | None = None
    ) -> dict[str, Tensor]:
        """What is read of a batch; with seeds, in training, some words are unknown."""
        rows = cast(Sequence[list[np.ndarray]], examples[WORDS])
        found = {"lengths": torch.tensor([len(row) for row in rows])}
        if reader is not None:
            read, where = read_words(reader, rows, self.end)
            found |= {f"{READ}{name}": tensor for name, tensor in read.items()}
            found["pieces"] = torch.from_numpy(where)
        else:
            found["pieces"] = _padded(rows)
        if seeds is not None and self.config.word_dropout and reader is None:
            pieces = found["pieces"]
            draws = uniform(torch.from_numpy(np.asarray(seeds[MAIN])), pieces.shape[1], WORD_DROPOUT)
            unknown = torch.full_like(pieces[0, 0], -1)
            unknown[0] = self.unk
            found["pieces"] = pieces.where(
                (draws > self.config.word_dropout)[:, :, None] | (pieces[:, :, :1] < 0), unknown
            )
        if self.characters is not None:
            found |= spelled(cast(Sequence[list[np.ndarray]], examples[CHARACTERS]))
        if self.vectors is not None:
            found[VECTORS] = _padded(cast(Sequence[list[np.ndarray]], examples[VECTORS]))[:, :, 0].clamp(min=0)
        return found

    def vectors_of(self, batch: Batch, reader: Reader | None = None) -> Float[Tensor, "B T e"]:
        """A vector for every word."""
        e = [self._mean_of_pieces(batch, reader)]
        if self.vectors is not None and self.summed:
            e = [e[0] + self.vectors(batch[VECTORS])]
        if self.characters is not None:
            e.append(self.characters(batch["letters"], batch["letter_counts"])[batch["spelling"]])
        if self.vectors is not None and not self.summed:
            e.append(self.vectors(batch[VECTORS]))
        return torch.cat(e, 2)

    def _mean_of_pieces(self, batch: Batch, reader: Reader | None) -> Float[Tensor, "B T e"]:
        if self.embedding is not None:
            table = self.embedding.weight
        else:
            assert reader is not None, "a part reads the pieces"
            layers = reader.states(given_to_part(batch)).layers
            table = (layers[-1] if self.mix is None else self.mix(layers)).flatten(0, 1)
        pieces = batch["pieces"]
        inside: Bool[Tensor, "B T P"] = pieces >= 0
        E = F.embedding(pieces.clamp(min=0), table) * inside[:, :, :, None]
        return E[:, :, 0] if E.shape[2] == 1 else E.sum(2) / inside.sum(2, keepdim=True).clamp(min=1)


class WordEncoder(WordTables):
    """The same, and then every word sees its sentence: `words(batch, reader)`."""

    def __init__(self, config: WordConfig, vocabularies: Vocabularies, reader: Reader | None = None) -> None:
        super().__init__(config, vocabularies, reader)
        self.config: WordConfig = config
        self.lstm = Recurrent(
            config.cell,
            self.width,
            config.dim,
            config.layers,
            bidirectional=True,
            dropout=config.dropout,
            locked=config.locked,
        )
        self.width = self.lstm.width

    def forward(self, batch: Batch, reader: Reader | None = None) -> Float[Tensor, "B T h"]:
        """A vector for every word."""
        e = self.vectors_of(batch, reader)
        if not self.config.locked:  # else the layers themselves do it
            e = F.dropout(e, self.config.dropout, self.training)
        return self._dropped(self.lstm(e, batch["lengths"])[0])

    def _dropped(self, h: Float[Tensor, "B T h"]) -> Float[Tensor, "B T h"]:
        if self.config.locked:
            return h * F.dropout(h.new_ones(len(h), 1, h.shape[2]), self.config.dropout, self.training)
        return F.dropout(h, self.config.dropout, self.training)


def _padded(rows: Sequence[list[np.ndarray]]) -> Int[Tensor, "B T P"]:
    """The pieces of every word; -1: there is none."""
    words = [word for row in rows for word in row]
    counts, lengths = np.array([len(word) for word in words]), np.array([len(row) for row in rows])
    pieces = np.full((len(words), max(1, counts.max(initial=1))), -1, np.int64)
    pieces[np.arange(pieces.shape[1]) < counts[:, None]] = np.concatenate([*words, np.zeros(0, np.int64)])
    found = np.full((len(rows), lengths.max(), pieces.shape[1]), -1, np.int64)
    found[np.arange(lengths.max()) < lengths[:, None]] = pieces
    return torch.from_numpy(found)


def spelled(rows: Sequence[list[np.ndarray]]) -> dict[str, Tensor]:
    """The letters of every different word, which are read once, and which of those each word of a sentence is."""
    known: dict[bytes, int] = {}
    words: list[np.ndarray] = []
    spelling = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for number, row in enumerate(rows):
        for position, word in enumerate(row):
            written = word.tobytes()
            if written not in known:
                known[written] = len(words)
                words.append(word[:LONGEST])
            spelling[number, position] = known[written]
    counts = np.array([max(1, len(word)) for word in words])
    letters = np.zeros((len(words), counts.max()), np.int64)
    for number, word in enumerate(words):
        letters[number, : len(word)] = word
    found = {"letters": letters, "letter_counts": counts, "spelling": spelling}
    return {name: torch.from_numpy(array) for name, array in found.items()}
