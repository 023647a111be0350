"""Recipes: what is read, what is refused and how it is said, and what is written back."""

import dataclasses
import json
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph import recipe as recipes
from lexigraph import upgrades
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import SYSTEMS, WORD_SYSTEMS

SHIPPED = recipes.names()

GOOD = """\
# lexigraph train mine.toml
system = "gpt"
about = "mine"

[data]
split = [0.8, 0.2]

[model]   # small
layers = 2
dim = 32

[train]
steps = 10
lr = 1
"""


@pytest.fixture
def write(tmp_path):
    def write_recipe(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_recipe


def refusal(action):
    with pytest.raises(UsageError) as caught:
        action()
    return str(caught.value)


# ---- reading ----


def test_a_recipe_file_gives_its_values_and_defaults_for_the_rest(write):
    recipe = recipes.read(write(GOOD))
    assert (recipe.system, recipe.about) == ("gpt", "mine")
    assert recipe.data.split == (0.8, 0.2)
    assert (recipe.model.layers, recipe.model.dim) == (2, 32)
    assert recipe.train.steps == 10
    assert recipe.train.lr == 1.0
    assert isinstance(recipe.train.lr, float)
    assert recipe.train.optimizer == "adamw"


@pytest.mark.parametrize(
    ("line", "wrong", "where", "words"),
    [
        ("steps = 10", "stesp = 10", 13, ["train.stesp", "'steps'"]),
        ("layers = 2", "layer = 2", 9, ["model.layer", "'layers'"]),
        ("split = [0.8, 0.2]", "splits = [0.8, 0.2]", 6, ["data.splits", "'split'"]),
        ("[train]", "[trian]", 12, ["[trian]", "'train'"]),
        ("steps = 10", 'steps = "ten"', 13, ["train.steps", "whole number", "'ten'"]),
        ("steps = 10", "steps = 1.5", 13, ["train.steps", "whole number", "1.5"]),
        ("steps = 10", "steps = true", 13, ["train.steps", "whole number", "True"]),
        ("steps = 10", "steps = 0", 13, ["train.steps", "at least 1"]),
        ("lr = 1", 'lr = "high"', 14, ["train.lr", "a number", "'high'"]),
        ("lr = 1", "compile = 1", 14, ["train.compile", "true or false"]),
        ("lr = 1", "betas = [0.9]", 14, ["train.betas", "2 values"]),
        ("lr = 1", 'optimizer = "adamx"', 14, ["train.optimizer", "adamw", "sgd", "'adamx'"]),
        ("lr = 1", "log_every = 0", 14, ["train.log_every", "at least 1"]),
        ("split = [0.8, 0.2]", 'split = [0.8, "rest"]', 6, ["data.split", "a number", "'rest'"]),
        ("split = [0.8, 0.2]", "train = 5", 6, ["data.train", "text", "5"]),
        ("split = [0.8, 0.2]", 'columns = "text"', 6, ["data.columns", "a table"]),
        ('system = "gpt"', 'system = "gtp"', 2, ["'gtp'", "'gpt'"]),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_and_key(write, line, wrong, where, words):
    path = write(GOOD.replace(line, wrong))
    sentence = refusal(lambda: recipes.read(path))
    assert f"{path}, line {where}:" in sentence
    for word in words:
        assert word in sentence


def test_a_key_far_from_every_valid_one_is_answered_with_the_list(write):
    sentence = refusal(lambda: recipes.read(write(GOOD.replace("layers = 2", "qqq = 2"))))
    assert "model.qqq" in sentence
    assert {"layers", "heads", "dim", "context"} <= set(re.findall(r"\w+", sentence))


def test_a_section_written_as_a_value_is_refused(write):
    sentence = refusal(lambda: recipes.read(write('system = "gpt"\ntrain = 5\n')))
    assert "line 2" in sentence
    assert "[train]" in sentence


def test_broken_toml_names_file_and_line(write):
    path = write(GOOD.replace("steps = 10", "steps = = 10"))
    sentence = refusal(lambda: recipes.read(path))
    assert str(path) in sentence
    assert "line 13" in sentence


def test_a_recipe_must_name_its_system(write):
    assert "system" in refusal(lambda: recipes.read(write("[train]\nsteps = 5\n")))


def test_unknown_names_point_to_the_nearest_recipe():
    assert "'gpt-shakespeare'" in refusal(lambda: recipes.read("gpt-shakespear"))


def test_a_missing_recipe_file_is_named(tmp_path):
    with pytest.raises(LexigraphError, match=r"nowhere\.toml"):
        recipes.read(tmp_path / "nowhere.toml")


# ---- changes ----


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("train.steps=500", 500),
        ("train.steps = 500", 500),
        ("train.lr=3e-4", 0.0003),
        ("train.lr=1", 1.0),
        ("data.split=0.9,0.1", (0.9, 0.1)),
        ("data.split=0.9, 0.1", (0.9, 0.1)),
        ("data.split=[0.9,0.1]", (0.9, 0.1)),
        ("data.split=0.5", (0.5,)),
        ("data.split=1,0", (1.0, 0.0)),
        ("data.clean=lower,whitespace", ("lower", "whitespace")),
        ("data.clean=lower", ("lower",)),
        ('data.clean=["lower", "whitespace"]', ("lower", "whitespace")),
        ("data.clean=[]", ()),
        ("data.train=my text.txt", "my text.txt"),
        ("data.train=a=b.txt", "a=b.txt"),
        ("data.train='quoted.txt'", "quoted.txt"),
        ("data.train=", ""),
        ("data.train=2024", "2024"),
        ('data.columns={text="body"}', {"text": "body"}),
        ("train.compile=true", True),
        ("train.compile=false", False),
        ("tokenizer.kind=char", "char"),
        ("model.tied=false", False),
    ],
)
def test_settings_of_the_command_line_take_the_type_of_their_key(assignment, value):
    changed = recipes.read("gpt", recipes.settings([assignment])).flat()[assignment.split("=")[0].strip()]
    assert changed == value
    assert type(changed) is type(value)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("train.stps=500", ["train.stps", "'train.steps'"]),
        ("trian.steps=500", ["trian.steps", "'train.steps'"]),
        ("steps=500", ["steps"]),
        ("train.steps=many", ["train.steps", "whole number", "'many'"]),
        ("train.steps=0", ["train.steps", "at least 1"]),
        ("train.lr=nan", ["train.lr", "finite"]),
        ("train.epochs=-1", ["train.epochs", "at least 0"]),
        ("train.betas=0.9,1.5", ["train.betas", "from 0 to 0.999999"]),
        ("train.compile=yes", ["train.compile", "true or false"]),
        ("train.betas=0.9", ["train.betas", "2 values"]),
        ("tokenizer.kind=letters", ["tokenizer.kind", "char", "bpe", "'letters'"]),
        ("train.steps", ["--set", "section.key=value", "'train.steps'"]),
    ],
)
def test_wrong_settings_are_refused(assignment, words):
    sentence = refusal(lambda: recipes.read("gpt", recipes.settings([assignment])))
    for word in words:
        assert word in sentence


