"""BART's ways to corrupt a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexigraph.objectives import denoising
from lexigraph.objectives.rng import random_of

MASK, SPECIAL = 3, 10
LENGTHS = [*range(1, 30), 64, 100, 511, 512]
A, B, C, D, E, STOP = range(SPECIAL, SPECIAL + 6)
TEXT = np.array([A, B, C, STOP, D, E, STOP])  # figure 2 of the paper
LETTERS = {A: "A", B: "B", C: "C", D: "D", E: "E", STOP: ".", MASK: "_"}

Corrupt = Callable[[np.ndarray, np.random.Generator], np.ndarray]
WAYS: dict[str, Corrupt] = {
    "masking": lambda row, random: denoising.token_masking(row, random, mask=MASK, special=SPECIAL),
    "deletion": lambda row, random: denoising.token_deletion(row, random, special=SPECIAL),
    "infilling": lambda row, random: denoising.text_infilling(row, random, mask=MASK, special=SPECIAL),
    "permutation": lambda row, random: denoising.sentence_permutation(row, random, ends=row % 5 == 0),
    "rotation": lambda row, random: denoising.document_rotation(row, random),
}


def different(length: int) -> np.ndarray:
    """A row in which no token stands twice, in rising order."""
    return np.arange(SPECIAL, SPECIAL + length)


def letters(row: np.ndarray) -> str:
    return "".join(LETTERS[token] for token in row.tolist())


def positions(*which: int) -> np.ndarray:
    return np.isin(np.arange(len(TEXT)), which)


# ---- the figure of the paper ---------------------------------------------------------------------------------


def test_text_infilling_of_the_figure():
    """B C is a span of two, and between D and E is one of none."""
    assert letters(denoising.infilled(TEXT, positions(1, 2), np.array([1, 5]), MASK)) == "A_.D_E."


def test_sentence_permutation_of_the_figure():
    ends = TEXT == STOP
    assert letters(denoising.permuted(TEXT, ends, np.array([1, 0]))) == "DE.ABC."
    assert letters(denoising.permuted(TEXT, ends, np.array([0, 1]))) == "ABC.DE."
    three = np.array([A, STOP, B, STOP, C, STOP])
    assert letters(denoising.permuted(three, three == STOP, np.array([2, 0, 1]))) == "C.A.B."


def test_document_rotation_of_the_figure():
    assert letters(denoising.rotated(TEXT, 2)) == "C.DE.AB"


def test_masking_and_deletion_of_the_figure_are_among_what_happens():
    """The figure prints A.C.E. for the deletion of B and D, which has a stop more than the text."""
    masking, deletion = (
        {letters(corrupt(TEXT, random_of(seed), special=SPECIAL, mask_rate=2 / 7, **more)) for seed in range(400)}
        for corrupt, more in ((denoising.token_masking, {"mask": MASK}), (denoising.token_deletion, {}))
    )
    assert "A_C._E." in masking
    assert "AC.E." in deletion
    assert len(masking) == 21  # all pairs of seven positions


# ---- all of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corrupt", WAYS.values(), ids=WAYS)
def test_the_seed_decides_and_the_row_is_left_alone(corrupt: Corrupt):
    row = different(100)
    first, again = corrupt(row, random_of(1)), corrupt(row, random_of(1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, corrupt(row, random_of(2)))
    assert np.array_equal(row, different(100))


@pytest.mark.parametrize("corrupt", WAYS.values(), ids=WAYS)
def test_rows_may_have_the_small_type_in_which_a_corpus_is_stored(corrupt: Corrupt):
    small, wide = (corrupt(different(50).astype(kind), random_of(0)) for kind in (np.uint16, np.int64))
    assert np.array_equal(small, wide)


@pytest.mark.parametrize("corrupt", WAYS.values(), ids=WAYS)
def test_short_rows_and_special_tokens(corrupt: Corrupt):
    assert len(corrupt(np.zeros(0, np.int64), random_of(0))) == 0
    for length in (1, 2, 3, 40):
        for seed in range(100):
            corrupt(different(length), random_of(seed))
            row = random_of(seed).integers(0, 3 * SPECIAL, length)
            row[row == MASK] = 0
            corrupted = corrupt(row, random_of(seed))
            left = corrupted[(corrupted < SPECIAL) & (corrupted != MASK)]
            assert sorted(left) == sorted(row[row < SPECIAL])


# ---- one by one ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", LENGTHS)
def test_fifteen_of_a_hundred_tokens_are_masked_or_deleted(length: int):
    row, hidden = different(length), max(1, round(0.15 * length))
    for seed in range(30):
        corrupted = WAYS["masking"](row, random_of(seed))
        assert (corrupted == MASK).sum() == hidden
        assert np.array_equal(np.where(corrupted == MASK, row, corrupted), row)
        corrupted = WAYS["deletion"](row, random_of(seed))
        assert len(corrupted) == length - hidden
        assert (np.diff(corrupted) > 0).all()  # what is left is in its order
        assert np.isin(corrupted, row).all()


@pytest.mark.parametrize("length", LENGTHS)
def test_thirty_of_a_hundred_tokens_are_in_spans_and_the_rest_keeps_its_order(length: int):
    row, hidden = different(length), max(1, round(0.3 * length))
    for seed in range(30):
        corrupted = WAYS["infilling"](row, random_of(seed))
        left = corrupted[corrupted != MASK]
        assert len(left) == length - hidden
        assert (np.diff(left) > 0).all()
        assert np.isin(left, row).all()
        gone = np.setdiff1d(row, left)
        before = np.searchsorted(left, gone)  # how many of those left stand before
        masks = set(np.cumsum(corrupted != MASK)[corrupted == MASK].tolist())
        assert set(before.tolist()) <= masks  # where tokens are missing, there is a mask


def span_lengths(corrupted: np.ndarray, length: int) -> np.ndarray:
    """How many tokens each mask stands for, if no two are neighbours and tokens are counted upwards."""
    around = np.concatenate(([SPECIAL - 1], corrupted, [SPECIAL + length]))
    mask = np.flatnonzero(around == MASK)
    return around[mask + 1] - around[mask - 1] - 1


def test_spans_are_poisson_with_mean_three_and_some_are_empty():
    row, found = different(3000), []
    for seed in range(60):
        corrupted = WAYS["infilling"](row, random_of(seed))
        assert not ((corrupted[1:] == MASK) & (corrupted[:-1] == MASK)).any()
        found.append(span_lengths(corrupted, 3000))
    lengths = np.concatenate(found)
    assert lengths.mean() == pytest.approx(3.0, abs=0.06)
    assert lengths.var() == pytest.approx(3.0, abs=0.15)
    assert (lengths == 0).mean() == pytest.approx(np.exp(-3), abs=0.008)
    assert (lengths == 1).mean() == pytest.approx(3 * np.exp(-3), abs=0.015)


def test_spans_lie_anywhere_even_at_the_ends():
    masks = np.array([WAYS["infilling"](different(10), random_of(seed))[[0, -1]] == MASK for seed in range(500)])
    assert (masks.mean(0) > 0.1).all()
    hidden = np.array(
        [denoising.infilling_spans(different(40), random_of(seed), special=SPECIAL)[0] for seed in range(2000)]
    )
    share = hidden.mean(0)
    assert np.abs(share[4:-4] - share[4:-4].mean()).max() < 0.05
    assert np.abs(share - share[::-1]).max() < 0.05  # fewer spans reach the ends, and both alike


@pytest.mark.parametrize("noise", ["masking", "deletion", "infilling", "permutation", "rotation"])
def test_what_the_page_shows_is_what_can_come_out(noise: str):
    page = Path(__file__).parents[2] / "docs" / "families" / "bart.md"
    (line,) = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {noise}")]
    shown = line.split("|")[2].replace(" ", "")
    settings: dict[str, dict[str, Any]] = {
        "masking": {"mask": MASK, "special": SPECIAL, "mask_rate": 0.3},
        "deletion": {"special": SPECIAL, "mask_rate": 0.3},
        "infilling": {"mask": MASK, "special": SPECIAL},
        "permutation": {"ends": TEXT == STOP},
        "rotation": {},
    }
    names = {"infilling": "text", "permutation": "sentence", "rotation": "document"}
    corrupt = getattr(denoising, f"{names.get(noise, 'token')}_{noise}")
    assert shown in (letters(corrupt(TEXT, random_of(seed), **settings[noise])) for seed in range(5000))


def test_a_special_token_in_a_span_stays_behind_its_mask():
    row = np.array([20, 2, 21])
    for seed in range(50):
        corrupted = denoising.text_infilling(row, random_of(seed), mask=MASK, special=SPECIAL, mask_rate=1.0)
        assert corrupted[corrupted != MASK].tolist() == [2]
        assert corrupted[0] == MASK


def sentences(row: np.ndarray) -> list[tuple[int, ...]]:
    """A row in which multiples of 5 end sentences, as sentences."""
    return [tuple(part) for part in np.split(row, np.flatnonzero(row[:-1] % 5 == 0) + 1)]


def test_sentences_stay_whole_and_come_in_every_order():
    row = np.array([11, 12, 15, 20, 21, 22, 23, 25, 26, 30])
    orders = {tuple(sentences(WAYS["permutation"](row, random_of(seed)))) for seed in range(500)}
    assert len(orders) == 24
    assert {tuple(sorted(order)) for order in orders} == {((11, 12, 15), (20,), (21, 22, 23, 25), (26, 30))}


def test_words_behind_the_last_end_are_a_sentence():
    row, ends = np.array([11, 15, 12, 13]), np.array([False, True, False, False])
    found = {tuple(denoising.sentence_permutation(row, random_of(seed), ends=ends).tolist()) for seed in range(50)}
    assert found == {(11, 15, 12, 13), (12, 13, 11, 15)}


def test_a_rotation_begins_with_any_token():
    row = different(8)
    found = [WAYS["rotation"](row, random_of(seed)).tolist() for seed in range(800)]
    assert {first for first, *_ in found} == set(row.tolist())
    for rotated in found[:50]:
        start = rotated.index(SPECIAL)
        assert rotated[start:] + rotated[:start] == row.tolist()
    counts = np.bincount([first for first, *_ in found])[SPECIAL:]
    assert counts.min() > 60


def test_ways_follow_one_another():
    """BART's own: sentences permuted, then infilling; and masks are not hidden again."""
    for seed in range(50):
        random, row = random_of(seed), different(60)
        corrupted = WAYS["infilling"](WAYS["permutation"](row, random), random)
        assert (corrupted != MASK).sum() == 42
        twice = WAYS["masking"](corrupted, random)
        assert (twice == MASK).sum() == (corrupted == MASK).sum() + 6
