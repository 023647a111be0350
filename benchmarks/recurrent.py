"""Recurrent networks: a training step of rnn-lm against a plain torch.nn loop, and every cell against the fused LSTM.

python benchmarks/recurrent.py                     2 layers, d 256, 32 streams of 32 tokens, vocabulary 4,096
python benchmarks/recurrent.py --rounds 25 --json recurrent.json

All variants take turns, round after round, in one process; a ratio is the median over rounds of the peer's seconds
over ours (training step) or of a cell's seconds over the LSTM's (cells: forward and backward of one layer).
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.models.rnn_lm import Config, Objective, RecurrentLanguageModel
from lexigraph.nn.cells import CELLS
from lexigraph.nn.recurrent import Recurrent
from lexigraph.objectives.terms import Batch, Carry, value
from lexigraph.text.vocabularies import Ids, Vocabularies

LAYERS, DIM, STREAMS, WINDOW, VOCABULARY = 2, 256, 32, 32, 4096
CLIP = 0.5
SHAPES = {"batch 32, 32 steps, d 256": (32, 32, 256), "batch 16, 200 steps, d 128": (16, 200, 128)}
BARS = {"unitary": 3.0, "irnn": 3.0}  # times the fused LSTM's seconds; the training step: 0.97 of the peer's speed


class Plain(nn.Module):
    """What one would write with torch.nn."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.layers = kind(DIM, DIM, LAYERS, batch_first=True)
        self.output = nn.Linear(DIM, VOCABULARY)
        self.output.weight = self.embedding.weight

    def forward(self, inputs: Tensor, targets: Tensor, state: tuple[Tensor, ...] | Tensor | None) -> tuple:
        hidden, state = self.layers(self.embedding(inputs), state)
        loss = F.cross_entropy(self.output(hidden).flatten(0, 1), targets.flatten())
        return loss, tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()


def trained(network: nn.Module, loss_of: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], object]:
    """A training step: forward, backward, clipping, AdamW."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    tokens = torch.randint(VOCABULARY, (STREAMS, WINDOW + 1))

    def step() -> float:
        loss = loss_of(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def ours(cell: str) -> Callable[[], object]:
    config = Config(cell=cell, layers=LAYERS, dim=DIM)
    network = RecurrentLanguageModel(config, Objective(), Vocabularies({"text": Ids(VOCABULARY)}))
    carry: list[Carry | None] = [None]

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        batch = Batch({"inputs": inputs, "targets": targets.contiguous()}, {"loss": targets.numel()})
        terms, carry[0] = network.loss(batch, carry[0])
        return value(terms)

    return trained(network, loss_of)


def theirs(kind: type[nn.RNNBase]) -> Callable[[], object]:
    network, carry = Plain(kind), [None]

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        loss, carry[0] = network(inputs, targets, carry[0])
        return loss

    return trained(network, loss_of)


def layer(cell: str, rows: int, times: int, dim: int) -> Callable[[], object]:
    """Forward and backward of one layer."""
    network, x = Recurrent(cell, dim, dim), torch.randn(rows, times, dim, requires_grad=True)

    def step() -> None:
        network(x)[0].square().sum().backward()
        network.zero_grad(set_to_none=True)

    return step


def in_turn(variants: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each variant in each round, after two rounds to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds + 2):
        for name, step in variants.items():
            start = time.perf_counter()
            step()
            if number >= 2:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratios(over: list[float], under: list[float]) -> dict[str, float]:
    found = sorted(a / b for a, b in zip(over, under, strict=True))
    return {"median": statistics.median(found), "from": found[0], "to": found[-1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    found: dict[str, object] = {
        "machine": platform.processor(),
        "torch": torch.__version__,
        "threads": options.threads,
    }
    for cell, kind in (("lstm", nn.LSTM), ("gru", nn.GRU)):
        seconds = in_turn({"peer": theirs(kind), "ours": ours(cell)}, options.rounds)
        found[f"training step, {cell}"] = ratio = ratios(seconds["peer"], seconds["ours"])
        print(f"training step, {cell}: {ratio['median']:.3f} times the plain loop's speed "
              f"({ratio['from']:.2f} to {ratio['to']:.2f}); bar 0.97", flush=True)  # fmt: skip
    for shape, sizes in SHAPES.items():
        seconds = in_turn({cell: layer(cell, *sizes) for cell in CELLS}, options.rounds)
        print(f"{shape}: the fused LSTM takes {1000 * statistics.median(seconds['lstm']):.1f} ms", flush=True)
        for cell in CELLS:
            found[f"{shape}, {cell}"] = ratio = ratios(seconds[cell], seconds["lstm"])
            bar = f"; bar {BARS[cell]}" if cell in BARS else ""
            print(
                f"    {cell}: {ratio['median']:.2f} times as long ({ratio['from']:.2f} to {ratio['to']:.2f}){bar}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
