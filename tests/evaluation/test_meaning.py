"""The meaning suite: every model that encodes is judged, on pairs of people and on the grammar's features."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.errors import UsageError
from lexigraph.evaluation import meaning

SMALL = meaning.Sizes(pairs=12, probes=40)
SUBJECTS = ("She", "He", "The man", "The girl", "They", "Peter")


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Pairs of a few words, alike if they share their verb; one is too long for any model."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "sts-b").mkdir()
    rows = [(f"{a} sings .", f"{b} {verb} .", 5.0 * (verb == "sings")) for a in SUBJECTS for b in SUBJECTS[:2]
            for verb in ("sings", "slept")]  # fmt: skip
    rows[0] = ("she " * 500, "he", 1.0)
    for split in ("train", "dev", "test"):
        lines = [f"g\tf\t2012\t{n}\t{score}\t{a}\t{b}\n" for n, (a, b, score) in enumerate(rows)]
        (folder / "sts-b" / f"sts-{split}.tsv").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("name", ["skip-thought", "bert", "elmo", "picture"])
def test_models_of_every_kind_are_judged(name, sets, tiny_runs):
    model = lexigraph.load(tiny_runs(name))
    found = meaning.run(model, [sets], sizes=SMALL)
    test, dev = found["similarity"]["sts-b"], found["similarity"]["sts-b, dev"]
    assert test == dev  # the same pairs
    assert test["skipped"] == 1
    assert test["pairs"] == 11
    assert ("embeddings, averaged" in test["measures"]) == (name != "elmo")  # which knows words by their letters
    texts = ["She sings .", "He sings ."]
    u, v = model.encode(texts)
    cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
    assert -1 <= test["measures"]["cosine"]["pearson"]["value"] <= 1
    assert cosine <= 1 + 1e-6
    assert set(found["probes"]["features"]) == {"tense", "number", "polarity", "length"}
    assert found["signature"]["model"] == model.fingerprint
    assert found == meaning.run(model, [sets / "sts-b"], sizes=SMALL)  # the set itself, and the same twice


def test_the_command_prints_and_saves(tiny_runs, sets, tmp_path, monkeypatch):
    shutil.copytree(tiny_runs("sentence-encoder"), tmp_path / "run")
    monkeypatch.setattr(meaning, "QUICK", SMALL)
    monkeypatch.setenv("LEXIGRAPH_DATA", str(sets))
    monkeypatch.chdir(tmp_path)
    asked = ["eval", str(tmp_path / "run"), "--suite", "meaning", "--quick", "--data", "sts-b"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "similarity: sts-b: measures" in done.stdout
    saved = json.loads((tmp_path / "run" / "meaning.json").read_text())
    assert saved["signature"]["pairs_of_a_set"] == SMALL.pairs
    assert "<h2>similarity: sts-b: measures</h2>" in (tmp_path / "run" / "meaning.html").read_text()
    for wrong in (["--judge", str(tiny_runs("gpt"))], ["--train", "x.txt"]):
        assert isinstance(CliRunner().invoke(app, [*asked, "--force", *wrong]).exception, UsageError)


def test_a_model_without_vectors_of_texts_is_refused(tiny_runs, sets):
    with pytest.raises(UsageError, match=r"that encode texts; a gpt model can: generate"):
        meaning.run(lexigraph.load(tiny_runs("gpt")), [sets])
