"""Batches that grow over the training: which batches of the plan a step takes, and that they are one step."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest
import torch

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.training.distribution import World
from lexigraph.training.schedules import batches_before, step_of
from tests.contracts.two_processes import SETTINGS, largest_difference, training_of


@pytest.mark.parametrize(("steps", "growth"), [(8, 4), (1000, 4), (7, 3), (3, 5), (10, 1)])
def test_every_batch_is_read_once_in_order_and_steps_grow_to_so_many(steps, growth):
    bounds = [batches_before(step, steps, growth) for step in range(steps + 1)]
    sizes = [after - before for before, after in itertools.pairwise(bounds)]
    assert bounds[0] == 0
    assert sizes == sorted(sizes)
    assert min(sizes) >= 1
    assert max(sizes) == sizes[-1] == growth
    assert sum(sizes) == pytest.approx(steps * (growth + 1) / 2, rel=0.2 if steps > 5 else 0.7)


def test_the_step_by_whose_end_a_batch_is_read():
    assert [step_of(batches, 8, 4) for batches in (1, 2, 3, 4, 6, 20)] == [1, 2, 3, 3, 4, 8]
    assert step_of(5, 10, 1) == 5
    assert step_of(99, 8, 4) == 9  # never


@pytest.mark.parametrize("system", ["gpt", "electra", "gpt-bert-halves"])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_step_of_several_batches_is_the_step_of_one_that_holds_them_all(system, accumulate):
    """Every batch of this plan holds the same eight rows: three of them have the mean gradient of one."""
    world, kept = World(torch.device("cpu")), []
    for growth in (1, 3):
        settings = dataclasses.replace(SETTINGS, batch_growth=growth, accumulate=accumulate)
        training = training_of(system, world, settings, 8)
        training.progress.step = 9  # the last of ten: as many batches as there ever are
        training.step()
        kept.append({name: weight.clone() for name, weight in training.network.state_dict().items()})
    assert largest_difference(*kept) < 1e-10


def test_a_run_whose_batches_grow_reads_four_times_the_tokens_at_the_end_and_resumes_bit_exact(tmp_path):
    settings = {"train.batch_growth": 4, "train.steps": 8, "train.checkpoint_every": 3, "train.log_every": 1}
    settings |= {"model.dropout": 0.2, "train.validate_every": 8}
    calm = api.train("gpt", "grammar", tmp_path / "calm", set=settings, tiny=True, quiet=True)
    log = [json.loads(line) for line in (tmp_path / "calm" / "log.jsonl").read_text().splitlines()]
    tokens = {
        line["step"]: line["tokens_per_second"] * line["seconds_per_step"] for line in log if line["kind"] == "train"
    }
    assert tokens[8] > 2.5 * tokens[1]
    rough = api.prepare("gpt", "grammar", tmp_path / "rough", set=settings, tiny=True, quiet=True)
    stopped, _ = api.training_of(api.Run.open(rough), World(torch.device("cpu")))
    for _ in range(5):
        stopped.step()
    stopped.save(api.Run.open(rough))
    again = api.train(out=rough, resume=True, quiet=True)
    for name, weight in calm.network.state_dict().items():
        assert torch.equal(weight, again.network.state_dict()[name]), name


def test_growth_is_refused_where_a_step_has_one_batch():
    world = World(torch.device("cpu"))
    growing = dataclasses.replace(SETTINGS, batch_growth=2)
    with pytest.raises(UsageError, match="carries memory"):
        training_of("lstm-lm", world, growing, 8)
    with pytest.raises(UsageError, match="compares the rows"):
        training_of("sentence-encoder", world, growing, 8)
