"""Several tasks in one model, each told by a text before its sources; from plain text to pairs in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.abilities.writing import Writer
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.translation import pairs
from lexigraph.recipe import Data
from lexigraph.registry import SYSTEMS
from lexigraph.text.builtin import TASKS, records
from lexigraph.text.guesses import holds_pairs

WORDS = ["a", "b", "c d", "e f g", "h", "i j", "k", "l m"]
PREFIXES = {"up": "make it up: ", "down": "put it down: "}
BY_HEART: dict[str, Any] = {"data.split": [1.0], "data.prefixes": PREFIXES, "data.task_temperature": 2.0,
            "objective.noise": "none", "tokenizer.kind": "word", "model.dim": 32, "model.context": 24,
            "train.steps": 160, "train.warmup": 5, "train.validate_every": 160, "train.batch_tokens": 60,
            "train.optimizer": "adamw", "train.lr": 1e-2}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned two tasks by heart, one of them from fewer examples."""
    out = tmp_path_factory.mktemp("tasks")
    for task, words in (("up", WORDS), ("down", WORDS[:5])):
        said = "".join(f"{text}\t{' '.join(f'{task} {word}' for word in text.split())}\n" for text in words)
        (out / f"{task}.tsv").write_text(said)
    data = [f"{task}={out}/{task}.tsv" for task in PREFIXES]
    api.train("t5", data, out / "run", tiny=True, quiet=True, set=BY_HEART)
    return out


@pytest.fixture(scope="module")
def model(folder: Path) -> Writer:
    return api.load(folder / "run")


def test_the_words_before_a_source_say_what_is_wanted(model):
    assert model.directions == ("up", "down")
    assert model.translate(["c d", "k"], to="up") == ["up c up d", "up k"]
    assert model.translate(["c d", "h"], to="down") == ["down c down d", "down h"]
    assert model.summarise("c d", to="down", no_repeat=0) == "down c down d"
    assert "<2up>" not in model.tokenizer.special  # no token of its own: the words are read
    assert model.score(["up a"], sources=["a"], to="up")[0] > model.score(["up a"], sources=["a"], to="down")[0]


def test_the_prefix_is_what_a_user_could_write_before_the_source(model):
    assert model.translate("make it up: c d", to="") == "up c up d"


def test_a_task_must_be_one_of_the_model(model):
    for to, said in (
        (None, "several directions, up, down"),
        ("de", "'de' is no task .* up, down"),
        ({"up": 1, "down": 1}, "mixture"),
    ):
        with pytest.raises(UsageError, match=said):
            model.translate("a", to=to)


def test_every_task_has_scores_of_its_own(folder):
    # five sentences of each: eval.sentences of the tiny recipe
    found = api.evaluate(folder / "run", [f"{task}={folder}/{task}.tsv" for task in PREFIXES])
    assert {name: group["sentences"] for name, group in found["by_direction"].items()} == {"down": 5, "up": 5}
    assert all(group["exact"]["value"] == 1 for group in found["by_direction"].values())


def test_files_without_a_task_are_refused(folder, tmp_path):
    for name, said in (
        (str(folder / "up.tsv"), r"line 1: no task is named.*name files as up=FILE"),
        (f"no={folder}/up.tsv", "'no' is no task"),
    ):
        with pytest.raises(LexigraphError, match=said):
            api.train("t5", name, tmp_path / "run", tiny=True, quiet=True, set=BY_HEART)
        assert not (tmp_path / "run").exists()


