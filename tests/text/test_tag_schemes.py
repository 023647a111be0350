"""Spans as tags: read as conlleval reads them, checked and written in a scheme."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score

from lexigraph.errors import LexigraphError
from lexigraph.text.spans import SCHEMES, SchemeCheck, converted, follows, spans_of, tags_of

TAG = st.sampled_from(["O", *(f"{p}-{t}" for p in "BIES" for t in "XY")])
ANY = st.lists(TAG, max_size=9)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-NP I-NP B-NP O", {(0, 1, "NP"), (2, 2, "NP")}),
        ("I-NP I-NP O I-VP", {(0, 1, "NP"), (3, 3, "VP")}),  # a span may begin without a B
        ("B-NP I-VP I-VP", {(0, 0, "NP"), (1, 2, "VP")}),  # another type begins another span
        ("S-NP B-VP I-VP E-VP E-NP", {(0, 0, "NP"), (1, 3, "VP"), (4, 4, "NP")}),
        ("O O", set()),
    ],
)
def test_spans_are_those_of_conlleval(tags, spans):
    assert spans_of(tags.split()) == spans


def conlleval(tags: list[str]) -> set[tuple[int, int, str]]:
    """By the two rules of the shared task's script: does a chunk end between two tags, does one begin."""
    found, first = set(), 0
    parts = [tag.partition("-")[::2] for tag in ["O", *tags, "O"]]
    for n, ((p, old), (t, new)) in enumerate(itertools.pairwise(parts)):
        ends = p in ("E", "S") or (p in ("B", "I") and t in ("B", "S", "O")) or (p != "O" and old != new)
        begins = t in ("B", "S") or (p in ("E", "S", "O") and t in ("E", "I")) or (t != "O" and old != new)
        if p != "O" and ends:
            found.add((first, n - 1, old))
        if begins:
            first = n
    return found


@given(ANY)
def test_every_sequence_has_the_spans_that_the_rules_of_conlleval_give(tags):
    assert spans_of(tags) == conlleval(tags)


@pytest.mark.filterwarnings("ignore")  # seqeval's, of types without spans
@given(st.lists(st.tuples(TAG, TAG), min_size=1, max_size=12))
def test_f1_is_seqevals(both):
    """Two texts of one sentence each, from right and wrong tags side by side."""
    texts = [[list(column) for column in zip(*both[:n], strict=True)] for n in (len(both), (len(both) + 1) // 2)]
    true, called = ([spans_of(tags) for tags in column] for column in zip(*texts, strict=True))
    right = sum(len(one & other) for one, other in zip(true, called, strict=True))
    found = 2 * right / max(1, sum(map(len, [*true, *called])))
    assert found == pytest.approx(f1_score(*map(list, zip(*texts, strict=True)), zero_division=0))


@given(ANY, st.sampled_from(["BIO", "BIOES"]))
def test_spans_survive_a_change_of_scheme(tags, scheme):
    written = converted(tags, scheme)
    assert spans_of(written) == spans_of(tags)
    assert all(follows(one, other, scheme) for one, other in zip(["", *written], [*written, ""], strict=True))


def test_the_three_schemes_of_one_sentence():
    """Two names side by side, as CoNLL-2003 has them."""
    iob1 = ["I-PER", "I-PER", "B-PER", "O", "I-LOC"]
    assert converted(iob1, "BIO") == ["B-PER", "I-PER", "B-PER", "O", "B-LOC"]
    assert converted(iob1, "BIOES") == ["B-PER", "E-PER", "S-PER", "O", "S-LOC"]
    assert tags_of([], 2, "BIO") == ["O", "O"]


@pytest.mark.parametrize("text", ["B-X I-X B-X O", "I-X B-X O I-Y", "B-X E-X S-X O"])
def test_a_file_in_any_scheme_is_taken(text):
    SchemeCheck().read(text.split(), "a.conll, line 1")


def test_a_file_in_no_scheme_is_refused_with_its_line():
    check = SchemeCheck()
    check.read(["B-X", "I-X", "O"], "a.conll, line 1")  # not IOB1, where nothing of its type stands before
    with pytest.raises(
        LexigraphError, match=r"a.conll, line 5: .* inconsistent.*after O \(a.conll, line 5, word 3\)"
    ):
        check.read(["O", "O", "I-X"], "a.conll, line 5")
    assert check.broken.keys() == set(SCHEMES)
    with pytest.raises(LexigraphError, match=r"a.conll, line 7, word 1: 'NN' is no tag of a span"):
        SchemeCheck().read(["NN"], "a.conll, line 7")
