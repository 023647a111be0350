"""Scaled dot-product attention, by a fused kernel or in the open.

    attention(Q, K, V) = softmax(Q Kᵀ / √d_k + mask) V          d_k: the size of one head's key

Fused kernels never store the T × S weights: they work through them in tiles of 64 positions or more. A short sentence
leaves most of a tile empty, and its weights are small: there plain products are as fast on a GPU. Long texts that
only look back are cuDNN's, where a GPU has it.

Shapes: B batch, H heads, T queries, S keys, D head size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.hooks import RemovableHandle

SHORT = 64  # positions; up to here the weights fill no tile of a GPU's fused kernels
LONG = 512  # from here on cuDNN's kernel is worth choosing one for each shape, which takes it a while

ALL = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]

# Where a query may look: true, or a number that is added to its score (-inf where it may not).
Mask = Bool[Tensor, "#B #H #T _"] | Float[Tensor, "#B #H #T _"]


def attend(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    *,
    causal: bool = False,
    mask: Mask | None = None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Float[Tensor, "B H T D"]:
    """Attention by the kernel that suits. `causal` needs no mask; `scale` stands instead of 1 / √D."""
    if _watchers:
        mixed, weights = attend_explicitly(q, k, v, causal=causal, mask=mask, scale=scale)
        _watchers[-1].add(weights)
        return mixed
    if q.is_cuda and k.shape[2] <= SHORT:
        return attend_explicitly(q, k, v, causal=causal, mask=mask, dropout=dropout, scale=scale)[0]
    if mask is not None and mask.is_floating_point():
        mask = mask.to(q.dtype)
    with sdpa_kernel(ALL) if q.is_cuda and causal and k.shape[2] >= LONG else nullcontext():
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, dropout_p=dropout, scale=scale
        )


def attend_explicitly(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    *,
    causal: bool = False,
    mask: Mask | None = None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T S"]]:
    """The same attention step by step, with its weights: for looking inside, and as the reference."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = before(scores.shape[-2], q.device)
    if mask is not None:
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, float("-inf"))
    weights = F.dropout(scores.softmax(-1), dropout)
    return weights @ v, weights


class Watcher:
    """Weights of attention by the name of the module that looked; several, where one looks several times."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Float[Tensor, "B H T S"]]] = []
        self.inside: list[str] = []  # the modules that are at work, the innermost last

    def add(self, weights: Float[Tensor, "B H T S"]) -> None:
        """Note what the module at work looks at."""
        self.found.append((self.inside[-1], weights.detach()))


_watchers: list[Watcher] = []


def watching() -> bool:
    """Whether all attention has to be computed by `attend`, which shows its weights."""
    return bool(_watchers)


@contextmanager
def watched(network: nn.Module) -> Iterator[Watcher]:
    """In the block, all attention is computed in the open, and its weights are kept; dropout is off."""
    watcher = Watcher()
    hooks: list[RemovableHandle] = []

    def leave(*_: object) -> None:
        watcher.inside.pop()

    for name, module in network.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda *_, name=name: watcher.inside.append(name)))
        hooks.append(module.register_forward_hook(leave))
    _watchers.append(watcher)
    try:
        yield watcher
    finally:
        _watchers.remove(watcher)
        for hook in hooks:
            hook.remove()


def before(length: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 T T"]:
    """Every position may look at itself and those before it."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def within(lengths: Int[Tensor, " B"], longest: int) -> Bool[Tensor, "B 1 1 S"]:
    """All may look at the tokens of their row, and none at its padding on the right."""
    return (torch.arange(longest, device=lengths.device) < lengths[:, None])[:, None, None]


def prefix(lengths: Int[Tensor, " B"], longest: int) -> Bool[Tensor, "B 1 T T"]:
    """All may look at the first so many tokens of their row, and beyond those only back."""
    return before(longest, lengths.device) | within(lengths, longest)
