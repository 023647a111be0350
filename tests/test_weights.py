"""Weights in 8 bits: how exact they stay, and how small they are."""

import torch

from lexigraph.weights import GROUP, SCALE, compacted, expanded


def test_weights_in_8_bits_miss_by_half_a_step_of_their_group():
    torch.manual_seed(0)
    weights = {"matrix": torch.randn(5, 2 * GROUP), "odd": torch.randn(3, 4, 7), "bias": torch.randn(6)}
    weights["matrix"][0, 0] = 100.0  # one large weight: a step there is 100 / 127
    weights["matrix"][1] = 0.0
    back = expanded(compacted(weights))
    miss = (back["matrix"] - weights["matrix"]).abs()
    assert miss[0, :GROUP].max() > 0.1
    assert miss[0, GROUP:].max() < 0.51 * weights["matrix"][0, GROUP:].abs().max() / 127  # its neighbours stay exact
    assert miss[1].max() == 0
    assert back["odd"].shape == (3, 4, 7)
    assert (back["odd"] - weights["odd"]).abs().max() < 0.51 * weights["odd"].abs().max() / 127
    assert torch.equal(back["bias"], weights["bias"].half())


def test_weights_in_8_bits_take_a_quarter_of_the_space():
    small = compacted({"matrix": torch.randn(64, 4 * GROUP)})
    assert small["matrix"].dtype == torch.int8
    assert small["matrix" + SCALE].shape == (64, 4)
    assert sum(value.numel() * value.element_size() for value in small.values()) < 0.26 * 4 * 64 * 4 * GROUP
