"""What the house does for a system that it does not know: a second table, neighbours, windows that overlap."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.registry import SYSTEMS, System
from lexigraph.text.columns import MAIN

from . import toy

RECIPE = """
system = "toy"
[data]
{main}
[data.hints]
train = "{hints}"
split = [1.0]
batch_tokens = 12
[tokenizer]
kind = "word"
[train]
steps = 4
batch_tokens = 16
checkpoint_every = 2
tensorboard = false
"""
SENTENCES = ["a b c d e f g", "h i", "j k l m n"]


class Task(ModuleType):
    """How the toy is measured: not at all."""

    METRICS = {"loss": False}  # noqa: RUF012
    frequencies = staticmethod(lambda table: table.columns["tags"].counts)
    choosing = staticmethod(lambda metric, valid: (metric, ""))
    baseline = validate = scores = headline = staticmethod(lambda *given: None)


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe of the toy, whose documents are two sentences and one."""
    entry = System(
        "tests.contracts.toy:Toy", "lexigraph.abilities.textmodel:TextModel", "toy", (), ("tokens", "tags")
    )
    monkeypatch.setitem(SYSTEMS, "toy", entry)
    monkeypatch.setattr(System, "task_module", lambda self: Task("toy"))
    rows = ["\n".join(f"{word} {word.upper()}" for word in sentence.split()) for sentence in SENTENCES]
    (tmp_path / "words.conll").write_text(
        f"-DOCSTART- O\n\n{rows[0]}\n\n{rows[1]}\n\n-DOCSTART- O\n\n{rows[2]}\n" * 6
    )
    (tmp_path / "hints.txt").write_text("a b\nc d e\nf\n" * 20)
    main = f'train = "{tmp_path / "words.conll"}"\nsplit = [1.0]'
    (tmp_path / "toy.toml").write_text(RECIPE.format(main=main, hints=tmp_path / "hints.txt"))
    toy.SEEN.clear()
    return tmp_path / "toy.toml"


def words_of(rows, tokenizer) -> list[str]:
    return [" ".join(tokenizer.token_of(int(word[0])) for word in row) for row in rows]


def test_every_declaration_is_kept(recipe, tmp_path):
    model = api.train(recipe, None, tmp_path / "run", quiet=True)
    assert isinstance(model, TextModel)
    tokenizer, batches = model.tokenizer, toy.SEEN[2:]  # the first two are the rehearsal's
    windows = {window for batch in batches for window in words_of(batch["words"], tokenizer)}
    assert windows == {
        "a b c d",
        "d e f g",
        "h i",
        "j k l m",
        "m n",
    }  # of four words, each begins with the last one before
    for batch in batches:
        assert len(batch["hints"]) > 0  # rows of both tables in every step
        for window, before, tags in zip(
            words_of(batch["words"], tokenizer), words_of(batch["before"], tokenizer), batch["tags"], strict=True
        ):
            assert before == ("a b c d e f g" if window == "h i" else "")  # whole, and of its own document only
            names = model.vocabularies.labels("tags").names
            assert " ".join(names[i] for i in tags) == window.upper()


def test_a_run_with_two_tables_goes_on_where_it_was(recipe, tmp_path):
    weights = []
    for name, first in (("calm", 4), ("rough", 2)):
        api.prepare(recipe, None, tmp_path / name, quiet=True)
        run = api.Run.open(tmp_path / name)
        training, _ = api.training_of(run, api.World(torch.device("cpu")))
        for _ in range(first):
            training.step()
        if first < 4:
            training.save(run)
            training, _ = api.training_of(run, api.World(torch.device("cpu")))
            assert training.restore(run)
            training.step()
            training.step()
        weights.append(training.network.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_table_that_is_missing_is_asked_for(recipe, tmp_path):
    text = recipe.read_text()
    (tmp_path / "less.toml").write_text(text[: text.index("[data.hints]")] + text[text.index("[tokenizer]") :])
    with pytest.raises(UsageError, match=r"add a section \[data\.hints\]"):
        api.train(tmp_path / "less.toml", None, tmp_path / "run", quiet=True)
    assert recipes.read(recipe, {"data.hints.batch_tokens": 7}).tables["hints"].batch_tokens == 7
    assert recipes.read(recipe).tables.keys() == {"hints"}
    assert MAIN not in recipes.read(recipe).tables
