"""How well a system writes one text from another.

nll        - log p of the true token, nats per token, each predicted from the true ones before it
loss       KL(smoothed target || p), nats per token; without smoothing the NLL
accuracy   the share of tokens that are the most probable one
bleu       sacreBLEU (13a) of what beam search writes, against the targets as they were given (reference:raw) or
           cleaned by the recipe (reference:cleaned), never through the tokenizer
chrf       chrF2 of the same: characters, which do not mind how words are cut
too_long   how many lines or pairs the model cannot hold: they are in none of these scores

BLEU and chrF are measured where sources and targets are given. Where a system learns from plain text, which it spoils
itself, every text is spoilt in the same way each time (objectives/chance.py), and the others are measured on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from lexigraph.errors import LexigraphError
from lexigraph.evaluation.intervals import left_out, metric, reference, signature
from lexigraph.evaluation.language import plan_for
from lexigraph.objectives.next_token import IGNORE, SLICE, smoothed_kl
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Buckets, Plan, Spans
from lexigraph.text.corpus import Shard
from lexigraph.textmodel import TextModel

METRICS = ("loss", "nll", "accuracy")  # what `train.metric` may name
BEAM, ALPHA = 5, 0.7
RESAMPLES = 1000


def plan_of(network: Any, shard: Shard, recipe: Recipe, limit: int = 0) -> Plan:
    """Every pair or line that fits, or windows of a stream; up to about `limit` tokens."""
    if recipe.data.unit == "stream":
        return plan_for(network, shard, recipe, limit)
    starts, lengths = shard.pairs(network.context) if shard.paired else shard.sentences(network.context)
    if not len(starts):
        raise LexigraphError(f"No example of this text fits into the model's {network.context} tokens.")
    units = max(1, int(np.searchsorted(starts, limit))) if limit else len(starts)
    return Buckets(starts[:units], lengths[:units], recipe.eval.batch_tokens, 0)


@torch.no_grad()
def row_scores(
    network: Any, shard: Shard, recipe: Recipe, device: torch.device, limit: int = 0
) -> dict[str, np.ndarray]:
    """Loss, NLL, right tokens and tokens of every target, up to about `limit` tokens."""
    plan = plan_of(network, shard, recipe, limit)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("loss", "nll", "right", "tokens")}
    slice_ = max(1, SLICE // len(network.output_table))
    for step in range(plan.epoch_steps):
        batch = network.prepare(shard.columns(plan.batch(step))).to(device)
        hidden = network.hidden(batch["source"], batch["inputs"], batch["source_lengths"])
        valid = batch["targets"] != IGNORE
        parts = zip(hidden[valid].split(slice_), batch["targets"][valid].split(slice_), strict=True)
        found = torch.cat([_token_scores(network, *part) for part in parts], 1).double().cpu()
        sentence = valid.nonzero()[:, 0].cpu()
        for name, values in zip(rows, [*found, torch.ones(len(sentence), dtype=torch.double)], strict=True):
            rows[name].append(np.bincount(sentence, values, minlength=len(valid)))
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def _token_scores(network: Any, hidden: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Loss, NLL and whether it is right, of every token."""
    log_p = network.logits(hidden).float().log_softmax(1)
    nll = -log_p.gather(1, right[:, None])[:, 0]
    loss = smoothed_kl(log_p, right[:, None], network.smoothing, network.pad) if network.smoothing else nll
    return torch.stack([loss, nll, (log_p.argmax(1) == right).float()])


def validate(network: Any, shard: Shard, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What the loop looks at."""
    rows = row_scores(network, shard, recipe, device, recipe.eval.max_tokens)
    tokens = rows["tokens"].sum()
    return {name: float(rows[key].sum() / tokens) for name, key in zip(METRICS, rows, strict=False)}


def scores(model: TextModel, shard: Shard, steps: int, unigrams: np.ndarray, baseline: None = None) -> dict[str, Any]:
    """All scores of a held-out shard. Only the first `eval.sentences` pairs are translated."""
    rows = row_scores(model.network, shard, model.recipe, model.device)
    tokens = rows["tokens"]
    result: dict[str, Any] = {"nll": metric(rows["nll"], tokens), "accuracy": metric(rows["right"], tokens)}
    more = {}
    if shard.paired and model.recipe.eval.sentences:
        starts, lengths = shard.pairs(model.network.context)
        first = slice(model.recipe.eval.sentences)
        columns = shard.columns(Spans(starts[first], lengths[first]))
        found = model.translations([row[1:-1] for row in columns["source"]], beam=BEAM, alpha=ALPHA)
        written = model.tokenizer.decode_batch([best[0].tokens for best in found])
        result |= corpus_scores(written, shard.raw(shard.units(starts[first]) + 1))  # a target follows its source
        result["sentences"] = len(written)
        more = {"decoding": f"beam-{BEAM}-alpha-{ALPHA}", "reference": reference(model)}
    if model.recipe.data.unit != "stream":
        result["too_long"] = shard.too_long(model.network.context)
    result["always_the_commonest_token"] = float(unigrams.max() / unigrams.sum())  # accuracy without any model
    result["tokens"] = int(tokens.sum())
    result["signature"] = signature(model, shard, steps, **more)
    return result


def corpus_scores(written: list[str], wanted: list[str]) -> dict[str, Any]:
    """BLEU and chrF with their signatures, and intervals by resampling sentences."""
    from sacrebleu.metrics import BLEU, CHRF

    found: dict[str, Any] = {}
    for name, judge in (("bleu", BLEU(tokenize="13a")), ("chrf", CHRF())):
        enough = len(written) >= 20
        score: Any = judge.corpus_score(written, [wanted], n_bootstrap=RESAMPLES if enough else 1)
        ends = [score._mean - score._ci, score._mean + score._ci] if enough else []
        found[name] = {"value": float(score.score), "interval": list(map(float, ends))}
        found[f"{name}_signature"] = str(judge.get_signature())
    same = np.array([a == b for a, b in zip(written, wanted, strict=True)], np.float64)
    return found | {"exact": metric(same, np.ones_like(same))}


def headline(scores: dict[str, Any]) -> str:
    """The scores in one line."""
    line = f"NLL {scores['nll']['value']:.4f} nats per token, {scores['accuracy']['value']:.2%} of tokens"
    if "bleu" not in scores:
        return line + left_out(scores)
    line += (
        f"; BLEU {scores['bleu']['value']:.2f}, chrF {scores['chrf']['value']:.2f}, "
        f"{scores['exact']['value']:.2%} of {scores['sentences']:,} targets exact"
    )
    return line + left_out(scores)
