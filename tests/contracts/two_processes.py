"""All checks that need two processes, in one process group: DDP = fully_shard = one process, for every system, and
= a pipeline for those that can be cut into stages.

    python tests/contracts/two_processes.py FOLDER RECIPE

The step of one process is computed first, as the reference; then there are two forks, with RANK 0 and 1, which
also train a recipe.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch.distributed import TCPStore

sys.path.insert(0, str(Path(__file__).parents[2]))

from lexigraph import api, cli
from lexigraph.recipe import Train
from lexigraph.registry import SYSTEMS
from lexigraph.text.batches import Rows
from lexigraph.text.columns import MAIN
from lexigraph.training import checkpoint
from lexigraph.training.distribution import World, join, whole
from lexigraph.training.step import Training
from tests.contracts.tiny import examples_of, network_of, some

SETTINGS = Train(optimizer="sgd", lr=1.0, schedule="constant", warmup=1, clip=0.0, precision="fp32", device="cpu")

GROWN, GROWING = "batches that grow", dataclasses.replace(SETTINGS, batch_growth=20)  # 2 in step 0 of 10, 4 in 1

WAYS: dict[int, tuple[tuple[Literal["ddp", "fully_shard", "pipeline"], int], ...]] = {  # rows → how they are cut
    8: (("ddp", 1), ("fully_shard", 3), ("pipeline", 3)),
    1: (("ddp", 3), ("fully_shard", 1), ("pipeline", 2)),
}

PIPELINED = {  # a run in the form of GNMT
    "train.parallel": "pipeline",
    "train.accumulate": 3,
    "train.average": 0.5,
    "train.steps": 4,
    "train.schedule": "constant",
    "train.validate_every": 2,
    "eval.sentences": 2,
    "data.sentences": 300,
    "model.layers": 3,
    "model.residual": 3,
    "model.bidirectional": "first",
    "model.attends": "lowest",
    "model.dropout": 0.2,
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
    with training.whole():
        return {name: whole(value).clone() for name, value in training.network.state_dict().items()}


def training_of(system: str, world: World, settings: Train, rows: int) -> Training:
    examples = examples_of(system, alike=True)
    network = network_of(system).double().train()
    return Training(
        network, Plan(rows), lambda tables, _: some(examples, tables[MAIN].starts.tolist()), settings, 10, world
    )


def largest_difference(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    largest = {name: weights.abs().max().clamp(min=1e-5) for name, weights in one.items()}  # some are 0, or nearly
    return max(float((one[name] - other[name]).abs().max() / largest[name]) for name in one)


def forked(port: int, rank: int, work: Callable[[], None]) -> int:
    """A process of two, as torchrun starts them."""
    child = os.fork()
    if child == 0:
        where = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": 2, "RANK": rank, "LOCAL_RANK": rank}
        os.environ |= {name: str(value) for name, value in where.items()} | {"TORCHELASTIC_USE_AGENT_STORE": "True"}
        try:
            work()
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child


def main(folder: Path, recipe: Path) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # forks cannot share a card
    systems = [system for system, entry in SYSTEMS.items() if "accumulation" not in entry.exempt]
    alone = World(torch.device("cpu"))
    wanted = {system: {rows: weights_after(system, alone, SETTINGS, rows) for rows in WAYS} for system in systems}
    wanted[GROWN] = {8: weights_after("gpt", alone, GROWING, 8)}
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # any free port
    children = [forked(store.port, rank, lambda: compare(wanted, folder, recipe)) for rank in (0, 1)]
    ended = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(any(ended))


def compare(wanted: dict[str, dict[int, dict[str, torch.Tensor]]], folder: Path, recipe: Path) -> None:
    with join("cpu") as world:
        for system, references in wanted.items():
            if system == GROWN:
                check_growth(references[8], world)
                continue
            can = bool(network_of(system).segments())
            for rows, reference in references.items():
                for kind, accumulate in WAYS[rows] if can else WAYS[rows][:2]:
                    settings = dataclasses.replace(SETTINGS, parallel=kind, accumulate=accumulate)
                    gap = largest_difference(reference, weights_after(system, world, settings, rows))
                    assert gap < 1e-10, f"{system}, {kind}, accumulate {accumulate}, {rows} rows: {gap}"
            if world.first:
                print(f"{system}: ddp = fully_shard = {'pipeline = ' if can else ''}one process")
        check_checkpoints(folder / "checkpoints", world)
        check_pipelined_runs(folder, world)
        sys.argv = ["lexigraph", "train", str(recipe), "--data", "grammar", "--out", str(folder / "run")]
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0


def check_growth(reference: dict[str, torch.Tensor], world: World) -> None:
    """Steps of several batches, each cut over processes and micro-batches."""
    for kind, accumulate in WAYS[8]:
        settings = dataclasses.replace(GROWING, parallel=kind, accumulate=accumulate)
        gap = largest_difference(reference, weights_after("gpt", world, settings, 8))
        assert gap < 1e-10, f"growing batches, {kind}, accumulate {accumulate}: {gap}"
    if world.first:
        print("growing batches: ddp = fully_shard = pipeline = one process")


def check_checkpoints(folder: Path, world: World) -> None:
    """A sharded run saves whole weights, and goes on from them."""
    settings = dataclasses.replace(SETTINGS, optimizer="adamw", lr=1e-2, parallel="fully_shard", average=0.9)
    first, second = (training_of("lstm-lm", world, settings, 8) for _ in range(2))
    assert first.average
    assert second.average
    first.step()
    checkpoint.save(
        folder, first.network, first.optimizer, first.carries, first.progress, world, first.average.weights
    )
    first.step()
    path = checkpoint.latest(folder)
    assert path is not None
    second.progress, second.carries = checkpoint.restore(
        path, second.network, second.optimizer, 1, world, second.average.weights
    )
    second.step()
    kept = []
    for training, average in ((first, first.average), (second, second.average)):
        with average.in_place():
            kept.append({name: whole(value).clone() for name, value in training.network.state_dict().items()})
    for name, value in first.network.state_dict().items():
        assert torch.equal(whole(value), whole(second.network.state_dict()[name])), name
        assert torch.equal(kept[0][name], kept[1][name]), name
        assert not torch.equal(kept[0][name], whole(value)), name
    if world.first:
        print("fully_shard: resumed to the last bit")


def check_pipelined_runs(folder: Path, world: World) -> None:
    """A run whose layers are in two processes goes on to the last bit, dropout included, and keeps whole weights."""
    given = {"out": folder / "calm", "set": PIPELINED, "tiny": True, "quiet": True}
    api.train("seq2seq", "grammar", **given)
    api.train("seq2seq", "grammar", **given | {"out": folder / "rough", "set": PIPELINED | {"train.steps": 2}})
    api.train(out=folder / "rough", resume=True, set={"train.steps": 4}, quiet=True)
    same = [f"checkpoints/step-00000004/{name}.safetensors" for name in ("weights", "optimizer", "average", "random")]
    for name in ("model.safetensors", *same):
        assert (folder / "calm" / name).read_bytes() == (folder / "rough" / name).read_bytes(), name
    if world.first:
        print("pipeline: resumed to the last bit")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
