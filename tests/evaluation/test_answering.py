"""SQuAD's measure, worked out by hand; the threshold; and what reads no meaning."""

from __future__ import annotations

import math

import pytest

from lexigraph.evaluation.answering import Question, best_threshold, sliding_window
from lexigraph.evaluation.answers import exact, f1, normalised
from lexigraph.nn.answering import Found, Span


@pytest.mark.parametrize(
    ("answer", "right", "em", "overlap"),
    [
        ("the Denver Broncos!", ["Denver Broncos"], 1, 1),  # case, article and punctuation do not count
        ("Broncos", ["Denver Broncos", "Carolina"], 0, 2 / 3),  # precision 1, recall 1/2
        ("in the city of Rome", ["Rome", "city of Rome"], 0, 6 / 7),  # in city of rome: 3 of 4, 3 of 3
        ("to be to be", ["to be or not to be"], 0, 0.8),  # words count as often as they stand: 4 of 4, 4 of 6
        ("1990's", ["1990s"], 1, 1),  # punctuation goes, and nothing stands in its place
        ("twenty-one", ["twenty one"], 0, 0),
        ("an", ["the"], 1, 1),  # nothing is left of both
        ("Paris", ["Rome"], 0, 0),
        ("", ["Rome"], 0, 0),
        ("", [], 1, 1),  # nobody answers what has no answer
        ("Rome", [], 0, 0),
    ],
)
def test_answers_are_compared_as_squad_compares_them(answer, right, em, overlap):
    assert exact(answer, right) == em
    assert f1(answer, right) == pytest.approx(overlap)


def test_articles_are_words_and_white_space_is_one_space():
    assert normalised("A  theatre,\tan  Anthem") == "theatre anthem"


def question(margin, right, text="Rome"):
    return Question("Where?", text, right, Found(0.0, [Span(margin, 0, len(text))]))


def test_the_threshold_is_the_one_that_is_best_for_f1():
    """By hand: answering the first two gains 2, the third loses 1 (it has no answer), the fourth gains nothing."""
    asked = [question(3.0, ["Rome"]), question(2.0, ["Rome"]), question(1.0, []), question(0.5, ["Paris"])]
    assert best_threshold(asked) == 1.5
    assert [each.answer(1.5) for each in asked] == ["Rome", "Rome", "", ""]
    answerable = [question(3.0, ["Rome"]), question(2.0, ["Paris"])]
    assert best_threshold(answerable) == -math.inf  # and are answered, well or not
    assert best_threshold([question(3.0, []), question(2.0, [])]) > 3
    alike = [question(1.0, []), question(1.0, ["Rome"]), question(1.0, ["Rome"])]
    assert best_threshold(alike) == -math.inf  # no threshold is between them


def test_the_sliding_window_finds_what_stands_among_the_questions_words():
    text = "The tower is in Paris. Gustave Eiffel built the tower in 1889. He was born in Dijon."
    assert sliding_window("Who built the tower in 1889?", text, 14) == "Gustave Eiffel"
    assert sliding_window("Which city is the tower in?", text, 5) == "Paris"
    assert sliding_window("?", "One two three", 3) == "One"
    assert sliding_window("One", "One", 3) == ""
