"""Texts that are longer than a model's context: counted and told, in training and in every score."""

from __future__ import annotations

import json

import pytest

from lexigraph import api
from lexigraph.registry import system as system_of

SHORT = [
    f"{name} {verb} ." for name in ("Ann", "Bob", "Eve", "Dan", "Ida") for verb in ("sang", "ran", "sat", "left")
]
LONG = "Ann sang and sang and sang and sang and sang and sang and sang ."
NARROW = {"tokenizer.kind": "word", "model.context": 12, "train.batch_tokens": 64, "train.steps": 1}
PLAIN = ["bart", "t5", "picture", "lstm-autoencoder"]


def text(folder, name, lines):
    (folder / name).write_text("".join(line + "\n" for line in lines))
    return folder / name


@pytest.mark.parametrize("system", PLAIN)
def test_lines_longer_than_the_context_are_told_before_training_and_beside_every_score(system, tmp_path, capsys):
    train = text(tmp_path, "train.txt", [*SHORT, LONG, LONG, LONG])
    test = text(tmp_path, "test.txt", [*SHORT[:10], LONG, LONG])
    api.train(system, train, tmp_path / "run", test=test, tiny=True, set=NARROW | {"data.split": [1.0]})
    told = capsys.readouterr().err
    assert "3 of 23 examples are longer than the model's 12 tokens" in told
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["too_long_for_training"] == 3
    assert results["scores"]["test"]["too_long"] == 2
    assert "2 too long" in system_of(system).task_module().headline(results["scores"]["test"])
    other = text(tmp_path, "other.txt", [*SHORT[5:], LONG])
    assert api.evaluate(tmp_path / "run", other)["too_long"] == 1


def test_where_every_line_fits_nothing_is_said(tmp_path, capsys):
    file = text(tmp_path, "a.txt", SHORT)
    api.train("bart", file, tmp_path / "run", test=file, tiny=True, set=NARROW | {"data.split": [1.0]})
    assert "longer than" not in capsys.readouterr().err
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert "too_long_for_training" not in results
    assert results["scores"]["test"]["too_long"] == 0
    assert "too long" not in system_of("bart").task_module().headline(results["scores"]["test"])


def test_pairs_that_are_too_long_are_told_with_their_number(tmp_path, capsys):
    rows = [f"{line}\t{line}" for line in SHORT]
    train = text(tmp_path, "train.tsv", [*rows, f"Ann sang .\t{LONG}"])
    test = text(tmp_path, "test.tsv", [*rows[:5], f"{LONG}\tAnn sang ."])
    api.train("transformer", train, tmp_path / "run", test=test, tiny=True, set=NARROW | {"data.split": [1.0]})
    assert "1 of 21 examples are longer than the model's 12 tokens" in capsys.readouterr().err
    scores = json.loads((tmp_path / "run" / "results.json").read_text())["scores"]["test"]
    assert scores["too_long"] == 1
    assert "1 too long" in system_of("transformer").task_module().headline(scores)
