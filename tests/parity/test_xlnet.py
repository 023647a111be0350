"""The same weights give the same numbers: XLNet against transformers' XLNetLMHeadModel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lexigraph.exchange import xlnet as exchange
from lexigraph.models.xlnet import Config, Objective, XLNet
from lexigraph.objectives.terms import value
from tests.ids import ids as vocabulary

from .same import assert_same, assert_same_gradients

VOCABULARY = 61
SIZES = [(1, 1, 8), (2, 4, 32), (3, 2, 24)]  # layers, heads, dim


def pair(
    layers: int = 2, heads: int = 4, dim: int = 32, activation: str = "gelu", memory: int = 7
) -> tuple[XLNet, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(layers)
    shape = {"n_layer": layers, "n_head": heads, "d_model": dim, "d_inner": 3 * dim, "vocab_size": VOCABULARY}
    theirs = transformers.XLNetLMHeadModel(
        transformers.XLNetConfig(**shape, ff_activation=activation, mem_len=7, pad_token_id=0)
    ).eval()
    for parameter in theirs.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    config = Config(**exchange.config_from(theirs.config.to_dict()))
    ours = XLNet(config, Objective(), vocabulary(VOCABULARY)).eval()
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours, theirs


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
@pytest.mark.parametrize(("layers", "heads", "dim"), SIZES)
@torch.no_grad()
def test_contents_are_those_of_transformers(layers: int, heads: int, dim: int, activation: str) -> None:
    ours, theirs = pair(layers, heads, dim, activation)
    ids = torch.randint(VOCABULARY, (3, 11))
    assert_same(ours.logits(ours.read(ids)[0]), theirs(ids).logits)
    assert_same(ours.logits(ours.read(ids[:, :1])[0]), theirs(ids[:, :1]).logits)


@pytest.mark.parametrize("lengths", [(9, 9, 9), (9, 4, 1), (2, 9, 5)])
@torch.no_grad()
def test_contents_of_padded_rows_and_of_two_segments_are_those_of_transformers(lengths: tuple[int, ...]) -> None:
    ours, theirs = pair()
    ids, segments = torch.randint(VOCABULARY, (3, 9)), torch.randint(2, (3, 9))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    mine = ours.logits(ours.read(ids, torch.tensor(lengths), segments)[0])
    other = theirs(ids, attention_mask=seen.float(), token_type_ids=segments).logits
    assert_same(mine[seen], other[seen])
    plain = ours.logits(ours.read(ids, torch.tensor(lengths))[0])
    assert not torch.allclose(plain[seen], mine[seen], atol=1e-3)  # segments are looked at


@torch.no_grad()
def test_windows_with_memory_are_those_of_transformers() -> None:
    ours, theirs = pair(3)
    windows, segments = torch.randint(VOCABULARY, (3, 2, 5)), torch.randint(2, (3, 2, 5))
    carry, mems = None, None
    for ids, kinds in zip(windows, segments, strict=True):  # 5, then 7 (as many as it keeps), then 7 positions before
        mine, carry = ours.read(ids, None, kinds, carry)
        other = theirs(ids, mems=mems, token_type_ids=kinds, use_mems=True)
        mems = other.mems
        assert_same(ours.logits(mine), other.logits)
        assert carry is not None
        for number, kept in enumerate(mems):
            assert_same(carry["memory"][:, number], kept.transpose(0, 1))


def masks(ranks: Tensor, positions: Tensor) -> dict[str, Tensor]:
    """An order of prediction as transformers takes it."""
    mapping = torch.nn.functional.one_hot(positions, ranks.shape[1]).float()
    tied = (ranks[:, None] == ranks[:, :, None]) & (ranks[:, :, None] > 0)
    hidden = (ranks[:, None] > ranks[:, :, None]) | tied  # a position does not see itself, contents see to that alone
    return {"perm_mask": hidden.float(), "target_mapping": mapping}


@pytest.mark.parametrize("remembered", [0, 6])
@pytest.mark.parametrize("padding", [0, 3])
@torch.no_grad()
def test_predictions_in_any_order_are_those_of_transformers(remembered: int, padding: int) -> None:
    ours, theirs = pair(3)
    random = np.random.default_rng(remembered)
    ids, segments = torch.randint(VOCABULARY, (2, 10)), torch.randint(2, (2, 10))
    ranks = torch.zeros(2, 10, dtype=torch.long)
    positions = torch.stack([torch.from_numpy(random.permutation(np.arange(1, 10 - padding))[:4]) for _ in range(2)])
    ranks.scatter_(1, positions, torch.arange(1, 5).expand(2, -1))
    inside = torch.arange(10) < 10 - padding
    carry = mems = None
    if remembered:
        earlier = torch.randint(VOCABULARY, (2, remembered))
        carry, mems = ours.read(earlier)[1], theirs(earlier, use_mems=True).mems
    other = theirs(ids, attention_mask=inside.float().expand(2, -1), token_type_ids=segments, mems=mems,
                   **masks(ranks, positions)).logits  # fmt: skip
    mine, _ = ours.predict(ids, ranks.where(inside, 10), positions, ranks.gather(1, positions), carry, segments)
    assert_same(ours.logits(mine), other)


def test_loss_and_gradients_of_a_batch_are_those_of_transformers() -> None:
    ours, theirs = pair()
    rows = [np.random.default_rng(length).integers(3, VOCABULARY, length) for length in (12, 7, 9)]
    batch = ours.prepare({"text": rows})
    loss = value(ours.loss(batch)[0])
    loss.backward()
    seen = torch.arange(12) < torch.tensor([12, 7, 9])[:, None]
    other = theirs(batch["inputs"], attention_mask=seen.float(), labels=batch["targets"],
                   **masks(batch["ranks"], batch["positions"])).loss  # fmt: skip
    other.backward()
    assert_same(loss, other)
    gradients = {name: p.grad if p.grad is not None else torch.zeros_like(p) for name, p in theirs.named_parameters()}
    expected = exchange.weights_from(gradients, ours.config)
    assert_same_gradients(ours, expected)


@torch.no_grad()
def test_the_next_token_is_predicted_as_by_transformers() -> None:
    """Its own way: a token more at the end, that no place sees, is the only one predicted, the others see back."""
    ours, theirs = pair()
    ids = torch.randint(VOCABULARY, (2, 8))
    ranks = torch.arange(9).expand(2, -1)
    positions = torch.arange(1, 9).expand(2, -1)
    other = theirs(torch.nn.functional.pad(ids, (0, 1)), **masks(ranks, positions)).logits
    assert_same(ours(ids), other)


@pytest.mark.parametrize("segments", [True, False])
@torch.no_grad()
def test_exported_weights_give_their_model_the_same_outputs(segments: bool) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = Config(layers=2, heads=2, dim=16, memory=4, segments=segments)
    ours = XLNet(config, Objective(), vocabulary(VOCABULARY)).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**exchange.config_to(config, VOCABULARY))).eval()
    missing, left = theirs.load_state_dict(exchange.weights_to(ours.state_dict(), config), strict=False)
    assert (missing, left) == (["lm_loss.weight"], [])  # tied
    theirs.tie_weights()
    ids = torch.randint(VOCABULARY, (2, 8))
    assert_same(ours.logits(ours.read(ids)[0]), theirs(ids).logits)
    back = exchange.weights_from(exchange.weights_to(ours.state_dict(), config), config)
    assert back.keys() == ours.state_dict().keys()
    assert all(torch.equal(back[name], tensor) for name, tensor in ours.state_dict().items())
