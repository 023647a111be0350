"""How well a model tells whether a text belongs to a picture: each with its own, and with another example's.

accuracy     the share of these pairs, half of which match, that are called rightly
ranked       how often the own picture is given more than the other one: 50 % without knowing anything
nll          - log p of what is right, nats per pair
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.matching import JointMatcher
from lexigraph.evaluation.intervals import Counted, Figure, left_out, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.image_text import CAPTION, ImageTextMatcher
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "accuracy": True, "ranked": True}  # for `train.metric`: is greater better?


class Figures(TypedDict):
    """What validation and scores have in common."""

    accuracy: Figure
    ranked: Figure
    nll: Figure


class Scores(Figures, Counted):
    """What is measured of a matcher."""

    by_chance: float
    pairs: int
    signature: str


def row_sums(network: ImageTextMatcher, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """Losses and logits of each text with its picture and another one."""
    nll, logits = network.pair_nll(batch)
    right = (logits[:, 0] > 0).float() + (logits[:, 1] <= 0).float()
    return {"nll": nll.sum(1), "right": right, "ranked": logits[:, 0] > logits[:, 1]}, None


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in captions."""
    return table.columns[CAPTION].counts


def _figures(rows: dict[str, np.ndarray]) -> Figures:
    one = np.ones(len(rows["nll"]))
    return {
        "accuracy": metric(rows["right"], 2 * one),
        "ranked": metric(rows["ranked"], one),
        "nll": metric(rows["nll"], 2 * one),
    }


def validate(network: ImageTextMatcher, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    found = _figures(measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens))
    accuracy, ranked = found["accuracy"]["value"], found["ranked"]["value"]
    return {"loss": found["nll"]["value"], "accuracy": accuracy, "ranked": ranked}


def scores(model: JointMatcher, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    return {
        **_figures(rows),
        "by_chance": 0.5,
        "pairs": 2 * len(rows["nll"]),
        "too_long": table.too_long(model.network.traits),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"{scores['accuracy']['value']:.2%} of {scores['pairs']:,} pairs right (chance: {scores['by_chance']:.0%}), "
        f"the own picture first in {scores['ranked']['value']:.2%}, NLL {scores['nll']['value']:.4f} nats"
        f"{left_out(scores)}"
    )
