"""Layers of an encoder and of a decoder that looks at a memory (Vaswani et al. 2017, with the norm first).

    encoder   x = x + Attention(Norm(x));                                           x = x + FFN(Norm(x))
    decoder   x = x + Attention(Norm(x));  x = x + Attention(Norm(x), memory);      x = x + FFN(Norm(x))

Positions are added to x before the first layer, or queries and keys are turned by them (`rotation`).

Shapes: B batch, T time, S places of the memory, d width, H heads, D = d / H.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.attention import attend
from lexigraph.nn.feedforward import Activation, FeedForward
from lexigraph.nn.linear import Linear
from lexigraph.nn.positions import turn

KeyValue = tuple[Tensor, Tensor]  # (B, H, S, D) each


@dataclass(frozen=True)
class Shape:
    """What the layers of one stack have in common."""

    dim: int
    heads: int
    inner: int
    activation: Activation = "gelu"
    dropout: float = 0.0


class SelfAttention(nn.Module):
    """Every place looks at every other, as far as the mask allows."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.qkv = Linear(shape.dim, 3 * shape.dim)
        self.out = Linear(shape.dim, shape.dim)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        rotation: Tensor | None,
        mask: Bool[Tensor, "#B 1 #T T"] | None = None,
        past: KeyValue | None = None,
        time: int = 0,
    ) -> Float[Tensor, "B T d"]:
        """`past` is room for keys and values, filled up to `time`; the new ones are written behind."""
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if rotation is not None:
            q, k = turn(q, rotation), turn(k, rotation)
        if past is not None:
            for room, new in zip(past, (k, v), strict=True):
                room.narrow(2, time, length).copy_(new)
            k, v = (room.narrow(2, 0, time + length) for room in past)
        mixed = attend(q, k, v, mask=mask, dropout=self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).flatten(2))


class CrossAttention(nn.Module):
    """Every place looks at a memory, whose keys and values are computed once."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.query = Linear(shape.dim, shape.dim)
        self.key_value = Linear(shape.dim, 2 * shape.dim)
        self.out = Linear(shape.dim, shape.dim)

    def remember(self, memory: Float[Tensor, "B S d"]) -> KeyValue:
        """Keys and values of a memory."""
        batch, places, dim = memory.shape
        both = self.key_value(memory).view(batch, places, 2, self.heads, dim // self.heads)
        k, v = both.permute(2, 0, 3, 1, 4).unbind(0)
        return k, v

    def forward(self, x: Float[Tensor, "B T d"], memory: KeyValue) -> Float[Tensor, "B T d"]:
        batch, length, dim = x.shape
        q = self.query(x).view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
        mixed = attend(q, *memory, dropout=self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of an encoder, or (`memory`) of a decoder."""

    def __init__(self, shape: Shape, *, memory: bool = False) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.norm_attention = nn.LayerNorm(shape.dim)
        self.attention = SelfAttention(shape)
        if memory:
            self.norm_memory = nn.LayerNorm(shape.dim)
            self.memory = CrossAttention(shape)
        self.norm_feed_forward = nn.LayerNorm(shape.dim)
        self.feed_forward = FeedForward(shape.dim, shape.inner, shape.activation)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        rotation: Tensor | None = None,
        mask: Bool[Tensor, "#B 1 #T T"] | None = None,
        memory: Float[Tensor, "B S d"] | KeyValue | None = None,
        past: KeyValue | None = None,
        time: int = 0,
    ) -> Float[Tensor, "B T d"]:
        """`memory`: as it is, or (in a search) as what `remember` made of it."""
        x = x + self._drop(self.attention(self.norm_attention(x), rotation, mask, past, time))
        if isinstance(memory, Tensor):
            memory = self.memory.remember(memory)
        if memory is not None:
            x = x + self._drop(self._look(self.norm_memory(x), memory))
        return x + self._drop(self.feed_forward(self.norm_feed_forward(x)))

    def remember(self, memory: Float[Tensor, "B S d"]) -> KeyValue:
        """This layer's keys and values of a memory."""
        return self.memory.remember(memory)

    def _look(self, x: Float[Tensor, "B T d"], memory: KeyValue) -> Float[Tensor, "B T d"]:
        """In a search several rows share a memory: they look at it as so many places of one row."""
        sentences = len(memory[0])
        if len(x) == sentences:
            return self.memory(x, memory)
        return self.memory(x.view(sentences, -1, x.shape[-1]), memory).view(x.shape)

    def _drop(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x
