"""Scaled dot-product attention, by a fused kernel or in the open.

    attention(Q, K, V) = softmax(Q Kᵀ / √d_k + mask) V          d_k: the size of one head's key

Fused kernels never store the T × S weights: they work through them in tiles of 64 places or more. A short sentence
leaves most of a tile empty, and its weights are small: there plain products are as fast on a GPU.

Shapes: B batch, H heads, T queries, S keys, D head size.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

SHORT = 64  # places; up to here the weights fill no tile of a GPU's fused kernels

# With a mask, cuDNN's gradient is NaN as soon as a hidden score is far above the seen ones (met with torch 2.11).
torch.backends.cuda.enable_cudnn_sdp(False)


def attend(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    *,
    causal: bool = False,
    mask: Bool[Tensor, "#B #H #T S"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T D"]:
    """Attention by the kernel that suits. `mask` is true where a query may look; `causal` needs no mask."""
    if q.is_cuda and k.shape[2] <= SHORT:
        return attend_explicitly(q, k, v, causal=causal, mask=mask, dropout=dropout)[0]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, dropout_p=dropout)


def attend_explicitly(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H S D"],
    v: Float[Tensor, "B H S D"],
    *,
    causal: bool = False,
    mask: Bool[Tensor, "#B #H #T S"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T S"]]:
    """The same attention step by step, with its weights: for looking inside, and as the reference."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.dropout(scores.softmax(-1), dropout)
    return weights @ v, weights
