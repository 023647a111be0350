"""How well masked tokens are predicted, and the next ones: of a network that is read both ways.

    nll, accuracy              of masked tokens, as in masked.py
    next_nll, bits_per_byte    of all tokens, each from those before it, as in language.py

Beside both stands what the frequencies of tokens in the training text achieve.
"""

from __future__ import annotations

from typing import NotRequired

import numpy as np
import torch

from lexigraph.abilities.encoding import FillingLanguageModel
from lexigraph.evaluation import language, masked
from lexigraph.evaluation.intervals import Figure, interval, metric
from lexigraph.evaluation.masked import TEXT, choosing, frequencies
from lexigraph.evaluation.measure import baseline, measured
from lexigraph.nn.network import FillingLanguageNetwork
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

__all__ = ["METRICS", "baseline", "choosing", "frequencies", "headline", "scores", "validate"]

METRICS = masked.METRICS | {"next_nll": False}  # for `train.metric`: is greater better?


class Scores(masked.Scores):
    """What is measured of both ways."""

    next_nll: Figure
    bits_per_byte: NotRequired[Figure]
    next_unigram_nll: float


def validate(network: FillingLanguageNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports; the loss is that of training, with the share of rows as weights."""
    found = masked.validate(network, table, recipe, device)
    rows = _next(network, table, recipe, device, recipe.eval.max_tokens)
    nll, share = float(rows["nll"].sum() / rows["tokens"].sum()), recipe.objective.causal_share
    return found | {"loss": (1 - share) * found["nll"] + share * nll, "next_nll": nll}


def _next(
    network: FillingLanguageNetwork, table: Table, recipe: Recipe, device: torch.device, limit: int = 0
) -> dict[str, np.ndarray]:
    """NLL and tokens of every row, read in order."""
    return measured(network, table, recipe, language.row_sums, device, limit, prepare=network.prepare_in_order)


def scores(
    model: FillingLanguageModel, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None
) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its rows, and the baselines beside them."""
    rows, text = _next(model.network, table, model.recipe, model.device), table.columns[TEXT]
    found: Scores = {
        **masked.scores(model, table, steps, unigrams),
        "next_nll": metric(rows["nll"], rows["tokens"]),
        "next_unigram_nll": language.unigram_baseline(unigrams, text)["nll"],
    }
    if not text.lost:
        scale = language.per_byte(rows["tokens"].sum(), text)["bits_per_byte"]
        nll = found["next_nll"]
        found["bits_per_byte"] = interval([scale * value for value in (nll["value"], *nll["interval"])])
    return found


def headline(scores: Scores) -> str:
    """The scores in one line."""
    bits = f", {scores['bits_per_byte']['value']:.4f} bits per byte" if "bits_per_byte" in scores else ""
    return (
        f"{masked.headline(scores)}; next tokens: NLL {scores['next_nll']['value']:.4f} nats{bits}, token "
        f"frequencies alone {scores['next_unigram_nll']:.4f}"
    )
