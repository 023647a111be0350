"""Official metrics, each as sums over examples: so that resampled examples cost one product of matrices.

    accuracy    right / all                              of words, where an example is a sentence with tags
    f1          2 right / (true + called)                of one class; of spans, as conlleval counts them
    matthews    (c s - Σ p_k t_k) / √((s² - Σ p_k²) (s² - Σ t_k²))       c right of s, p_k called k, t_k are k
    pearson     of true and estimated numbers;  spearman    of their ranks, which are taken once

A system was trained with several seeds, so its value is the mean over them. Intervals resample both, the examples and
the seeds; for a difference, the examples are the same on both sides (a paired bootstrap), and so are the seeds, or
the draws of a few labels, where both have as many.

>>> accuracy(["yes", "no"], ["yes", "yes"])
0.5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from jaxtyping import Float

from lexigraph.evaluation.intervals import FEWEST, RESAMPLES
from lexigraph.text.spans import spans_of

Answers = Sequence[Any] | np.ndarray  # a class, a number, or the tags of a sentence, for each example
Sums = Float[np.ndarray, "rows k"]


@dataclass(frozen=True)
class Metric:
    """What an example adds to some sums, and the value that follows from them."""

    rows: Callable[[Answers, Answers], Float[np.ndarray, "n k"]]
    value: Callable[[Sums], Float[np.ndarray, " rows"]]

    def __call__(self, true: Answers, called: Answers) -> float:
        return float(self.value(self.rows(true, called).sum(0, keepdims=True))[0])


def _share(sums: Sums) -> Float[np.ndarray, " rows"]:
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


def _f1(sums: Sums) -> Float[np.ndarray, " rows"]:
    return 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1)


def _right(true: Answers, called: Answers) -> Float[np.ndarray, "n 2"]:
    return np.array([[a == b, 1] for a, b in zip(true, called, strict=True)], np.float64)


def _right_words(true: Answers, called: Answers) -> Float[np.ndarray, "n 2"]:
    pairs = zip(true, called, strict=True)
    return np.array([[sum(map(str.__eq__, a, b)), len(a)] for a, b in pairs], np.float64)


def _right_spans(true: Answers, called: Answers) -> Float[np.ndarray, "n 3"]:
    pairs = ((spans_of(a), spans_of(b)) for a, b in zip(true, called, strict=True))
    return np.array([[len(a & b), len(a), len(b)] for a, b in pairs], np.float64)


def f1(positive: str) -> Metric:
    """F1 of the class `positive`."""

    def rows(true: Answers, called: Answers) -> Float[np.ndarray, "n 3"]:
        a, b = (np.array([each == positive for each in answers]) for answers in (true, called))
        return np.stack([a & b, a, b], 1).astype(np.float64)

    return Metric(rows, _f1)


def _classes(true: Answers, called: Answers) -> Float[np.ndarray, "n k"]:
    """Whether it is right, which class is called, and which it is."""
    names = sorted({*true, *called})
    right = _right(true, called)[:, :1]
    each = (np.array([[name == answer for name in names] for answer in answers]) for answers in (called, true))
    return np.concatenate([right, *each], 1)


def _matthews(sums: Sums) -> Float[np.ndarray, " rows"]:
    c, (p, t) = sums[:, 0], np.split(sums[:, 1:], 2, axis=1)
    s = p.sum(1)
    spread = (s**2 - (p**2).sum(1)) * (s**2 - (t**2).sum(1))
    return np.where(spread > 0, (c * s - (p * t).sum(1)) / np.sqrt(np.maximum(spread, 1)), 0.0)


def _moments(true: Answers, called: Answers) -> Float[np.ndarray, "n 6"]:
    columns = [np.asarray(answers, np.float64) for answers in (true, called)]
    x, y = ((column - column.mean()) / max(column.std(), 1e-12) for column in columns)
    return np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y], 1)


def _rank_moments(true: Answers, called: Answers) -> Float[np.ndarray, "n 6"]:
    from scipy.stats import rankdata

    return _moments(rankdata(true), rankdata(called))


def _correlation(sums: Sums) -> Float[np.ndarray, " rows"]:
    """Pearson's r; 0 where one of the two does not vary."""
    n = np.maximum(sums[:, 0], 1)
    x, y, xx, yy, xy = (sums[:, place] / n for place in range(1, 6))
    spread = (xx - x * x).clip(0) * (yy - y * y).clip(0)
    return np.where(spread > 1e-12, (xy - x * y) / np.sqrt(np.maximum(spread, 1e-12)), 0.0)


accuracy = Metric(_right, _share)
word_accuracy = Metric(_right_words, _share)
span_f1 = Metric(_right_spans, _f1)
matthews = Metric(_classes, _matthews)
pearson = Metric(_moments, _correlation)
spearman = Metric(_rank_moments, _correlation)


# ---- over examples and seeds ----


class Spread(TypedDict):
    """The mean over seeds, its 95 % interval (empty with few examples), and what each seed has."""

    value: float
    interval: list[float]
    deviation: float  # over the seeds; 0 with one
    seeds: list[float]


class Difference(TypedDict):
    """By how much one system is better than another, and the 95 % interval of that (empty with few examples)."""

    value: float
    interval: list[float]


def spread(metric: Metric, true: Answers, runs: Sequence[Answers]) -> Spread:
    """A metric of a system that was trained with several seeds: its answers of each."""
    values = [metric(true, called) for called in runs]
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    ends = _ends(_resampled(metric, true, runs)) if len(true) >= FEWEST else []
    return {"value": float(np.mean(values)), "interval": ends, "deviation": deviation, "seeds": values}


def difference(metric: Metric, true: Answers, runs: Sequence[Answers], others: Sequence[Answers]) -> Difference:
    """How much better `runs` are than `others` on the same examples."""
    first, second = (np.mean([metric(true, called) for called in each]) for each in (runs, others))
    ends: list[float] = []
    if len(true) >= FEWEST:
        ends = _ends(_resampled(metric, true, runs) - _resampled(metric, true, others))
    return {"value": float(first - second), "interval": ends}


def _ends(values: Float[np.ndarray, " resamples"]) -> list[float]:
    return [float(end) for end in np.quantile(values, (0.025, 0.975))]


def _resampled(metric: Metric, true: Answers, runs: Sequence[Answers]) -> Float[np.ndarray, " resamples"]:
    """The mean over resampled seeds, on resampled examples: the same for every system of as many seeds."""
    n = len(true)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
    values = np.stack([metric.value(weights @ metric.rows(true, called)) for called in runs])
    drawn = np.random.default_rng([1, len(runs)]).integers(len(runs), size=(len(runs), RESAMPLES))
    return np.take_along_axis(values, drawn, 0).mean(0)
