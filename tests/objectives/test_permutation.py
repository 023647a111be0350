"""XLNet's orders and the masks that follow from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from lexigraph.objectives.permutation import FAR, factorise, masks, ranks_of
from lexigraph.objectives.rng import random_of

SPECIAL = 10
LENGTHS = [*range(1, 30), 64, 100, 511, 512]


def different(length: int) -> np.ndarray:
    return np.arange(SPECIAL, SPECIAL + length)


def ranks_for(length: int, seed: int, ordered: bool = False) -> tuple[np.ndarray, np.ndarray]:
    order, predicted = factorise(different(length), random_of(seed), special=SPECIAL)
    return ranks_of(order, predicted, ordered=ordered), predicted


def test_the_order_of_the_paper():
    """Figure 4 of the paper: positions 3, 2, 4, 1 in this order, and what each sees."""
    ranks = ranks_of(np.array([2, 1, 3, 0]), np.ones(4, bool), ordered=True)
    content, query = masks(ranks)
    see = [{1, 2, 3, 4}, {2, 3}, {3}, {2, 3, 4}]
    assert [set((np.flatnonzero(row) + 1).tolist()) for row in content] == see
    assert [set((np.flatnonzero(row) + 1).tolist()) for row in query] == [
        all_seen - {position} for position, all_seen in enumerate(see, 1)
    ]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("longest", [1, 5])
def test_the_last_sixth_of_an_order_of_all_places_is_predicted(length: int, longest: int):
    for seed in range(20):
        order, predicted = factorise(different(length), random_of(seed), special=SPECIAL, longest=longest)
        assert sorted(order) == list(range(length))
        count = max(1, round(length / 6))
        assert predicted.sum() == count
        assert set(order[-count:]) == set(np.flatnonzero(predicted))


def test_all_orders_are_equally_likely_when_places_are_chosen_one_by_one():
    orders = [
        tuple(factorise(different(4), random_of(seed), special=SPECIAL, longest=1)[0].tolist())
        for seed in range(4800)
    ]
    counts = [orders.count(order) for order in itertools.permutations(range(4))]
    assert sum((count - 200) ** 2 / 200 for count in counts) < 45  # chi-square with 23 degrees


@pytest.mark.parametrize("ordered", [False, True])
def test_no_prediction_can_know_its_word_or_a_later_one(ordered: bool):
    """Through any number of layers: what a query sees is content, which has seen content, and so on."""
    for seed in range(100):
        length = 1 + seed % 50
        ranks, predicted = ranks_for(length, seed, ordered)
        content, query = masks(ranks)
        reached = content.astype(int)
        for _ in range(6):  # 64 layers
            reached = (reached @ reached > 0).astype(int)
        known = query.astype(int) @ reached > 0
        for position in np.flatnonzero(predicted):
            later = ranks >= ranks[position]
            assert later[position]
            assert not known[position, later].any()
            assert known[position, ~later].all()  # and it does know all that came before


def test_a_prediction_knows_all_of_the_context_and_the_context_itself():
    ranks, predicted = ranks_for(60, 3)
    content, query = masks(ranks)
    context = ~predicted
    assert query[np.ix_(predicted, context)].all()
    assert content[np.ix_(context, context)].all()
    assert not content[np.ix_(context, predicted)].any()


def test_every_place_has_one_step_when_the_context_is_ordered():
    ranks, predicted = ranks_for(60, 3, ordered=True)
    assert sorted(ranks) == list(range(1, 61))
    assert ranks[predicted].min() == 51
    free, _ = ranks_for(60, 3)
    assert np.array_equal(np.argsort(ranks[predicted]), np.argsort(free[predicted]))


def test_content_differs_from_query_by_the_word_itself():
    for seed in range(20):
        ranks, predicted = ranks_for(40, seed)
        content, query = masks(ranks)
        more = content & ~query
        assert np.array_equal(more[predicted], np.eye(40, dtype=bool)[predicted])


def test_boundaries_are_seen_by_all_and_padding_by_no_word():
    ranks, predicted = ranks_for(1, 0)
    assert predicted.tolist() == [True]
    around = np.concatenate(([0], ranks, [0], [FAR, FAR]))
    content, query = masks(around)
    assert content[1].tolist() == [True, True, True, False, False]
    assert query[1].tolist() == [True, False, True, False, False]  # a single word is told from its boundaries
    assert not content[:3, 3:].any()
    assert content.any(1).all()


def test_masks_of_a_batch_of_tensors_are_those_of_its_rows():
    rows = np.array([ranks_for(30, seed)[0] for seed in range(4)])
    for batch, single in zip(masks(torch.from_numpy(rows)), zip(*map(masks, rows), strict=True), strict=True):
        assert np.array_equal(batch.numpy(), np.array(single))


def test_special_tokens_are_never_predicted():
    for seed in range(200):
        row = random_of(seed).integers(0, 3 * SPECIAL, 1 + seed)
        _, predicted = factorise(row, random_of(seed), special=SPECIAL)
        assert not predicted[row < SPECIAL].any()
        assert predicted.any() == (row >= SPECIAL).any()


def test_the_seed_decides():
    first, again, other = (factorise(different(50), random_of(seed), special=SPECIAL) for seed in (1, 1, 2))
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])
