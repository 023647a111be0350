"""The same weights give the same numbers: Transformer-XL against transformers' XLNet that looks back only.

transformers has no Transformer-XL any more, but its XLNet is one with `attn_type="uni"`.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lexigraph.exchange import xlnet as exchange
from lexigraph.models.transformer_xl import Config, Objective, TransformerXL
from tests.ids import ids as vocabulary

from .same import assert_same

VOCABULARY = 61


def pair(layers: int, heads: int, dim: int) -> tuple[TransformerXL, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(layers)
    shape = {"n_layer": layers, "n_head": heads, "d_model": dim, "d_inner": 3 * dim, "vocab_size": VOCABULARY}
    own = {"mem_len": 7, "pad_token_id": 0, "attn_type": "uni", "layer_norm_eps": 1e-5}
    theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**shape, **own, ff_activation="gelu")).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    config = exchange.config_from(theirs.config.to_dict() | {"attn_type": "bi"})
    weights = exchange.weights_from(theirs.state_dict(), exchange.Config(**config))
    ours = TransformerXL(
        Config(layers=layers, heads=heads, dim=dim, inner=3 * dim, context=9, memory=7),
        Objective(),
        vocabulary(VOCABULARY),
    ).eval()
    known = ours.state_dict()
    ours.load_state_dict({name: tensor for name, tensor in weights.items() if name in known})
    return ours, theirs


@pytest.mark.parametrize(("layers", "heads", "dim"), [(1, 1, 8), (2, 4, 32), (3, 2, 24)])
@torch.no_grad()
def test_windows_and_their_memory_are_those_of_transformers(layers: int, heads: int, dim: int) -> None:
    ours, theirs = pair(layers, heads, dim)
    ids, carry, memory = torch.randint(VOCABULARY, (3, 26)), None, None
    for window in ids.split(9, 1):
        hidden, carry = ours.hidden(window, carry)
        found = theirs(window, mems=memory, use_mems=True)
        memory = found.mems
        assert_same(ours.logits(hidden), found.logits)
        for number in range(layers):
            assert_same(carry["memory"][:, number], memory[number].transpose(0, 1))
