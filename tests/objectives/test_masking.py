"""Hidden words: how many, which, and what stands there instead."""

from __future__ import annotations

import numpy as np
import pytest

from lexigraph.objectives.masking import choose, choose_spans, corrupt, masked, runs, targets_at
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.rng import random_of, seeds_of

MASK, SPECIAL, VOCABULARY = 3, 10, 1000
LENGTHS = [*range(1, 30), 64, 100, 511, 512]
WORDS = {"vocabulary": VOCABULARY, "special": SPECIAL, "mask": MASK}


def different(length: int) -> np.ndarray:
    """A row in which no token stands twice."""
    return np.arange(SPECIAL, SPECIAL + length)


def with_special(length: int, seed: int) -> np.ndarray:
    """A row with special tokens here and there."""
    return random_of(seed).integers(0, 3 * SPECIAL, length)


# ---- BERT ----------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper():
    my, dog, is_, hairy, apple = range(5, 10)
    row, chosen = np.array([my, dog, is_, hairy]), np.array([False, False, False, True])

    def seen(**shares: float) -> list[int]:
        return corrupt(row, chosen, random_of(0), mask=MASK, vocabulary=apple + 1, special=apple, **shares).tolist()

    assert seen(kept=0.0, swapped=0.0) == [my, dog, is_, MASK]
    assert seen(kept=0.0, swapped=1.0) == [my, dog, is_, apple]  # apple is the only word that is not special
    assert seen(kept=1.0, swapped=0.0) == [my, dog, is_, hairy]
    assert targets_at(row, chosen).tolist() == [IGNORE, IGNORE, IGNORE, hairy]


@pytest.mark.parametrize(
    ("length", "positions"), [(1, 1), (2, 1), (3, 1), (9, 1), (10, 2), (20, 3), (100, 15), (512, 77)]
)
def test_fifteen_of_a_hundred_words_are_predicted_and_at_least_one(length: int, positions: int):
    for seed in range(20):
        _, targets = masked(different(length), random_of(seed), **WORDS)
        assert (targets != IGNORE).sum() == positions


@pytest.mark.parametrize("length", LENGTHS)
def test_the_text_is_what_is_predicted_and_where_nothing_is_what_is_seen(length: int):
    for seed in range(20):
        row = with_special(length, seed)
        inputs, targets = masked(row, random_of(seed), **WORDS)
        assert np.array_equal(np.where(targets == IGNORE, inputs, targets), row)


def test_of_ten_hidden_words_eight_are_masks_one_is_any_word_and_one_is_itself():
    row = np.full(512, VOCABULARY)  # so that no word that is drawn is itself
    fates = np.zeros(3)
    drawn = []
    for seed in range(300):
        inputs, targets = masked(row, random_of(seed), **WORDS)
        seen = inputs[targets != IGNORE]
        fates += (seen == MASK).sum(), (seen == VOCABULARY).sum(), ((seen != MASK) & (seen != VOCABULARY)).sum()
        drawn.append(seen[(seen != MASK) & (seen != VOCABULARY)])
    total = fates.sum()
    assert total == 300 * 77
    for share, expected in zip(fates / total, (0.8, 0.1, 0.1), strict=True):
        assert abs(share - expected) < 4 * (expected * (1 - expected) / total) ** 0.5
    words = np.concatenate(drawn)
    assert words.min() >= SPECIAL
    assert words.max() < VOCABULARY
    assert len(np.unique(words)) > 800  # of 990, in 2300 draws


def test_every_place_is_as_likely_as_any_other_and_places_are_independent():
    chosen = np.array([choose(different(20), random_of(seed), special=SPECIAL) for seed in range(8000)])
    assert np.abs(chosen.mean(0) - 0.15).max() < 4.5 * (0.15 * 0.85 / 8000) ** 0.5
    together = (chosen.T.astype(float) @ chosen / 8000)[np.triu_indices(20, 1)]
    assert np.abs(together - 3 * 2 / (20 * 19)).max() < 0.01  # 3 of 20 positions without repetition


def test_nothing_of_a_hidden_word_is_left_when_all_become_masks():
    for seed in range(200):
        row = different(1 + seed)
        inputs, targets = masked(row, random_of(seed), kept=0.0, swapped=0.0, **WORDS)  # ELECTRA's
        assert not np.isin(targets[targets != IGNORE], inputs).any()
        assert np.array_equal(inputs == MASK, targets != IGNORE)


@pytest.mark.parametrize("length", LENGTHS)
def test_special_tokens_are_never_chosen(length: int):
    for seed in range(20):
        row = with_special(length, seed)
        begins = random_of(seed + 1).random(length) < 0.6
        for chosen in (
            choose(row, random_of(seed), special=SPECIAL),
            choose(row, random_of(seed), special=SPECIAL, mask_rate=1.0),
            choose(row, random_of(seed), special=SPECIAL, begins=begins),
            choose_spans(row, random_of(seed), special=SPECIAL),
        ):
            assert not (chosen & (row < SPECIAL)).any()
    assert not choose(np.zeros(length, np.int64), random_of(0), special=SPECIAL).any()
    assert not choose_spans(np.zeros(length, np.int64), random_of(0), special=SPECIAL).any()


