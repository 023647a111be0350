"""How a text is read when it is scored: in blocks, sliding, with memory; and scores by how much stands before."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.evaluation.context import Windows, groups, positions, read
from lexigraph.objectives.next_token import token_nll
from lexigraph.text.columns import Column
from lexigraph.text.tables import Stored, Table

STREAM = {"data.unit": "stream", "data.documents": "line", "train.batch_tokens": 64}


def model_of(tiny_runs, name: str, **changes):
    with torch.enable_grad():  # it is trained by whoever needs it first
        model = api.load(tiny_runs(name, STREAM | changes))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.normal_(std=0.3)
    model.network.double()
    return model


def table_of(count: int, documents: int = 4) -> Table:
    values = np.random.default_rng(0).integers(5, 25, count + 1).astype(np.uint16)
    offsets = np.linspace(0, count, documents + 1).astype(int)
    values[offsets] = 0
    counts = np.bincount(values, minlength=25)
    return Table(documents, {"text": Stored(Column("tokens"), values, offsets, counts=counts, bytes=3 * count)})


def nll_of(network, ids: np.ndarray, carry=None) -> tuple[np.ndarray, object]:
    terms, carry = network.loss(network.prepare_in_order({"text": [ids]}), carry)
    return token_nll(terms)[0].numpy(), carry


@pytest.mark.parametrize("name", ["gpt", "lstm-lm"])
@torch.no_grad()
def test_a_sliding_window_scores_each_token_once_with_all_that_it_promises(name, tiny_runs):
    """Token by token: the token at t is predicted from the last N - S to N - 1 tokens, or from the beginning."""
    model, table, n, s = model_of(tiny_runs, name), table_of(50), 16, 5
    values, found = table.columns["text"].values, read(model, table, Windows(n, s))
    for t in range(50):
        begin = 0 if t < n else n + (t - n) // s * s - (n - s)
        assert t - begin + 1 > (n - s if t >= n else t)
        expected = nll_of(model.network, values[begin : t + 2])[0][-1]
        assert found.nll[t] == pytest.approx(expected, rel=1e-6)
        assert found.context[t] == t - begin + 1
    assert found.processed == n + 6 * n + (n - s + 4)  # a window, six more, and one that ends with the text


@torch.no_grad()
def test_blocks_are_windows_that_know_nothing_of_each_other(tiny_runs):
    table = table_of(50)
    values = table.columns["text"].values
    for name in ("gpt", "transformer-xl", "shortformer", "lstm-lm"):
        model = model_of(tiny_runs, name)
        found = read(model, table, Windows(16))
        for begin in range(0, 50, 16):
            expected, _ = nll_of(model.network, values[begin : begin + 17])
            assert np.allclose(found.nll[begin : begin + 16], expected, atol=1e-6), name
        assert found.processed == 50
        assert found.context.max() == 16


@pytest.mark.parametrize("name", ["transformer-xl", "shortformer"])
@torch.no_grad()
def test_a_memory_longer_than_in_training_slides_and_each_token_is_read_once(name, tiny_runs):
    model, table = model_of(tiny_runs, name, **{"eval.streams": 1}), table_of(60)
    values, carry, expected = table.columns["text"].values, None, []
    assert model.network.memory == 16
    with model.network.remembering(24):
        for begin in range(0, 60, 8):
            own, carry = nll_of(model.network, values[begin : begin + 9], carry)
            expected.append(own)
    found = read(model, table, Windows(32, 8))
    assert np.allclose(found.nll, np.concatenate(expected), atol=1e-6)
    assert found.processed == 60
    assert found.context.tolist()[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert found.context.max() == 32
    assert model.network.memory == 16  # as it was


@torch.no_grad()
def test_parallel_parts_of_a_stream_have_a_lead(tiny_runs):
    """Read in several parts, every token but those at the beginning has the memory that was promised."""
    model, table = model_of(tiny_runs, "transformer-xl", **{"eval.streams": 3}), table_of(400)
    found = read(model, table, Windows(32, 8))
    assert (found.context[24:] > 24).all()
    assert found.processed == 400 + 2 * 24


@torch.no_grad()
def test_a_recurrent_network_is_read_from_the_beginning_where_no_window_is_asked_for(tiny_runs):
    model, table = model_of(tiny_runs, "lstm-lm", **{"eval.streams": 1}), table_of(600)
    found = read(model, table, Windows())
    assert np.allclose(found.nll, nll_of(model.network, table.columns["text"].values)[0], atol=1e-6)
    assert found.context.tolist() == list(range(1, 601))


@torch.no_grad()
def test_lines_are_read_each_by_itself(tiny_runs):
    model = model_of(tiny_runs, "transformer-xl", **{"data.unit": "line", "data.documents": "none"})
    table = table_of(90, documents=5)
    text, found = table.columns["text"], read(model, table, Windows(16, 4))
    for a, b in zip(text.offsets[:-1], text.offsets[1:], strict=True):
        alone = Table(1, {"text": Stored(Column("tokens"), text.values[a : b + 1], np.array([0, b - a]))})
        assert np.allclose(read(model, alone, Windows(16, 4)).nll, found.nll[a:b], atol=1e-5)
        assert found.context[a] == 1


def test_groups_by_position_by_hand():
    text = Stored(Column("tokens"), np.array([2, 5, 5, 5, 5, 2, 6, 2]), np.array([0, 5, 7]), bytes=14)
    assert positions(text).tolist() == [1, 2, 3, 4, 5, 1, 2]  # the last of each is the boundary that ends it
    nll = np.array([3.0, 2.0, 2.0, 1.0, 1.0, 5.0, 4.0])
    found = groups(nll, positions(text), text)
    assert {name: (group["tokens"], group["nll"]["value"]) for name, group in found.items()} == {
        "1": (2, 4.0),
        "2": (2, 3.0),
        "3-4": (2, 1.5),
        "5-8": (1, 1.0),
    }
    assert found["1"]["bits_per_byte"]["value"] == pytest.approx(4.0 / math.log(2) / 2)  # two bytes a token


def test_how_it_was_read_is_in_the_signature_and_beside_other_scores(tiny_runs, tmp_path):
    import shutil

    run = shutil.copytree(tiny_runs("gpt", STREAM), tmp_path / "run")
    (tmp_path / "test.txt").write_text("She laughed .\nDid they open the old door ?\nHe is not tired .\n" * 9)
    blocks = api.evaluate(run, tmp_path / "test.txt")
    again = api.evaluate(run, tmp_path / "test.txt", window=32)
    sliding = api.evaluate(run, tmp_path / "test.txt", window=16, stride=4, by_position=True)
    assert again["nll"]["value"] == pytest.approx(blocks["nll"]["value"], rel=1e-6)
    assert "window:16|stride:4" in sliding["signature"]
    assert sliding["tokens"] == blocks["tokens"] == sum(group["tokens"] for group in sliding["context"].values())
    assert sliding["processed"] == pytest.approx(4, rel=0.1)
    files = api.Run.open(run).json("results.json")["files"]
    assert [name.rpartition("test.txt")[2] for name in files] == [
        "",
        " (window 32, stride 32)",
        " (window 16, stride 4)",
    ]


def test_what_cannot_be_read_so_is_refused(tiny_runs, tmp_path):
    with pytest.raises(UsageError, match="sees 32 tokens at once"):
        api.evaluate(tiny_runs("gpt"), "grammar", window=33)
    with pytest.raises(UsageError, match="no language model"):
        api.evaluate(tiny_runs("bert"), "grammar", by_position=True)


def test_scores_by_position_are_drawn_and_other_scores_are_not(tmp_path):
    from lexigraph.views import context, picture

    def scored(*values: float) -> dict[str, dict[str, dict[str, object]]]:
        return {
            "context": {
                str(2**n): {"tokens": 100, "nll": {"value": value, "interval": []}} for n, value in enumerate(values)
            }
        }

    picture.save(context.picture({"short": scored(3.0, 2.0), "long": scored(3.0, 2.0, 1.5)}), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(word in drawn for word in ("short", "long", "tokens in view", "nats per token"))
    with pytest.raises(UsageError, match="--by-position"):
        context.picture({"plain": {"nll": {"value": 1.0}}})
