"""Checkpoints: all that a run needs to go on as if it had never stopped.

    checkpoints/step-00000500/   weights.safetensors  optimizer.safetensors  average.safetensors
                                 random.safetensors   carry.safetensors      state.json

A checkpoint appears by one rename, after its files are on the disk; the one before it is removed afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor, nn

from lexigraph.checksums import checksums, of_arrays, refuse_changed
from lexigraph.errors import LexigraphError
from lexigraph.objectives.terms import Carry
from lexigraph.run import remove, replacing
from lexigraph.stored import table_in
from lexigraph.training.distribution import World, shard_like, whole
from lexigraph.weights import load_weights, read_tensors, write_tensors

AVERAGE = "average.safetensors"


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    best: float | None = None  # the best validation so far
    best_step: int = 0  # whose weights are kept: without validation, those of the latest look
    worse: int = 0  # validations since
    seconds: float = 0.0  # spent training
    scaler: dict[str, float] | None = None  # of fp16
    unvalidated: bool = False  # stopped in the validation of this step, which is still to be done


def save_weights(network: nn.Module, path: Path, world: World) -> None:
    """The weights in one safetensors file, written by the first process."""
    weights = _whole_weights(network)
    if world.first:
        with replacing(path) as temporary:
            write_tensors(weights, temporary)


def _whole_weights(network: nn.Module) -> dict[str, Tensor]:
    return {name: whole(value).detach().cpu().contiguous() for name, value in network.state_dict().items()}


def latest(folder: Path) -> Path | None:
    """The newest whole checkpoint."""
    found = (path for path in folder.glob("step-*") if path.name.removeprefix("step-").isdecimal())
    return max(found, default=None)


def save(
    folder: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    carries: list[Carry | None],
    progress: Progress,
    world: World,
    average: Mapping[str, Tensor] = MappingProxyType({}),
    together: Callable[[Mapping[str, Tensor]], dict[str, Tensor]] = dict,
) -> None:
    """Write a checkpoint of this step and remove older ones. All processes take part, the first one writes.

    together: gives the first process what all have, where each has moments and averages of some weights alone.
    """
    weights = _whole_weights(network)
    moments = together(
        {
            f"{key}:{name}": whole(value).detach().cpu().contiguous()
            for name, parameter in network.named_parameters()
            for key, value in optimizer.state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }
    )
    averaged = together({name: whole(value).cpu().contiguous() for name, value in average.items()})
    random = {
        f"{kind}:{rank}": state
        for kind, own in random_states(world.device).items()
        for rank, state in enumerate(world.gathered(own))
    }
    carry = {
        f"{micro}:{name}:{rank}": part.clone()
        for micro, own in enumerate(carries)
        if own is not None
        for name, value in own.items()
        for rank, part in enumerate(world.gathered(value.cpu().contiguous()))
    }
    if world.first:
        folder.mkdir(exist_ok=True)
        with replacing(folder / f"step-{progress.step:08d}") as temporary:
            temporary.mkdir()
            write_tensors(weights, temporary / "weights.safetensors")
            write_tensors(moments, temporary / "optimizer.safetensors")
            if averaged:
                write_tensors(averaged, temporary / AVERAGE)
            write_tensors(random, temporary / "random.safetensors")
            write_tensors(carry, temporary / "carry.safetensors")
            state = {"world": world.size, **asdict(progress), "files": checksums(temporary.iterdir())}
            (temporary / "state.json").write_text(json.dumps(state | {"checksum": _checksum(state)}))
        _remove_all_but(folder, progress.step)
    world.barrier()


def _remove_all_but(folder: Path, step: int) -> None:
    for path in folder.glob("step-*"):
        if path.name != f"step-{step:08d}":
            remove(path)


def restore(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    micro_batches: int,
    world: World,
    average: Mapping[str, Tensor] = MappingProxyType({}),
) -> tuple[Progress, list[Carry | None]]:
    """Put everything back as it was at the checkpoint; an average that it has not begins with its weights."""
    processes, files, progress = _state(path / "state.json")
    world.decided(lambda: _refuse_changed_files(path, files))
    if processes != world.size:
        raise LexigraphError(
            f"{path} was written by {processes} processes and can only be resumed by as many, not by {world.size}."
        )
    load_weights(network, path / "weights.safetensors", shard_like)
    moments = read_tensors(path / "optimizer.safetensors")
    parameters = dict(network.named_parameters())
    for key, value in moments.items():
        kind, name = key.split(":", 1)
        parameter = parameters[name]
        if not parameter.requires_grad:  # another stage's
            continue
        if kind != "step":
            value = laid_out_like(shard_like(value.to(parameter.device), parameter), parameter)
        elif optimizer.defaults.get("fused"):
            value = value.to(parameter.device)
        optimizer.state[parameter][kind] = value
    written = read_tensors(path / AVERAGE) if average and (path / AVERAGE).exists() else {}
    for name, own in average.items():
        now = parameters[name].detach()
        own.copy_(shard_like(written[name].to(own.device), now) if written else now)
    random = read_tensors(path / "random.safetensors")
    states = {kind: random[f"{kind}:{world.rank}"] for kind in random_states(world.device)}
    set_random_states(states, world.device)
    carries: list[Carry | None] = [None] * micro_batches
    for key, value in read_tensors(path / "carry.safetensors").items():
        micro, name, rank = key.split(":")
        if int(rank) == world.rank:
            carry = carries[int(micro)] or {}
            carries[int(micro)] = carry | {name: value.to(world.device)}
    return progress, carries


def verify(path: Path) -> None:
    """Refuse a checkpoint that is not what was written."""
    _refuse_changed_files(path, _state(path / "state.json")[1])


def _refuse_changed_files(path: Path, files: Mapping[str, tuple[int, int]]) -> None:
    """Refuse a folder of which a file has not the length and checksum that it was written with."""
    for name, written in files.items():
        refuse_changed(path / name, written)


def _state(path: Path) -> tuple[int, dict[str, tuple[int, int]], Progress]:
    """How many processes wrote a checkpoint, the checksums of its files (older ones have none), and its progress."""
    try:
        state = table_in(path)
        if (written := state.pop("checksum", None)) and written != _checksum(state):
            raise ValueError("it is not what was written")
        for name in ("world", "step", "best_step", "worse", "seconds"):
            if isinstance(state.get(name, 0), bool) or not isinstance(state.get(name, 0), int | float):
                raise ValueError(f"{name} is no number")
        files = {str(name): (int(length), int(found)) for name, (length, found) in state.pop("files", {}).items()}
        return int(state.pop("world")), files, Progress(**state)
    except (LexigraphError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LexigraphError(
            f"The checkpoint {path} is damaged: {error}. Without {path.parent}, training begins at step 1 again."
        ) from None


def _checksum(state: dict[str, object]) -> str:
    return of_arrays([(json.dumps(state, sort_keys=True), b"")])


def laid_out_like(value: Tensor, parameter: Tensor) -> Tensor:
    """`value` in memory as the parameter is: fused optimizers ask for that, and convolutions keep channels last."""
    if value.stride() == parameter.stride() or value.shape != parameter.shape:
        return value
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def set_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Go on drawing random numbers from where they were."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    if device.type == "mps":
        torch.mps.set_rng_state(states["mps"])


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Where random numbers are drawn from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states
