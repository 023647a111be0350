"""The layout for decoding: the same product, also after the weight has changed."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from lexigraph.nn.linear import LARGE, MANY, Linear, quantise


def test_the_product_follows_the_weight():
    torch.manual_seed(0)
    layer, x = Linear(512, LARGE // 512), torch.randn(3, 512)
    for change in (0.0, 1.0):
        with torch.no_grad():
            layer.weight.add_(change)
        with torch.inference_mode():
            assert torch.allclose(layer(x), F.linear(x, layer.weight, layer.bias), atol=1e-4)


def test_products_in_eight_bits_are_near_and_follow_the_weight():
    torch.manual_seed(0)
    layer, x = Linear(512, LARGE // 512), torch.randn(3, 512)
    layer.weight.data[0] *= 100  # each row has a scale of its own: a large one does not drown the others
    assert quantise(layer) == 1
    for change in (0.0, 0.1):
        with torch.no_grad():
            layer.weight.add_(change)
            layer.bias.add_(change)
        with torch.inference_mode():
            exact = F.linear(x, layer.weight, layer.bias)
            error = (layer(x) - exact).abs().amax(0) / exact.abs().amax(0)
            assert 0 < float(error.mean()) < 0.03
            assert float(error[0]) < 0.03
    with torch.enable_grad():  # training multiplies as ever
        assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))


def test_small_matrices_and_other_networks_keep_their_numbers():
    small, other = Linear(8, 8), Linear(512, LARGE // 512)
    assert quantise(small) == 0
    x = torch.randn(2, 512)
    with torch.inference_mode():
        assert torch.allclose(other(x), F.linear(x, other.weight, other.bias), atol=1e-4)


@pytest.mark.parametrize("outputs", [300, MANY])
@pytest.mark.parametrize("inputs", [250, 1024])
def test_in_eight_bits_a_row_does_not_depend_on_the_others_of_its_batch(inputs, outputs):
    torch.manual_seed(0)
    layer = Linear(inputs, outputs)
    quantise(layer)
    x = torch.randn(40, inputs) * torch.logspace(-4, 3, 40)[:, None]  # rounded by one range, most would be lost
    x[10:20] = F.gelu(x[10:20])
    x[20], x[21], x[22] = 0, x[21].abs() + 1, -x[22].abs() - 1
    with torch.inference_mode():
        exact = F.linear(x, layer.weight, layer.bias)
        together, alone = layer(x.view(4, 10, -1)).view(40, -1), torch.cat([layer(row) for row in x.split(1)])
    size = exact.abs().amax(1)
    assert ((together - alone).abs().amax(1) < 1e-5 * size).all()
    assert ((together - exact).abs().amax(1) < 0.03 * size)[5:].all()  # torch takes no steps below 6.1e-5
