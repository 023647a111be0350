"""How many words have the right tag, and how many spans are found.

    accuracy    the share of words
    f1          of spans, as conlleval counts: one is right if its first word, its last word and its type are;
                F1 = 2 right / (true + called). Only where tags are spans (text/spans.py); also for each type
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

from lexigraph.abilities.tagging import FrameTagger, Tagger
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.tagging import TAGS, TaggerNetwork
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.spans import OUTSIDE, spans_of
from lexigraph.text.tables import Table

UNSEEN = "?"  # the type of what training has not seen: words with such tags, side by side, are a span never found
SPANS = ("span_right", "span_true", "span_called")
METRICS = {"loss": False, "accuracy": True, "f1": True}  # for `train.metric`: is greater better?


class OfType(TypedDict):
    """What is measured of the spans of one type."""

    precision: float
    recall: float
    f1: float
    spans: int


class Scores(TypedDict):
    """What is measured of a tagger."""

    accuracy: Figure
    f1: NotRequired[Figure]  # where tags are spans
    spans: NotRequired[int]
    types: NotRequired[dict[str, OfType]]
    nll: Figure
    always_the_commonest_tag: float
    words: int
    signature: str


class _SpanScores(TypedDict, total=False):
    f1: Figure
    spans: int
    types: dict[str, OfType]


class Spans:
    """Sums over the words and spans of every row, for the tags of a vocabulary."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        kinds = {name.partition("-")[2] for name in names} - {""}
        self.types = [*sorted(kinds), UNSEEN] if kinds else []
        self.unseen = f"I-{UNSEEN}" if kinds else OUTSIDE

    def row_sums(
        self, network: TaggerNetwork, batch: Batch, carry: Carry | None
    ) -> tuple[dict[str, Tensor], Carry | None]:
        logits, tags = network.logits(batch).float(), batch[TAGS]
        called, known = network.decoded(logits, batch["lengths"])[0], tags != IGNORE
        sums = {"nll": network.nll(logits, batch), "known": known.sum(1), "words": batch["lengths"]}
        sums["right"] = ((called == tags) & known).sum(1)
        rows = zip(tags.tolist(), called.tolist(), batch["lengths"].tolist(), strict=True)
        counts = np.stack([self._spans(*row) for row in rows])  # rows, right or true or called, types
        for name, found in zip(SPANS, counts.transpose(1, 0, 2), strict=True):
            sums[name] = torch.from_numpy(found)
        return sums, None

    def _spans(self, tags: list[int], called: list[int], length: int) -> np.ndarray:
        true, found = (
            spans_of([self.names[tag] if tag >= 0 else self.unseen for tag in row[:length]]) for row in (tags, called)
        )
        counts = np.zeros((len(SPANS), len(self.types)), np.int64)
        for row, spans in zip(counts, (true & found, true, found), strict=True):
            for _, _, kind in spans:
                row[self.types.index(kind)] += 1
        return counts


def frequencies(table: Table) -> np.ndarray:
    """How often each tag occurs, for the baseline."""
    return table.columns[TAGS].counts


def f1_of(rows: dict[str, np.ndarray]) -> float:
    right, true, called = (rows[name].sum() for name in SPANS)
    return float(2 * right / max(1.0, true + called))


def validate(network: TaggerNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, Spans(network.tag_names).row_sums, device, recipe.eval.max_tokens)
    loss = float(rows["nll"].sum() / max(1.0, rows["known"].sum()))
    return {"loss": loss, "accuracy": float(rows["right"].sum() / rows["words"].sum()), "f1": f1_of(rows)}


def scores(
    model: Tagger | FrameTagger, table: Table, steps: int, counts: np.ndarray, baseline: None = None
) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its sentences, and the baseline beside."""
    counter = Spans(model.network.tag_names)
    rows = measured(model.network, table, model.recipe, counter.row_sums, model.device)
    right, true, called = (rows[name] for name in SPANS)
    spans: _SpanScores = {}
    if true.sum():
        spans["f1"] = metric(2 * right.sum(1), true.sum(1) + called.sum(1))
        spans["spans"] = int(true.sum())
        sums = zip(right.sum(0), true.sum(0), called.sum(0), strict=True)
        of_types = {kind: _of_type(*each) for kind, each in zip(counter.types, sums, strict=True)}
        spans["types"] = {kind: each for kind, each in of_types.items() if kind != UNSEEN or each["spans"]}
    stored = table.columns[TAGS].values
    return {
        "accuracy": metric(rows["right"], rows["words"]),
        **spans,
        "nll": metric(rows["nll"], rows["known"]),
        "always_the_commonest_tag": float((stored == counts.argmax()).mean()),
        "words": int(rows["words"].sum()),
        "signature": signature(model, table, steps),
    }


def _of_type(right: float, true: float, called: float) -> OfType:
    return {
        "precision": float(right / max(1, called)),
        "recall": float(right / max(1, true)),
        "f1": float(2 * right / max(1, true + called)),
        "spans": int(true),
    }


def headline(scores: Scores) -> str:
    """The scores in one line, and of spans a line for each type."""
    line = (
        f"{scores['accuracy']['value']:.2%} of {scores['words']:,} tags right (always the commonest tag: "
        f"{scores['always_the_commonest_tag']:.2%}), NLL {scores['nll']['value']:.4f} nats"
    )
    if "f1" not in scores:
        return line
    rows = [f"{'':10} precision   recall       F1    spans"]
    rows += [
        f"{kind:10} {of['precision']:9.2%} {of['recall']:8.2%} {of['f1']:8.2%} {of['spans']:8,}"
        for kind, of in scores["types"].items()
    ]
    return "\n".join([f"{line}; F1 {scores['f1']['value']:.2%} of {scores['spans']:,} spans", *rows])
