"""Plans: every token has its turn, the same seed gives the same plan, and any step can be asked for at once."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.text.batches import (
    Buckets,
    InTurn,
    Rows,
    Streams,
    Together,
    Windows,
    padded,
    pair_lengths,
    require_a_batch,
    share,
)

LENGTHS = np.random.default_rng(7).integers(1, 90, 300)
STARTS = np.cumsum(LENGTHS) - LENGTHS
BATCH = 256

MAKERS = {
    "buckets": lambda seed: Buckets(STARTS, LENGTHS, BATCH, seed),
    "windows": lambda seed: Windows(5003, 32, BATCH, seed),
    "streams": lambda seed: Streams(5003, 32, 8, seed),
}
plans = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
line_lengths = st.lists(st.integers(1, 200), min_size=1, max_size=80)


def rows(batch):
    return list(zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True))


def epoch(plan, number=0):
    first = number * plan.epoch_steps
    return [rows(plan.batch(step)) for step in range(first, first + plan.epoch_steps)]


def tokens(batches):
    """How often each place of the text is read."""
    return Counter(place for batch in batches for start, length in batch for place in range(start, start + length))


# ---- all plans ----


@plans
def test_the_same_seed_and_epoch_give_the_same_plan(make):
    assert epoch(make(3), 2) == epoch(make(3), 2)


@plans
def test_another_epoch_and_another_seed_give_another_plan(make):
    plan = make(3)
    assert epoch(plan, 0) != epoch(plan, 1)
    assert epoch(plan, 1) != epoch(plan, 2)
    assert epoch(make(3), 1) != epoch(make(4), 1)


@plans
def test_seeking_equals_walking(make):
    walker = make(0)
    steps = range(3 * walker.epoch_steps)
    walked = [rows(walker.batch(step)) for step in steps]
    jumper = make(0)
    order = np.random.default_rng(0).permutation(len(steps)).tolist()
    assert {step: rows(jumper.batch(step)) for step in order} == dict(enumerate(walked))


@plans
def test_no_place_is_read_twice_in_an_epoch_and_tokens_counts_them(make):
    plan = make(0)
    for number in range(3):
        seen = tokens(epoch(plan, number))
        assert set(seen.values()) == {1}
        assert len(seen) == plan.tokens


@plans
def test_batches_stay_within_their_tokens_padding_included(make):
    for batch in epoch(make(0)):
        assert len(batch) * max(length for _, length in batch) <= BATCH


# ---- lines ----


@given(line_lengths, st.integers(1, 400), st.integers(0, 3))
def test_buckets_cover_every_line_once(lengths, batch_tokens, number):
    lengths = np.array(lengths)
    starts = np.cumsum(lengths) - lengths
    batches = epoch(Buckets(starts, lengths, batch_tokens, seed=1), number)
    assert sorted(row for batch in batches for row in batch) == rows(Rows(starts, lengths))
    for batch in batches:  # a line that is longer than a batch stands alone
        assert len(batch) == 1 or len(batch) * max(length for _, length in batch) <= batch_tokens


@given(line_lengths)
def test_the_first_batch_is_of_the_longest_lines(lengths):
    lengths = np.array(lengths)
    plan = Buckets(np.cumsum(lengths) - lengths, lengths, 400, seed=1)
    longest, first = lengths.max(), plan.batch(0).lengths.max()
    assert longest - first < max(8, longest / 8)  # lines of like length are within 8 tokens or an eighth


def test_lines_of_like_length_stand_together():
    wasted = used = 0
    for batch in epoch(MAKERS["buckets"](0)):
        lengths = [length for _, length in batch]
        wasted += len(lengths) * max(lengths) - sum(lengths)
        used += sum(lengths)
    assert wasted / used < 0.15  # in random order it is about one half


def test_the_sizes_of_the_batches_stay_the_same_from_epoch_to_epoch():
    plan = MAKERS["buckets"](0)
    assert Counter(map(len, epoch(plan, 0))) == Counter(map(len, epoch(plan, 1)))


def test_members_of_a_batch_change_from_epoch_to_epoch():
    plan = MAKERS["buckets"](0)
    first, second = ({frozenset(batch) for batch in epoch(plan, number) if len(batch) > 1} for number in (0, 1))
    assert len(first & second) < len(first) / 4


# ---- streams without memory ----


@given(st.integers(2, 2000), st.integers(1, 64), st.integers(1, 512), st.integers(0, 3))
def test_windows_are_distinct_and_within_the_text(total, window, batch_tokens, number):
    plan = Windows(total, window, batch_tokens, seed=5)
    if plan.epoch_steps < 1:
        return
    batches = epoch(plan, number)
    spans = [row for batch in batches for row in batch]
    assert len(set(spans)) == len(spans)
    assert {length for _, length in spans} == {window}
    assert min(start for start, _ in spans) >= 0
    assert max(start for start, _ in spans) + window < total  # the token after it is the last target
    assert len({start % window for start, _ in spans}) == 1  # one phase an epoch
    assert len({len(batch) for batch in batches}) == 1


def test_windows_leave_out_less_than_a_batch_and_a_window():
    plan = Windows(5003, 32, BATCH, 0)
    assert 5002 - plan.tokens < BATCH + 32


def test_windows_start_at_a_new_phase_in_each_epoch():
    plan = Windows(5003, 32, BATCH, 0)
    assert len({epoch(plan, number)[0][0][0] % 32 for number in range(10)}) > 5


# ---- streams with memory ----


@given(st.integers(20, 2000), st.integers(1, 40), st.integers(1, 6), st.booleans())
def test_each_reader_goes_on_where_it_stopped(total, window, streams, tail):
    plan = Streams(total, window, streams, seed=2, tail=tail)
    if plan.epoch_steps < 1:
        return
    batches = epoch(plan, 1)
    assert {len(batch) for batch in batches} == {streams}
    for before, after in pairwise(batches):
        for (start, length), (then, _) in zip(before, after, strict=True):
            assert then == start + length
    for batch in batches:
        assert all(start >= 0 and start + length < total for start, length in batch)


@given(st.integers(2, 2000), st.integers(1, 40), st.integers(1, 6))
def test_evaluation_leaves_nothing_out(total, window, streams):
    if total - 1 < streams:
        return
    plan = Streams(total, window, streams, seed=2, tail=True)
    assert tokens(epoch(plan)) == Counter(range(total - 1))
    assert plan.tokens == total - 1


def test_memory_starts_anew_with_each_epoch_and_only_then():
    plan = Streams(1000, 10, 4, 0)
    fresh = [step for step in range(3 * plan.epoch_steps) if plan.fresh(step)]
    assert fresh == [0, plan.epoch_steps, 2 * plan.epoch_steps]


@pytest.mark.parametrize("name", ["buckets", "windows"])
def test_plans_without_memory_are_always_fresh(name):
    plan = MAKERS[name](0)
    assert all(plan.fresh(step) for step in range(5))


# ---- parts ----


@given(st.integers(0, 70), st.integers(1, 80))
def test_parts_are_the_whole_in_order_and_nearly_equal(count, parts):
    batch = Rows(np.arange(count), np.arange(count) + 1)
    slices = [share(batch, part, parts) for part in range(parts)]
    assert [row for part in slices for row in rows(part)] == rows(batch)
    sizes = [len(part) for part in slices]
    assert max(sizes) - min(sizes) <= 1


def test_a_text_smaller_than_a_batch_is_refused_with_its_size():
    with pytest.raises(LexigraphError) as caught:
        require_a_batch(Windows(100, 10, 4096, 0), "small.txt", 4096, 99)
    for word in ("small.txt", "99 tokens", "4,096", "train.batch_tokens"):
        assert word in str(caught.value)


# ---- several tables ----


def turns(plan, steps):
    return [{name: rows(own) for name, own in plan.batch(step).items()} for step in steps]


def test_together_every_step_takes_rows_of_each_table():
    main, other = MAKERS["buckets"](0), MAKERS["streams"](1)
    plan = Together({"": main, "other": other})
    steps = range(2 * main.epoch_steps)
    assert turns(plan, steps) == [{"": rows(main.batch(s)), "other": rows(other.batch(s))} for s in steps]
    assert (plan.epoch_steps, plan.tokens) == (main.epoch_steps, main.tokens)


def test_in_turn_each_table_has_its_quota_in_every_block_and_its_own_epochs():
    tables = {"": MAKERS["windows"](0), "other": MAKERS["buckets"](1)}
    plan, quotas = InTurn(tables, {"": 3, "other": 1}, seed=0), {"": 3, "other": 1}
    found = turns(plan, range(80))
    for block in range(20):
        names = [name for batch in found[4 * block : 4 * block + 4] for name in batch]
        assert Counter(names) == quotas
    for name, own in tables.items():
        taken = [batch[name] for batch in found if name in batch]
        assert taken == [rows(own.batch(turn)) for turn in range(len(taken))]
    orders = {tuple(name for batch in found[4 * block : 4 * block + 4] for name in batch) for block in range(20)}
    assert len(orders) > 1
    assert turns(plan, [57, 3]) == [found[57], found[3]]


# ---- padding ----


def test_rows_are_padded_behind_and_may_leave_room_in_front():
    assert padded([[5, 6, 7], [8]], 9).tolist() == [[5, 6, 7], [8, 9, 9]]
    assert padded([np.array([], int), np.array([3])], 0).tolist() == [[0], [3]]
    assert padded([[5], []], 9, longest=2, first=1).tolist() == [[9, 5], [9, 9]]


@pytest.mark.parametrize("most", range(1, 12))
def test_the_longer_text_of_a_pair_is_cut_one_token_at_a_time(most):
    for first, second in product(range(9), repeat=2):
        kept = [first, second]
        while sum(kept) > most:
            kept[int(kept[1] >= kept[0])] -= 1
        assert pair_lengths(first, second, most) == tuple(kept)
