"""Attention by distance: Transformer-XL's (Dai et al. 2019), with XLNet's bias for segments (Yang et al. 2019).

    score(i, j) = ((q_i + u)·k_j  +  (q_i + v)·W R[i - j]  +  (q_i + s)·e[other(i, j)]) / √D

    R[δ] = (sin δω_1, …, sin δω_{d/2}, cos δω_1, …, cos δω_{d/2}),  ω_m = 10000^(-2(m-1)/d),  δ of either sign
    u, v, s: what a query always looks for, by content, by distance and by segment; other: 1 if the segments differ

Distance alone matters, so that states of earlier text can be remembered and looked at as they are. The products
(q_i + v)·W R[δ] are made once for every distance δ, from far to near, and then brought to their keys: row i of the
scores is that row of the products moved by i positions (`shift`).

Shapes: B batch, H heads, T queries, S keys, N distances, d width, D width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.attention import attend
from lexigraph.nn.feedforward import FeedForward
from lexigraph.nn.linear import Linear
from lexigraph.nn.stepper import State
from lexigraph.nn.transformer import KeyValue, Shape


def distances(far: int, count: int, dim: int, device: torch.device | None = None) -> Float[Tensor, "N d"]:
    """R of the distances far, far - 1, …: `count` of them.

    >>> R = distances(1, 2, 4)  # ω = 1, 1/100
    >>> [[round(number, 2) for number in row] for row in R.tolist()]
    [[0.84, 0.01, 0.54, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    frequency = 10000.0 ** (-torch.arange(0, dim, 2, device=device).float() / dim)
    angles = torch.arange(far, far - count, -1, device=device).float()[:, None] * frequency
    return torch.cat([angles.sin(), angles.cos()], 1)


def shift(products: Float[Tensor, "B H T N"], keys: int) -> Float[Tensor, "B H T S"]:
    """Products with the distances first + T, first + T - 1, … as scores of keys 0 … S - 1, for queries at the
    positions first, first + 1, …: entry (i, j) is the product at column T - i + j.

    N = S + T; or, where no query sees what is behind it, S + 1: what it would see there is then any number.
    """
    queries = products.shape[2]
    return products.flatten(2)[..., queries:].unflatten(2, (queries, -1))[..., :keys]


def pick(products: Float[Tensor, "B H T N"], positions: Int[Tensor, "B T"], keys: int) -> Float[Tensor, "B H T S"]:
    """The same for queries at any positions, from products with the distances S, S - 1, …"""
    columns = keys - positions[:, :, None] + torch.arange(keys, device=positions.device)
    return products.gather(3, columns[:, None].expand(-1, products.shape[1], -1, -1))


@dataclass(frozen=True)
class Visibility:
    """Which keys each query may see, which are of another segment, and where the queries stand."""

    mask: Bool[Tensor, "#B 1 #T S"] | None = None
    other: Bool[Tensor, "B T S"] | None = None
    positions: Int[Tensor, "B T"] | None = None  # none: one behind the other, as `shift` wants them


@dataclass(frozen=True)
class RelativeState(State):
    """Keys and values of contents so far. Rows are padded on the left, so that all of them grow at one end.

    rows: `cache` (R, L, 2, H, time, D), `pads` (R): empty positions on the left
    """

    relative_positions: Float[Tensor, "L H N D"] = field(
        default_factory=lambda: torch.empty(0, 0, 0, 0)
    )  # distances N - 1 … 0, measured by every layer


BIASES = ("by_content", "by_distance", "by_segment")  # u, v and s: one vector a head, added to every query


class RelativeAttention(nn.Module):
    """Queries look at keys by what these are, how far away, and (`segments`) whether of the same segment."""

    def __init__(self, shape: Shape, *, segments: bool = False) -> None:
        super().__init__()
        self.heads, self.width, self.dropout = shape.heads, shape.width, shape.dropout
        all_heads = shape.heads * shape.width
        self.query = Linear(shape.dim, all_heads, bias=False)
        self.key_value = Linear(shape.dim, 2 * all_heads, bias=False)
        self.distance = Linear(shape.dim, all_heads, bias=False)
        self.out = Linear(all_heads, shape.dim, bias=False)
        self.by_content = nn.Parameter(torch.zeros(shape.heads, 1, shape.width))
        self.by_distance = nn.Parameter(torch.zeros(shape.heads, 1, shape.width))
        if segments:
            self.by_segment = nn.Parameter(torch.zeros(shape.heads, 1, shape.width))
            self.segment = nn.Parameter(torch.zeros(shape.heads, 2, shape.width))  # the same, another

    def keys_values(self, x: Float[Tensor, "B S d"]) -> KeyValue:
        """Keys and values of contents."""
        k, v = self.key_value(x).view(*x.shape[:2], 2, self.heads, self.width).permute(2, 0, 3, 1, 4).unbind(0)
        return k, v

    def measure(self, table: Float[Tensor, "N d"]) -> Float[Tensor, "H N D"]:
        """W R of a table of distances."""
        return self.distance(table).view(-1, self.heads, self.width).transpose(0, 1)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        seen: KeyValue,
        relative_positions: Float[Tensor, "H N D"],
        visibility: Visibility,
    ) -> Float[Tensor, "B T d"]:
        """What the queries x see of keys and values; `relative_positions` are W R, from far to near."""
        q = self.query(x).view(*x.shape[:2], self.heads, self.width).transpose(1, 2)
        keys = seen[0].shape[2]
        products = (q + self.by_distance) @ relative_positions.transpose(1, 2)
        scores = shift(products, keys) if visibility.positions is None else pick(products, visibility.positions, keys)
        if visibility.other is not None:
            same, another = ((q + self.by_segment) @ self.segment.transpose(1, 2)).unbind(3)
            scores = scores + torch.where(visibility.other[:, None], another[..., None], same[..., None])
        scores = scores * self.width**-0.5
        if visibility.mask is not None:
            scores = scores.masked_fill(~visibility.mask, float("-inf"))
        dropout = self.dropout if self.training else 0.0
        mixed = attend(q + self.by_content, *seen, mask=scores, dropout=dropout)
        return self.out(mixed.transpose(1, 2).flatten(2))


class RelativeLayer(nn.Module):
    """x = Norm(x + Attention(x, contents));  x = Norm(x + FFN(x)): for contents, and for queries beside them.

    Or, pre-norm, x = x + Attention(Norm(x), Norm(contents));  x = x + FFN(Norm(x)).
    """

    def __init__(self, shape: Shape, *, segments: bool = False) -> None:
        super().__init__()
        self.dropout, self.pre = shape.dropout, shape.norm == "pre"
        self.attention = RelativeAttention(shape, segments=segments)
        self.norm_attention = shape.make_norm()
        self.feed_forward = FeedForward(shape.dim, shape.inner, shape.activation)
        self.norm_feed_forward = shape.make_norm()

    def forward(
        self,
        contents: Float[Tensor, "B T d"],
        memory: Float[Tensor, "B M d"] | None,
        table: Float[Tensor, "N d"],
        streams: Sequence[tuple[Float[Tensor, "B _ d"], Visibility]],
    ) -> list[Float[Tensor, "B _ d"]]:
        """Each stream after visibility at the memory and the contents; the contents are a stream like others."""
        seen = self.keys_values(contents if memory is None else torch.cat([memory, contents], 1))
        relative_positions = self.attention.measure(table)
        return [self.through(x, seen, relative_positions, visibility) for x, visibility in streams]

    def keys_values(self, contents: Float[Tensor, "B S d"]) -> KeyValue:
        """Keys and values of contents, as the layer finds them."""
        return self.attention.keys_values(self.norm_attention(contents) if self.pre else contents)

    def through(
        self,
        x: Float[Tensor, "B T d"],
        seen: KeyValue,
        relative_positions: Float[Tensor, "H N D"],
        visibility: Visibility,
    ) -> Float[Tensor, "B T d"]:
        """One stream, keys and distances given."""
        if self.pre:
            x = x + self._drop(self.attention(self.norm_attention(x), seen, relative_positions, visibility))
            return x + self._drop(self.feed_forward(self.norm_feed_forward(x)))
        x = self.norm_attention(x + self._drop(self.attention(x, seen, relative_positions, visibility)))
        return self.norm_feed_forward(x + self._drop(self.feed_forward(x)))

    def _drop(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x  # decoding feels each call
