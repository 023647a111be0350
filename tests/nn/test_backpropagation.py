"""Backpropagation through time as it is written out gives what autograd gives."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from lexigraph.nn.backpropagation import Layer, Stack, loss_and_gradients

T, B, SIZES, ANSWERS = 9, 3, (4, 6, 5, 7), 8  # three layers


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64) * 0.5


@pytest.fixture
def weights() -> list[torch.Tensor]:
    torch.manual_seed(0)
    found = []
    for below, dim in pairwise(SIZES):
        found += [drawn(dim, below), drawn(dim, dim), drawn(dim)]
    return [weight.requires_grad_() for weight in (*found, drawn(ANSWERS, SIZES[-1]), drawn(ANSWERS))]


def stack_of(weights: list[torch.Tensor], act: str) -> Stack:
    layers = tuple(Layer(*weights[n : n + 3]) for n in range(0, len(weights) - 2, 3))
    return Stack(layers, *weights[-2:], act)


def flat(stack: Stack) -> list[torch.Tensor]:
    return [tensor for layer in stack.layers for tensor in (layer.W, layer.U, layer.b)] + [stack.V, stack.c]


def by_autograd(weights, act, x, targets, last_only, window):
    """The loss with torch's own steps; at the beginning of a window the state is cut from its past."""
    *layers, V, c = weights
    states = [x.new_zeros(B, dim) for dim in SIZES[1:]]
    loss = x.new_zeros(())
    for t, h in enumerate(x):
        if window and t % window == 0:
            states = [state.detach() for state in states]
        for k in range(len(states)):
            W, U, b = layers[3 * k : 3 * k + 3]
            h = states[k] = getattr(torch, act)(h @ W.T + states[k] @ U.T + b)
        if t == T - 1 or not last_only:
            answer, target = h @ V.T + c, targets[t]
            if targets.is_floating_point():
                p = answer.sigmoid()
                loss = loss - (target * p.log() + (1 - target) * (1 - p).log()).sum()
            else:
                loss = loss + F.cross_entropy(answer, target, reduction="sum")
    return loss, torch.autograd.grad(loss, weights)


@pytest.mark.parametrize("window", [0, 4])
@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize("kind", ["softmax", "bernoulli"])
@pytest.mark.parametrize("act", ["tanh", "relu"])
def test_it_equals_autograd(weights, act, kind, last_only, window):
    x = drawn(T, B, SIZES[0])
    targets = torch.randint(ANSWERS, (T, B)) if kind == "softmax" else torch.rand(T, B, ANSWERS, dtype=torch.float64)
    with torch.no_grad():
        loss, gradients = loss_and_gradients(stack_of(weights, act), x, targets, last_only=last_only, window=window)
    expected_loss, expected = by_autograd(weights, act, x, targets, last_only, window)
    assert torch.allclose(loss, expected_loss, rtol=1e-12)
    for found, wanted in zip(flat(gradients), expected, strict=True):
        assert (found - wanted).abs().max() < 1e-10


@pytest.mark.parametrize(("u", "expected"), [(1.01, 20959), (0.99, 4.317e-5)])
def test_gradients_grow_or_fade_with_the_power_of_the_recurrent_weight(u, expected):
    """1.01^1000 ≈ 20,000 and 0.99^1000 ≈ 0: what an answer says to an input of a thousand steps before."""
    one = torch.ones(1, 1, dtype=torch.float64)
    stack = Stack((Layer(one, one * u, one[0] * 0),), one, one[0] * 0, "relu")
    x = F.pad(one[None], (0, 0, 0, 0, 0, 1000))
    _, gradients = loss_and_gradients(stack, x, torch.zeros(1001, 1, 1, dtype=torch.float64), last_only=True)
    assert float(gradients.layers[0].W / gradients.c) == pytest.approx(expected, rel=1e-3)
