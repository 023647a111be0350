"""Peak memory of the verbs that read whole files, at two sizes of text: it must not grow with the text.

    python benchmarks/large_text.py --megabytes 5 20
    python benchmarks/large_text.py --megabytes 100 1000 --run books

Each verb runs in a process of its own, whose peak memory the system reports. Without --run, a model and an encoder of
toy size are trained first: what a verb holds is what is measured, not how fast a model is.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = ("the", "old", "dog", "sat", "near", "a", "tree", "and", "she", "saw", "him", "run", "rain", "fell", "on")
TINY = {
    "gpt": ["tokenizer.size=400", "model.layers=1", "model.dim=16", "model.heads=2", "model.context=32"],
    "bert": ["tokenizer.size=400", "model.layers=1", "model.dim=16", "model.heads=2", "model.context=64"],
}
COMMON = ["train.steps=2", "train.batch_tokens=256", "train.tensorboard=false", "data.sentences=400"]


def write_text(path: Path, megabytes: float, seed: int = 0) -> None:
    """Lines of four to twelve words, with numbers among them, so that words and lines differ."""
    rng, written = random.Random(seed), 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1e6:
            lines = [
                " ".join([*rng.choices(WORDS, k=rng.randint(3, 11)), str(rng.randint(0, 99_999))])
                for _ in range(1000)
            ]
            written += file.write("\n".join(lines) + "\n")


def measured(arguments: list[str], folder: Path) -> tuple[float, float, int]:
    """Peak memory in MB, seconds and exit code of `lexigraph ARGUMENTS`, its output thrown away."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as nowhere, (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "lexigraph", *arguments], stdout=nowhere, stderr=said, cwd=folder
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print((folder / "said").read_text(), file=sys.stderr)
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e6, time.monotonic() - begin, process.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--megabytes", type=float, nargs=2, default=[5, 20])
    parser.add_argument("--run", help="a run that encodes and scores; else toy models are trained")
    parser.add_argument("--verbs", nargs="*", help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, settings in {} if options.run else TINY.items():
            changes = [part for each in settings + COMMON for part in ("--set", each)]
            measured(["train", name, "--data", "grammar", "--out", name, "--quiet", *changes], folder)
        language, encoder = (options.run, options.run) if options.run else ("gpt", "bert")
        verbs = {
            "check": ["check", "TEXT"],
            "tokenize": ["tokenize", language, "--file", "TEXT"],
            "score": ["score", language, "--file", "TEXT"],
            "encode": ["encode", encoder, "--file", "TEXT", "--out", "vectors.npy"],
            "neighbours": ["neighbours", encoder, "the old dog", "--among", "TEXT"],
            "search": ["search", "TEXT", "the old dog"],
        }
        for megabytes in options.megabytes:
            write_text(folder / f"{megabytes:g}.txt", megabytes)
        small, large = options.megabytes
        print(f"| verb | {small:g} MB: peak memory | {large:g} MB: peak memory | ratio | seconds |")
        print("| --- | --- | --- | --- | --- |")
        for verb, command in verbs.items():
            if options.verbs and verb not in options.verbs:
                continue
            (first, *_), (second, seconds, _) = (
                measured([part.replace("TEXT", f"{megabytes:g}.txt") for part in command], folder)
                for megabytes in options.megabytes
            )
            row = f"| {verb} | {first:,.0f} MB | {second:,.0f} MB | {second / first:.2f} | {seconds:.0f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
