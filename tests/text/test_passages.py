"""Passages of the built-in corpus: answers stand in them, and a question fits one of their sentences at most."""

from __future__ import annotations

import pytest

from lexigraph.text import builtin, passages

FIELDS = ("context", "question", "answer")


@pytest.fixture(scope="module")
def records():
    return [record.columns for record in builtin.records(FIELDS, 500)]


def test_an_answer_stands_where_the_record_says_and_one_in_five_has_none(records):
    answered = [each for each in records if each["answer"]]
    for each in answered:
        assert each["context"][each["answer_start"] :].startswith(each["answer"])
    assert 0.14 < 1 - len(answered) / len(records) < 0.26


def test_a_question_asks_who_what_where_or_when(records):
    assert {each["question"].split()[0] for each in records} == {"Who", "What", "Where", "When"}
    assert all(each["question"].endswith(" ?") for each in records)
    assert max(each["context"].count(" . ") for each in records) < passages.CLAUSES
