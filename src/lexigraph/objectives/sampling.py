"""Scheduled sampling: the truth is shown less and less, and the network reads what it would have written itself
(Bengio et al. 2015). Always shown the truth, it is taught by teacher forcing.

    ε_i    how probably a position shows the true token in step i; otherwise one is drawn from p(· | before)

    linear             max(0, 1 - i / k)
    exponential        k^i                        k < 1
    inverse-sigmoid    k / (k + exp(i / k))       k ≥ 1

Which positions show what, and what is drawn there, follows from the example's seed alone. No gradient goes through a
draw.
"""

from __future__ import annotations

import math
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor

from lexigraph.errors import UsageError
from lexigraph.objectives.rng import uniform

Schedule = Literal["none", "linear", "exponential", "inverse-sigmoid"]
SHOWN, DRAWN = 70, 71  # streams of random numbers


def check(schedule: Schedule, k: float) -> None:
    """Refuse a k that gives no falling schedule."""
    if schedule == "exponential" and not 0 < k < 1:
        raise UsageError(f"objective.sampling_k must be between 0 and 1 for the exponential schedule, not {k}.")
    if schedule in ("linear", "inverse-sigmoid") and k < 1:
        raise UsageError(f"objective.sampling_k must be at least 1 for the {schedule} schedule, not {k}.")


def truth(schedule: Schedule, k: float, step: int) -> float:
    """ε_i of step i, counted from 0."""
    if schedule == "linear":
        return max(0.0, 1 - step / k)
    if schedule == "exponential":
        return k**step
    if schedule == "inverse-sigmoid":
        return k / (k + math.exp(min(step / k, 700.0)))
    return 1.0


def own_positions(seeds: Int[Tensor, " B"], length: int, shown: float) -> Bool[Tensor, "B T"]:
    """Where a network reads its own tokens: never at the beginning, of which it has written nothing."""
    own = uniform(seeds, length, SHOWN) > shown
    own[:, :1] = False
    return own


def draws(seeds: Int[Tensor, " B"], length: int) -> Float[Tensor, "B T"]:
    """A number between 0 and 1 for each position."""
    return uniform(seeds, length, DRAWN)


def drawn(logits: Float[Tensor, "B V"], number: Float[Tensor, " B"]) -> Int[Tensor, " B"]:
    """The token in whose share of the probability the number falls."""
    reached = logits.detach().softmax(1).cumsum(1)
    return (reached < number[:, None]).sum(1).clamp(max=logits.shape[1] - 1)
