"""How well an autoencoder gives its sentences back.

kl         KL(smoothed target || p), nats per token, each token predicted from the true ones before it
nll        - log p of the true token, nats per token
accuracy   the share of tokens that are the most probable one
exact      the share of sentences that one greedy pass writes back, character for character
bleu       sacreBLEU of those against the sentences; both as they were given (reference:raw) or cleaned by the recipe
           (reference:cleaned), never through the tokenizer
too_long   how many sentences the model cannot hold: they are in none of these scores
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lexigraph.errors import LexigraphError
from lexigraph.evaluation.intervals import left_out, metric, reference, signature
from lexigraph.objectives.next_token import IGNORE, smoothed_kl
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Buckets
from lexigraph.text.corpus import Shard
from lexigraph.textmodel import TextModel

METRICS = ("loss", "nll", "accuracy")  # what `train.metric` may name; loss is the KL


@torch.no_grad()
def row_scores(
    network: Any, shard: Shard, recipe: Recipe, device: torch.device, limit: int = 0
) -> dict[str, np.ndarray]:
    """KL, NLL, right tokens and tokens of every sentence, up to about `limit` tokens."""
    starts, lengths = shard.sentences(network.context)
    if not len(starts):
        raise LexigraphError(f"No sentence of this text fits into the model's {network.context} tokens.")
    units = max(1, int(np.searchsorted(starts, limit))) if limit else len(starts)
    plan = Buckets(starts[:units], lengths[:units], recipe.eval.batch_tokens, 0)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("kl", "nll", "right", "tokens")}
    for step in range(plan.epoch_steps):
        spans = plan.batch(step)
        batch = network.prepare({"text": shard.take(spans)}).to(device)
        targets = batch["targets"]
        count = (targets != IGNORE).sum(1)
        log_p = network(batch["inputs"], count).float().log_softmax(2)
        valid, right = targets != IGNORE, targets.clamp(min=0)
        nll = -log_p.gather(2, right.unsqueeze(2)).squeeze(2)
        smoothing = getattr(recipe.objective, "label_smoothing", 0.0)
        kl = nll
        if smoothing:
            kl = smoothed_kl(log_p.flatten(0, 1), right.view(-1, 1), smoothing, network.pad).view_as(nll)
        found = {"kl": kl, "nll": nll, "right": (log_p.argmax(2) == right).float()}
        for name, values in found.items():
            rows[name].append((values * valid).sum(1).cpu().double().numpy())
        rows["tokens"].append(count.cpu().double().numpy())
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def validate(network: Any, shard: Shard, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What the loop looks at."""
    rows = row_scores(network, shard, recipe, device, recipe.eval.max_tokens)
    tokens = rows["tokens"].sum()
    return {
        "loss": float(rows["kl"].sum() / tokens),
        "nll": float(rows["nll"].sum() / tokens),
        "accuracy": float(rows["right"].sum() / tokens),
    }


def scores(model: TextModel, shard: Shard, steps: int, unigrams: np.ndarray, baseline: None = None) -> dict[str, Any]:
    """All scores of a held-out shard. Whole sentences are decoded for the first `eval.sentences` only."""
    rows = row_scores(model.network, shard, model.recipe, model.device)
    tokens = rows["tokens"]
    result: dict[str, Any] = {
        "kl": metric(rows["kl"], tokens),
        "nll": metric(rows["nll"], tokens),
        "accuracy": metric(rows["right"], tokens),
    }
    starts, lengths = shard.sentences(model.network.context)
    first = slice(model.recipe.eval.sentences)
    contents = shard.contents(starts[first], lengths[first])
    wanted = shard.raw(shard.units(starts[first]))
    written = [found[0].text for found in model.hypotheses(model.space.encode(contents))]
    result |= sentence_scores(written, wanted)
    result["too_long"] = shard.too_long(model.network.context)
    result["always_the_commonest_token"] = float(unigrams.max() / unigrams.sum())  # accuracy without any model
    result["tokens"], result["sentences"] = int(tokens.sum()), len(wanted)
    result["signature"] = signature(model, shard, steps, decoding="greedy", reference=reference(model))
    return result


def sentence_scores(written: list[str], wanted: list[str]) -> dict[str, Any]:
    """Exact match and BLEU of decoded sentences."""
    import sacrebleu

    same = np.array([a == b for a, b in zip(written, wanted, strict=True)], np.float64)
    bleu = sacrebleu.corpus_bleu(written, [wanted], force=True) if wanted else None
    return {
        "exact": metric(same, np.ones_like(same)),
        "bleu": {"value": bleu.score if bleu else 0.0, "interval": []},
        "bleu_signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" + sacrebleu.__version__,
    }


def headline(scores: dict[str, Any]) -> str:
    """The scores in one line."""
    line = (
        f"KL {scores['kl']['value']:.4f} and NLL {scores['nll']['value']:.4f} nats per token, "
        f"{scores['accuracy']['value']:.2%} of tokens, {scores['exact']['value']:.2%} of {scores['sentences']:,} "
        f"sentences exact, BLEU {scores['bleu']['value']:.1f}"
    )
    return line + left_out(scores)
