"""Scores of summaries and answers: several references, baselines, and the examples of SQuAD's script."""

from __future__ import annotations

import numpy as np
import pytest

from lexigraph.evaluation.answers import exact, f1
from lexigraph.evaluation.rouge import rouge
from lexigraph.evaluation.summarising import lead, longest, rouge_scores
from lexigraph.evaluation.translation import answer_scores

DIALOGUE = "A: Hello there.\nB: Hi. I want to sell my old car today.\nA: Fine.\nB: It is red and very fast."


def test_sentences_of_a_dialogue_are_its_turns():
    assert lead(DIALOGUE, 1) == "A: Hello there."
    assert longest(DIALOGUE, 2) == "B: Hi. I want to sell my old car today. B: It is red and very fast."
    assert lead("One. Two. Three.", 3) == lead("One. Two. Three.", 9) == "One. Two. Three."


def test_a_text_with_several_references_counts_once_with_their_mean():
    texts, references = ["One cat. A dog."] * 2 + ["Snow."], ["one cat", "two dogs", "snow"]
    found = rouge_scores(texts, ["a cat", "a cat", "snow"], references)
    mean = (rouge("one cat", "a cat")["rouge1"].f + rouge("two dogs", "a cat")["rouge1"].f) / 2
    assert found["model"]["rouge1"]["value"] == pytest.approx((mean + 1) / 2)
    assert set(found) == {"model", "lead-1", "lead-3", "longest-1", "longest-3"}
    assert found["lead-1"]["rouge1"]["value"] == pytest.approx(((1 + 0) / 2 + 1) / 2)


def test_intervals_hold_the_value_and_need_enough_texts():
    texts = [f"Cat {n} sat down here." for n in range(40)]
    figure = rouge_scores(texts, texts[::-1], texts)["model"]["rouge2"]
    low, high = figure["interval"]
    assert low <= figure["value"] <= high
    assert rouge_scores(texts[:5], texts[:5], texts[:5])["model"]["rouge2"] == {"value": 1.0, "interval": []}


@pytest.mark.parametrize(
    ("answer", "right", "exactly", "words"),
    [
        ("The Denver Broncos!", ["Denver Broncos"], 1.0, 1.0),
        ("Broncos", ["Denver Broncos", "the broncos"], 1.0, 1.0),
        ("in Santa Clara", ["Santa Clara, California"], 0.0, 2 * (2 / 3) * (2 / 3) / (4 / 3)),
        ("", ["x"], 0.0, 0.0),
    ],
)
def test_answers_are_compared_as_squad_does(answer, right, exactly, words):
    assert exact(answer, right) == exactly
    assert f1(answer, right) == pytest.approx(words)


def test_all_targets_of_a_question_are_right():
    found = answer_scores(["q", "q", "r"], ["two", "two", "no"], ["2", "two", "yes"])
    assert found["exact"]["value"] == found["f1"]["value"] == np.mean([1, 0])
    apart = answer_scores([("up", "q"), ("down", "q")], ["two", "two"], ["2", "two"])  # the same text in two tasks
    assert apart["exact"]["value"] == np.mean([0, 1])