def test_a_row_of_nothing_stays_so():
    inputs, targets = masked(np.zeros(0, np.int64), random_of(0), **WORDS)
    assert len(inputs) == len(targets) == 0
    assert len(choose(np.zeros(0, np.int64), random_of(0), special=SPECIAL, begins=np.zeros(0, bool))) == 0


def test_rows_may_have_the_small_type_in_which_a_corpus_is_stored():
    small, wide = (masked(different(50).astype(kind), random_of(0), **WORDS) for kind in (np.uint16, np.int64))
    assert np.array_equal(small, wide)


def test_the_seed_decides_and_the_row_is_left_alone():
    row = different(100)
    first, again, other = (masked(row, random_of(seed), **WORDS) for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(row, different(100))


# ---- static and dynamic --------------------------------------------------------------------------------------


def epochs_of(epochs: list[int]) -> np.ndarray:
    """The targets of three texts, masked in each of these epochs: (epochs, texts, 60)."""
    positions = np.array([0, 61, 122])
    return np.array(
        [
            [masked(different(60), random_of(seed), **WORDS)[1] for seed in seeds_of(positions, epoch, seed=1)]
            for epoch in epochs
        ]
    )


def test_dynamic_masking_masks_other_words_in_every_epoch_and_static_masking_the_same():
    dynamic, static = epochs_of([0, 1, 2, 3]), epochs_of([0, 0, 0, 0])
    assert len({targets.tobytes() for targets in dynamic.reshape(-1, 60)}) == 12
    assert (static == dynamic[0]).all()
    assert len({targets.tobytes() for targets in static[0]}) == 3  # but not the same in every text
    twice = epochs_of([epoch % 2 for epoch in range(4)])  # a text in two versions, one after the other
    assert np.array_equal(twice, dynamic[[0, 1, 0, 1]])


def test_a_text_is_masked_alike_in_any_batch():
    together = seeds_of(np.array([0, 61, 122]), 5, seed=1)
    alone = seeds_of(np.array([122]), 5, seed=1)
    first, second = (masked(different(60), random_of(seed), **WORDS) for seed in (together[2], alone[0]))
    assert np.array_equal(first, second)


# ---- whole words ---------------------------------------------------------------------------------------------


def words_of(begins: np.ndarray) -> list[np.ndarray]:
    return np.split(np.arange(len(begins)), np.flatnonzero(begins[1:]) + 1)


def test_words_are_hidden_whole_and_as_many_as_fit():
    for seed in range(200):
        length = 1 + seed
        begins = random_of(1000 + seed).random(length) < 0.6
        chosen = choose(different(length), random_of(seed), special=SPECIAL, begins=begins)
        inside = [chosen[word] for word in words_of(begins)]
        assert all(word.all() or not word.any() for word in inside)
        limit, left = max(1, round(0.15 * length)), [len(word) for word in inside if not word.any()]
        assert chosen.any()
        if chosen.sum() <= limit:
            assert all(size > limit - chosen.sum() for size in left)  # no other word would have fitted
        else:  # all were too long, and one was taken
            assert sum(word.any() for word in inside) == 1
            assert min(left, default=limit + 1) > limit


def test_a_word_with_a_special_piece_is_left_alone():
    row, begins = np.array([20, 21, 2, 22, 23]), np.array([True, False, False, True, False])
    for seed in range(20):
        chosen = choose(row, random_of(seed), special=SPECIAL, mask_rate=1.0, begins=begins)
        assert chosen.tolist() == [False, False, False, True, True]


def test_whole_words_of_one_piece_are_places():
    counts = {
        int(choose(different(100), random_of(seed), special=SPECIAL, begins=np.ones(100, bool)).sum())
        for seed in range(20)
    }
    assert counts == {15}


# ---- spans ---------------------------------------------------------------------------------------------------


def lengths_of_spans(chosen: np.ndarray) -> np.ndarray:
    edges = np.diff(np.concatenate(([0], chosen.astype(int), [0])))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


@pytest.mark.parametrize("length", LENGTHS)
def test_one_word_in_six_is_in_a_span(length: int):
    for seed in range(50):
        chosen = choose_spans(different(length), random_of(seed), special=SPECIAL)
        assert chosen.sum() == max(1, round(length / 6))


def test_spans_have_one_to_five_words_and_lie_anywhere():
    found, positions = [], np.zeros(600)
    for seed in range(500):
        chosen = choose_spans(different(600), random_of(seed), special=SPECIAL)
        found.append(lengths_of_spans(chosen))
        positions += chosen
    lengths = np.concatenate(found)
    share = np.bincount(lengths, minlength=12) / len(lengths)
    assert np.abs(share[1:6] - 0.2).max() < 0.04  # a few spans touch, and one in each row is cut
    assert share[6:].sum() < 0.08
    assert np.abs(positions / 500 - 1 / 6).max() < 0.1
    assert positions[:100].mean() == pytest.approx(positions[-100:].mean(), rel=0.1)


def test_runs_are_written_out():
    assert runs(np.array([2, 5, 7]), np.array([3, 0, 2])).tolist() == [2, 3, 4, 7, 8]
