"""Weights of attention follow their equations and add up to 1; padding and what is outside a window get none."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.alignment import Alignment, Score, Window

SCORES = get_args(Score)
LENGTHS = torch.tensor([4, 7, 1])


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def alignment_of(score: Score, window: Window = "none", reach: int = 10) -> Alignment:
    layer = Alignment(score, 4, 9, window, reach).double()
    for number, parameter in enumerate(layer.parameters()):
        parameter.data = drawn(*parameter.shape, seed=number)
    return layer


def looked(layer: Alignment, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    times = torch.arange(queries.shape[1]).expand(queries.shape[:2])
    return layer(queries, layer.keys(memory), LENGTHS, times).exp()


def by_hand(layer: Alignment, q: torch.Tensor, m: torch.Tensor, place: int) -> torch.Tensor:
    """The score of one query and one position."""
    weights = dict(layer.named_parameters())
    if layer.score == "dot":
        return q @ m
    if layer.score == "scaled-dot":
        return q @ m / 4**0.5
    if layer.score == "general":
        return q @ weights["of_memory.weight"] @ m
    if layer.score == "content":
        return (1 + weights["sharpness"].exp()).log()[0] * (q @ m) / (q.norm() * m.norm())
    position = weights["of_query.weight"] @ q + weights["of_query.bias"]
    if layer.score == "location":
        return position[place]
    return weights["v.weight"][0] @ torch.tanh(position + weights["of_memory.weight"] @ m)


@pytest.mark.parametrize("score", SCORES)
def test_weights_follow_their_equation_and_are_none_on_padding(score):
    layer = alignment_of(score)
    queries, memory = drawn(3, 5, 4), drawn(3, 7, 4, seed=1)
    found = looked(layer, queries, memory)
    for row, length in enumerate(LENGTHS.tolist()):
        for t in range(5):
            scores = [by_hand(layer, queries[row, t], memory[row, s], s) for s in range(length)]
            expected = F.pad(torch.stack(scores).softmax(0), (0, 7 - length))
            assert torch.allclose(found[row, t], expected)


@pytest.mark.parametrize("window", ["monotonic", "predictive"])
def test_a_window_multiplies_by_a_gaussian_and_cuts_off_what_is_far_away(window):
    layer, reach = alignment_of("dot", window, reach=2), 2
    queries, memory = drawn(3, 5, 4), drawn(3, 7, 4, seed=1)
    found = looked(layer, queries, memory)
    for row, length in enumerate(LENGTHS.tolist()):
        for t in range(5):
            center = torch.tensor(float(min(t, length - 1)))
            if window == "predictive":
                center = (length - 1) * layer.where(queries[row, t]).sigmoid()[0]
            away = torch.arange(length) - center
            weights = (memory[row, :length] @ queries[row, t]).exp() * (-(away**2) / (2 * (reach / 2) ** 2)).exp()
            weights = weights * (away.abs() <= reach)
            assert torch.allclose(found[row, t, :length], weights / weights.sum())
            assert not found[row, t, length:].any()


def test_a_newborn_layer_by_content_looks_sharply():
    layer = Alignment("content", 4, 9).double()
    x = torch.eye(4, dtype=torch.float64)[None]
    weights = layer(x, layer.keys(3 * x), torch.tensor([4]), torch.zeros(1, 4, dtype=torch.long)).exp()
    assert torch.allclose(weights[0].diagonal(), torch.tensor(5.0).exp().double() / (torch.tensor(5.0).exp() + 3))


def test_attention_by_location_says_how_many_positions_it_knows():
    layer = alignment_of("location")
    with pytest.raises(LexigraphError, match="knows 9 positions"):
        looked(layer, drawn(3, 1, 4), drawn(3, 10, 4))
