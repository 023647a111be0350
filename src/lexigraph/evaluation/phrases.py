"""How many phrases of a treebank are found, counted as evalb does with Collins' settings.

    f1          2 right / (true + called): a phrase is right if its first word, its last word and its label are
    unlabelled  the same without labels; beside it what right-branching trees have: every word with all behind it
    exact       the share of sentences all of whose phrases are right, and no others called
    accuracy    the share of words with the right tag

Left out before counting: words that the treebank tags as punctuation (, : `` '' .) and phrases of nothing else.
Traces are no words, and labels say what the recipe has them say (NP-SBJ is NP). PRT counts as ADVP. The root counts,
an outer bracket without a label does not; each phrase of a chain over the same words counts. A chain that training
has not seen counts as one phrase that is not found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.phrases import PhraseParser
from lexigraph.evaluation.intervals import Counted, Figure, left_out, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.phrases import NONE, PHRASES, TAGS, PhraseNetwork
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table
from lexigraph.text.trees import PUNCTUATION, UNARY, Span

METRICS = {"loss": False, "f1": True, "unlabelled": True, "exact": True, "accuracy": True}  # is greater better?
ALIKE = {"PRT": "ADVP"}


class Scores(Counted):
    """What is measured of a parser of phrases."""

    f1: Figure
    precision: Figure
    recall: Figure
    unlabelled: Figure
    right_branching: float  # its unlabelled F1
    exact: Figure
    accuracy: Figure
    phrases: int
    sentences: int
    signature: str


def counted(phrases: Iterable[Span], kept: Sequence[bool]) -> Counter[Span]:
    """Phrases as they are compared: without the words that are not kept, chains taken apart.

    >>> sorted(counted([Span(0, 3, "S+VP"), Span(3, 3, "X")], [True, True, True, False]))
    [Span(first=0, last=2, label='S'), Span(first=0, last=2, label='VP')]
    """
    before = [0, *accumulate(kept)]
    moved = (Span(before[first], before[last + 1] - 1, label) for first, last, label in phrases)
    found = (
        Span(span.first, span.last, ALIKE.get(label, label))
        for span in moved
        if span.first <= span.last
        for label in span.label.split(UNARY)
    )
    return Counter(found)


def unlabelled(phrases: Counter[Span]) -> Counter[Span]:
    return Counter(Span(first, last, "") for first, last, _ in phrases.elements())


def row_sums(network: PhraseNetwork, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """For every sentence, how many phrases are true, called, and both."""
    terms, _ = network.loss(batch)
    rows = []
    for row, parsed in enumerate(network.predict(batch)):
        n = len(parsed.tags)
        tags = batch[TAGS][row, :n].tolist()
        kept = [not (tag >= 0 and network.tags[tag] in PUNCTUATION) for tag in tags]
        chart = batch[PHRASES][row]
        ends = [(i, j) for i, j in ((chart > NONE) | (chart == IGNORE)).nonzero().tolist()]
        true = counted((Span(i, j - 1, _named(network, int(chart[i, j]) - 1)) for i, j in ends), kept)
        called = counted((Span(i, j, network.labels[label]) for i, j, label in parsed.phrases.tolist()), kept)
        plain = unlabelled(true), unlabelled(called)
        words = sum(kept)
        branching = Counter(Span(i, words - 1, "") for i in range(words - 1))
        rows.append(
            {
                "right": (true & called).total(),
                "true": true.total(),
                "called": called.total(),
                "plain_right": (plain[0] & plain[1]).total(),
                "branching_right": (plain[0] & branching).total(),
                "branching": branching.total(),
                "exact": true == called,
                "tags_right": sum(tag == own for tag, own in zip(tags, parsed.tags.tolist(), strict=True)),
                "words": n,
            }
        )
    sums = {name: torch.tensor([float(row[name]) for row in rows]) for name in rows[0]}
    loss = terms["loss"].items
    assert loss is not None
    return sums | {"loss": loss[:, 0]}, None


def _named(network: PhraseNetwork, label: int) -> str:
    return network.labels[label] if label >= 0 else "unseen"


def frequencies(table: Table) -> np.ndarray:
    """How often each tag occurs; no baseline needs it."""
    return table.columns[TAGS].counts


def validate(network: PhraseNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    sums = {name: float(values.sum()) for name, values in rows.items()}
    both = sums["true"] + sums["called"]
    return {
        "loss": sums["loss"] / sums["words"],
        "f1": 2 * sums["right"] / both,
        "unlabelled": 2 * sums["plain_right"] / both,
        "exact": sums["exact"] / len(rows["exact"]),
        "accuracy": sums["tags_right"] / sums["words"],
    }


def scores(model: PhraseParser, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its sentences, and the baseline beside."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    both = rows["true"] + rows["called"]
    found: Scores = {
        "f1": metric(2 * rows["right"], both),
        "precision": metric(rows["right"], rows["called"]),
        "recall": metric(rows["right"], rows["true"]),
        "unlabelled": metric(2 * rows["plain_right"], both),
        "right_branching": float(2 * rows["branching_right"].sum() / (rows["true"] + rows["branching"]).sum()),
        "exact": metric(rows["exact"], np.ones(len(both))),
        "accuracy": metric(rows["tags_right"], rows["words"]),
        "phrases": int(rows["true"].sum()),
        "sentences": len(both),
        "signature": signature(model, table, steps),
    }
    if too_long := table.too_long(model.network.traits):
        found["too_long"] = too_long
    return found


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = (
        f"F1 {scores['f1']['value']:.2%} of {scores['phrases']:,} phrases (precision "
        f"{scores['precision']['value']:.2%}, recall {scores['recall']['value']:.2%}), without labels "
        f"{scores['unlabelled']['value']:.2%} (right-branching: {scores['right_branching']:.2%}); "
        f"{scores['exact']['value']:.2%} of {scores['sentences']:,} sentences and {scores['accuracy']['value']:.2%} "
        "of the tags right"
    )
    return line + left_out(scores)
