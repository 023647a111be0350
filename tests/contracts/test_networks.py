"""Contracts that a network keeps by itself, over every system in the registry."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import ABILITIES, TextModel
from lexigraph.nn.network import Network, skeleton
from lexigraph.objectives.terms import Batch, value
from lexigraph.registry import CONTRACTS, SYSTEMS, WORD_SYSTEMS
from lexigraph.text.corpus import fields_of

from .tiny import FORMS, bound_by, data_of, examples_of, network_of, newborn, recipe_of, some, tables_for, with_inputs

CLOSE = 1e-5  # of the largest value


def close(left: torch.Tensor, right: torch.Tensor, scale: torch.Tensor, tolerance: float = CLOSE) -> bool:
    return bool((left - right).abs().max() <= tolerance * scale.abs().max())


@pytest.mark.smoke
def test_every_exemption_names_a_contract_and_gives_a_reason():
    for name, system in (*SYSTEMS.items(), *WORD_SYSTEMS.items()):
        for contract, reason in system.exempt.items():
            assert contract in CONTRACTS, f"{name} is exempt from {contract}, which is no contract"
            assert len(reason.split()) >= 4, f"{name} does not say why it is exempt from {contract}"


@pytest.mark.smoke
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_a_recipe_of_its_name(system):
    assert recipes.read(system).system == system


@pytest.mark.smoke
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_registry_knows_the_fields_that_the_network_declares(system):
    recipe = recipes.read(system)
    required = fields_of(SYSTEMS[system].network_class().columns(recipe))
    assert SYSTEMS[system].fields == tuple(field for field, needed in required.items() if needed)


@pytest.mark.parametrize("system", [*SYSTEMS, *FORMS])
def test_a_network_without_memory_has_the_shapes_of_the_real_one(system):
    real = newborn(system)
    counted = skeleton(recipe_of(system), data_of(system)[0])

    def shapes(network):
        return {name: tensor.shape for name, tensor in (*network.named_parameters(), *network.named_buffers())}

    assert shapes(counted) == shapes(real)
    assert all(parameter.is_meta for parameter in counted.parameters())


@bound_by("batch-invariance")
def test_outputs_are_the_same_alone_and_in_a_padded_batch(system):
    network, examples = network_of(system), examples_of(system)
    together = network.outputs(network.prepare(examples))
    for index in range(8):
        alone = network.outputs(network.prepare(some(examples, [index])))
        assert alone.keys() == together.keys()
        for name, (own,) in alone.items():
            assert together[name][index].shape == own.shape
            assert close(together[name][index], own, torch.cat([row.flatten() for row in together[name]]))


@bound_by("batch-invariance")
def test_the_loss_of_a_padded_batch_is_the_sum_over_its_rows(system):
    network, examples = network_of(system).double(), examples_of(system)
    terms, _ = network.loss(network.prepare(examples))
    alone = [network.loss(network.prepare(some(examples, [i])))[0] for i in range(8)]
    for name, term in terms.items():
        assert term.count == sum(part[name].count for part in alone)
        if network.traits.batch_coupled:  # rows are compared with each other
            continue
        assert torch.isclose(term.total, sum(part[name].total for part in alone), rtol=1e-10)


@bound_by("batch-invariance")
def test_counts_are_known_before_the_network_runs(system):
    network = network_of(system)
    batch = network.prepare(examples_of(system))
    terms, _ = network.loss(batch)
    assert {name: term.count for name, term in terms.items() if term.weight} == batch.counts
    assert batch.counts.keys() <= set(network.traits.terms)


@bound_by("cache")
@pytest.mark.parametrize("width", [1, 3])
def test_stepping_gives_the_same_logits_as_one_full_pass(system, width):
    network = network_of(system)
    batch = network.prepare(examples_of(system, 4))
    with torch.inference_mode():
        whole = network.outputs(batch)[network.written]
        beginning = network.beginning(batch, [1, 2, 3, 4])  # ragged, where it goes on with a prompt
        step = network.start(beginning.tensors, width)
        for taken in range(3):
            positions = [given + taken for given in beginning.given]
            for index, position in enumerate(positions):
                for copy in range(width):
                    assert close(step.logits[index * width + copy], whole[index][position - 1], whole[index])
            tokens = torch.tensor([int(batch["inputs"][index, position]) for index, position in enumerate(positions)])
            step = network.step(step.state, tokens.repeat_interleave(width))


@bound_by("cache")
def test_rows_can_be_exchanged_and_sentences_dropped(system):
    network = network_of(system)
    batch = network.prepare(examples_of(system, 3))
    with torch.inference_mode():
        beginning = network.beginning(batch, [3, 3, 3])
        step = network.start(beginning.tensors, 2)
        step = network.step(step.state, torch.tensor([5, 6, 7, 8, 9, 10]))
        state = step.state.select(torch.tensor([1, 1, 2, 3, 5, 4])).keep(torch.tensor([0, 2]))
        step = network.step(state, torch.tensor([11, 12, 13, 14]))
        for logits, index, history in zip(
            step.logits, (0, 0, 2, 2), ((6, 11), (6, 12), (10, 13), (9, 14)), strict=True
        ):
            position = beginning.given[index]
            other = with_inputs(batch, {(index, position + n): token for n, token in enumerate(history)})
            whole = network.outputs(other)[network.written][index]
            assert close(logits, whole[position + 1], whole)


@bound_by("causality")
def test_outputs_do_not_see_later_tokens(system):
    network = network_of(system)
    batch = network.prepare(examples_of(system, 1))
    changes = {
        (0, position): (int(token) + 7) % 100 + 20
        for position, token in enumerate(batch["inputs"][0])
        if position >= 2
    }
    (before,), (after,) = (network.outputs(b)[network.traits.causal] for b in (batch, with_inputs(batch, changes)))
    assert close(after[:2], before[:2], before)
    assert not torch.allclose(after[2:], before[2:])


@bound_by("gradients")
def test_every_parameter_gets_a_gradient(system):
    network, examples = network_of(system).train(), examples_of(system)
    seeds = {table: np.arange(8) for table in tables_for(system)[1]}  # as in training: some terms are of it alone
    terms, _ = network.loss(network.prepare(examples, seeds, step=100))
    value(terms).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@bound_by("overfit", forms_are_slow=True)
def test_a_tiny_network_learns_eight_examples_by_heart(system):
    # eight sentences differ in how they begin, so that a share of log 8 per sentence stays
    batch = newborn(system).prepare(examples_of(system))
    enough = 8 * math.log(8) / batch.counts["loss"] + 0.1
    # some are born small and learn slowly, others norm the sums of their layers and do not learn from large weights
    wide = {"model.dim": 64} if "model.dim" in recipe_of(system).flat() else {}
    assert any(learned(start(system, **wide), batch) < enough for start in (network_of, newborn))


def learned(network: Network, batch: Batch) -> float:
    """The loss after some steps."""
    optimizer = torch.optim.AdamW(network.train().parameters(), lr=3e-3, fused=True)
    for _ in range(160):
        optimizer.zero_grad()
        loss = value(network.loss(batch)[0])
        loss.backward()
        optimizer.step()
    return float(loss.detach())


@pytest.mark.smoke
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_ability_is_a_method_of_its_model_and_no_other_is(system):
    model = SYSTEMS[system].model_class()
    assert issubclass(model, TextModel)
    methods = {ability for ability in ABILITIES if callable(getattr(model, ability, None))}
    assert methods == set(SYSTEMS[system].abilities)
