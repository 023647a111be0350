"""y = x Wᵀ + b, for decoding on the CPU from weights that are laid out for it.

A search multiplies a few rows with every weight of the model, once per token, so that its time is the time to
read the weights. oneDNN reads them up to three times as fast from a blocked layout of its own. That copy is made
on first use in inference mode, which is where searches run, and made anew when the weight has changed (by anything
that torch counts as a change: an optimizer, `copy_`, loading; not by writing into `weight.data`).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.weak import WeakTensorKeyDictionary

LARGE = 1 << 17  # weights; below, what oneDNN takes to begin is more than it saves
ROWS = 32  # the number of rows to lay out for; the layout serves any other as well
_blocked = WeakTensorKeyDictionary()  # weight → (its version, its copy); gone with the weight


def linear(
    x: Float[Tensor, "*shape d"], weight: Float[Tensor, "k d"], bias: Float[Tensor, " k"] | None = None
) -> Float[Tensor, "*shape k"]:
    """x Wᵀ + b by the fastest way there is: as F.linear, but for rounding."""
    if not _blockable(x, weight):
        return F.linear(x, weight, bias)
    version = (weight._version, weight.data_ptr())
    known = _blocked.get(weight)
    if known is None or known[0] != version:
        known = (version, torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS))
        _blocked[weight] = known
    return torch.ops.mkldnn._linear_pointwise(x, known[1], bias, "none", [], "")


def _blockable(x: Tensor, weight: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # first: a compiler cannot see through what follows
        and torch.is_inference_mode_enabled()
        and x.dtype is weight.dtype is torch.float32
        and x.is_cpu
        and weight.numel() >= LARGE
        and x.numel() > 0
        and type(weight) is nn.Parameter  # not sharded
        and not weight.is_inference()  # such a tensor does not tell when it changes
        and not torch.is_autocast_enabled("cpu")
        and torch.backends.mkldnn.is_available()
    )


class Linear(nn.Linear):
    """nn.Linear that decodes faster on the CPU."""

    def forward(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape k"]:
        return linear(x, self.weight, self.bias)
