"""ELMo: words in context, from two language models that read in opposite directions (Peters et al. 2018).

    x_t = P Highway(max over places of relu(conv_k(C[letters of w_t])), k = 1, 2, …)     a word by its letters alone
    f_t = LSTM(f_{t-1}, x_t),    f'_t = f_t + LSTM(f'_{t-1}, f_t)                        ahead: predicts w_{t+1}
    b_t = LSTM(b_{t+1}, x_t),    b'_t = b_t + LSTM(b'_{t+1}, b_t)                        back:  predicts w_{t-1}
    p(w) = softmax(O (f' or b') + β)                                                     one O for both directions

    highway     y = g x + (1 - g) relu(W x + a),    g = σ(W' x + a')                     (Srivastava et al. 2015)

States of LSTMs are projected to the width of x. As a part it gives three layers of twice that width, [x; x], [f; b]
and [f'; b'], of which taggers and classifiers take what they need (nn/mix.py). A word is known by its letters, so
that none is unknown; only those that are predicted have a vocabulary. If there are more than `objective.samples` of
them, training compares the right word with drawn ones (objectives/sampled.py).

Shapes: B batch, T words, U different words, L letters, p width of a projection, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.network import Examples, Outputs, Reader, Seeds, States
from lexigraph.nn.recurrent import Recurrent, backwards
from lexigraph.nn.words import spelled
from lexigraph.objectives import sampled
from lexigraph.objectives.next_token import IGNORE, linear_cross_entropy
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import TEXT, Vocabularies

PREDICTED = "predicted"  # the words that are predicted, and their vocabulary
BEGIN, END = 0, 1


@dataclass(frozen=True)
class Config:
    character_embedding: int = ranged(16, 1, about="numbers in the vector of a letter")
    filters: tuple[int, ...] = ranged(
        (32, 32, 64, 128, 256), 1, about="how many filters see 1, 2, 3 … letters at once"
    )
    highway: int = ranged(1, 0, about="highway layers above the filters")
    layers: int = ranged(2, 1, about="LSTM layers in each direction")
    dim: int = ranged(512, 1, about="numbers in an LSTM's memory")
    projection: int = ranged(
        128, 1, about="numbers that its state, and a word, come to; both directions have so many"
    )
    context: int = ranged(128, 2, about="the longest sentence in words; a longer one goes on in further rows")
    words: int = ranged(100_000, 10, about="so many of the most frequent words are predicted, all others as unknown")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    samples: int = ranged(0, 0, about="words that the right one is compared with in training; 0: all")


class Highway(nn.Module):
    """g x + (1 - g) relu(W x + a): what comes in goes through, but where the layer has something to say."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.Linear(width, 2 * width)
        with torch.no_grad():
            self.both.bias[:width].fill_(1.0)  # at first most goes through

    def forward(self, x: Float[Tensor, "U d"]) -> Float[Tensor, "U d"]:
        gate, new = self.both(x).chunk(2, 1)
        gate = gate.sigmoid()
        return gate * x + (1 - gate) * new.relu()


class Spelling(nn.Module):
    """A vector for every word from its letters."""

    def __init__(self, config: Config, letters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, config.character_embedding)
        sizes = enumerate(config.filters, 1)
        self.filters = nn.ModuleList(nn.Conv1d(config.character_embedding, n, k) for k, n in sizes)
        width = sum(config.filters)
        self.highway = nn.Sequential(*(Highway(width) for _ in range(config.highway)))
        self.out = nn.Linear(width, config.projection)

    def forward(self, letters: Int[Tensor, "U L"], counts: Int[Tensor, " U"]) -> Float[Tensor, "U p"]:
        inside = torch.arange(letters.shape[1], device=letters.device) < counts[:, None]
        c = (self.embedding(letters) * inside[:, :, None]).transpose(1, 2)
        c = F.pad(c, (1, len(self.filters)))  # so that a word is seen to begin and to end, and the shortest fits
        place = torch.arange(c.shape[2], device=letters.device)
        found = []
        for filters in self.filters:
            seen = filters(c)
            reach = place[: seen.shape[2]] < counts[:, None] + 2  # beyond is padding of longer words
            found.append(seen.masked_fill(~reach[:, None], -torch.inf).amax(2).relu())
        return self.out(self.highway(torch.cat(found, 1)))


