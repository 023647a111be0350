"""How often the right candidate is the most probable one.

    accuracy    the share of examples
    nll         - log p(the right one), nats per example

Beside the scores stands what whoever guesses is right: the mean of 1 / candidates.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.choosing import Choosing
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.choices import Choices
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.choices import LABEL
from lexigraph.text.tables import Table

METRICS = {"loss": False, "accuracy": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a model that chooses."""

    accuracy: Figure
    nll: Figure
    guessing: float
    examples: int
    signature: str


def row_sums(network: Choices, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """NLL, whether the right one is chosen, and how many there are, of every example."""
    log_p, labels = network.scores(batch), batch[LABEL]
    nll = -log_p.gather(1, labels[:, None])[:, 0]
    return {"nll": nll, "right": log_p.argmax(1) == labels, "candidates": (batch["candidates"] >= 0).sum(1)}, None


def frequencies(table: Table) -> np.ndarray:
    """Nothing: the baseline guesses."""
    return np.zeros(1)


def validate(network: Choices, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    return {"loss": float(rows["nll"].mean()), "accuracy": float(rows["right"].mean())}


def scores(model: Choosing, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its examples."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    one = np.ones(len(rows["nll"]))
    return {
        "accuracy": metric(rows["right"], one),
        "nll": metric(rows["nll"], one),
        "guessing": float((1 / rows["candidates"]).mean()),
        "examples": len(one),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"{scores['accuracy']['value']:.2%} of {scores['examples']:,} right (guessing: {scores['guessing']:.2%}), "
        f"NLL {scores['nll']['value']:.4f} nats"
    )
