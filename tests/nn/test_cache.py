"""Lines of hypotheses: looking along them is looking at keys and values that were copied."""

import pytest
import torch

from lexigraph.nn.attention import attend_explicitly
from lexigraph.nn.cache import KeyValueCache

LAYERS, HEADS, WIDTH, ROWS, STEPS = 2, 2, 4, 6, 9


def searched(seed, compiled, bias=None, rows=ROWS, steps=STEPS):
    """A random search: rows follow others or are dropped; beside it, keys and values that are copied each time."""
    random = torch.Generator().manual_seed(seed)
    past = KeyValueCache.start(rows, LAYERS, HEADS, WIDTH, 2, torch.zeros(1))
    copies = torch.zeros(rows, LAYERS, 2, HEADS, 0, WIDTH)
    for time in range(steps):
        past = past.grown(2 * time) if time == past.beam_indices.shape[1] else past
        new = torch.randn(3, len(copies), HEADS, 1, WIDTH, generator=random)
        copies = torch.cat([copies, new[1:].transpose(0, 1)[:, None].expand(-1, LAYERS, -1, -1, -1, -1)], 4)
        added = None if bias is None else bias[..., : time + 1]
        for layer in range(LAYERS):
            weights = None if compiled else []
            found = past.of(layer).attend(*new, time, bias=added, weights=weights)
            wanted, seen = attend_explicitly(new[0], *copies[:, layer].unbind(1), mask=added)
            yield found, wanted
            if weights:
                yield weights[0], seen
        followed = torch.randint(len(copies), (len(copies),), generator=random)
        past, copies = past.reorder(followed), copies[followed]
        if time == steps // 2:
            kept = torch.arange(len(copies))[1::2]
            past, copies = past.keep(kept), copies[kept]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_looking_along_lines_is_looking_at_copies(seed, compiled, biased):
    bias = torch.randn(1, HEADS, 1, STEPS) if biased else None
    with torch.no_grad():
        for found, wanted in searched(seed, compiled, bias):
            assert torch.allclose(found, wanted, atol=1e-6)


def test_what_needs_gradients_is_not_left_to_the_kernel():
    past = KeyValueCache.start(ROWS, 1, HEADS, WIDTH, 2, torch.zeros(1))
    q = torch.randn(ROWS, HEADS, 1, WIDTH, requires_grad=True)
    k, v = torch.randn(2, ROWS, HEADS, 1, WIDTH)
    past.attend(q, k, v, 0).sum().backward()
    assert q.grad is not None
