"""The layers that every transformer here is made of (Vaswani et al. 2017, and what came after).

    encoder     x = x + Attention(x);                               x = x + FFN(x)
    decoder     x = x + Attention(x);  x = x + Attention(x, memory);  x = x + FFN(x)

    pre-norm    x = x + f(Norm(x))          post-norm    x = Norm(x + f(x))

Masks are data: true where a query may look, or numbers that are added to the scores (-inf: never); nn/attention.py
makes them. Positions are added to x before the first layer, turn queries and keys (`rotation`), or are part of the
mask (T5).

Shapes: B batch, T time, S positions of the memory, d width, H heads, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.attention import Mask, attend, attend_explicitly
from lexigraph.nn.cache import KeyValue, KeyValueCache, Memory
from lexigraph.nn.feedforward import Activation, FeedForward
from lexigraph.nn.linear import Linear
from lexigraph.nn.positions import turn


@dataclass(frozen=True)
class Shape:
    """What the layers of one stack have in common."""

    dim: int
    heads: int
    inner: int
    activation: Activation = "gelu"
    dropout: float = 0.0
    norm: Literal["pre", "post"] = "pre"
    normed_by: Literal["layer", "rms"] = "layer"  # (x - mean) / deviation, or x / root mean square
    eps: float = 1e-5  # in norms
    bias: bool = True  # in linear layers and norms
    gated: bool = False  # FFN(x) = (f(x W) * x V) U
    head: int = 0  # width of a head; 0: dim / heads
    scaled: bool = True  # scores are divided by the root of a head's width

    def __post_init__(self) -> None:
        if not self.head and self.dim % self.heads:
            raise LexigraphError(f"model.dim = {self.dim} must be a multiple of model.heads = {self.heads}.")

    @property
    def width(self) -> int:
        """Of a head."""
        return self.head or self.dim // self.heads

    def make_norm(self) -> nn.Module:
        if self.normed_by == "rms":
            return nn.RMSNorm(self.dim, self.eps)
        return nn.LayerNorm(self.dim, self.eps, bias=self.bias)


class _Attention(nn.Module):
    """What looking around oneself and looking at a memory share: heads, scores and the way out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.width, self.dropout = shape.heads, shape.width, shape.dropout
        self.scale = None if shape.scaled else 1.0

    def _split(self, x: Float[Tensor, "B T k"], parts: int) -> tuple[Tensor, ...]:
        """Queries, keys or values that stand side by side, each as (B, H, T, D)."""
        return x.view(*x.shape[:2], parts, self.heads, self.width).permute(2, 0, 3, 1, 4).unbind(0)

    def _mix(
        self, q: Tensor, k: Tensor, v: Tensor, causal: bool, mask: Mask | None, weights: list[Tensor] | None
    ) -> Float[Tensor, "B T k"]:
        if weights is None:
            dropout = self.dropout if self.training else 0.0
            mixed = attend(q, k, v, causal=causal, mask=mask, dropout=dropout, scale=self.scale)
        else:
            mixed, seen = attend_explicitly(q, k, v, causal=causal, mask=mask, scale=self.scale)
            weights.append(seen)
        return mixed.transpose(1, 2).flatten(2)


class SelfAttention(_Attention):
    """Every position looks at every other, as far as the mask allows."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        all_heads = shape.heads * shape.width
        self.qkv = Linear(shape.dim, 3 * all_heads, bias=shape.bias)
        self.out = Linear(all_heads, shape.dim, bias=shape.bias)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        rotation: Tensor | None = None,
        mask: Mask | None = None,
        causal: bool = False,
        cache: KeyValue | KeyValueCache | None = None,
        time: int = 0,
        weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """`cache` is storage for keys and values, filled up to `time`: the new ones are written behind."""
        if isinstance(cache, KeyValueCache):
            new = self.qkv(x).view(len(x), 3, self.heads, self.width)
            mixed = cache.attend(new, time, rotation=rotation, bias=mask, scale=self.scale, weights=weights)
            return self.out(mixed.flatten(1).unsqueeze(1))
        q, k, v = self._split(self.qkv(x), 3)
        if rotation is not None:
            q, k = turn(q, rotation), turn(k, rotation)
        if cache is not None:
            length = x.shape[1]
            for storage, new in zip(cache, (k, v), strict=True):
                storage.narrow(2, time, length).copy_(new)
            k, v = (storage.narrow(2, 0, time + length) for storage in cache)
        return self.out(self._mix(q, k, v, causal, mask, weights))


class CrossAttention(_Attention):
    """Every position looks at a memory: as it is, or (in a search) as keys and values that were computed once."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        all_heads = shape.heads * shape.width
        self.query = Linear(shape.dim, all_heads, bias=shape.bias)
        self.key_value = Linear(shape.dim, 2 * all_heads, bias=shape.bias)
        self.out = Linear(all_heads, shape.dim, bias=shape.bias)

    def keys_values(self, memory: Float[Tensor, "B S d"]) -> Float[Tensor, "B 2 S H D"]:
        """Keys and values of a memory."""
        return self.key_value(memory).unflatten(2, (2, self.heads, self.width)).transpose(1, 2).contiguous()

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        memory: Float[Tensor, "B S d"] | Memory,
        mask: Mask | None = None,
        weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T d"]:
        if isinstance(memory, Memory):
            queries = self.query(x).view(len(x), 1, self.heads, self.width)
            return self.out(memory.attend(queries, scale=self.scale, weights=weights).flatten(1).unsqueeze(1))
        (q,) = self._split(self.query(x), 1)
        k, v = self._split(self.key_value(memory), 2)
        return self.out(self._mix(q, k, v, False, mask, weights))


class Layer(nn.Module):
    """A layer of an encoder, or (`memory`) of a decoder."""

    def __init__(self, shape: Shape, *, memory: bool = False) -> None:
        super().__init__()
        self.dropout, self.pre = shape.dropout, shape.norm == "pre"
        self.norm_attention = shape.make_norm()
        self.attention = SelfAttention(shape)
        if memory:
            self.norm_memory = shape.make_norm()
            self.memory = CrossAttention(shape)
        self.norm_feed_forward = shape.make_norm()
        self.feed_forward = FeedForward(shape.dim, shape.inner, shape.activation, shape.bias, shape.gated)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        rotation: Tensor | None = None,
        mask: Mask | None = None,
        memory: Float[Tensor, "B S d"] | Memory | None = None,
        *,
        memory_mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValue | KeyValueCache | None = None,
        time: int = 0,
        weights: list[Tensor] | None = None,
        memory_weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """`memory`: as it is, or (in a search) as its keys and values, and then without a mask. `weights`
        collects attention weights, which are then computed in the open."""
        near = self.norm_attention(x) if self.pre else x
        x = x + self._drop(self.attention(near, rotation, mask, causal, cache, time, weights))
        x = x if self.pre else self.norm_attention(x)
        if memory is not None:
            near = self.norm_memory(x) if self.pre else x
            x = x + self._drop(self.memory(near, memory, memory_mask, memory_weights))
            x = x if self.pre else self.norm_memory(x)
        near = self.norm_feed_forward(x) if self.pre else x
        x = x + self._drop(self.feed_forward(near))
        return x if self.pre else self.norm_feed_forward(x)

    def _drop(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x  # decoding feels each call