def test_later_settings_win_over_earlier_ones_and_over_the_tiny_table():
    changes = recipes.settings(["train.steps=5", "train.steps=6"])
    assert recipes.read("gpt", changes).train.steps == 6
    assert recipes.read("gpt", changes, tiny=True).train.steps == 6
    assert recipes.read("gpt", tiny=True).train.steps == 2


def test_steps_that_are_asked_for_are_made_where_the_recipe_counts_epochs():
    assert recipes.read("constituency").train.epochs > 0
    asked = recipes.read("constituency", {"train.steps": 20}).train
    assert (asked.steps, asked.epochs) == (20, 0.0)
    assert recipes.read("constituency", {"train.steps": 20, "train.epochs": 3.0}).train.epochs == 3.0


def test_a_recipe_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipes.read("gpt").train.steps = 5


def test_differences_name_the_key_the_old_and_the_new_value():
    old = recipes.read("gpt")
    new = recipes.read("gpt", {"train.lr": 0.5, "model.dim": 64})
    lr, dim = old.train.lr, old.model.dim
    assert sorted(recipes.differences(old, new)) == [f"model.dim: {dim} became 64", f"train.lr: {lr} became 0.5"]
    assert list(recipes.differences(old, recipes.read("gpt"))) == []


def test_recipes_of_two_systems_differ_by_name_too():
    lines = list(recipes.differences(recipes.read("gpt"), recipes.read("rnn-lm")))
    assert "system: 'gpt' became 'rnn-lm'" in lines


# ---- writing ----


@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_recipes_parse_and_survive_being_written(write, name, tiny):
    recipe = recipes.read(name, tiny=tiny)
    assert recipe.about
    assert recipes.read(write(recipe.toml())) == recipe


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_survives_as_a_toml_string(text):
    recipe = recipes.read("gpt", {"data.train": text, "data.columns": {"text": text, text: "1"}})
    back = tomllib.loads(recipe.toml())["data"]
    assert back["train"] == text
    assert back["columns"] == {"text": text, text: "1"} if text != "text" else {"text": "1"}


@pytest.mark.parametrize(
    "text", ['say "hi"', r"C:\new\table", "two\nlines", "tab\there", "naïve 🙂 \u2028", "\x7f\x00"]
)
def test_awkward_strings_survive_a_round_trip(write, text):
    recipe = recipes.read("gpt", {"data.train": text})
    assert recipes.read(write(recipe.toml())).data.train == text


