"""Sentence encoders: each pooling is its equation, neighbours are those of the document, and vectors are found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.models import sentence_encoder
from lexigraph.objectives.terms import value
from tests.ids import ids

EOS = 2
TEXT = [np.array([EOS, 5, 6, 7, EOS]), np.array([EOS, 8, EOS]), np.array([EOS, 9, 10, EOS])]
NONE = np.array([EOS, EOS])


def network_of(objective: dict[str, float] | None = None, **more: Any) -> sentence_encoder.SentenceEncoder:
    torch.manual_seed(0)
    config = sentence_encoder.Config(**{"dim": 8, "context": 12} | more)
    learned = sentence_encoder.Objective(**(objective or {}))
    return sentence_encoder.SentenceEncoder(config, learned, ids(20)).eval()


def examples(rows: list[int]) -> dict[str, list[np.ndarray]]:
    """Sentences of one document, and those beside them."""
    return {
        "text": [TEXT[i] for i in rows],
        "before": [TEXT[i - 1] if i else NONE for i in rows],
        "after": [TEXT[i + 1] if i + 1 < len(TEXT) else NONE for i in rows],
    }


def vectors(network: sentence_encoder.SentenceEncoder) -> torch.Tensor:
    return torch.stack(network.outputs(network.prepare(examples([0, 1, 2])))["text"])


def test_the_last_state_of_each_direction_is_the_vector():
    network = network_of(encoder="gru", bidirectional=True)
    e = network.embedding(torch.tensor([[5, 6, 7, EOS]]))
    h, _ = network.recurrent(e)
    assert torch.allclose(vectors(network)[0], torch.cat([h[0, -1, :4], h[0, 0, 4:]]), atol=1e-6)


@pytest.mark.parametrize(("pooling", "layers"), [("sum", 1), ("root", 2), ("max", 1)])
def test_states_of_a_transformer_are_pooled(pooling, layers):
    """Of each sentence, read alone without a mask: its states added, over the root of how many, or the largest."""
    network = network_of(encoder="transformer", pooling=pooling, heads=2, layers=layers)
    places = torch.tensor([[f(t / 10_000 ** (k / 8)) for k in (0, 2, 4, 6) for f in (math.sin, math.cos)]
                           for t in range(4)])  # fmt: skip
    for z, row in zip(vectors(network), TEXT, strict=True):
        ids = torch.from_numpy(row[1:])
        h = (8**0.5 * network.embedding(ids) + places[: len(ids)])[None]
        for layer in network.layers:
            h = layer(h)
        h = network.norm(h)[0]
        expected = {"sum": h.sum(0), "root": h.sum(0) / len(ids) ** 0.5, "max": h.amax(0)}[pooling]
        assert torch.allclose(z, expected, atol=1e-5)


def test_averaging_does_not_see_the_order_and_goes_through_layers():
    network = network_of(encoder="average", pooling="root", layers=2)
    one, other = (network.encode(torch.tensor([row]), torch.tensor([4])) for row in ([5, 6, 7, EOS], [7, 5, 6, EOS]))
    assert torch.allclose(one, other, atol=1e-6)
    z = network.embedding(torch.tensor([5, 6, 7, EOS])).sum(0) / 2
    for layer in network.layers:
        z = torch.tanh(layer(z))
    assert torch.allclose(one[0], z, atol=1e-6)


@pytest.mark.parametrize("pooling", ["sum", "root", "max"])
def test_an_average_without_layers_is_what_is_pooled_of_the_tokens_vectors(pooling):
    network = network_of(encoder="average", pooling=pooling, layers=0)
    e = network.embedding(torch.tensor([5, 6, 7, EOS]))
    expected = {"sum": e.sum(0), "root": e.sum(0) / 2, "max": e.amax(0)}[pooling]
    assert torch.allclose(vectors(network)[0], expected, atol=1e-6)


def test_drawn_tokens_are_for_training_and_come_near_the_whole_softmax():
    network, whole = network_of({"samples": 15}), network_of()
    network.load_state_dict(whole.state_dict())
    assert "drawn" not in network.prepare(examples([0, 1, 2])).tensors
    exact = whole.loss(whole.prepare(examples([0, 1, 2])))[0]["written"].total
    seeds, drawn = {"text": np.arange(3)}, []
    for step in range(100):
        terms, _ = network.loss(network.prepare(examples([0, 1, 2]), seeds=seeds, step=step))
        drawn.append(float(terms["written"].total))
    assert np.mean(drawn) == pytest.approx(float(exact), rel=0.1)  # 15 draws of 20 tokens are a little too easy


def test_neighbours_are_written_from_the_vector_alone_and_missing_ones_cost_nothing():
    network = network_of(embedding=6)
    whole, _ = network.loss(network.prepare(examples([0, 1, 2])))
    parts = [network.loss(network.prepare(examples([i])))[0]["written"] for i in range(3)]
    assert torch.isclose(whole["written"].total, sum(part.total for part in parts), rtol=1e-5)
    assert whole["written"].count == sum(part.count for part in parts) == 2 + 3 + 4 + 2
    z = network.encode(torch.tensor([[5, 6, 7, EOS]]), torch.tensor([4]))
    state, expected = network.first["after"](z).tanh()[:, None], 0.0
    for before, token in ((EOS, 8), (8, EOS)):
        e = network.embedding(torch.tensor([[before]]))
        h, end = network.writers["after"](e, state={"h": state}, given=z)
        state = end["h"]
        logits = network.out(h[0, 0]) @ network.embedding.weight.T + network.bias
        expected -= logits.log_softmax(0)[token]
    assert torch.isclose(parts[0].total, expected, rtol=1e-5)


def test_the_next_sentence_is_told_from_those_of_the_batch():
    network = network_of({"written": 0.0, "ranked": 1.0}, encoder="average", pooling="root")
    batch = network.prepare(examples([0, 1, 2]))
    assert batch.counts == {"ranked": 2.0}
    scores = network.ranking(vectors(network), batch)
    z = torch.nn.functional.normalize(vectors(network), dim=1)
    y = torch.nn.functional.normalize(network.tower(vectors(network)), dim=1)
    assert torch.allclose(scores, 10 * z[[0, 1]] @ y[[1, 2]].T, atol=1e-5)
    shared = network_of({"written": 0.0, "ranked": 1.0, "tower": False}, encoder="average", pooling="root")
    y = torch.nn.functional.normalize(vectors(shared), dim=1)
    assert torch.allclose(shared.ranking(vectors(shared), batch), 10 * y[[0, 1]] @ y[[1, 2]].T, atol=1e-5)
    optimizer = torch.optim.Adam(network.train().parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        value(network.loss(batch)[0]).backward()
        optimizer.step()
    assert value(network.loss(batch)[0]) < 0.05


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    lines = [f"{'good' if n % 2 else 'bad'} thing number{n}\t{'+' if n % 2 else '-'}" for n in range(60)]
    (folder / "labels.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    keys = {"data.labelled.train": str(folder / "labels.tsv"), "objective.labelled": 1.0}
    return api.train("sentence-encoder", "grammar", out=folder / "run", set=keys, tiny=True, quiet=True)


def test_classes_are_learned_beside_neighbours(labelled):
    assert labelled.network.classes.out_features == 2
    assert {"ranked", "labelled"} == {name for name, weight in labelled.network.weights.items() if weight}


def test_a_text_has_the_same_vector_in_any_company_and_finds_its_neighbours(tiny_runs):
    model = lexigraph.load(tiny_runs("skip-thought"))
    texts = ["She sings .", "The old man slept in the garden .", "He ran ."]
    with pytest.warns(UserWarning, match="1 words are not in the vocabulary: they are read as unknown, unless"):
        model.encode("The quokka .")
    assert np.allclose(model.encode(texts)[1], model.encode(texts[1]), atol=1e-5)
    (best, *_) = model.neighbours("He ran .", texts, k=1)
    assert best.text == "He ran ."


@pytest.mark.parametrize(
    ("config", "objective", "says"),
    [
        ({}, {"written": 0.0}, "nothing to learn"),
        ({"encoder": "transformer"}, {}, 'pooling = "last" is for gru and lstm'),
        ({"dim": 7, "bidirectional": True}, {}, "must be even"),
        ({"layers": 0}, {}, 'only "average" has none'),
        ({"layers": 0, "encoder": "average", "pooling": "sum", "embedding": 4}, {}, "give both the same number"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(config, objective, says):
    with pytest.raises(UsageError, match=says):
        network_of(objective, **config)


def test_classes_need_a_table(tmp_path):
    with pytest.raises(UsageError, match="labelled"):
        api.train("sentence-encoder", "grammar", out=tmp_path / "run", set={"objective.labelled": 1.0}, tiny=True)


@pytest.mark.parametrize(
    ("name", "metrics"), [("skip-thought", {"written"}), ("sentence-encoder", {"ranked", "first"})]
)
def test_scores_have_an_interval_and_what_no_model_achieves(name, metrics, tiny_runs):
    network = lexigraph.load(tiny_runs(name)).network
    scores = lexigraph.evaluate(tiny_runs(name), "grammar")
    assert metrics == {key for key, value in scores.items() if isinstance(value, dict) and "interval" in value}
    for metric in metrics:
        low, high = scores[metric]["interval"]
        assert low <= scores[metric]["value"] <= high
    without = scores["unigram_baseline"] if name == "skip-thought" else scores["chance"]
    assert without.keys() == metrics
    uniform = np.log(network.embedding.num_embeddings)
    assert 0 < scores["unigram_baseline"]["written"] < uniform if name == "skip-thought" else without["first"] < 0.5


def test_nats_of_single_sentences_add_up_to_the_loss():
    network = network_of(embedding=6)
    batch = network.prepare(examples([0, 1, 2]))
    totals, counts = network.written(batch)
    assert torch.isclose(totals.sum(), network.loss(batch)[0]["written"].total, rtol=1e-5)
    assert counts.tolist() == [2, 4 + 3, 2]
