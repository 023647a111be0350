"""Networks in segments: together they are the loss, each with its own weights and what it says it needs."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.network import Network, Segment
from lexigraph.objectives.terms import Batch, value
from lexigraph.training.distribution import World
from lexigraph.training.pipeline import check_pipeline, stages_of
from tests.contracts.tiny import examples_of, forms_with, network_of
from tests.contracts.two_processes import SETTINGS, training_of

IN_SEGMENTS = [system for system in forms_with("accumulation") if network_of(system).segments()]
PIPELINE = dataclasses.replace(SETTINGS, parallel="pipeline")


def prepared(system: str, **changes: object) -> tuple[Network, Batch]:
    network = network_of(system, **changes).double().train()
    examples = examples_of(system)
    rows = len(next(iter(examples.values())))
    return network, network.prepare(examples, {"": torch.arange(rows).numpy()}, 0)


def through(network: Network, batch: Batch, poisoned: bool = False) -> Tensor:
    """The loss by segments that are handed what they need and nothing more; `poisoned`: all other weights are NaN."""
    weights = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    flow: dict[str, Tensor] = {}
    for segment in network.segments():
        own = {id(p) for part in segment.weights if part is not None for p in _parameters(part)}
        for name, parameter in network.named_parameters() if poisoned else ():
            parameter.data = weights[name] if id(parameter) in own else torch.full_like(parameter, torch.nan)
        found = segment.run(batch, {name: flow[name] for name in segment.needs if name in flow})
        flow |= found
    return value(found)


def _parameters(part: nn.Module | Tensor) -> list[Tensor]:
    return list(part.parameters()) if isinstance(part, nn.Module) else [part]


@pytest.mark.parametrize("system", IN_SEGMENTS)
def test_segments_are_the_loss_with_their_own_weights_alone(system):
    network, batch = prepared(system)
    whole = value(network.loss(batch)[0])
    expected = torch.autograd.grad(whole, list(network.parameters()), allow_unused=True)
    found = torch.autograd.grad(through(network, batch), list(network.parameters()), allow_unused=True)
    for (name, _), one, other in zip(network.named_parameters(), expected, found, strict=True):
        assert (one is None) == (other is None), name
        assert one is None or torch.equal(one, other), name
    with torch.no_grad():
        assert torch.equal(through(network, batch, poisoned=True), whole)


def segment_of(*sizes: int) -> list[Segment]:
    return [Segment([nn.Linear(size, 1, bias=False)] if size else [], [], lambda batch, flow: flow) for size in sizes]


def test_the_largest_stage_is_as_small_as_can_be_and_each_has_weights():
    def sizes(stages):
        return [[sum(p.numel() for part in each.weights for p in part.parameters()) for each in s] for s in stages]

    assert sizes(stages_of(segment_of(5, 1, 1, 1, 5), 3)) == [[5], [1, 1, 1], [5]]
    assert sizes(stages_of(segment_of(1, 2, 3, 4, 5, 6), 2)) == [[1, 2, 3, 4], [5, 6]]
    assert sizes(stages_of(segment_of(1, 1, 1, 1, 9), 3)) == [[1, 1], [1, 1], [9]]
    assert sizes(stages_of(segment_of(0, 7, 0, 1), 2)) == [[0, 7, 0], [1]]


def test_a_table_that_is_looked_up_in_is_no_work():
    table, layer = nn.Embedding(1000, 4), nn.Linear(4, 4)
    segments = [Segment([part], [], lambda batch, flow: flow) for part in (table, layer, nn.Linear(4, 4))]
    assert [len(stage) for stage in stages_of(segments, 2)] == [2, 1]


@pytest.mark.parametrize(
    ("system", "processes", "changes", "says"),
    [
        ("lstm-lm", 2, {}, "this one cannot be"),
        ("gnmt", 99, {}, r"9 stages at most, and there are 99 processes"),
        ("seq2seq-before", 5, {}, r"4 stages at most"),
        ("gnmt", 2, {"compile": True}, r"train\.compile=true cannot be used"),
        ("gnmt", 2, {"precision": "fp16"}, r"train\.precision=fp16 cannot be used"),
    ],
)
def test_what_cannot_be_a_pipeline_is_refused(system, processes, changes, says):
    with pytest.raises(UsageError, match=says):
        check_pipeline(network_of(system), dataclasses.replace(PIPELINE, **changes), processes)


def test_a_stage_without_anything_to_train_is_refused():
    settings = dataclasses.replace(PIPELINE, lr_scale={"encoder": 0.0, "source_embedding": 0.0})
    with pytest.raises(UsageError, match=r"lr_scale leaves stage 1 of the pipeline"):
        training_of("gnmt", World(torch.device("cpu"), 0, 4), settings, 8)
