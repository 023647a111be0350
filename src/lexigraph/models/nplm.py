"""NPLM: a fixed window of the words before predicts the next (Bengio et al. 2003).

    x = (C(w_{t-1}), …, C(w_{t-c}))           the vectors of the c = n - 1 words before, side by side
    a = tanh(d + H x)
    y = b + W x + U a                         (without direct connections: no W x)
    p(w_t) = softmax(y)

Tied, the rows of C also score the words: U = C P and W = C Q, so that y = b + C (P a + Q x). Without a, that is the
log-bilinear model of Mnih & Hinton (2007).

A text begins with its boundary token, and before that stands the same token again, as <s> <s> before an n-gram.

Shapes: B batch, T time, c words of context, m size of a word's vector, h hidden units, V vocabulary, k columns of the
output's table, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import Linear, linear
from lexigraph.nn.network import LanguageNetwork, States
from lexigraph.nn.stepper import State, Step
from lexigraph.objectives.next_token import next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    context: int = ranged(4, 2, about="words that are seen before the next (c): 4 are those of a 5-gram")
    dim: int = ranged(128, 1, about="numbers in the vector of a word (m)")
    hidden: int = ranged(256, 1, about="numbers in the hidden layer (h)")
    direct: bool = key(True, about="connect the words' vectors straight to the output, too (W)")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="one table for input and output")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class NPLM(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    # the last words of one window of a stream stand before the next; a text may have any length
    traits = Traits(causal="text", stateful=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary = len(tokens)
        if config.context < 1 or config.hidden < 1:
            raise LexigraphError(
                f"model.context = {config.context} and model.hidden = {config.hidden} must both be at least 1."
            )
        self.config, self.objective, self.pad = config, objective, tokens.pad
        size = config.context * config.dim  # of x
        features = config.hidden + (size if config.direct else 0)  # a, and x beside it
        self.width = config.dim if config.tied else features
        self.heads = ("bias",) if config.tied else ("bias", "table")
        self.embedding = TokenTable(vocabulary, config.dim)  # C
        self.inner = Linear(size, config.hidden)  # H and d
        self.narrow = Linear(features, config.dim, bias=False) if config.tied else nn.Identity()  # [P Q]
        self.table = None if config.tied else nn.Parameter(torch.empty(vocabulary, features))  # [U W]
        self.bias = nn.Parameter(torch.zeros(vocabulary))  # b
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.embedding.weight, std=config.dim**-0.5)
        if self.table is not None:
            nn.init.normal_(self.table, std=features**-0.5)

    @property
    def output_table(self) -> Float[Tensor, "V k"]:
        return self.embedding.weight if self.table is None else self.table

    def windows(self, ids: Int[Tensor, "B T"], before: Int[Tensor, "B _"] | None = None) -> Int[Tensor, "B T c"]:
        """The c words up to every position, latest first; `before`: c - 1 words that come before the first one."""
        c = self.config.context
        if before is None:
            before = ids[:, :1].expand(-1, c - 1)
        return torch.cat([before, ids], 1).unfold(1, c, 1).flip(2)

    def hidden(self, windows: Int[Tensor, "*shape c"]) -> Float[Tensor, "*shape k"]:
        """What the output table is multiplied with."""
        x = self.dropout(self.embedding(windows).flatten(-2))  # (C(w_{t-1}), …, C(w_{t-c}))
        a = self.dropout(torch.tanh(self.inner(x)))  # tanh(d + H x)
        return self.narrow(torch.cat([a, x], -1) if self.config.direct else a)

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. Padding on the right is never looked at, so that
        `lengths` is not needed."""
        return F.linear(self.hidden(self.windows(ids)), self.output_table, self.bias)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        windows = self.windows(batch["inputs"], None if carry is None else carry["ids"])
        terms = next_token_terms(
            self.hidden(windows),
            self.output_table,
            batch,
            bias=self.bias,
            smoothing=self.objective.label_smoothing,
            pad=self.pad,
        )
        return terms, {"ids": windows[:, -1, :-1].flip(1)}  # in the order of the text

    @property
    def depth(self) -> int:
        return 1

    def states(self, batch: Batch) -> States:
        return States([self.hidden(self.windows(batch["inputs"]))], batch["lengths"])

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Only the last c words of each prompt (`ids`, padded on the right, and their `lengths`) matter."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        rows = torch.arange(len(ids), device=ids.device)
        return self._answer(State({"ids": self.windows(ids)[rows, lengths - 1]}).expand(width))

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row: it enters the window, and the oldest leaves."""
        ids = torch.cat([tokens[:, None], state.rows["ids"][:, :-1]], 1)
        return self._answer(State({"ids": ids}, state.source, state.width))

    def _answer(self, state: State) -> Step:
        return Step(linear(self.hidden(state.rows["ids"]), self.output_table, self.bias), state)
