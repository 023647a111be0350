"""How many nodes of trees have the right label, and how many whole trees.

    accuracy    the share of trees whose root has the right label
    binary      where labels are numbers, as in the Stanford Sentiment Treebank (0 … 4): the share of roots on the
                right side of the middle, those in the middle left out; the side with more probability is called
    nodes       the share of all nodes
    nll         - log p(label), nats per node whose label training has seen

A label that training has not seen is scored as wrong. Beside the scores stands what it is to give every tree the
commonest root of the training split, and every node the commonest label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.trees import TreeClassifier
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.trees import TREE, TreeNetwork
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "accuracy": True, "binary": True, "nodes": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a network on trees."""

    accuracy: Figure
    binary: NotRequired[Figure]  # where labels are numbers
    nodes: Figure
    nll: Figure
    always_the_commonest: dict[str, float]
    trees: int
    labelled_nodes: int
    signature: str


def sides(names: Sequence[str]) -> np.ndarray | None:
    """-1, 0 or 1 for labels below, in or above the middle; None where labels are no numbers.

    >>> sides(["0", "1", "2", "3", "4"]).tolist(), sides(["-1", "0", "1"]).tolist(), sides(["NP", "VP"])
    ([-1, -1, 0, 1, 1], [-1, 0, 1], None)
    """
    try:
        values = np.array([int(name) for name in names])
    except ValueError:
        return None
    return np.sign(2 * values - values.min() - values.max())


class Nodes:
    """Sums over the nodes of every tree, for labels of these names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.sides = sides(names)

    def row_sums(
        self, network: TreeNetwork, batch: Batch, carry: Carry | None
    ) -> tuple[dict[str, Tensor], Carry | None]:
        log_p, labels, spans = network.logits(batch).float().log_softmax(1), batch[TREE], batch["spans"].tolist()
        known, called = labels != IGNORE, log_p.argmax(1)
        right = (called == labels) & known
        nll = -log_p.gather(1, labels.clamp(min=0)[:, None])[:, 0] * known
        by_node = {"nll": nll, "known": known, "nodes_right": right, "nodes": torch.ones_like(nll)}
        sums = {name: torch.stack([row.sum() for row in each.split(spans)]) for name, each in by_node.items()}
        roots = torch.tensor([0, *np.cumsum(spans)[:-1].tolist()], device=labels.device)
        sums |= {"root_right": right[roots], "root": labels[roots]}
        if self.sides is not None:
            side = torch.from_numpy(self.sides).to(labels.device)
            p = log_p[roots].exp()
            true = side[labels[roots].clamp(min=0)] * known[roots]
            called_side = (p[:, side > 0].sum(1) > p[:, side < 0].sum(1)) * 2 - 1
            sums |= {"sided": true != 0, "side_right": (true != 0) & (called_side == true), "side": true}
        return sums, None


def frequencies(table: Table) -> np.ndarray:
    """How often each label occurs, at roots and at all nodes, for the baseline."""
    stored = table.columns[TREE]
    assert stored.offsets is not None
    labels = stored.values[:, 2]
    size = int(labels.max(initial=0)) + 1
    return np.stack([np.bincount(labels[stored.offsets[:-1]], minlength=size), np.bincount(labels, minlength=size)])


def validate(network: TreeNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, Nodes(network.label_names).row_sums, device, recipe.eval.max_tokens)
    found = {
        "loss": float(rows["nll"].sum() / max(1.0, rows["known"].sum())),
        "accuracy": float(rows["root_right"].mean()),
        "nodes": float(rows["nodes_right"].sum() / rows["nodes"].sum()),
    }
    return found | ({"binary": _share(rows["side_right"], rows["sided"])} if "sided" in rows else {})


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / max(1.0, whole.sum()))


def scores(model: TreeClassifier, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its trees, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, Nodes(model.network.label_names).row_sums, model.device)
    labels = table.columns[TREE].values[:, 2]
    commonest = {
        "accuracy": float((rows["root"] == counts[0].argmax()).mean()),
        "nodes": float((labels == counts[1].argmax()).mean()),
    }
    found: Scores = {
        "accuracy": metric(rows["root_right"], np.ones(len(rows["root"]))),
        "nodes": metric(rows["nodes_right"], rows["nodes"]),
        "nll": metric(rows["nll"], rows["known"]),
        "always_the_commonest": commonest,
        "trees": len(rows["root"]),
        "labelled_nodes": int(rows["known"].sum()),
        "signature": signature(model, table, steps),
    }
    if "sided" in rows:
        found["binary"] = metric(rows["side_right"], rows["sided"])
        side, kinds = rows["side"], sides(model.network.label_names)
        assert kinds is not None
        positive = counts[0][: len(kinds)][kinds[: counts.shape[1]] > 0].sum()
        negative = counts[0][: len(kinds)][kinds[: counts.shape[1]] < 0].sum()
        commonest["binary"] = _share(side == (1 if positive > negative else -1), rows["sided"])
    return found


def headline(scores: Scores) -> str:
    """The scores in one line."""
    always = scores["always_the_commonest"]
    binary = (
        f"{scores['binary']['value']:.2%} on the right side of the middle ({always['binary']:.2%}), "
        if "binary" in scores
        else ""
    )
    return (
        f"{scores['accuracy']['value']:.2%} of {scores['trees']:,} roots right (always the commonest: "
        f"{always['accuracy']:.2%}), {binary}{scores['nodes']['value']:.2%} of all nodes ({always['nodes']:.2%}), "
        f"NLL {scores['nll']['value']:.4f} nats"
    )
