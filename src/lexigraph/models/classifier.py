"""A label for a text: words are encoded, pooled into one vector, and classified.

    x_t = E[token t]                     or the token itself as a one-hot vector (embedding = 0), or the state that
                                         another network has for it (its part `reader`: --from runs/bert)
    h_t = x_t                            bag    a deep averaging network with `mean` and `hidden` (Iyyer et al. 2015)
        = [ReLU(W_k x_(t-a) … x_(t+b) + b_k)]_k     cnn    filters over k words around t, for each width k (Kim 2014)
        = RNN(x_1 … x_t)                 rnn, gru, lstm;   bidirectional: [RNN(x_1 … x_t); RNN(x_n … x_t)]
    v = h_n                              last   the state when all is read; bidirectional: [forward h_n; backward h_1]
      = Σ h_t / n                        mean
      = max_t h_t                        max
      = Σ α_t h_t,  α = softmax_t(q · tanh(W h_t + b))     attention    one learned query q (Yang et al. 2016)
    v = ReLU(W v + b)                    for each of the `hidden` layers
    p(class) = softmax(W v + b)

A text is read without the boundaries around it; one without words is its end token alone. `lexigraph classify RUN
--weights` prints α for each token. With --from my.vec, E holds the vectors of all words of that file, those that
training has not seen too; they are tuned unless model.tuned = false.

Shapes: B batch, T tokens, e numbers of x, d of h, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.classifier import LABEL, Classified, ClassifierNetwork, labelled, weights_of
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.mix import mix_of
from lexigraph.nn.network import NO_PARTS, READ, Examples, Parts, Seeds, given_to_part, ragged, read_words
from lexigraph.nn.recurrent import Recurrent
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.vocabularies import TEXT, VECTORS, Tokens, Vocabularies

RECURRENT = ("rnn", "gru", "lstm")
WORD_DROPOUT = 7  # stream of random numbers


@dataclass(frozen=True)
class Config:
    encoder: Literal["bag", "cnn", "rnn", "gru", "lstm"] = key(
        "lstm",
        about="what sees the words around a word: nothing, filters over several widths, or a recurrent network",
    )
    pooling: Literal["last", "mean", "max", "attention"] = key(
        "max", about="how the states of all words become one vector"
    )
    embedding: int = ranged(
        100, 0, about="numbers in the vector of a token, where no part reads for it; 0: one-hot, no vectors"
    )
    vectors: int = ranged(
        0, 0, about="numbers in a word's own vector, in the place of a token's; 0: none. `--from my.vec` sets it"
    )
    tuned: bool = key(True, about="own vectors: trained with the rest; else they stay as they came")
    joined: Literal["instead", "summed"] = key(
        "instead", about="own vectors stand in the place of those of tokens, or are added to them, which begin at 0"
    )
    dim: int = ranged(128, 1, about="numbers in a recurrent state in each direction; filters of each width")
    layers: int = ranged(1, 1, about="recurrent layers, one above the other")
    bidirectional: bool = key(True, about="recurrent: read from both ends")
    widths: tuple[int, ...] = ranged((3, 4, 5), 1, 1000, about="cnn: how many words the filters see")
    hidden: tuple[int, ...] = ranged(
        (), 1, about="numbers in each layer between the text's vector and the classes; none: []"
    )
    reader_layers: tuple[int, ...] = key(
        (),
        about="layers of a part that are mixed, by weights that are learned; 0: what goes in; none: the last alone",
    )
    word_dropout: float = ranged(
        0.0, 0, 0.999, about="share of the tokens that are read as unknown, in training; not by a part"
    )
    dropout: float = ranged(
        0.3, 0, 0.999, about="share of the numbers set to 0 on embeddings, between layers and on the text's vector"
    )


@dataclass(frozen=True)
class Objective:
    smoothing: float = ranged(0.0, 0, 0.999, about="label smoothing: the share that goes to all classes alike")
    class_weights: dict[str, float] = key(
        {}, about="how much an example of a class counts in the loss, where not 1: {rare = 5.0}"
    )


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


class Classifier(ClassifierNetwork):
    """The network; `network(ids, lengths)` gives the logits of the classes."""

    traits = Traits(corrupts_on_host=True)  # a text of any length, whose rows are read on the host
    part_names = ("reader",)

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__()
        tokens, labels = vocabularies.tokens(vocabulary_of(config)), vocabularies.labels(LABEL)
        self.config, self.objective, self.pad, self.end = config, objective, tokens.pad, tokens.eos
        self.unk = tokens.unk
        self.smoothing, self.class_weights = objective.smoothing, weights_of(objective.class_weights, labels)
        self.reader = parts.get("reader")
        if self.reader and config.vectors:
            raise UsageError("Words are read by a part or have vectors of their own, not both: model.vectors = 0.")
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
            if not config.widths:
                raise UsageError('model.widths is empty: say how many words the filters of a "cnn" see.')
            self.convolutions = Convolutions(width, config.dim, config.widths)
            width = config.dim * len(config.widths)
        if config.pooling == "last" and config.encoder not in RECURRENT and not self.reader:
            raise UsageError(
                f'model.pooling = "last" is for encoders that read in order, and "{config.encoder}" does not: take '
                '"mean", "max" or "attention", or model.encoder = "lstm".'
            )
        if config.pooling == "attention" and self.reader and self.reader.reads_words:
            raise UsageError(
                "A part that reads words by their letters leaves no tokens to show: pool by mean or max."
            )
        self.attention = Attention(width) if config.pooling == "attention" else None
        sizes = [width, *config.hidden]
        self.hidden = nn.ModuleList(nn.Linear(*each) for each in pairwise(sizes))
        self.output = OutputTable(sizes[-1], len(labels))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        cut: Literal["", "word"] = "word" if recipe.model.vectors else ""
        part = recipe.parts.get("reader")
        by_word = part is not None and getattr(system(part.system).network_class(), "reads_words", False)
        if summed(recipe.model):
            if recipe.tokenizer.kind != "word":
                raise UsageError('model.joined = "summed" adds vectors word by word: set tokenizer.kind = "word".')
            own = Column("tokens", VECTORS, field="text", cut="word", aligned="text")
            label = Column("class", vocabulary=LABEL, optional=True)
            return {"text": Column("tokens"), VECTORS: own, LABEL: label}
        text = Column("tokens", vocabulary_of(recipe.model), cut=cut, by_word=by_word)
        return {"text": text, LABEL: Column("class", vocabulary=LABEL, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Texts without their boundaries, and their labels."""
        if self.reader is not None and self.reader.reads_words:
            return self._read_by_words(examples)
        rows = [row[1:-1] if len(row) > 2 else row[-1:] for row in ragged(examples["text"])]
        ids, lengths = torch.from_numpy(padded(rows, self.pad)), torch.tensor([len(row) for row in rows])
        if seeds is not None and self.config.word_dropout and self.reader is None:
            draws = uniform(torch.from_numpy(seeds[MAIN]), ids.shape[1], WORD_DROPOUT)
            ids = ids.where((draws > self.config.word_dropout) | (ids == self.pad), self.unk)
        tensors = {"inputs": ids, "lengths": lengths}
        if self.own is not None:  # word dropout leaves own vectors alone
            own = [row[1:-1] if len(row) > 2 else row[-1:] for row in ragged(examples[VECTORS])]
            tensors[VECTORS] = torch.from_numpy(padded(own, self.pad, longest=ids.shape[1]))
        if self.reader is not None:
            read, where = read_words(self.reader, [[row] for row in rows], self.end)
            tensors |= {f"{READ}{name}": tensor for name, tensor in read.items()}
            tensors |= {"where": torch.from_numpy(where[:, 0].clip(min=0))}
        return labelled(tensors, examples, self.class_weights)

    def _read_by_words(self, examples: Examples) -> Batch:
        """The same for a part that reads words: there is a state for each."""
        assert self.reader is not None
        texts = cast(Sequence[list[np.ndarray]], examples["text"])
        texts = [row or [np.array([self.unk])] for row in texts]
        read, where = read_words(self.reader, texts, self.end)
        lengths = torch.tensor([len(row) for row in texts])
        tensors = {"lengths": lengths, "where": torch.from_numpy(where[:, :, 0].clip(min=0))}
        return labelled(tensors | {f"{READ}{name}": t for name, t in read.items()}, examples, self.class_weights)

    def states(
        self, x: Float[Tensor, "B T e"], lengths: Int[Tensor, " B"], inside: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T d"]:
        """h_1 … h_n of every text."""
        if self.config.encoder == "cnn":
            return self.convolutions(x, inside)
        if self.config.encoder == "bag":
            return x
        return self.recurrent(x, lengths)[0]

    def pooled(
        self, h: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"], inside: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B T"] | None]:
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

    def classified(
        self, x: Float[Tensor, "B T e"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B T"] | None]:
        """Logits of the classes and α."""
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        x = self.dropout(x.to(self.output.weight.dtype))
        v, weights = self.pooled(self.states(x, lengths, inside), lengths, inside)
        for layer in self.hidden:
            v = layer(self.dropout(v)).relu()
        return self.output(self.dropout(v)), weights

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B C"]:
        return self.classified(self.embedding(ids), lengths)[0]

    def vectors(self, batch: Batch) -> Float[Tensor, "B T _"]:
        """x_1 … x_n of every text."""
        if self.reader is None:
            x = self.embedding(batch["inputs"])
            return x if self.own is None else x + self.own(batch[VECTORS])
        layers = self.reader.states(given_to_part(batch)).layers
        return F.embedding(batch["where"], (layers[-1] if self.mix is None else self.mix(layers)).flatten(0, 1))

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self.classified(self.vectors(batch), batch["lengths"])[0]

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Classified]:
        logits, weights = self.classified(self.vectors(batch), batch["lengths"])
        rows = [Classified(row) for row in logits.float().softmax(1)]
        if weights is None:
            return rows
        each = zip(rows, batch["inputs"], weights, batch["lengths"].tolist(), strict=True)
        return [Classified(row.probabilities, ids[:n], alpha[:n]) for row, ids, alpha, n in each]


def vocabulary_of(config: Config) -> str:
    """The vocabulary that texts are read with: of all words with a vector of their own, where there are only such."""
    return VECTORS if config.vectors and not summed(config) else TEXT


def summed(config: Config) -> bool:
    """Whether a word has two vectors, which are added."""
    return bool(config.vectors) and config.joined == "summed"


def vectors_of(config: Config, tokens: Tokens) -> nn.Module:
    """E, or one-hot vectors."""
    size = config.vectors or config.embedding
    if not size:
        return OneHot(len(tokens))
    table = TokenTable(len(tokens), size, vocabulary_of(config))
    nn.init.normal_(table.weight, std=0.0 if summed(config) else size**-0.5)
    table.weight.requires_grad_(config.tuned or not config.vectors or summed(config))
    return table
