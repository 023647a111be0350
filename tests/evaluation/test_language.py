"""Scores of language models against hand-worked numbers and against each other."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import lexigraph.api
from lexigraph.evaluation.intervals import bootstrap
from lexigraph.evaluation.language import baseline, headline, row_sums, unigram_baseline
from lexigraph.evaluation.measure import measured
from lexigraph.text.columns import Column
from lexigraph.text.encoding import Example
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Stored, Table, tables
from lexigraph.words.ngram import NgramModel

TEXT = {"text": Column("tokens")}


def stored(ids: list[int], offsets: list[int], text_bytes: int) -> Stored:
    counts = np.bincount(ids, minlength=5)
    return Stored(TEXT["text"], np.array(ids, np.uint16), np.array(offsets), counts=counts, bytes=text_bytes)


def table(text: Stored) -> Table:
    return Table(len(text.lengths()), {"text": text})


def test_the_unigram_baseline_by_hand():
    train, test = stored([2, 3, 3, 4, 2], [0, 4], 8), stored([2, 3, 2], [0, 2], 2)
    # counts + 1 over five ids: 1 1 3 3 2 of 10; the test predicts one 3 and one 2
    nll = -(math.log(0.3) + math.log(0.3)) / 2
    found = unigram_baseline(train.counts, test)
    assert found["nll"] == pytest.approx(nll)
    assert found["bits_per_byte"] == pytest.approx(2 * nll / math.log(2) / 2)


def test_the_bootstrap_interval_covers_the_mean_and_shrinks_with_more_rows():
    random = np.random.default_rng(1)
    widths = []
    for rows in (100, 10_000, 40_000):
        totals = random.gamma(2.0, 2.0, rows)
        low, high = bootstrap(totals, np.ones(rows)) or (0, 0)
        assert low < totals.mean() < high
        assert high - low == pytest.approx(2 * 1.96 * totals.std() / rows**0.5, rel=0.15)
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("text") / "held-out.txt"
    path.write_text("She laughed .\nDid they open the old door ?\nHe is not tired .\n" * 3)
    return path


def test_too_few_rows_give_no_interval():
    assert bootstrap(np.ones(5), np.ones(5)) is None


def test_unknown_words_are_told(tmp_path, text):
    changes = {"tokenizer.kind": "word", "tokenizer.size": 40}
    lexigraph.api.train("gpt", "grammar", tmp_path / "run", set=changes, tiny=True, quiet=True)
    scores = lexigraph.api.evaluate(tmp_path / "run", text)
    model = lexigraph.api.load(tmp_path / "run")
    ids = [i for line in text.read_text().splitlines() for i in model.tokenizer.encode(line)]
    assert scores["unknown"] == pytest.approx(
        ids.count(model.tokenizer.unk) / (len(ids) + 10)
    )  # nine lines, ten ends
    assert scores["unknown"] > 0.1


WORDS = ["ann sang a song .", "bob heard it .", "eve did not .", "she is from <unk> ."]


def word_model(folder: Path, **changes: object) -> Path:
    """A language model of these words, all of which it knows."""
    (folder / "train.txt").write_text("".join(line + "\n" for line in WORDS * 20))
    settings = {"tokenizer.kind": "word", "data.split": [1.0]} | changes
    lexigraph.api.train("gpt", folder / "train.txt", folder / "run", set=settings, tiny=True, quiet=True)
    return folder / "run"


def test_white_space_that_the_vocabulary_drops_earns_nothing(tmp_path):
    run = word_model(tmp_path)
    cleaner, loose = tmp_path / "cleaner.txt", tmp_path / "loose.txt"
    cleaner.write_text("ann did not .\nbob is from <unk> .\n")
    loose.write_text("   ann  did not   . \n\tbob is from\t\t<unk> .\n")
    scores = [lexigraph.api.evaluate(run, file) for file in (cleaner, loose)]
    assert [found["bytes"] for found in scores] == [len(cleaner.read_bytes())] * 2
    assert scores[0]["bits_per_byte"] == scores[1]["bits_per_byte"]
    assert scores[0]["unigram_baseline"] == scores[1]["unigram_baseline"]


@pytest.mark.parametrize(
    ("changes", "text", "lost"),
    [({"tokenizer.lower": True}, "bob heard Ann .", "'Ann'"), ({}, "bob heard a zebra .", "'zebra'")],
    ids=["letter case", "unknown words"],
)
def test_a_vocabulary_that_loses_what_was_said_gets_no_bits_per_byte(tmp_path, changes, text, lost):
    run = word_model(tmp_path, **changes)
    (tmp_path / "test.txt").write_text(text + "\n")
    scores = lexigraph.api.evaluate(run, tmp_path / "test.txt", train=tmp_path / "train.txt")
    assert "bits_per_byte" not in str([key for part in scores.values() if isinstance(part, dict) for key in part])
    assert lost in scores["bits_per_byte_refused"]
    assert scores["perplexity"]["value"] == pytest.approx(math.exp(scores["nll"]["value"]))
    line = headline(scores)
    assert f"perplexity {scores['perplexity']['value']:.2f}" in line
    assert f"5-grams: {math.exp(scores['ngram_baseline']['nll']):.2f}" in line
    assert "no bits per byte" in line


def test_without_bits_per_byte_the_loss_chooses_the_weights_and_that_is_said(tmp_path, capsys):
    train, valid = tmp_path / "train.txt", tmp_path / "valid.txt"
    train.write_text("".join(line + "\n" for line in WORDS * 20))
    valid.write_text("ann heard a zebra .\n")
    changes = {"tokenizer.kind": "word", "data.split": [1.0], "train.steps": 6, "train.validate_every": 1,
               "train.lr": 3.0, "train.metric": "bits_per_byte"}  # fmt: skip
    lexigraph.api.train("gpt", train, tmp_path / "run", valid=valid, set=changes, tiny=True)
    assert "the loss chooses the best weights" in capsys.readouterr().err
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    looks = {event["step"]: event for event in log if event["kind"] == "valid"}
    assert len(looks) == 6
    assert not any("bits_per_byte" in event for event in looks.values())
    best = json.loads((tmp_path / "run" / "results.json").read_text())["best_step"]
    assert best == min(looks, key=lambda step: looks[step]["loss"])


def test_validation_on_the_first_tokens_reads_the_first_lines(tiny_run):
    model = lexigraph.api.load(tiny_run)
    network, recipe = model.network, model.recipe
    lines = table(stored([2, 5, 5, 2, 6, 2, 7, 7, 7, 2], [0, 3, 5, 9], 9))
    rows = measured(network, lines, recipe, row_sums, torch.device("cpu"), limit=4)
    assert sorted(rows["tokens"]) == [2, 3]


def test_evaluation_gives_what_score_gives(tiny_run, text, tmp_path):
    tiny_run = shutil.copytree(tiny_run, tmp_path / "run")
    model = lexigraph.api.load(tiny_run)
    lines = text.read_text().splitlines()
    scores = lexigraph.api.evaluate(tiny_run, text)
    assert scores["nll"]["value"] * scores["tokens"] == pytest.approx(-sum(model.score(lines)), rel=1e-4)
    assert scores["tokens"] == sum(len(model.tokenizer.encode(line)) + 1 for line in lines)
    assert scores["bytes"] == len(text.read_bytes())  # a boundary counts as one byte, as the line end does
    per_byte = scores["nll"]["value"] * scores["tokens"] / math.log(2) / scores["bytes"]
    assert scores["bits_per_byte"]["value"] == pytest.approx(per_byte)
    assert scores["perplexity"]["value"] == pytest.approx(math.exp(scores["nll"]["value"]))
    kept = json.loads((tiny_run / "results.json").read_text())
    assert kept["files"][str(text)] == scores
    assert set(kept["scores"]) == {"valid", "test"}  # the held-out ones stay as they were
    assert scores["unigram_baseline"]["nll"] > 0
    for part in ("system:gpt", "tokenizer:bpe", "split:", "seed:", "steps:", "torch:"):
        assert part in scores["signature"]


@pytest.mark.parametrize("streams", [1, 3])
def test_carried_streams_score_every_token_once(tmp_path, streams):
    changes = {"eval.streams": streams, "eval.batch_tokens": 64}
    model = lexigraph.api.train("lstm-lm", "grammar", tmp_path / "run", set=changes, tiny=True, quiet=True)
    folder = tmp_path / "tables"
    examples = [Example("test", {"text": "She laughed at the old door ."}) for _ in range(20)]
    write_tables(examples, TEXT, model.vocabularies, folder, needed="test")
    loaded = tables(folder, TEXT)["test"]
    values = loaded.columns["text"].values
    rows = measured(model.network, loaded, model.recipe, row_sums, torch.device("cpu"))
    assert rows["tokens"].sum() == len(values) - 1
    if streams == 1:  # exact: the same as reading the whole stream at once
        ids = torch.from_numpy(values.astype(np.int64))
        log_p = model.network(ids[None, :-1]).detach().log_softmax(-1)[0]
        assert rows["nll"].sum() == pytest.approx(-float(log_p.gather(1, ids[1:, None]).sum()), rel=1e-5)


def test_the_ngram_baseline_is_that_of_the_ngram_model_on_the_same_tokens():
    train = table(stored([2, 3, 4, 2, 3, 3, 2], [0, 3, 6], 9))
    test = table(stored([2, 3, 4, 2], [0, 3], 4))
    found = baseline(train)(test)
    model = NgramModel.train([["3", "4"], ["3", "3"]], order=5, vocabulary=["0", "1", "2", "3", "4"])
    assert found["nll"] == pytest.approx(-model.score(["3", "4"]) / 3)
    assert found["bits_per_byte"] == pytest.approx(3 * found["nll"] / math.log(2) / 4)


def test_a_language_model_is_printed_beside_ngrams(tiny_runs, tmp_path, text):
    shutil.copytree(tiny_runs("lstm-lm"), tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "results.json").read_text())["scores"]["valid"]
    assert scores["ngram_baseline"]["bits_per_byte"] < scores["unigram_baseline"]["bits_per_byte"]
    assert "5-grams" in headline(scores)
    later = lexigraph.api.evaluate(tmp_path / "run", text, train="grammar")
    assert later["ngram_baseline"]["trained_on"] > 1000
