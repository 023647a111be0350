"""The regressor: sequences of numbers from files, what it learns, what it refuses, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.regression import r2
from lexigraph.models.regressor import Config, Objective, RecurrentRegressor
from lexigraph.text.languages import Lengths, sums
from lexigraph.text.vocabularies import Numbers, Vocabularies

SMALL = {"model.cell": "lstm", "model.dim": 16, "train.tensorboard": False, "data.split": [0.8, 0.1, 0.1]}


def network(**config) -> RecurrentRegressor:
    torch.manual_seed(0)
    known = Vocabularies({"vectors": Numbers((2,)), "number": Numbers((), mean=3.0, deviation=2.0)})
    return RecurrentRegressor(Config(dim=4, **config), Objective(), known).eval()


def test_what_stands_behind_the_end_of_a_sequence_is_not_seen():
    made, rng = network(), np.random.default_rng(0)
    rows = [rng.random((length, 2), np.float32) for length in (3, 9, 1)]
    together = made.predict(made.prepare({"vectors": rows}))
    assert together == pytest.approx([made.predict(made.prepare({"vectors": [row]}))[0] for row in rows], abs=1e-5)


def test_the_answer_is_in_the_numbers_own_units():
    made = network()
    torch.nn.init.zeros_(made.output.weight)
    torch.nn.init.constant_(made.output.bias, 0.5)
    batch = made.prepare({"vectors": [np.zeros((2, 2), np.float32)], "number": [np.array(8.0, np.float32)]})
    assert made.predict(batch) == pytest.approx([4.0])  # 3 + 2 · 0.5
    terms, _ = made.loss(batch)
    assert terms["loss"].total.item() == pytest.approx(4.0)  # ((8 - 4) / 2)²


def test_explained_variance_by_hand():
    assert r2(np.array([0.0, 2.0, 4.0]), np.array([1.0, 0.0, 1.0])) == pytest.approx(1 - 2 / 8)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Trained on a file of records of its own: how often the first number is above a half."""
    folder, rng = tmp_path_factory.mktemp("regressor"), np.random.default_rng(0)
    with (folder / "a.jsonl").open("w") as out:
        for _ in range(400):
            vectors = rng.random((rng.integers(2, 6), 2))
            print(json.dumps({"vectors": vectors.tolist(), "number": int((vectors[:, 0] > 0.5).sum())}), file=out)
    changes = SMALL | {"train.steps": 200, "train.lr": 0.02, "train.batch_tokens": 128}
    return api.train("regressor", folder / "a.jsonl", folder / "run", set=changes, quiet=True)


def test_it_learns_from_a_file_of_records(trained):
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert scores["mse"]["value"] < 0.3 * scores["always_the_mean"]
    assert scores["r2"]["value"] > 0.7
    high, low = trained.estimate([[[0.9, 0.1]] * 4, [[0.1, 0.9]] * 4])
    assert high > 2.5 > 1.5 > low
    assert trained.estimate(np.array([[0.9, 0.1]] * 4)) == pytest.approx(high, abs=1e-5)


def test_the_command_line_reads_sequences_as_json(trained):
    command = ["estimate", str(trained.path)]
    shown = CliRunner().invoke(app, [*command, "[[0.9, 0.1], [0.8, 0.2]]"]).output
    assert float(shown) == pytest.approx(trained.estimate(np.array([[0.9, 0.1], [0.8, 0.2]])), rel=1e-4)
    found = json.loads(CliRunner().invoke(app, [*command, "--json", '{"vectors": [[0.9, 0.1]]}']).output)
    assert found[0]["vectors"] == [[0.9, 0.1]]


@pytest.mark.parametrize(
    ("sequence", "why"),
    [
        ([[0.1, 0.2], [0.3]], "frames of different lengths"),
        ([[0.1, 0.2, 0.3]], "has 3 numbers in a step, and this model reads 2"),
        ([], "an array .frames, numbers."),
        ([[0.1, float("nan")]], "no number .NaN"),
    ],
)
def test_what_is_no_sequence_of_such_vectors_is_refused_by_its_number(trained, sequence, why):
    with pytest.raises(LexigraphError, match=f"Text 2 of 2 .*{why}"):
        trained.estimate([[[0.1, 0.2]], sequence])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"vectors": [[1, 2], [3]], "number": 1}', "record 2: .*different lengths"),
        ('{"vectors": [[1, 2]], "number": "much"}', "line 2: 'much' is no number"),
        ('{"vectors": [[1, 2, 3]], "number": 1}', "different shapes"),
        ('{"vectors": [[1, "x"]], "number": 1}', "record 2: .*no numbers"),
    ],
)
def test_a_file_that_holds_other_things_is_refused(tmp_path, line, why):
    good = '{"vectors": [[1, 2]], "number": 1}'
    (tmp_path / "a.jsonl").write_text("\n".join([good, line, good]) + "\n")
    with pytest.raises(LexigraphError, match=why):
        api.train("regressor", tmp_path / "a.jsonl", tmp_path / "run", quiet=True, set={"data.split": [1.0]})


def test_arrays_are_read_as_records(tmp_path):
    """Sequences of one length in a .npz file, as other programs write them."""
    pairs = list(sums(Lengths("adding", 6, 6), 60))
    np.savez(tmp_path / "a.npz", vectors=np.stack([v for v, _ in pairs]), number=np.array([n for _, n in pairs]))
    changes = SMALL | {"train.steps": 2, "train.batch_tokens": 64}
    made = api.train("regressor", tmp_path / "a.npz", tmp_path / "run", set=changes, quiet=True)
    assert len(made.estimate([vectors for vectors, _ in pairs[:3]])) == 3
