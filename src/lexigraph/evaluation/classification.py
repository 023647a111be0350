"""How often the right class is the most probable one.

    accuracy    the share of examples
    macro_f1    F1 of each class, averaged: a rare class counts as much as a frequent one
    nll         - log p(label), nats per example whose label training has seen

A label that training has not seen is scored as wrong. Beside the scores stands what it is to say always the
commonest class of the training split.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.classifying import Classifier
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.classifier import LABEL, ClassifierNetwork
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "accuracy": True, "macro_f1": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a classifier."""

    accuracy: Figure
    macro_f1: Figure
    nll: Figure
    always_the_commonest_class: float
    unseen_labels: int
    examples: int
    signature: str


def row_sums(network: ClassifierNetwork, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """NLL, label, what is called, and whether the label is known, of every example."""
    log_p, labels = network.logits(batch).float().log_softmax(1), batch[LABEL]
    known = labels >= 0
    nll = -log_p.gather(1, labels.clamp(min=0)[:, None])[:, 0] * known
    return {"nll": nll, "label": labels, "called": log_p.argmax(1), "known": known}, None


def frequencies(table: Table) -> np.ndarray:
    """How often each class occurs, for the baseline."""
    return table.columns[LABEL].counts


def macro_f1(labels: np.ndarray, called: np.ndarray) -> float:
    """The mean of F1 over the classes that occur or are called."""
    classes = np.union1d(labels[labels >= 0], called)
    right = np.array([((labels == c) & (called == c)).sum() for c in classes])
    either = np.array([(labels == c).sum() + (called == c).sum() for c in classes])
    return float((2 * right / np.maximum(either, 1)).mean())


def validate(network: ClassifierNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    right = rows["called"] == rows["label"]
    loss = float(rows["nll"].sum() / max(1.0, rows["known"].sum()))
    return {"loss": loss, "accuracy": float(right.mean()), "macro_f1": macro_f1(rows["label"], rows["called"])}


def scores(model: Classifier, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its examples, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    labels, one = rows["label"], np.ones(len(rows["label"]))
    return {
        "accuracy": metric((rows["called"] == labels).astype(float), one),
        "macro_f1": {"value": macro_f1(labels, rows["called"]), "interval": []},
        "nll": metric(rows["nll"], rows["known"]),
        "always_the_commonest_class": float((labels == counts.argmax()).mean()),
        "unseen_labels": int((labels < 0).sum()),
        "examples": len(labels),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = (
        f"{scores['accuracy']['value']:.2%} of {scores['examples']:,} right (always the commonest class: "
        f"{scores['always_the_commonest_class']:.2%}), macro F1 {scores['macro_f1']['value']:.3f}, NLL "
        f"{scores['nll']['value']:.4f} nats"
    )
    unseen = scores["unseen_labels"]
    return line + (f"; {unseen:,} label{'s' * (unseen > 1)} that training has not seen" if unseen else "")
