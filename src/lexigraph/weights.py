"""Tensors from and to safetensors: whole or by part, by name and shape; in full or in 8 bits.

load_run(network, run)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lexigraph import recipe as recipes
from lexigraph import upgrades
from lexigraph.checksums import of_arrays
from lexigraph.errors import LexigraphError
from lexigraph.run import Run

MODEL = "model.safetensors"
SCALE = ":scale"  # behind the name of a weight in 8 bits: what its groups are multiplied with
CHECKSUM = "crc32"  # the key of a file's metadata: that of all tensors with their names
GROUP = 128  # weights of a row that share a scale; a whole row, if it does not fall into such groups


ShardLike = Callable[[Tensor, Tensor], Tensor]  # cuts a tensor as another one is cut


def load_run(network: nn.Module, run: Run, may_lack: Collection[str] = ()) -> None:
    """The weights of a run; modules that it `may_lack` altogether stay as they are."""
    weights, own = run_weights(run), network.state_dict()
    lacking = {part for part in may_lack if not any(name.startswith(f"{part}.") for name in weights)}
    weights |= {name: value for name, value in own.items() if name.split(".")[0] in lacking}
    _fill(network, weights, run.path / MODEL)


def snapshot(folder: Path, epoch: float) -> Path:
    """Where a run keeps its weights as they were after so many epochs."""
    return folder / f"epoch-{epoch:g}.safetensors"


def snapshots(folder: Path) -> dict[float, Path]:
    """Those that a run has, by epoch."""
    found = {
        path: path.name.removeprefix("epoch-").removesuffix(".safetensors")
        for path in folder.glob("epoch-*.safetensors")
    }
    return dict(sorted((float(epoch), path) for path, epoch in found.items()))


def load_part(part: nn.Module, run: Run) -> None:
    """The weights of a run for a part of another network, which goes without the heads of the whole."""
    weights, own = run_weights(run), part.state_dict()
    _fill(part, {name: value for name, value in weights.items() if name in own}, run.path / MODEL)


def run_weights(run: Run) -> dict[str, Tensor]:
    """The tensors of a run in full, under today's names."""
    stored = read_tensors(run.path / MODEL)
    system = run.config()["system"]
    parts = {
        name: part["system"]
        for name, part in recipes.source(run.path / "recipe.toml").tables.get("parts", {}).items()
    }
    return expanded({upgrades.tensor_name(name, system, parts): tensor for name, tensor in stored.items()})


def load_weights(network: nn.Module, path: Path, shard_like: ShardLike = lambda value, like: value) -> None:
    """Weights from a safetensors file of this format. `shard_like` cuts those of sharded networks."""
    _fill(network, expanded(read_tensors(path)), path, shard_like)


def _fill(
    network: nn.Module, weights: dict[str, Tensor], path: Path, shard_like: ShardLike = lambda value, like: value
) -> None:
    """Copy weights into a network; names and shapes must fit exactly."""
    own = network.state_dict()
    if missing := sorted(own.keys() - weights.keys()):
        raise LexigraphError(f"{path} lacks weights of this system: {', '.join(missing[:3])} …")
    if foreign := sorted(weights.keys() - own.keys()):
        raise LexigraphError(f"{path} holds weights of another system: {', '.join(foreign[:3])} …")
    for name, value in own.items():
        if value.shape != weights[name].shape:
            raise LexigraphError(
                f"{path}: {name} has shape {tuple(weights[name].shape)}, the recipe asks for {tuple(value.shape)}."
            )
    refuse_not_finite(weights, path)
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(shard_like(weights[name].to(value.dtype), value))


def refuse_not_finite(weights: dict[str, Tensor], path: Path) -> None:
    """Refuse weights that no model can compute with, by the name of the first."""
    for name, value in weights.items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise LexigraphError(f"{path}: {name} holds values that are not numbers (NaN or infinite).")


def compacted(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights in a quarter of the space: matrices as whole numbers from -127 to 127 with a scale for each group of a
    row, so that one large weight makes few others coarse; the rest in 16 bits."""
    small: dict[str, Tensor] = {}
    for name, value in weights.items():
        if value.dim() < 2:
            small[name] = value.half()
            continue
        rows = value.float().flatten(1)
        groups = rows.unflatten(1, (-1, GROUP if rows.shape[1] % GROUP == 0 else rows.shape[1]))
        scale = (groups.abs().amax(2) / 127).clamp(min=1e-6).half()  # not 0: 16 bits end at 6e-8
        whole = (groups / scale.float().unsqueeze(2)).round().clamp(-127, 127)
        small[name], small[name + SCALE] = whole.to(torch.int8).view_as(value), scale
    return small


def expanded(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights as the network takes them, whether they were compacted or not."""
    full = {name: value for name, value in weights.items() if not name.endswith(SCALE)}
    for name, scale in weights.items():
        if name.endswith(SCALE):
            value = full[name.removesuffix(SCALE)]
            groups = value.float().flatten(1).unflatten(1, (scale.shape[1], -1))
            full[name.removesuffix(SCALE)] = (groups * scale.float().unsqueeze(2)).view(value.shape)
    return full


def read_tensors(path: Path) -> dict[str, Tensor]:
    """A safetensors file, or a sentence that says what is wrong with it."""
    try:
        tensors = load_file(path)
        with safe_open(path, "pt") as file:
            written = (file.metadata() or {}).get(CHECKSUM)
    except FileNotFoundError:
        raise LexigraphError(f"There is no {path}: the folder is incomplete.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise LexigraphError(f"{path} is damaged or truncated: {error}.") from None
    if written is not None and written != checksum_of(tensors):
        raise LexigraphError(f"{path} is damaged: its weights are not those that were written.")
    return tensors


def checksum_of(tensors: dict[str, Tensor]) -> str:
    """The checksum of tensors with their names, types and shapes."""
    return of_arrays(
        (f"{name} {value.dtype} {tuple(value.shape)}", value.contiguous().reshape(-1).view(torch.uint8).numpy())
        for name, value in sorted(tensors.items())
    )


def write_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """A safetensors file, for all whom the umask allows to read it; without other metadata, with its checksum."""
    try:
        metadata = metadata or {CHECKSUM: checksum_of(tensors)}
        save_file(tensors, path, metadata)
        path.chmod(0o666 & ~_umask())  # safetensors' own is for the owner alone
    except SafetensorError as error:  # the disk's own errors arrive in this wrapping
        raise OSError(str(error)) from None


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