class ELMo(Reader):
    """The network; `network.states(batch)` gives its three layers."""

    reads_words = True
    heads = ("output", "bias")
    layer_names = r"^(?:ahead|back)\.(\d+)\."

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        letters = vocabularies.tokens()
        self.config, self.objective, self.width = config, objective, 2 * config.projection
        self.traits = Traits(context=config.context, windowed=TEXT, corrupts_on_host=True)
        self.spelling = Spelling(config, len(letters))
        self.boundaries = nn.Parameter(0.1 * torch.randn(2, config.projection))  # before a sentence, and behind it
        self.ahead, self.back = (
            nn.ModuleList(
                Recurrent("lstm", config.projection, config.dim, projection=config.projection, forget_bias=1.0)
                for _ in range(config.layers)
            )
            for _ in range(2)
        )
        size = 2
        if PREDICTED in vocabularies:
            words = vocabularies.tokens(PREDICTED)
            self.unknown, self.end, size = words.unk, words.eos, min(len(words), config.words)
        self.output, self.bias = nn.Embedding(size, config.projection), nn.Parameter(torch.zeros(size))
        nn.init.normal_(self.output.weight, std=config.projection**-0.5)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        if recipe.tokenizer.kind != "char":
            raise UsageError('ELMo reads words by their letters: set tokenizer.kind = "char".')
        return {
            TEXT: Column("tokens", by_word=True),
            PREDICTED: Column("tokens", vocabulary=PREDICTED, field=TEXT, by_word=True, cut="word", aligned=TEXT),
        }

    # ---- words in context --------------------------------------------------------------------------------

    def reading_words(self, rows: Sequence[list[np.ndarray]]) -> Batch:
        """Sentences, each a list of words, each a row of letters."""
        return Batch({**spelled(rows), "lengths": torch.tensor([len(row) for row in rows])})

    def states(self, batch: Batch) -> States:
        """[x; x], [f; b], [f'; b'] … Position 0 is the beginning of a sentence, position t its word t."""
        layers, _, _ = self._read(batch)
        return States(layers, batch["lengths"])

    def directions(self, batch: Batch) -> tuple[Float[Tensor, "B T_and_1 p"], Float[Tensor, "B T_and_1 p"]]:
        """What predicts the words ahead, and those behind in their order: the last states of each direction."""
        _, ahead, back = self._read(batch)
        return ahead, back

    def _read(
        self, batch: Batch
    ) -> tuple[list[Float[Tensor, "B T_and_1 d"]], Float[Tensor, "B T_and_1 p"], Float[Tensor, "B T_and_1 p"]]:
        """The layers, aligned with the words; and the last states of each direction in its own order."""
        lengths = batch["lengths"]
        x = self._dropped(self.spelling(batch["letters"], batch["letter_counts"]))[batch["spelling"]]
        begin, end = (self.boundaries[side].expand(len(x), 1, -1) for side in (BEGIN, END))
        ahead, back = torch.cat([begin, x], 1), torch.cat([end, backwards(x, lengths)], 1)
        layers = [torch.cat([ahead, torch.cat([end, x], 1)], 2)]
        for number, (right, left) in enumerate(zip(self.ahead, self.back, strict=True)):
            f, b = (self._dropped(layer(side, lengths + 1)[0]) for layer, side in ((right, ahead), (left, back)))
            ahead, back = (f + ahead, b + back) if number else (f, b)
            aligned = torch.cat([back[:, :1], backwards(back[:, 1:], lengths)], 1)
            layers.append(torch.cat([ahead, aligned], 2))
        return layers, ahead, back

    def _dropped(self, x: Float[Tensor, "*shape p"]) -> Float[Tensor, "*shape p"]:
        return F.dropout(x, self.config.dropout, self.training)

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Sentences and the words to predict: w_1 … w_n and the end ahead, w_n … w_1 and the beginning back."""
        letters = cast(Sequence[list[np.ndarray]], examples[TEXT])
        batch = self.reading_words(letters)
        words = cast(Sequence[list[np.ndarray]], examples[PREDICTED])
        rows = [np.array([self._known(word) for word in row], np.int64) for row in words]
        ahead, back = ([np.append(row[::way], self.end) for row in rows] for way in (1, -1))
        tensors = batch.tensors | {
            "ahead": torch.from_numpy(padded(ahead, IGNORE)),
            "back": torch.from_numpy(padded(back, IGNORE)),
        }
        if seeds is not None and 0 < self.objective.samples < len(self.bias):
            drawn = sampled.draws(len(self.bias), self.objective.samples, step or 0)
            tensors["drawn"] = torch.from_numpy(drawn)
        return Batch(tensors, {"loss": 2.0 * sum(len(row) + 1 for row in rows)})

    def _known(self, word: np.ndarray) -> int:
        """The number of a word that is predicted."""
        number = int(word[0]) if len(word) else self.unknown
        return number if number < len(self.bias) else self.unknown

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden = torch.cat([side.flatten(0, 1) for side in self.directions(batch)])
        targets = torch.cat([batch[side].flatten() for side in ("ahead", "back")])
        if "drawn" in batch.tensors:
            total = sampled.sampled_cross_entropy(hidden, self.output.weight, self.bias, targets, batch["drawn"])
            return {"loss": Term(total, batch.counts["loss"])}, None
        total, nll = linear_cross_entropy(hidden, self.output.weight, self.bias, targets)
        rows = nll.unflatten(0, (2, len(batch["ahead"]), -1))
        return {"loss": Term(total, batch.counts["loss"], items=rows.transpose(0, 1).flatten(1))}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        last = self.states(batch).layers[-1]
        return {TEXT: [row[: n + 1] for row, n in zip(last, batch["lengths"].tolist(), strict=True)]}
