"""T5's objectives, with the examples of the paper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lexigraph.objectives import spans
from lexigraph.objectives.masking import corrupt
from lexigraph.objectives.rng import random_of

MASK, SENTINELS, SPECIAL, VOCABULARY = 3, tuple(range(4, 204)), 204, 5000
LENGTHS = [*range(1, 30), 64, 100, 511, 512]

Pair = tuple[np.ndarray, np.ndarray]
Make = Callable[[np.ndarray, np.random.Generator], Pair]
WAYS: dict[str, Make] = {
    "prefix": lambda row, random: spans.prefix_language_model(row, random),
    "bert": lambda row, random: spans.bert_style(row, random, mask=MASK, vocabulary=VOCABULARY, special=SPECIAL),
    "deshuffling": lambda row, random: spans.deshuffling(row, random),
    "mass": lambda row, random: spans.mass_style(row, random, mask=MASK, special=SPECIAL),
    "replaced": lambda row, random: spans.replaced_spans(row, random, sentinels=SENTINELS, special=SPECIAL),
    "dropped": lambda row, random: spans.dropped_tokens(row, random, special=SPECIAL),
    "spans": lambda row, random: spans.random_spans(row, random, sentinels=SENTINELS, special=SPECIAL),
}


def different(length: int) -> np.ndarray:
    """A row in which no token stands twice, in rising order."""
    return np.arange(SPECIAL, SPECIAL + length)


def noisy(length: int, seed: int, **settings: float) -> np.ndarray:
    return spans.span_noise(different(length), random_of(seed), special=SPECIAL, **settings)


def span_lengths(noise: np.ndarray) -> np.ndarray:
    edges = np.diff(np.concatenate(([0], noise.astype(int), [0])))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def restored(inputs: np.ndarray, targets: np.ndarray) -> list[int]:
    """The text: each sentinel of the input gives way to what stands behind it in the target."""
    missing: dict[int, list[int]] = {}
    for token in targets.tolist():
        if token in SENTINELS:
            here = missing.setdefault(token, [])
        else:
            here.append(token)
    return [word for token in inputs.tolist() for word in missing.get(token, [token])]


# ---- table 3 -------------------------------------------------------------------------------------------------

TEXT = "Thank you for inviting me to your party last week ."
TOKENS = [*dict.fromkeys(f"{TEXT} fun apple".split())]
X, Y, Z = SENTINELS[:3]
NAMES = {MASK: "<M>", X: "<X>", Y: "<Y>", Z: "<Z>"} | {SPECIAL + i: token for i, token in enumerate(TOKENS)}


def ids(text: str) -> np.ndarray:
    return np.array([SPECIAL + TOKENS.index(token) for token in text.split()])


def words(row: np.ndarray) -> str:
    return " ".join(NAMES[token] for token in row.tolist())


def noise_at(*tokens: str) -> np.ndarray:
    return np.array([token in tokens for token in TEXT.split()])


def test_prefix_language_modelling_of_the_table():
    inputs, targets = spans.dropped(ids(TEXT), np.arange(11) >= 4)
    assert words(inputs) == "Thank you for inviting"
    assert words(targets) == "me to your party last week ."
    made = {tuple(map(words, WAYS["prefix"](ids(TEXT), random_of(seed)))) for seed in range(200)}
    assert (words(inputs), words(targets)) in made
    assert len(made) == 10  # at each position between two tokens


def test_bert_style_of_the_table():
    row, apple = ids(TEXT), int(ids("apple")[0])
    settings = {"mask": MASK, "vocabulary": apple + 1, "special": apple, "kept": 0.0}  # one word to choose from
    masked = corrupt(row, noise_at("for", "inviting"), random_of(0), swapped=0.0, **settings)
    inputs = corrupt(masked, noise_at("last"), random_of(0), swapped=1.0, **settings)
    assert words(inputs) == "Thank you <M> <M> me to your party apple week ."


def test_deshuffling_of_the_table():
    """Its example has a word more than the text of the other rows."""
    row = ids("Thank you for inviting me to your fun party last week .")
    example = ids("party me for your to . last fun you inviting week Thank")
    inputs, targets = spans.deshuffling(row, random_of(0))
    assert sorted(inputs) == sorted(example)
    assert np.array_equal(targets, row)
    short = ids("Thank you for")
    orders = {words(spans.deshuffling(short, random_of(seed))[0]) for seed in range(100)}
    assert len(orders) == 6


def test_mass_style_of_the_table():
    row = ids(TEXT)
    example = "Thank you <M> <M> me to your party <M> week ."
    made = set()
    for seed in range(4000):
        inputs, targets = WAYS["mass"](row, random_of(seed))
        made.add(words(inputs))
        assert words(targets) == TEXT
    assert example in made


def test_replaced_spans_of_the_table():
    inputs, targets = spans.replaced(ids(TEXT), noise_at("for", "inviting", "last"), SENTINELS)
    assert words(inputs) == "Thank you <X> me to your party <Y> week ."
    assert words(targets) == "<X> for inviting <Y> last <Z>"


def test_dropped_tokens_of_the_table():
    inputs, targets = spans.dropped(ids(TEXT), noise_at("for", "inviting", "last"))
    assert words(inputs) == "Thank you me to your party week ."
    assert words(targets) == "for inviting last"


def test_random_spans_of_the_table():
    noise = noise_at("for", "inviting", "me", "your", "party", "last")
    inputs, targets = spans.replaced(ids(TEXT), noise, SENTINELS)
    assert words(inputs) == "Thank you <X> to <Y> week ."
    assert words(targets) == "<X> for inviting me <Y> your party last <Z>"
    settings = {"mask_rate": 6 / 11, "mean_span": 3.0}  # six tokens in two spans, as in the example
    assert any(np.array_equal(noisy(11, seed, **settings), noise) for seed in range(2000))


# ---- all of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
def test_the_seed_decides_and_the_row_is_left_alone(make: Make):
    row = different(100)
    first, again, other = (make(row, random_of(seed)) for seed in (1, 1, 2))
    assert [part.tolist() for part in first] == [part.tolist() for part in again]
    assert [part.tolist() for part in first] != [part.tolist() for part in other]
    assert np.array_equal(row, different(100))


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
def test_rows_may_have_the_small_type_in_which_a_corpus_is_stored(make: Make):
    small, wide = (make(different(50).astype(kind), random_of(0)) for kind in (np.uint16, np.int64))
    assert [part.tolist() for part in small] == [part.tolist() for part in wide]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 40, 300])
def test_the_text_can_be_told_from_input_and_target(length: int):
    for seed in range(100):
        row = different(length)
        random = random_of(seed)
        for name in ("bert", "mass", "deshuffling"):
            inputs, targets = WAYS[name](row, random)
            assert np.array_equal(targets, row)
            assert len(inputs) == length
        for name in ("replaced", "spans"):
            inputs, targets = WAYS[name](row, random)
            assert restored(inputs, targets) == row.tolist()
        inputs, targets = WAYS["prefix"](row, random)
        assert [*inputs, *targets] == row.tolist()
        assert len(targets) > 0
        assert len(inputs) > 0 or length == 1
        inputs, targets = WAYS["dropped"](row, random)
        assert sorted([*inputs, *targets]) == row.tolist()
        assert (np.diff(inputs) > 0).all()
        assert (np.diff(targets) > 0).all()


@pytest.mark.parametrize("name", ["prefix", "replaced", "dropped", "spans"])
def test_the_input_has_nothing_of_what_is_to_be_written(name: str):
    for seed in range(200):
        inputs, targets = WAYS[name](different(1 + seed), random_of(seed))
        assert not np.isin(targets[targets >= SPECIAL], inputs).any()


def test_masked_tokens_are_not_in_the_input_of_mass_style():
    for seed in range(200):
        row = different(1 + seed)
        inputs, _ = WAYS["mass"](row, random_of(seed))
        assert not np.isin(row[inputs == MASK], inputs).any()
        assert np.array_equal(np.where(inputs == MASK, row, inputs), row)


@pytest.mark.parametrize("name", ["bert", "mass", "replaced", "dropped", "spans"])
def test_special_tokens_are_never_noise(name: str):
    for seed in range(200):
        length = 1 + seed
        row = random_of(seed).choice([0, 1, 2, 300, 301], length)
        inputs, targets = WAYS[name](row, random_of(seed))
        assert (inputs < 3).sum() == (row < 3).sum()
        if name not in ("bert", "mass"):
            assert targets.min(initial=3) >= 3
    inputs, _ = WAYS[name](np.array([2, 1, 2]), random_of(0))
    assert inputs.tolist() == [2, 1, 2]


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
def test_a_row_of_nothing_stays_so(make: Make):
    inputs, targets = make(np.zeros(0, np.int64), random_of(0))
    assert len(inputs) == 0
    assert not (targets >= SPECIAL).any()


# ---- independent noise ---------------------------------------------------------------------------------------


def test_every_token_is_noise_by_its_own_chance():
    row = different(200)
    noise = np.array([spans.independent_noise(row, random_of(seed), special=SPECIAL) for seed in range(2000)])
    assert noise.mean() == pytest.approx(0.15, abs=0.003)
    assert noise.sum(1).var() == pytest.approx(200 * 0.15 * 0.85, rel=0.15)  # not a fixed number of them
    assert np.abs(noise.mean(0) - 0.15).max() < 0.04
    neighbours = (noise[:, 1:] & noise[:, :-1]).mean()
    assert neighbours == pytest.approx(0.15**2, abs=0.002)


def test_there_is_always_some_noise():
    for length in (1, 2, 3):
        for seed in range(50):
            assert spans.independent_noise(different(length), random_of(seed), special=SPECIAL).any()


def test_of_ten_tokens_of_noise_nine_are_masks_and_one_is_any_word_in_bert_style():
    row = np.full(512, VOCABULARY)
    seen = np.concatenate([WAYS["bert"](row, random_of(seed))[0] for seed in range(200)])
    noise = seen[seen != VOCABULARY]
    assert len(noise) / len(seen) == pytest.approx(0.15, abs=0.005)
    assert (noise == MASK).mean() == pytest.approx(0.9, abs=0.01)
    assert noise[noise != MASK].min() >= SPECIAL


# ---- random spans --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "tokens", "number"),
    [(1, 0, 0), (2, 1, 1), (3, 1, 1), (10, 2, 1), (30, 4, 1), (40, 6, 2), (100, 15, 5), (512, 77, 26)],
)
def test_there_are_so_many_tokens_in_so_many_spans(length: int, tokens: int, number: int):
    """round(0.15 n) tokens, at least one; round(tokens / 3) spans, at least one; the first token stays."""
    for seed in range(100):
        noise = noisy(length, seed)
        assert noise.sum() == tokens
        assert len(span_lengths(noise)) == number
        assert not noise[0]


@pytest.mark.parametrize("mask_rate", [0.1, 0.15, 0.25, 0.5])
@pytest.mark.parametrize("mean", [2.0, 3.0, 5.0, 10.0])
def test_rates_and_lengths_of_the_paper(mask_rate: float, mean: float):
    """Tables 6 and 7."""
    noise = noisy(512, 0, mask_rate=mask_rate, mean_span=mean)
    assert noise.mean() == pytest.approx(mask_rate, abs=1 / 512)
    assert span_lengths(noise).mean() == pytest.approx(mean, rel=0.1)


def test_all_choices_are_equally_likely():
    """Four tokens of eleven in two spans: 3 ways to cut the noise, 21 to lay it among the seven that stay."""
    counts: dict[bytes, int] = {}
    for seed in range(6300):
        noise = noisy(11, seed, mask_rate=4 / 11, mean_span=2.0).tobytes()
        counts[noise] = counts.get(noise, 0) + 1
    assert len(counts) == 3 * 21
    expected = 6300 / len(counts)
    assert sum((found - expected) ** 2 / expected for found in counts.values()) < 110  # chi-square with 62 degrees


def test_more_noise_than_can_be_kept_apart():
    for seed in range(50):
        noise = noisy(10, seed, mask_rate=0.9, mean_span=1.0)
        assert noise.sum() == 9
        assert len(span_lengths(noise)) == 1


# ---- sentinels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentinels", [2, 3, 10])
def test_with_few_sentinels_there_are_fewer_spans(sentinels: int):
    row, few = different(400), SENTINELS[:sentinels]
    for seed in range(30):
        for make in (spans.replaced_spans, spans.random_spans):
            inputs, targets = make(row, random_of(seed), sentinels=few, special=SPECIAL)
            assert tuple(inputs[inputs < SPECIAL]) == few[:-1]
            assert tuple(targets[targets < SPECIAL]) == few
            assert restored(inputs, targets) == row.tolist()


def test_spans_that_are_given_up_are_anywhere():
    noise = np.arange(100) % 4 >= 2  # 25 spans of two
    kept = np.array([spans.at_most(5, noise, random_of(seed)) for seed in range(1000)])
    assert (kept.sum(1) == 10).all()
    assert not (kept & ~noise).any()
    assert np.abs(kept.mean(0)[noise] - 0.2).max() < 0.06
    assert all(set(span_lengths(row)) == {2} for row in kept)
    assert np.array_equal(spans.at_most(25, noise, random_of(0)), noise)


def test_noise_at_both_ends_has_its_sentinels():
    inputs, targets = spans.replaced(np.array([300, 301, 302]), np.array([True, False, True]), SENTINELS)
    assert inputs.tolist() == [X, 301, Y]
    assert targets.tolist() == [X, 300, Y, 302, Z]
    inputs, targets = spans.replaced(np.array([300, 301]), np.array([False, False]), SENTINELS)
    assert inputs.tolist() == [300, 301]
    assert targets.tolist() == [X]
