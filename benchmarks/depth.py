"""How deep a recurrent language model should be: depths 1, 2, 3 and 8 of each cell, tuned alike.

python benchmarks/depth.py input.txt                            characters, windows of 64, LSTM, GRU and tanh RNN
python benchmarks/depth.py input.txt --cells lstm --seeds 1

Every depth of a cell is trained at each learning rate with the first seed; the rate whose validation is better is
trained with the other seeds, too. The test text decides nothing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import lexigraph

CELLS = ("lstm", "gru", "rnn")
DEPTHS = (1, 2, 3, 8)
RATES = (0.002, 0.006)
SETTINGS: dict[str, Any] = {
    "data.unit": "stream",
    "data.window": 64,
    "tokenizer.kind": "char",
    "model.dropout": 0.0,  # less than two passes: nothing is learned by heart
    "model.tied": False,
    "train.batch_tokens": 1024,
    "train.warmup": 50,
    "train.schedule": "linear",
    "train.final_lr": 0.0,
    "train.clip": 0.5,
    "train.tensorboard": False,
}


def trained(text: str, out: Path, changes: dict[str, Any]) -> dict[str, float]:
    """Bits per byte of the held-out texts, and how many weights it took."""
    model = lexigraph.train("rnn-lm", text, out, set={**SETTINGS, **changes}, quiet=True)
    scores = json.loads((out / "results.json").read_text())["scores"]
    found = {split: scores[split]["bits_per_byte"]["value"] for split in ("valid", "test")}
    return found | {"weights": sum(p.numel() for p in model.network.parameters())}


def measured(text: str, cell: str, depth: int, asked: argparse.Namespace) -> str:
    """A row of the table."""
    begin = time.perf_counter()
    changes = {"model.cell": cell, "model.layers": depth, "model.dim": asked.dim, "train.steps": asked.steps}
    with tempfile.TemporaryDirectory() as folder:
        tried = {
            rate: trained(text, Path(folder) / f"{rate}", {**changes, "train.lr": rate, "train.seed": 0})
            for rate in asked.rates
        }
        best = min(tried, key=lambda rate: tried[rate]["valid"])
        runs = [tried[best]]
        for seed in range(1, asked.seeds):
            runs.append(trained(text, Path(folder) / f"{seed}", {**changes, "train.lr": best, "train.seed": seed}))
    tests = [run["test"] for run in runs]
    spread = f" ± {stdev(tests):.3f}" if len(tests) > 1 else ""
    return (
        f"{cell:5} {depth} layers  {runs[0]['weights']:>9,} weights  lr {best:<6} "
        f"valid {mean(run['valid'] for run in runs):.3f}  test {mean(tests):.3f}{spread}  "
        f"{time.perf_counter() - begin:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS)
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--dim", type=int, default=128)
    asked = parser.parse_args()
    for cell in asked.cells:
        for depth in asked.depths:
            print(measured(asked.text, cell, depth, asked), flush=True)


if __name__ == "__main__":
    main()
