"""How well pictures are found by their captions, and captions by their pictures, among all of the split.

picture_r1 … 10   how often the picture of a caption is among the first so many pictures that are near it
caption_r1 … 10   how often a caption of a picture is among the first so many captions that are near it
median_rank       of the right picture, for a caption; 1: the first
nll               of each pair among those of its batch, both directions, nats; it depends on the size of batches
by_chance         what picture_r10 is where nothing is known

Pictures whose dots are the same are one picture, with several captions.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.abilities.matching import PairedVectors
from lexigraph.evaluation.intervals import Counted, Figure, left_out, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.clip import CAPTION, CLIP
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "recall": True}  # for `train.metric`: is greater better?
FIRST = (1, 5, 10)


class Recalls(TypedDict):
    """How often what is right is found."""

    picture_r1: Figure
    picture_r5: Figure
    picture_r10: Figure
    caption_r1: Figure
    caption_r5: Figure
    caption_r10: Figure
    median_rank: float


class Scores(Recalls, Counted):
    """What is measured of a model of pictures and texts."""

    nll: Figure
    by_chance: float
    pictures: int
    captions: int
    signature: str


def row_sums(network: CLIP, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """The loss and both vectors of every pair, and a number that its picture has, and no other."""
    nll, pictures, texts = network.pair_nll(batch)
    return {
        "nll": nll,
        "picture": F.normalize(pictures),
        "text": F.normalize(texts),
        "number": numbered(batch["images"]),
    }, None


def numbered(images: Tensor) -> Tensor:
    """A hash of each picture's dots, small enough to be exact as a float of 64 bits."""
    dots = images.flatten(1).long()
    factors = torch.arange(dots.shape[1], device=dots.device) * 0x9E3779B1 + 0x5BD1E995
    mixed = (dots + 1) * factors
    return ((mixed ^ (mixed >> 29)) * 0x2545F491).sum(1) & ((1 << 52) - 1)


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in captions."""
    return table.columns[CAPTION].counts


def recalls(rows: dict[str, np.ndarray]) -> Recalls:
    """What is found, of all pairs' vectors."""
    numbers, first, own = np.unique(rows["number"], return_index=True, return_inverse=True)
    near = rows["text"] @ rows["picture"][first].T  # (captions, pictures)
    right = near[np.arange(len(near)), own]
    ranks = 1 + (near > right[:, None]).sum(1)
    best = np.full(len(numbers), -np.inf)  # of a picture, its nearest own caption
    np.maximum.at(best, own, right)
    ranks_of_captions = 1 + (near > best).sum(0)
    found = {f"picture_r{k}": _share(ranks <= k) for k in FIRST} | {
        f"caption_r{k}": _share(ranks_of_captions <= k) for k in FIRST
    }
    return Recalls(**found, median_rank=float(np.median(ranks)))  # type: ignore[typeddict-item]


def _share(right: np.ndarray) -> Figure:
    return metric(right.astype(float), np.ones(len(right)))


def validate(network: CLIP, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    return {"loss": float(rows["nll"].mean()), "recall": recalls(rows)["picture_r10"]["value"]}


def scores(model: PairedVectors, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    count = len(np.unique(rows["number"]))
    return {
        **recalls(rows),
        "nll": metric(rows["nll"], np.ones(len(rows["nll"]))),
        "by_chance": min(1.0, FIRST[-1] / count),
        "pictures": count,
        "captions": len(rows["nll"]),
        "too_long": table.too_long(model.network.traits),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    parts = [
        f"{what} by {by}: " + ", ".join(f"R@{k} {scores[f'{what}_r{k}']['value']:.1%}" for k in FIRST)  # type: ignore[literal-required]
        for what, by in (("picture", "caption"), ("caption", "picture"))
    ]
    return (
        f"{'; '.join(parts)} (R@10 by chance {scores['by_chance']:.1%}, {scores['pictures']:,} pictures), "
        f"median rank {scores['median_rank']:g}{left_out(scores)}"
    )
