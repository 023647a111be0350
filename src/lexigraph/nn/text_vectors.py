"""One vector for a text, or for a pair of texts: what classifiers, similarities and choices read with.

    x_t = E[token t]                     or the token itself as a one-hot vector (embedding = 0), or the state that
                                         another network has for it (its part `reader`: --from runs/bert)
    h_t = x_t                            bag    a deep averaging network with `mean` and `hidden` (Iyyer et al. 2015)
        = [ReLU(W_k x_(t-a) … x_(t+b) + b_k)]_k     cnn    filters over k words around t, for each k (Kim 2014)
        = RNN(x_1 … x_t)                 rnn, gru, lstm;   bidirectional: [RNN(x_1 … x_t); RNN(x_n … x_t)]
    v = h_n                              last   the state when all is read; bidirectional: [forward h_n; backward h_1]
      = Σ h_t / n                        mean
      = max_t h_t                        max
      = Σ α_t h_t,  α = softmax_t(q · tanh(W h_t + b))     attention    one learned query q (Yang et al. 2016)
      = what the part sums the text up by                  summary      BERT's first state, GPT's last

A pair of texts A and B has one vector, too (`model.pairs`):

    together    the part reads  beginning, A, separator, B, end  as one text (Devlin et al. 2019, Radford et al. 2018)
    apart       [u; v; |u - v|; u ⊙ v]   u and v by the same encoder, each of its own text    (Conneau et al. 2017)
    symmetric   (v(A, B) + v(B, A)) / 2  both orders are read                                 (Radford et al. 2018)

A text is read without the boundaries around it; one without words is its end token alone. With `summary`, and of a
pair that is read together, the boundaries are read with it, and what does not fit into the part's context is cut from
the longer text; otherwise a text that is too long for the part is read in several rows.

A network that reads so is a `TextNetwork`: its config has the keys of `TextConfig`, its columns are `columns`, it
puts `read(…)` into its batch, and `represented(batch)` gives the vectors. Where its part is a language model, it may
learn to predict the text as well (`auxiliary`, Radford et al. 2018): L = L_task + λ L_language.

Shapes: B batch, R texts that are read, P rows of the part, T and S tokens, e numbers of x, d of h, w of the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.mix import mix_of
from lexigraph.nn.network import (
    NO_PARTS,
    READ,
    Examples,
    LanguageNetwork,
    Network,
    Parts,
    Seeds,
    given_to_part,
    read_words,
)
from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.text_config import RECURRENT, TextConfig, check, summed, vocabulary_of
from lexigraph.objectives.next_token import IGNORE, linear_cross_entropy
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.text.batches import padded
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.vocabularies import TEXT, VECTORS, Tokens, Vocabularies

OTHER = "other"  # the column of a pair's second text
LANGUAGE = "language"  # the term of the auxiliary loss
WORD_DROPOUT = 7  # stream of random numbers
OUTPUTS = ("output", "table", "bias")  # the heads of language models
Words = np.ndarray | list[np.ndarray]  # a text: tokens between boundaries, or word by word for a part that reads so


class OneHot(nn.Module):
    """A token as a vector that is 1 in its place and 0 elsewhere: what comes next has a column for each token."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T e"]:
        return F.one_hot(ids, self.tokens).float()


