"""Train a recipe with several seeds side by side and print mean and spread of its scores.

python benchmarks/reproduce.py gpt-shakespeare --data tinyshakespeare/input.txt.xz --seeds 3 --out runs/reproduce
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--data", required=True)
    parser.add_argument("--valid")
    parser.add_argument("--test")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--serial", action="store_true", help="one after the other: for a CPU")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    folders = [options.out / f"{options.recipe}-seed{seed}" for seed in range(options.seeds)]
    running = []
    for seed, folder in enumerate(folders):
        command = [
            sys.executable,
            "-m",
            "lexigraph",
            "train",
            options.recipe,
            "--data",
            options.data,
            "--out",
            folder,
        ]
        for name in ("valid", "test"):
            command += [f"--{name}", getattr(options, name)] if getattr(options, name) else []
        for change in [*options.set, f"train.seed={seed}"]:
            command += ["--set", change]
        log = (options.out / f"{folder.name}.log").open("w")
        running.append(subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, env=dict(os.environ)))
        if options.serial:
            running[-1].wait()
    codes = [process.wait() for process in running]
    results = [json.loads((f / "results.json").read_text()) for f, c in zip(folders, codes, strict=True) if c == 0]
    for split in results[0]["scores"] if results else []:
        for metric in ("nll", "perplexity", "bits_per_byte"):
            if metric not in results[0]["scores"][split]:  # the vocabulary loses some of the text
                continue
            values = [result["scores"][split][metric]["value"] for result in results]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            listed = ", ".join(f"{value:.4f}" for value in values)
            print(f"{options.recipe} {split} {metric}: mean {statistics.mean(values):.4f} ± {spread:.4f} ({listed})")
        print("   ", results[0]["scores"][split]["signature"])
    print(f"    seconds: {', '.join(str(result['seconds']) for result in results)}")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
