"""Tasks mixed by their sizes (T5, 3.5.2): shares, and plans that any step can be found in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.recipe import Data
from lexigraph.text.mixing import Mixed, shares

SIZES = (600, 90, 10)  # examples of three tasks


def plan_of(seed: int = 0, **data: object) -> tuple[Mixed, np.ndarray]:
    """A plan over examples of random lengths, numbered from 0 task by task, and the task of each."""
    lengths = np.random.default_rng(1).integers(3, 40, sum(SIZES))
    tasks = np.repeat(range(len(SIZES)), SIZES)
    return Mixed(np.arange(len(tasks)), lengths, tasks, Data(**data), 200, seed), tasks


def epoch_of(plan: Mixed, epoch: int) -> np.ndarray:
    steps = range(epoch * plan.epoch_steps, (epoch + 1) * plan.epoch_steps)
    return np.concatenate([plan.batch(step).starts for step in steps])


def test_shares_of_a_hand_worked_table():
    sizes = np.array([8000, 1000, 1000])
    assert shares(sizes).tolist() == [0.8, 0.1, 0.1]
    assert shares(sizes, limit=2000).tolist() == [0.5, 0.25, 0.25]
    assert shares(sizes, temperature=3.0) == pytest.approx([0.5, 0.25, 0.25])
    assert shares(sizes, temperature=1e9) == pytest.approx([1 / 3] * 3)


def test_at_temperature_one_every_example_comes_once_an_epoch():
    plan, tasks = plan_of()
    for epoch in (0, 1):
        assert sorted(epoch_of(plan, epoch)) == list(range(len(tasks)))


@pytest.mark.parametrize("data", [{"task_temperature": 2.0}, {"task_limit": 50}, {"task_temperature": 100.0}])
def test_every_epoch_has_the_shares_and_in_the_long_run_all_examples_equally_often(data):
    plan, tasks = plan_of(**data)
    wanted = shares(np.array(SIZES), data.get("task_limit", 0), data.get("task_temperature", 1.0))
    seen = np.zeros(len(tasks))
    for epoch in range(200):
        rows = epoch_of(plan, epoch)
        assert np.bincount(tasks[rows]) / len(rows) == pytest.approx(wanted, abs=0.002)
        seen += np.bincount(rows, minlength=len(tasks))
    for task, size in enumerate(SIZES):
        own = seen[tasks == task]
        often = 200 * wanted[task] * len(tasks) / size
        assert own == pytest.approx(np.full(size, often), rel=0.5)
        assert own.mean() == pytest.approx(often, rel=0.02)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_any_step_is_found_without_those_before_it(steps):
    one, _ = plan_of(seed=3, task_temperature=2.0)
    for step in steps:
        other, _ = plan_of(seed=3, task_temperature=2.0)
        one_batch, other_batch = one.batch(step), other.batch(step)
        assert one_batch.starts.tolist() == other_batch.starts.tolist()
        assert one_batch.lengths.tolist() == other_batch.lengths.tolist()


def test_batches_keep_within_their_tokens():
    plan, _ = plan_of(task_temperature=5.0)
    for step in range(3 * plan.epoch_steps):
        rows = plan.batch(step)
        assert len(rows) == 1 or len(rows) * rows.lengths.max() <= 200
