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
from collections.abc import Iterator
from typing import NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.textmodel import TextModel
from lexigraph.evaluation.intervals import Figure, bootstrap, interval, signature
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.task import Baseline
from lexigraph.nn.network import Network
from lexigraph.objectives.next_token import IGNORE, token_nll
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Stored, Table
from lexigraph.words.ngram import NgramModel

TEXT = "text"
METRICS = {"loss": False, "perplexity": False, "bits_per_byte": False}  # for `train.metric`: is greater better?
NGRAM_ORDER = 5
NGRAM_TOKENS = 5_000_000  # of the training text, which take some ten seconds


class Scores(TypedDict):
    """What is measured of a language model."""

    nll: Figure
    perplexity: Figure
    bits_per_byte: NotRequired[Figure]
    bits_per_byte_refused: NotRequired[str]  # why there are none
    unknown: float
    tokens: int
    bytes: int
    unigram_baseline: dict[str, float]
    signature: str
    ngram_baseline: NotRequired[dict[str, float]]


class _PerByte(TypedDict, total=False):
    bits_per_byte: Figure
    bits_per_byte_refused: str


def row_sums(network: Network, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """NLL and tokens of every row."""
    terms, carry = network.loss(batch, carry)
    return {"nll": token_nll(terms).cpu().double().sum(1), "tokens": (batch["targets"] != IGNORE).sum(1)}, carry


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in the text, for the baseline."""
    return table.columns[TEXT].counts


def validate(network: Network, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    loss, text = float(rows["nll"].sum() / rows["tokens"].sum()), table.columns[TEXT]
    return {"loss": loss, "perplexity": perplexity(loss)} | per_byte(loss * (len(text.values) - 1), text)


def choosing(metric: str, valid: Table | None) -> tuple[str, str]:
    """The metric that chooses the best weights, and why it is not the one asked for.

    Where bits per byte are refused, the loss chooses: within one run, both put the weights in one order.
    """
    if metric != "bits_per_byte" or valid is None or not (why := refusal(valid.columns[TEXT])):
        return metric, ""
    return "loss", f"No bits per byte: {why}. Here the loss chooses the best weights, as they would."


def per_byte(nll: float, text: Stored) -> dict[str, float]:
    """Bits per byte, where there are any, of the NLL of a whole text."""
    return {} if text.lost else {"bits_per_byte": nll / (math.log(2) * text.bytes)}


def refusal(text: Stored) -> str:
    """Why bits per byte of this text would mislead; nothing if they do not."""
    if not text.lost:
        return ""
    return (
        f"the vocabulary does not give the text back (first {text.lost!r}), which makes it easier to predict; "
        "compare perplexities of models of this vocabulary"
    )


def scores(
    model: TextModel, table: Table, steps: int, unigrams: np.ndarray, baseline: Baseline | None = None
) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its rows, and the baselines beside them."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    return scores_of(model, table, steps, unigrams, rows["nll"], rows["tokens"], baseline)


def scores_of(
    model: TextModel,
    table: Table,
    steps: int,
    unigrams: np.ndarray,
    totals: np.ndarray,
    counts: np.ndarray,
    baseline: Baseline | None = None,
    **read_as: int,
) -> Scores:
    """The same of rows whose NLL and tokens are known; `read_as`: what the signature says of how they were read."""
    text, tokens = table.columns[TEXT], counts.sum()
    values = [totals.sum() / tokens, *(bootstrap(totals, counts) or ())]
    scale = tokens / (math.log(2) * text.bytes)
    comparable: _PerByte = {"bits_per_byte": interval([value * scale for value in values])}
    if text.lost:
        comparable = {"bits_per_byte_refused": refusal(text)}
    found: Scores = {
        "nll": interval(values),
        "perplexity": interval([perplexity(value) for value in values]),
        **comparable,
        "unknown": unknown(model, text),
        "tokens": int(tokens),
        "bytes": int(text.bytes),
        "unigram_baseline": unigram_baseline(unigrams, text),
        "signature": signature(model, table, steps, **{name: str(value) for name, value in read_as.items()}),
    }
    if baseline:
        found["ngram_baseline"] = baseline(table)
    return found


def unknown(model: TextModel, text: Stored) -> float:
    """The share of tokens that are <unk>; 0 for an imported tokenizer that has no token for it of its own."""
    unk = model.tokenizer.unk
    return 0.0 if unk == model.tokenizer.eos else float(text.counts[unk] / text.counts.sum())


def perplexity(nll: float) -> float:
    """exp(nll), as long as there is such a number."""
    return math.exp(min(nll, 700))


def unigram_baseline(seen: np.ndarray, text: Stored) -> dict[str, float]:
    """What the frequencies of tokens in the training text alone achieve."""
    log_p = np.log((seen + 1.0) / (seen + 1.0).sum())
    wanted = text.counts.copy()
    wanted[text.values[0]] -= 1  # the first boundary is given
    nll = -float(wanted @ log_p)
    return {"nll": nll / wanted.sum()} | per_byte(nll, text)


def baseline(train: Table) -> Baseline:
    """An n-gram model of the training tokens, and what it achieves on others."""
    seen = train.columns[TEXT]
    names = [str(token) for token in range(len(seen.counts))]

    def units(text: Stored, limit: int) -> Iterator[list[str]]:
        assert text.offsets is not None
        bounds = zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
        for begin, end in bounds:
            if begin >= limit:
                return
            yield [names[token] for token in text.values[begin + 1 : min(end, limit)].tolist()]

    model = NgramModel.train(units(seen, NGRAM_TOKENS), NGRAM_ORDER, vocabulary=names)

    def of_ngrams(table: Table) -> dict[str, float]:
        text = table.columns[TEXT]
        totals = model.totals(units(text, len(text.values)))
        nll = -totals.log_probability
        facts = {"nll": nll / totals.tokens} | per_byte(nll, text)
        return facts | {"order": NGRAM_ORDER, "trained_on": min(len(seen.values), NGRAM_TOKENS)}

    return of_ngrams


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = f"{scores['nll']['value']:.4f} nats per token, perplexity {scores['perplexity']['value']:.2f}"
    refused = scores.get("bits_per_byte_refused")
    shown = scores["perplexity" if refused else "bits_per_byte"]
    line += "" if refused else f", {shown['value']:.4f} bits per byte"
    digits = 2 if refused else 4
    line += " [{:.{digits}f}, {:.{digits}f}]".format(*shown["interval"], digits=digits) if shown["interval"] else ""

    def of(baseline: dict[str, float]) -> str:
        return f"{perplexity(baseline['nll']) if refused else baseline['bits_per_byte']:.{digits}f}"

    if ngram := scores.get("ngram_baseline"):
        line += f"; {ngram['order']}-grams: {of(ngram)}"
    line += f"; token frequencies alone: {of(scores['unigram_baseline'])}"
    line += f"; no bits per byte: {refused}" if refused else ""
    return line + (f"; {scores['unknown']:.1%} of the tokens are unknown" if scores["unknown"] else "")
