"""The loss of one recurrent unit: its cliff, and what clipping does there."""

from __future__ import annotations

import math

import numpy as np
import torch

from lexigraph.views import cliff


def test_the_loss_is_that_of_the_unit_step_by_step():
    x = 0.5
    for _ in range(50):
        x = 2.0 / (1 + math.exp(-x)) - 1.0
    expected = (1 / (1 + math.exp(-x)) - 0.7) ** 2
    found = cliff.loss(torch.tensor([2.0], dtype=torch.float64), torch.tensor([-1.0], dtype=torch.float64))
    assert abs(found.item() - expected) < 1e-12


def test_at_the_cliff_the_loss_falls_at_once():
    """Pascanu et al.'s wall: there a hundredth more of the bias changes the loss far more than anywhere beside it."""
    biases = torch.linspace(-4.0, -2.0, 201, dtype=torch.float64)
    losses = cliff.loss(torch.full_like(biases, 6.0), biases)
    jumps = losses.diff().abs()
    assert jumps.max() > 50 * jumps.median()


def test_clipping_bounds_the_step_that_the_cliff_throws(tmp_path):
    made = {name: cliff.path(*way, moves=120) for name, way in cliff.WAYS.items() if name[:5] in ("plain", "clipp")}
    plain, clipped = made.values()
    assert cliff.longest(clipped) <= 0.1 * 0.1 + 1e-9  # rate times norm
    assert cliff.longest(plain) > 3 * cliff.longest(clipped)
    assert np.allclose(plain[0], clipped[0])
