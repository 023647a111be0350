"""How well masked tokens are guessed, and how well the guesses are told apart from the text: ELECTRA's two parts.

    nll, accuracy   of the generator, as in masked.py
    detection       the share of all tokens that the discriminator rightly calls original or replaced
    detection_nll   - log p of that, nats per token
    caught          the share of replaced tokens that it calls replaced: its recall
    precision       the share of tokens that it calls replaced that are
    f1              2 · precision · caught / (precision + caught); 0 where it calls every token original

What the generator puts in the place of masked tokens follows from what a text says. Beside the scores stands what
it is to call every token original.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.abilities.encoding import MaskFilling
from lexigraph.evaluation import masked
from lexigraph.evaluation.intervals import Figure, metric
from lexigraph.evaluation.masked import METRICS as MASKED_METRICS
from lexigraph.evaluation.masked import (
    TEXT,
    MaskedScores,
    Tally,
    baseline,
    choosing,
    frequencies,
    masked_scores,
    signed,
)
from lexigraph.evaluation.measure import measured
from lexigraph.nn.network import Detector, MaskFiller
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

__all__ = ["METRICS", "baseline", "choosing", "frequencies", "headline", "scores", "validate"]

METRICS = MASKED_METRICS | {"detection": True, "f1": True}  # for `train.metric`: is greater better?


class Scores(MaskedScores):
    """What is measured of both parts."""

    detection: Figure
    detection_nll: Figure
    caught: Figure
    precision: Figure
    f1: Figure
    always_original: float
    signature: str


class Detection(Tally):
    """Both parts at once."""

    def row_sums(
        self, network: MaskFiller, batch: Batch, carry: Carry | None
    ) -> tuple[dict[str, Tensor], Carry | None]:
        sums, carry = super().row_sums(network, batch, carry)
        assert isinstance(network, Detector)
        ids, replaced = network.replace(batch)
        logits = network(ids, batch["lengths"]).float()
        inside = torch.arange(ids.shape[1], device=ids.device) < batch["lengths"][:, None]
        nll = F.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="none")
        called, right = (logits > 0) & inside, (logits > 0) == replaced.bool()
        sums["detection_nll"], sums["detected"] = (nll * inside).sum(1), (right & inside).sum(1)
        sums["tokens"], sums["replaced"], sums["called"] = batch["lengths"], replaced.sum(1), called.sum(1)
        sums["caught"] = (called & replaced.bool()).sum(1)
        return sums, carry


def validate(network: MaskFiller, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports, and how much is detected."""
    tally = Detection(len(table.columns[TEXT].counts))
    found = measured(network, table, recipe, tally.row_sums, device, recipe.eval.max_tokens)
    rows = {name: float(sums.sum()) for name, sums in found.items()}
    scores = {"loss": tally.loss, "nll": rows["nll"] / rows["masked"], "accuracy": rows["right"] / rows["masked"]}
    f1 = 2 * rows["caught"] / max(1.0, rows["called"] + rows["replaced"])
    return scores | {"detection": rows["detected"] / rows["tokens"], "f1": f1}


def scores(model: MaskFilling, table: Table, steps: int, unigrams: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its rows, and the baselines beside them."""
    tally = Detection(len(table.columns[TEXT].counts))
    rows = measured(model.network, table, model.recipe, tally.row_sums, model.device)
    return {
        **masked_scores(model, rows, tally, unigrams),
        "detection": metric(rows["detected"], rows["tokens"]),
        "detection_nll": metric(rows["detection_nll"], rows["tokens"]),
        "caught": metric(rows["caught"], rows["replaced"]),
        "precision": metric(rows["caught"], rows["called"]),
        "f1": metric(2 * rows["caught"], rows["called"] + rows["replaced"]),
        "always_original": float(1 - rows["replaced"].sum() / rows["tokens"].sum()),
        "signature": signed(model, table, steps),
    }


def headline(scores: Scores) -> str:
    """The scores in one line."""
    return (
        f"{masked.headline(scores)}; original or replaced: {scores['detection']['value']:.2%} (always original: "
        f"{scores['always_original']:.2%}), {scores['caught']['value']:.2%} of the replaced caught, precision "
        f"{scores['precision']['value']:.2%}, F1 {scores['f1']['value']:.2%}"
    )
