"""What every search returns, and how hypotheses are scored and ranked.

score = Σ log p / lp(T)         T = number of produced tokens, the end token included

    power   lp = T^α                  α = 0: the plain sum
    gnmt    lp = ((5 + T) / 6)^α      which lets short texts differ less (Wu et al. 2016)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Stop = Literal["finished", "length"]
Length = Literal["power", "gnmt"]


@dataclass(frozen=True)
class Hypothesis:
    """One text that a search found, as token ids without the end token."""

    tokens: tuple[int, ...]
    log_probability: float  # Σ log p (nats) of the clean model, the end token included when finished
    score: float  # what the search sorted by
    finished: bool  # whether the end token was produced
    attention: Float[Tensor, "produced source"] | None = field(default=None, compare=False, repr=False)

    @property
    def produced(self) -> int:
        """T: the number of tokens that the model produced, the end token included."""
        return len(self.tokens) + self.finished


def normalised(log_probability: float | int, produced: int, alpha: float | int, length: Length = "power") -> float:
    """Σ log p / lp(T).

    >>> normalised(-6.0, 4, 0.5)
    -3.0
    >>> normalised(-6.0, 19, 0.5, "gnmt")
    -3.0
    """
    return log_probability * rate(produced, alpha, length)


def rate(produced: int, alpha: float | int, length: Length) -> float:
    """1 / lp(T)."""
    return ((5 + produced) / 6 if length == "gnmt" else produced) ** -alpha


def rank(stop: Stop, finished: bool, score: float) -> tuple[bool, float]:
    """A key for sorting, best first: by score alone (`length`), or finished ones before others (`finished`)."""
    return (stop == "finished" and not finished, -score)


class AttentionTrail:
    """Where each row looked at each step, kept until the hypotheses are read off."""

    def __init__(self) -> None:
        self._steps: list[tuple[dict[int, int], Tensor | None]] = []

    def add(self, alive: list[int], attention: Float[Tensor, "rows source"] | None, width: int) -> None:
        """Note one step; row r belongs to sentence alive[r // width]."""
        position = {sentence: position * width for position, sentence in enumerate(alive)}
        self._steps.append((position, None if attention is None else attention.float().cpu()))

    def read(self, sentence: int, slots: list[int]) -> Float[Tensor, "produced source"]:
        """One line per produced token, made by these slots; NaN where the stepper gave no attention."""
        lines: list[Tensor | None] = []
        for (position, attention), slot in zip(self._steps, slots, strict=False):
            lines.append(None if attention is None else attention[position[sentence] + slot])
        table = torch.zeros(len(lines), max((len(line) for line in lines if line is not None), default=0))
        for t, line in enumerate(lines):
            if line is None:
                table[t] = torch.nan
            else:
                table[t, : len(line)] = line  # a decoder that looks at its own past sees one more each step
        return table
