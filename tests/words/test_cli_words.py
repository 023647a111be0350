"""The verbs of word vectors, as a person types them."""

import json
import sys

import numpy as np
import pytest

from lexigraph import cli, comparison
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import constructions
from lexigraph.words.vectors import WordVectors

NAMES = [name for name in recipes.names() if recipes.of_word_vectors(name)]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text("\n".join(constructions.sentences(1500)) + "\n")

    def go(*words):
        monkeypatch.setattr(sys, "argv", ["lexigraph", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return go


def trained(run, name="skipgram", out="my.vec", *more):
    small = ("--dim", "12", "--epochs", "2", "--min-count", "2", "--threads", "1")
    code, printed, said = run("words", "train", name, "--data", "my.txt", "--out", out, *small, *more)
    assert code == 0, said
    assert printed.strip() == out
    return said


def test_from_text_to_answers(run, tmp_path):
    said = trained(run)
    assert "words/s" in said
    assert "loss" in said
    code, out, _ = run("words", "nearest", "my.vec", "she", "-k", "3")
    assert code == 0
    assert len(out.splitlines()) == 4
    assert run("words", "similarity", "my.vec", "she", "he")[0] == 0
    assert run("words", "analogy", "my.vec", "he", "she", "they")[0] == 0
    assert run("words", "outlier", "my.vec", "she", "he", "door")[0] == 0
    assert run("convert", "my.vec", "my.bin")[0] == 0
    assert np.array_equal(WordVectors.load("my.bin").vectors, WordVectors.load("my.vec").vectors)
    assert run("words", "map", "my.vec", "she", "he", "they", "door", "--out", "map.svg")[0] == 0
    assert (tmp_path / "map.svg").exists()
    code, out, _ = run("words", "search", "my.vec", "the door", "--data", "my.txt", "-k", "2")
    assert code == 0
    assert len(out.splitlines()) == 3
    code, out, _ = run("words", "senses", "my.vec", "door", "lamp", "-k", "3")
    assert code == 0
    assert {line.split("\t")[0] for line in out.splitlines()[1:]} == {"door", "lamp"}
    assert "is not among" in run("words", "senses", "my.vec", "doorr")[2]
    weat = ("-x", "door", "-y", "lamp", "-a", "he", "-b", "she")
    code, out, _ = run("words", "debias", "my.vec", "--pair", "he:she", *weat, "--out", "fair.vec")
    assert code == 0
    assert "after" in out


def test_a_curve_over_a_setting_is_a_table_and_a_page(run, tmp_path):
    (tmp_path / "word-vectors-eval" / "word-sim").mkdir(parents=True)
    pairs = "she\the\t9\nshe\tdoor\t1\nhe\tthey\t8\nlamp\tdoor\t5\n"
    (tmp_path / "word-vectors-eval" / "word-sim" / "mine.txt").write_text(pairs)
    few = ("--set", "epochs=1", "--set", "min_count=2", "--set", "threads=1")
    asked = ("words", "curve", "ppmi-svd", "--data", "my.txt", "--benchmarks", ".", *few)
    code, out, said = run(*asked, "--over", "side=both,left", "--out", "side.html")
    assert code == 0, said
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["side", "both", "left"]
    assert rows[1][2] != rows[2][2]
    assert "<svg" in (tmp_path / "side.html").read_text()
    assert "exists already" in run(*asked, "--over", "dim=4,8", "--out", "side.html")[2]
    assert "must be a whole number" in run(*asked, "--over", "dim=4,many")[2]
    assert "as dim=50,100,200" in run(*asked, "--over", "dim")[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_for_word_vectors_trains(run, name):
    trained(run, name, "vectors", *(("--set", "buckets=500") if name == "fasttext" else ()))
    assert len(WordVectors.load("vectors")) > 50


def test_wrong_requests_give_a_sentence_and_leave_nothing(run, tmp_path):
    for words, sentence in {
        ("words", "train", "--out", "a.vec"): "There is no training text",
        ("words", "train", "--data", "my.txt"): "Say where the vectors go",
        ("words", "train", "--data", "my.txt", "--out", "no/a.vec"): "There is no folder no",
        ("words", "train", "skipgran", "--data", "my.txt", "--out", "a.vec"): "did you mean 'skipgram'?",
        ("words", "train", "--data", "my.txt", "--out", "a.vec", "--set", "dimm=3"): "did you mean 'words.dim'?",
        ("words", "train", "gpt", "--data", "my.txt", "--out", "a.vec"): "gpt is no recipe for word vectors",
        ("words", "train", "--data", "my.txt", "--out", "a.vec", "--min-count", "999999"): "Lower min_count",
        ("words", "train", "--data", "nothing.txt", "--out", "a.vec"): "no such file",
        ("words", "nearest", "nothing.vec", "she"): "nothing.vec",
        ("words", "eval", "my.txt"): "Say where the test sets are",
    }.items():
        code, out, said = run(*words)
        assert code in (1, 2)
        assert sentence in said, (words, said)
        assert not out
    assert [path.name for path in tmp_path.iterdir()] == ["my.txt"]


def test_an_unknown_word_names_the_nearest_spellings(run):
    trained(run)
    code, _, said = run("words", "nearest", "my.vec", "windoww")
    assert code == 1
    assert "'window'" in said


def test_a_broken_training_is_not_begun_anew_by_mistake(run, tmp_path):
    (tmp_path / ".my.vec.training").write_bytes(b"half")
    code, _, said = run("words", "train", "--data", "my.txt", "--out", "my.vec")
    assert code == 1
    assert "--resume" in said
    code, _, said = run("words", "train", "--data", "my.txt", "--out", "my.vec", "--resume")
    assert code == 1
    assert "damaged" in said


def test_recipes_lists_networks_and_word_vectors(run):
    _, out, _ = run("recipes")
    assert {"gpt", "glove"} <= {line.split("\t")[0] for line in out.splitlines()}
    _, out, _ = run("recipes", "glove")
    assert "[words]" in out


def test_compare_word_vectors_and_networks(run, tmp_path):
    code, out, said = run("compare", "cbow", "ppmi-svd", "--data", "my.txt", "--out", "c", "--set", "min_count=2")
    assert code == 0, said
    assert [line.split("\t")[0] for line in out.splitlines()] == ["recipe", "cbow", "ppmi-svd"]
    rows = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert rows[0]["words"] == rows[1]["words"] == len(WordVectors.load(tmp_path / "c" / "cbow"))
    with pytest.raises(UsageError, match="not measured alike"):
        comparison.compare(["cbow", "gpt"], "my.txt", "d")
    with pytest.raises(UsageError, match="no recipe named 'gbt'"):
        comparison.compare(["gbt"], "my.txt", "d")
    with pytest.raises(LexigraphError, match="Lower min_count"):
        comparison.compare(["cbow"], "my.txt", "e", set={"min_count": 10**6})


def test_compare_networks_with_ngrams_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = {"model.dim": 16, "train.steps": 2, "train.batch_tokens": 256, "train.warmup": 1, "data.sentences": 300}
    rows = comparison.compare(["lstm-lm"], "grammar", "c", set=small)
    assert rows[0]["bits_per_byte"] > rows[0]["bits_per_byte of n-grams"] > 0
