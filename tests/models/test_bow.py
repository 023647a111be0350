"""The bag-of-words classifier: by hand, against scikit-learn, on text, and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.models.bow import BagOfWords, Config, Objective
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies

ROWS = [np.array([2, 7, 5, 7, 2]), np.array([2, 6, 2])]  # between boundaries
PRAISE = ["good film", "a good and fine story", "fine acting", "good story", "a fine film", "good acting"]
BLAME = ["bad film", "a bad and dull story", "dull acting", "bad story", "a dull film", "bad acting"]


def network(features: str = "counts") -> BagOfWords:
    made = BagOfWords(Config(features), Objective(), Vocabularies({"text": Ids(8), "label": Labels(("a", "b"))}))  # type: ignore[arg-type]
    with torch.no_grad():
        made.weight.weight.copy_(torch.arange(16.0).view(8, 2))  # word v: (2 v, 2 v + 1)
        made.bias.copy_(torch.tensor([0.5, -0.5]))
    return made


@pytest.mark.parametrize(
    ("features", "first"), [("counts", 7 + 5 + 7), ("binary", 7 + 5), ("shares", (7 + 5 + 7) / 3)]
)
def test_logits_are_sums_of_the_weights_of_words(features, first):
    words = {"counts": 3, "binary": 2, "shares": 1}[features]
    made = network(features)
    found = made.logits(made.prepare({"text": ROWS}))
    expected = [[2 * first + 0.5, 2 * first + words - 0.5], [12.5, 12.5]]
    assert torch.allclose(found, torch.tensor(expected))


def test_the_order_of_words_does_not_matter():
    made = network("binary")
    one, other = (made.logits(made.prepare({"text": [row]})) for row in (ROWS[0], ROWS[0][::-1]))
    assert torch.equal(one, other)


def test_a_label_that_training_has_not_seen_is_no_loss():
    made = network()
    batch = made.prepare({"text": ROWS, "label": [np.array(1), np.array(-1)]})
    terms, _ = made.loss(batch)
    assert batch.counts == {"loss": 1.0}
    alone, _ = made.loss(made.prepare({"text": ROWS[:1], "label": [np.array(1)]}))
    assert torch.allclose(terms["loss"].total, alone["loss"].total)


def train(folder: Path, texts: list[tuple[str, str]], **changes: object):
    folder.mkdir(exist_ok=True)
    data = folder / "labels.tsv"
    data.write_text("".join(f"{text}\t{label}\n" for text, label in texts))
    fixed = {"data.split": [1.0], "train.batch_tokens": 32, "train.tensorboard": False, "tokenizer.min_count": 1}
    return api.train("bow", data, folder / "run", quiet=True, set=fixed | changes)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    texts = [(text, "praise") for text in PRAISE] + [(text, "blame") for text in BLAME]
    return train(tmp_path_factory.mktemp("bow"), texts, **{"train.steps": 300})


def test_it_learns_which_words_speak_for_which_class(judge):
    assert [str(found) for found in judge.classify(["a good story", "dull film"])] == ["praise", "blame"]
    found = judge.classify("a good story")
    assert found.probability == pytest.approx(max(found.probabilities.values()))
    assert sum(found.probabilities.values()) == pytest.approx(1)
    weights = judge.word_weights(2)
    assert {name: {word for word, _ in words} for name, words in weights.items()} == {
        "praise": {"good", "fine"},
        "blame": {"bad", "dull"},
    }


def test_probabilities_are_those_of_logistic_regression(tmp_path):
    """Trained to its end without weight decay on data that no plane separates, it is scikit-learn's model."""
    texts = [
        ("x y", "a"),
        ("x", "b"),
        ("y", "a"),
        ("x y", "b"),
        ("z", "a"),
        ("z x", "b"),
        ("y z", "b"),
        ("x z", "a"),
    ] * 2
    changes = {"train.steps": 1500, "train.weight_decay": 0.0, "model.features": "counts", "train.lr": 0.03}
    model = train(tmp_path / "a", texts, **changes)
    counts = CountVectorizer(token_pattern=r"\S+")
    peer = LogisticRegression(C=1e6, max_iter=5000).fit(
        counts.fit_transform([t for t, _ in texts]), [c for _, c in texts]
    )
    asked = ["x", "y", "z", "x y", "x y z"]
    ours = [found.probabilities["b"] for found in model.classify(asked)]
    assert ours == pytest.approx(peer.predict_proba(counts.transform(asked))[:, 1], abs=0.02)


def test_labels_of_held_out_text_that_training_has_not_seen_are_wrong_and_told(tmp_path, capsys):
    (tmp_path / "a.tsv").write_text("good film\tpraise\nbad film\tblame\n" * 20)
    (tmp_path / "test.tsv").write_text("good film\tpraise\nodd film\tdoubt\n")
    changes = {"data.split": [1.0], "train.steps": 30, "train.batch_tokens": 32, "train.tensorboard": False}
    api.train("bow", tmp_path / "a.tsv", tmp_path / "run", test=tmp_path / "test.tsv", set=changes)
    told = f"label that training has not seen ('doubt', first in {tmp_path / 'test.tsv'}, line 2)"
    assert told in capsys.readouterr().err
    scores = json.loads((tmp_path / "run" / "results.json").read_text())["scores"]["test"]
    assert scores["accuracy"]["value"] == 0.5
    assert scores["unseen_labels"] == 1
    with pytest.warns(UserWarning, match="'doubt'"):
        shown = CliRunner().invoke(app, ["eval", str(tmp_path / "run"), "--data", str(tmp_path / "test.tsv")])
    table = dict(line.split("\t")[:2] for line in shown.stdout.splitlines())
    assert table["accuracy"] == "0.5000"
    assert table["always the commonest class"] == "0.0000"  # blame: both classes are as common in training


def test_the_command_line_names_classes_and_words(judge):
    found = CliRunner().invoke(app, ["classify", str(judge.path), "good film", "dull story"])
    rows = [line.split("\t") for line in found.output.splitlines()]
    assert [(row[0], row[2]) for row in rows] == [("praise", "good film"), ("blame", "dull story")]
    shown = CliRunner().invoke(app, ["classify", str(judge.path), "--words", "1"]).output
    assert "praise" in shown
    assert "blame" in shown
