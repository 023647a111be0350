"""y = x Wᵀ + b, for decoding on the CPU from weights that are laid out for it, or in 8 bits.

A search multiplies a few rows with every weight of the model, once per token, so that its time is the time to
read the weights. oneDNN reads them up to three times as fast from a blocked layout of its own. That copy is made
on first use in inference mode, which is where searches run, and made anew when the weight has changed (by anything
that torch counts as a change: an optimizer, `copy_`, loading; not by writing into `weight.data`).

In 8 bits (`quantise`), each row of W has a scale of its own, W = diag(s) W8, and each row of x is rounded to 8 bits
as it comes, by its own range: integers are multiplied, four times as many at once. What becomes of a row does not
depend on the others of its batch. The weights themselves stay as they are.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError

LARGE = 1 << 17  # weights; below, what oneDNN takes to begin is more than it saves
SMALL = 1 << 14  # and those that stay as they are in 8 bits: rounding would cost more than it saves
ROWS = 32  # the number of rows to lay out for; the layout serves any other as well
MANY = 4096  # outputs, as of a vocabulary: from here on oneDNN multiplies even a single row faster than FBGEMM
REDUCED = not torch.cpu._is_vnni_supported()  # without such instructions sums of 8-bit products overflow: 7 bits
ONEDNN = "onednn" in torch.backends.quantized.supported_engines  # not on ARM
TOP = 127.0 if REDUCED else 255.0  # what numbers are rounded to: 0 … TOP
BLOCKED, PACKED = "_lexigraph_blocked", "_lexigraph_packed"  # attributes of a weight: (its version, its copy)


def linear(
    x: Float[Tensor, "*shape d"], weight: Float[Tensor, "k d"], bias: Float[Tensor, " k"] | None = None
) -> Float[Tensor, "*shape k"]:
    """x Wᵀ + b by the fastest way there is: as F.linear, but for rounding."""
    if torch.compiler.is_compiling() or torch.is_grad_enabled():
        return F.linear(x, weight, bias)
    if hasattr(weight, PACKED) and x.is_cpu:
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
    known, packed = getattr(weight, PACKED)
    version = (weight._version, None if bias is None else bias._version)
    if known != version:
        packed = _Packed(weight.detach(), None if bias is None else bias.detach())
        setattr(weight, PACKED, (version, packed))
    if len(weight) >= MANY:
        return packed.multiply_many(x)
    if x.numel() <= x.shape[-1]:  # torch rounds by the range of the whole tensor, which is the row's
        return torch.ops.quantized.linear_dynamic(x, packed.weights, REDUCED)
    return packed.multiply(x)


@dataclass
class _Packed:
    """W8 as torch multiplies with it, made when it is first used."""

    weight: Float[Tensor, "k d"]
    bias: Float[Tensor, " k"] | None

    def multiply(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape k"]:
        """Any number of rows, each rounded by its own range (alone it is rounded alike: nn/linear_kernel.py).

        They are rounded to 0 … TOP before torch does it: the range of the whole is then 0 … TOP, and torch's rounding
        changes nothing.
        """
        sums, bias = self._sums
        x = _plain(x)
        q, grid = torch.empty_like(x), np.empty((x.numel() // x.shape[-1], 2), np.float32)
        _kernels().round_rows(x.data_ptr(), x.shape[-1], TOP, q.data_ptr(), grid)
        y = torch.ops.quantized.linear_dynamic(q, self.weights, REDUCED)
        _kernels().scale_rows(y.data_ptr(), grid, sums, bias)
        return y

    def multiply_many(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape k"]:
        """The same for so many outputs that to scale them takes a good part of the time: with one zero for all rows,
        torch does it with all threads."""
        x = _plain(x)
        q, scales = torch.empty_like(x), x.new_empty(*x.shape[:-1], 1)
        _kernels().round_evenly(x.data_ptr(), x.shape[-1], TOP, q.data_ptr(), scales.view(-1).numpy())
        y = torch.ops.quantized.linear_dynamic(q, self.weights, REDUCED).mul_(scales)
        return y if self.bias is None else y.add_(self.bias)

    @cached_property
    def _scale(self) -> Float[Tensor, " k"]:
        return self.weight.abs().amax(1).clamp(min=1e-12) / 127

    @property
    def _integers(self) -> Tensor:
        zero = torch.zeros_like(self._scale, dtype=torch.long)
        with warnings.catch_warnings():  # torch means to replace tensors of this kind one day
            warnings.simplefilter("ignore", UserWarning)
            return torch.quantize_per_channel(self.weight, self._scale.double(), zero, 0, torch.qint8)

    @cached_property
    def weights(self) -> torch.ScriptObject:
        """W8 and the bias, laid out for the processor; instead of the bias of many outputs, what their zero adds."""
        engine, bias = torch.backends.quantized.engine, self.bias
        try:
            if len(self.weight) >= MANY:
                torch.backends.quantized.engine = "onednn" if ONEDNN else engine
                bias = torch.from_numpy(self._sums[0] * np.float32(-(TOP + 1) / 2))
            return torch.ops.quantized.linear_prepack(self._integers, bias)
        finally:
            torch.backends.quantized.engine = engine

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of W8's rows, and the bias."""
        bias = torch.zeros_like(self._scale) if self.bias is None else self.bias
        return (self._integers.int_repr().sum(1) * self._scale).numpy(), bias.numpy()


def _plain(x: Tensor) -> Tensor:
    """As kernels take it, which it nearly always is: asking costs less than calling for it."""
    return x if x.dtype is torch.float32 and x.is_contiguous() else x.float().contiguous()


@cache
def _kernels() -> Any:
    return importlib.import_module("lexigraph.nn.linear_kernel")  # when first used: Numba takes a while to load


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
