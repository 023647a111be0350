"""How near estimated numbers come to the true ones.

    mse     mean of (y - ŷ)²
    r2      1 - mse / the variance of y: 0 for whoever always says the mean of these numbers, 1 without any error

Beside them stands the mse of always saying the mean of the training split.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.estimating import Regressor
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.regression import NUMBER, RegressorNetwork
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "mse": False, "r2": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a regressor."""

    mse: Figure
    r2: Figure
    always_the_mean: float
    examples: int
    signature: str


def row_sums(network: RegressorNetwork, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """The number of every example, and what is estimated."""
    return {"number": batch[NUMBER], "estimate": torch.tensor(network.predict(batch))}, None


def frequencies(table: Table) -> np.ndarray:
    """The mean, for the baseline."""
    return np.array([table.columns[NUMBER].values.mean(dtype=np.float64)])


def r2(numbers: np.ndarray, squares: np.ndarray) -> float:
    """The share of the variance that is explained."""
    return float(1 - squares.mean() / max(numbers.var(), 1e-12))


def validate(network: RegressorNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    squares = (rows["number"] - rows["estimate"]) ** 2
    mse = float(squares.mean())
    return {"loss": mse / network.numbers.deviation**2, "mse": mse, "r2": r2(rows["number"], squares)}


def scores(model: Regressor, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its examples, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    numbers, squares = rows["number"], (rows["number"] - rows["estimate"]) ** 2
    return {
        "mse": metric(squares, np.ones(len(squares))),
        "r2": {"value": r2(numbers, squares), "interval": []},
        "always_the_mean": float(((numbers - counts[0]) ** 2).mean()),
        "examples": len(numbers),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"mean squared error {scores['mse']['value']:.5f} over {scores['examples']:,} examples (always the mean: "
        f"{scores['always_the_mean']:.5f}), R² {scores['r2']['value']:.4f}"
    )
