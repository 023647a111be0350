"""How well two language models that read in opposite directions predict words.

nll, accuracy   - log p(word), nats, and the share of the words that are the most probable: both directions together,
                every word and the boundary once in each; a word that is not predicted counts as the unknown one
ahead, back     the same nats of each direction alone
perplexity      exp of nll
"""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.contextual import ContextualWords
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.elmo import PREDICTED, ELMo
from lexigraph.objectives.next_token import IGNORE, SLICE
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

METRICS = {"loss": False, "nll": False, "accuracy": True}  # for `train.metric`: is greater better?
WAYS = ("ahead", "back")


class Scores(TypedDict):
    """What is measured of both directions."""

    nll: Figure
    ahead: Figure
    back: Figure
    accuracy: Figure
    perplexity: float
    words: int
    signature: str


def row_sums(network: ELMo, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """The scores of every sentence, not yet divided."""
    sums = {"words": (batch["ahead"] != IGNORE).sum(1)}
    for way, hidden in zip(WAYS, network.directions(batch), strict=True):
        targets = batch[way]
        kept, size = targets != IGNORE, max(1, SLICE // len(network.bias))
        parts = zip(hidden[kept].split(size), targets[kept].split(size), strict=True)
        found = torch.cat([_of_words(network, *part) for part in parts], 1).double()
        row = kept.nonzero()[:, 0]
        for name, values in zip((way, f"{way}_right"), found, strict=True):
            sums[name] = torch.zeros(len(targets), dtype=torch.double, device=row.device).index_add(0, row, values)
    return sums, None


def _of_words(network: ELMo, hidden: Tensor, right: Tensor) -> Tensor:
    """NLL and whether it is right, of every word."""
    log_p = (hidden @ network.output.weight.T + network.bias).float().log_softmax(1)
    return torch.stack([-log_p.gather(1, right[:, None])[:, 0], (log_p.argmax(1) == right).float()])


def frequencies(table: Table) -> np.ndarray:
    """How often each word stands in the text, for the baseline."""
    return table.columns[PREDICTED].counts


def validate(network: ELMo, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    sums = {name: float(values.sum()) for name, values in rows.items()}
    nll = (sums["ahead"] + sums["back"]) / (2 * sums["words"])
    right = (sums["ahead_right"] + sums["back_right"]) / (2 * sums["words"])
    return {"loss": nll, "nll": nll, "accuracy": right}


def scores(model: ContextualWords, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    words = rows["words"]
    nll = metric(rows["ahead"] + rows["back"], 2 * words)
    return {
        "nll": nll,
        "ahead": metric(rows["ahead"], words),
        "back": metric(rows["back"], words),
        "accuracy": metric(rows["ahead_right"] + rows["back_right"], 2 * words),
        "perplexity": math.exp(nll["value"]),
        "words": int(words.sum()),
        "signature": signature(model, table, steps, predicted=str(len(model.network.bias))),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"NLL {scores['nll']['value']:.4f} nats per word (perplexity {scores['perplexity']:.1f}), ahead "
        f"{scores['ahead']['value']:.4f}, back {scores['back']['value']:.4f}; "
        f"{scores['accuracy']['value']:.2%} of {scores['words']:,} words right"
    )
