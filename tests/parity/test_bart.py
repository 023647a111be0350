"""The same weights give the same numbers: our BART and transformers' BartForConditionalGeneration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lexigraph.exchange import bart as exchange
from lexigraph.models import bart
from lexigraph.objectives.terms import value
from tests.ids import ids

from .same import assert_same, assert_same_beams, assert_same_gradients

VOCABULARY = 83
SIZES = [  # encoder layers, decoder layers, their heads, width, their inner widths
    (1, 1, 1, 1, 16, 32, 32),
    (2, 3, 4, 2, 32, 48, 64),
]


def pair(size: tuple[int, ...] = SIZES[1], **more: Any) -> tuple[bart.BART, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    names = ("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads", "d_model",
             "encoder_ffn_dim", "decoder_ffn_dim")  # fmt: skip
    theirs_config = transformers.BartConfig(
        **dict(zip(names, size, strict=True)), vocab_size=VOCABULARY, max_position_embeddings=24, pad_token_id=0,
        bos_token_id=2, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None, **more,
    )  # fmt: skip
    torch.manual_seed(size[0])
    theirs = transformers.BartForConditionalGeneration(theirs_config).eval()
    for parameter in [*theirs.parameters(), theirs.final_logits_bias]:  # norms and biases too
        torch.nn.init.normal_(parameter, std=0.3)
    config = bart.Config(**exchange.config_from(theirs_config.to_dict()))
    ours = bart.BART(config, bart.Objective(label_smoothing=0.0), ids(VOCABULARY, mask=3))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs


@pytest.mark.parametrize("more", [{}, {"scale_embedding": True, "activation_function": "relu"}])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", [(9, 9, 9), (9, 4, 1), (2, 9, 5)])
def test_logits_of_padded_sources_are_those_of_bart(size, more, lengths):
    ours, theirs = pair(size, **more)
    source, target = torch.randint(4, VOCABULARY, (3, 9)), torch.randint(4, VOCABULARY, (3, 7))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        mine = ours(source * seen, target, torch.tensor(lengths))
        other = theirs(source * seen, attention_mask=seen.long(), decoder_input_ids=target).logits
    assert_same(mine, other)


def test_loss_and_gradients_are_those_of_bart():
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
    other = theirs(
        batch["source"], attention_mask=seen.long(), decoder_input_ids=batch["inputs"], labels=batch["targets"]
    ).loss
    other.backward()
    assert_same(loss, other)
    gradients = {name: p.grad for name, p in theirs.named_parameters()}
    expected = exchange.weights_from(gradients, ours.config)
    assert_same_gradients(ours, expected)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.7])
def test_beam_search_finds_what_theirs_finds(alpha):
    ours, theirs = pair()
    assert_same_beams(ours, theirs, VOCABULARY, alpha)


def test_their_class_reads_what_we_export(tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = bart.Config(layers=1, decoder_layers=2, heads=2, dim=16, context=20)
    ours = bart.BART(config, bart.Objective(), ids(VOCABULARY, mask=3)).eval()
    for weight in ours.state_dict().values():
        torch.nn.init.normal_(weight, std=0.3)
    (tmp_path / "config.json").write_text(json.dumps(exchange.config_to(config, VOCABULARY)))
    save_file(exchange.weights_to(ours.state_dict(), config), tmp_path / "model.safetensors", {"format": "pt"})
    theirs, told = transformers.BartForConditionalGeneration.from_pretrained(tmp_path, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    source, target = torch.randint(4, VOCABULARY, (2, 11)), torch.randint(4, VOCABULARY, (2, 6))
    with torch.no_grad():
        assert_same(ours(source, target), theirs.eval()(source, decoder_input_ids=target).logits)
    assert theirs.generation_config.decoder_start_token_id == 2
    again = bart.Config(**exchange.config_from(exchange.config_to(config, VOCABULARY)))
    assert vars(again) == {**vars(config), "decoder_heads": 2, "inner": 64, "decoder_inner": 64}
