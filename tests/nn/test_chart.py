"""Charts: the best tree and the sum over all equal an enumeration of all trees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from lexigraph.nn.chart import best_trees, inside

Phrases = frozenset[tuple[int, int]]


def all_trees(length: int) -> list[Phrases]:
    """All sets of phrases that hold the whole and do not cross each other."""
    whole = (0, length)
    found: list[Phrases] = [frozenset({whole})]
    for i, j in combinations(range(length + 1), 2):
        if (i, j) != whole:
            beside = (tree for tree in found if not any(a < i < b < j or i < a < j < b for a, b in tree))
            found += [tree | {(i, j)} for tree in beside]
    return found


def test_three_words_have_as_many_trees_as_one_counts_by_hand():
    """Nothing, (0, 2) or (1, 3) inside the whole, and each of three words a phrase by itself or not."""
    assert len(set(all_trees(3))) == 3 * 2**3


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_of_sentences_equals_their_enumeration(seed):
    lengths = [1, 2, 4, 5]
    v = np.random.default_rng(seed).normal(size=(4, 6, 6))
    found, sums = best_trees(v, lengths), inside(torch.from_numpy(v), lengths)
    for row, length in enumerate(lengths):
        worth = {tree: sum(v[row, i, j] for i, j in tree) for tree in all_trees(length)}
        assert frozenset(found[row]) == max(worth, key=worth.__getitem__)
        assert sums[row].item() == pytest.approx(np.logaddexp.reduce(list(worth.values())))


def test_phrases_come_with_parents_first():
    (found,) = best_trees(np.ones((1, 7, 7)), [6])
    assert found == sorted(found, key=lambda span: (span[0], -span[1]))


def test_the_gradient_of_the_sum_is_how_probable_each_phrase_is():
    """Of three words all trees are worth the same: two in three have no phrase of the first two."""
    v = torch.zeros(1, 4, 4, requires_grad=True)
    inside(v, [3]).sum().backward()
    assert v.grad is not None
    wanted = {(0, 1): 1 / 2, (1, 2): 1 / 2, (2, 3): 1 / 2, (0, 2): 1 / 3, (1, 3): 1 / 3, (0, 3): 1}
    assert {(i, j): v.grad[0, i, j].item() for i, j in wanted} == pytest.approx(wanted)
