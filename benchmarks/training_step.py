"""A training step (forward, backward, AdamW) against transformers' GPT-2 of the same shape: speed and peak memory.

python benchmarks/training_step.py                           6 layers, d 256, context 256, vocabulary 16k, batch 8
python benchmarks/training_step.py --device cuda --shape gpt2-small --batch 16 --json training_step.json

Speed: all variants take steps in turn, round after round; the ratio is the median over rounds. Memory: each variant
runs in a process of its own; on the CPU it is the highest resident size above that before the model was made (a
compiled variant's includes the compiler), on CUDA the highest that tensors held.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import nn

SHAPES = {  # layers, dim, heads, context, vocabulary
    "six": (6, 256, 8, 256, 16_000),
    "gpt2-small": (12, 768, 12, 1024, 50_257),
}
PEER = "transformers fp32"
BARS = {"lexigraph fp32": 0.97, "lexigraph bf16 compiled": 1.6}  # ratio to the peer
VARIANTS = [PEER, "transformers bf16 compiled", "lexigraph fp32", "lexigraph bf16", "lexigraph bf16 compiled"]


class Ours(nn.Module):
    """Lexigraph's loss of a batch of token ids."""

    def __init__(self, shape: str) -> None:
        super().__init__()
        from lexigraph.models.gpt import GPT, Config, Objective
        from lexigraph.text.vocabularies import Ids, Vocabularies

        layers, dim, heads, context, vocabulary = SHAPES[shape]
        config = Config(layers=layers, dim=dim, heads=heads, context=context, activation="gelu-tanh")
        self.network = GPT(config, Objective(), Vocabularies({"text": Ids(vocabulary)}))

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        from lexigraph.objectives.terms import Batch, value

        return value(self.network.loss(Batch({"inputs": inputs, "targets": targets}, {"loss": targets.numel()}))[0])


class Theirs(nn.Module):
    """The same of transformers."""

    def __init__(self, shape: str) -> None:
        super().__init__()
        import transformers

        layers, dim, heads, context, vocabulary = SHAPES[shape]
        off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
        config = transformers.GPT2Config(
            n_layer=layers, n_embd=dim, n_head=heads, n_positions=context, vocab_size=vocabulary, use_cache=False,
            bos_token_id=0, eos_token_id=0, **off,
        )  # fmt: skip
        self.network = transformers.GPT2LMHeadModel(config)
        self.network.loss_type = "ForCausalLM"  # the one it takes anyway, but with a warning that breaks its graph

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return self.network(input_ids=inputs, labels=inputs, shift_labels=targets).loss


def stepper(variant: str, options: argparse.Namespace) -> Callable[[], torch.Tensor]:
    """A function that takes one step and returns its loss."""
    library, precision, *compiled = variant.split()
    torch.manual_seed(0)
    _, _, _, context, vocabulary = SHAPES[options.shape]
    device = torch.device(options.device)
    model = (Ours if library == "lexigraph" else Theirs)(options.shape).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True if device.type == "cuda" else None)
    loss_of = torch.compile(model) if compiled else model
    tokens = torch.randint(0, vocabulary, (options.batch, context + 1), device=device)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def step() -> torch.Tensor:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def seconds(step: Callable[[], torch.Tensor]) -> float:
    start = time.perf_counter()
    step().item()  # waits for the device
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def resident(field: str) -> float:
    """MB in memory now (VmRSS) or at most so far (VmHWM), as Linux tells."""
    return int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0]) * 1024 / 1e6


def peak(variant: str, options: argparse.Namespace) -> float:
    """Peak MB of three steps, in this process."""
    ours = variant.startswith("lexigraph")
    importlib.import_module("lexigraph.models.gpt" if ours else "transformers.models.gpt2.modeling_gpt2")
    before = resident("VmRSS") if options.device == "cpu" else 0.0
    step = stepper(variant, options)
    for _ in range(3):
        step()
    if options.device == "cuda":
        return torch.cuda.max_memory_allocated() / 1e6
    return resident("VmHWM") - before


def peak_apart(variant: str, options: argparse.Namespace) -> float:
    """The same in a process of its own."""
    same = ["--shape", options.shape, "--batch", str(options.batch), "--device", options.device]
    command = [sys.executable, __file__, "--peak", variant, "--threads", str(options.threads), *same]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="six")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--variants", nargs="+", default=VARIANTS, choices=VARIANTS, metavar="VARIANT")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.peak:
        print(peak(options.peak, options))
        return

    import lexigraph

    layers, dim, heads, context, vocabulary = SHAPES[options.shape]
    versions = {"lexigraph": lexigraph.__version__, "torch": torch.__version__, "python": platform.python_version()}
    peer, variants = PEER, list(dict.fromkeys([PEER, *options.variants]))
    if importlib.util.find_spec("transformers"):
        versions["transformers"] = importlib.metadata.version("transformers")
    else:
        variants = [variant for variant in variants if variant.startswith("lexigraph")]
        peer = variants[0]
        print(f"transformers is not installed here: ratios are to {peer}, and bars do not apply.")
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"cpu, {options.threads} threads"
    print(f"{layers} layers, d {dim}, {heads} heads, context {context}, vocabulary {vocabulary:,}, "
          f"batch {options.batch}, {where}, {options.rounds} rounds")  # fmt: skip
    print(", ".join(f"{name} {version}" for name, version in versions.items()))

    memory = {} if options.no_memory else {variant: peak_apart(variant, options) for variant in variants}
    steps = {variant: stepper(variant, options) for variant in variants}
    for step in steps.values():  # the first compiles
        seconds(step), seconds(step)
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    for _ in range(options.rounds):
        for variant, step in steps.items():
            taken[variant].append(seconds(step))
    rows: list[dict[str, Any]] = []
    print(f"{'variant':<28}{'tokens/s':>10}{'ratio':>7}{'bar':>6}{'peak MB':>9}{'less':>7}")
    for variant in variants:
        row = {
            "variant": variant,
            "tokens_per_second": options.batch * context / statistics.median(taken[variant]),
            "ratio": statistics.median(p / t for p, t in zip(taken[peer], taken[variant], strict=True)),
            "bar": BARS.get(variant) if peer == PEER else None,
            "peak_mb": memory.get(variant),
        }
        rows.append(row)
        bar = f"{row['bar']:.2f}" if row["bar"] else "–"
        held = f"{memory[variant]:>9,.0f}{memory[peer] - memory[variant]:>7,.0f}" if memory else ""
        print(f"{variant:<28}{row['tokens_per_second']:>10,.0f}{row['ratio']:>7.2f}{bar:>6}{held}")
    if options.json:
        facts = {
            "peer": peer,
            "shape": options.shape,
            "batch": options.batch,
            "threads": options.threads,
            "device": where,
        }
        options.json.write_text(json.dumps(facts | {"versions": versions, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
