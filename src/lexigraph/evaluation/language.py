"""How well a language model predicts a text.

    nll             nats per token, boundaries included
    perplexity      exp(nll)
    bits_per_byte   Σ nll / (ln 2 · bytes of UTF-8 text): no tokenizer can flatter it

Beside each stands the unigram baseline: token frequencies of the training text, add-one smoothed.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import torch

from lexigraph import __version__
from lexigraph.objectives.terms import Carry
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Buckets, Plan, Streams
from lexigraph.text.corpus import Shard
from lexigraph.text.tokenizer import Tokenizer

RESAMPLES = 1000


def plan_for(network: Any, shard: Shard, recipe: Recipe) -> Plan:
    """Every token of the shard once, in windows of the model's context or in carried streams."""
    window = recipe.data.window or network.context or 64
    if recipe.data.unit == "stream" and network.remembers:
        streams = max(1, min(recipe.eval.streams, (len(shard.ids) - 1) // window))
        return Streams(len(shard.ids), max(window, recipe.eval.batch_tokens // streams), streams, 0, tail=True)
    if recipe.data.unit == "stream":
        starts = np.arange(0, len(shard.ids) - 1, window)
        lengths = np.minimum(len(shard.ids) - 1 - starts, window)
    else:
        starts, lengths = shard.spans(network.context)
    return Buckets(starts, lengths, recipe.eval.batch_tokens, 0)


@torch.no_grad()
def row_losses(
    network: Any, shard: Shard, recipe: Recipe, device: torch.device, limit: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """NLL and token count of every row (a line, or a window of a stream), up to about `limit` tokens."""
    plan = plan_for(network, shard, recipe)
    totals: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    carry: Carry | None = None
    seen = 0
    for step in range(plan.epoch_steps):
        spans = plan.batch(step)
        batch = network.prepare({"text": shard.take(spans)})
        terms, carry = network.loss(batch.to(device), None if plan.fresh(step) else carry)
        rows = terms.get("nll", terms["loss"]).rows
        totals.append(rows.double().cpu().numpy())
        counts.append(np.asarray(spans.lengths, np.float64))
        seen += int(counts[-1].sum())
        if limit and seen >= limit:
            break
    return np.concatenate(totals), np.concatenate(counts)


def language_scores(network: Any, shard: Shard, recipe: Recipe, device: torch.device) -> dict[str, Any]:
    """All scores of a shard, with a 95 % interval from resampling its rows."""
    totals, counts = row_losses(network, shard, recipe, device)
    tokens, bytes_ = counts.sum(), shard.bytes
    nll = totals.sum() / tokens
    low, high = bootstrap(totals, counts)
    scale = tokens / (math.log(2) * bytes_)
    return {
        "nll": _metric(nll, low, high),
        "perplexity": _metric(math.exp(nll), math.exp(low), math.exp(high)),
        "bits_per_byte": _metric(nll * scale, low * scale, high * scale),
        "tokens": int(tokens),
        "bytes": int(bytes_),
    }


def bootstrap(totals: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """A 95 % interval of Σ totals / Σ counts over resampled rows."""
    random = np.random.default_rng(0)
    rows = len(totals)
    weights = random.multinomial(rows, np.full(rows, 1 / rows), RESAMPLES) if rows < 20_000 else None
    if weights is None:  # many rows: group them first, the mean of groups has the same spread
        groups = np.arange(rows) % 5000
        totals, counts = np.bincount(groups, totals), np.bincount(groups, counts)
        weights = random.multinomial(5000, np.full(5000, 1 / 5000), RESAMPLES)
    means = (weights @ totals) / (weights @ counts)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def unigram_baseline(train: Shard, shard: Shard, vocabulary: int) -> dict[str, float]:
    """What token frequencies alone achieve."""
    seen = np.bincount(train.ids, minlength=vocabulary) + 1.0
    log_p = np.log(seen / seen.sum())
    wanted = np.bincount(shard.ids[1:], minlength=vocabulary)
    nll = -float(wanted @ log_p)
    return {"nll": nll / wanted.sum(), "bits_per_byte": nll / (math.log(2) * shard.bytes)}


def signature(recipe: Recipe, tokenizer: Tokenizer, shard: Shard, device: torch.device, steps: int) -> str:
    """What a score depends on, in one line."""
    digest = hashlib.blake2b(np.ascontiguousarray(shard.ids).data, digest_size=6).hexdigest()
    parts = {
        "system": recipe.system,
        "unit": recipe.data.unit,
        "tokenizer": f"{recipe.tokenizer.kind}-{len(tokenizer)}-{tokenizer.fingerprint[:8]}",
        "split": digest,
        "seed": recipe.train.seed,
        "steps": steps,
        "device": device.type,
        "lexigraph": __version__,
        "torch": torch.__version__.split("+")[0],
    }
    if recipe.data.unit == "stream":
        parts["streams"] = recipe.eval.streams
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _metric(value: float, low: float, high: float) -> dict[str, Any]:
    return {"value": float(value), "interval": [float(low), float(high)]}
