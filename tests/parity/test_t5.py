"""The same weights give the same numbers: our T5 and transformers' T5ForConditionalGeneration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lexigraph.exchange import t5 as exchange
from lexigraph.models import t5
from lexigraph.nn.relative_bias import bucket
from lexigraph.objectives.terms import value
from tests.ids import ids

from .same import assert_same, assert_same_beams, assert_same_gradients

VOCABULARY = 83
SENTINELS = range(82, 66, -1)
SIZES = [(1, 1, 1, 8, 16, 32), (2, 3, 4, 6, 32, 48)]  # layers of encoder and decoder, heads, their width, d, inner


def pair(size: tuple[int, ...] = SIZES[1], kind: str = "relu", tied: bool = True) -> tuple[t5.T5, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    names = ("num_layers", "num_decoder_layers", "num_heads", "d_kv", "d_model", "d_ff")
    theirs_config = transformers.T5Config(
        **dict(zip(names, size, strict=True)), vocab_size=VOCABULARY, feed_forward_proj=kind, pad_token_id=0,
        eos_token_id=2, decoder_start_token_id=0, relative_attention_num_buckets=8,
        relative_attention_max_distance=20, tie_word_embeddings=tied,
    )  # fmt: skip
    torch.manual_seed(size[0])
    theirs = transformers.T5ForConditionalGeneration(theirs_config).eval()
    if not tied:
        theirs.lm_head.weight = torch.nn.Parameter(torch.empty(VOCABULARY, size[4]))
    for name, parameter in theirs.named_parameters():  # norms too
        torch.nn.init.normal_(parameter, std=1.0 if tied and name == "shared.weight" else 0.3)
    config = t5.Config(**exchange.config_from(theirs_config.to_dict()))
    ours = t5.T5(config, t5.Objective(), ids(VOCABULARY, sentinels=SENTINELS))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs


@pytest.mark.parametrize(("kind", "tied"), [("relu", True), ("gated-gelu", False), ("gated-silu", True)])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", [(29, 29, 29), (29, 14, 1), (2, 29, 5)])
def test_logits_of_padded_sources_are_those_of_t5(size, kind, tied, lengths):
    ours, theirs = pair(size, kind, tied)
    source, target = torch.randint(4, VOCABULARY, (3, 29)), torch.randint(4, VOCABULARY, (3, 25))
    seen = torch.arange(29) < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        mine = ours(source * seen, target, torch.tensor(lengths))
        other = theirs(source * seen, attention_mask=seen.long(), decoder_input_ids=target).logits
    assert_same(mine, other)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_are_those_of_t5(bidirectional):
    modeling = pytest.importorskip("transformers.models.t5.modeling_t5")
    distance = torch.arange(-400, 400)
    for buckets, farthest in ((32, 128), (8, 20), (16, 300)):
        theirs = modeling.T5Attention._relative_position_bucket(distance, bidirectional, buckets, farthest)
        assert torch.equal(bucket(distance, bidirectional=bidirectional, buckets=buckets, farthest=farthest), theirs)


def test_loss_and_gradients_are_those_of_t5():
    ours, theirs = pair()
    random = np.random.default_rng(0)
    rows = {
        side: [np.array([2, *random.integers(4, VOCABULARY, n), 2]) for n in (8, 3, 5)]
        for side in ("source", "target")
    }
    batch = ours.prepare(rows)
    loss = value(ours.loss(batch)[0])
    loss.backward()
    seen = torch.arange(batch["source"].shape[1]) < batch["source_lengths"][:, None]
    other = theirs(batch["source"], attention_mask=seen.long(), labels=batch["targets"]).loss  # shifted by themselves
    other.backward()
    assert_same(loss, other)
    gradients = {name: p.grad for name, p in theirs.named_parameters()}
    expected = exchange.weights_from(gradients, ours.config)
    assert_same_gradients(ours, expected)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.7])
def test_beam_search_finds_what_theirs_finds(alpha):
    ours, theirs = pair((2, 2, 4, 6, 32, 48))  # their search needs as many layers on both sides
    assert_same_beams(ours, theirs, VOCABULARY, alpha)


@pytest.mark.parametrize(("gated", "tied"), [(False, True), (True, False)])
def test_their_class_reads_what_we_export(tmp_path: Path, gated: bool, tied: bool):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    activation = "gelu-tanh" if gated else "relu"
    more = {"gated": gated, "activation": activation, "tied": tied}
    config = t5.Config(layers=1, decoder_layers=2, heads=2, dim=16, **more)
    ours = t5.T5(config, t5.Objective(), ids(VOCABULARY, sentinels=SENTINELS)).eval()
    for weight in ours.state_dict().values():
        torch.nn.init.normal_(weight, std=0.3)
    (tmp_path / "config.json").write_text(json.dumps(exchange.config_to(config, VOCABULARY)))
    save_file(exchange.weights_to(ours.state_dict(), config), tmp_path / "model.safetensors", {"format": "pt"})
    theirs, told = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    source, target = torch.randint(4, VOCABULARY, (2, 11)), torch.randint(4, VOCABULARY, (2, 6))
    with torch.no_grad():
        assert_same(ours(source, target), theirs.eval()(source, decoder_input_ids=target).logits)
    theirs.save_pretrained(tmp_path / "again")  # newer versions write another config
    again = exchange.config_from(json.loads((tmp_path / "again" / "config.json").read_text()))
    assert (again["tied"], again["gated"], again["activation"]) == (tied, gated, activation)
