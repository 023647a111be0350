"""Peak memory of the way from a large text file to tables of tokens, and of `check`, above that of the imports.

python benchmarks/memory.py                           1 GB of made-up text, in the folder for temporary files
python benchmarks/memory.py --megabytes 200 --json memory.json

Each job runs in a process of its own: importing, training a tokenizer on the file and writing the tables, as `train`
does before its first step; or looking at the file as `lexigraph check` does. The peak is the highest resident size
that the system saw; mapped files that were read count too. No peer: the bar is 300 MB, whatever the size of the file.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

BAR = 300  # MB above the imports
JOBS = ("char", "word", "bpe", "check")
WORDS = 60_000  # different words in the text


def write_text(path: Path, megabytes: int, seed: int = 0) -> None:
    """Lines of 3 to 30 words, drawn as in a real text: the n-th most frequent has a share near 1 / n."""
    random = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxzéüß"))
    sizes = random.integers(2, 11, WORDS)
    spelled = ["".join(random.choice(letters[: random.integers(8, 30)], size)) for size in sizes]
    share = 1 / np.arange(1, WORDS + 1)
    bounds = (share / share.sum()).cumsum()
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1_000_000:
            words = np.searchsorted(bounds, random.random(200_000))
            ends = random.integers(3, 31, 200_000).cumsum()
            lines = np.split(words, ends[ends < len(words)])
            file.writelines(" ".join(spelled[min(word, WORDS - 1)] for word in line) + " .\n" for line in lines)


def peak() -> float:
    """MB that this process held at most, so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts what the parent held before this process was its own
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes, on a Mac


def prepare(kind: str, unit: str, file: Path, folder: Path) -> dict[str, float]:
    """What `train` does before step 0."""
    from lexigraph import api, recipe
    from lexigraph.text.columns import Column
    from lexigraph.text.tables import tables
    from lexigraph.training.progress import Reporter

    settings = recipe.read(
        "gpt", {"data.train": str(file), "data.unit": unit, "tokenizer.kind": kind, "tokenizer.size": 8000}
    )
    before = peak()
    start = time.perf_counter()
    api._prepare(folder / "run", settings, None, Reporter(0, quiet=True))
    seconds = time.perf_counter() - start
    highest = peak()
    splits = tables(folder / "run" / "tables", {"text": Column("tokens")})
    tokens = sum(len(table.columns["text"].values) for table in splits.values())
    return {"import_mb": before, "above_mb": highest - before, "seconds": seconds, "tokens": tokens}


def attention_weights(file: Path) -> dict[str, float]:
    """What `lexigraph check` does."""
    from lexigraph.text.check import check

    before = peak()
    start = time.perf_counter()
    check(file)
    return {"import_mb": before, "above_mb": peak() - before, "seconds": time.perf_counter() - start}


def apart(job: str, unit: str, file: Path) -> dict[str, Any]:
    """The facts of a job that ran in a process of its own."""
    command = [sys.executable, __file__, "--job", job, "--unit", unit, "--file", str(file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {"job": job, "unit": unit} | json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    parser.add_argument("--unit", choices=("line", "stream"), default="line")
    parser.add_argument("--file", type=Path, help="a text of your own instead")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if options.job:
            check = options.job == "check"
            print(
                json.dumps(look(options.file) if check else prepare(options.job, options.unit, options.file, folder))
            )
            return
        file = options.file or folder / "text.txt"
        if not options.file:
            write_text(file, options.megabytes)
        size = file.stat().st_size / 1e6

        import lexigraph

        print(f"{size:,.0f} MB of text, unit {options.unit}")
        print(f"lexigraph {lexigraph.__version__}, numpy {np.__version__}, python {platform.python_version()}")
        print(f"{'job':<8}{'imports MB':>11}{'above MB':>10}{'bar':>6}{'seconds':>9}{'MB/s':>7}")
        rows = []
        for job in options.jobs:
            row = apart(job, options.unit, file)
            rows.append(row)
            print(f"{job:<8}{row['import_mb']:>11,.0f}{row['above_mb']:>10,.0f}{BAR:>6}{row['seconds']:>9,.1f}"
                  f"{size / row['seconds']:>7,.1f}", flush=True)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps({"megabytes": size, "bar_mb": BAR, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
