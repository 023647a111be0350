"""The layout for decoding: the same product, also after the weight has changed."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from lexigraph.nn.linear import LARGE, Linear


def test_the_product_follows_the_weight():
    torch.manual_seed(0)
    layer, x = Linear(512, LARGE // 512), torch.randn(3, 512)
    for change in (0.0, 1.0):
        with torch.no_grad():
            layer.weight.add_(change)
        with torch.inference_mode():
            assert torch.allclose(layer(x), F.linear(x, layer.weight, layer.bias), atol=1e-4)
