"""A score with its interval, and the line that says what it depends on."""

from __future__ import annotations

import hashlib
from typing import NotRequired, TypedDict

import numpy as np
import torch

from lexigraph import __version__
from lexigraph.abilities.textmodel import TextModel
from lexigraph.text.tables import Table
from lexigraph.text.vocabularies import TEXT

RESAMPLES = 1000
FEWEST = 20  # rows: fewer give no interval


class Figure(TypedDict):
    """A value and its 95 % interval, which is empty where there are too few rows for one."""

    value: float
    interval: list[float]


class Counted(TypedDict):
    """What scores may say of texts that they leave out."""

    too_long: NotRequired[int]  # for the model


def metric(totals: np.ndarray, counts: np.ndarray) -> Figure:
    """Σ totals / Σ counts with its 95 % interval."""
    return interval([totals.sum() / max(counts.sum(), 1e-300), *(bootstrap(totals, counts) or ())])


def interval(values: list[float]) -> Figure:
    """A value and, if there is one, its interval."""
    value, *ends = map(float, values)
    return {"value": value, "interval": ends}


def left_out(scores: Counted) -> str:
    """The end of a headline: how many texts the scores say nothing about."""
    return f"; {scores['too_long']:,} too long for the model and not scored" if scores.get("too_long") else ""


def bootstrap(totals: np.ndarray, counts: np.ndarray) -> tuple[float, float] | None:
    """A 95 % interval of Σ totals / Σ counts over resampled rows; None if there are too few of them."""
    random = np.random.default_rng(0)
    rows = len(totals)
    if rows < FEWEST:
        return None
    weights = random.multinomial(rows, np.full(rows, 1 / rows), RESAMPLES) if rows < 20_000 else None
    if weights is None:  # many rows: group them first, the mean of groups has the same spread
        groups = np.arange(rows) % 5000
        totals, counts = np.bincount(groups, totals), np.bincount(groups, counts)
        weights = random.multinomial(5000, np.full(5000, 1 / 5000), RESAMPLES)
    means = (weights @ totals) / np.maximum(weights @ counts, 1e-300)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def reference(model: TextModel) -> str:
    """What texts are compared with: those of the file, or those that the recipe's cleaning makes of them."""
    return "cleaned" if model.recipe.data.clean or model.recipe.data.rare else "raw"


def signature(model: TextModel, table: Table, steps: int, **more: str) -> str:
    """What a score depends on, in one line; `steps`: after how many of them the scored weights were kept."""
    recipe, traits = model.recipe, model.network.traits
    tokenizers = {
        "tokenizer" if name == TEXT else f"{name}_tokenizer": f"{t.kind}-{len(t)}-{t.fingerprint[:8]}"
        for name, t in model.vocabularies.tokenizers().items()
    }
    digest = hashlib.blake2b(digest_size=6)
    for stored in table.columns.values():
        digest.update(np.ascontiguousarray(stored.values).data)
    parts = {
        "system": recipe.system,
        "unit": recipe.data.unit,
        **tokenizers,
        "split": digest.hexdigest(),
        "seed": recipe.train.seed,
        "steps": steps,
        "device": model.device.type,
        "lexigraph": __version__,
        "torch": torch.__version__.split("+")[0],
    }
    if model.int8:
        parts["weights"] = "int8"
    if recipe.data.clean or recipe.data.rare:
        parts["clean"] = "+".join([*recipe.data.clean, *map(str, recipe.data.rare)])
    if recipe.data.unit == "stream" and traits.stateful:
        parts["streams"] = recipe.eval.streams
    else:
        parts["window"] = recipe.data.window or traits.context
    return "|".join(f"{name}:{value}" for name, value in (parts | more).items())
