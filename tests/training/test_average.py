"""The moving average of the weights: its formula, and that it leaves the weights as they were."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lexigraph.training.average import Average


def test_every_step_keeps_its_share_and_the_first_ones_are_forgotten():
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 8.0)
    average, expected = Average(layer, 0.3), 8.0
    for step, (weight, kept) in enumerate([(4.0, 2 / 11), (2.0, 3 / 12), (1.0, 0.3), (0.0, 0.3)], 1):
        nn.init.constant_(layer.weight, weight)
        average.update(step)
        expected = kept * expected + (1 - kept) * weight
        assert average.weights["weight"].item() == pytest.approx(expected)


def test_the_network_has_the_average_for_a_while_and_then_its_weights_again():
    layer = nn.Linear(2, 1)
    layer.bias.requires_grad_(False)  # what is not trained needs no average
    average, place = Average(layer, 0.5), layer.weight.data_ptr()
    before = layer.weight.detach().clone()
    with torch.no_grad():
        layer.weight.add_(1)
    with average.in_place():
        assert torch.equal(layer.weight, before)
        assert layer.weight.data_ptr() == place
    assert torch.equal(layer.weight, before + 1)
    assert list(average.weights) == ["weight"]
