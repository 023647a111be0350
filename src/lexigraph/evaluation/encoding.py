"""How well a sentence encoder does what it learns from.

written     - log p(token) of the sentences before and after, nats per token; token frequencies alone beside it
ranked      - log p(next sentence), among those of the same batch, nats; chance beside it
first       how often it is the first of them; likewise

Each only where it is learned; classes are learned beside, and not measured here. What vectors are worth elsewhere:
`lexigraph eval RUN --suite meaning`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.abilities.sentences import Sentences
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.task import Scores
from lexigraph.models.sentence_encoder import SentenceEncoder
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table
from lexigraph.text.vocabularies import TEXT

METRICS = {"loss": False, "written": False, "ranked": False, "first": True}  # for `train.metric`: is greater better?


def row_sums(network: SentenceEncoder, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """What is learned, for every sentence with a neighbour: nats with their tokens, and ranks among the batch."""
    sums: dict[str, Tensor] = {}
    if network.objective.written:
        sums["written"], sums["written_tokens"] = network.written(batch)
    if network.objective.ranked and batch.counts["ranked"]:
        scores = network.ranking(network.encode(batch["text_ids"], batch["text_lengths"]), batch)
        right = torch.arange(len(scores), device=scores.device)
        sums["ranked"] = F.cross_entropy(scores, right, reduction="none")
        sums["first"] = (scores.argmax(1) == right).float()
        sums["of"] = torch.full((len(scores),), float(len(scores)))
    return sums, None


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in the text, for the baseline."""
    return table.columns[TEXT].counts


def validate(network: SentenceEncoder, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    figures = _figures(measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens))
    found = {name: figure["value"] for name, figure in figures.items()}
    return found | {"loss": sum(network.weights.get(name, 0.0) * value for name, value in found.items())}


def _figures(rows: dict[str, np.ndarray]) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    if "written" in rows:
        found["written"] = metric(rows["written"], rows["written_tokens"])
    return found | {
        name: metric(rows[name], np.ones(len(rows[name]))) for name in ("ranked", "first") if name in rows
    }


def scores(model: Sentences, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    found: Scores = {**_figures(rows)}
    if "written" in rows:
        found["unigram_baseline"] = {"written": unigram_baseline(unigrams, table)}
    if "of" in rows:
        found["chance"] = {"ranked": float(np.log(rows["of"]).mean()), "first": float((1 / rows["of"]).mean())}
    return {**found, "sentences": table.examples, "signature": signature(model, table, steps)}


def unigram_baseline(seen: np.ndarray, table: Table) -> float:
    """Nats per token of the text by the frequencies of tokens in the training text, the boundary before it given."""
    text = table.columns[TEXT]
    wanted = text.counts.copy()
    wanted[text.values[0]] -= table.examples
    return -float(wanted @ np.log((seen + 1.0) / (seen + 1.0).sum())) / max(1, int(wanted.sum()))


def headline(scores: Scores) -> str:
    """The scores in one line."""
    named = {
        "written": "sentences around: {:.4f} nats per token",
        "ranked": "next sentence: {:.4f} nats",
        "first": "the first of its batch in {:.2%}",
    }
    values = {name: figure["value"] for name in named if isinstance(figure := scores.get(name), dict)}
    return "; ".join(text.format(values[name]) for name, text in named.items() if name in values)
