"""How well a language model predicts a text.

    nll             nats per token, boundaries included
    perplexity      exp(nll)
    bits_per_byte   Σ nll / (ln 2 · bytes of UTF-8 text): no vocabulary can flatter it, unless it makes words <unk>
    unknown         the share of tokens that are <unk>: where it is not 0, compare only models of one vocabulary

Beside each stands the unigram baseline: token frequencies of the training text, add-one smoothed.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import torch

from lexigraph import __version__
from lexigraph.objectives.next_token import token_nll
from lexigraph.objectives.terms import Carry
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Buckets, Plan, Streams
from lexigraph.text.corpus import Shard
from lexigraph.text.tokenizer import Tokenizer

RESAMPLES = 1000
FEWEST = 20  # rows: fewer give no interval
BLOCK = 256  # tokens of a carried stream that are resampled together


def plan_for(network: Any, shard: Shard, recipe: Recipe, limit: int = 0) -> Plan:
    """Every token of the shard once, or about the first `limit`: in windows of the context, or in carried streams."""
    window = recipe.data.window or network.context or 64
    total = min(len(shard.ids) - 1, limit or len(shard.ids))
    if recipe.data.unit == "stream" and network.remembers:
        streams = max(1, min(recipe.eval.streams, total // window))
        return Streams(total + 1, max(1, min(BLOCK, recipe.eval.batch_tokens // streams)), streams, 0, tail=True)
    if recipe.data.unit == "stream":
        starts = np.arange(0, total, window)
        lengths = np.minimum(total - starts, window)
    else:
        starts, lengths = shard.spans(network.context)
        units = int(np.searchsorted(starts, total))
        starts, lengths = starts[:units], lengths[:units]
    return Buckets(starts, lengths, recipe.eval.batch_tokens, 0)


@torch.no_grad()
def row_losses(
    network: Any, shard: Shard, recipe: Recipe, device: torch.device, limit: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """NLL and token count of every row (a line, or a window of a stream), up to about `limit` tokens."""
    plan = plan_for(network, shard, recipe, limit)
    totals: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    carry: Carry | None = None
    for step in range(plan.epoch_steps):
        spans = plan.batch(step)
        batch = network.prepare({"text": shard.take(spans)})
        terms, carry = network.loss(batch.to(device), None if plan.fresh(step) else carry)
        totals.append(token_nll(terms).cpu().double().sum(1).numpy())
        counts.append(np.asarray(spans.lengths, np.float64))
    return np.concatenate(totals), np.concatenate(counts)


def language_scores(network: Any, shard: Shard, recipe: Recipe, device: torch.device, unk: int) -> dict[str, Any]:
    """All scores of a shard, with a 95 % interval from resampling its rows."""
    totals, counts = row_losses(network, shard, recipe, device)
    tokens, bytes_ = counts.sum(), shard.bytes
    values = [totals.sum() / tokens, *(bootstrap(totals, counts) or ())]
    scale = tokens / (math.log(2) * bytes_)
    return {
        "nll": _metric(values),
        "perplexity": _metric([perplexity(value) for value in values]),
        "bits_per_byte": _metric([value * scale for value in values]),
        "unknown": float(shard.counts[unk] / shard.counts.sum()),
        "tokens": int(tokens),
        "bytes": int(bytes_),
    }


def perplexity(nll: float) -> float:
    """exp(nll), as long as there is such a number."""
    return math.exp(min(nll, 700))


def bootstrap(totals: np.ndarray, counts: np.ndarray) -> tuple[float, float] | None:
    """A 95 % interval of Σ totals / Σ counts over resampled rows; None if there are too few of them."""
    random = np.random.default_rng(0)
    rows = len(totals)
    if rows < FEWEST:
        return None
    weights = random.multinomial(rows, np.full(rows, 1 / rows), RESAMPLES) if rows < 20_000 else None
    if weights is None:  # many rows: group them first, the mean of groups has the same spread
        groups = np.arange(rows) % 5000
        totals, counts = np.bincount(groups, totals), np.bincount(groups, counts)
        weights = random.multinomial(5000, np.full(5000, 1 / 5000), RESAMPLES)
    means = (weights @ totals) / (weights @ counts)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def unigram_baseline(seen: np.ndarray, shard: Shard) -> dict[str, float]:
    """What the frequencies of tokens in the training text alone achieve."""
    log_p = np.log((seen + 1.0) / (seen + 1.0).sum())
    wanted = shard.counts.copy()
    wanted[shard.ids[0]] -= 1  # the first boundary is given
    nll = -float(wanted @ log_p)
    return {"nll": nll / wanted.sum(), "bits_per_byte": nll / (math.log(2) * shard.bytes)}


def signature(
    recipe: Recipe, network: Any, tokenizer: Tokenizer, shard: Shard, device: torch.device, steps: int
) -> str:
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
    if recipe.data.clean or recipe.data.rare:
        parts["clean"] = "+".join([*recipe.data.clean, *map(str, recipe.data.rare)])
    if recipe.data.unit == "stream" and network.remembers:
        parts["streams"] = recipe.eval.streams
    else:
        parts["window"] = recipe.data.window or network.context
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _metric(values: list[float]) -> dict[str, Any]:
    """A value and, if there is one, its interval."""
    value, *interval = map(float, values)
    return {"value": value, "interval": interval}
