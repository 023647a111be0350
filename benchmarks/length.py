"""Time and memory of one layer as the text grows: recurrent, convolution, self-attention: full and in a window.

python benchmarks/length.py [--lengths 64 128 … 32768] [--ways LSTM "window, back" …] [--picture length.png]
python benchmarks/length.py --device cuda --rows 8

One text of growing length and not a batch of constant size: with fewer rows in longer batches a recurrent layer
would pay twice, for the length and for the rows that it no longer has. Layers look back only, as in a language
model, but for two that see both ways, as an encoder does. A window holds 512 positions: before a token, or half of
them on each side. Each cell is a process of its own, with one thread: first memory, of one pass, then time, the
median of several. Time is CPU seconds, which others on the machine disturb less; on CUDA, seconds by the clock.
Memory is what the pass adds to the layer and its input: on the CPU the highest resident size (Linux only), on CUDA
torch.cuda.max_memory_allocated. Rounds go through all cells in turn, so that a busy moment hits all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.transformer import SelfAttention, Shape
from lexigraph.nn.window import Window, WindowAttention

DIM, HEADS, KERNEL, WINDOW = 256, 4, 5, 512
WAYS = {  # with their colours
    "LSTM": "#0b7285",
    "convolution": "#e8590c",
    "attention, step by step": "#862e9c",
    "attention, fused": "#2b8a3e",
    "window, back": "#82c91e",
    "attention, fused, both ways": "#1864ab",
    "window, both ways": "#74c0fc",
}
PASSES = {"forward": "forward", "both": "forward and backward"}
Cells = dict[tuple[str, int], dict[str, float]]


# ---- one cell: in a process of its own ---------------------------------------------------------------------


def layer(way: str) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """A layer, and what it makes of x (rows, length, width)."""
    if way == "LSTM":
        recurrent = Recurrent("lstm", DIM, DIM)
        return recurrent, lambda x: recurrent(x)[0]
    if way == "convolution":
        convolution = nn.Conv1d(DIM, DIM, KERNEL)
        return convolution, lambda x: convolution(F.pad(x.transpose(1, 2), (KERNEL - 1, 0))).transpose(1, 2)
    shape = Shape(DIM, HEADS, 4 * DIM)
    if way.startswith("window"):
        sides = (WINDOW, 0) if way == "window, back" else (WINDOW // 2, WINDOW // 2)
        sliding = WindowAttention(shape, Window(*sides, (1,) * HEADS))
        return sliding, sliding
    attention = SelfAttention(shape)
    if way.startswith("attention, fused"):
        return attention, lambda x: attention(x, causal=way == "attention, fused")
    return attention, lambda x: attention(x, causal=True, weights=[])  # asked for weights, it works in the open


def resident(highest: bool) -> int:
    """Bytes that this process holds, or held at most."""
    name = "VmHWM:" if highest else "VmRSS:"
    return int(Path("/proc/self/status").read_text().split(name)[1].split()[0]) * 1024


def added(step: Callable[[], object], device: str) -> float:
    """MB that a step takes at most, above what there is before it."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    Path("/proc/self/clear_refs").write_text("5")  # the highest size starts again from the present one
    before = resident(highest=False)
    step()
    return (resident(highest=True) - before) / 1e6


def timed(step: Callable[[], object], device: str, seconds: float) -> float:
    """Median of as many repeats as fit into so many seconds."""
    times: list[float] = []
    clock = time.perf_counter if device == "cuda" else time.process_time
    while not times or (sum(times) < seconds and len(times) < 1000):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = clock()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(clock() - begin)
    return statistics.median(times)


def measure(way: str, name: str, length: int, rows: int, device: str, seconds: float) -> dict[str, float]:
    """Seconds and MB of a pass."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module, function = layer(way)
    module.to(device)

    def one(x: Tensor, delta: Tensor) -> None:
        if name == "both":
            torch.autograd.grad(function(x), (x, *module.parameters()), delta)
            return
        with torch.no_grad():
            function(x)

    def given(length: int) -> tuple[Tensor, Tensor]:
        x, delta = (torch.randn(rows, length, DIM, device=device) for _ in range(2))
        return x.requires_grad_(), delta

    one(*given(8))  # libraries are loaded and their rooms set up
    x, delta = given(length)
    begin = time.process_time()
    memory = added(lambda: one(x, delta), device)
    took = time.process_time() - begin
    if device == "cuda" or took < 10 * seconds:  # a pass of many seconds is not repeated
        took = timed(lambda: one(x, delta), device, seconds)
    return {f"{name} MB": memory, f"{name} s": took}


# ---- all of them -------------------------------------------------------------------------------------------


def apart(way: str, length: int, options: argparse.Namespace) -> dict[str, float]:
    """The facts of both passes, each in a process of its own: the first would leave room for the second."""
    facts: dict[str, float] = {}
    for name in PASSES:
        with multiprocessing.get_context("fork").Pool(1) as pool:  # what is imported here need not be there
            cell = way, name, length, options.rows, options.device, options.seconds
            facts |= pool.apply(measure, cell)
    return facts


def sweep(options: argparse.Namespace) -> dict[tuple[str, int], list[dict[str, float]]]:
    """Every round of every cell. A cell that would not fit, judged by the one before it, is left out."""
    cells: dict[tuple[str, int], list[dict[str, float]]] = {}
    for number in range(options.rounds):
        for way in options.ways:
            last = (0, 0.0)
            for length in options.lengths:
                if last[1] * (length / max(last[0], 1)) ** 2 > 1000 * options.gigabytes:
                    break
                facts = apart(way, length, options)
                last = (length, facts["both MB"])
                cells.setdefault((way, length), []).append(facts)
                print(f"round {number + 1}  {way}  {length}", file=sys.stderr, flush=True)
    return cells


def number(value: float) -> str:
    """Three figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value < 10 else f"{value:.1f}"


