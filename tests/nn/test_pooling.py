"""Pooling of positions into one vector."""

import torch

from lexigraph.nn.pooling import AttentionPooling, SlotPooling


def test_slots_share_out_every_place_and_add_up():
    torch.manual_seed(0)
    pool, one, other = SlotPooling(8), torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    matrices, bias = pool.out.weight.view(8, 16, 8), pool.out.bias  # O_h is matrices[:, h]
    by_hand = sum(
        pool.share(a).softmax(0)[h] * (matrices[:, h] @ a) for a in one[0] for h in range(16)
    )  # Σ_t Σ_h softmax_h(q_h · a_t) O_h a_t
    assert torch.allclose(pool(one)[0, 0], by_hand + bias, atol=1e-5)
    together = pool(torch.cat([one, torch.zeros(1, 2, 8), other], 1))  # padding is zero and adds nothing
    assert torch.allclose(together - bias, pool(one) + pool(other) - 2 * bias, atol=1e-5)


def test_attention_is_an_average_of_places_that_padding_does_not_change():
    torch.manual_seed(0)
    pool, one = AttentionPooling(8), torch.randn(1, 3, 8)
    padded = torch.cat([one, torch.zeros(1, 2, 8)], 1)
    assert torch.allclose(pool(one), pool(padded), atol=1e-6)
    assert torch.allclose(pool(one), pool(torch.cat([one, one], 1)), atol=1e-6)  # twice the same says no more
