"""How well pictures are captioned.

nll          - log p of the true token, nats per token of the captions, each predicted from the true ones before it
loss         the same with label smoothing, where there is some
accuracy     the share of tokens that are the most probable one
bleu         sacreBLEU (13a) of what beam search writes for each picture, against all captions that the file has of it
bleu1 … 3    the same with n-grams of up to that length alone
of_other_pictures   BLEU of the same captions, each given to the next picture: what is had without looking
exact        the share of pictures whose caption is one of theirs, word for word
too_long     how many captions the model cannot hold: they are in none of the scores per token

The first `eval.sentences` pictures are captioned.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.captioning import LENGTH_PENALTY, Captioner
from lexigraph.evaluation.intervals import FEWEST, Counted, Figure, left_out, metric, reference, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.evaluation.measure import measured
from lexigraph.models.captioner import CAPTION
from lexigraph.models.captioner import Captioner as Network
from lexigraph.objectives.next_token import IGNORE, smoothed_kl
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.images import IMAGE
from lexigraph.text.tables import Table

METRICS = {"loss": False, "nll": False, "accuracy": True}  # for `train.metric`: is greater better?
BEAM, RESAMPLES = 5, 1000
ORDERS = (1, 2, 3, 4)


class Scores(Counted, total=False):
    """What is measured of a captioner."""

    nll: Figure
    accuracy: Figure
    bleu: Figure
    bleu1: Figure
    bleu2: Figure
    bleu3: Figure
    bleu_signature: str
    of_other_pictures: float
    exact: Figure
    pictures: int
    always_the_commonest_token: float
    tokens: int
    signature: str


def row_sums(network: Network, batch: Batch, carry: Carry | None) -> tuple[dict[str, Tensor], Carry | None]:
    """Loss, NLL, right tokens and tokens of every caption."""
    log_p = network(batch["images"], batch["inputs"]).float().log_softmax(2)
    valid, right = batch["targets"] != IGNORE, batch["targets"].clamp(min=0)
    nll = -log_p.gather(2, right[:, :, None])[:, :, 0] * valid
    loss = nll
    if network.smoothing:
        loss = torch.zeros_like(nll)
        loss[valid] = smoothed_kl(log_p[valid], right[valid][:, None], network.smoothing, network.pad)
    hits = ((log_p.argmax(2) == right) & valid).float()
    return {"loss": loss.sum(1), "nll": nll.sum(1), "right": hits.sum(1), "tokens": valid.sum(1)}, None


def frequencies(table: Table) -> np.ndarray:
    """How often each token stands in captions; the first boundary is given."""
    caption = table.columns[CAPTION]
    counts = caption.counts.copy()
    counts[caption.values[0]] -= 1
    return counts


def validate(network: Network, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports."""
    rows = measured(network, table, recipe, row_sums, device, recipe.eval.max_tokens)
    return {name: float(rows[key].sum() / rows["tokens"].sum()) for name, key in zip(METRICS, rows, strict=False)}


def scores(model: Captioner, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table."""
    rows = measured(model.network, table, model.recipe, row_sums, model.device)
    found: Scores = {
        "nll": metric(rows["nll"], rows["tokens"]),
        "accuracy": metric(rows["right"], rows["tokens"]),
        "always_the_commonest_token": float(unigrams.max() / unigrams.sum()),  # accuracy without any model
        "tokens": int(rows["tokens"].sum()),
        "too_long": table.too_long(model.network.traits),
    }
    more = {}
    if model.recipe.eval.sentences:
        found |= _written(model, table)
        more = {"decoding": f"beam-{BEAM}-alpha-{LENGTH_PENALTY}", "reference": reference(model)}
    return found | {"signature": signature(model, table, steps, **more)}


def _written(model: Captioner, table: Table) -> Scores:
    """What is measured of whole captions."""
    from sacrebleu.metrics import BLEU

    pictures = by_picture(table)[: model.recipe.eval.sentences]
    given = [np.asarray(table.columns[IMAGE].of(examples[0])) for examples in pictures]
    written = [model.tokenizer.decode(best[0].tokens) for best in model.captions(list(given), beam=BEAM)]
    wanted = [table.columns[CAPTION].raw(examples) for examples in pictures]
    found: Scores = {"pictures": len(written), "exact": _exact(written, wanted)}
    most = max(map(len, wanted))
    streams = [[own[number] if number < len(own) else None for own in wanted] for number in range(most)]
    enough = len(written) >= FEWEST
    figures: list[Figure] = []
    for order in ORDERS:
        bleu = BLEU(tokenize="13a", max_ngram_order=order, force=True)
        score = bleu.corpus_score(written, streams, n_bootstrap=RESAMPLES if enough else 1)  # type: ignore[arg-type]
        ends = [score._mean - score._ci, score._mean + score._ci] if enough else []
        figures.append({"value": float(score.score), "interval": list(map(float, ends))})
    found["bleu1"], found["bleu2"], found["bleu3"], found["bleu"] = figures
    found["bleu_signature"] = str(bleu.get_signature())  # complete only after the score
    moved = written[-1:] + written[:-1]
    found["of_other_pictures"] = float(BLEU(tokenize="13a", force=True).corpus_score(moved, streams).score)  # type: ignore[arg-type]
    return found


def _exact(written: list[str], wanted: list[list[str]]) -> Figure:
    same = np.array([text in own for text, own in zip(written, wanted, strict=True)], np.float64)
    return metric(same, np.ones_like(same))


def by_picture(table: Table) -> list[list[int]]:
    """The examples of each picture: those whose dots are the same."""
    found: dict[bytes, list[int]] = {}
    for example in range(len(table)):
        dots = np.ascontiguousarray(table.columns[IMAGE].of(example))
        found.setdefault(hashlib.blake2b(dots.data, digest_size=16).digest(), []).append(example)
    return list(found.values())


def headline(scores: Scores) -> str:
    """The scores in one line."""
    line = f"NLL {scores['nll']['value']:.4f} nats per token, {scores['accuracy']['value']:.2%} of tokens"
    if "bleu" in scores:
        orders = ", ".join(f"{scores[name]['value']:.1f}" for name in ("bleu1", "bleu2", "bleu3"))
        line += (
            f"; BLEU {scores['bleu']['value']:.2f} of {scores['pictures']:,} pictures (1 to 3: {orders}; for other "
            f"pictures {scores['of_other_pictures']:.2f}), {scores['exact']['value']:.2%} exact"
        )
    return line + left_out(scores)
