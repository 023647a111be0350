"""Praise and blame of the grammar: classes that follow from word and negation, and that no bag of words can tell."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from lexigraph.errors import UsageError
from lexigraph.text import builtin, sentiment

ITEMS = list(sentiment.items(20_000))
GOOD = {"good", "lovely", "fine", "brilliant", "liked", "like", "loved", "love", "enjoyed", "admired", "praised"}


def test_classes_are_as_frequent_and_a_sentence_has_one():
    counts, labels = Counter(label for _, label in ITEMS), defaultdict(set)
    assert counts.keys() == {"+1", "0", "-1"}
    assert max(counts.values()) < 1.1 * min(counts.values())
    for text, label in ITEMS:
        labels[text].add(label)
    assert all(len(found) == 1 for found in labels.values())


def test_one_negation_turns_praise_into_blame_and_back():
    """By hand: the class of a sentence with one good or bad word is that word's, turned by `not` or `nobody`."""
    words = {word: value for value, known in sentiment.ADJECTIVES.items() for word in known}
    seen = set()
    for text, label in ITEMS:
        judged = [words[word] for word in text.split() if word in words]
        if len(judged) == 1 and " by " not in text and {"is", "was"} & set(text.split()):
            turned = -1 if " not " in text else 1
            assert sentiment.LABELS[judged[0] * turned] == label, text
            seen.add((judged[0], turned))
    assert len(seen) == 6


def test_every_word_may_be_good_and_the_sentence_blame():
    bad = {*sentiment.ADJECTIVES[-1], *(verb.past for verb in sentiment.LIKING[-1])}
    blame = [set(text.split()) for text, label in ITEMS if label == "-1"]
    assert any("Nobody" in words and words & GOOD and not words & bad for words in blame)
    assert any("not" in words and words & GOOD and not words & bad for words in blame)


def test_no_bag_of_words_can_know():
    """The same words in another order have the other class."""
    bags = defaultdict(set)
    for text, label in ITEMS:
        bags[" ".join(sorted(text.split()))].add(label)
    assert sum(found >= {"+1", "-1"} for found in bags.values()) > 20


def test_the_name_sentiment_stands_for_texts_and_records():
    texts = list(builtin.sentences(3, "sentiment"))
    records = list(builtin.records(("text", "label"), 3, "sentiment"))
    assert [record.columns["text"] for record in records] == texts == [text for text, _ in ITEMS[:3]]
    with pytest.raises(
        UsageError, match="corpus sentiment has no records of source and target; it has those of text"
    ):
        next(builtin.records(("source", "target"), 3, "sentiment"))
