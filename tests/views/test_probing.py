"""What a layer knows is what a line through its states finds, on sentences that had no part in it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph.views import probing


def test_the_states_that_are_probed_are_those_of_words(tiny_runs):
    """A word of several pieces is their mean; alone or among others, it is the same."""
    model = lexigraph.load(tiny_runs("bert"))
    reader, tokenizer = probing.reader_of(model)
    words = ["Extraordinary", "dogs", "sing", "."]
    pieces = tokenizer.encode_words(words)
    assert len(pieces[0]) > 1
    (layers,) = probing._states(model, reader, tokenizer, [words])
    batch = reader.reading([np.array([tokenizer.eos, *np.concatenate(pieces), tokenizer.eos])])
    with torch.no_grad():
        whole = [layer[0, 1:] for layer in reader.states(batch).layers]
    for layer, expected in zip(layers, whole, strict=True):
        assert layer.shape[0] == len(words)
        assert np.allclose(layer[0], expected[: len(pieces[0])].mean(0), atol=1e-5)
    (beside,) = probing._states(model, reader, tokenizer, [["She", "ran", "home", "and", "slept", "."], words])
    assert np.allclose(beside[-1][-4:], layers[-1], atol=1e-4)


def test_a_layer_that_holds_the_tag_is_told_from_one_that_does_not(tiny_runs, monkeypatch):
    """Tags that follow from the word before: no word by itself says them, a state that saw it does."""
    random = np.random.default_rng(0)
    sentences = []
    for _ in range(200):
        words = [str(random.choice(["a", "b", "c"])) for _ in range(8)]
        sentences.append((words, ["start", *(f"after-{word}" for word in words[:-1])]))

    def states(model, reader, tokenizer, rows):
        known = {"a": 0, "b": 1, "c": 2}
        now = np.concatenate([np.eye(3)[[known[word] for word in row]] for row in rows])
        before = np.concatenate([np.vstack([np.zeros(3), np.eye(3)[[known[w] for w in row[:-1]]]]) for row in rows])
        yield [now, np.hstack([now, before])]

    monkeypatch.setattr(probing, "_states", states)
    model = lexigraph.load(tiny_runs("bert"))
    found = probing.probed(model, sentences)
    assert found.layers[0]["value"] < 0.5
    assert found.layers[1]["value"] == 1.0
    assert found.most_frequent["value"] < 0.5
    assert (found.fitted, found.judged, found.tags) == (800, 800, 4)
    alone = probing.probed(model, sentences, "B")
    assert alone.fitted + alone.judged == sum(words.count("b") for words, _ in sentences)


def test_equal_sentences_count_once(tmp_path):
    file = tmp_path / "tags.conll"
    file.write_text("She PRON\nsings VERB\n\nHe PRON\nran VERB\n\n" * 3, "utf-8")
    assert probing.tagged(str(file)) == [(["She", "sings"], ["PRON", "VERB"]), (["He", "ran"], ["PRON", "VERB"])]
    lines = tmp_path / "tags.tsv"
    lines.write_text("tokens\ttags\nShe sings\tPRON VERB\n", "utf-8")
    assert probing.tagged(str(lines)) == [(["She", "sings"], ["PRON", "VERB"])]
    assert len(probing.tagged("grammar")) > 100


@pytest.mark.parametrize("system", ["elmo", "gpt", "xlnet"])
def test_every_reader_has_a_probe_for_each_layer(tiny_runs, system):
    model = lexigraph.load(tiny_runs(system))
    found = probing.probed(model, probing.tagged("grammar")[:80])
    assert list(found.layers) == list(range(probing.reader_of(model)[0].depth))
    assert all(0 <= each["value"] <= 1 for each in found.layers.values())
    assert found.most_frequent["value"] > 0.5
