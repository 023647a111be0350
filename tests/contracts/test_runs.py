"""Contracts of whole runs, over every system: resume, save and load, recipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lexigraph.api
from lexigraph import recipe as recipes
from lexigraph.registry import SYSTEMS
from lexigraph.textmodel import TextModel

from .tiny import SENTENCES, bound_by, form_of

FOUNDATIONS = ("gpt", "lstm-lm")  # these two are killed often, each other system once


def trained(system: str, folder: Path) -> TextModel:
    """A model after its two tiny steps."""
    name, form = form_of(system)
    return lexigraph.api.train(name, "grammar", folder / "run", tiny=True, quiet=True, set=form)


@bound_by("resume")
def test_a_run_killed_at_random_moments_ends_the_same_to_the_last_bit(system, tmp_path):
    kills = 20 if system in FOUNDATIONS else 1
    name, form = form_of(system)
    changes = [f"{key}={str(value).lower()}" for key, value in form.items()]
    script = Path(__file__).with_name("kill_loop.py")
    done = subprocess.run(
        [sys.executable, script, name, tmp_path, str(kills), "7", *changes],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same to the last bit" in done.stdout


@bound_by("save-load")
def test_a_loaded_model_gives_the_same_outputs(system, tmp_path):
    model = trained(system, tmp_path)
    again = lexigraph.api.load(tmp_path / "run")
    assert again.abilities == model.abilities
    if "encode" in model.abilities:
        z = model.encode(SENTENCES)
        assert np.array_equal(z, again.encode(SENTENCES))
    if "decode" in model.abilities:
        assert model.decode(z) == again.decode(z)
    if "fill" in model.abilities:
        assert model.fill("She <mask> .") == again.fill("She <mask> .")
    if "translate" in model.abilities:
        assert model.translate(SENTENCES) == again.translate(SENTENCES)
    if "score" in model.abilities:
        given = {"sources": SENTENCES[::-1]} if "translate" in model.abilities else {}
        assert np.array_equal(model.score(SENTENCES, **given), again.score(SENTENCES, **given))
    if "generate" in model.abilities:
        assert model.generate(["She", "The"], max_new=5) == again.generate(["She", "The"], max_new=5)


@bound_by("batch-invariance")
@pytest.mark.parametrize("settings", [{"temperature": 1.0, "top_p": 0.9}, {"temperature": 0}, {"beam": 3}])
def test_generation_is_the_same_alone_and_in_a_batch(system, settings, tmp_path):
    if "generate" not in SYSTEMS[form_of(system)[0]].abilities:
        pytest.skip(f"{system} does not generate")
    model = trained(system, tmp_path)
    prompts = ["She", "The old man", "", "She"]
    together = model.generate(prompts, max_new=8, **settings)
    alone = [model.generate([prompt], max_new=8, **settings)[0] for prompt in prompts]
    assert together[:3] == alone[:3]


@bound_by("batch-invariance")
def test_translations_are_the_same_alone_and_in_a_batch(system, tmp_path):
    if "translate" not in SYSTEMS[form_of(system)[0]].abilities:
        pytest.skip(f"{system} does not translate")
    model = trained(system, tmp_path)
    together = model.translate(SENTENCES, beam=3)
    assert together == [model.translate(text, beam=3)[0] for text in SENTENCES]


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_trains_two_steps_under_its_tiny_override(name, tmp_path):
    lexigraph.api.train(name, "grammar", tmp_path / "run", tiny=True, quiet=True)
    log = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert any('"step": 2' in line for line in log)
    assert {"recipe.toml", "config.json", "tokenizer.json", "model.safetensors", "results.json"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }


def test_registry_and_recipes_name_the_same_systems():
    assert {recipes.source(name).tables["system"] for name in recipes.names()} == set(SYSTEMS)
