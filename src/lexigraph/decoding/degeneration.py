"""How text goes bad: repetition, loops, lack of variety, and probabilities unlike those of human text.

    repetition of order n    share of a text's n-grams that occurred earlier in it: 1 − distinct / all
    distinct-n               distinct / all n-grams over a set of texts (Li et al. 2016)
    profile                  human text is a jagged line of probabilities, beam text a high flat one
                             (Holtzman et al. 2020): compare mean, spread and quantiles

Tokens may be ids or words.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lexigraph.errors import LexigraphError


def ngrams(tokens: Sequence[Hashable], n: int) -> Iterator[tuple[Hashable, ...]]:
    """The n-grams of a text, in order; none if it is shorter than n."""
    return (tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def repetition(tokens: Sequence[Hashable], orders: Sequence[int] = (1, 2, 3, 4)) -> dict[int, float]:
    """For each n, the share of n-grams that occurred before in the same text; 0 if the text has none.

    >>> repetition("to be or not to be".split())
    {1: 0.3333333333333333, 2: 0.2, 3: 0.0, 4: 0.0}
    """
    rates = {}
    for n in orders:
        grams = list(ngrams(tokens, n))
        rates[n] = (len(grams) - len(set(grams))) / max(1, len(grams))
    return rates


def distinct(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Distinct n-grams over all n-grams of a set of texts; 0 if it has none.

    >>> distinct(["a b".split(), "a c".split()], 1)
    0.75
    """
    grams = [gram for tokens in texts for gram in ngrams(tokens, n)]
    return len(set(grams)) / max(1, len(grams))


@dataclass(frozen=True)
class Loop:
    """tokens[start : start + period], said `copies` times in a row."""

    start: int
    period: int
    copies: int

    @property
    def length(self) -> int:
        return self.period * self.copies


def longest_loop(tokens: Sequence[Hashable]) -> Loop | None:
    """The longest stretch of whole copies of one phrase, or None; of equally long ones, the shortest phrase.

    >>> longest_loop("i know i know i know you".split())
    Loop(start=0, period=2, copies=3)
    """
    number: dict[Hashable, int] = {}
    ids = np.array([number.setdefault(token, len(number)) for token in tokens])
    best: Loop | None = None
    for period in range(1, len(ids) // 2 + 1):
        # a phrase of this period is repeated where tokens[i] = tokens[i + period] for at least `period` positions
        same = np.concatenate([[False], ids[:-period] == ids[period:], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        starts, runs = edges[::2], edges[1::2] - edges[::2]
        if len(runs) and runs.max() >= period:
            loop = Loop(int(starts[runs.argmax()]), period, int(runs.max()) // period + 1)
            if best is None or loop.length > best.length:
                best = loop
    return best


@dataclass(frozen=True)
class Profile:
    """How probable the tokens of some texts are to a model, in nats; exp() of a quantile is a probability."""

    tokens: int
    mean: float
    deviation: float
    quantiles: dict[float, float]


def profile(
    log_probabilities: Sequence[Sequence[float]], quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
) -> Profile:
    """Mean, standard deviation and quantiles of log p over all tokens of some texts.

    >>> profile([[-1.0, -3.0], [-2.0]], quantiles=(0.5,))
    Profile(tokens=3, mean=-2.0, deviation=0.816496580927726, quantiles={0.5: -2.0})
    """
    pooled = np.array([value for text in log_probabilities for value in text], dtype=np.float64)
    if not len(pooled):
        raise LexigraphError("A probability profile needs at least one token: all texts are empty.")
    return Profile(
        tokens=len(pooled),
        mean=float(pooled.mean()),
        deviation=float(pooled.std()),
        quantiles={q: float(np.quantile(pooled, q)) for q in quantiles},
    )
