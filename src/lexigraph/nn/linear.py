"""y = x Wᵀ + b, for decoding on the CPU from weights that are laid out for it, or in 8 bits.

A search multiplies a few rows with every weight of the model, once per token, so that its time is the time to
read the weights. oneDNN reads them up to three times as fast from a blocked layout of its own. That copy is made
on first use in inference mode, which is where searches run, and made anew when the weight has changed (by anything
that torch counts as a change: an optimizer, `copy_`, loading; not by writing into `weight.data`).

In 8 bits (`quantise`), each row of W has a scale of its own, W = diag(s) W8, and x is rounded to 8 bits as it
comes, by its range: integers are multiplied, four times as many at once. The weights themselves stay as they are.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError

LARGE = 1 << 17  # weights; below, what oneDNN takes to begin is more than it saves
SMALL = 1 << 14  # and those that stay as they are in 8 bits: rounding would cost more than it saves
ROWS = 32  # the number of rows to lay out for; the layout serves any other as well
MANY = 4096  # outputs, as of a vocabulary: from here on oneDNN multiplies 8-bit integers faster than FBGEMM
REDUCED = not torch.cpu._is_vnni_supported()  # without such instructions sums of 8-bit products overflow: 7 bits
BLOCKED, PACKED = "_lexigraph_blocked", "_lexigraph_packed"  # attributes of a weight: (its version, its copy)


def linear(
    x: Float[Tensor, "*shape d"], weight: Float[Tensor, "k d"], bias: Float[Tensor, " k"] | None = None
) -> Float[Tensor, "*shape k"]:
    """x Wᵀ + b by the fastest way there is: as F.linear, but for rounding."""
    if torch.compiler.is_compiling() or torch.is_grad_enabled():
        return F.linear(x, weight, bias)
    if hasattr(weight, PACKED):
        return _by_integers(x, weight, bias)
    if not _blockable(x, weight):
        return F.linear(x, weight, bias)
    version = (weight._version, weight.data_ptr())
    known: Any = getattr(weight, BLOCKED, None)
    if known is None or known[0] != version:
        known = (version, torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS))
        setattr(weight, BLOCKED, known)
    return torch.ops.mkldnn._linear_pointwise(x, known[1], bias, "none", [], "")


def quantise(network: nn.Module) -> int:
    """Multiply with all but tiny matrices of a network in 8 bits, unless gradients are wanted; how many those are."""
    if not hasattr(torch, "quantize_per_channel") or not torch.backends.quantized.supported_engines:
        raise LexigraphError("This build of torch has no 8-bit products for the CPU.")
    matrices = [p for p in network.parameters() if p.dim() == 2 and p.numel() >= SMALL]
    for weight in matrices:
        setattr(weight, PACKED, (None, None))
    return len(matrices)


def _by_integers(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b with 8-bit weights, packed when they are first used."""
    known, rows = getattr(weight, PACKED)
    version = (weight._version, None if bias is None else bias._version)
    if known != version:
        rows = _packed(weight.detach(), bias)
        setattr(weight, PACKED, (version, rows))
    return torch.ops.quantized.linear_dynamic(x, rows, REDUCED)


def _packed(weight: Tensor, bias: Tensor | None) -> Any:
    scale = weight.abs().amax(1).clamp(min=1e-12) / 127
    zero = torch.zeros_like(scale, dtype=torch.long)
    engine, known = torch.backends.quantized.engine, torch.backends.quantized.supported_engines
    with warnings.catch_warnings():  # torch means to replace tensors of this kind one day
        warnings.simplefilter("ignore", UserWarning)
        rows = torch.quantize_per_channel(weight, scale.double(), zero, 0, torch.qint8)
    try:
        if len(weight) >= MANY and "onednn" in known:
            torch.backends.quantized.engine = "onednn"
        return torch.ops.quantized.linear_prepack(rows, bias)
    finally:
        torch.backends.quantized.engine = engine


def _blockable(x: Tensor, weight: Tensor) -> bool:
    return (
        torch.is_inference_mode_enabled()
        and x.dtype is weight.dtype is torch.float32
        and x.is_cpu
        and weight.numel() >= LARGE
        and x.numel() > 0
        and type(weight) is nn.Parameter  # not sharded
        and not weight.is_inference()  # such a tensor does not tell when it changes
        and not torch.is_autocast_enabled("cpu")
        and torch.backends.mkldnn.is_available()
    )


class OutputTable(nn.Linear):
    """From hidden states to the entries of a vocabulary or to a few classes: its rows are vectors of their own, like
    those of an embedding, and are trained like them (training/muon.py)."""


class Linear(nn.Linear):
    """nn.Linear that decodes faster on the CPU."""

    def forward(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape k"]:
        return linear(x, self.weight, self.bias)
