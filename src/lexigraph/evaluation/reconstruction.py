"""How well an autoencoder gives its sentences back.

kl         KL(smoothed target || p), nats per token, each token predicted from the true ones before it
nll        - log p of the true token, nats per token
accuracy   the share of tokens that are the most probable one
exact      the share of sentences that one greedy pass writes back, character for character
bleu       sacreBLEU of those against the sentences; both as they were given (reference:raw) or cleaned by the recipe
           (reference:cleaned), never through the tokenizer
too_long   how many sentences the model cannot hold: they are in none of these scores

These are given the vector that `encode` gives: of a variational model, the mean z. It has further scores, in nats per
token, with one z sampled for each sentence by a seed that follows from what the sentence says:

sampled_kl, sampled_nll, sampled_accuracy   the same, given the sampled z
posterior_kl    KL(q(z | sentence) || N(0, 1)), a sentence's divided by its tokens as in training, but always at
                weight 1: neither `anneal` nor `kl_weight` nor `free_bits` changes what is measured
negative_elbo   sampled_nll + posterior_kl: in expectation an upper bound of - log p(sentence)
loss            sampled_kl + posterior_kl: the same for smoothed targets; the best weights are chosen by it
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.intervals import Counted, Figure, left_out, metric, reference, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.nn.autoencoder import Autoencoder
from lexigraph.objectives import rng
from lexigraph.objectives.next_token import IGNORE, smoothed_kl
from lexigraph.objectives.posterior import drawn
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.batches import Rows
from lexigraph.text.tables import Table

TEXT = "text"
METRICS = {"loss": False, "nll": False, "accuracy": True}  # for `train.metric`: is greater better? loss: see above
POSTERIOR = 5  # stream of random numbers (objectives/rng.py)


class SentenceScores(TypedDict):
    """What is measured of whole sentences, written from their vectors alone."""

    exact: Figure
    bleu: Figure
    bleu_signature: str


class Bound(TypedDict, total=False):
    """What is measured of a variational model besides: the ELBO and its parts."""

    negative_elbo: Figure
    loss: Figure
    posterior_kl: Figure
    sampled_kl: Figure
    sampled_nll: Figure
    sampled_accuracy: Figure


class Scores(SentenceScores, Bound, Counted):
    """What is measured of an autoencoder."""

    kl: Figure
    nll: Figure
    accuracy: Figure
    always_the_commonest_token: float
    tokens: int
    sentences: int
    signature: str


def row_sums(network: Autoencoder, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """KL, NLL, right tokens and tokens of every sentence.

    Of a variational model also its posterior's KL, and what a sampled z gives (`sampled_kl` and so on).
    """
    inputs, targets, smoothing = batch["inputs"], batch["targets"], network.objective.label_smoothing
    count = (targets != IGNORE).sum(1)
    found = _sums(network(inputs, count), targets, smoothing, network.pad) | {"tokens": count}
    if network.objective.variational:
        whole = torch.cat([inputs[:, :1], targets], 1).cpu().numpy()  # with both its boundaries
        texts = [row[: n + 1] for row, n in zip(whole, count.tolist(), strict=True)]
        seeds = torch.as_tensor(rng.seeds_of_content(texts), device=inputs.device)
        noise = rng.gaussian(seeds, network.latent, POSTERIOR)
        z, divergence = drawn(*network.posterior(targets.clamp(min=0), count), noise)
        sampled = _sums(network.logits(z, inputs), targets, smoothing, network.pad)
        found |= {f"sampled_{name}": sums for name, sums in sampled.items()}
        found["posterior_kl"] = divergence.sum(1)
    return found, None


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in the text, for the baseline."""
    return table.columns[TEXT].counts


