"""Formal languages: which strings they hold and what may follow, against grammars and enumeration."""

from __future__ import annotations

import statistics
from collections import Counter
from itertools import product
from random import Random

import numpy as np
import pytest

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.sections import Data
from lexigraph.text import builtin, files, languages
from lexigraph.text.columns import Column
from lexigraph.text.corpus import examples
from lexigraph.text.languages import (
    END,
    Lengths,
    distant_agreement,
    list_operations,
    may_follow,
    named,
    strings,
    sums,
)

CLOSING = {")": "(", "]": "["}


def balanced(symbols) -> bool:
    opened = []
    for symbol in symbols:
        if symbol not in CLOSING:
            opened.append(symbol)
        elif not opened or opened.pop() != CLOSING[symbol]:
            return False
    return not opened


def member(language: str, symbols) -> bool:
    """Whether a string belongs to a language, by its definition."""
    text = "".join(symbols)
    n = text.count("a") or 1
    if language == "copying":
        word, _, again = text.partition("#")
        return text.count("#") == 1 and bool(word) and word == again
    return text in {
        "anbn": {"a" * n + "b" * n},
        "anbncn": {"a" * n + "b" * n + "c" * n},
    }.get(language, {text} if text and balanced(text) else set())


ALPHABETS = {"anbn": "ab", "anbncn": "abc", "dyck1": "()", "dyck2": "()[]", "copying": "xy#"}


@pytest.mark.parametrize("language", ALPHABETS)
def test_what_may_follow_is_what_some_string_goes_on_with(language):
    """Against all strings of up to six symbols: each continuation of a string of the language is one that may follow,
    and what may follow leads to a string of the language."""
    longest = 6
    words = [w for n in range(1, longest + 1) for w in product(ALPHABETS[language], repeat=n) if member(language, w)]
    found: dict[tuple[str, ...], set[str]] = {}
    for word in words:
        for n in range(len(word) + 1):
            found.setdefault(word[:n], set()).add(word[n] if n < len(word) else END)
    for word in words:
        for n, symbols in enumerate(may_follow(language, word)):
            assert found[word[:n]] <= symbols
            if n < longest // 3:  # further on, what goes on is longer than was enumerated
                assert found[word[:n]] == symbols


@pytest.mark.parametrize("language", ALPHABETS)
def test_strings_belong_to_their_language_and_have_its_lengths(language):
    for string in strings(Lengths(language, 3, 5), 40):
        symbols = string.split()
        assert member(language, symbols)
        assert 3 <= len(symbols) // {"anbncn": 3}.get(language, 2) <= 5


def test_balanced_strings_are_alike_probable():
    """Of three pairs there are five (Catalan's number)."""
    counts = Counter(strings(named("dyck1:3-3"), 5000))
    assert len(counts) == 5
    assert all(abs(count - 1000) < 120 for count in counts.values())


def test_a_language_of_one_string_a_length_has_each_once():
    assert list(strings(named("anbn:3"), 100)) == ["a b", "a a b b", "a a a b b b"]
    assert list(strings(named("anbn:2-9"), 2)) == ["a a b b", "a a a b b b"]


def test_a_distant_verb_agrees_with_its_subject_and_nothing_between_tells_the_number():
    rng, seen = Random(0), Counter()
    for _ in range(200):
        item = distant_agreement(rng, 6, 40)
        words = item.before.split()
        assert 6 <= item.gap <= 40
        assert len(words) == item.noun + 1 + item.gap
        assert {item.verb, item.wrong} == {"was", "were"}
        assert not {"was", "were", "is", "are", "has", "have"} & set(words)
        plural = plural_noun(words[item.noun])
        assert (item.verb == "were") == plural
        seen[plural] += 1
    assert min(seen.values()) > 60
    assert [distant_agreement(rng, 0, 0).before.count(",") for _ in range(3)] == [0, 0, 0]


def plural_noun(noun: str) -> bool:
    from lexigraph.text.lexicon import NOUN

    return noun in {each.plural for each in NOUN.values()}


def test_the_sum_is_that_of_the_two_marked_numbers_and_its_variance_is_a_sixth():
    pairs = list(sums(Lengths("adding", 50, 50), 4000))
    for vectors, number in pairs[:50]:
        assert vectors.shape == (50, 2)
        assert vectors[:25, 1].sum() == vectors[25:, 1].sum() == 1  # one in each half
        assert number == pytest.approx(float(vectors[vectors[:, 1] == 1, 0].sum()))
    assert np.var([number for _, number in pairs]) == pytest.approx(1 / 6, abs=0.01)


