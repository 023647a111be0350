"""Peak memory and time of the verbs that read whole files, as the text grows: memory must not grow with it.

    python benchmarks/large_text.py --megabytes 5 20
    python benchmarks/large_text.py --megabytes 10 100 1000 --text books.train.txt.xz wiki.txt.xz

Each verb runs in a process of its own, whose peak memory and processor time the system reports. Without --run, a
model and an encoder of toy size are trained first: what a verb holds is measured, not how fast a model is.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, count, zip_longest
from pathlib import Path

from lexigraph.text.source import opened

WORDS = ("the", "old", "dog", "sat", "near", "a", "tree", "and", "she", "saw", "him", "run", "rain", "fell", "on")
FOLDED = 200  # characters of a line, so that it fits into the encoder
TINY = {
    "gpt": ["tokenizer.size=1000", "model.layers=1", "model.dim=16", "model.heads=2", "model.context=64"],
    "bert": ["tokenizer.size=1000", "model.layers=1", "model.dim=16", "model.heads=2", "model.context=1024"],
}
COMMON = ["train.steps=2", "train.batch_tokens=2048", "train.tensorboard=false"]


def made_up(seed: int = 0) -> Iterator[str]:
    """Lines of four to twelve words, with numbers among them, so that words and lines differ."""
    rng = random.Random(seed)
    while True:
        yield " ".join([*rng.choices(WORDS, k=rng.randint(3, 11)), str(rng.randint(0, 99_999))])


def lines_of(files: Sequence[Path]) -> Iterator[str]:
    """Lines of the files in turn, long ones folded. When they are through they come again, turned by some words and
    with a new word each, so that lines and words go on to be new."""
    for turn in count():
        streams = [TextIOWrapper(opened(file), encoding="utf-8") for file in files]
        for line in filter(None, chain.from_iterable(zip_longest(*streams))):
            for part in textwrap.wrap(line, FOLDED) if len(line) > FOLDED else [line.rstrip("\n")]:
                if turn:
                    words = part.split()
                    part = " ".join([*words[turn:], *words[:turn]]) + str(turn)
                yield part


def write_text(path: Path, megabytes: float, lines: Iterator[str]) -> None:
    written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1e6:
            written += len(block := "".join(f"{next(lines)}\n" for _ in range(1000)).encode())
            file.buffer.write(block)


def measured(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Peak memory in MB and processor seconds of `lexigraph ARGUMENTS`, its output thrown away."""
    with open(os.devnull, "wb") as nowhere, (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "lexigraph", *arguments], stdout=nowhere, stderr=said, cwd=folder
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit((folder / "said").read_text())
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e6, usage.ru_utime + usage.ru_stime


def trained(folder: Path, text: str) -> None:
    """Tiny runs of all kinds that the verbs ask for."""
    for name, settings in TINY.items():
        changes = [part for each in settings + COMMON for part in ("--set", each)]
        measured(["train", name, "--data", text, "--out", name, "--quiet", *changes], folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[5, 20])
    parser.add_argument("--text", type=Path, nargs="+", help="files to take lines from; else they are made up")
    parser.add_argument("--run", help="a run that encodes and scores; else toy models are trained on 1 MB")
    parser.add_argument("--verbs", nargs="*", help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for megabytes in (1, *options.megabytes):
            lines = lines_of(options.text) if options.text else made_up()
            write_text(folder / f"{megabytes:g}.txt", megabytes, lines)
        if not options.run:
            trained(folder, "1.txt")
        language, encoder = (options.run, options.run) if options.run else ("gpt", "bert")
        verbs = {
            "check": ["check", "TEXT"],
            "tokenize": ["tokenize", language, "--file", "TEXT"],
            "score": ["score", language, "--file", "TEXT"],
            "encode": ["encode", encoder, "--file", "TEXT", "--out", "vectors.npy", "--force"],
            "neighbours": ["neighbours", encoder, "the old dog", "--among", "TEXT"],
            "search": ["search", "TEXT", "the old dog"],
        }
        print("| verb |", " | ".join(f"{each:g} MB" for each in options.megabytes), "| ratio | seconds |")
        print("| --- " * (len(options.megabytes) + 3) + "|")
        for verb in options.verbs or verbs:
            found = [
                measured([part.replace("TEXT", f"{megabytes:g}.txt") for part in verbs[verb]], folder)
                for megabytes in options.megabytes
            ]
            cells = [f"{memory:,.0f} MB" for memory, _ in found]
            print(f"| {verb} |", " | ".join(cells), f"| {found[-1][0] / found[0][0]:.2f} | {found[-1][1]:,.0f} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
