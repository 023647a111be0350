"""The best tree over a sentence's words: what enumerating all trees finds."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from lexigraph.nn.arborescence import tree, trees


def is_tree(heads) -> bool:
    """Whether one word hangs on the root, and every way upwards ends there."""

    def ends(word: int) -> bool:
        for _ in heads:
            word = heads[word - 1] if word else 0
        return word == 0

    return list(heads).count(0) == 1 and all(map(ends, range(1, len(heads) + 1)))


@cache
def every_tree(length: int) -> list[tuple[int, ...]]:
    return [heads for heads in product(range(length + 1), repeat=length) if is_tree(heads)]


def random_scores(random, length: int) -> np.ndarray:
    scores = random.normal(size=(length, length + 1)) * random.choice([0.1, 1.0, 10.0])
    scores[np.arange(length), np.arange(1, length + 1)] = -np.inf  # no word hangs on itself
    return scores


def total(scores, heads) -> float:
    return sum(scores[word, head] for word, head in enumerate(heads))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_it_is_the_best_of_all_trees(length):
    assert len(every_tree(length)) == length ** (length - 1)  # Cayley: rooted trees over n labelled nodes
    random = np.random.default_rng(length)
    for _ in range(40):
        scores = random_scores(random, length)
        best = max(total(scores, heads) for heads in every_tree(length))
        found = tree(scores).tolist()
        assert is_tree(found)
        assert total(scores, found) == pytest.approx(best)


def test_two_cycles_that_are_better_than_any_tree_are_broken_where_it_costs_least():
    """By hand: 1 ⇄ 2 and 3 ⇄ 4 at 10 each. The root takes 1 (5) or 3 (4); 3 hangs on 2 (3), or 1 on 4 (1)."""
    scores = np.full((4, 5), -9.0)
    for word, head, score in (
        (1, 2, 10),
        (2, 1, 10),
        (3, 4, 10),
        (4, 3, 10),
        (1, 0, 5),
        (3, 0, 4),
        (3, 2, 3),
        (1, 4, 1),
    ):
        scores[word - 1, head] = score
    assert tree(scores).tolist() == [0, 1, 2, 3]  # 5 + 10 + 3 + 10, and not 1 + 10 + 4 + 10


def test_there_is_one_root_however_much_more_two_would_score():
    scores = np.array([[9.0, -np.inf, 0.0], [8.0, 0.0, -np.inf]])
    assert tree(scores).tolist() == [0, 1]


def test_a_batch_is_its_sentences():
    random = np.random.default_rng(0)
    lengths = [3, 7, 1]
    scores = np.full((3, 7, 8), -np.inf)
    rows = [random_scores(random, length) for length in lengths]
    for batch_row, row in zip(scores, rows, strict=True):
        batch_row[: len(row), : len(row) + 1] = row
    for heads, row in zip(trees(scores, lengths), rows, strict=True):
        assert heads[: len(row)].tolist() == tree(row).tolist()
        assert not heads[len(row) :].any()


def test_a_long_sentence_of_random_scores_has_a_tree():
    assert is_tree(tree(random_scores(np.random.default_rng(1), 200)).tolist())
