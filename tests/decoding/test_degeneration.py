import doctest
import importlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.decoding import Loop, distinct, longest_loop, profile, repetition
from lexigraph.errors import LexigraphError


def test_repetition_by_hand():
    # a b a b a: 5 words, 3 seen before; ab ba ab ba: 2 of 4; aba bab aba: 1 of 3; abab baba: none
    assert repetition(list("ababa")) == {1: 3 / 5, 2: 2 / 4, 3: 1 / 3, 4: 0}
    assert repetition([]) == {1: 0, 2: 0, 3: 0, 4: 0}
    assert repetition([7] * 100)[4] == 96 / 97


def test_distinct_over_a_set():
    assert distinct([[1, 2, 3], [1, 2, 4]], 2) == 3 / 4
    assert distinct([[1]], 2) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcabcab", Loop(0, 3, 2)),
        ("xabababy", Loop(1, 2, 3)),
        ("aaaa", Loop(0, 1, 4)),  # not "aa" twice
        ("aabcbcbcd", Loop(2, 2, 3)),
        ("abcd", None),
        ("abca", None),
        ("a", None),
        ("", None),
    ],
)
def test_longest_loop_by_hand(text, expected):
    assert longest_loop(list(text)) == expected


@given(st.lists(st.integers(0, 2), max_size=14))
def test_longest_loop_is_the_longest_of_all(tokens):
    covered = [
        copies * period
        for start in range(len(tokens))
        for period in range(1, len(tokens))
        for copies in range(2, len(tokens) // period + 1)
        if tokens[start : start + copies * period] == tokens[start : start + period] * copies
    ]
    loop = longest_loop(tokens)
    assert (loop.length if loop else 0) == max(covered, default=0)
    if loop:
        phrase = tokens[loop.start : loop.start + loop.period]
        assert tokens[loop.start : loop.start + loop.length] == phrase * loop.copies


def test_profile_by_hand():
    found = profile([[-1.0, -2.0], [-3.0, -4.0, -5.0]])
    assert (found.tokens, found.mean, found.deviation) == (5, -3.0, math.sqrt(2))
    assert found.quantiles[0.25] == -4
    assert found.quantiles[0.5] == -3
    with pytest.raises(LexigraphError, match="at least one token"):
        profile([[], []])


@pytest.mark.parametrize("module", ["degeneration", "diagnose", "hypothesis", "sampling"])
def test_the_examples_in_docstrings(module):
    found = doctest.testmod(importlib.import_module(f"lexigraph.decoding.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
