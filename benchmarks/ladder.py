"""From the fixed vector to GNMT: recurrent translators, one step of the ladder after the other, tuned alike.

    python benchmarks/ladder.py multi30k/raw --out ladder                                    all steps, three seeds
    python benchmarks/ladder.py multi30k/raw --out ladder --steps none attention --at-once 6   six side by side
    python benchmarks/ladder.py multi30k/raw --out ladder --rates 1e-3 2e-3 4e-3               the rate is chosen

Every step has its own width, so that all have about as many weights as the first. With several rates, each step is
trained at each of them with the first seed; the one with the better validation BLEU is trained with the other seeds,
too. Test sets decide nothing. A finished training is taken as it is, one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

RECIPE = "seq2seq-multi30k-gpu"
ONE_WAY = {"model.bidirectional": "none"}
ABOVE = {"model.layers": 4, "model.bidirectional": "first"}
LADDER: dict[str, dict[str, Any]] = {
    "none": {**ONE_WAY, "model.attention": "none", "model.dim": 532},
    "reversed": {**ONE_WAY, "model.attention": "none", "model.dim": 532, "model.reversed": True},
    "attention": {**ONE_WAY, "model.dim": 516},
    "bidirectional": {"model.dim": 560},
    "additive": {"model.dim": 548, "model.attention": "additive"},
    "deep": {**ABOVE, "model.dim": 356},
    "residual": {**ABOVE, "model.dim": 356, "model.residual": 3},
    "gnmt": {**ABOVE, "model.dim": 324, "model.residual": 3, "model.attends": "lowest"},
}
TESTS = ("test_2016_flickr", "test_2017_flickr")


class Job(NamedTuple):
    """One training."""

    step: str
    rate: float
    seed: int
    folder: Path  # with the texts
    out: Path
    more: dict[str, Any]

    @property
    def run(self) -> Path:
        return self.out / f"{self.step}-{self.rate:g}-{self.seed}"


def pairs(folder: Path, part: str) -> str:
    """The English and German files of a part, as --data takes them."""
    sides = []
    for language in ("en", "de"):
        file = folder / f"{part}.{language}"
        sides.append(str(file if file.exists() else file.with_name(f"{file.name}.gz")))
    return "+".join(sides)


def trained(job: Job) -> dict[str, float]:
    """Validation and test BLEU of one training, and how many weights it has."""
    import lexigraph
    from lexigraph.run import Run

    if not (job.run.exists() and Run.open(job.run).finished):
        changes = {**LADDER[job.step], "train.lr": job.rate, "train.seed": job.seed, **job.more}
        lexigraph.train(
            RECIPE, pairs(job.folder, "train"), job.run, valid=pairs(job.folder, "val"), set=changes, quiet=True,
            resume=job.run.exists(),
        )  # fmt: skip
    kept = job.run.with_suffix(".json")
    if not kept.exists():
        weights = sum(p.numel() for p in lexigraph.load(job.run).network.parameters())
        bleu = {
            part: lexigraph.evaluate(job.run, pairs(job.folder, part))["bleu"]["value"] for part in ("val", *TESTS)
        }
        kept.write_text(json.dumps({"weights": weights, **bleu}))
    return json.loads(kept.read_text())


def measured(jobs: Sequence[Job], at_once: int) -> dict[tuple[str, float, int], dict[str, float]]:
    """All trainings, so many side by side."""
    with ProcessPoolExecutor(at_once, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(((j.step, j.rate, j.seed) for j in jobs), pool.map(trained, jobs), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", nargs="+", choices=LADDER, default=list(LADDER))
    parser.add_argument("--rates", nargs="+", type=float, default=[2e-3])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    from lexigraph import recipe as recipes

    more = recipes.settings(asked.set)
    first = [Job(step, rate, 0, asked.folder, asked.out, more) for step in asked.steps for rate in asked.rates]
    found = measured(first, asked.at_once)
    best = {step: max(asked.rates, key=lambda rate: found[step, rate, 0]["val"]) for step in asked.steps}
    others = [Job(s, best[s], n, asked.folder, asked.out, more) for s in asked.steps for n in range(1, asked.seeds)]
    found |= measured(others, asked.at_once)
    print("step", "weights", "rate", "validation", *TESTS, sep="\t")
    for step in asked.steps:
        runs = [found[step, best[step], seed] for seed in range(asked.seeds)]
        print(
            step,
            f"{runs[0]['weights']:,}",
            f"{best[step]:g}",
            *(figure(runs, part) for part in ("val", *TESTS)),
            sep="\t",
        )


def figure(runs: Sequence[dict[str, float]], part: str) -> str:
    """A mean over seeds and its deviation."""
    values = [run[part] for run in runs]
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
