"""The same weights give the same numbers: our Longformer and transformers' LongformerForMaskedLM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lexigraph.errors import LexigraphError
from lexigraph.exchange import longformer as exchange
from lexigraph.models import longformer
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import value
from tests.ids import ids as vocabulary

from .same import assert_same, assert_same_gradients

VOCABULARY, PAD = 97, 1
NAMES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "attention_window")
SIZES = [(1, 1, 16, 24, 6), (2, 4, 32, 64, [4, 8]), (3, 2, 48, 96, [8, 4, 32])]
LENGTHS = [(23, 23, 23), (23, 5, 1), (2, 23, 16)]


def pair(size: tuple[Any, ...]) -> tuple[longformer.Longformer, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.set_verbosity_error()
    torch.manual_seed(size[0])
    shape = dict(zip(NAMES, size, strict=True))
    settings = transformers.LongformerConfig(
        **shape, vocab_size=VOCABULARY, max_position_embeddings=64, type_vocab_size=2, pad_token_id=PAD
    )
    theirs = transformers.LongformerForMaskedLM(settings).eval()
    for parameter in theirs.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    fields = exchange.config_from(theirs.config.to_dict())
    config = longformer.Config(**fields | {"window": tuple(fields["window"])})
    ours = longformer.Longformer(config, longformer.Objective(), vocabulary(VOCABULARY, mask=3))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs


def everywhere(name: str, length: int) -> torch.Tensor:
    """Global positions of three texts."""
    chosen = torch.zeros(3, length, dtype=torch.bool)
    if name == "class token":
        chosen[:, 0] = True
    if name == "question":  # of different lengths
        chosen[0, :1] = chosen[1, :4] = chosen[2, :2] = True
    if name == "some texts":
        chosen[1, [0, 3]] = True
    return chosen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("marks", ["none", "class token", "question", "some texts"])
def test_states_and_logits_of_padded_rows_are_those_of_longformer(size, lengths, marks):
    ours, theirs = pair(size)
    ids, segments = torch.randint(4, VOCABULARY, (3, 23)), torch.randint(2, (3, 23))
    seen = torch.arange(23) < torch.tensor(lengths)[:, None]
    chosen = everywhere(marks, 23) & seen
    given = {"attention_mask": seen.long(), "global_attention_mask": chosen.long(), "token_type_ids": segments}
    with torch.no_grad():
        other = theirs(ids.where(seen, PAD), **given, output_hidden_states=True)
        own = torch.tensor(lengths)
        states = ours._through(ids, own, segments, chosen)
        for mine, layer in zip(states, other.hidden_states, strict=True):
            assert_same(mine[seen], layer[seen])
        assert_same(ours(ids, own, segments, chosen)[seen], other.logits[seen])


def test_without_marks_the_class_token_is_global():
    ours, theirs = pair(SIZES[1])
    ids = torch.randint(4, VOCABULARY, (2, 62))  # all positions that there are
    with torch.no_grad():
        first = (torch.arange(62) == 0).long().expand_as(ids)
        assert_same(ours(ids), theirs(ids, global_attention_mask=first).logits)


@pytest.mark.parametrize("size", SIZES)
def test_losses_and_gradients_are_those_of_longformer(size):
    ours, theirs = pair(size)
    random = np.random.default_rng(0)
    rows = [np.array([2, *random.integers(4, VOCABULARY, length), 2]) for length in (37, 19, 3, 1)]
    batch = ours.prepare({"text": rows}, {"": np.arange(4)})
    loss = value(ours.loss(batch)[0])
    loss.backward()
    labels = torch.full_like(batch["inputs"], IGNORE)
    for row, positions, targets in zip(labels, batch["positions"], batch["targets"], strict=True):
        row[positions[targets != IGNORE]] = targets[targets != IGNORE]
    seen = torch.arange(labels.shape[1]) < batch["lengths"][:, None]
    first = (torch.arange(labels.shape[1]) == 0).long().expand_as(labels)
    other = theirs(
        batch["inputs"].where(seen, PAD), attention_mask=seen.long(), global_attention_mask=first, labels=labels
    ).loss
    other.backward()
    assert_same(loss, other)
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert_same_gradients(ours, exchange.weights_from(gradients, ours.config))


@pytest.mark.parametrize("pad", [0, 1])
def test_what_is_exported_is_read_by_transformers(pad, tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    config = longformer.Config(layers=2, heads=2, dim=24, context=20, window=(4,), eps=1e-7)
    torch.manual_seed(3)
    ours = longformer.Longformer(config, longformer.Objective(), vocabulary(VOCABULARY, mask=3)).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    settings, weights = (
        exchange.config_to(config, VOCABULARY, pad),
        exchange.weights_to(ours.state_dict(), config, pad),
    )
    (tmp_path / "config.json").write_text(json.dumps(settings))
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    theirs, report = transformers.LongformerForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[part] for part in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = torch.randint(2, VOCABULARY, (3, 20))
    first = (torch.arange(20) == 0).long().expand_as(ids)
    with torch.no_grad():
        assert_same(ours(ids), theirs.eval()(ids, global_attention_mask=first).logits)
    back = exchange.weights_from(weights, config)
    assert all(torch.equal(back[name], weight) for name, weight in ours.state_dict().items())


def test_models_that_are_built_otherwise_are_refused():
    settings = exchange.config_to(longformer.Config(), VOCABULARY)
    assert settings["attention_window"] == [128] * 4
    with pytest.raises(LexigraphError, match="'relu' is not supported"):
        exchange.config_from(settings | {"hidden_act": "relu"})
    for change in ({"globals": "none"}, {"globals": "none", "dilation": (2,)}, {"activation": "relu"}):
        with pytest.raises(LexigraphError, match="dilation"):
            exchange.config_to(longformer.Config(**change), VOCABULARY)
    for window in ((2,), (4, 6, 8, 8)):  # their chunks do not fit together
        with pytest.raises(LexigraphError, match=r"model\.window"):
            exchange.config_to(longformer.Config(window=window), VOCABULARY)
    with pytest.raises(LexigraphError, match="lack"):
        exchange.weights_from({}, longformer.Config())
