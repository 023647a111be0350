"""All checks that need two processes, in one process group: DDP = fully_shard = one process, for every system.

Started twice by test_distribution.py with RANK 0 and 1. Each process computes the step alone first, as the reference.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from lexigraph.recipe import Train
from lexigraph.registry import SYSTEMS
from lexigraph.text.batches import Rows
from lexigraph.text.columns import MAIN
from lexigraph.training import checkpoint
from lexigraph.training.distribution import World, join, whole
from lexigraph.training.loop import Training
from tests.contracts.tiny import examples_of, network_of, some

SETTINGS = Train(optimizer="sgd", lr=1.0, schedule="constant", warmup=1, clip=0.0, precision="fp32", device="cpu")

WAYS: dict[int, tuple[tuple[Literal["ddp", "fully_shard"], int], ...]] = {  # rows → how they are cut: every pair once
    8: (("ddp", 1), ("fully_shard", 3)),
    1: (("ddp", 3), ("fully_shard", 1)),
}


class Plan:
    """Steps over the same examples; as many rows as asked for, so that a process may be left without any."""

    epoch_steps, tokens, many_shapes = 10, 0, True

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def batch(self, step: int) -> dict[str, Rows]:
        return {MAIN: Rows(np.arange(self.rows), np.ones(self.rows, int))}

    def fresh(self, step: int) -> bool:
        return step == 0


def weights_after(system: str, world: World, settings: Train, rows: int, steps: int = 2) -> dict[str, torch.Tensor]:
    training = training_of(system, world, settings, rows)
    for _ in range(steps):
        training.step()
    return {name: whole(value).clone() for name, value in training.network.state_dict().items()}


def training_of(system: str, world: World, settings: Train, rows: int) -> Training:
    examples = examples_of(system, alike=True)
    network = network_of(system).double().train()
    return Training(
        network, Plan(rows), lambda tables, _: some(examples, tables[MAIN].starts.tolist()), settings, 10, world
    )


def largest_difference(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    largest = {name: weights.abs().max().clamp(min=1e-6) for name, weights in one.items()}  # some are 0, and stay so
    return max(float((one[name] - other[name]).abs().max() / largest[name]) for name in one)


def main(folder: Path) -> None:
    with join("cpu") as world:
        alone = World(world.device)
        for system, entry in SYSTEMS.items():
            if "accumulation" in entry.exempt:
                continue
            for rows, ways in WAYS.items():
                wanted = weights_after(system, alone, SETTINGS, rows)
                for kind, accumulate in ways:
                    settings = dataclasses.replace(SETTINGS, parallel=kind, accumulate=accumulate)
                    got = weights_after(system, world, settings, rows)
                    gap = largest_difference(wanted, got)
                    assert gap < 1e-10, f"{system}, {kind}, accumulate {accumulate}, {rows} rows: {gap}"
            if world.first:
                print(f"{system}: ddp = fully_shard = one process")
        check_checkpoints(folder, world)


def check_checkpoints(folder: Path, world: World) -> None:
    """A sharded run saves whole weights, and goes on from them."""
    settings = dataclasses.replace(SETTINGS, optimizer="adamw", lr=1e-2, parallel="fully_shard")
    first = training_of("lstm-lm", world, settings, 8)
    first.step()
    checkpoint.save(folder, first.network, first.optimizer, first.carries, first.progress, world)
    first.step()
    second = training_of("lstm-lm", world, settings, 8)
    path = checkpoint.latest(folder)
    assert path is not None
    second.progress, second.carries = checkpoint.restore(path, second.network, second.optimizer, 1, world)
    second.step()
    for name, value in first.network.state_dict().items():
        assert torch.equal(whole(value), whole(second.network.state_dict()[name])), name
    if world.first:
        print("fully_shard: resumed to the last bit")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
