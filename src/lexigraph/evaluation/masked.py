"""How well hidden tokens are guessed.

    nll             - log p of the hidden tokens, nats per token
    accuracy        the share of them that are the most probable token
    detection       ELECTRA's discriminator: the share of all tokens that it rightly calls original or replaced
    detection_nll   - log p of that, nats per token
    caught          the share of replaced tokens that it calls replaced

Which tokens are hidden, and what ELECTRA's generator puts in their place, follows from what a text says: two models
of one tokenizer and rate are asked for the same tokens. Beside the scores stand what the frequencies of tokens in the
training text achieve (add-one smoothed; always the commonest token), and what it is to call every token original.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.evaluation.intervals import metric, signature
from lexigraph.evaluation.language import plan_for
from lexigraph.objectives.next_token import IGNORE, token_nll
from lexigraph.objectives.terms import Batch, Carry, Term, value
from lexigraph.recipe import Recipe
from lexigraph.text.corpus import Shard
from lexigraph.textmodel import TextModel

METRICS = ("loss", "nll", "accuracy")  # what `train.metric` may name


@dataclass(frozen=True)
class Measured:
    """What was found on a text."""

    rows: dict[str, np.ndarray]  # sums over every row: a line, or a window of a stream
    wanted: np.ndarray  # how often each token was hidden
    loss: float  # as in training


@torch.no_grad()
def measure(network: Any, shard: Shard, recipe: Recipe, device: torch.device, limit: int = 0) -> Measured:
    """Hide tokens of the text, up to about the first `limit`, and compare what the network makes of them."""
    plan = plan_for(network, shard, recipe, limit)
    rows: dict[str, list[np.ndarray]] = defaultdict(list)
    wanted = np.zeros(len(shard.counts), np.int64)
    terms: dict[str, Term] = {}
    carry: Carry | None = None
    for step in range(plan.epoch_steps):
        prepared = network.prepare({"text": shard.take(plan.batch(step))})
        batch = prepared.to(device)
        known = None if plan.fresh(step) else carry
        found, carry = network.loss(batch, known)
        for name, term in found.items():
            before = terms.get(name, Term(torch.zeros_like(term.total), 0.0))
            terms[name] = Term(before.total + term.total, before.count + term.count, term.weight)
        for name, sums in _sums(network, batch, found, known).items():
            rows[name].append(sums.cpu().double().numpy())
        targets = prepared["targets"].numpy()
        wanted += np.bincount(targets[targets != IGNORE], minlength=len(wanted))
    return Measured({name: np.concatenate(parts) for name, parts in rows.items()}, wanted, float(value(terms)))


def _sums(network: Any, batch: Batch, terms: dict[str, Term], carry: Carry | None) -> dict[str, Tensor]:
    """The scores of every row, not yet divided."""
    targets, lengths = batch["targets"], batch.tensors.get("lengths")
    guesses = {"loss": terms["generator"]} if "generator" in terms else terms
    sums = {"nll": token_nll(guesses).sum(1), "hidden": (targets != IGNORE).sum(1)}
    if hasattr(network, "target_logits"):  # of a network that predicts in some order, and may remember
        sums["right"] = (network.target_logits(batch, carry).argmax(2) == targets).sum(1)
    elif hasattr(network, "masked_logits"):
        logits = network.masked_logits(batch["inputs"], lengths, batch["places"], batch.tensors.get("segments"))
        sums["right"] = (logits.argmax(2) == targets).sum(1)
    if hasattr(network, "replace"):
        ids, replaced = network.replace(batch)
        logits = network(ids, lengths).float()
        inside = torch.arange(ids.shape[1], device=ids.device) < batch["lengths"][:, None]
        nll = F.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="none")
        called = (logits > 0) == replaced.bool()
        sums["detection_nll"], sums["detected"] = (nll * inside).sum(1), (called & inside).sum(1)
        sums["tokens"], sums["replaced"] = batch["lengths"], replaced.sum(1)
        sums["caught"] = (called & replaced.bool()).sum(1)
    return sums


def validate(network: Any, shard: Shard, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What the loop looks at."""
    found = measure(network, shard, recipe, device, recipe.eval.max_tokens)
    rows = {name: float(sums.sum()) for name, sums in found.rows.items()}
    scores = {"loss": found.loss, "nll": rows["nll"] / rows["hidden"]}
    if "right" in rows:
        scores["accuracy"] = rows["right"] / rows["hidden"]
    if "detected" in rows:  # to look at
        scores["detection"] = rows["detected"] / rows["tokens"]
    return scores


def scores(model: TextModel, shard: Shard, steps: int, unigrams: np.ndarray, baseline: None = None) -> dict[str, Any]:
    """All scores of a held-out shard, with 95 % intervals from resampling its rows, and the baselines beside them."""
    network, objective = model.network, model.recipe.objective
    found = measure(network, shard, model.recipe, model.device)
    rows = found.rows
    result: dict[str, Any] = {"nll": metric(rows["nll"], rows["hidden"])}
    if "right" in rows:
        result["accuracy"] = metric(rows["right"], rows["hidden"])
    if "detected" in rows:
        result["detection"] = metric(rows["detected"], rows["tokens"])
        result["detection_nll"] = metric(rows["detection_nll"], rows["tokens"])
        result["caught"] = metric(rows["caught"], rows["replaced"])
        result["always_original"] = float(1 - rows["replaced"].sum() / rows["tokens"].sum())
    result["hidden"] = int(rows["hidden"].sum())
    result["unigram_baseline"] = unigram_baseline(unigrams, found.wanted, getattr(network, "special", 0))
    whole = {"hidden": "whole-words"} if getattr(objective, "whole_word", False) else {}
    result["signature"] = signature(model, shard, steps, rate=f"{objective.rate:g}", **whole)
    return result


def unigram_baseline(seen: np.ndarray, wanted: np.ndarray, special: int) -> dict[str, float]:
    """What the frequencies of tokens in the training text alone achieve; ids below `special` are never hidden."""
    seen = np.where(np.arange(len(seen)) < special, 0, seen)
    log_p = np.log((seen + 1.0) / (seen + 1.0).sum())
    return {"nll": -float(wanted @ log_p) / wanted.sum(), "accuracy": float(wanted[seen.argmax()] / wanted.sum())}


def headline(scores: dict[str, Any]) -> str:
    """The scores in one line."""
    alone = scores["unigram_baseline"]
    line = f"NLL {scores['nll']['value']:.4f} nats"
    if accuracy := scores.get("accuracy"):
        line += f" and {accuracy['value']:.2%} right"
    line += f" of {scores['hidden']:,} hidden tokens; token frequencies alone: {alone['nll']:.4f} and "
    line += f"{alone['accuracy']:.2%}"
    if detection := scores.get("detection"):
        line += (
            f"; original or replaced: {detection['value']:.2%} (always original: {scores['always_original']:.2%}), "
            f"{scores['caught']['value']:.2%} of the replaced caught"
        )
    return line
