"""The tagger: spans as conlleval counts them, sentences in batches, files of words and tags, the command line."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.tagging import Spans
from lexigraph.models.tagger import Config, Objective, Tagger
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies

TAGS = Labels(("B-NP", "B-VP", "I-NP", "I-VP", "O"))


def network() -> Tagger:
    torch.manual_seed(0)
    config = Config(dim=8, embedding=6, dropout=0.0)
    return Tagger(config, Objective(), Vocabularies({"text": Ids(20), "tags": TAGS})).eval()


def test_a_word_of_several_pieces_is_their_mean():
    made, words = network(), [np.array([5]), np.array([6, 7])]
    with torch.no_grad():
        table = made.words.embedding.weight
        table[8] = table[[6, 7]].mean(0)
    whole, alike = (
        [made.outputs(made.prepare({"words": [row]}))["tags"][0]] for row in (words, [words[0], np.array([8])])
    )
    assert torch.allclose(whole[0], alike[0], atol=1e-6)


def test_a_word_sees_the_whole_sentence():
    made = network()
    one, other = (
        made.outputs(made.prepare({"words": [[np.array([5]), np.array([last])]]}))["tags"][0][0] for last in (6, 7)
    )
    assert not torch.allclose(one, other)


def test_f1_is_twice_the_right_spans_over_all(monkeypatch):
    """By hand: of two true spans one is found, and one more is called: F1 = 2 · 1 / (2 + 2)."""
    made = network()
    rows = {"words": [[np.array([5])] * 4], "tags": [np.array([0, 2, 4, 1])]}  # B-NP I-NP O B-VP
    called = torch.nn.functional.one_hot(torch.tensor([[0, 2, 1, 4]]), 5).float() * 9  # B-NP I-NP B-VP O
    monkeypatch.setattr(made, "logits", lambda batch: called)
    sums, _ = Spans(TAGS.names).row_sums(made, made.prepare(rows), None)
    assert [int(sums[name].sum()) for name in ("span_right", "span_true", "span_called", "right", "words")] == [
        1,
        2,
        2,
        2,
        4,
    ]


def test_a_span_with_tags_that_training_has_not_seen_is_one_that_was_not_found(monkeypatch):
    made = network()
    rows = {
        "words": [[np.array([5])] * 4],
        "tags": [np.array([0, -1, -1, 4])],
    }  # B-NP, a longer one of no known type, O
    called = torch.nn.functional.one_hot(torch.tensor([[0, 4, 4, 4]]), 5).float() * 9
    monkeypatch.setattr(made, "logits", lambda batch: called)
    sums, _ = Spans(TAGS.names).row_sums(made, made.prepare(rows), None)
    assert [int(sums[name].sum()) for name in ("span_right", "span_true", "span_called")] == [1, 2, 1]


SENTENCES = [
    ("the dog sleeps", "D N V"),
    ("a cat runs", "D N V"),
    ("the cat sleeps", "D N V"),
    ("a dog runs", "D N V"),
]


def write(path, sentences):
    rows = ("\n".join(f"{w} {t}" for w, t in zip(a.split(), b.split(), strict=True)) for a, b in sentences)
    path.write_text("\n\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    data, test = write(folder / "a.conll", SENTENCES * 8), write(folder / "b.conll", [("the dog runs", "D N X")])
    changes = {"data.split": [1.0], "train.steps": 60, "train.batch_tokens": 32, "train.tensorboard": False}
    return api.train("tagger", data, folder / "run", test=test, quiet=True, set=changes | {"model.dim": 16})


def test_it_learns_from_a_file_of_words_and_tags(trained):
    (first, second) = trained.tag(["the cat runs", ["a", "dog"]])
    assert [str(word) for word in first] == ["the/D", "cat/N", "runs/V"]
    assert [word.tag for word in second] == ["D", "N"]
    assert all(0.3 < word.probability <= 1 for word in first)
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert scores["accuracy"]["value"] == pytest.approx(2 / 3)  # a tag that training has not seen is wrong
    assert "f1" not in scores  # these tags are no spans


def test_a_text_without_words_is_refused(trained):
    with pytest.raises(LexigraphError, match="Text 2 of 2 has no words"):
        trained.tag(["the dog", " "])


def test_tags_that_do_not_fit_their_words_are_refused_with_their_line(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"tokens": ["a", "dog"], "tags": ["D", "N"]}\n' * 9 + '{"tokens": ["a"], "tags": []}\n'
    )
    with pytest.raises(LexigraphError, match="line 10: there are 1 words and 0 tags"):
        api.train("tagger", tmp_path / "a.jsonl", tmp_path / "run", quiet=True, set={"data.split": [1.0]})
    assert not (tmp_path / "run").exists()


def test_the_command_line_prints_words_with_their_tags(trained):
    shown = CliRunner().invoke(app, ["tag", str(trained.path), "the dog sleeps"]).output
    assert shown == "the/D dog/N sleeps/V\n"
    shown = CliRunner().invoke(app, ["tag", str(trained.path), "--conll", "the dog"]).output
    assert shown == "the\tD\ndog\tN\n\n"


def test_a_writer_that_waits_for_the_tags_of_a_line_before_the_next_one_gets_them(trained, monkeypatch):
    """Through pipes, as a program that asks and listens; blank lines are no texts."""
    (reads, asks), (listens, writes) = os.pipe(), os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reads))
    monkeypatch.setattr(sys, "stdout", os.fdopen(writes, "w"))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(app, ["tag", str(trained.path)], standalone_mode=False)
        for line, answer in (("the cat runs\n", "the/D cat/N runs/V\n"), ("\na dog\nthe", "a/D dog/N\n")):
            os.write(asks, line.encode())
            assert os.read(listens, 1000).decode() == answer
        os.close(asks)
        asked.result()
    sys.stdout.flush()
    assert os.read(listens, 1000).decode() == "the/D\n"  # the end of input ends a line
