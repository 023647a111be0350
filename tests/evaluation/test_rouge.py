"""ROUGE and Porter's stemmer, equal to the package `rouge-score` on any text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.evaluation.rouge import KINDS, rouge
from lexigraph.text.builtin import sentences
from lexigraph.text.stemming import stem

scorer = pytest.importorskip("rouge_score.rouge_scorer")
porter = pytest.importorskip("nltk.stem.porter").PorterStemmer()
JUDGES = {stemmed: scorer.RougeScorer(list(KINDS), use_stemmer=stemmed) for stemmed in (False, True)}
STEMS = st.text("abcdeilnorstuyz", max_size=7)
ENDINGS = """
ed ing eed ied ies sses s y ational tional enci anci izer bli abli alli entli eli ousli ization ation ator alism
iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able
ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize e ll lly
""".split()  # noqa: SIM905


def same(reference: str, written: str) -> None:
    for stemmed, judge in JUDGES.items():
        ours = rouge(reference, written, stemmed=stemmed)
        theirs = judge.score(reference, written)
        assert {kind: tuple(ours[kind]) for kind in KINDS} == {kind: tuple(theirs[kind]) for kind in KINDS}


@given(STEMS, st.sampled_from(ENDINGS), st.sampled_from(["", *ENDINGS]))
def test_stems_are_those_of_the_package(begin, first, second):
    word = begin + first + second
    assert stem(word) == porter.stem(word)


@pytest.mark.parametrize("word", ["skies", "dying", "news", "innings", "proceed", "s", "as", "ties", "tied", "yyyy"])
def test_irregular_words_are_those_of_the_package(word):
    assert stem(word) == porter.stem(word)


@given(st.text("ab c.\n", max_size=30), st.text("ab c.\n", max_size=30))
def test_scores_of_any_two_texts(reference, written):
    same(reference, written)


@pytest.mark.parametrize(
    ("reference", "written"),
    [
        ("", ""),
        ("", "a word"),
        ("a word", ""),
        ("...", "?!"),
        ("Ärger, naïve! ſ K", "ärger NAIVE 12,5 k"),
        ("The cats were running.\nThey ran away.", "A cat runs\n\nThey are running away quickly"),
    ],
)
def test_scores_of_unusual_texts(reference, written):
    same(reference, written)


def test_scores_of_sentences():
    random.seed(0)
    every = list(sentences(400))
    for _ in range(60):
        same(*("\n".join(random.sample(every, random.randint(1, 4))) for _ in range(2)))
