"""WEAT on sentences: sets that lie apart are told apart, by the same test as for words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.errors import AbilityError, UsageError
from lexigraph.evaluation.associations import associations
from lexigraph.words.bias import weat
from lexigraph.words.vectors import WordVectors
from tests.evaluation.latent.fakes import Codec

PLACES = {"pilot": 0.3, "smith": 0.4, "nurse": 1.2, "cook": 1.3, "he": 0.0, "she": np.pi / 2}
LINES = ["She sang .", "He slept .", "It rained ."]
SETS = (["pilot", "smith"], ["nurse", "cook"], ["he"], ["she"])


class Plane(Codec):
    """A sentence lies where its one known word does."""

    def encode(self, texts, *, pooling=None):
        angles = [next(PLACES[word] for word in text.lower().strip(".").split() if word in PLACES) for text in texts]
        return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], np.float32)


def test_sentences_that_lie_where_their_words_do_give_the_words_effect():
    words = WordVectors(list(PLACES), np.array([[np.cos(a), np.sin(a)] for a in PLACES.values()], np.float32))
    model = Plane([*LINES, *PLACES])
    found = associations(model, *SETS, templates=["This is {}."])
    assert found == pytest.approx(weat(words, *SETS))
    assert found.p == pytest.approx(1 / 6)  # the best of the six ways to split four sentences
    many = associations(model, *SETS)
    assert many.effect > 1.5
    assert many.p < 0.001  # of six templates for each word


def test_the_verb_takes_models_and_word_vectors(tiny_runs, tmp_path):
    sets = ["-x", "he, man", "-y", "she,woman", "-a", "sings", "-b", "slept"]
    for name in ("bert", "elmo", "skip-thought"):
        done = CliRunner().invoke(app, ["weat", str(tiny_runs(name)), *sets, "--template", "{} .", "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        X, Y, A, B = ["he", "man"], ["she", "woman"], ["sings"], ["slept"]
        asked = associations(lexigraph.load(tiny_runs(name)), X, Y, A, B, templates=["{} ."])
        assert found == pytest.approx({"effect": asked.effect, "p": asked.p})
    vectors = WordVectors(list(PLACES), np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
    vectors.save(tmp_path / "own.vec")
    asked = ["weat", str(tmp_path / "own.vec"), "-x", "pilot,smith", "-y", "nurse,cook", "-a", "he", "-b", "she"]
    done = CliRunner().invoke(app, asked)
    assert f"{weat(vectors, *SETS).effect:.3f}" in done.stdout
    refused = CliRunner().invoke(app, [*asked, "--template", "{} ."])
    assert isinstance(refused.exception, UsageError)
    assert isinstance(CliRunner().invoke(app, ["weat", str(tiny_runs("gpt")), *sets]).exception, AbilityError)


def test_a_template_says_where_the_word_stands():
    with pytest.raises(UsageError, match="'This is it' does not say"):
        associations(Plane(LINES), *SETS, templates=["This is it"])
