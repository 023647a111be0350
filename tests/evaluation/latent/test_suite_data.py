"""The parts of the latent suite that read files, the probes, and the suite as a whole."""

from __future__ import annotations

import json
import shutil
from functools import partial

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from typer.testing import CliRunner

from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.latent import suite
from lexigraph.evaluation.latent.arithmetic import arithmetic
from lexigraph.evaluation.latent.edit_files import changed_words, edit_families, file_arithmetic, kept_words
from lexigraph.evaluation.latent.probes import FEATURES, labelled_pairs, probe, probes
from lexigraph.evaluation.latent.sentences import domain_sentences
from lexigraph.evaluation.latent.similarity import correlations, meaning_scores, similarity_pairs
from lexigraph.evaluation.latent.tables import cell, tables
from lexigraph.text.constructions import sentences
from tests.evaluation.latent.fakes import Adder, Codec, Judge

LINES = list(dict.fromkeys(sentences(120, seed=3)))
SMALL = suite.Sizes(20, 5, 5, 10, 3, 5, 5, 120, 20, 10, 40, 40, 5)


# ---- files of edits ----


@pytest.fixture
def edits(tmp_path):
    pairs = tmp_path / "sentence-edits"
    style = tmp_path / "styleptb" / "tense+voice"
    swapped = tmp_path / "styleptb" / "voice+pp-removal"
    for folder in (pairs, style, swapped):
        folder.mkdir(parents=True)
    nouns = [f"noun{i}" for i in range(40)]
    (pairs / "plural_pairs.tsv").write_text("a\tb\n" + "".join(f"one {n}\ttwo {n}\n" for n in nouns))
    (pairs / "dative.jsonl").write_text("".join(json.dumps({"a": f"x {n}", "b": f"y {n}"}) + "\n" for n in nouns))
    rows = [f"{n} is\t{n} is not\t{i % 2}\n" for i, n in enumerate(nouns)]
    (pairs / "semantoneg.tsv").write_text("premise\thypothesis\tlabel\n" + "".join(rows))
    (style / "train.tsv").write_text("2 0 he runs\the ran\n1 1 he ran\tit will be run by him\n0 0 he ran\the ran\n")
    (style / "test.tsv").write_text("2 0 she runs\tshe ran\n")
    (swapped / "train.tsv").write_text("1 0 he ate at home\the ate\n")
    (swapped / "test.tsv").write_text("1 0 she ate at home\tshe ate\n")
    return tmp_path


def test_families_of_pairs_are_found_and_halved(edits):
    found = edit_families(edits)
    assert list(found) == [
        "dative",
        "plural_pairs",
        "semantoneg",
        "styleptb: phrase removed",
        "styleptb: to the past",
    ]
    seen, held = found["plural_pairs"]
    assert (seen[0], len(seen), len(held)) == (("one noun0", "two noun0"), 20, 20)
    assert len(found["semantoneg"][0]) == 10  # label 1 only
    assert found["styleptb: to the past"] == ([("he runs", "he ran")], [("she runs", "she ran")])
    assert found["styleptb: phrase removed"][1] == [("she ate at home", "she ate")]  # codes in the other order
    assert list(edit_families(edits / "sentence-edits")) == ["dative", "plural_pairs", "semantoneg"]
    with pytest.raises(LexigraphError, match="no files of sentence pairs"):
        edit_families(edits / "nowhere")


def test_mean_differences_of_vectors_that_add_up(edits):
    families = {name: halves for name, halves in edit_families(edits).items() if name == "plural_pairs"}
    model = Adder([pair for half in families["plural_pairs"] for pair in half])
    found = file_arithmetic(model, families, 20)["plural_pairs"]
    assert [found[name]["value"] for name in ("exact", "changed_words", "kept_words", "reconstructed")] == [1] * 4
    assert (found["training"], found["skipped"], found["exact"]["rows"]) == (20, 0, 20)
    wrong = file_arithmetic(Codec(LINES, aside=" no"), families, 20)["plural_pairs"]
    assert wrong["exact"]["value"] == 0


def test_changed_words():
    assert changed_words("one cat sat", "two cats sat", "two cats ran")
    assert not changed_words("one cat sat", "two cats sat", "two cats one sat")
    assert not changed_words("the cat", "the the cat", "the cat")
    assert changed_words("he gave me it", "it he gave me", "x") is None
    assert kept_words("one cat sat", "two cats sat", "two cats ran") == 0


# ---- similarity ----


