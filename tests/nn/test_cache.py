"""Lines of hypotheses: looking along them is looking at keys and values that were copied."""

import pytest
import torch

from lexigraph.nn.attention import attend_explicitly
from lexigraph.nn.cache import KeyValueCache, Memory
from lexigraph.nn.positions import rotations, turn

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
            side_by_side = new.transpose(0, 1).squeeze(3).contiguous()
            found = past.of(layer).attend(side_by_side, time, bias=added, weights=weights)
            wanted, seen = attend_explicitly(new[0], *copies[:, layer].unbind(1), mask=added)
            yield found, wanted[:, :, 0]
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
    new = torch.randn(ROWS, 3, HEADS, WIDTH, requires_grad=True)
    past.attend(new, 0).sum().backward()
    assert new.grad is not None


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("turns", [1, ROWS])
def test_queries_and_keys_are_turned_before_they_are_kept(compiled, turns):
    past = KeyValueCache.start(ROWS, 1, HEADS, WIDTH, 3, torch.zeros(1))
    rotation = rotations(torch.rand(3, turns, 1, 1), WIDTH)  # of three steps, one for all rows or each its own
    keys, values = torch.zeros(2, ROWS, HEADS, 0, WIDTH)
    with torch.no_grad():
        for time in range(3):
            new = torch.randn(ROWS, 3, HEADS, WIDTH)
            q, k, v = new.clone().unsqueeze(3).unbind(1)
            keys, values = torch.cat([keys, turn(k, rotation[:, time])], 2), torch.cat([values, v], 2)
            wanted, _ = attend_explicitly(turn(q, rotation[:, time]), keys, values)
            found = past.attend(new, time, rotation=rotation[:, time], weights=None if compiled else [])
            assert torch.allclose(found, wanted[:, :, 0], atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("ragged", [True, False])
def test_rows_look_at_their_own_sentence_whichever_have_ended(compiled, ragged):
    sentences, width, positions = 5, 3, 7
    lengths = torch.tensor([7, 2, 5, 1, 3]) if ragged else None
    layers = torch.randn(LAYERS, sentences, 2, positions, HEADS, WIDTH)
    memory, left = Memory.start(list(layers), width, lengths), torch.arange(sentences)
    with torch.no_grad():
        for kept in (torch.tensor([0, 1, 3, 4]), torch.tensor([1, 3])):
            rows = (kept[:, None] * width + torch.arange(width)).flatten()
            memory, left = memory.keep(kept, rows), left[kept]
            q = torch.randn(len(left) * width, 1, HEADS, WIDTH)
            for layer, (keys, values) in enumerate(layers.permute(0, 2, 1, 4, 3, 5)):
                found = memory.of(layer).attend(q, weights=None if compiled else [])
                for row, query in enumerate(q):
                    mine = left[row // width]
                    own = slice(0, int(lengths[mine]) if ragged else positions)
                    wanted, _ = attend_explicitly(query[None].transpose(1, 2), keys[mine, None, :, own],
                                                  values[mine, None, :, own])  # fmt: skip
                    assert torch.allclose(found[row], wanted[0, :, 0], atol=1e-6)
