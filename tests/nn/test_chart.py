"""Charts: the best tree and the sum over all equal an enumeration of all trees."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph.nn.chart import best_trees, inside


def all_trees(i: int, j: int) -> list[frozenset[tuple[int, int]]]:
    """All trees with two children at every node over the places from i to j."""
    if j - i == 1:
        return [frozenset({(i, j)})]
    return [left | right | {(i, j)} for k in range(i + 1, j) for left in all_trees(i, k) for right in all_trees(k, j)]


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_of_sentences_equals_their_enumeration(seed):
    lengths = [1, 2, 5, 6]
    values = np.random.default_rng(seed).normal(size=(4, 7, 7))
    found = best_trees(values, lengths)
    sums = inside(torch.from_numpy(values), lengths)
    for row, length in enumerate(lengths):
        worth = {tree: sum(values[row, i, j] for i, j in tree) for tree in all_trees(0, length)}
        assert frozenset(found[row]) == max(worth, key=worth.__getitem__)
        assert sums[row].item() == pytest.approx(np.logaddexp.reduce(list(worth.values())))


def test_the_gradient_of_the_sum_is_how_probable_each_node_is():
    """Of one word and of the whole sentence: certain. Three words have two trees of equal value."""
    values = torch.zeros(1, 4, 4, requires_grad=True)
    inside(values, [3]).sum().backward()
    assert values.grad is not None
    wanted = {(0, 1): 1, (1, 2): 1, (2, 3): 1, (0, 2): 0.5, (1, 3): 0.5, (0, 3): 1}
    assert {(i, j): values.grad[0, i, j].item() for i, j in wanted} == pytest.approx(wanted)