def test_correlations_are_those_of_scipy():
    random = np.random.default_rng(0)
    gold = random.normal(size=300).round(1)  # with ties
    made = gold + random.normal(size=300)
    found = correlations(made, gold)
    assert found["pearson"]["value"] == pytest.approx(pearsonr(made, gold).statistic)
    assert found["spearman"]["value"] == pytest.approx(spearmanr(made, gold).statistic)
    low, high = found["pearson"]["interval"]
    theirs = pearsonr(made, gold).confidence_interval()
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.03)
    assert correlations(np.ones(30), gold[:30])["pearson"]["value"] == 0


def test_a_cosine_that_is_the_gold_score_correlates_fully(tmp_path):
    model = Codec(LINES, latent=2)
    rows = [(f"here {i}", f"there {i}", float(np.cos(i / 20))) for i in range(40)]
    for i, (a, b, _) in enumerate(rows):
        model.known[a] = np.array([1.0, 0.0], np.float32)
        model.known[b] = np.array([np.cos(i / 20), np.sin(i / 20)], np.float32)
    found = meaning_scores(model, rows[::2], rows)
    assert found["measures"]["cosine"]["pearson"]["value"] == pytest.approx(1)
    assert found["measures"]["linear map"]["pearson"]["value"] > 0.98
    assert abs(found["measures"]["words, no model"]["spearman"]["value"]) < 0.5
    assert found["pairs"] == 40
    long = [("x " * 50, "y", 1.0), *rows]
    assert meaning_scores(model, rows, long)["skipped"] == 1


def test_sts_and_sick_are_read(tmp_path):
    for folder in ("sts-b", "sick"):
        (tmp_path / folder).mkdir()
    for split in ("train", "dev", "trial", "test"):
        (tmp_path / "sts-b" / f"sts-{split}.tsv").write_text('g\tf\t2012\t1\t2.5\tA "girl\tA boy\textra\n')
        header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
        (tmp_path / "sick" / f"SICK_{split}.tsv").write_text(header + "6\tNo boy\tA kid\t3.3\tNEUTRAL\n")
    found = similarity_pairs(tmp_path)
    assert found["sts-b"]["test"] == [('A "girl', "A boy", 2.5)]
    assert similarity_pairs(tmp_path / "sick") == {"sick": found["sick"]}
    assert found["sick"]["dev"] == [("No boy", "A kid", 3.3)]
    (tmp_path / "sts-b" / "sts-test.tsv").write_text("g\tf\t2012\t1\tmuch\tA\tB\n")
    with pytest.raises(LexigraphError, match="'much' is no score"):
        similarity_pairs(tmp_path)
    with pytest.raises(LexigraphError, match="sts-b or sick"):
        similarity_pairs(tmp_path / "other")


# ---- probes ----


def test_a_probe_finds_a_direction_and_nothing_in_noise():
    random = np.random.default_rng(0)
    labels = np.tile([0, 1], 200)
    noise = random.normal(size=(400, 8))
    plain, marked = noise.copy(), noise.copy()
    marked[:, 3] += 6 * labels
    assert probe(marked[:200], labels[:200], marked[200:], labels[200:], 2)["accuracy"]["value"] > 0.98
    found = probe(plain[:200], labels[:200], plain[200:], labels[200:], 2)
    assert found["accuracy"]["value"] == pytest.approx(0.5, abs=0.12)
    assert found["majority"]["value"] == 0.5
    assert probe(plain, np.zeros(400, int), plain, labels)["accuracy"]["value"] is None  # one class teaches nothing


def test_both_classes_share_their_other_words():
    for edit in FEATURES.values():
        pairs = labelled_pairs(edit, 0, "test")
        for a, b in [next(pairs) for _ in range(20)]:
            shared = set(a.lower().split()) & set(b.lower().split())
            assert a != b
            assert len(shared) >= 2  # at least the mark and a word


def test_probes_of_a_model_that_marks_negation():
    class Marking(Codec):
        def position(self, text):
            z = super().position(text)
            z[0] = 9.0 if {"not", "cannot", "no"} & set(text.lower().split()) else -9.0
            return z

    found = probes(Marking(LINES), training=120, testing=60)["features"]
    assert found["polarity"]["accuracy"]["value"] > 0.95
    assert found["tense"]["accuracy"]["value"] < 0.85
    assert set(found) == {"tense", "number", "polarity", "length"}


# ---- the suite ----


@pytest.fixture
def few_families(monkeypatch):
    monkeypatch.setattr(suite, "arithmetic", partial(arithmetic, families=["he-she", "plural"]))


