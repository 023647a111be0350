"""Contracts of whole runs, over every system: resume, save and load, recipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lexigraph.api
from lexigraph import recipe as recipes
from lexigraph.registry import SYSTEMS, WORD_SYSTEMS
from tests.contracts.asked import ASKED, SENTENCES

from .tiny import bound_by, form_of, forms_with

FOUNDATIONS = ("gpt", "lstm-lm")  # these two are killed often, each other system once
FORMS_TOO = ("picture-analogies", "tagger-bert")  # a second table and a part: other forms resume as their systems do


def lived(folder: Path, kills: int, *systems: str) -> str:
    """What kill_loop.py says of systems that it killed so often."""
    script = Path(__file__).with_name("kill_loop.py")
    command = [sys.executable, script, folder, str(kills), *systems]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("system", FOUNDATIONS)
def test_a_run_killed_at_many_moments_ends_the_same_to_the_last_bit(system, tmp_path):
    assert "the same to the last bit" in lived(tmp_path, 10, system)


@pytest.mark.parametrize("part", [0, 1])
def test_every_other_system_survives_a_kill_to_the_last_bit(part, tmp_path):
    others = [form for form in forms_with("resume") if form in (*SYSTEMS, *FORMS_TOO) and form not in FOUNDATIONS]
    said = lived(tmp_path, 1, *others[part::2])
    assert said.count("the same to the last bit") == len(others[part::2]) > 1


@bound_by("save-load")
def test_a_loaded_model_gives_the_same_outputs(system, tiny_runs):
    model, again = (lexigraph.api.load(tiny_runs(*form_of(system))) for _ in range(2))
    assert again.abilities == model.abilities
    for ability in model.abilities:
        assert ASKED[ability](model) == ASKED[ability](again), ability


@bound_by("batch-invariance", "generate")
@pytest.mark.parametrize("settings", [{"temperature": 1.0, "top_p": 0.9}, {"temperature": 0}, {"beam": 3}])
def test_generation_is_the_same_alone_and_in_a_batch(system, settings, tiny_runs):
    model = lexigraph.api.load(tiny_runs(*form_of(system)))
    prompts = ["She", "The old man", "", "She"]
    together = model.generate(prompts, max_new=8, **settings)
    alone = [model.generate([prompt], max_new=8, **settings)[0] for prompt in prompts]
    assert together[:3] == alone[:3]


@bound_by("batch-invariance", "translate")
def test_translations_are_the_same_alone_and_in_a_batch(system, tiny_runs):
    model = lexigraph.api.load(tiny_runs(*form_of(system)))
    together = model.translate(SENTENCES, beam=3)
    assert together == [model.translate(text, beam=3) for text in SENTENCES]


@pytest.mark.parametrize("name", [name for name in recipes.names() if not recipes.of_word_vectors(name)])
def test_every_recipe_trains_two_steps_under_its_tiny_override(name, tiny_runs):
    run = tiny_runs(name)
    log = (run / "log.jsonl").read_text().splitlines()
    assert any('"step": 2' in line for line in log)
    names = {path.name for path in run.iterdir()}
    assert {"recipe.toml", "config.json", "model.safetensors", "results.json", "unigrams.npy"} <= names
    assert any(name.endswith(("tokenizer.json", "labels.json", "numbers.json")) for name in names)


def test_registry_and_recipes_name_the_same_systems():
    assert {recipes.source(name).tables["system"] for name in recipes.names()} == {*SYSTEMS, *WORD_SYSTEMS}
