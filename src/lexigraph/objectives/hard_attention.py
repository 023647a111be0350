"""Attention to one position, drawn by its weight: what it learns from, as no gradient goes through a draw.

In its place stands the gradient of the log-probability R of what depends on the draw: the words from there on, or the
one word, if no later step knows what was looked at (Xu et al. 2015; Williams 1992).

    policy      - (R_t - B_t) log a_t(s_t) - λ H(a_t)             a_t: the weights, s_t: the position drawn
    baseline    (R_t - B_t)²                                      B_t: what R_t is expected to be

Shapes: B batch, S source, T target.
"""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor

POLICY, BASELINE = "policy", "baseline"  # terms
LEAST = -1e4  # stands for the logarithm of 0, whose product with 0 is no number


def policy_and_baseline(
    log_p: Float[Tensor, "B T"],  # of each word
    expected: Float[Tensor, "B T"],  # B_t
    log_weights: Float[Tensor, "B T S"],
    chosen: Float[Tensor, "B T"],  # log a_t(s_t)
    inside: Bool[Tensor, "B T"],  # where there are words
    *,
    entropy: float,  # λ
    known_later: bool,  # whether later steps know what was looked at
) -> dict[str, Float[Tensor, ""]]:
    """The totals of both terms."""
    if known_later:
        log_p = log_p.flip(1).cumsum(1).flip(1)
    surprise = (log_p - expected) * inside
    doubt = -(log_weights.exp() * log_weights.clamp(min=LEAST)).sum(2)
    policy = -(surprise.detach() * chosen + entropy * doubt) * inside
    return {POLICY: policy.sum(), BASELINE: surprise.square().sum()}
