"""Where tensors live."""

from __future__ import annotations

import torch

from lexigraph.errors import UsageError


def choose_device(name: str = "auto", local_rank: int = 0) -> torch.device:
    """The device by name; `auto` takes CUDA, then MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", local_rank)
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"There is no device named {name!r}; try auto, cpu, cuda or mps.") from None
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device.type, False):
        raise UsageError(f"The device {name!r} was asked for, but there is none here; try auto.")
    return torch.device("cuda", local_rank) if name == "cuda" else device
