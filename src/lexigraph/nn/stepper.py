"""A decoder is a stepper: it consumes a prompt or a source once, then takes one token per hypothesis.

    start(batch, width)          -> Step    the first distribution; `width` rows per sentence
    step(state, tokens)          -> Step    the next one, after every row took one token

Search never sees a start token, a cache or a hidden state: it reads `Step.logits`, chooses tokens, and
rearranges rows with `State.select` and `State.keep`. Normalising and length penalties are its job.

Shapes: n sentences, R = n * width rows (row r belongs to sentence r // width), V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class State:
    """What a decoder remembers. A step may update it in place, so a state is used for one step only.

    `source` holds one entry per sentence (cross-attention keys live here), `rows` one per hypothesis;
    in both, the first axis is the sentence or the row.
    """

    rows: dict[str, Tensor]
    source: dict[str, Tensor] = field(default_factory=dict)
    width: int = 1

    def expand(self, width: int) -> State:
        """`width` equal rows for each sentence, from a state that has one."""
        if width == 1:
            return self
        rows = {name: value.repeat_interleave(width, 0) for name, value in self.rows.items()}
        return replace(self, rows=rows, width=width)

    def select(self, rows: Int[Tensor, " rows"]) -> State:
        """The rows in a new order, copied; rows must stay within their sentence."""
        return replace(self, rows=picked(self.rows, rows))

    def keep(self, sentences: Int[Tensor, " kept"]) -> State:
        """Only these sentences, with all their rows: finished ones are dropped."""
        return replace(self.select(self.rows_of(sentences)), source=picked(self.source, sentences))

    def rows_of(self, sentences: Int[Tensor, " some"]) -> Int[Tensor, " rows"]:
        """The numbers of all rows of these sentences."""
        return (sentences[:, None] * self.width + sentences.new_tensor(range(self.width))).flatten()


def picked(tensors: dict[str, Tensor], which: Int[Tensor, " some"]) -> dict[str, Tensor]:
    """These entries of all tensors."""
    return {name: value.index_select(0, which) for name, value in tensors.items()}


@dataclass(frozen=True)
class Step:
    """One distribution per row, not yet normalised, and the state that made it."""

    logits: Float[Tensor, "rows vocab"]
    state: State
    attention: Float[Tensor, "rows source"] | None = None  # where each row looked, if it was asked for


@runtime_checkable
class Stepper(Protocol):
    """What search needs of a model."""

    def start(self, batch: dict[str, Tensor], width: int = 1) -> Step: ...

    def step(self, state: State, tokens: Int[Tensor, " rows"], attention: bool = False) -> Step: ...
