"""The memory of a stream: lines go through `lexigraph tag` and come back tagged, and its memory is read on the way.

python benchmarks/stream.py                     10 million words through a small tagger trained on the built-in corpus
python benchmarks/stream.py RUN --words 1e6     through a tagger of your own
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lexigraph import api
from lexigraph.text import builtin


def trained(folder: Path) -> Path:
    """A small tagger, with all that one may have: letters and a CRF."""
    changes = {"model.characters": "cnn", "model.output": "crf", "model.scheme": "BIOES", "train.steps": 50}
    api.train("tagger", "grammar", folder / "run", tiny=True, quiet=True, set=changes)
    return folder / "run"


def memory_of(process: int) -> float:
    """What a process has in memory, in MB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def through(run: Path, words: int, reports: int = 20) -> Iterator[tuple[int, float, float]]:
    """Words so far, memory in MB and seconds, while so many words are tagged."""
    lines = list(builtin.sentences(5000))
    command = [sys.executable, "-m", "lexigraph", "tag", str(run), "--device", "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tagging:
        asks, answers = tagging.stdin, tagging.stdout
        assert asks is not None
        assert answers is not None

        def write() -> None:
            done = 0
            while done < words:
                for line in lines:
                    asks.write(f"{line}\n")
                    done += len(line.split())
            asks.close()

        threading.Thread(target=write, daemon=True).start()
        done, due, begun = 0, words // reports, 0.0
        for answer in answers:
            begun = begun or time.perf_counter()
            done += answer.count(" ") + 1
            if done >= due:
                yield done, memory_of(tagging.pid), time.perf_counter() - begun
                due += words // reports


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--words", type=float, default=10e6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for done, memory, seconds in through(given.run or trained(Path(folder)), int(given.words)):
            found.append(memory)
            print(f"{done:12,} words  {memory:8.1f} MB  {done / seconds:10,.0f} words/s", flush=True)
    print(f"memory after the first twentieth {found[0]:.1f} MB, at most later {max(found[1:]):.1f} MB")
