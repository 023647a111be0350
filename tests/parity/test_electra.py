"""The same weights give the same numbers: our ELECTRA and transformers' ElectraForPreTraining, ElectraForMaskedLM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lexigraph.errors import LexigraphError
from lexigraph.exchange import electra as exchange
from lexigraph.models import electra
from lexigraph.objectives.next_token import IGNORE
from tests.ids import ids as vocabulary

from .same import assert_same

VOCABULARY = 97
SIZES = [  # layers, heads, width, inner width, width of embeddings, positions
    (1, 1, 16, 24, 16, 12),
    (2, 4, 32, 64, 20, 24),
    (3, 2, 48, 96, 64, 40),
]
LENGTHS = [(9, 9, 9), (9, 4, 1), (2, 9, 5)]
PARTS = ["discriminator", "generator"]


def random_weights(network: Any) -> Any:
    for parameter in network.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    return network.eval()


def pair(size: tuple[int, ...], part: str) -> tuple[electra.ELECTRA, Any]:
    """One part of ours and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "embedding_size",
             "max_position_embeddings")  # fmt: skip
    kind = exchange.ARCHITECTURES[part]
    torch.manual_seed(size[0])
    shape = dict(zip(names, size, strict=True))
    theirs = getattr(transformers, kind)(
        transformers.ElectraConfig(**shape, vocab_size=VOCABULARY, architectures=[kind])
    )
    random_weights(theirs)
    config = electra.Config(**exchange.config_from(theirs.config.to_dict()))
    ours = electra.ELECTRA(config, electra.Objective(), vocabulary(VOCABULARY, mask=3))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_logits_and_hidden_states_of_padded_rows_are_those_of_electra(size, lengths, part):
    ours, theirs = pair(size, part)
    ids, segments = torch.randint(4, VOCABULARY, (3, 9)), torch.randint(2, (3, 9))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        for kinds in (None, segments):
            given = {"attention_mask": seen.long(), "token_type_ids": kinds}
            mine, other = ours(ids * seen, torch.tensor(lengths), kinds), theirs(ids * seen, **given).logits
            assert_same(mine[seen], other[seen])
            hidden = theirs.electra(ids * seen, **given).last_hidden_state
            assert_same(ours.hidden(ids * seen, torch.tensor(lengths), kinds)[seen], hidden[seen])


def both_parts(**config: Any) -> electra.ELECTRA:
    torch.manual_seed(3)
    shape = {"layers": 2, "heads": 4, "dim": 32, "embedding": 24, "context": 20, "generator_share": 0.5}
    network = electra.ELECTRA(electra.Config(**shape | config), electra.Objective(), vocabulary(VOCABULARY, mask=3))
    return random_weights(network)


def exported(ours: electra.ELECTRA, part: str, folder: Path) -> Any:
    """One part of a model with both, as transformers reads it from a folder."""
    transformers = pytest.importorskip("transformers")
    settings = exchange.config_to(ours.config, VOCABULARY, part)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings))
    weights = exchange.weights_to(ours.state_dict(), ours.config, part)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    kind = getattr(transformers, settings["architectures"][0])
    theirs, report = kind.from_pretrained(folder, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return theirs.eval()


@pytest.mark.parametrize("config", [{}, {"embedding": 32}, {"embedding": 16, "activation": "relu"}])
def test_both_parts_are_exported_and_have_the_losses_of_electra(config, tmp_path):
    """The generator's loss over masked positions, the discriminator's over all of them, on what was really drawn."""
    ours = both_parts(**config)
    random = np.random.default_rng(0)
    rows = [np.array([2, *random.integers(4, VOCABULARY, length), 2]) for length in (17, 9, 3, 1)]
    batch = ours.prepare({"text": rows}, {"": np.arange(4)})
    terms, _ = ours.loss(batch)
    seen = (torch.arange(batch["inputs"].shape[1]) < batch["lengths"][:, None]).long()
    labels = torch.full_like(batch["inputs"], IGNORE)
    for row, positions, targets in zip(labels, batch["positions"], batch["targets"], strict=True):
        row[positions[targets != IGNORE]] = targets[targets != IGNORE]
    generator, discriminator = (exported(ours, part, tmp_path / part) for part in reversed(PARTS))
    with torch.no_grad():
        guessed = generator(batch["inputs"], attention_mask=seen, labels=labels)
        drawn, replaced = ours.replace(batch)
        judged = discriminator(drawn, attention_mask=seen, labels=replaced)
        assert_same(terms["generator"].total / terms["generator"].count, guessed.loss)
        assert_same(terms["loss"].total / terms["loss"].count, judged.loss)
        assert_same(ours(drawn, batch["lengths"])[seen.bool()], judged.logits[seen.bool()])
        masked = ours.masked_logits(batch["inputs"], batch["lengths"], batch["positions"])
        valid = batch["targets"] != IGNORE
        theirs = guessed.logits[torch.arange(4)[:, None], batch["positions"]]
        assert_same(masked[valid], theirs[valid])


def test_one_part_comes_back_as_it_went():
    ours = both_parts()
    for part in PARTS:
        settings = exchange.config_to(ours.config, VOCABULARY, part)
        config = electra.Config(**exchange.config_from(settings))
        alone = electra.ELECTRA(config, electra.Objective(), vocabulary(VOCABULARY, mask=3))
        alone.load_state_dict(
            exchange.weights_from(exchange.weights_to(ours.state_dict(), ours.config, part), config)
        )
        assert all(torch.equal(weight, ours.state_dict()[name]) for name, weight in alone.state_dict().items())
        other = PARTS[part == "discriminator"]
        with pytest.raises(LexigraphError, match="alone"):
            exchange.weights_to(alone.state_dict(), config, other)
        with pytest.raises(LexigraphError, match="both parts"):
            alone.loss(alone.prepare({"text": [np.array([2, 5, 6, 2])]}))


def test_models_that_are_built_otherwise_are_refused():
    settings = exchange.config_to(electra.Config(), VOCABULARY)
    with pytest.raises(LexigraphError, match="ElectraForCausalLM"):
        exchange.config_from(settings | {"architectures": ["ElectraForCausalLM"]})
    with pytest.raises(LexigraphError, match="post"):
        exchange.config_to(electra.Config(norm="pre"), VOCABULARY)
