"""How many words hang on the right head, and by the right relation.

    uas         unlabelled attachment: the share of words with the right head
    las         labelled attachment: … and the right relation (as far as the recipe tells relations apart)
    accuracy    the share of words with the right tag, where tags are learned
    nll         - log p(head) - log p(relation | head), nats per word whose relation training has seen

Punctuation counts, as in the CoNLL 2018 shared task; words are those of the file. Beside the scores stands what it is
to hang every word on the one before it, and on the one behind it.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.parsing import DependencyParser
from lexigraph.evaluation.intervals import Counted, Figure, left_out, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.parsing import HEADS, RELATIONS, TAGS, TERMS, ParserNetwork
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "uas": True, "las": True, "accuracy": True}  # for `train.metric`: is greater better?


class Scores(Counted):
    """What is measured of a parser."""

    uas: Figure
    las: Figure
    accuracy: NotRequired[Figure]  # where tags are learned
    nll: Figure
    all_on_the_word_before: float
    all_on_the_word_behind: float
    words: int
    sentences: int
    signature: str


class _Accuracy(TypedDict, total=False):
    accuracy: Figure


def row_sums(network: ParserNetwork, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """For every sentence, what is right and how improbable the truth was."""
    states, known = network.states(batch), batch[RELATIONS] != IGNORE
    terms = network.terms(states, batch)
    found: dict[str, list[Tensor]] = {name: [] for name, term in TERMS.items() if term in terms}
    for row, parsed in enumerate(network.trees(states, batch["lengths"])):
        n = len(parsed.heads)
        hung = parsed.heads == batch[HEADS][row, :n]
        found[HEADS].append(hung.sum())
        found[RELATIONS].append((hung & (parsed.relations == batch[RELATIONS][row, :n])).sum())
        if parsed.tags is not None:
            found[TAGS].append((parsed.tags == batch[TAGS][row, :n]).sum())
    sums = {name: torch.stack(values) for name, values in found.items()}
    heads, relations = terms[TERMS[HEADS]].items, terms[TERMS[RELATIONS]].items
    assert heads is not None
    assert relations is not None
    nll = (heads + relations) * known
    return sums | {"nll": nll.sum(1), "known": known.sum(1), "words": batch["lengths"]}, None


def frequencies(table: Table) -> np.ndarray:
    """How often each relation occurs; no baseline needs it."""
    return table.columns[RELATIONS].counts


def validate(network: ParserNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    words = rows["words"].sum()
    found = {"loss": float(rows["nll"].sum() / max(1.0, rows["known"].sum()))}
    names = {"uas": HEADS, "las": RELATIONS, "accuracy": TAGS}
    return found | {name: float(rows[own].sum() / words) for name, own in names.items() if own in rows}


def scores(model: DependencyParser, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its sentences, and the baselines beside."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    tagged: _Accuracy = {"accuracy": metric(rows[TAGS], rows["words"])} if TAGS in rows else {}
    before, behind = neighbours(table)
    found: Scores = {
        "uas": metric(rows[HEADS], rows["words"]),
        "las": metric(rows[RELATIONS], rows["words"]),
        **tagged,
        "nll": metric(rows["nll"], rows["known"]),
        "all_on_the_word_before": before,
        "all_on_the_word_behind": behind,
        "words": int(rows["words"].sum()),
        "sentences": len(rows["words"]),
        "signature": signature(model, table, steps),
    }
    if too_long := table.too_long(model.network.traits):
        found["too_long"] = too_long
    return found


def neighbours(table: Table) -> tuple[float, float]:
    """The share of words that are right if each hangs on the one before it, and if on the one behind it; the first
    or the last word is then the root."""
    stored = table.columns[HEADS]
    assert stored.offsets is not None
    lengths = np.diff(stored.offsets)
    positions = np.arange(len(stored.values)) - np.repeat(stored.offsets[:-1], lengths) + 1
    behind = np.where(positions == np.repeat(lengths, lengths), 0, positions + 1)
    return float((stored.values == positions - 1).mean()), float((stored.values == behind).mean())


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = (
        f"UAS {scores['uas']['value']:.2%}, LAS {scores['las']['value']:.2%} of {scores['words']:,} words (all on "
        f"the word before: {scores['all_on_the_word_before']:.2%}, behind: {scores['all_on_the_word_behind']:.2%})"
    )
    line += f"; {scores['accuracy']['value']:.2%} of the tags right" if "accuracy" in scores else ""
    return line + left_out(scores)
