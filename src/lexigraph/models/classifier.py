"""A label for a text: words are encoded, pooled into one vector, and classified.

    x_t = E[token t]                     or the token itself as a one-hot vector (embedding = 0), or the state that another
                                         network has for it (its part `reader`: --from runs/bert)
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
--weights` prints α for each token. Vectors of one's own words (--from my.vec) are tuned unless train.lr_scale =
{embedding = 0}.

Shapes: B batch, T tokens, e numbers of x, d of h, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexigraph.errors import UsageError
from lexigraph.nn.classifier import LABEL, Classified, ClassifierNetwork, labelled, weights_of
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Reader, Seeds, ragged, read_words
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

READ = "read_"  # before the names of the tensors that the part is given
CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


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
    dim: int = ranged(128, 1, about="numbers in a recurrent state in each direction; filters of each width")
    layers: int = ranged(1, 1, about="recurrent layers, one above the other")
    bidirectional: bool = key(True, about="recurrent: read from both ends")
    widths: tuple[int, ...] = ranged((3, 4, 5), 1, 1000, about="cnn: how many words the filters see")
    hidden: tuple[int, ...] = ranged(
        (), 1, about="numbers in each layer between the text's vector and the classes; none: []"
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

    def forward(self, ids: Int[Tensor, "B T"]) -> Int[Tensor, "B T e"]:
        return F.one_hot(ids, self.tokens)


class Convolutions(nn.Module):
    """ReLU(W_k x_(t-a) … x_(t+b) + b_k) for each width k, with a = (k - 1) / 2 rounded down, and 0 beyond the text."""

    def __init__(self, width: int, dim: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(width, dim, k) for k in widths)
        self.reach = [((k - 1) // 2, k // 2) for k in widths]

    def forward(self, x: Float[Tensor, "B T e"], inside: Bool[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        x = (x * inside.unsqueeze(2)).transpose(1, 2)
        h = [filters(F.pad(x, reach)) for filters, reach in zip(self.filters, self.reach, strict=True)]
        return torch.cat(h, 1).relu().transpose(1, 2)


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
        self,
        config: Config,
        objective: Objective,
        vocabularies: Vocabularies,
        parts: Mapping[str, Reader] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        tokens, labels = vocabularies.tokens(), vocabularies.labels(LABEL)
        self.config, self.objective, self.pad, self.end = config, objective, tokens.pad, tokens.eos
        self.smoothing, self.class_weights = objective.smoothing, weights_of(objective.class_weights, labels)
        self.reader = parts.get("reader")
        self.embedding = None if self.reader else _vectors(len(tokens), config.embedding)
        width = self.reader.width if self.reader else config.embedding or len(tokens)
        self.dropout = nn.Dropout(config.dropout)
        if config.encoder in CELLS:
            between = config.dropout if config.layers > 1 else 0.0
            self.recurrent = CELLS[config.encoder](
                width,
                config.dim,
                config.layers,
                batch_first=True,
                dropout=between,
                bidirectional=config.bidirectional,
            )
            width = config.dim * (1 + config.bidirectional)
        elif config.encoder == "cnn":
            self.convolutions = Convolutions(width, config.dim, config.widths)
            width = config.dim * len(config.widths)
        if config.pooling == "last" and config.encoder not in CELLS and not self.reader:
            raise UsageError(
                f'model.pooling = "last" is for encoders that read in order, and "{config.encoder}" does not: take '
                '"mean", "max" or "attention", or model.encoder = "lstm".'
            )
        self.attention = Attention(width) if config.pooling == "attention" else None
        sizes = [width, *config.hidden]
        self.hidden = nn.ModuleList(nn.Linear(*each) for each in pairwise(sizes))
        self.output = OutputTable(sizes[-1], len(labels))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens"), LABEL: Column("class", vocabulary=LABEL, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Texts without their boundaries, and their labels."""
        rows = [row[1:-1] if len(row) > 2 else row[-1:] for row in ragged(examples["text"])]
        ids, lengths = torch.from_numpy(padded(rows, self.pad)), torch.tensor([len(row) for row in rows])
        tensors = {"inputs": ids, "lengths": lengths}
        if self.reader is not None:
            read, where = read_words(self.reader, [[row] for row in rows], self.end)
            tensors |= {f"{READ}{name}": tensor for name, tensor in read.items()}
            tensors |= {"where": torch.from_numpy(where[:, 0].clip(min=0))}
        return labelled(tensors, examples, self.class_weights)

    def states(
        self, x: Float[Tensor, "B T e"], lengths: Int[Tensor, " B"], inside: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T d"]:
        """h_1 … h_n of every text."""
        if self.config.encoder == "cnn":
            return self.convolutions(x, inside)
        if self.config.encoder == "bag":
            return x
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.recurrent(packed)[0], batch_first=True)[0]

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
        if self.config.encoder in CELLS and self.config.bidirectional:
            forward, backward = last[:, : self.config.dim], h[:, 0, self.config.dim :]
            last = torch.cat([forward, backward], 1)
        return last, None

    def classified(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], table: Float[Tensor, "V e"] | None = None
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B T"] | None]:
        """Logits of the classes and α. What is read are rows of a table: of the network's own, or as given."""
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        x = self.embedding(ids) if self.embedding is not None else F.embedding(ids, _given(table))
        x = self.dropout(x.to(self.output.weight.dtype))
        v, weights = self.pooled(self.states(x, lengths, inside), lengths, inside)
        for layer in self.hidden:
            v = layer(self.dropout(v)).relu()
        return self.output(self.dropout(v)), weights

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B C"]:
        return self.classified(ids, lengths)[0]

    def _read(self, batch: Batch) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B T"] | None]:
        if self.reader is None:
            return self.classified(batch["inputs"], batch["lengths"])
        read = Batch({name: batch[f"{READ}{name}"] for name in ("inputs", "lengths")})
        return self.classified(batch["where"], batch["lengths"], self.reader.states(read).layers[-1].flatten(0, 1))

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self._read(batch)[0]

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Classified]:
        logits, weights = self._read(batch)
        rows = [Classified(row) for row in logits.float().softmax(1)]
        if weights is None:
            return rows
        each = zip(rows, batch["inputs"], weights, batch["lengths"].tolist(), strict=True)
        return [Classified(row.probabilities, ids[:n], alpha[:n]) for row, ids, alpha, n in each]


def _vectors(tokens: int, size: int) -> nn.Module:
    """E, or one-hot vectors."""
    if not size:
        return OneHot(tokens)
    table = TokenTable(tokens, size)
    nn.init.normal_(table.weight, std=size**-0.5)
    return table


def _given(table: Tensor | None) -> Tensor:
    assert table is not None, "a part reads the tokens"
    return table
