"""How well estimated numbers of pairs follow the true ones.

    pearson     the correlation of the numbers
    spearman    that of their ranks: only the order counts
    mse         mean of (y - ŷ)²

Intervals are from resampling the pairs, whose ranks stay those of all pairs. Beside them stands the mse of always
saying the mean of the training split; its correlation is none.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from scipy.stats import rankdata

from lexigraph.abilities.pairs import Similarity
from lexigraph.evaluation.intervals import FEWEST, RESAMPLES, Figure, interval, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.regression import frequencies as frequencies
from lexigraph.evaluation.regression import row_sums
from lexigraph.models.similarity import Similarity as Network
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "pearson": True, "spearman": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a model of similarity."""

    pearson: Figure
    spearman: Figure
    mse: Figure
    always_the_mean: float
    examples: int
    signature: str


def correlation(x: np.ndarray, y: np.ndarray) -> Figure:
    """Pearson's, with its 95 % interval; 0 where either never changes."""
    weights = np.ones((1, len(x)))
    if len(x) >= FEWEST:
        again = np.random.default_rng(0).multinomial(len(x), np.full(len(x), 1 / len(x)), RESAMPLES)
        weights = np.concatenate([weights, again])
    weights = weights / len(x)
    x, y = x - x.mean(), y - y.mean()
    covariance = weights @ (x * y) - (weights @ x) * (weights @ y)
    spread = (weights @ x**2 - (weights @ x) ** 2) * (weights @ y**2 - (weights @ y) ** 2)
    found = covariance / np.sqrt(np.maximum(spread, 1e-300)) * (spread > 1e-20)
    ends = np.quantile(found[1:], [0.025, 0.975]) if len(found) > 1 else []
    return interval([found[0], *ends])


def validate(network: Network, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    numbers, found = rows["number"], rows["estimate"]
    return {
        "loss": float(((numbers - found) ** 2).mean()) / network.numbers.deviation**2,
        "pearson": correlation(numbers, found)["value"],
        "spearman": correlation(rankdata(numbers), rankdata(found))["value"],
    }


def scores(model: Similarity, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    numbers, found = rows["number"], rows["estimate"]
    return {
        "pearson": correlation(numbers, found),
        "spearman": correlation(rankdata(numbers), rankdata(found)),
        "mse": metric((numbers - found) ** 2, np.ones(len(numbers))),
        "always_the_mean": float(((numbers - counts[0]) ** 2).mean()),
        "examples": len(numbers),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"Pearson {scores['pearson']['value']:.4f}, Spearman {scores['spearman']['value']:.4f} over "
        f"{scores['examples']:,} pairs, mean squared error {scores['mse']['value']:.4f} (always the mean: "
        f"{scores['always_the_mean']:.4f})"
    )
