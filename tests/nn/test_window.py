"""A sliding window is full attention under a mask: outputs and gradients, whatever the sizes."""

from __future__ import annotations

import itertools

import pytest
import torch

from lexigraph.nn.attention import attend_explicitly
from lexigraph.nn.transformer import Shape
from lexigraph.nn.window import Globals, Window, WindowAttention, by_flex, by_tiles, visible

WINDOWS = [(0, 0), (1, 1), (3, 3), (5, 0), (0, 4), (40, 40), (70, 0), (300, 300)]
LENGTHS = [1, 63, 65, 150]


def inputs(length: int, batch: int = 3, heads: int = 4, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    torch.manual_seed(length)
    return [torch.randn(batch, heads, length, 8, dtype=dtype, requires_grad=True) for _ in range(3)]


def padded(length: int) -> torch.Tensor:
    """Texts of that length and shorter ones, padded on the right."""
    return torch.arange(length) < torch.tensor([length, max(1, length // 2), 1])[:, None]


def some_globals(length: int) -> Globals | None:
    """Positions of three texts: two, one, none."""
    chosen = torch.zeros(3, length, dtype=torch.bool)
    chosen[0, [0, length // 2]] = chosen[1, 0] = True
    return Globals.of(chosen)


def reference(q, k, v, window, inside, far):
    seen = visible(window, q.shape[2], inside, far, q.device)
    return attend_explicitly(q, k, v, mask=seen | torch.eye(q.shape[2], dtype=torch.bool))[0]


def assert_equal_where_there_is_text(ours, theirs, inside):
    if inside is not None:
        ours, theirs = (x.transpose(1, 2)[inside] for x in (ours, theirs))
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12 if ours.dtype is torch.float64 else 1e-5)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("sides", WINDOWS)
def test_tiles_are_full_attention_under_a_mask_forward_and_backward(length, sides):
    for dilations, ragged, with_globals in itertools.product(
        [(1, 1, 1, 1), (3, 3, 3, 3), (2, 2, 1, 5)], (False, True), (False, True)
    ):
        window, inside = Window(*sides, dilations), padded(length) if ragged else None
        far = some_globals(length) if with_globals else None
        q, k, v = inputs(length)
        ours, theirs = by_tiles(q, k, v, window, inside, far), reference(q, k, v, window, inside, far)
        assert_equal_where_there_is_text(ours, theirs, inside)
        delta = torch.randn_like(ours)
        if inside is not None:
            delta = delta * inside[:, None, :, None]
        for mine, other in zip(*(torch.autograd.grad(x, (q, k, v), delta) for x in (ours, theirs)), strict=True):
            assert torch.allclose(mine, other, rtol=0, atol=1e-12)


def test_what_padding_makes_is_a_number():
    q, k, v = inputs(130)
    inside = torch.zeros(3, 130, dtype=torch.bool)
    inside[:, 0] = True
    found = by_tiles(q, k, v, Window(2, 2, (1, 1, 1, 1)), inside, None)
    assert found.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(found.sum(), (q, k, v)))


def test_large_scores_do_not_overflow():
    q, k, v = (100 * x.detach() for x in inputs(100))
    window = Window(4, 4, (1, 1, 1, 1))
    assert torch.allclose(by_tiles(q, k, v, window, None, None), reference(q, k, v, window, None, None))


@pytest.mark.slow  # torch takes long to load its compiler
@pytest.mark.filterwarnings("ignore:flex_attention called without")  # as it is on a GPU, it is compiled
@pytest.mark.parametrize("dilations", [(1, 1, 1, 1), (2, 2, 1, 5)])
def test_flex_attention_is_the_same(dilations):
    for ragged, with_globals in itertools.product((False, True), (False, True)):
        window, inside = Window(3, 3, dilations), padded(150) if ragged else None
        far = some_globals(150) if with_globals else None
        q, k, v = (x.detach() for x in inputs(150, dtype=torch.float32))
        assert_equal_where_there_is_text(
            by_flex(q, k, v, window, inside, far), reference(q, k, v, window, inside, far), inside
        )


def test_a_window_by_hand():
    """Two back and one ahead, every second position: of 0 … 6, position 4 sees 0, 2, 4 and 6."""
    seen = visible(Window(2, 1, (2, 1)), 7, None, None, torch.device("cpu"))[0]
    assert seen[0, 4].nonzero().flatten().tolist() == [0, 2, 4, 6]
    assert seen[1, 4].nonzero().flatten().tolist() == [2, 3, 4, 5]
    assert Window(2, 1, (2, 1)).reach == 4


def test_globals_see_all_and_are_seen_by_all():
    """The last token of a long text moves the global one, which moves in turn a token that is far from both."""
    torch.manual_seed(0)
    layer = WindowAttention(Shape(16, 2, 32), Window(1, 1, (1, 1)), globals=True).double()
    x, weights = torch.randn(1, 50, 16, dtype=torch.float64), list[torch.Tensor]()
    layer(x, far=Globals.first(x), weights=weights)
    seen = weights[0][0] > 0
    assert seen[:, 0].all()
    assert seen[:, :, 0].all()
    assert seen[0, 25].nonzero().flatten().tolist() == [0, 24, 25, 26]
    assert torch.allclose(weights[0].sum(-1), torch.ones(1, 2, 50, dtype=torch.float64))


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("with_globals", [False, True])
def test_weights_in_the_open_change_nothing(ragged, with_globals):
    torch.manual_seed(0)
    layer = WindowAttention(Shape(16, 2, 32), Window(3, 3, (1, 1)), globals=with_globals).double()
    x, inside = torch.randn(3, 70, 16, dtype=torch.float64), padded(70) if ragged else None
    far = some_globals(70) if with_globals else None
    openly = layer(x, inside, far, weights=[])
    kept = torch.ones(3, 70, dtype=torch.bool) if inside is None else inside
    assert torch.allclose(layer(x, inside, far)[kept], openly[kept], rtol=0, atol=1e-12)


def test_time_and_memory_grow_with_the_length_alone():
    """What a pass keeps for the way back: eight times as long, eight times as much."""

    def kept(length: int) -> int:
        sizes: list[int] = []
        q, k, v = inputs(length, batch=1)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
            by_tiles(q, k, v, Window(16, 16, (1, 1, 1, 1)), None, None)
        return sum(sizes)

    assert kept(1600) == 8 * kept(200)
