"""XLNet: every order is a distribution, memory is a longer window, and distances are found where they belong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from lexigraph.decoding.scoring import token_log_probabilities
from lexigraph.errors import UsageError
from lexigraph.models.xlnet import Config, Objective, XLNet
from lexigraph.nn.relative import RelativeAttention, Visibility, distances, pick, shift
from lexigraph.nn.transformer import Shape
from lexigraph.objectives.next_token import token_nll
from tests.ids import ids

VOCABULARY = 30


def network(vocabulary: int = VOCABULARY, mask_rate: float = 0.5, forward: float = 0.0, **settings) -> XLNet:
    torch.manual_seed(0)
    config = Config(**{"layers": 2, "heads": 2, "dim": 16, "context": 12} | settings)
    made = XLNet(config, Objective(mask_rate=mask_rate, forward=forward), ids(vocabulary))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.double().eval()


def random_ids(rows: int, length: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
@torch.no_grad()
def test_in_every_order_the_probabilities_of_all_texts_sum_to_1(order):
    """So nothing leaks: a token that is seen too early would make its text too probable."""
    made = network(vocabulary=4)
    texts = torch.tensor([(0, *rest) for rest in itertools.product(range(4), repeat=3)])
    ranks = torch.tensor([0, *order]).expand(len(texts), -1)
    positions = torch.arange(1, 4).expand(len(texts), -1)
    log_p = made.logits(made.predict(texts, ranks, positions, ranks[:, 1:])[0]).log_softmax(2)
    each = log_p.gather(2, texts[:, 1:, None]).sum((1, 2))
    assert float(each.exp().sum()) == pytest.approx(1, abs=1e-12)


@torch.no_grad()
def test_a_prediction_moves_with_what_is_known_and_with_nothing_else():
    made = network()
    ids, ranks = random_ids(1, 5), torch.tensor([[0, 2, 0, 1, 3]])
    positions = torch.tensor([[1, 3, 4]])

    def predicted(row):
        return made.predict(row, ranks, positions, ranks.gather(1, positions))[0][0]

    before = predicted(ids)
    for position, sees in {0: (1, 1, 1), 1: (0, 0, 1), 2: (1, 1, 1), 3: (1, 0, 1), 4: (0, 0, 0)}.items():
        changed = ids.clone()
        changed[0, position] = 3 + (ids[0, position] - 2) % 20
        moved = (predicted(changed) - before).abs().amax(1) > 1e-9
        assert moved.tolist() == [bool(seen) for seen in sees], position


@torch.no_grad()
def test_a_gap_is_filled_from_both_sides_and_not_from_other_gaps():
    made = network()
    ids = random_ids(1, 7)
    ids[0, [2, 5]] = made.frame.mask
    gaps = torch.tensor([[2, 5]])
    before = made.masked_logits(ids, None, gaps)
    for position in (0, 1, 3, 4, 6):
        changed = ids.clone()
        changed[0, position] = 3 + (ids[0, position] - 2) % 20
        assert ((made.masked_logits(changed, None, gaps) - before).abs().amax(2) > 1e-9).all(), position
    for gap, other in ((2, 5), (5, 2)):  # alone, as the last of an order in which the other gap comes later
        ranks = torch.zeros_like(ids).index_fill(1, torch.tensor([gap]), 1).index_fill(1, torch.tensor([other]), 2)
        alone = made.logits(made.predict(ids, ranks, torch.tensor([[gap]]), torch.tensor([[1]]))[0])
        assert torch.allclose(alone[0, 0], before[0, gaps[0].tolist().index(gap)], atol=1e-12)
    padded = torch.nn.functional.pad(ids, (0, 3), value=9)
    assert torch.allclose(made.masked_logits(padded, torch.tensor([7]), gaps), before, atol=1e-12)


@torch.no_grad()
def test_windows_that_remember_all_are_one_long_window():
    made = network(memory=40)
    rows = random_ids(2, 31).numpy()
    whole = token_nll(made.loss(made.prepare_in_order({"text": list(rows)}))[0])
    parts, carry = [], None
    for first in range(0, 30, 10):  # the last token of a window is the first of the next
        batch = made.prepare_in_order({"text": [row[first : first + 11] for row in rows]})
        terms, carry = made.loss(batch, carry)
        parts.append(token_nll(terms))
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-12)
    assert carry["memory"].shape == (2, 2, 30, 16)
    alone = token_nll(made.loss(made.prepare_in_order({"text": [row[20:] for row in rows]}))[0])
    assert not torch.allclose(alone, whole[:, 20:], atol=1e-3)  # what came before matters


def test_memory_has_its_size_and_no_gradient():
    made = network(memory=7)
    rows = list(random_ids(2, 25).numpy())
    _, carry = made.loss(made.prepare({"text": rows}))
    assert carry["memory"].shape == (2, 2, 7, 16)
    assert not carry["memory"].requires_grad
    assert made.traits.stateful
    assert network().loss(network().prepare({"text": rows}))[1] is None
    assert not network().traits.stateful


def test_the_first_token_is_given_and_the_share_of_others_is_predicted():
    made = network(mask_rate=0.3)
    rows = [np.arange(3, 3 + length) for length in (21, 11, 2)]
    batch = made.prepare({"text": rows}, {"": np.arange(3)})
    assert (batch["targets"] >= 0).sum(1).tolist() == [6, 3, 1]
    assert batch.counts == {"loss": 10}
    assert (batch["ranks"][:, 0] == 0).all()
    for row, positions, targets in zip(rows, batch["positions"], batch["targets"], strict=True):
        for position, target in zip(positions.tolist(), targets.tolist(), strict=True):
            assert target in (-100, row[position] if position < len(row) else None)
    other = made.prepare({"text": rows}, {"": np.arange(3) + 9})
    assert not torch.equal(batch["ranks"], other["ranks"])


def test_a_share_of_the_texts_is_trained_in_its_own_order_but_none_is_measured_so():
    made = network(forward=0.3)
    rows = [np.arange(3, 14)] * 1000
    forward = torch.arange(11).expand(1000, -1)
    trained = made.prepare({"text": rows}, {"": np.arange(1000)})
    share = (trained["ranks"] == forward).all(1).double().mean()
    assert 0.25 < share < 0.35
    measured = made.prepare({"text": [np.random.default_rng(n).permutation(25)[:11] + 3 for n in range(1000)]})
    assert not (measured["ranks"] == forward).all(1).any()


@torch.no_grad()
def test_texts_are_scored_from_left_to_right():
    made = network()
    rows = list(random_ids(3, 9).numpy())
    found = token_log_probabilities(made, rows, torch.device("cpu"))
    for row, log_p in zip(rows, found, strict=True):
        expected = made(torch.from_numpy(row)[None])[0, :-1].log_softmax(1)
        assert log_p == pytest.approx(expected.gather(1, torch.from_numpy(row)[1:, None])[:, 0].numpy())


def test_writing_goes_on_beyond_the_context_and_forgets_the_oldest():
    """With one layer, contents are embeddings, which know of nothing before them: then it can be checked."""
    made = network(layers=1, context=6, memory=2)
    history = [[2, 5, 6], [2, 7]]
    with torch.inference_mode():
        step = made.start({"ids": torch.tensor([[2, 5, 6], [2, 7, 0]]), "lengths": torch.tensor([3, 2])})
        for token in range(3, 22):
            step = made.step(step.state, torch.tensor([token, token + 1]))
            history = [[*history[0], token], [*history[1], token + 1]]
            for row, tokens in zip(step.logits, history, strict=True):
                assert torch.allclose(row, made(torch.tensor([tokens[-8:]]))[0, -1], atol=1e-9)
        long = torch.arange(3, 23)[None]
        step = made.start({"ids": long, "lengths": torch.tensor([20])})
        assert torch.allclose(step.logits[0], made(long[:, -8:])[0, -1], atol=1e-9)


@pytest.mark.parametrize("mask_rate", [0.0, 1.5])
def test_a_rate_that_is_no_share_is_refused(mask_rate):
    with pytest.raises(UsageError, match=r"objective\.mask_rate"):
        network(mask_rate=mask_rate)


def test_moving_and_picking_bring_each_distance_to_its_keys():
    keys, queries, memory = 7, 4, 3
    far = torch.arange(keys, keys - (keys + queries), -1).expand(2, 3, queries, -1)  # each product is its distance
    positions = memory + torch.arange(queries)
    wanted = (positions[:, None] - torch.arange(keys)).expand(2, 3, -1, -1)
    assert torch.equal(shift(far.double(), keys), wanted.double())
    assert torch.equal(pick(far.double(), positions.expand(2, -1), keys), wanted.double())
    some = torch.tensor([[6, 3], [4, 4]])
    chosen = pick(far[:, :, :2].double(), some, keys)
    assert torch.equal(chosen[:, 0], (some[:, :, None] - torch.arange(keys)).double())


def test_distances_of_either_sign_by_hand():
    table = distances(2, 4, 4)  # 2, 1, 0, -1
    assert table[0].tolist() == pytest.approx([math.sin(2), math.sin(0.02), math.cos(2), math.cos(0.02)], abs=1e-6)
    assert table[2].tolist() == [0, 0, 1, 1]
    assert table[3].tolist() == pytest.approx([-math.sin(1), -math.sin(0.01), math.cos(1), math.cos(0.01)], abs=1e-6)


@torch.no_grad()
def test_attention_is_the_sum_that_the_paper_writes():
    torch.manual_seed(3)
    attention = RelativeAttention(Shape(8, 2, 8), segments=True).double()
    for parameter in attention.parameters():
        parameter.normal_()
    x, contents = torch.randn(1, 3, 8).double(), torch.randn(1, 5, 8).double()
    table = distances(5, 8, 8).double()
    other = torch.rand(1, 3, 5) < 0.5
    seen = attention.keys_values(contents)
    found = attention(x, seen, attention.measure(table), Visibility(other=other))
    mixed = torch.zeros(3, 8).double()
    for head, i in itertools.product(range(2), range(3)):
        part = slice(4 * head, 4 * head + 4)
        q = attention.query.weight[part] @ x[0, i]
        scores = []
        for j in range(5):
            k = attention.key_value.weight[:8][part] @ contents[0, j]
            way = attention.distance.weight[part] @ distances(2 + i - j, 1, 8)[0].double()
            segment = attention.segment[head, int(other[0, i, j])]
            scores.append(
                (q + attention.by_content[head, 0]) @ k
                + (q + attention.by_distance[head, 0]) @ way
                + (q + attention.by_segment[head, 0]) @ segment
            )
        weights = (torch.stack(scores) / 2).softmax(0)
        values = contents[0] @ attention.key_value.weight[8:][part].T
        mixed[i, part] = weights @ values
    assert torch.allclose(found[0], mixed @ attention.out.weight.T, atol=1e-6)  # distances are made in 32 bits