def _sums(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], smoothing: float, pad: int
) -> dict[str, Float[Tensor, " B"]]:
    """KL, NLL and right tokens of each row, not yet divided."""
    log_p = logits.float().log_softmax(2)
    valid, right = targets != IGNORE, targets.clamp(min=0)
    nll = -log_p.gather(2, right.unsqueeze(2)).squeeze(2)
    kl = nll
    if smoothing:
        kl = smoothed_kl(log_p.flatten(0, 1), right.view(-1, 1), smoothing, pad).view_as(nll)
    found = {"kl": kl, "nll": nll, "right": (log_p.argmax(2) == right).float()}
    return {name: (values * valid).sum(1) for name, values in found.items()}


def validate(network: Autoencoder, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    tokens = rows["tokens"].sum()
    mean = {name: float(sums.sum() / tokens) for name, sums in rows.items()}
    found = {"loss": mean["kl"], "nll": mean["nll"], "accuracy": mean["right"]}
    if "posterior_kl" in mean:
        found |= {"loss": mean["sampled_kl"] + mean["posterior_kl"], "posterior_kl": mean["posterior_kl"]}
        found |= {"sampled_nll": mean["sampled_nll"], "sampled_accuracy": mean["sampled_right"]}
    return found


def scores(model: SentenceSpace, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table. Whole sentences are decoded for the first `eval.sentences` only."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    tokens = rows["tokens"]
    bound = _bound(rows) if "posterior_kl" in rows else Bound()
    text, first = table.columns[TEXT], slice(model.recipe.eval.sentences)
    starts, lengths = table.cut(model.network.traits)
    contents = text.contents(starts[first], lengths[first])
    wanted = text.raw(table.examples_of(Rows(starts[first], lengths[first]), TEXT))
    written = [found[0].text for found in model.hypotheses(model.space.encode(contents))]
    return {
        "kl": metric(rows["kl"], tokens),
        "nll": metric(rows["nll"], tokens),
        "accuracy": metric(rows["right"], tokens),
        **bound,
        **sentence_scores(written, wanted),
        "too_long": table.too_long(model.network.traits),
        "always_the_commonest_token": float(unigrams.max() / unigrams.sum()),  # accuracy without any model
        "tokens": int(tokens.sum()),
        "sentences": len(wanted),
        "signature": signature(model, table, steps, decoding="greedy", reference=reference(model)),
    }


def _bound(rows: dict[str, np.ndarray]) -> Bound:
    tokens, divergence = rows["tokens"], rows["posterior_kl"]
    return {
        "negative_elbo": metric(rows["sampled_nll"] + divergence, tokens),
        "loss": metric(rows["sampled_kl"] + divergence, tokens),
        "posterior_kl": metric(divergence, tokens),
        "sampled_kl": metric(rows["sampled_kl"], tokens),
        "sampled_nll": metric(rows["sampled_nll"], tokens),
        "sampled_accuracy": metric(rows["sampled_right"], tokens),
    }


def sentence_scores(written: list[str], wanted: list[str]) -> SentenceScores:
    """Exact match and BLEU of decoded sentences."""
    import sacrebleu

    same = np.array([a == b for a, b in zip(written, wanted, strict=True)], np.float64)
    bleu = sacrebleu.corpus_bleu(written, [wanted], force=True) if wanted else None
    return {
        "exact": metric(same, np.ones_like(same)),
        "bleu": {"value": bleu.score if bleu else 0.0, "interval": []},
        "bleu_signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" + sacrebleu.__version__,
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    bound = ""
    if "negative_elbo" in scores:
        bound = (
            f"negative ELBO {scores['negative_elbo']['value']:.4f} nats per token, the sum of posterior KL "
            f"{scores['posterior_kl']['value']:.4f} and NLL {scores['sampled_nll']['value']:.4f} given a sampled z; "
            "given the mean z "
        )
    line = bound + (
        f"KL {scores['kl']['value']:.4f} and NLL {scores['nll']['value']:.4f} nats per token, "
        f"{scores['accuracy']['value']:.2%} of tokens, {scores['exact']['value']:.2%} of {scores['sentences']:,} "
        f"sentences exact, BLEU {scores['bleu']['value']:.1f}"
    )
    return line + left_out(scores)
