"""Phrases are those of the definition, scores are sums of features, and a language made by code is translated."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from typer.testing import CliRunner

from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.statistical.decoding import START_WEIGHTS, Ngrams, PhraseDecoder
from lexigraph.statistical.phrases import phrase_table, read_table, stretches, symmetrised, write_table
from lexigraph.statistical.translator import PhraseTranslator, _bleu, _stats, cut
from lexigraph.text import coded


def coded_lines(count: int, seed: int = 0) -> list[tuple[str, str]]:
    return [(" ".join(source), " ".join(target)) for source, target, _ in islice(coded.pairs(seed), count)]


@pytest.fixture(scope="module")
def translator() -> PhraseTranslator:
    lines = coded_lines(1100)
    return PhraseTranslator.train(lines[:1000], tune=lines[1000:1040], model=1)


@pytest.mark.parametrize("seed", range(5))
def test_phrases_are_all_that_no_link_leaves(seed):
    random = np.random.default_rng(seed)
    S, T, longest = 6, 5, 4
    links = sorted(
        {(int(i), int(j)) for i, j in zip(random.integers(0, S, 6), random.integers(0, T, 6), strict=True)}
    )
    expected = set()
    for a in range(S):
        for b in range(a, min(S, a + longest)):
            for c in range(T):
                for d in range(c, min(T, c + longest)):
                    sides = [(a <= i <= b, c <= j <= d) for i, j in links]
                    if any(one and other for one, other in sides) and all(one == other for one, other in sides):
                        expected.add((a, b, c, d))
    found = list(stretches(S, T, links, longest))
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_two_directions_keep_what_both_have_and_grow_to_what_lies_beside():
    both, forward, back = [(0, 0), (3, 3)], [(1, 1)], [(4, 4), (6, 0), (9, 9)]
    assert symmetrised(both + forward, both + back) == [(0, 0), (1, 1), (3, 3), (4, 4), (9, 9)]


def test_features_are_shares_of_counts():
    pairs = [(["a", "b"], ["x", "y"]), (["a"], ["x"]), (["a"], ["z"])]
    table = phrase_table(pairs, [[(0, 0), (1, 1)], [(0, 0)], [(0, 0)]])
    (best, features), (other, _) = table["a",]
    assert (best, other) == (("x",), ("z",))
    assert np.exp(features).tolist() == pytest.approx([2 / 3, 1, 2 / 3, 1])
    whole = dict(table["a", "b"])["x", "y"]
    assert np.exp(whole).tolist() == pytest.approx([1, 1, 2 / 3, 1])


def test_a_table_is_written_and_read_as_moses_has_them(tmp_path):
    table = phrase_table([(["a", "b"], ["x", "y"])], [[(0, 0), (1, 1)]])
    write_table(table, tmp_path / "phrases.gz")
    again = read_table(tmp_path / "phrases.gz")
    assert again.keys() == table.keys()
    assert again["a",][0][0] == ("x",)
    (tmp_path / "bad.gz").write_bytes((tmp_path / "phrases.gz").read_bytes())
    import gzip

    with gzip.open(tmp_path / "bad.gz", "wt") as file:
        file.write("a ||| b ||| 1 2 3\n")
    with pytest.raises(LexigraphError, match=r"bad\.gz, line 1: this is no pair"):
        read_table(tmp_path / "bad.gz")


def test_ngrams_word_by_word_are_those_of_the_model(translator):
    ngrams, sentence = Ngrams(translator.language), cut(coded_lines(5, seed=3)[4][1])
    history, total = (1,), 0.0
    for word in (*ngrams.ids([*sentence, "unheard-of"]), 2):
        total += ngrams(history, word)
        history = (*history, word)[-ngrams.span :]
    assert total == pytest.approx(translator.language.score([*sentence, "unheard-of"]), abs=1e-4)


def test_a_score_is_the_weighted_sum_of_features_that_can_be_counted_again(translator):
    decoder = PhraseDecoder(translator.table, translator.language, START_WEIGHTS)
    source = cut(coded_lines(20, seed=4)[19][0])
    several = decoder.translate(source, beam=30, n_best=20)
    assert len({tuple(each.words) for each in several}) == len(several) > 1
    for each in several:
        assert each.score == pytest.approx(float(decoder.weights @ each.features))
        assert each.features[4] == pytest.approx(translator.language.score(each.words), abs=1e-4)
        assert each.features[5] == len(each.words)
    assert [each.score for each in several] == sorted((each.score for each in several), reverse=True)


def test_a_wider_beam_finds_no_worse_score(translator):
    decoder = PhraseDecoder(translator.table, translator.language, START_WEIGHTS)
    for line, _ in coded_lines(10, seed=5):
        narrow, wide = (decoder.translate(cut(line), beam=beam)[0].score for beam in (1, 100))
        assert wide >= narrow - 1e-9


def test_our_bleu_is_sacrebleus():
    words = [cut(target) for _, target in coded_lines(8)]
    wrong = [each[1:] + each[:1] for each in words]
    sums = np.sum([_stats(one, other) for one, other in zip(wrong, words, strict=True)], axis=0)
    expected = BLEU(tokenize="none", smooth_method="none").corpus_score(
        [" ".join(each) for each in wrong], [[" ".join(each) for each in words]]
    )
    assert 100 * _bleu(sums) == pytest.approx(expected.score)


def test_a_coded_language_is_translated_and_tuning_does_not_harm(translator):
    held_out = coded_lines(1100)[1040:1080]

    def score(model):
        found = model.translate([source for source, _ in held_out], beam=20)
        return BLEU(tokenize="none").corpus_score([" ".join(cut(f)) for f in found], [[t for _, t in held_out]]).score

    untuned = PhraseTranslator(translator.table, translator.language, np.array(START_WEIGHTS))
    assert score(translator) > max(30, score(untuned) - 3)


def test_what_no_phrase_knows_is_copied_and_nothing_stays_nothing(translator):
    assert "quokka" in translator.translate(["The quokka ."])[0]
    assert translator.translate([""]) == [""]


def test_the_command_line_trains_translates_and_aligns(tmp_path, translator):
    run, data = CliRunner().invoke, tmp_path / "pairs.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in coded_lines(30)))
    made = run(app, ["statistical", "train", "--data", str(data), "--out", str(tmp_path / "model"), "--quiet"])
    assert made.exit_code == 0, made.output
    again = PhraseTranslator.load(tmp_path / "model")
    asked = coded_lines(3)[2][0]
    shown = run(app, ["statistical", "translate", str(tmp_path / "model"), asked])
    assert shown.stdout.strip() == again.translate([asked])[0]
    gold = tmp_path / "gold"
    true = [links for _, _, links in islice(coded.pairs(), 30)]
    gold.write_text("".join(f"{coded.written(links)}\n" for links in true))
    asked_links = ["statistical", "align", "--data", str(data), "--gold", str(gold), "--habits"]
    aligned = run(app, asked_links)
    assert len([line for line in aligned.stdout.splitlines() if "-" in line]) >= 30
    assert "alignment error" in aligned.stderr
    gold.write_text("0-0\n")
    assert "30 pairs, and" in str(run(app, asked_links).exception)


def test_a_folder_that_is_no_model_gets_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="no phrase translator"):
        PhraseTranslator.load(tmp_path)