class Convolutions(nn.Module):
    """ReLU(W_k x_(t-a) … x_(t+b) + b_k) for each width k, a = (k - 1) / 2 rounded down; 0 beyond the text."""

    def __init__(self, width: int, dim: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(width, dim, k) for k in widths)
        self.reach = [((k - 1) // 2, k // 2) for k in widths]

    def forward(self, x: Float[Tensor, "B T e"], inside: Bool[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        x = (x * inside.unsqueeze(2)).transpose(1, 2)
        h = [filters(F.pad(x, reach)) for filters, reach in zip(self.filters, self.reach, strict=True)]
        return torch.cat(h, 1).transpose(1, 2).contiguous().relu()  # as pooling reads it


class Attention(nn.Module):
    """α = softmax_t(q · tanh(W h_t + b)): how much one learned query takes of each word."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim) * dim**-0.5)

    def forward(self, h: Float[Tensor, "B T d"], inside: Bool[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        scores = self.key(h).tanh() @ self.query
        return scores.masked_fill(~inside, -torch.inf).softmax(1)


class Represented(NamedTuple):
    """The vectors of texts or pairs, α where attention pools, and the part's states."""

    vectors: Float[Tensor, "B w"]
    attention: Float[Tensor, "B T"] | None
    last: Float[Tensor, "P S e"] | None


class TextNetwork(Network):
    """A network that makes one vector of a text or of a pair. Its class adds what the vector is for."""

    traits = Traits(corrupts_on_host=True)  # a text of any length, whose rows are read on the host
    part_names = ("reader",)
    width: int  # of the vector

    def __init__(
        self, config: TextConfig, vocabularies: Vocabularies, parts: Parts = NO_PARTS, auxiliary: float = 0.0
    ) -> None:
        super().__init__()
        tokens = vocabularies.tokens(vocabulary_of(config))
        self.config, self.auxiliary, self.reader = config, auxiliary, parts.get("reader")
        self.pad, self.end, self.unk = tokens.pad, tokens.eos, tokens.unk
        check(config, self.reader, auxiliary)
        if auxiliary:
            self.traits = Traits(corrupts_on_host=True, terms=("loss", LANGUAGE))
        self.together = config.pairs == "together" and self.reader is not None
        self.own = None
        if summed(config):
            self.own = TokenTable(len(vocabularies.tokens(VECTORS)), config.vectors, VECTORS)
            nn.init.normal_(self.own.weight, std=config.vectors**-0.5)
            self.own.weight.requires_grad_(config.tuned)
        self.mix = mix_of(config.reader_layers, self.reader)
        self.embedding = nn.Identity() if self.reader else vectors_of(config, tokens)
        width = self.reader.width if self.reader else config.vectors or config.embedding or len(tokens)
        self.dropout = nn.Dropout(config.dropout)
        if config.encoder in RECURRENT:
            self.recurrent = Recurrent(
                config.encoder,
                width,
                config.dim,
                config.layers,
                bidirectional=config.bidirectional,
                dropout=config.dropout,
            )
            width = self.recurrent.width
        elif config.encoder == "cnn":
            self.convolutions = Convolutions(width, config.dim, config.widths)
            width = config.dim * len(config.widths)
        self.attention = Attention(width) if config.pooling == "attention" else None
        if config.pooling == "summary" and (pool := getattr(self.reader, "pool", None)):
            pool.requires_grad_(True)  # pre-training may have left it untouched
        sizes = [4 * width if config.pairs != "none" and not self.together else width, *config.hidden]
        self.hidden = nn.ModuleList(nn.Linear(*each) for each in pairwise(sizes))
        self.width = sizes[-1]

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        """The texts that are read."""
        config: TextConfig = recipe.model
        cut: Literal["", "word"] = "word" if config.vectors else ""
        part = recipe.parts.get("reader")
        by_word = part is not None and getattr(system(part.system).network_class(), "reads_words", False)
        names = [TEXT] if config.pairs == "none" else [TEXT, OTHER]
        if not summed(config):
            return {name: Column("tokens", vocabulary_of(config), cut=cut, by_word=by_word) for name in names}
        if recipe.tokenizer.kind != "word":
            raise UsageError('model.joined = "summed" adds vectors word by word: set tokenizer.kind = "word".')
        texts = {name: Column("tokens") for name in names}
        return texts | {
            own_of(name): Column("tokens", VECTORS, field=name, cut="word", aligned=name) for name in names
        }

    @classmethod
    def kept_heads(cls, recipe: Recipe) -> tuple[str, ...]:
        return heads_of(recipe.model, getattr(recipe.objective, "auxiliary", 0.0))

    # ---- reading -------------------------------------------------------------------------------------------------

    def read(self, examples: Examples, seeds: Seeds | None = None) -> dict[str, Tensor]:
        """What is read of texts, or of pairs: `apart`, all first texts and then all others; `symmetric`, the pairs as
        they are and then in the other order."""
        texts, own = _rows(examples, TEXT), _rows(examples, own_of(TEXT))
        drawn = None if seeds is None else seeds[MAIN]
        if self.config.pairs == "none":
            return self._read(texts, own, drawn)
        others, second = _rows(examples, OTHER), _rows(examples, own_of(OTHER))
        if not self.together:
            draws = None if drawn is None else np.concatenate([drawn, drawn + 1])
            return self._read([*texts, *others], [*own, *second], draws)
        if self.config.symmetric:
            texts, others = [*texts, *others], [*others, *texts]
        return self._read_together(texts, others)

    def _read(self, texts: Sequence[Words], own: Sequence[Words], seeds: np.ndarray | None) -> dict[str, Tensor]:
        """Texts, each by itself."""
        if self.reader is not None and self.reader.reads_words:
            return self._read_words(texts)
        if self.config.pooling == "summary":
            return self._read_together(texts)
        rows = [_inside(row) for row in texts]
        ids, lengths = torch.from_numpy(padded(rows, self.pad)), torch.tensor([len(row) for row in rows])
        if seeds is not None and self.config.word_dropout and self.reader is None:
            draws = uniform(torch.from_numpy(seeds), ids.shape[1], WORD_DROPOUT)
            ids = ids.where((draws > self.config.word_dropout) | (ids == self.pad), self.unk)
        tensors = {"inputs": ids, "lengths": lengths}
        if own:  # word dropout leaves own vectors alone
            tensors[VECTORS] = torch.from_numpy(padded(list(map(_inside, own)), self.pad, longest=ids.shape[1]))
        if self.reader is not None:
            read, where = read_words(self.reader, [[row] for row in rows], self.end)
            tensors |= {"where": torch.from_numpy(where[:, 0].clip(min=0))} | self._for_part(read)
        return tensors

    def _read_words(self, texts: Sequence[Words]) -> dict[str, Tensor]:
        """The same for a part that reads words: there is a state for each."""
        assert self.reader is not None
        rows = [cast("list[np.ndarray]", row) or [np.array([self.unk])] for row in texts]
        read, where = read_words(self.reader, rows, self.end)
        lengths = torch.tensor([len(row) for row in rows])
        return {"lengths": lengths, "where": torch.from_numpy(where[:, :, 0].clip(min=0))} | self._for_part(read)

    def _read_together(self, texts: Sequence[Words], others: Sequence[Words] | None = None) -> dict[str, Tensor]:
        """Texts or pairs with their boundaries, each in one row."""
        assert self.reader is not None
        rows = cast("Sequence[np.ndarray]", texts)
        if others is None:
            most = self.reader.pair_context + 1 if self.reader.pair_context else max(map(len, rows))
            rows = [np.concatenate([row[:-1][: most + 1], row[-1:]]) for row in rows]
            batch = self.reader.reading(rows, closed=True)
        else:
            batch = self.reader.reading(rows, cast("Sequence[np.ndarray]", others))
        tensors = self._for_part(batch.tensors)
        if self.config.pooling == "summary":
            return tensors | {"lengths": batch["lengths"]}
        ends = batch["lengths"].numpy()
        begins = ends - batch["segments"].sum(1).numpy()  # of the second texts
        width = batch["inputs"].shape[1]
        where = [
            row * width + np.concatenate([np.arange(1, begin - 1), np.arange(begin, end - 1)])
            for row, (begin, end) in enumerate(zip(begins, ends, strict=True))
        ]
        positions = torch.from_numpy(padded(where, 0))
        lengths = torch.tensor([len(row) for row in where])
        return tensors | {"where": positions, "lengths": lengths, "inputs": batch["inputs"].flatten()[positions]}

    def _for_part(self, read: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the part is given, and what it is to predict beside."""
        tensors = {f"{READ}{name}": tensor for name, tensor in read.items()}
        if not self.auxiliary:
            return tensors
        behind = torch.arange(1, read["inputs"].shape[1]) < read["lengths"][:, None]
        targets = torch.full_like(read["inputs"], IGNORE)
        targets[:, :-1] = read["inputs"][:, 1:].where(behind, IGNORE)
        return tensors | {LANGUAGE: targets}

    def counted(self, batch: Batch) -> Batch:
        """A batch that also says how many tokens the auxiliary loss predicts."""
        if self.auxiliary:
            batch.counts[LANGUAGE] = float((batch[LANGUAGE] != IGNORE).sum())
        return batch

    # ---- vectors -------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return next(self.parameters()).dtype

    def states(
        self, x: Float[Tensor, "R T e"], lengths: Int[Tensor, " R"], inside: Bool[Tensor, "R T"]
    ) -> Float[Tensor, "R T d"]:
        """h_1 … h_n of every text."""
        if self.config.encoder == "cnn":
            return self.convolutions(x, inside)
        if self.config.encoder == "bag":
            return x
        return self.recurrent(x, lengths)[0]

    def pooled(
        self, h: Float[Tensor, "R T d"], lengths: Int[Tensor, " R"], inside: Bool[Tensor, "R T"]
    ) -> tuple[Float[Tensor, "R d"], Float[Tensor, "R T"] | None]:
        """The vector of every text, and α."""
        if self.attention is not None:
            weights = self.attention(h, inside)
            return (weights.unsqueeze(1) @ h).squeeze(1), weights
        if self.config.pooling == "max":
            return h.masked_fill(~inside.unsqueeze(2), -torch.inf).amax(1), None
        if self.config.pooling == "mean":
            return (h * inside.unsqueeze(2)).sum(1) / lengths.unsqueeze(1), None
        last = h[torch.arange(len(h), device=h.device), lengths - 1]
        if self.config.encoder in RECURRENT and self.config.bidirectional:
            forward, backward = last[:, : self.config.dim], h[:, 0, self.config.dim :]
            last = torch.cat([forward, backward], 1)
        return last, None

    def encoded(
        self, x: Float[Tensor, "R T e"], lengths: Int[Tensor, " R"]
    ) -> tuple[Float[Tensor, "R d"], Float[Tensor, "R T"] | None]:
        """The vector of every text, and α, from x_1 … x_n."""
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        x = self.dropout(x.to(self.dtype))
        return self.pooled(self.states(x, lengths, inside), lengths, inside)

    def vectors(self, batch: Batch, last: Float[Tensor, "P S e"] | None = None) -> Float[Tensor, "R T e"]:
        """x_1 … x_n of every text; `last`: the states that a part has for them."""
        if last is None and self.reader is not None:
            last = self._last(batch)
        if last is not None:
            return F.embedding(batch["where"], last.flatten(0, 1))
        x = self.embedding(batch["inputs"])
        return x if self.own is None else x + self.own(batch[VECTORS])

    def _last(self, batch: Batch) -> Float[Tensor, "P S e"]:
        """The part's states: its last ones, or a mix of its layers."""
        assert self.reader is not None
        layers = self.reader.states(given_to_part(batch)).layers
        return layers[-1] if self.mix is None else self.mix(layers)

    def represented(self, batch: Batch) -> Represented:
        """The vector of every text or pair, ready for the output."""
        last = self._last(batch) if self.reader is not None else None
        if self.config.pooling == "summary":
            assert self.reader is not None
            assert last is not None
            v, weights = self.reader.summary(last, batch["lengths"]).to(self.dtype), None
        else:
            v, weights = self.encoded(self.vectors(batch, last), batch["lengths"])
        if self.config.pairs != "none":
            v, weights = self._paired(v, weights)
        return Represented(self.above(v), weights, last)

    def _paired(
        self, v: Float[Tensor, "R d"], weights: Float[Tensor, "R T"] | None
    ) -> tuple[Float[Tensor, "B _"], Float[Tensor, "B T"] | None]:
        """The vectors of pairs from those of the rows that were read."""
        if self.together:
            return (torch.stack(v.chunk(2)).mean(0), None) if self.config.symmetric else (v, weights)
        u, w = v.chunk(2)
        if self.config.symmetric:
            u, w, apart, alike = (u + w) / 2, (u + w) / 2, (u - w).abs(), u * w
        else:
            apart, alike = (u - w).abs(), u * w
        return torch.cat([u, w, apart, alike], 1), None

    def above(self, v: Float[Tensor, "B _"]) -> Float[Tensor, "B w"]:
        """The layers between a text's vector and the output."""
        for layer in self.hidden:
            v = layer(self.dropout(v))
            v = v.relu() if self.config.activation == "relu" else v.tanh()
        return self.dropout(v)

    def language_terms(self, batch: Batch, read: Represented) -> Terms:
        """The auxiliary loss, where there is one: λ · NLL of the next tokens."""
        if not self.auxiliary:
            return {}
        assert isinstance(self.reader, LanguageNetwork)
        assert read.last is not None
        bias = getattr(self.reader, "bias", None)
        total, _ = linear_cross_entropy(
            read.last.flatten(0, 1), self.reader.output_table, bias, batch[LANGUAGE].flatten()
        )
        return {LANGUAGE: Term(total, batch.counts[LANGUAGE], self.auxiliary)}


def heads_of(config: TextConfig, auxiliary: float) -> tuple[str, ...]:
    """The heads that a part does not go without."""
    return (("pool",) if config.pooling == "summary" else ()) + (OUTPUTS if auxiliary else ())


def own_of(field: str) -> str:
    """The column of the own vectors of a text's words, where they are added."""
    return VECTORS if field == TEXT else f"{field}_{VECTORS}"


def vectors_of(config: TextConfig, tokens: Tokens) -> nn.Module:
    """E, or one-hot vectors."""
    size = config.vectors or config.embedding
    if not size:
        return OneHot(len(tokens))
    table = TokenTable(len(tokens), size, vocabulary_of(config))
    nn.init.normal_(table.weight, std=0.0 if summed(config) else size**-0.5)
    table.weight.requires_grad_(config.tuned or not config.vectors or summed(config))
    return table


def _rows(examples: Examples, name: str) -> list[Words]:
    """The texts of a column, if there is one."""
    return list(cast("Sequence[Words]", examples[name])) if name in examples else []


def _inside(row: Words) -> np.ndarray:
    """A text without its boundaries; one without words is its end."""
    assert isinstance(row, np.ndarray)
    return row[1:-1] if len(row) > 2 else row[-1:]
