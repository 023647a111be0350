"""LSTM language model: a recurrent state read along the text (Hochreiter & Schmidhuber 1997; Zaremba et al. 2014).

    i, f, o = σ(W x_t + U h_{t-1} + b)        g = tanh(W_g x_t + U_g h_{t-1} + b_g)
    c_t = f ⊙ c_{t-1} + i ⊙ g                 h_t = o ⊙ tanh(c_t)
    p(next) = softmax(h_t Eᵀ + b)             (tied: the output table is the input's)

Dropout falls on what goes up (embedding, between layers, output), never on what goes on in time. Training reads
parallel streams window by window: the state is carried across windows, the gradient is not.

Shapes: B batch, T time, d width, V vocabulary, L layers, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import LanguageNetwork, States
from lexigraph.nn.stepper import State, Step
from lexigraph.objectives.next_token import next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(2, 1, about="layers, one above the other")
    dim: int = ranged(256, 1, about="numbers in an LSTM's state, and in the vector of a token")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="one table for input and output")
    scale: float = ranged(0.05, 0, about="initial weights are uniform in ± scale")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class LSTMLanguageModel(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    # the state of one window is the start of the next; no limit
    traits = Traits(causal="text", stateful=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary = len(tokens)
        self.config, self.objective, self.pad, self.width = config, objective, tokens.pad, config.dim
        self.embedding = TokenTable(vocabulary, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        between = config.dropout if config.layers > 1 else 0.0
        self.lstm = nn.LSTM(config.dim, config.dim, config.layers, batch_first=True, dropout=between)
        self.table = None if config.tied else nn.Parameter(torch.empty(vocabulary, config.dim))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.heads = ("bias",) if config.tied else ("bias", "table")
        for parameter in self.parameters():
            if parameter is not self.bias:
                nn.init.uniform_(parameter, -config.scale, config.scale)

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.table is None else self.table

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. It reads left to right, so padding on the right is
        never seen and `lengths` is not needed."""
        return F.linear(self.hidden(ids)[0], self.output_table, self.bias)

    def hidden(self, ids: Int[Tensor, "B T"], carry: Carry | None = None) -> tuple[Float[Tensor, "B T d"], Carry]:
        """The last layer's output, and the state to go on from. In a carry the first axis is the stream."""
        state = None
        if carry is not None:
            state = (carry["h"].transpose(0, 1).contiguous(), carry["c"].transpose(0, 1).contiguous())
        outputs, (h, c) = self.lstm(self.dropout(self.embedding(ids)), state)
        return self.dropout(outputs), {"h": h.detach().transpose(0, 1), "c": c.detach().transpose(0, 1)}

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, carry = self.hidden(batch["inputs"], carry)
        terms = next_token_terms(
            hidden,
            self.output_table,
            batch,
            bias=self.bias,
            smoothing=self.objective.label_smoothing,
            pad=self.pad,
        )
        return terms, carry

    def states(self, batch: Batch) -> States:
        """Embeddings, and the last layer's states: the fused kernel shows no others."""
        e = self.dropout(self.embedding(batch["inputs"]))
        return States([e, self.dropout(self.lstm(e)[0])], batch["lengths"])

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`) into a state."""
        packed = pack_padded_sequence(
            self.embedding(beginning["ids"]), beginning["lengths"].cpu(), batch_first=True, enforce_sorted=False
        )
        h, c = self.lstm(packed)[1]
        return self._answer(h, c, width)

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row."""
        h, c = (state.rows[name].transpose(0, 1).contiguous() for name in ("h", "c"))
        _, (h, c) = self.lstm(self.embedding(tokens)[:, None], (h, c))
        step = self._answer(h, c, 1)
        return Step(step.logits, State(step.state.rows, state.source, state.width))

    def _answer(self, h: Float[Tensor, "L B d"], c: Float[Tensor, "L B d"], width: int) -> Step:
        logits = F.linear(h[-1], self.output_table, self.bias)
        state = State({"h": h.transpose(0, 1), "c": c.transpose(0, 1)}).expand(width)
        return Step(logits.repeat_interleave(width, 0), state)