def value_of(text: str) -> int:
    """Of a nested list, by Python's own grammar: `[SM 1 [MIN 2 3 ] ]` is the call SM(1, MIN(2, 3))."""
    words = text.replace(" ]", "]").replace("]", ")").split()
    code = ", ".join(words).replace("[", "").replace("MIN,", "min(").replace("MAX,", "max(")
    calls = {"MED": lambda *values: int(statistics.median(values)), "SM": lambda *values: sum(values) % 10}
    return eval(code.replace("MED,", "MED(").replace("SM,", "SM("), calls)


def depth_of(text: str) -> int:
    return int(np.cumsum([(token[0] == "[") - (token == "]") for token in text.split()]).max())


def test_the_value_of_a_nested_list_is_pythons_and_lengths_and_depths_are_those_published():
    short, long = (
        list(list_operations(named("listops:30"), 300)),
        list(list_operations(named("listops:500-2000"), 100)),
    )
    for text, value in short + long:
        assert value == value_of(text)
    assert value_of("[MED 1 2 4 9 ]") == 3
    assert value_of("[MAX 2 9 [MIN 4 7 ] [SM 5 7 ] ]") == 9
    sizes = [len(text.split()) for text, _ in long]
    assert 500 <= min(sizes) < 600 < 1500 < max(sizes) <= 2000
    assert max(depth_of(text) for text, _ in long) == 9  # of ten levels, the last has digits alone
    assert {value for _, value in short} == set(range(10))


def test_no_list_stands_in_two_splits(tmp_path):
    columns = {"text": Column("tokens"), "label": Column("class")}
    found = list(examples(Data(train="listops:20", sentences=400, split=(0.6, 0.2, 0.2)), columns))
    assert {example.split for example in found} == {"train", "valid", "test"}
    texts = [example.values["text"] for example in found]
    assert len(set(texts)) == len(texts) == 400


def test_a_classifier_is_trained_on_nested_lists_and_short_ones_run_out(tmp_path, monkeypatch):
    changes = {"data.sentences": 200, "train.batch_tokens": 64, "tokenizer.kind": "word"}
    run = api.train("classifier", "listops:12", tmp_path / "run", set=changes, tiny=True, quiet=True)
    (found,) = run.classify(["[MAX 2 9 ]"])
    assert set(found.probabilities) == set("0123456789")
    monkeypatch.setattr(languages, "TRIALS", 2000)
    every = list(list_operations(named("listops:4-4"), 1000))
    assert 350 < len(dict(every)) == len(every) <= 4 * 100  # four operations on two digits
    assert list(strings(named("listops:4-4"), 3)) == [text for text, _ in every[:3]]


def test_copying_has_pairs_too():
    rows = [record.columns for record in builtin.records(("source", "target"), 3, "copying:4-6")]
    assert all(row["source"] == row["target"] and 4 <= len(row["source"].split()) <= 6 for row in rows)


@pytest.mark.parametrize("name", ["anbn:0-3", "anbn:5-3", "adding:1", "dyck1:1000000"])
def test_lengths_that_make_no_sense_are_refused(name):
    with pytest.raises(UsageError, match=r"lengths go from \d"):
        files.expand(name)


def test_a_name_without_lengths_is_a_file(tmp_path):
    assert named("anbn") is None
    assert named("anbn:x") is None
    assert not files.built_in("anbn.txt")
    with pytest.raises(LexigraphError, match=r"no such file\. .* named with its lengths: anbn:100"):
        api.train("lstm-lm", "anbn", tmp_path / "run", quiet=True)


def test_texts_and_numbers_are_not_mixed_up(tmp_path):
    with pytest.raises(UsageError, match="has no text"):
        list(builtin.sentences(3, "adding:10"))
    with pytest.raises(UsageError, match="anbn:3 has no records of vectors and number; it has text"):
        list(builtin.records(("vectors", "number"), 3, "anbn:3"))


def test_a_language_model_is_trained_on_a_language(tmp_path):
    changes = {"data.unit": "line", "tokenizer.kind": "word", "train.batch_tokens": 64, "model.dim": 4}
    run = api.train("lstm-lm", "anbn:8", tmp_path / "run", valid="anbn:9-10", set=changes, tiny=True, quiet=True)
    tokens = {run.tokenizer.token_of(i) for i in range(len(run.tokenizer))}
    assert {"a", "b"} <= tokens
    with pytest.raises(LexigraphError, match="has no text"):
        api.evaluate(tmp_path / "run", "adding:10")
