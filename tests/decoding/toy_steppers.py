"""Small steppers whose distributions can be worked out by hand or from scratch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from lexigraph.nn.stepper import State, Step


@dataclass(frozen=True)
class Watched(State):
    """A state that notes how it was rearranged."""

    calls: list[str] = field(default_factory=list)

    def select(self, rows: Tensor) -> Watched:
        self.calls.append("select")
        assert ((rows // self.width) == torch.arange(len(rows), device=rows.device) // self.width).all()
        return super().select(rows)

    def keep(self, sentences: Tensor) -> Watched:
        self.calls.append("keep")
        plain = State(self.rows, self.source, self.width).keep(sentences)
        return replace(self, rows=plain.rows, source=plain.source)


class Toy:
    """Shared by the toys: what was asked of them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.rows: list[int] = []  # rows of each step after the start


class Bigram(Toy):
    """p(next | last) from a table of probabilities; batch["last"] is the token to start after."""

    def __init__(self, table: list[list[float]] | Tensor) -> None:
        super().__init__()
        self.logits = torch.as_tensor(table, dtype=torch.float32).log()

    def start(self, batch: dict[str, Tensor], width: int = 1) -> Step:
        state = Watched({"last": batch["last"].clone()}, calls=self.calls).expand(width)
        return Step(self.logits[state.rows["last"]], state)

    def step(self, state: State, tokens: Tensor, attention: bool = False) -> Step:
        self.rows.append(len(tokens))
        state.rows["last"].copy_(tokens)
        return Step(self.logits[tokens], state)


class Recurrent(Toy):
    """A random network whose distribution depends on all tokens so far; its state is updated in place.

    Each sentence has its own first hidden state and a source of `positions` vectors, which every row attends to.
    """

    def __init__(self, vocabulary: int, seed: int, dim: int = 8, sharpness: float = 3.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.vocabulary, self.dim = vocabulary, dim
        self.embedding = torch.randn(vocabulary, dim, generator=generator)
        self.recurrence = torch.randn(dim, dim, generator=generator) / math.sqrt(dim) * 1.2
        self.output = torch.randn(dim, vocabulary, generator=generator) / math.sqrt(dim) * sharpness

    def to(self, device: str) -> Recurrent:
        for name in ("embedding", "recurrence", "output"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def batch(self, sentences: int, seed: int = 0, positions: int = 3) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        hidden = torch.randn(sentences, self.dim, generator=generator)
        return {"hidden": hidden, "source": torch.randn(sentences, positions, self.dim, generator=generator)}

    def start(self, batch: dict[str, Tensor], width: int = 1) -> Step:
        source = {"memory": batch["source"]}
        return self._read(Watched({"hidden": batch["hidden"].clone()}, source, calls=self.calls).expand(width))

    def step(self, state: State, tokens: Tensor, attention: bool = False) -> Step:
        self.rows.append(len(tokens))
        hidden = state.rows["hidden"]
        # sums over the last axis, not a matrix product, so that a row's bits do not depend on the batch
        mixed = (hidden[:, :, None] * self.recurrence).sum(1)
        hidden.copy_(torch.tanh(mixed + self.embedding[tokens]))
        return self._read(state, attention)

    def _read(self, state: State, attention: bool = True) -> Step:
        hidden = state.rows["hidden"]
        memory = state.source["memory"][torch.arange(len(hidden), device=hidden.device) // state.width]
        weights = (memory * hidden[:, None]).sum(2).softmax(1)
        context = hidden + (weights[:, :, None] * memory).sum(1)
        logits = (context[:, :, None] * self.output).sum(1)
        return Step(logits, state, weights if attention else None)


def sentence(batch: dict[str, Tensor], i: int) -> dict[str, Tensor]:
    """One sentence of a batch, alone."""
    return {name: value[i : i + 1] for name, value in batch.items()}


def next_log_p(stepper: Bigram | Recurrent, batch: dict[str, Tensor], prefix: tuple[int, ...]) -> list[float]:
    """log p of every next token after a prefix, for a batch of one: recomputed from the start each time."""
    step = stepper.start(batch, 1)
    for token in prefix:
        step = stepper.step(step.state, torch.tensor([token]))
    return step.logits[0].double().log_softmax(0).tolist()


def forced(stepper: Bigram | Recurrent, batch: dict[str, Tensor], tokens: tuple[int, ...]) -> float:
    """Σ log p of these tokens, by teacher forcing."""
    return sum(next_log_p(stepper, batch, tokens[:t])[token] for t, token in enumerate(tokens))
