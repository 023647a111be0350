"""Train a prepared run for so many seconds: the speed is measured first, and the number of steps follows from it.

    lexigraph train picture-words --data books.main.txt … --out runs/prepared --prepare
    python benchmarks/train_for.py runs/prepared runs/words --seconds 300 --set model.form=plain --set train.lr=0.004

The schedule of the rate needs to know the last step beforehand, so that the speed is measured first, after `--warm`
steps in which layers are compiled and kernels chosen. The training itself records its graphs again and looks at the
validation text, which takes a little longer than so many seconds. Prints sentences per second and writes `speed.json`
into the run folder.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import time
from pathlib import Path

import torch

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.nn.devices import choose_device
from lexigraph.run import Run
from lexigraph.training.distribution import World
from lexigraph.training.step import Training


def measured(training: Training, steps: int) -> tuple[float, float]:
    """Seconds per step and sentences per second."""
    _wait(training)
    begin, first = time.monotonic(), training.progress.step
    for _ in range(steps):
        training.step()
    _wait(training)
    seconds = time.monotonic() - begin
    rows = sum(len(own) for step in range(first, first + steps) for own in training.plan.batch(step).values())
    return seconds / steps, rows / seconds


def _wait(training: Training) -> None:
    if training.world.device.type == "cuda":
        torch.cuda.synchronize()


def derived(prepared: Path, out: Path, changes: list[str], steps: int | None = None) -> Run:
    """A run like the prepared one, with some recipe keys changed; its tables are those of the prepared one."""
    out.mkdir(parents=True, exist_ok=True)
    facts = [prepared / name for name in ("config.json", "tokenizer.json", "unigrams.npy")]
    for file in [*facts, *prepared.glob("*-*.json")]:  # few have further vocabularies
        shutil.copy(file, out / file.name)
    if not (out / "tables").exists():
        (out / "tables").symlink_to((prepared / "tables").resolve())
    given = recipes.settings(changes) | ({"train.steps": steps} if steps else {})
    run = Run(out)
    run.write("recipe.toml", recipes.read(prepared / "recipe.toml", given).toml())
    return run


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("prepared", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--seconds", type=float, help="of training; else the recipe's steps")
    arguments.add_argument("--set", action="append", default=[], help="section.key=value")
    arguments.add_argument("--warm", type=int, default=60, help="steps before the speed is measured")
    given = arguments.parse_args()
    if Run(given.out).finished:
        arguments.error(f"{given.out} holds a finished run: choose another folder.")
    begin = time.monotonic()
    run = derived(given.prepared, given.out, given.set)
    world = World(choose_device(run.recipe().train.device))
    training, _ = api.training_of(run, world)
    measured(training, given.warm)
    ready = time.monotonic() - begin
    per_step, speed = measured(training, 60)
    facts = {"sentences_per_second": round(speed), "milliseconds_per_step": round(1000 * per_step, 2),
             "seconds_until_ready": round(ready, 1)}  # fmt: skip
    print(json.dumps(facts), flush=True)
    del training
    gc.collect()  # a recorder and its training hold each other
    if world.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    steps = max(10, int(given.seconds / per_step)) if given.seconds else None
    run = derived(given.prepared, given.out, given.set, steps)
    run.write("speed.json", facts)
    api.train(out=given.out, resume=True)


if __name__ == "__main__":
    main()