@given(st.floats(0, 1000))
def test_numbers_survive_exactly(number):
    recipe = recipes.read("gpt", {"train.lr": number})
    assert tomllib.loads(recipe.toml())["train"]["lr"] == number


# ---- the shipped files, as people read them ----


@pytest.mark.parametrize("name", SHIPPED)
def test_the_first_line_is_the_command_that_runs_it(name):
    first = recipes.source(name).text.splitlines()[0]
    assert re.match(rf"# lexigraph train {re.escape(name)} .*--out \S+", first)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_key_carries_its_reason_on_the_same_line(name):
    bare, section = [], ""
    for number, line in enumerate(recipes.source(name).text.splitlines(), 1):
        if header := re.match(r"\[(\w+)\]", line):
            section = header[1]
        elif "=" in line and not line.startswith("#") and section not in ("", "tiny", "expected"):
            reason = re.sub(r'"[^"]*"', "", line).partition("#")[2]  # a "#" within a string is no comment
            if not reason.strip():
                bare.append(f"line {number}: {line}")
    assert bare == []


@pytest.mark.parametrize("name", SHIPPED)
def test_an_expected_score_says_what_of_and_how_sure(name):
    goal = recipes.read(name).expected
    if goal.metric:
        assert goal.value > 0
        assert goal.tolerance > 0
        assert goal.data


def test_every_system_has_a_recipe():
    assert {recipes.read(name).system for name in SHIPPED} == {*SYSTEMS, *WORD_SYSTEMS}


UNMEASURED = {  # their trainings are still to come; strict, so that each leaves this list then
    *("picture-published", "skip-thought", "sentence-encoder", "seq2seq-multi30k-gpu"),
    *("vit-cifar10-gpu", "captioner-flickr8k-gpu", "clip-flickr8k-gpu", "gpt-bert"),
}
AWAITED = pytest.mark.xfail(reason="not yet trained", strict=True)


@pytest.mark.parametrize("name", [pytest.param(n, marks=AWAITED) if n in UNMEASURED else n for n in SHIPPED])
def test_every_recipe_states_its_expected_score(name):
    expected = recipes.read(name).expected
    losses, shares = (
        ("nll", "perplexity", "bits_per_byte", "kl", "detection_nll"),
        ("exact", "bleu", "accuracy", "f1", "similarity", "las", "r2", "pearson", "picture_r1"),
    )
    assert expected.metric in (*losses, *shares)
    assert expected.value > 0
    assert 0 < expected.tolerance < expected.value / 5
    assert expected.data


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("data.unit", "pair", "objective.noise"),
        ("train.greater_is_better", True, "the task knows"),
        ("model.mask", 3, "tokenizer.special"),
        ("model.sentinels", 8, "<0>"),
    ],
)
def test_keys_that_are_gone_are_refused_with_what_stands_in_their_place(key, value, instead, tmp_path):
    with pytest.raises(UsageError, match=f"^{key}.* is gone; leave it out: .*{instead}"):
        recipes.read("t5", {key: value})
    section, name = key.split(".")
    file = tmp_path / "old.toml"
    file.write_text(f'system = "t5"\n[{section}]\n{name} = {json.dumps(value)}\n')
    with pytest.raises(UsageError, match=rf"old\.toml, line 3: {key}.* is gone; leave it out"):
        recipes.read(file)


@pytest.mark.parametrize(
    ("system", "was", "now"),
    [
        ("bert", "objective.rate", "objective.mask_rate"),
        ("picture", "objective.blur", "objective.noise_level"),
        ("picture", "objective.stretch", "objective.position_jitter"),
        ("t5", "objective.mean", "objective.mean_span"),
        ("gpt", "train.graphs", "train.cuda_graphs"),
        ("gpt", "train.renew", "train.restart_every"),
    ],
)
def test_keys_of_another_name_are_refused_with_the_new_one(system, was, now):
    with pytest.raises(UsageError, match=f"^{was} is gone; write {now}\\.$"):
        recipes.read(system, {was: 1})


def test_a_system_that_became_a_case_of_another_is_refused_with_what_to_write(write):
    with pytest.raises(UsageError, match=r'mine\.toml, line 1: .*write system = "rnn-lm" and cell = "lstm"'):
        recipes.read(write('system = "lstm-lm"\n'))


def test_older_recipes_of_such_a_system_are_read_as_that_case():
    part = {"system": "lstm-lm", "layers": 1}
    upgraded = upgrades.recipe({"system": "lstm-lm", "model": {"dim": 8}, "parts": {"reader": part}}, 2)
    assert upgraded == {
        "system": "rnn-lm",
        "model": {"cell": "lstm", "dim": 8},
        "parts": {"reader": {"system": "rnn-lm", "cell": "lstm", "layers": 1}},
    }
    assert part["system"] == "lstm-lm"  # the caller's own are left alone
