"""The understanding suite: fine-tuned beside baselines, with seeds or few labels, gone on with when interrupted."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from lexigraph import api, understanding
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.understanding import CHOSEN, FINE_TUNED, FROZEN, Sizes

SMALL = Sizes(
    train=60, dev=20, test=30, seeds=2, draws=2, rates=(1e-3, 1e-2), word_counts=(1.0, 10.0), vectors=(0.1,), steps=2
)


@pytest.fixture
def bert(tiny_runs, tmp_path):
    """A copy of a tiny run, to write into."""
    shutil.copytree(tiny_runs("bert"), tmp_path / "bert")
    return tmp_path / "bert"


def trainings(monkeypatch, most=1000):
    """What is asked of `api.train`; after so many trainings, somebody presses Ctrl-C."""
    asked, train = [], api.train

    def counted(*given, **options):
        if len(asked) == most:
            raise KeyboardInterrupt
        asked.append(options["set"])
        return train(*given, **options)

    monkeypatch.setattr(api, "train", counted)
    return asked


def test_seeds_settings_and_what_is_kept(bert, monkeypatch):
    """An interrupted suite goes on after what is done, and says then what it would have said."""
    asked = trainings(monkeypatch, most=2)
    with pytest.raises(KeyboardInterrupt):
        understanding.run(bert, tasks=["sentiment"], sizes=SMALL, device="cpu")
    assert not (bert / "understanding.json").exists()
    monkeypatch.undo()
    asked = trainings(monkeypatch)
    found = understanding.run(bert, tasks=["sentiment"], sizes=SMALL, device="cpu")
    assert len(asked) == 1  # the second seed of the better rate
    assert asked[0]["train.seed"] == 1
    task = found["tasks"]["sentiment"]
    tuned, counted = task["contenders"][FINE_TUNED], task["contenders"]["tf-idf"]
    assert asked[0]["train.lr"] == tuned["setting"] == float(max(tuned["dev"], key=tuned["dev"].get))
    assert len(tuned["dev"]) == len(counted["dev"]) == 2  # as many settings for the one as for the other
    assert len(tuned["accuracy"]["seeds"]) == 2
    assert tuned["accuracy"]["value"] == pytest.approx(sum(tuned["accuracy"]["seeds"]) / 2)
    gain = task["better_than"]["tf-idf"]
    assert gain["value"] == pytest.approx(tuned["accuracy"]["value"] - counted["accuracy"]["value"])
    assert task["signature"]["train"] == 60
    again = understanding.run(bert, tasks=["sentiment"], sizes=SMALL, device="cpu")
    assert len(asked) == 1
    assert again["tasks"] == found["tasks"]


def test_few_labels_see_nothing_else(bert, monkeypatch):
    """Ten labels in five folds, then all ten: and never the part for choosing."""
    asked = trainings(monkeypatch)
    sizes = Sizes(train=60, dev=20, test=30, draws=1, rates=(1e-3,), word_counts=(1.0,), vectors=(0.1,), steps=2)
    said: list[str] = []
    train = understanding.FineTuned.answers

    def seen(self, task, learned, dev, setting, seed, given):
        said.append(f"{len(learned)} {len(dev)} {len(given[0])}")
        return train(self, task, learned, dev, setting, seed, given)

    monkeypatch.setattr(understanding.FineTuned, "answers", seen)
    found = understanding.run(bert, tasks=["pronouns"], labels=[10], sizes=sizes, device="cpu")
    assert said == ["8 0 2"] * 5 + ["10 0 30"]
    assert len(asked) == 6
    measured = found["tasks"]["pronouns"]["by_labels"]["10"]
    assert measured["model"] == CHOSEN
    values = [measured["contenders"][name]["accuracy"]["value"] for name in (FINE_TUNED, FROZEN)]
    assert measured["contenders"][CHOSEN]["accuracy"]["value"] in values
    with pytest.raises(UsageError, match="pronouns has 60 examples to learn from, and --labels asks for 1,000"):
        understanding.run(bert, tasks=["pronouns"], labels=[10, 1000], sizes=sizes, device="cpu")


def test_the_command_prints_saves_and_compares(bert, tiny_runs, tmp_path, monkeypatch):
    """Tags, and beside it a run that encodes texts alone and has nothing for words."""
    monkeypatch.setattr(
        understanding, "QUICK", Sizes(train=40, dev=20, test=30, seeds=1, rates=(1e-3,), word_counts=(1.0,), steps=2)
    )
    asked = ["eval", str(bert), "--suite", "understanding", "--data", "grammar", "--tasks", "phrases, sentiment"]
    asked += ["--quick", "--beside", str(tiny_runs("skip-thought")), "--set", "train.steps=1"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "sentiment\tall\taccuracy" in done.stdout
    saved = json.loads((bert / "understanding.json").read_text())
    assert saved["tasks"]["phrases"]["signature"]["steps"] == 1
    assert f"{FROZEN}, skip-thought" in saved["tasks"]["sentiment"]["better_than"]
    assert f"{FROZEN}, skip-thought" not in saved["tasks"]["phrases"]["better_than"]
    assert "<h2>better than</h2>" in (bert / "understanding.html").read_text()
    noted = json.loads((bert / "results.json").read_text())["understanding"]["phrases"]
    assert noted["contenders"] == saved["tasks"]["phrases"]["contenders"]
    assert "train:40" in noted["signature"]
    trained = trainings(monkeypatch)
    again = CliRunner().invoke(app, [*asked, "--json"])
    assert again.exit_code == 0, again.output
    assert not trained  # nothing is done twice, and its own file is kept up to date
    assert json.loads(again.stdout)["tasks"] == saved["tasks"]
    (tmp_path / "mine.json").write_text("{}")
    refused = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "mine.json")])
    assert isinstance(refused.exception, LexigraphError)


def test_models_that_encode_take_part_as_they_are(tiny_runs, tmp_path):
    said: list[str] = []
    sizes = Sizes(train=40, dev=20, test=30, word_counts=(1.0,), vectors=(0.1,))
    found = understanding.run(tiny_runs("picture"), sizes=sizes, keep=tmp_path, device="cpu", report=said.append)
    assert set(found["tasks"]) == {"pronouns", "sentiment"}
    assert any("phrases is left out" in line for line in said)
    assert found["tasks"]["sentiment"]["model"] == FROZEN
    with pytest.raises(UsageError, match="none for its words: leave out phrases"):
        understanding.run(tiny_runs("picture"), tasks=["phrases"], sizes=sizes, keep=tmp_path, device="cpu")


@pytest.mark.parametrize("name", ["gpt", "elmo"])
def test_readers_of_every_kind_are_fine_tuned_on_pairs(name, tiny_runs, tmp_path):
    """Also one that reads by the word, and so each text of a pair alone."""
    sizes = Sizes(train=40, dev=20, test=30, seeds=1, rates=(1e-3,), word_counts=(1.0,), vectors=(0.1,), steps=1)
    found = understanding.run(tiny_runs(name), tasks=["pronouns"], sizes=sizes, keep=tmp_path, device="cpu")
    assert {FROZEN, FINE_TUNED} <= set(found["tasks"]["pronouns"]["contenders"])
