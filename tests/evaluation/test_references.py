"""BLEU and exact match are taken against the text that was given, not against what a tokenizer makes of it."""

from __future__ import annotations

import json

import pytest
import sacrebleu

from lexigraph import api
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.abilities.textmodel import Scored
from lexigraph.abilities.translating import Translator
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.errors import LexigraphError

TRAIN = [
    f"{name} {verb} ." for name in ("Ann", "Bob", "Eve", "Dan", "Ida") for verb in ("sang", "ran", "sat", "left")
]
SMALL = {"data.split": [1.0], "tokenizer.kind": "word", "train.batch_tokens": 64, "train.steps": 1}
LOSSES = {  # what a tokenizer loses of a text, so that even a perfect model cannot write it
    "letter case": ({"tokenizer.lower": True}, ["Ann sang .", "Bob ran ."], ["ann sang .", "bob ran ."]),
    "unknown words": ({}, ["Ann sang .", "A zebra ran ."], ["Ann sang .", "<unk> <unk> ran ."]),
    "white space": ({}, ["Ann  sang .", " Bob ran ."], ["Ann sang .", "Bob ran ."]),
}


def lines(file, texts):
    file.write_text("".join(text + "\n" for text in texts))
    return file


@pytest.fixture
def perfect(monkeypatch):
    """Every translator repeats its source, and every autoencoder gives its sentences back, token for token."""
    read = []

    def encode(space, rows):
        read[:] = rows
        return rows

    def hypotheses(model, z):
        return [[Scored(text, 0.0, 1, 0.0)] for text in model.tokenizer.decode_batch(read)]

    def translations(model, sources, **search):
        return [[Hypothesis(tuple(row.tolist()), 0.0, 0.0, True)] for row in sources]

    monkeypatch.setattr("lexigraph.latent.space.Space.encode", encode)
    monkeypatch.setattr(SentenceSpace, "hypotheses", hypotheses)
    monkeypatch.setattr(Translator, "translations", translations)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("system", ["transformer", "lstm-autoencoder"])
def test_what_the_vocabulary_loses_counts_against_it(system, loss, tmp_path, perfect):
    changes, given, written = LOSSES[loss]
    paired = system == "transformer"
    files = [lines(tmp_path / name, [f"{text}\t{text}" if paired else text for text in texts])
             for name, texts in (("train.tsv", TRAIN), ("test.tsv", given))]  # fmt: skip
    off = {} if paired else {"eval.mixture": 0}
    api.train(system, files[0], tmp_path / "run", tiny=True, quiet=True, set=SMALL | changes | off)
    scores = api.evaluate(tmp_path / "run", files[1])
    right = [a == b for a, b in zip(given, written, strict=True)]
    assert scores["exact"]["value"] == sum(right) / 2
    assert scores["bleu"]["value"] == pytest.approx(sacrebleu.corpus_bleu(written, [given], force=True).score)
    assert "|reference:raw" in scores["signature"]


def test_declared_cleaning_is_part_of_the_task_and_named(tmp_path, perfect):
    changes = {"data.clean": ["lower", "whitespace"], "eval.mixture": 0}
    train, test = lines(tmp_path / "train.txt", TRAIN), lines(tmp_path / "test.txt", ["Ann  sang .", "A zebra ran ."])
    api.train("lstm-autoencoder", train, tmp_path / "run", tiny=True, quiet=True, set=SMALL | changes)
    scores = api.evaluate(tmp_path / "run", test)
    assert scores["exact"]["value"] == 0.5
    assert "|reference:cleaned" in scores["signature"]


def test_an_unfinished_run_of_an_older_format_is_refused(tmp_path):
    changes = {"tokenizer.kind": "word", "train.batch_tokens": 64}
    file = lines(tmp_path / "a.txt", TRAIN)
    api.prepare("lstm-autoencoder", file, tmp_path / "run", valid=file, tiny=True, quiet=True, set=changes)
    config = tmp_path / "run" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"format": 1}))
    (tmp_path / "run" / "tables").rename(tmp_path / "run" / "tokens")
    with pytest.raises(LexigraphError, match="older Lexigraph"):
        api.train(out=tmp_path / "run", resume=True, quiet=True)
