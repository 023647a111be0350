"""Gram pooling three ways: time and memory of forward and backward pass, as ratios to the literal form.

python benchmarks/gram.py [--device cuda] [--rows 512] [--time 16] [--dim 256] [--vectors 1]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from lexigraph.nn.gram import pool, pool_closed, pool_literally

WAYS = {"literal": pool_literally, "fused": pool, "closed form": pool_closed}


def kept(function: Callable[[Tensor, Tensor], Tensor], A: Tensor, W: Tensor) -> int:
    """Bytes that the forward pass keeps for the backward pass, A and W themselves left out."""
    own, total = {A.untyped_storage().data_ptr(), W.untyped_storage().data_ptr()}, {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            total[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(A, W)
    return sum(total.values())


def timed(step: Callable[[], object], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--device", default="cpu")
    for name, value in (("rows", 512), ("time", 16), ("dim", 256), ("vectors", 1), ("repeats", 15)):
        arguments.add_argument(f"--{name}", type=int, default=value)
    given = arguments.parse_args()
    A = torch.randn(given.rows, given.time, given.dim, device=given.device, requires_grad=True)
    W = torch.randn(given.vectors, given.dim, given.dim, device=given.device, requires_grad=True)
    delta = torch.randn(given.rows, given.vectors, given.dim, device=given.device)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for repeat in range(given.repeats + 2):
        for name, function in WAYS.items():  # interleaved, so that a busy moment hits all of them
            forward = timed(lambda f=function: f(A, W), given.device)
            both = timed(lambda f=function: torch.autograd.grad(f(A, W), (A, W), delta), given.device)
            if repeat >= 2:
                times[name].append((forward, both))
    print(f"{given.rows} sentences of {given.time} positions, d = {given.dim}, m = {given.vectors}, {given.device}")
    print("way          forward ms   and backward ms   speed   kept for backward MB")
    base = statistics.median(both for _, both in times["literal"])
    for name, function in WAYS.items():
        forward, both = (statistics.median(column) for column in zip(*times[name], strict=True))
        memory = kept(function, A, W) / 1e6
        print(f"{name:12} {1000 * forward:10.2f} {1000 * both:17.2f} {base / both:7.2f} {memory:22.1f}")


if __name__ == "__main__":
    main()