def test_a_run_on_plain_text_goes_on_with_pairs_in_one_command(tiny_runs, folder, tmp_path, capsys):
    for system in ("t5", "bart"):
        few = {"data.split": [1.0], "train.steps": 2, "train.batch_tokens": 60, "train.validate_every": 2}
        model = api.train(system, folder / "up.tsv", tmp_path / system, start=tiny_runs(system), set=few)
        assert model.recipe.objective.noise == "none"
        assert "It goes on with pairs (objective.noise = none)." in capsys.readouterr().err
        tasks = few | {"data.prefixes": PREFIXES}
        data = [f"{task}={folder}/{task}.tsv" for task in PREFIXES]
        model = api.train(system, data, tmp_path / f"{system}-tasks", start=tiny_runs(system), quiet=True, set=tasks)
        assert model.directions == ("up", "down")
        assert model.tokenizer.fingerprint == api.load(tiny_runs(system)).tokenizer.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "is_pairs"),
    [
        ("a.tsv", "He has two cats .\tIl a deux chats .\nShe sleeps now .\tElle dort .\n", True),
        ("a.jsonl", '{"source": "x", "target": "y"}\n', True),
        ("a.jsonl", '{"text": "x"}\n', False),
        ("a.txt", "x y\nz\n", False),
    ],
)
def test_what_pairs_look_like(tmp_path, name, content, is_pairs):
    (tmp_path / name).write_text(content)
    assert holds_pairs(Data(train=str(tmp_path / name))) == is_pairs
    assert holds_pairs(Data(train="edits"))
    assert not holds_pairs(Data(train="grammar"))


def test_the_built_in_tasks():
    found = [record.columns for record in records(["source", "target"], 70, "edits")]
    assert {record["direction"] for record in found} == {*TASKS}
    assert all(record["source"] != record["target"] for record in found)


def test_tasks_are_a_column_only_where_they_are_mixed_or_have_texts():
    assert set(pairs()) == {"source", "target"}
    assert (
        set(pairs(data=Data(task_limit=9)))
        == set(pairs(data=Data(prefixes=PREFIXES)))
        == {"source", "target", "task"}
    )


# ---- an encoder in front of BART ------------------------------------------------------------------------------

STAGE = {"encoder": 0.0, "decoder": 0.0, "embedding": 0.0, "norm_embedding": 0.0, "norm_decoder_embedding": 0.0,
         "encoder.0.attention.qkv": 1.0}  # fmt: skip


def test_bart_learns_to_read_another_language_in_two_stages(tiny_runs, tmp_path):
    """Lewis et al. (2020), 3.4: first the new encoder, positions and the first layer's projection; then all."""
    (tmp_path / "a.tsv").write_text("".join(f"él tiene {n} gatos\tShe has {n} cats .\n" for n in range(60)))
    few = {"data.split": [1.0], "train.steps": 3, "train.batch_tokens": 100, "train.validate_every": 3}
    first = few | {"model.extra_layers": 1, "train.lr_scale": STAGE}
    start = api.load(tiny_runs("bart")).network.state_dict()
    model = api.train("bart", tmp_path / "a.tsv", tmp_path / "1", start=tiny_runs("bart"), quiet=True, set=first)
    one = model.network.state_dict()
    learned = {name for name in start if not torch.equal(start[name], one[name])}
    assert learned == {
        "positions.weight",
        "decoder_positions.weight",
        *(f"encoder.0.attention.qkv.{each}" for each in ("weight", "bias")),
    }
    new = {name.split(".")[0] for name in one.keys() - start.keys()}
    assert new == {"source_embedding", "extra", "extra_positions", "norm_extra"}
    assert model.reading_tokenizer.fingerprint != model.tokenizer.fingerprint
    model = api.train("bart", tmp_path / "a.tsv", tmp_path / "2", start=tmp_path / "1", quiet=True, set=few)
    two = model.network.state_dict()
    assert {name for name in one if torch.equal(one[name], two[name])} <= {"bias"}
    assert api.load(tmp_path / "2").translate("él tiene gatos") == model.translate("él tiene gatos")


def test_an_encoder_in_front_reads_pairs(tmp_path):
    with pytest.raises(UsageError, match=r"model\.extra_layers reads the sources of pairs"):
        api.train("bart", "grammar", tmp_path / "run", tiny=True, quiet=True, set={"model.extra_layers": 1})


def test_sources_and_answers_of_nothing(model):
    assert "answer" in SYSTEMS["bart"].abilities
    for ask in (lambda: model.answer(" ", to="up"), lambda: model.summarise(["a", ""], to="up")):
        with pytest.raises(LexigraphError, match="is empty"):
            ask()
    with pytest.raises(UsageError, match="2 questions and 3 contexts"):
        model.answer(["a", "b"], context=["a", "b", "c"], to="up")
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than the 20 tokens"):
        assert len(model.summarise(["a", "b " * 100], to="up", longest=3)) == 2
    assert np.all([len(text.split()) <= 3 for text in model.summarise(["a b c d e"], to="up", longest=3)])
