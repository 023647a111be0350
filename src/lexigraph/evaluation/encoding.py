"""How well a sentence encoder does what it learns from.

written     - log p(token) of the sentences before and after, nats per token
ranked      - log p(next sentence), among those of the same batch, nats
first       how often it is the first of them

Each only where it is learned; classes are learned beside, and not measured here. What vectors are worth elsewhere:
benchmarks/sentences.py.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.sentences import Sentences
from lexigraph.evaluation.intervals import signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.sentence_encoder import SentenceEncoder
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False}  # for `train.metric`: is greater better?


def row_sums(network: SentenceEncoder, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """The terms of one batch, as its only row: rows of a batch are compared with each other."""
    terms, _ = network.loss(batch)
    sums = {name: term.total.reshape(1) for name, term in terms.items()}
    sums |= {f"{name}_count": torch.tensor([float(term.count)]) for name, term in terms.items()}
    if "ranked" in terms:
        scores = network.ranking(network.encode(batch["text_ids"], batch["text_lengths"]), batch)
        first = (scores.argmax(1) == torch.arange(len(scores), device=scores.device)).sum()
        sums["first"] = first.reshape(1) * (batch.counts["ranked"] > 0)
    return sums, None


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in the text, for the baseline."""
    return table.columns["text"].counts


def validate(network: SentenceEncoder, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    found = _means(measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens))
    return found | {"loss": sum(network.weights.get(name, 0.0) * value for name, value in found.items())}


def _means(rows: dict[str, np.ndarray]) -> dict[str, float]:
    sums = {name: float(values.sum()) for name, values in rows.items()}
    names = [name for name in sums if f"{name}_count" in sums]
    found = {name: sums[name] / max(1.0, sums[f"{name}_count"]) for name in names}
    if "first" in sums:
        found["first"] = sums["first"] / max(1.0, sums["ranked_count"])
    return found


def scores(
    model: Sentences, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None
) -> dict[str, float | str]:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    return {**_means(rows), "sentences": float(table.examples), "signature": signature(model, table, steps)}


def headline(scores: dict[str, float | str]) -> str:
    """The scores in one line."""
    named = {
        "written": "sentences around: {:.4f} nats per token",
        "ranked": "next sentence: {:.4f} nats",
        "first": "the first of its batch in {:.2%}",
    }
    return "; ".join(text.format(scores[name]) for name, text in named.items() if name in scores)