def test_the_suite_says_what_it_could_not_do(few_families):
    said = []
    model = Codec(LINES)
    found = suite.run(model, test=LINES, sizes=SMALL, report=said.append)
    assert [part for part in suite.PARTS if part not in found] == []
    assert "edits" in found["edit files"]["skipped"]
    assert "sts-b" in found["similarity"]["skipped"]
    assert "pictures" in found["robustness"]["skipped"]
    assert "judge" in found["interpolation"]
    assert found["reconstruction"]["test"]["exact"]["value"] == 1
    assert found["signature"]["noise_of_sums"] == 0
    assert found["signature"]["grammar_spelling"] == "She sang ."
    assert "probes" in said
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    titles = [table.title for table in tables(found)]
    assert titles[0] == "reconstruction"
    assert titles[-1] == "signature"


def test_the_suite_twice_is_the_same():
    once, again = (
        suite.run(Codec(LINES), test=lines, judge=Judge(), sizes=SMALL, parts=["interpolation", "reconstruction"])
        for lines in (LINES, LINES[::-1])
    )
    once.pop("seconds"), again.pop("seconds")
    assert once == again


def test_bad_inputs_are_refused_with_a_sentence():
    model = Codec(LINES)
    with pytest.raises(LexigraphError, match="no test sentences"):
        suite.run(model, test=[" "])
    with pytest.raises(UsageError, match="did you mean 'probes'"):
        suite.run(model, test=LINES, parts=["probe"])
    with pytest.raises(UsageError, match="encode and decode"):
        suite.run(Judge(), test=LINES)
    with pytest.raises(UsageError, match="NAME=FILE"):
        suite.read_domains(["wikipedia"])


def test_domains_are_cut_into_sentences(tmp_path):
    file = tmp_path / "wiki.txt"
    file.write_text("He was born in 1990. She sang! And left.\nGo.\tVa !\nno capital. here\n")
    assert list(domain_sentences(file)) == [
        "He was born in 1990.",
        "She sang!",
        "And left.",
        "Go.",
        "no capital. here",
    ]


def test_every_figure_has_its_place_in_a_table():
    figure = {"value": 0.5, "interval": []}
    part = {
        "all": figure,
        "rows": {"a": {"x": figure}, "b": {"x": figure, "y": figure, "deep": {"c": {"z": figure}}}},
    }
    found = tables({"part": part, "other": {"skipped": "no file"}, "seconds": {"part": 1.0}})
    assert [table.title for table in found] == ["part", "part: rows", "part: rows: b: deep", "other"]
    assert found[1].columns == ("", "x", "y")
    assert found[1].rows == [("a", "0.500", ""), ("b", "0.500", "0.500")]
    assert found[3].rows == [("skipped", "no file")]


def test_cells():
    assert cell({"value": None, "interval": []}) == "–"
    assert cell({"value": 1234.5, "interval": []}) == "1,234.5"
    assert cell({"too_long": 2, "empty": 0}) == "2 too long"
    assert cell({"too_long": 0}) == "none"
    assert cell([1, 2]) == ""


@pytest.mark.parametrize("system", ["picture", "lstm-autoencoder"])
def test_the_command_prints_and_saves_everything(tiny_runs, tmp_path, monkeypatch, few_families, system):
    shutil.copytree(tiny_runs(system), tmp_path / "run")
    lines = tmp_path / "test.txt"
    lines.write_text("\n".join(LINES))
    monkeypatch.setattr(suite, "QUICK", SMALL)
    options = ["--suite", "latent", "--quick", "--domain", f"same={lines}", "--train", str(lines)]
    done = CliRunner().invoke(app, ["eval", str(tmp_path / "run"), "--data", str(lines), *options])
    assert done.exit_code == 0, done.output
    assert "\narithmetic: groups\n" in done.stdout
    saved = json.loads((tmp_path / "run" / "latent.json").read_text())
    assert saved["reconstruction"]["domains"]["same"]["given"] == 10
    assert saved["mixture"]["mixture"] == "the run's own"
    assert len(saved["robustness"].get("damages", ())) == (10 if system == "picture" else 0)
    assert ("families" in saved["likeness"]) == (system == "picture")
    assert ("8-bit picture" in saved["reconstruction"]["pictures"]) == (system == "picture")
    assert "<h2>arithmetic: groups</h2>" in (tmp_path / "run" / "latent.html").read_text()
    for wrong in (["--quick"], ["--suite", "other"]):
        refused = CliRunner().invoke(app, ["eval", str(tmp_path / "run"), "--data", str(lines), *wrong])
        assert isinstance(refused.exception, UsageError)
