"""Random numbers that belong to an example."""

import numpy as np
import torch
from scipy import stats

from lexigraph.objectives import rng


def seeds(count=4000, epoch=0, seed=0):
    return torch.from_numpy(rng.seeds_of(np.arange(count) * 17, epoch, seed))


def test_numbers_of_an_example_do_not_depend_on_its_batch():
    together, alone = rng.gaussian(seeds(), 8, 3), rng.gaussian(seeds()[5:6], 8, 3)
    assert torch.equal(together[5:6], alone)
    assert torch.equal(rng.uniform(seeds(), 8, 3)[:, :4], rng.uniform(seeds(), 4, 3))


def test_uniform_and_normal_numbers_have_their_distributions():
    uniform = rng.uniform(seeds(), 32, 1)
    assert stats.kstest(uniform.flatten().numpy(), "uniform").pvalue > 0.01
    normal = rng.gaussian(seeds(), 32, 1)
    assert stats.kstest(normal.flatten().numpy(), "norm").pvalue > 0.01


def test_places_examples_streams_and_epochs_are_independent():
    base = rng.gaussian(seeds(), 16, 1)
    correlation = torch.corrcoef(base.T) - torch.eye(16)
    assert correlation.abs().max() < 5 / len(base) ** 0.5
    others = (rng.gaussian(seeds(), 16, 2), rng.gaussian(seeds(epoch=1), 16, 1),
              rng.gaussian(seeds(seed=1), 16, 1), base.roll(1, 0))  # fmt: skip
    for other in others:
        assert abs(float((base * other).mean())) < 5 / base.numel() ** 0.5


def test_every_example_of_every_epoch_has_a_seed_of_its_own():
    found = np.concatenate([rng.seeds_of(np.arange(20_000), epoch, 3) for epoch in range(3)])
    assert len(np.unique(found)) >= 60_000 - 2  # of 2^32, a collision or two may happen
    assert found.min() >= 0
    assert found.max() < 2**32
