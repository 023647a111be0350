"""Contracts that a network keeps by itself, over every system in the registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lexigraph import recipe as recipes
from lexigraph.objectives.terms import value
from lexigraph.registry import CONTRACTS, SYSTEMS
from lexigraph.textmodel import ABILITIES, TextModel

from .tiny import (
    beginning_of,
    bound_by,
    columns_of,
    logits_of,
    network_of,
    newborn,
    reads_source,
    sequences_of,
    source_of,
)

CLOSE = 1e-5  # of the largest value


def close(left: torch.Tensor, right: torch.Tensor, scale: torch.Tensor, tolerance: float = CLOSE) -> bool:
    return bool((left - right).abs().max() <= tolerance * scale.abs().max())


def whole_pass(network: Any, beginning: dict[str, torch.Tensor], index: int, row: np.ndarray) -> torch.Tensor:
    """Logits after `row`, computed at once; given the vector or the source that the search began with."""
    ids = torch.from_numpy(row)[None]
    if "z" in beginning:
        return network.logits(beginning["z"][index : index + 1], ids)[0, -1]
    if reads_source(network):
        source = beginning["ids"][index, : beginning["lengths"][index]]
        return network(source[None], torch.tensor([[*network.first, *row[1:]]]))[0, -1]
    return network(ids)[0, -1]


@pytest.mark.smoke
def test_every_exemption_names_a_contract_and_gives_a_reason():
    for name, system in SYSTEMS.items():
        for contract, reason in system.exempt.items():
            assert contract in CONTRACTS, f"{name} is exempt from {contract}, which is no contract"
            assert len(reason.split()) >= 4, f"{name} does not say why it is exempt from {contract}"


@pytest.mark.smoke
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_a_recipe_of_its_name(system):
    assert recipes.read(system).system == system


@bound_by("batch-invariance")
def test_outputs_are_the_same_alone_and_in_a_padded_batch(system):
    network = network_of(system)
    rows = sequences_of(system)
    together = logits_of(network, rows)
    for index, row in enumerate(rows):
        alone = logits_of(network, [row])[0]
        assert close(together[index, : len(row)], alone, together)


@bound_by("batch-invariance")
def test_the_loss_of_a_padded_batch_is_the_sum_over_its_rows(system):
    network = network_of(system).double()
    rows = sequences_of(system)
    terms, _ = network.loss(network.prepare(columns_of(system, rows)))
    alone = [network.loss(network.prepare(columns_of(system, [row])))[0] for row in rows]
    for name, term in terms.items():
        assert term.count == sum(part[name].count for part in alone)
        assert torch.isclose(term.total, sum(part[name].total for part in alone), rtol=1e-10)


@bound_by("batch-invariance")
def test_counts_are_known_before_the_network_runs(system):
    network = network_of(system)
    batch = network.prepare(columns_of(system, sequences_of(system)))
    terms, _ = network.loss(batch)
    assert {name: term.count for name, term in terms.items() if term.weight} == batch.counts


@bound_by("cache")
@pytest.mark.parametrize("width", [1, 3])
def test_stepping_gives_the_same_logits_as_one_full_pass(system, width):
    network = network_of(system)
    rows = sequences_of(system, 4)
    # then it writes from the boundary on, else it goes on with a prompt
    reads_first = hasattr(network, "encode") or reads_source(network)
    prompts = [row[: 1 if reads_first else 1 + index] for index, row in enumerate(rows)]  # ragged
    with torch.inference_mode():
        beginning = beginning_of(network, rows if reads_first else prompts)
        step = network.start(beginning, width)
        for taken in range(3):
            for index, row in enumerate(rows):
                length = len(prompts[index]) + taken
                full = whole_pass(network, beginning, index, row[:length])
                for copy in range(width):
                    assert close(step.logits[index * width + copy], full, full)
            tokens = torch.tensor([row[len(p) + taken] for row, p in zip(rows, prompts, strict=True)])
            step = network.step(step.state, tokens.repeat_interleave(width))


@bound_by("cache")
def test_rows_can_be_exchanged_and_sentences_dropped(system):
    network = network_of(system)
    rows = [row[:3] for row in sequences_of(system, 3)]
    with torch.inference_mode():
        beginning = beginning_of(network, rows)
        step = network.start(beginning, 2)
        if "z" in beginning or reads_source(network):
            rows = [row[:1] for row in rows]
        step = network.step(step.state, torch.tensor([5, 6, 7, 8, 9, 10]))
        state = step.state.select(torch.tensor([1, 1, 2, 3, 5, 4])).keep(torch.tensor([0, 2]))
        step = network.step(state, torch.tensor([11, 12, 13, 14]))
        histories = [[*rows[0], 6, 11], [*rows[0], 6, 12], [*rows[2], 10, 13], [*rows[2], 9, 14]]
        for logits, history, index in zip(step.logits, histories, (0, 0, 2, 2), strict=True):
            full = whole_pass(network, beginning, index, np.array(history))
            assert close(logits, full, full)


@bound_by("causality")
def test_outputs_do_not_see_later_tokens(system):
    network = network_of(system)
    row = sequences_of(system)[4]
    before = logits_of(network, [row])
    changed = np.concatenate([row[:5], (row[5:] + 7) % 100 + 5])
    after = logits_of(network, [changed], [source_of(row)])
    assert close(after[:, :5], before[:, :5], before)
    assert not torch.allclose(after[:, 5:], before[:, 5:])


@bound_by("gradients")
def test_every_parameter_gets_a_gradient(system):
    network = network_of(system).train()
    terms, _ = network.loss(network.prepare(columns_of(system, sequences_of(system))))
    value(terms).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@bound_by("overfit")
def test_a_tiny_network_learns_eight_sentences_by_heart(system):
    network = network_of(system, **{"model.dim": 64})
    if reads_source(network):  # some norm the sums of their layers, and do not learn from large weights
        network = newborn(system, **{"model.dim": 64})
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    batch = network.prepare(columns_of(system, sequences_of(system)))
    for _ in range(150):
        optimizer.zero_grad()
        loss = value(network.loss(batch)[0])
        loss.backward()
        optimizer.step()
    # eight sentences differ in how they begin, so that a share of log 8 per sentence stays
    least = len(sequences_of(system)) * torch.tensor(8.0).log() / batch.counts["loss"]
    assert loss < least + 0.1


@pytest.mark.smoke
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_ability_is_a_method(system):
    assert SYSTEMS[system].abilities
    for ability in SYSTEMS[system].abilities:
        assert ability in ABILITIES
        assert callable(getattr(TextModel, ability, None))
