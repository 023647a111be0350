"""A normal posterior: its KL by hand, its samples by their moments."""

from __future__ import annotations

import math

import pytest
import torch

from lexigraph.models.picture import Objective
from lexigraph.objectives.posterior import sampled

MEAN, LOG_VARIANCE = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 1.0]])
# entries: mean 2, variance 1: KL 2;  mean 0, variance e: KL (e - 2) / 2 = 0.36


def test_free_bits_and_annealing_by_hand():
    objective = Objective(variational=True, free_bits=0.5, anneal=100)  # 0.36 is below the free 0.5
    for step, weight in ((0, 0.0), (25, 0.25), (100, 1.0), (250, 1.0)):
        z, total = sampled(MEAN, LOG_VARIANCE, torch.ones(1, 2), torch.tensor(step), objective)
        assert float(total) == pytest.approx(weight * 2.5)
        assert z.tolist()[0] == pytest.approx([2 + 1, 0 + math.exp(0.5)])


def test_without_noise_it_is_the_mean_and_the_full_kl():
    z, total = sampled(MEAN, LOG_VARIANCE, None, None, Objective(variational=True, kl_weight=0.5))
    assert torch.equal(z, MEAN)
    assert float(total) == pytest.approx(0.5 * (2 + (math.e - 2) / 2))


def test_samples_have_the_mean_and_the_deviation():
    noise = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0))
    z, _ = sampled(MEAN.expand(20_000, -1), LOG_VARIANCE.expand(20_000, -1), noise, torch.tensor(0), Objective())
    assert torch.allclose(z.mean(0), torch.tensor([2.0, 0.0]), atol=0.05)
    assert torch.allclose(z.std(0), torch.tensor([1.0, math.exp(0.5)]), atol=0.05)