def table(heading: str, cells: Cells, cell: Callable[[str, int], str], lengths: list[int]) -> str:
    """A line for each way, a column for each length."""
    lines = [f"| {heading} | " + " | ".join(f"{length:,}" for length in lengths) + " |"]
    lines.append("| --- |" + " --- |" * len(lengths))
    ways = dict.fromkeys(way for way, _ in cells)
    lines += [f"| {way} | " + " | ".join(cell(way, length) for length in lengths) + " |" for way in ways]
    return "\n".join(lines)


def tables(cells: Cells, lengths: list[int], rows: int) -> str:
    """Time per token with its ratio to the shortest length, and memory, of both passes."""
    parts = []
    for name, title in PASSES.items():

        def per_token(way: str, length: int, name: str = name) -> float:
            return 1e6 * cells[way, length][f"{name} s"] / length / rows

        def duration(way: str, length: int) -> str:
            if (way, length) not in cells:
                return "–"
            here = per_token(way, length)
            return f"{number(here)} ({here / per_token(way, lengths[0]):.2f})"

        def memory(way: str, length: int, name: str = name) -> str:
            return number(cells[way, length][f"{name} MB"]) if (way, length) in cells else "–"

        parts.append(table(f"{title}, µs per token (ratio to {lengths[0]})", cells, duration, lengths))
        parts.append(table(f"{title}, MB", cells, memory, lengths))
    return "\n\n".join(parts)


def exponents(cells: Cells, first: int, last: int) -> str:
    """How time and memory of both passes grow between two lengths: as which power of the length."""
    lines = [f"From {first:,} to {last:,} tokens, forward and backward, as the length to the power of"]
    for way in dict.fromkeys(way for way, _ in cells):
        if (way, first) in cells and (way, last) in cells:
            ratios = {
                fact: cells[way, last][f"both {fact}"] / cells[way, first][f"both {fact}"] for fact in ("s", "MB")
            }
            power = {fact: math.log(ratio) / math.log(last / first) for fact, ratio in ratios.items()}
            lines.append(f"{way}: time {power['s']:.2f}, memory {power['MB']:.2f}")
    return "\n".join(lines)


def draw(cells: Cells, lengths: list[int], rows: int, title: str, path: Path) -> None:
    """Time per token and memory against length; full lines with the backward pass, broken ones without."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    ways = list(dict.fromkeys(way for way, _ in cells))
    figure = Figure((10, 4.6), layout="constrained")
    figure.suptitle(title)
    left, right = figure.subplots(1, 2)
    for axes, label, fact in ((left, "time per token, µs", "s"), (right, "peak memory of the pass, MB", "MB")):
        for way in ways:
            known = [length for length in lengths if (way, length) in cells]
            for name, dashes in (("forward", "--"), ("both", "-")):
                values = [cells[way, length][f"{name} {fact}"] for length in known]
                if fact == "s":
                    values = [1e6 * value / length / rows for value, length in zip(values, known, strict=True)]
                axes.plot(known, values, dashes, marker="o", markersize=3, color=WAYS[way])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.set(xlabel="length of the text, tokens", ylabel=label)
        axes.grid(color="#e9ecef")
        axes.spines[["top", "right"]].set_visible(False)
    handles = [Line2D([], [], color=WAYS[way], label=way) for way in ways]
    styles = zip(PASSES.values(), ("--", "-"), strict=True)
    handles += [Line2D([], [], color="#495057", ls=dashes, label=title) for title, dashes in styles]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048, 4096, 8192])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--rows", type=int, default=1, help="texts in a batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="for the repeats of one pass in one round")
    parser.add_argument("--gigabytes", type=float, default=6.0, help="leave out what would take more")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    lengths = options.lengths = sorted(options.lengths)
    begin = time.perf_counter()
    rounds = sweep(options)
    cells = {key: {fact: statistics.median(r[fact] for r in found) for fact in found[0]}
             for key, found in rounds.items()}  # fmt: skip
    spread = {fact: sorted(max(r[fact] for r in found) / min(r[fact] for r in found) for found in rounds.values())
              for fact in ("forward s", "both s")}  # fmt: skip

    title = f"one layer, width {DIM}, batch {options.rows}, {options.device}"
    title += ", one thread" if options.device == "cpu" else f" ({torch.cuda.get_device_name()})"
    print(
        f"{title}; torch {torch.__version__}, python {platform.python_version()}; median of {options.rounds} rounds"
    )
    print(f"{time.perf_counter() - begin:.0f} s in all. Slowest round over fastest, median and worst of all cells:")
    for name, ratios in spread.items():
        print(f"{PASSES[name[:-2]]} {statistics.median(ratios):.2f}, {ratios[-1]:.2f}")
    print(f"Layers of convolution until the last place sees the first of {lengths[-1]:,}: "
          f"{math.ceil((lengths[-1] - 1) / (KERNEL - 1)):,}; one is measured.\n")  # fmt: skip
    print(tables(cells, lengths, options.rows))
    print(f"\n{exponents(cells, min(lengths, key=lambda n: abs(n - 2048)), lengths[-1])}")
    if options.picture:
        draw(cells, lengths, options.rows, title, options.picture)
    if options.json:
        rows = [{"way": way, "length": length, "rounds": found} for (way, length), found in rounds.items()]
        options.json.write_text(json.dumps({"title": title, "cells": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
