"""Scores of what comes back: by hand, and where nothing fits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from lexigraph import api, recipe
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.latent.reconstruction import table_of
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.reconstruction import headline, row_sums, sentence_scores, validate
from lexigraph.text.constructions import sentences
from tests.evaluation.latent.fakes import Codec

LINES = ["She sang .", "He left the house ."]


def test_a_text_without_a_sentence_that_fits_is_refused():
    model = Codec(LINES, context=3)
    rows = model.tokenizer.encode_batch(LINES)
    with pytest.raises(LexigraphError, match="No sentence of this text fits into the model's 3 tokens"):
        measured(model.network, table_of(model, rows), recipe.read("picture"), row_sums, torch.device("cpu"))


def test_sentences_are_compared_character_for_character():
    found = sentence_scores(["She sang .", "he left the house ."], LINES)
    assert found["exact"]["value"] == 0.5
    assert np.isclose(sentence_scores(LINES, LINES)["bleu"]["value"], 100)


# ---- variational models: the negative ELBO ----

WEIGHTED = {"objective.variational": True, "objective.kl_weight": 0.3, "objective.free_bits": 0.5,
            "objective.anneal": 2, "eval.mixture": 0, "train.tensorboard": False}  # fmt: skip
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("picture", WEIGHTED | {"objective.noise_level": 0.0, "objective.label_smoothing": 0.1}),
    ("lstm-autoencoder", WEIGHTED | {"objective.drop": 0.0, "objective.label_smoothing": 0.0}),
]
TEXTS = list(sentences(24, seed=3))


@pytest.fixture(scope="module", params=FORMS, ids=["picture", "lstm-autoencoder"])
def variational(request, tmp_path_factory) -> tuple[Any, Path]:
    """A variational model after two steps, and its run."""
    folder = tmp_path_factory.mktemp("variational")
    (folder / "valid.txt").write_text("\n".join(TEXTS) + "\n")
    system, changes = request.param
    out = folder / "run"
    model = api.train(system, "grammar", out, valid=folder / "valid.txt", set=changes, tiny=True, quiet=True)
    return model, out


def given_to_the_decoder(model: Any, measure: Any) -> dict[tuple[int, ...], list[torch.Tensor]]:
    """The vectors that each sentence is decoded from while `measure` runs; sentences as <eos> w_1 … w_n."""
    given: dict[tuple[int, ...], list[torch.Tensor]] = {}
    honest = model.network.logits

    def logits(z, ids):
        for vector, row in zip(z, ids.tolist(), strict=True):
            given.setdefault(tuple(token for token in row if token != model.network.pad), []).append(vector)
        return honest(z, ids)

    model.network.logits = logits
    try:
        measure()
    finally:
        del model.network.logits
    return given


def smoothed_kl_by_hand(log_p: torch.Tensor, right: torch.Tensor, smoothing: float, pad: int) -> torch.Tensor:
    target = torch.full_like(log_p, smoothing / (log_p.shape[1] - 2))
    target[:, pad] = 0
    target[torch.arange(len(right)), right] = 1 - smoothing
    return (torch.special.xlogy(target, target) - target * log_p).sum(1)


@torch.no_grad()
def test_validation_loss_of_a_variational_run_is_the_negative_elbo(variational):
    """One sample of z for each sentence, and all of its KL: no weight, no free bits, no annealing; per token."""
    model, out = variational
    network, objective = model.network, model.recipe.objective
    table = table_of(model, model.tokenizer.encode_batch(TEXTS))
    found: dict[str, float] = {}
    arguments = (network, table, model.recipe, model.device)
    given = given_to_the_decoder(model, lambda: found.update(validate(*arguments)))
    nll, loss, divergence, tokens, deviations = 0.0, 0.0, 0.0, 0, []
    for text in TEXTS:
        words = model.tokenizer.encode(text)
        right = torch.tensor([*words, 2])
        mean, log_variance = network.posterior(right[None], torch.tensor([len(right)]))
        assert torch.allclose(mean, network.encode(right[None], torch.tensor([len(right)])))
        posterior = Normal(mean, (0.5 * log_variance).exp())
        (z,) = [z for z in given[(2, *words)] if not torch.allclose(z, mean[0], atol=1e-3)]
        deviations.append((z - posterior.mean) / posterior.stddev)
        log_p = network.logits(z[None], torch.tensor([[2, *words]]))[0].log_softmax(1)
        nll -= float(log_p[torch.arange(len(right)), right].sum())
        loss += float(smoothed_kl_by_hand(log_p, right, objective.label_smoothing, network.pad).sum())
        divergence += float(kl_divergence(posterior, Normal(0.0, 1.0)).sum())
        tokens += len(right)
    assert found["loss"] == pytest.approx((loss + divergence) / tokens, rel=1e-4)
    assert found["posterior_kl"] == pytest.approx(divergence / tokens, rel=1e-4)
    assert found["sampled_nll"] == pytest.approx(nll / tokens, rel=1e-4)
    noise = torch.cat(deviations)  # a sample of N(0, 1)
    assert abs(float(noise.mean())) < 0.15
    assert float(noise.std()) == pytest.approx(1, abs=0.15)
    logged = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    (last,) = [line for line in logged if line["kind"] == "valid"]
    assert last["loss"] == pytest.approx(found["loss"], rel=1e-4)
    scores = json.loads((out / "results.json").read_text())["scores"]["valid"]
    assert scores["loss"]["value"] == pytest.approx((loss + divergence) / tokens, rel=1e-4)
    assert scores["negative_elbo"]["value"] == pytest.approx((nll + divergence) / tokens, rel=1e-4)


def test_a_sentence_gets_the_same_sample_every_time_and_in_any_batch(variational):
    model, _ = variational
    table = table_of(model, model.tokenizer.encode_batch(TEXTS))
    small = replace(model.recipe, eval=replace(model.recipe.eval, batch_tokens=32))
    first, again, apart = (
        measured(model.network, table, settings, row_sums, model.device)
        for settings in (model.recipe, model.recipe, small)
    )
    for name, sums in first.items():
        assert np.array_equal(sums, again[name]), name
        assert sums.sum() == pytest.approx(apart[name].sum(), rel=1e-5), name


def test_the_headline_tells_the_elbo_and_its_kl_apart_from_scores_of_the_mean(variational):
    _, run = variational
    scores = json.loads((run / "results.json").read_text())["scores"]["valid"]
    line = headline(scores)
    parts = scores["posterior_kl"]["value"], scores["sampled_nll"]["value"]
    assert f"negative ELBO {sum(parts):.4f}" in line
    assert f"posterior KL {parts[0]:.4f} and NLL {parts[1]:.4f} given a sampled z" in line
    assert f"given the mean z KL {scores['kl']['value']:.4f} and NLL {scores['nll']['value']:.4f}" in line


def test_a_model_without_a_posterior_has_no_elbo():
    model = Codec(LINES)
    table = table_of(model, model.tokenizer.encode_batch(LINES))
    found = validate(model.network, table, model.recipe, torch.device("cpu"))
    assert set(found) == {"loss", "nll", "accuracy"}
