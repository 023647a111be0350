"""A step of a deep recurrent translator as a pipeline and as ddp, against the same step in one process.

    torchrun --nproc-per-node 2 benchmarks/pipelining.py           GNMT's form, 4 layers on each side, d 256, 64 pairs
    torchrun --nproc-per-node 2 benchmarks/pipelining.py --layers 8 --micro-batches 1 4 16

All variants take steps in turn, round after round, each process with one thread; while one process works alone, the
others wait. A ratio is the median over rounds of its seconds over the variant's.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time

import numpy as np
import torch

from lexigraph.models.seq2seq import Config, Objective, Seq2Seq
from lexigraph.recipe import Train
from lexigraph.text.batches import Rows
from lexigraph.text.vocabularies import Ids, Vocabularies
from lexigraph.training.distribution import World, join
from lexigraph.training.step import Training

VOCABULARY, SHORTEST, LONGEST = 4096, 10, 30
SETTINGS = Train(optimizer="adam", precision="fp32", device="cpu")


class Plan:
    """The same pairs again and again."""

    epoch_steps, tokens, many_shapes = 1, 0, True

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def batch(self, step: int) -> dict[str, Rows]:
        return {"": Rows(np.arange(self.rows), np.full(self.rows, LONGEST))}

    def fresh(self, step: int) -> bool:
        return True


def training_of(options: argparse.Namespace, world: World, settings: Train) -> Training:
    """The translator, with pairs of different lengths."""
    torch.manual_seed(0)
    config = Config(
        layers=options.layers, dim=options.dim, bidirectional="first", residual=3, attends="lowest", dropout=0.0
    )
    network = Seq2Seq(config, Objective(), Vocabularies({"text": Ids(VOCABULARY)}))
    random = np.random.default_rng(0)

    def text() -> np.ndarray:
        return np.append(random.integers(3, VOCABULARY, random.integers(SHORTEST, LONGEST)), network.end)

    pairs = [(text(), text()) for _ in range(options.pairs)]

    def fetch(rows: dict[str, Rows], _: object) -> dict[str, list[np.ndarray]]:
        chosen = [pairs[i] for i in rows[""].starts]
        bounded = ([np.append(network.end, side) for side in column] for column in zip(*chosen, strict=True))
        return dict(zip(("source", "target"), bounded, strict=True))

    return Training(network, Plan(options.pairs), fetch, settings, 1000, world)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=4, help="on each side")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--micro-batches", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with join("cpu") as world:
        alone = World(world.device)
        variants = {"one process": training_of(options, alone, SETTINGS) if world.first else None}
        variants["ddp"] = training_of(options, world, SETTINGS)
        for count in options.micro_batches:
            settings = dataclasses.replace(SETTINGS, parallel="pipeline", accumulate=count)
            variants[f"pipeline, {count} micro-batches"] = training_of(options, world, settings)
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(options.rounds + 1):
            for name, training in variants.items():
                world.barrier()
                start = time.perf_counter()
                if training is not None:
                    training.step()
                world.barrier()
                seconds[name].append(time.perf_counter() - start)
        if not world.first:
            return
        print(f"{world.size} processes; {sum(p.numel() for p in variants['ddp'].network.parameters()):,} weights")
        base = seconds["one process"][1:]  # the first round warms up
        for name, training in variants.items():
            ratios = [one / other for one, other in zip(base, seconds[name][1:], strict=True)]
            speed = f"{statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"{name}: {statistics.median(seconds[name][1:]):.3f} s, {speed}")
            if training is not None and training.pipeline is not None:
                print(f"    {training.pipeline.described(training.settings.accumulate)}")


if __name__ == "__main__":
    main()
