"""Masks are data: who may look where, worked out by hand, and the two paths of attention under them."""

from __future__ import annotations

import pytest
import torch

from lexigraph.nn.attention import attend, attend_explicitly, before, prefix, within

T, F = True, False


def test_masks_by_hand():
    lengths = torch.tensor([3, 1])
    assert before(3)[0, 0].tolist() == [[T, F, F], [T, T, F], [T, T, T]]
    assert within(lengths, 3)[:, 0, 0].tolist() == [[T, T, T], [T, F, F]]
    prefixes = prefix(torch.tensor([2, 1]), 3)[
        :, 0
    ].tolist()  # a prefix sees itself both ways, what follows looks back
    assert prefixes[0] == [[T, T, F], [T, T, F], [T, T, T]]
    assert prefixes[1] == [[T, F, F], [T, T, F], [T, T, T]]


@pytest.mark.parametrize("scale", [None, 1.0])
def test_numbers_that_are_added_hide_as_masks_do(scale):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 5, 8, dtype=torch.float64)
    mask = prefix(torch.tensor([2, 4]), 5)
    added = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -torch.inf)
    expected, weights = attend_explicitly(q, k, v, mask=mask, scale=scale)
    assert weights.masked_select(~mask).abs().sum() == 0
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 5, dtype=torch.float64))
    for given in (mask, added):
        assert torch.allclose(attend(q, k, v, mask=given, scale=scale), expected, atol=1e-12)
    causal = attend_explicitly(q, k, v, mask=before(5), scale=scale)[0]
    assert torch.allclose(attend(q, k, v, causal=True, scale=scale), causal, atol=1e-12)
