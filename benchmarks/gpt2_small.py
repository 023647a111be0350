"""GPT-2 small on one card: Lexigraph's training step against a plain loop, and against what the card can multiply.

python benchmarks/gpt2_small.py --json gpt2_small.json   12 layers, d 768, context 1024, vocabulary 50,304, batch 32
python benchmarks/gpt2_small.py --graphs                  ours with CUDA graphs, too
python benchmarks/gpt2_small.py --tiny                    a shape for the CPU, to see that it runs

The peer is written in the manner of nanoGPT: one compiled module, bf16 autocast, fused AdamW, TF32 elsewhere,
gradient norm at most 1, batches from pinned memory; torch chooses its attention kernel. Ours is `Training.step`, the
whole of it: plan, batches from the card, schedule, clipping. All take some steps in turn, round after round; the
ratio is the median over rounds, and beside it stand the lowest and the highest.

    flops per token = 6 N + 12 L d T          N weights without those of positions, L layers, d width, T context
    share = flops per token · tokens per second / what products of two 8192 × 8192 matrices in bf16 reach here
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend

import lexigraph
from lexigraph.models.gpt import GPT, Config, Objective
from lexigraph.nn.devices import choose_device
from lexigraph.nn.network import Examples, Seeds
from lexigraph.recipe import Train
from lexigraph.text.batches import Rows, Together, Windows
from lexigraph.text.columns import MAIN
from lexigraph.text.vocabularies import Ids, Vocabularies
from lexigraph.training.distribution import World
from lexigraph.training.resident import Resident
from lexigraph.training.step import Training, seed_everything

PEER, OURS, RECORDED = "plain", "lexigraph", "lexigraph graphs"
RATIO, SHARE = 0.97, 0.40  # the bars: of the peer's tokens per second, and of the card's rate
LR, BETAS, DECAY, WARMUP, STEPS = 6e-4, (0.9, 0.95), 0.1, 100, 10_000  # nanoGPT's, but for a shorter schedule
SIZES = {"cuda": 8192, "cpu": 512}  # of the matrices

Step = Callable[[], Tensor]  # one training step; returns its loss, still on the device


@dataclass(frozen=True)
class Shape:
    layers: int = 12
    heads: int = 12
    dim: int = 768
    context: int = 1024
    vocabulary: int = 50_304  # GPT-2's 50,257, rounded up to what kernels like
    batch: int = 32

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.batch * self.context

    def flops(self, weights: int) -> float:
        """Per token, forward and backward."""
        return 6 * weights + 12 * self.layers * self.dim * self.context


TINY = Shape(layers=2, heads=2, dim=64, context=64, vocabulary=512, batch=4)


# ---- the peer --------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        dim, self.heads = shape.dim, shape.heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attend, self.project = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.widen, self.narrow = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, time_, dim = x.shape
        parts = self.attend(self.ln_1(x)).split(dim, dim=2)
        q, k, v = (part.view(batch, time_, self.heads, dim // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(batch, time_, dim))
        return x + self.narrow(F.gelu(self.widen(self.ln_2(x))))


class Plain(nn.Module):
    """GPT-2 as nanoGPT writes it: token and place tables, blocks, a last norm, the token table as output."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens, self.positions = (
            nn.Embedding(shape.vocabulary, shape.dim),
            nn.Embedding(shape.context, shape.dim),
        )
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim)
        self.head = nn.Linear(shape.dim, shape.vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("project.weight", "narrow.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-1)


def plain(shape: Shape, ids: np.ndarray, device: torch.device, compiled: bool) -> Step:
    """A step of the plain loop."""
    torch.manual_seed(0)
    cuda = device.type == "cuda"
    model = Plain(shape).to(device).train()
    loss_of = torch.compile(model) if compiled else model
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, fused=cuda or None)
    text, random, done = torch.from_numpy(ids.astype(np.int64)), np.random.default_rng(0), 0

    def batch() -> tuple[Tensor, Tensor]:
        starts = random.integers(len(text) - shape.context - 1, size=shape.batch)
        pair = [torch.stack([text[i + shift : i + shift + shape.context] for i in starts]) for shift in (0, 1)]
        if cuda:
            pair = [side.pin_memory().to(device, non_blocking=True) for side in pair]
        return pair[0], pair[1]

    def step() -> Tensor:
        nonlocal done
        done += 1
        share = (1 + math.cos(math.pi * (done - WARMUP) / (STEPS - WARMUP))) / 2
        for group in optimizer.param_groups:
            group["lr"] = LR * done / WARMUP if done < WARMUP else LR * (0.1 + 0.9 * share)
        inputs, targets = batch()
        with torch.autocast(device.type, torch.bfloat16, enabled=cuda):
            loss = loss_of(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


# ---- ours ------------------------------------------------------------------------------------------------------


def ours(shape: Shape, ids: np.ndarray, device: torch.device, compiled: bool, cuda_graphs: bool) -> tuple[Step, int]:
    """A step of Lexigraph's loop, and the weights of its network without those of positions."""
    seed_everything(0, 0, deterministic=False)
    config = Config(layers=shape.layers, heads=shape.heads, dim=shape.dim, context=shape.context, positions="learned")
    network = GPT(config, Objective(), Vocabularies({"text": Ids(shape.vocabulary)})).train()
    settings = Train(
        steps=STEPS, batch_tokens=shape.tokens, lr=LR, betas=BETAS, weight_decay=DECAY, warmup=WARMUP, clip=1.0,
        compile=compiled, graphs=graphs,
    )  # fmt: skip

    resident = Resident(ids, device) if Resident.fits(ids, device) else None

    def fetch(rows: Mapping[str, Rows], seeds: Seeds) -> Examples:
        own = rows[MAIN]
        if resident:
            return {"text": resident(own)}
        return {"text": [ids[a : a + n + 1] for a, n in zip(own.starts, own.lengths, strict=True)]}

    plan = Together({MAIN: Windows(len(ids), shape.context, shape.tokens, 0)})
    training = Training(network, plan, fetch, settings, STEPS, World(device))
    weights = sum(p.numel() for p in network.parameters()) - network.positions.weight.numel()
    return lambda: training.step()["loss"], weights


# ---- measuring -------------------------------------------------------------------------------------------------


def matrix_rate(device: torch.device, rounds: int = 12, products: int = 20) -> float:
    """Flops per second of the best round of large products in bf16."""
    size = SIZES[device.type]
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    out, best = torch.empty_like(a), math.inf
    for _ in range(rounds):
        wait(device)
        begin = time.perf_counter()
        for _ in range(products):
            torch.mm(a, b, out=out)
        wait(device)
        best = min(best, time.perf_counter() - begin)
    return products * 2 * size**3 / best


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def seconds(step: Step, steps: int, device: torch.device, peer: bool) -> tuple[float, float]:
    """Time per step over some steps, and the last one's loss."""
    torch.backends.cuda.enable_cudnn_sdp(peer)  # as torch has it for the peer, as nn/attention.py has it for ours
    wait(device)
    begin = time.perf_counter()
    for _ in range(steps):
        loss = step()
    last = loss.item()
    wait(device)
    return (time.perf_counter() - begin) / steps, last


def chosen(shape: Shape, device: torch.device) -> str:
    """The attention kernel that torch chooses by itself for this shape."""
    if device.type != "cuda":
        return "the CPU's"
    torch.backends.cuda.enable_cudnn_sdp(True)
    size = (shape.batch, shape.heads, shape.context, shape.dim // shape.heads)
    q = torch.randn(size, device=device, dtype=torch.bfloat16, requires_grad=True)
    number = torch._fused_sdp_choice(q, q, q, is_causal=True)
    names = {backend.value: name for name, backend in SDPBackend.__members__.items()}
    return names.get(int(number), str(number)).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", action="store_true", help="ours with CUDA graphs, too")
    parser.add_argument("--tiny", action="store_true", help="a small shape, for the CPU")
    parser.add_argument("--batch", type=int, help="sequences of a step")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=10, help="of a round")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--eager", action="store_true", help="compile neither")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    shape = TINY if given.tiny else Shape()
    shape = replace(shape, batch=given.batch or shape.batch)
    device = choose_device(given.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    variants = [PEER, OURS, *([RECORDED] if given.graphs else [])]

    where = torch.cuda.get_device_name() if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    print(f"{shape}, {where}; lexigraph {lexigraph.__version__}, torch {torch.__version__}, python "
          f"{platform.python_version()}")  # fmt: skip
    limit = matrix_rate(device)
    print(f"products of bf16 matrices: {limit / 1e12:.1f} Tflop/s; torch's own choice of attention: "
          f"{chosen(shape, device)}", flush=True)  # fmt: skip

    ids = np.random.default_rng(0).integers(shape.vocabulary, size=20 * shape.tokens, dtype=np.uint16)
    steps: dict[str, Step] = {}
    weights = 0
    for variant in variants:
        begin = time.perf_counter()
        if variant == PEER:
            steps[variant] = plain(shape, ids, device, not given.eager)
        else:
            steps[variant], weights = ours(shape, ids, device, not given.eager, variant == RECORDED)
        _, loss = seconds(steps[variant], 5, device, variant == PEER)  # compiles, records
        print(f"{variant}: ready after {time.perf_counter() - begin:.0f} s, loss {loss:.3f}", flush=True)

    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    losses: dict[str, float] = {}
    for _ in range(given.rounds):
        for variant, step in steps.items():
            each, losses[variant] = seconds(step, given.steps, device, variant == PEER)
            taken[variant].append(each)
    again = matrix_rate(device)  # the card may have slowed down as it grew warm: the best it did counts
    limit = max(limit, again)

    flops = shape.flops(weights)
    rows: list[dict[str, Any]] = []
    print(f"{weights:,} weights, {flops / 1e6:.1f} Mflop per token; matrices at the end: {again / 1e12:.1f} Tflop/s")
    names = "".join(f"{name:>9}" for name in ("ms/step", "ratio", "lowest", "highest", "share", "loss"))
    print(f"{'variant':<18}{'tokens/s':>11}{names}")
    for variant in variants:
        ratios = [peer / own for peer, own in zip(taken[PEER], taken[variant], strict=True)]
        middle = statistics.median(taken[variant])
        row = {
            "variant": variant,
            "tokens_per_second": shape.tokens / middle,
            "milliseconds_per_step": 1000 * middle,
            "ratio": statistics.median(ratios),
            "ratio_lowest": min(ratios),
            "ratio_highest": max(ratios),
            "share_of_rate": flops * shape.tokens / middle / limit,
            "loss": losses[variant],
        }
        rows.append(row)
        print(f"{variant:<18}{row['tokens_per_second']:>11,.0f}{row['milliseconds_per_step']:>9.2f}{row['ratio']:>9.3f}"
              f"{row['ratio_lowest']:>9.3f}{row['ratio_highest']:>9.3f}{row['share_of_rate']:>9.1%}"
              f"{row['loss']:>9.3f}")  # fmt: skip
    reached = {name: rows[1][name] for name in ("ratio", "share_of_rate")}
    print(f"ratio {reached['ratio']:.3f} (bar {RATIO}), share {reached['share_of_rate']:.1%} (bar {SHARE:.0%})")
    if given.json:
        facts = {"device": where, "shape": vars(shape), "rounds": given.rounds, "steps_of_a_round": given.steps,
                 "matrix_flops_per_second": limit, "flops_per_token": flops, "weights": weights,
                 "torch": torch.__version__}  # fmt: skip
        given.json.write_text(json.dumps(facts | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
