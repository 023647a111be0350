"""Recurrent language model: a state read along the text (Mikolov et al. 2010; Zaremba et al. 2014).

    h_t = cell(E[w_t], h_{t-1})                     nn/cells.py has the equations of each cell
    p(next) = softmax(h_t Eᵀ + b)                   (tied: the output table is the input's)
    loss = NLL / tokens + β Σ_t (‖h_t‖ - ‖h_{t-1}‖)² / tokens         (Krueger & Memisevic 2016; β = 0: without)

Dropout falls on what goes up (embedding, between layers, output), never on what goes on in time. Training reads
parallel streams window by window: the state is carried across windows, the gradient is not.

Shapes: B batch, T time, d width of an output and of a token's vector, V vocabulary, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, LanguageNetwork, Seeds, States
from lexigraph.nn.recurrent import Recurrent, locked_dropout, norm_changes
from lexigraph.nn.stepper import State, Step
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Traits
from lexigraph.text.vocabularies import Vocabularies

STABILISER = "stabiliser"


@dataclass(frozen=True)
class Config:
    cell: Literal[
        "rnn", "rnn-relu", "irnn", "lstm", "lstm-peephole", "gru", "gru-before", "gru-simple", "unitary"
    ] = key("lstm", about="how a state follows from the one before and a token (docs/recurrent.md compares them)")
    layers: int = ranged(2, 1, about="layers, one above the other")
    dim: int = ranged(256, 1, about="numbers in a state, and in the vector of a token")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    locked: bool = key(False, about="dropout sets the same numbers to 0 at all times of a row")
    tied: bool = key(True, about="one table for input and output")
    scale: float = ranged(0.05, 0, about="initial weights are uniform in ± scale, but those that a cell sets itself")
    projection: int = ranged(0, 0, about="LSTMs: numbers that a state of dim is narrowed to; 0: it is not")
    forget_bias: float = key(0.0, about="LSTMs: bias of the forget gate at the start; 0: drawn as other weights are")
    learned_start: bool = key(False, about="the state that a text begins from is learned; otherwise it is 0")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")
    stabiliser: float = ranged(0.0, 0, about="weight of the squared change of the state's norm from step to step")


class RecurrentLanguageModel(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary, width = len(tokens), config.projection or config.dim
        self.config, self.objective, self.pad, self.width = config, objective, tokens.pad, width
        # the state of one window is the start of the next; no limit
        terms = ("loss", STABILISER) if objective.stabiliser else ("loss",)
        self.traits = Traits(causal="text", stateful=True, terms=terms)
        self.embedding = TokenTable(vocabulary, width)
        self.recurrent = Recurrent(
            config.cell,
            width,
            config.dim,
            config.layers,
            dropout=config.dropout,
            locked=config.locked,
            projection=config.projection,
            forget_bias=config.forget_bias,
            learned_start=config.learned_start,
        )
        self.table = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.heads = ("bias",) if config.tied else ("bias", "table")
        for parameter in self.parameters():
            if parameter is not self.bias:
                nn.init.uniform_(parameter, -config.scale, config.scale)
        self.recurrent.own_start()

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.table is None else self.table

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        batch = super().prepare(examples, seeds, step)
        if not self.objective.stabiliser:
            return batch
        return Batch(batch.tensors, batch.counts | {STABILISER: batch.counts["loss"]})

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. It reads left to right, so padding on the right is
        never seen and `lengths` is not needed."""
        return F.linear(self._dropped(self.hidden(ids)[0]), self.output_table, self.bias)

    def hidden(self, ids: Int[Tensor, "B T"], carry: Carry | None = None) -> tuple[Float[Tensor, "B T d"], Carry]:
        """The last layer's states, and what the next window goes on from. In a carry the first axis is the stream."""
        e = self.embedding(ids)
        if not self.config.locked:  # what is locked falls on the inputs of the layers themselves
            e = self._dropped(e)
        outputs, state = self.recurrent(e, state=carry)
        return outputs, {name: value.detach() for name, value in state.items()}

    def _dropped(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """Some numbers set to 0."""
        drop = locked_dropout if self.config.locked else F.dropout
        return drop(x, self.config.dropout, self.training)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, end = self.hidden(batch["inputs"], carry)
        terms = next_token_terms(
            self._dropped(hidden),
            self.output_table,
            batch,
            bias=self.bias,
            smoothing=self.objective.label_smoothing,
            pad=self.pad,
        )
        if self.objective.stabiliser:
            before = None if carry is None else carry["h"][:, -1]
            changes = norm_changes(hidden, (batch["targets"] != IGNORE).sum(1), before)
            terms[STABILISER] = Term(changes, batch.counts[STABILISER], weight=self.objective.stabiliser)
        return terms, end

    def states(self, batch: Batch) -> States:
        """Embeddings, and the last layer's states: a fused kernel shows no others."""
        return States(
            [self.embedding(batch["inputs"]), self._dropped(self.hidden(batch["inputs"])[0])], batch["lengths"]
        )

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`) into a state."""
        _, rows = self.recurrent(self.embedding(beginning["ids"]), beginning["lengths"])
        step = self._answer(rows)
        return Step(step.logits.repeat_interleave(width, 0), step.state.expand(width))

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row."""
        _, rows = self.recurrent(self.embedding(tokens)[:, None], state=state.rows)
        return self._answer(rows, state.width)

    def _answer(self, rows: dict[str, Tensor], width: int = 1) -> Step:
        return Step(F.linear(rows["h"][:, -1], self.output_table, self.bias), State(rows, width=width))
