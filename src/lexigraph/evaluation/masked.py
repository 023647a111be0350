"""How well masked tokens are guessed.

    nll             - log p of the masked tokens, nats per token
    accuracy        the share of them that are the most probable token

Which tokens are masked follows from what a text says: two models of one tokenizer and rate are asked for the same
tokens. Beside the scores stands what the frequencies of tokens in the training text achieve (add-one smoothed; always
the commonest token).
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.encoding import MaskFilling
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.network import MaskFiller
from lexigraph.objectives.next_token import IGNORE, token_nll
from lexigraph.objectives.terms import Batch, Carry, Term, Terms, value
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

TEXT = "text"
METRICS = {"loss": False, "nll": False, "accuracy": True}  # for `train.metric`: is greater better?


class Unigrams(TypedDict):
    """What the frequencies of tokens alone achieve."""

    nll: float
    accuracy: float


class MaskedScores(TypedDict):
    """How well masked tokens are predicted."""

    nll: Figure
    accuracy: Figure
    masked: int
    unigram_baseline: Unigrams


class Scores(MaskedScores):
    """The same with what they depend on."""

    signature: str


class Tally:
    """What is counted on the way through a text, beside the sums of its rows."""

    def __init__(self, vocabulary: int) -> None:
        self.wanted = np.zeros(vocabulary, np.int64)  # how often each token was masked
        self.terms: Terms = {}

    def row_sums(
        self, network: MaskFiller, batch: Batch, carry: Carry | None
    ) -> tuple[dict[str, Tensor], Carry | None]:
        """The scores of every row, not yet divided."""
        terms, after = network.loss(batch, carry)
        for name, term in terms.items():
            before = self.terms.get(name, Term(torch.zeros_like(term.total), 0.0))
            self.terms[name] = Term(before.total + term.total, before.count + term.count, term.weight)
        targets = batch["targets"]
        self.wanted += np.bincount(targets[targets != IGNORE].cpu().numpy(), minlength=len(self.wanted))
        guesses = {"loss": terms["generator"]} if "generator" in terms else terms
        sums = {"nll": token_nll(guesses).sum(1), "masked": (targets != IGNORE).sum(1)}
        sums["right"] = (network.target_logits(batch, carry).argmax(2) == targets).sum(1)
        return sums, after

    @property
    def loss(self) -> float:
        """As in training."""
        return float(value(self.terms))


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in the text, for the baseline."""
    return table.columns[TEXT].counts


def validate(network: MaskFiller, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    tally = Tally(len(table.columns[TEXT].counts))
    found = measured(network, table, recipe, tally.row_sums, device, recipe.eval.max_tokens)
    rows = {name: float(sums.sum()) for name, sums in found.items()}
    return {"loss": tally.loss, "nll": rows["nll"] / rows["masked"], "accuracy": rows["right"] / rows["masked"]}


def scores(model: MaskFilling, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its rows, and the baselines beside them."""
    tally = Tally(len(table.columns[TEXT].counts))
    rows = measured(model.network, table, model.recipe, tally.row_sums, model.device)
    return {**masked_scores(model, rows, tally, unigrams), "signature": signed(model, table, steps)}


def masked_scores(
    model: MaskFilling, rows: dict[str, np.ndarray], tally: Tally, unigrams: np.ndarray
) -> MaskedScores:
    """How well masked tokens are predicted."""
    return {
        "nll": metric(rows["nll"], rows["masked"]),
        "accuracy": metric(rows["right"], rows["masked"]),
        "masked": int(rows["masked"].sum()),
        "unigram_baseline": unigram_baseline(unigrams, tally.wanted, model.network.special),
    }


def signed(model: MaskFilling, table: Table, steps: int) -> str:
    """The signature, with what is masked."""
    flat = model.recipe.flat()
    rate = flat.get("objective.final_mask_rate") or flat["objective.mask_rate"]
    kinds = {"objective.spans": "spans", "objective.whole_word": "whole-words"}
    kind = next((named for key, named in kinds.items() if flat.get(key)), "")
    return signature(model, table, steps, mask_rate=f"{rate:g}", **({"masked": kind} if kind else {}))


def unigram_baseline(seen: np.ndarray, wanted: np.ndarray, special: int) -> Unigrams:
    """What the frequencies of tokens in the training text alone achieve; ids below `special` are never masked."""
    seen = np.where(np.arange(len(seen)) < special, 0, seen)
    log_p = np.log((seen + 1.0) / (seen + 1.0).sum())
    return {"nll": -float(wanted @ log_p) / wanted.sum(), "accuracy": float(wanted[seen.argmax()] / wanted.sum())}


def headline(scores: MaskedScores) -> str:
    """The scores in one line."""
    alone = scores["unigram_baseline"]
    line = f"NLL {scores['nll']['value']:.4f} nats and {scores['accuracy']['value']:.2%} right"
    line += f" of {scores['masked']:,} masked tokens; token frequencies alone: {alone['nll']:.4f} and "
    return line + f"{alone['accuracy']:.2%}"
