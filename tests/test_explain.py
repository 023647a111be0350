"""Every key of every recipe is explained, in one phrase that stands beside it in its dataclass."""

import dataclasses
import json
import re
import subprocess
import sys

import pytest

from lexigraph import cli, explain
from lexigraph import recipe as recipes
from lexigraph.errors import UsageError
from lexigraph.registry import SYSTEMS, WORD_SYSTEMS

LONGEST = 120  # characters of a phrase: it stands in one cell of a table
FIELDS = {
    f"{system}: {section}.{field.name}": field
    for system in (*SYSTEMS, *WORD_SYSTEMS)
    for section, kind in recipes.sections_of(system).items()
    for field in dataclasses.fields(kind)
}


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["lexigraph", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_every_key_of_every_section_of_every_system_has_a_short_phrase():
    assert len(FIELDS) > 900
    for name, field in FIELDS.items():
        about = field.metadata.get("about", "")
        assert 10 <= len(about) <= LONGEST, f"{name}: {about!r}"
        assert about == about.strip(), name
        assert not about.endswith("."), f"{name} is a phrase, not a sentence"


def test_a_key_is_explained_with_its_range_default_systems_and_the_reasons_of_recipes():
    (found,) = explain.explain("train.warmup")
    assert found.key.allowed == "a whole number, at least 0"
    assert found.key.default == "100"
    assert set(found.key.systems) == set(SYSTEMS)
    assert explain.Use("gpt", "50", "a twentieth of the run") in found.uses


def test_a_name_alone_is_explained_for_every_section_that_has_it():
    assert {found.key.name for found in explain.explain("min_count")} == {"tokenizer.min_count", "words.min_count"}


def test_systems_that_mean_different_things_by_a_key_are_told_apart():
    meanings = {found.key.about: found.key.systems for found in explain.explain("model.layers")}
    assert meanings["layers of the decoder"] == ("picture",)
    assert "gpt" in meanings["layers, one above the other"]


def test_in_a_recipe_a_key_is_that_of_its_system():
    (found,) = explain.explain("model.positions", "gpt")
    assert found.key.systems == ("gpt",)
    assert found.key.allowed == "learned, sinusoidal or rotary"
    assert [use.value for use in found.uses] == ['"rotary"']


def test_further_tables_and_parts_have_the_keys_of_their_kind():
    assert explain.explain("data.books.train")[0].key.name == "data.train"
    assert explain.explain("parts.reader.heads")[0].key.name == "model.heads"
    assert "bert" in explain.explain("parts.reader.system")[0].key.about


@pytest.mark.parametrize(
    ("asked", "recipe", "answer"),
    [
        ("train.warmpu", None, "did you mean 'train.warmup'?"),
        ("warmpu", None, "did you mean 'warmup'?"),
        ("train.layers", None, "did you mean 'model.layers'?"),
        ("train.graphs", None, "write train.cuda_graphs"),
        ("words.dim", "gpt", "in the recipe gpt; did you mean 'model.dim'?"),
    ],
)
def test_a_wrong_key_is_answered_with_the_nearest(asked, recipe, answer):
    with pytest.raises(UsageError, match=re.escape(answer)):
        explain.explain(asked, recipe)


@pytest.mark.parametrize("name", ["gpt", "skipgram", "tagger"])
def test_recipes_with_keys_lists_each_key_of_the_resolved_recipe_once(name, monkeypatch, capsys):
    header, *rows = run(monkeypatch, capsys, "recipes", name, "--keys").splitlines()
    assert header.split("\t") == ["key", "value", "default", "allowed", "what it is"]
    assert [row.split("\t")[0] for row in rows] == [key for key in recipes.read(name).flat() if key != "system"]


def test_the_keys_of_a_part_are_listed_with_those_of_its_system(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('system = "tagger"\n[parts.reader]\nsystem = "bert"\nlayers = 2\n', encoding="utf-8")
    listed = {key.name: value for key, value in explain.recipe_keys(recipes.read(file))}
    assert listed["parts.reader.layers"] == "2"
    assert listed["parts.reader.system"] == '"bert"'


def test_a_reason_may_follow_a_text_that_holds_a_hash():
    source = recipes.Source("mine", '[data]\ntrain = "a#b.txt"  # mine\nvalid = "c#d"\n')
    assert source.comment("data", "train") == "mine"
    assert source.comment("data", "valid") == ""


def test_a_section_lists_its_keys_and_json_holds_the_same(monkeypatch, capsys):
    rows = run(monkeypatch, capsys, "explain", "words").splitlines()[1:]
    listed = json.loads(run(monkeypatch, capsys, "explain", "words", "--json"))
    assert [row.split("\t")[0] for row in rows] == [key["name"] for key in listed]
    assert "words.window" in rows[2]


def test_keys_that_no_model_has_are_explained_without_torch():
    asked = "from lexigraph.explain import explain; import sys; explain('train.warmup'), explain('words.window')"
    subprocess.run([sys.executable, "-c", f"{asked}; assert 'torch' not in sys.modules"], check=True)
