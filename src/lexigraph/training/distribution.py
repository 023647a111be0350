"""One process or many: torch.distributed itself, started by torchrun or SLURM.

Counts and small decisions travel over gloo on the CPU, gradients over NCCL on CUDA; nothing is pickled.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lexigraph.errors import LexigraphError
from lexigraph.nn.devices import choose_device
from lexigraph.nn.network import Network
from lexigraph.objectives.terms import Batch, Carry, Terms

PATIENCE = timedelta(hours=2)  # rank 0 may tokenize a large corpus while the others wait


@dataclass(frozen=True)
class World:
    """Who takes part."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def summed(self, values: list[float]) -> list[float]:
        """The same numbers summed over all processes."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def gathered(self, tensor: Tensor) -> list[Tensor]:
        """One tensor of every process, whatever their first axes."""
        if self.size == 1:
            return [tensor]
        tensor = tensor.cpu().contiguous()
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(lengths, torch.tensor([len(tensor)]))
        longest = int(max(lengths))
        padded = tensor.new_zeros((longest, *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(parts, padded)
        return [part[: int(length)] for part, length in zip(parts, lengths, strict=True)]

    def agreed(self, mine: float) -> float:
        """The first process's answer, for all: a decision that each took by itself might differ."""
        return self.summed([float(mine) if self.first else 0.0])[0]

    def decided(self, work: Callable[[], float | None]) -> float:
        """What the first process does for all, and its answer. If it fails, all end, and none waits for it."""
        failure, answer = None, 0.0
        if self.first:
            try:
                answer = float(work() or 0.0)
            except LexigraphError as error:
                failure, answer = error, math.nan
        answer = self.agreed(answer)
        if failure is not None:
            raise failure
        if math.isnan(answer):
            raise LexigraphError("The first process has failed, and says why.")
        return answer

    def barrier(self) -> None:
        self.summed([0.0])


def processes() -> int:
    """How many take part."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


@contextmanager
def join(device: str = "auto") -> Iterator[World]:
    """Enter the process group that torchrun or SLURM set up, or stay alone."""
    environment = os.environ
    if "SLURM_NTASKS" in environment and "SLURM_PROCID" in environment and "MASTER_ADDR" in environment:
        environment.setdefault("WORLD_SIZE", environment["SLURM_NTASKS"])
        environment.setdefault("RANK", environment["SLURM_PROCID"])
        environment.setdefault("LOCAL_RANK", environment.get("SLURM_LOCALID", "0"))
    size = int(environment.get("WORLD_SIZE", "1"))
    rank, local = int(environment.get("RANK", "0")), int(environment.get("LOCAL_RANK", "0"))
    chosen = choose_device(device, local)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if size == 1 or dist.is_initialized():
        yield World(chosen, rank, size)
        return
    backend = "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=PATIENCE)
    try:
        yield World(chosen, rank, size)
        dist.barrier()
    finally:
        dist.destroy_process_group()


class _Loss(nn.Module):
    """A network whose `forward` is its loss, which is what DDP and torch.compile look at."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, tensors: dict[str, Tensor], names: list[str], carry: Carry | None
    ) -> tuple[Terms, Carry | None]:
        """Terms whose counts mean nothing: the loop has them, and a compiler would start anew for each number."""
        return self.network.loss(Batch(tensors, dict.fromkeys(names, 1.0)), carry)


def parallelise(network: Network, world: World, kind: str) -> nn.Module:
    """The network's loss as a module; over several processes, with its gradients averaged."""
    if world.size == 1:
        return _Loss(network)
    if kind == "ddp":
        devices = [world.device] if world.device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(_Loss(network), device_ids=devices)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(world.device.type, (world.size,))
    for module in reversed(list(network.modules())):  # what is inside first: no weight is cut twice
        if isinstance(module, nn.ModuleList):
            for layer in module:
                fully_shard(layer, mesh=mesh)
    fully_shard(network, mesh=mesh)
    register_fsdp_forward_method(network, "loss")
    return _Loss(network)


def synchronising(module: nn.Module, wanted: bool) -> AbstractContextManager[None]:
    """Whether the next backward pass exchanges gradients; only the last micro-batch of a step does."""
    if isinstance(module, nn.parallel.DistributedDataParallel):
        return nullcontext() if wanted else module.no_sync()
    network = getattr(module, "network", module)
    if hasattr(network, "set_requires_gradient_sync"):
        network.set_requires_gradient_sync(wanted)  # type: ignore[operator]
    return nullcontext()


def whole(tensor: Tensor) -> Tensor:
    """A tensor that may be sharded over processes, put together."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def shard_like(value: Tensor, model: Tensor) -> Tensor:
    """`value` distributed as `model` is."""
    if not hasattr(model, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(model.device), model.device_mesh, model.placements)  # type: ignore[attr-defined]
