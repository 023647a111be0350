"""How well a language model predicts a text.

    nll             nats per token, boundaries included
    perplexity      exp(nll)
    bits_per_byte   Σ nll / (ln 2 · bytes of UTF-8 that tokens stand for): no vocabulary can flatter it
    unknown         the share of tokens that are <unk>: where it is not 0, compare only models of one vocabulary

White space that a vocabulary drops is not counted in these bytes. Where it loses more, such as letter case or words
that it does not know, the rest is easier to predict and no count of bytes makes up for it: there
`bits_per_byte_refused` says why, and perplexity, for models of one vocabulary, is all there is.

Beside each stand two baselines on the same tokens: their frequencies in the training text, add-one smoothed, and,
where that text is at hand, an n-gram model of it (words/ngram.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from lexigraph.evaluation.intervals import bootstrap, interval, signature
from lexigraph.objectives.next_token import token_nll
from lexigraph.objectives.terms import Carry
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Buckets, Plan, Streams
from lexigraph.text.corpus import Shard
from lexigraph.textmodel import TextModel
from lexigraph.words.ngram import NgramModel

METRICS = ("loss", "perplexity", "bits_per_byte")  # what `train.metric` may name
NGRAM_ORDER = 5
NGRAM_TOKENS = 5_000_000  # of the training text, which take some ten seconds
BLOCK = 256  # tokens of a carried stream that are resampled together

Baseline = Callable[[Shard], dict[str, float]]


def plan_for(network: Any, shard: Shard, recipe: Recipe, limit: int = 0) -> Plan:
    """Every token of the shard once, or about the first `limit`: in windows of the context, or in carried streams."""
    window = recipe.data.window or network.context or 64
    total = min(len(shard.ids) - 1, limit or len(shard.ids))
    if recipe.data.unit == "stream" and network.remembers:
        streams = max(1, min(recipe.eval.streams, total // window))
        longest = min(network.context or BLOCK, recipe.eval.batch_tokens // streams)
        return Streams(total + 1, max(1, longest), streams, 0, tail=True)
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


def validate(network: Any, shard: Shard, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What the loop looks at."""
    totals, counts = row_losses(network, shard, recipe, device, recipe.eval.max_tokens)
    loss = float(totals.sum() / counts.sum())
    return {"loss": loss, "perplexity": perplexity(loss)} | per_byte(loss * (len(shard.ids) - 1), shard)


def per_byte(nll: float, shard: Shard) -> dict[str, float]:
    """Bits per byte, where there are any, of the NLL of a whole text."""
    return {} if shard.lost else {"bits_per_byte": nll / (math.log(2) * shard.bytes)}


def refusal(shard: Shard) -> str:
    """Why bits per byte of this text would mislead; nothing if they do not."""
    if not shard.lost:
        return ""
    return (
        f"the vocabulary does not give the text back (first {shard.lost!r}), which makes it easier to predict; "
        "compare perplexities of models of this vocabulary"
    )


def scores(
    model: TextModel, shard: Shard, steps: int, unigrams: np.ndarray, baseline: Baseline | None = None
) -> dict[str, Any]:
    """All scores of a held-out shard, with 95 % intervals from resampling its rows, and the baselines beside them."""
    totals, counts = row_losses(model.network, shard, model.recipe, model.device)
    tokens, bytes_ = counts.sum(), shard.bytes
    values = [totals.sum() / tokens, *(bootstrap(totals, counts) or ())]
    scale = tokens / (math.log(2) * bytes_)
    comparable = {"bits_per_byte": interval([value * scale for value in values])}
    return {
        "nll": interval(values),
        "perplexity": interval([perplexity(value) for value in values]),
        **({"bits_per_byte_refused": refusal(shard)} if shard.lost else comparable),
        "unknown": unknown(model, shard),
        "tokens": int(tokens),
        "bytes": int(bytes_),
        "unigram_baseline": unigram_baseline(unigrams, shard),
        "signature": signature(model, shard, steps),
    } | ({"ngram_baseline": baseline(shard)} if baseline else {})


def unknown(model: TextModel, shard: Shard) -> float:
    """The share of tokens that are <unk>; 0 for an imported tokenizer that has no token for it of its own."""
    unk = model.tokenizer.unk
    return 0.0 if unk == model.tokenizer.eos else float(shard.counts[unk] / shard.counts.sum())


def perplexity(nll: float) -> float:
    """exp(nll), as long as there is such a number."""
    return math.exp(min(nll, 700))


def unigram_baseline(seen: np.ndarray, shard: Shard) -> dict[str, float]:
    """What the frequencies of tokens in the training text alone achieve."""
    log_p = np.log((seen + 1.0) / (seen + 1.0).sum())
    wanted = shard.counts.copy()
    wanted[shard.ids[0]] -= 1  # the first boundary is given
    nll = -float(wanted @ log_p)
    return {"nll": nll / wanted.sum()} | per_byte(nll, shard)


def ngrams(train: Shard) -> Baseline:
    """An n-gram model of the training tokens, and what it achieves on others."""
    names = [str(token) for token in range(len(train.counts))]

    def units(shard: Shard, limit: int) -> Iterator[list[str]]:
        bounds = zip(shard.offsets[:-1].tolist(), shard.offsets[1:].tolist(), strict=True)
        for begin, end in bounds:
            if begin >= limit:
                return
            yield [names[token] for token in shard.ids[begin + 1 : min(end, limit)].tolist()]

    model = NgramModel.train(units(train, NGRAM_TOKENS), NGRAM_ORDER, vocabulary=names)

    def baseline(shard: Shard) -> dict[str, float]:
        totals = model.totals(units(shard, len(shard.ids)))
        nll = -totals.log_probability
        facts = {"nll": nll / totals.tokens} | per_byte(nll, shard)
        return facts | {"order": NGRAM_ORDER, "trained_on": min(len(train.ids), NGRAM_TOKENS)}

    return baseline


def headline(scores: dict[str, Any]) -> str:
    """The scores in one line."""
    line = f"{scores['nll']['value']:.4f} nats per token, perplexity {scores['perplexity']['value']:.2f}"
    refused = scores.get("bits_per_byte_refused")
    told = scores["perplexity" if refused else "bits_per_byte"]
    line += "" if refused else f", {told['value']:.4f} bits per byte"
    digits = 2 if refused else 4
    line += " [{:.{digits}f}, {:.{digits}f}]".format(*told["interval"], digits=digits) if told["interval"] else ""

    def of(baseline: dict[str, float]) -> str:
        return f"{perplexity(baseline['nll']) if refused else baseline['bits_per_byte']:.{digits}f}"

    if ngram := scores.get("ngram_baseline"):
        line += f"; {ngram['order']}-grams: {of(ngram)}"
    line += f"; token frequencies alone: {of(scores['unigram_baseline'])}"
    line += f"; no bits per byte: {refused}" if refused else ""
    return line + (f"; {scores['unknown']:.1%} of the tokens are unknown" if scores["unknown"] else "")
