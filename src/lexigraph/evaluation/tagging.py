"""How many words have the right tag, and how many spans are found.

    accuracy    the share of words
    f1          of spans, as conlleval counts: one is right if its first word, its last word and its type are;
                F1 = 2 right / (true + called). Only where tags are spans: B-X, I-X, O, also with E-X and S-X
    nll         - log p(tag), nats per word whose tag training has seen

A tag that training has not seen is scored as wrong. Beside the scores stands what it is to give every word the
commonest tag of the training split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.tagging import Tagger
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.tagging import TAGS, TaggerNetwork
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "accuracy": True, "f1": True}  # for `train.metric`: is greater better?


class Scores(TypedDict):
    """What is measured of a tagger."""

    accuracy: Figure
    f1: NotRequired[Figure]  # where tags are spans
    spans: NotRequired[int]
    nll: Figure
    always_the_commonest_tag: float
    words: int
    signature: str


class _SpanScores(TypedDict, total=False):
    f1: Figure
    spans: int


def spans_of(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """First word, last word and type of each span.

    >>> sorted(spans_of(["B-NP", "I-NP", "O", "I-VP", "B-NP", "B-NP"]))
    [(0, 1, 'NP'), (3, 3, 'VP'), (4, 4, 'NP'), (5, 5, 'NP')]
    """
    found, first, kind = set(), 0, ""  # the span that is open
    for position, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        if kind and (prefix not in ("I", "E") or name != kind):
            found.add((first, position - 1, kind))
            kind = ""
        if prefix in ("B", "I", "E", "S") and name and not kind:
            first, kind = position, name
        if prefix in ("E", "S") and kind:
            found.add((first, position, kind))
            kind = ""
    return found


class Spans:
    """Sums over the words and spans of every row, for the tags of a vocabulary."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def row_sums(
        self, network: TaggerNetwork, batch: Batch, carry: Carry | None
    ) -> tuple[dict[str, Tensor], Carry | None]:
        log_p, tags = network.logits(batch).float().log_softmax(2), batch[TAGS]
        known, called = tags != IGNORE, log_p.argmax(2)
        nll = -log_p.gather(2, tags.clamp(min=0).unsqueeze(2)).squeeze(2) * known
        sums = {"nll": nll.sum(1), "known": known.sum(1), "words": batch["lengths"]}
        sums["right"] = ((called == tags) & known).sum(1)
        counts = [
            self._spans(*row) for row in zip(tags.tolist(), called.tolist(), batch["lengths"].tolist(), strict=True)
        ]
        for name, column in zip(("span_right", "span_true", "span_called"), zip(*counts, strict=True), strict=True):
            sums[name] = torch.tensor(column)
        return sums, None

    def _spans(self, tags: list[int], called: list[int], length: int) -> tuple[int, int, int]:
        true, found = (
            spans_of([self.names[tag] if tag >= 0 else "O" for tag in row[:length]]) for row in (tags, called)
        )
        return len(true & found), len(true), len(found)


def frequencies(table: Table) -> np.ndarray:
    """How often each tag occurs, for the baseline."""
    return table.columns[TAGS].counts


def f1_of(rows: dict[str, np.ndarray]) -> float:
    return float(2 * rows["span_right"].sum() / max(1.0, rows["span_true"].sum() + rows["span_called"].sum()))


def validate(network: TaggerNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, Spans(network.tag_names).row_sums, device, recipe.eval.max_tokens)
    loss = float(rows["nll"].sum() / max(1.0, rows["known"].sum()))
    return {"loss": loss, "accuracy": float(rows["right"].sum() / rows["words"].sum()), "f1": f1_of(rows)}


def scores(model: Tagger, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its sentences, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, Spans(model.network.tag_names).row_sums, model.device)
    spans: _SpanScores = {}
    if rows["span_true"].sum():
        spans["f1"] = metric(2 * rows["span_right"], rows["span_true"] + rows["span_called"])
        spans["spans"] = int(rows["span_true"].sum())
    stored = table.columns[TAGS].values
    return {
        "accuracy": metric(rows["right"], rows["words"]),
        **spans,
        "nll": metric(rows["nll"], rows["known"]),
        "always_the_commonest_tag": float((stored == counts.argmax()).mean()),
        "words": int(rows["words"].sum()),
        "signature": signature(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = (
        f"{scores['accuracy']['value']:.2%} of {scores['words']:,} words right (always the commonest tag: "
        f"{scores['always_the_commonest_tag']:.2%}), NLL {scores['nll']['value']:.4f} nats"
    )
    return line + (f"; F1 {scores['f1']['value']:.2%} of {scores['spans']:,} spans" if "f1" in scores else "")
