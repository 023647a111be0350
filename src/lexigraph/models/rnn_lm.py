"""Recurrent language model: a state read along the text (Mikolov et al. 2010; Zaremba et al. 2014).

    h_t = cell(E[w_t], h_{t-1})                     nn/cells.py has the equations of each cell
    p(next) = softmax(h_t Eᵀ + b)                   (tied: the output table is the input's)
    h_t = cell(E[w_t], R p_{t-1})                   (recurrence = "output": the past is known by what was said alone)
    loss = NLL / tokens + β Σ_t (‖h_t‖ - ‖h_{t-1}‖)² / tokens         (Krueger & Memisevic 2016; β = 0: without)

Dropout falls on what goes up (embedding, between layers, output), never on what goes on in time. Training reads
parallel streams window by window: the state is carried across windows, the gradient is not. It reads the true text
(teacher forcing), or now and then what it would have written itself (objectives/sampling.py).

Shapes: B batch, T time, d width of an output and of a token's vector, V vocabulary, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.cells import CellName
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, LanguageNetwork, Seeds, States
from lexigraph.nn.recurrent import Recurrent, locked_dropout, norm_changes
from lexigraph.nn.stepper import State, Step
from lexigraph.objectives import sampling
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.sampling import Schedule
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Traits
from lexigraph.text.vocabularies import Vocabularies

STABILISER = "stabiliser"


@dataclass(frozen=True)
class Config:
    cell: CellName = key(
        "lstm", about="how a state follows from the one before and a token (docs/recurrent.md compares them)"
    )
    layers: int = ranged(2, 1, about="layers, one above the other")
    dim: int = ranged(256, 1, about="numbers in a state, and in the vector of a token")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    locked: bool = key(False, about="dropout sets the same numbers to 0 at all times of a row")
    tied: bool = key(True, about="one table for input and output")
    scale: float = ranged(0.05, 0, about="initial weights are uniform in ± scale, but those that a cell sets itself")
    projection: int = ranged(0, 0, about="LSTMs: numbers that a state of dim is narrowed to; 0: it is not")
    forget_bias: float = key(0.0, about="LSTMs: bias of the forget gate at the start; 0: drawn as other weights are")
    recurrence: Literal["hidden", "output"] = key(
        "hidden",
        about="what a step sees of the one before: its state, or only its output (simple cells of one layer)",
    )
    learned_start: bool = key(False, about="the state that a text begins from is learned; otherwise it is 0")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")
    sampling: Schedule = key(
        "none", about="how training turns from the true text to tokens that the model draws itself; none: never"
    )
    sampling_k: float = ranged(
        1000.0,
        0,
        about="of sampling: linear: the truth is gone after k steps; exponential: k^i; inverse-sigmoid: its k",
    )
    stabiliser: float = ranged(0.0, 0, about="weight of the squared change of the state's norm from step to step")


class RecurrentLanguageModel(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    layer_names = r"\.kernel\..*_l(\d+)$|\.blocks\.(\d+)\.cells\."  # of fused kernels, and of our own

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
        self.fed_back = None
        if config.recurrence == "output":
            _check_output_recurrence(config)
            self.fed_back = nn.Linear(vocabulary, config.dim, bias=False)  # R
        sampling.check(objective.sampling, objective.sampling_k)
        if config.locked and (config.recurrence == "output" or objective.sampling != "none"):
            raise UsageError(
                "Step by step no dropout is locked: set model.locked = false, or read the true text alone."
            )
        self.table = None if config.tied else nn.Parameter(torch.empty(vocabulary, width))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.heads = ("bias",) if config.tied else ("bias", "table")
        if self.fed_back is not None:  # a part says something, too
            self.heads = ()
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
        shown = sampling.truth(self.objective.sampling, self.objective.sampling_k, step or 0)
        if seeds is not None and shown < 1:
            rows, length = torch.from_numpy(seeds[MAIN]), batch["inputs"].shape[1]
            own = {"own": sampling.own_positions(rows, length, shown), "draws": sampling.draws(rows, length)}
            batch = Batch(batch.tensors | {n: t.to(batch["inputs"].device) for n, t in own.items()}, batch.counts)
        if not self.objective.stabiliser:
            return batch
        return Batch(batch.tensors, batch.counts | {STABILISER: batch.counts["loss"]})

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. It reads left to right, so padding on the right is
        never seen and `lengths` is not needed."""
        return self._scores(self._dropped(self.hidden(ids)[0]))

    def hidden(self, ids: Int[Tensor, "B T"], carry: Carry | None = None) -> tuple[Float[Tensor, "B T d"], Carry]:
        """The last layer's states, and what the next window goes on from. In a carry the first axis is the stream."""
        e = self.embedding(ids)
        if not self.config.locked:  # what is locked falls on the inputs of the layers themselves
            e = self._dropped(e)
        outputs, state = self._read(e, state=carry)
        return outputs, {name: value.detach() for name, value in state.items()}

    def _read(
        self, e: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"] | None = None, state: Carry | None = None
    ) -> tuple[Float[Tensor, "B T d"], Carry]:
        """The recurrence over vectors of tokens; where it goes through the output, one after the other."""
        if self.fed_back is None:
            return self.recurrent(e, lengths, state)
        steps = []
        for t, now in enumerate(e.split(1, 1)):
            h, after = self.recurrent(now, state=self._said(state))
            if lengths is not None and state is not None:  # behind its end, a row stays as it is
                after = {"h": after["h"].where((t < lengths)[:, None, None], state["h"])}
            state = after
            steps.append(h)
        assert state is not None
        return torch.cat(steps, 1), state

    def _said(self, state: Carry | None) -> Carry | None:
        """R p_{t-1} in the place of a state; at the very beginning, nothing has been said."""
        if self.fed_back is None or state is None:
            return state
        return {"h": self.fed_back(self._scores(state["h"]).softmax(2))}

    def _scores(self, hidden: Float[Tensor, "*B d"]) -> Float[Tensor, "*B V"]:
        return F.linear(hidden, self.output_table, self.bias)

    def _sampled(self, batch: Batch, carry: Carry | None) -> tuple[Float[Tensor, "B T d"], Carry]:
        """The same where some tokens are those that the network draws from what it says at the step before."""
        steps: list[Tensor] = []
        tokens, state = batch["inputs"][:, 0], carry
        for t in range(batch["inputs"].shape[1]):
            if t:
                own = sampling.drawn(self._scores(steps[-1][:, 0]), batch["draws"][:, t])
                tokens = own.where(batch["own"][:, t], batch["inputs"][:, t])
            e = self.embedding(tokens[:, None])
            h, state = self._read(e if self.config.locked else self._dropped(e), state=state)
            steps.append(h)
        return torch.cat(steps, 1), {name: value.detach() for name, value in (state or {}).items()}

    def _dropped(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """Some numbers set to 0."""
        drop = locked_dropout if self.config.locked else F.dropout
        return drop(x, self.config.dropout, self.training)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, end = self._sampled(batch, carry) if "own" in batch.tensors else self.hidden(batch["inputs"], carry)
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

    @property
    def depth(self) -> int:
        return 2

    def states(self, batch: Batch) -> States:
        """Embeddings, and the last layer's states: a fused kernel shows no others."""
        return States(
            [self.embedding(batch["inputs"]), self._dropped(self.hidden(batch["inputs"])[0])], batch["lengths"]
        )

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`) into a state."""
        _, rows = self._read(self.embedding(beginning["ids"]), beginning["lengths"])
        step = self._answer(rows)
        return Step(step.logits.repeat_interleave(width, 0), step.state.expand(width))

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row."""
        _, rows = self._read(self.embedding(tokens)[:, None], state=state.rows)
        return self._answer(rows, state.width)

    def _answer(self, rows: dict[str, Tensor], width: int = 1) -> Step:
        return Step(self._scores(rows["h"][:, -1]), State(rows, width=width))


def _check_output_recurrence(config: Config) -> None:
    """Refuse a state beside the output, by which more could be known of the past."""
    if config.cell not in ("rnn", "rnn-relu", "irnn") or config.layers > 1 or config.learned_start:
        raise UsageError(
            'model.recurrence = "output" is for one layer of a simple cell, rnn, rnn-relu or irnn, without '
            "model.learned_start: other states would carry the past beside the output."
        )
