"""Attention in a window that slides along the text, with a few global positions (Longformer: Beltagy et al. 2020).

    position i attends to       i + δ j,  -back ≤ j ≤ ahead             δ: the dilation of the head, 1 without
                                and to every global position
    a global position attends   to all, with queries, keys and values of their own; and all attend to it

Time and memory grow with the length of the text, not with its square. On the CPU tiles of 64 queries are multiplied
with the keys that one of them sees; the weights of a tile are gone when its sums are made, and the way back makes
them again from the logarithm of their sum (Dao et al. 2022). With dilation δ the positions i, i + δ, i + 2δ … are a
text of their own, in which the window has no gaps. On CUDA long texts are flex_attention's.

`attend_in_window` is tested equal to full attention with the mask `visible`, which is also the way to look inside.

Shapes: B batch, T time, G global positions of a text, d width, H heads, D width of a head; in tiles N texts, one for
each row, head and remainder of its positions by δ, t positions of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.attention import attend, attend_explicitly, watching
from lexigraph.nn.feedforward import FeedForward
from lexigraph.nn.linear import Linear
from lexigraph.nn.positions import turn
from lexigraph.nn.transformer import Shape

TILE = 64  # queries; larger ones make more products that no query needs
FLEX = 1024  # positions; from here on a block of flex_attention can be empty, which is what it saves
FLEX_WIDTHS = (16, 32, 64, 128)  # of a head, that its kernels are made for


@dataclass(frozen=True)
class Window:
    """How far each position sees."""

    back: int
    ahead: int
    dilations: tuple[int, ...]  # of each head

    @property
    def reach(self) -> int:
        """The furthest that a head looks back."""
        return self.back * max(self.dilations)

    def holds(self, offset: Tensor, dilation: Tensor) -> Tensor:
        """Whether a head with that dilation sees a key so far behind its query; ahead of it is less than 0."""
        return (offset % dilation == 0) & (offset <= self.back * dilation) & (offset >= -self.ahead * dilation)


@dataclass(frozen=True)
class Globals:
    """The global positions of every text; `present`: which of them are, where texts have different numbers."""

    index: Int[Tensor, "B G"]
    present: Bool[Tensor, "B G"]

    @classmethod
    def first(cls, x: Float[Tensor, "B T d"]) -> Globals:
        """The first position of each."""
        index = torch.zeros(len(x), 1, dtype=torch.long, device=x.device)
        return cls(index, index == 0)

    @classmethod
    def of(cls, chosen: Bool[Tensor, "B T"]) -> Globals | None:
        """Those that are true; None, if none is."""
        counts = chosen.sum(1)
        most = int(counts.max())
        if not most:
            return None
        index = chosen.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        return cls(index, torch.arange(most, device=chosen.device) < counts[:, None])

    def mask(self, length: int) -> Bool[Tensor, "B T"]:
        """True at the global positions of texts of that length."""
        return self.present.new_zeros(len(self.index), length).scatter(1, self.index, self.present)

    def pick(self, values: Float[Tensor, "B T *rest"]) -> Float[Tensor, "B G *rest"]:
        """What stands there."""
        return values[self._rows, self.index]

    def put(self, values: Float[Tensor, "B T *rest"], new: Float[Tensor, "B G *rest"]) -> Float[Tensor, "B T *rest"]:
        """The values with new ones there."""
        here = self.present.view(*self.present.shape, *[1] * (new.dim() - 2))
        return values.index_put((self._rows, self.index), new.where(here, self.pick(values)))

    @property
    def _rows(self) -> Int[Tensor, "B 1"]:
        return torch.arange(len(self.index), device=self.index.device)[:, None]


def visible(
    window: Window, length: int, inside: Bool[Tensor, "B T"] | None, far: Globals | None, device: torch.device
) -> Bool[Tensor, "#B H T T"]:
    """Who sees whom, but for what global positions see: they see all."""
    positions = torch.arange(length, device=device)
    dilations = torch.tensor(window.dilations, device=device)[:, None, None]
    seen = window.holds(positions[:, None] - positions, dilations)[None]
    if far is not None:
        seen = seen | far.mask(length)[:, None, None]
    return seen if inside is None else seen & inside[:, None, None]


def attend_in_window(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H T D"],
    v: Float[Tensor, "B H T D"],
    window: Window,
    *,
    inside: Bool[Tensor, "B T"] | None = None,
    far: Globals | None = None,
) -> Float[Tensor, "B H T D"]:
    """Every query attends to the keys in its window and to those at global positions; `inside`: what is no padding.

    What comes of a query that sees nothing, which is padding, means nothing.
    """
    if _flexible(q):
        return by_flex(q, k, v, window, inside, far)
    return by_tiles(q, k, v, window, inside, far)


def windows(
    layers: int, heads: int, sizes: Sequence[int], dilations: Sequence[int], dilated_heads: int, *, causal: bool
) -> list[Window]:
    """The window of every layer, from the keys of [model] that all models with windows have."""
    for name, given in (("window", sizes), ("dilation", dilations)):
        if len(given) not in (1, layers):
            raise UsageError(
                f"model.{name} has {len(given)} numbers, and model.layers = {layers}: give one for every layer, or "
                "a single one for all."
            )
    if dilated_heads > heads:
        raise UsageError(f"model.dilated_heads = {dilated_heads} are more than model.heads = {heads}.")
    if odd := [size for size in sizes if size % 2 and not causal]:
        raise UsageError(f"model.window: half of a window is on each side, and {odd[0]} is odd.")
    found = []
    for number in range(layers):
        size, dilation = (each[number if len(each) > 1 else 0] for each in (sizes, dilations))
        dilated = dilated_heads or heads
        each = (dilation,) * dilated + (1,) * (heads - dilated)
        found.append(Window(size, 0, each) if causal else Window(size // 2, size // 2, each))
    return found


# ---- by tiles --------------------------------------------------------------------------------------------------


@torch.compiler.disable
def by_tiles(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H T D"],
    v: Float[Tensor, "B H T D"],
    window: Window,
    inside: Bool[Tensor, "B T"] | None,
    far: Globals | None,
) -> Float[Tensor, "B H T D"]:
    """The same by products of tiles, in float32 or better."""
    batch, _, length, _ = q.shape
    outside = None if inside is None else ~inside
    if far is not None:  # seen in another way, and not twice
        outside = far.mask(length) if outside is None else outside | far.mask(length)
    parts: list[Tensor] = []
    with torch.autocast(q.device.type, enabled=False):
        for dilation, run in _runs(window.dilations):
            own = [x[:, run].to(torch.promote_types(x.dtype, torch.float32)) for x in (q, k, v)]
            heads = own[0].shape[1]
            hidden = None if outside is None else _by_head(outside, heads)
            if hidden is None and length % dilation:  # what fills up the last stretch is no key
                hidden = _by_head(torch.zeros(batch, length, dtype=torch.bool, device=q.device), heads)
            hidden = None if hidden is None else _folded(hidden, dilation, fill=1)[..., 0]
            extra: list[Tensor | None] = [None, None, None]
            if far is not None:
                picked = [far.pick(x.transpose(1, 2)).transpose(1, 2) for x in own[1:]]
                extra = [_repeated(x, dilation) for x in (*picked, _by_head(~far.present, heads))]
            mixed = _Tiled.apply(*(_folded(x, dilation) for x in own), hidden, *extra, window.back, window.ahead)
            mixed = mixed.unflatten(0, (batch, heads, dilation)).transpose(2, 3)
            parts.append(mixed.flatten(2, 3)[:, :, :length].to(q.dtype))
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


def _runs(dilations: Sequence[int]) -> list[tuple[int, slice]]:
    """Neighbouring heads of one dilation."""
    bounds = [n for n in range(len(dilations)) if not n or dilations[n] != dilations[n - 1]]
    return [(dilations[a], slice(a, b)) for a, b in zip(bounds, [*bounds[1:], len(dilations)], strict=True)]


def _folded(x: Tensor, dilation: int, fill: int = 0) -> Tensor:
    """(B, H, T, D) as (B·H·δ, T / δ, D): every δ-th position, then those behind them."""
    padding = -x.shape[2] % dilation
    x = F.pad(x, (0, 0, 0, padding), value=fill) if padding else x
    return x.unflatten(2, (-1, dilation)).transpose(2, 3).flatten(0, 2).contiguous()


def _repeated(x: Tensor, dilation: int) -> Tensor:
    """What all of those see alike: (B, H, G, D) as (B·H·δ, G, D)."""
    return x.unsqueeze(2).expand(-1, -1, dilation, -1, -1).flatten(0, 2)


def _by_head(marks: Bool[Tensor, "B T"], heads: int) -> Bool[Tensor, "B H T 1"]:
    return marks[:, None, :, None].expand(-1, heads, -1, -1)


class _Tiled(torch.autograd.Function):
    """O = P v, P = softmax(q kᵀ / √D), over a window and further keys. The gradient of the scores is
    P ⊙ (dO vᵀ - Σ dO ⊙ O), the sum over the numbers of a head."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Float[Tensor, "N t D"],
        k: Float[Tensor, "N t D"],
        v: Float[Tensor, "N t D"],
        outside: Bool[Tensor, "N t"] | None,
        far_k: Float[Tensor, "N G D"] | None,
        far_v: Float[Tensor, "N G D"] | None,
        far_outside: Bool[Tensor, "N G 1"] | None,
        back: int,
        ahead: int,
    ) -> Float[Tensor, "N t D"]:
        mixed, log_sums = torch.empty_like(q), q.new_empty(*q.shape[:2], 1)
        for rows, seen in _tiles(q, k, outside, far_k, far_outside, back, ahead):
            highest = torch.stack([scores.amax(2, keepdim=True) for _, scores in seen]).amax(0).clamp(min=-1e30)
            weights = [scores.sub_(highest).exp_() for _, scores in seen]
            sums = torch.stack([each.sum(2, keepdim=True) for each in weights])
            total = sums.sum(0).clamp(min=torch.finfo(q.dtype).tiny)
            own = torch.bmm(weights[0], v[:, seen[0][0]])
            if far_v is not None:
                own.baddbmm_(weights[1], far_v)
            mixed[:, rows] = own.div_(total)
            log_sums[:, rows] = total.log_().add_(highest)
        ctx.save_for_backward(q, k, v, outside, far_k, far_v, far_outside, mixed, log_sums)
        ctx.window = back, ahead
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_mixed: Float[Tensor, "N t D"]) -> tuple[Tensor | None, ...]:
        q, k, v, outside, far_k, far_v, far_outside, mixed, log_sums = ctx.saved_tensors
        keys, values = [k, far_k], [v, far_v]
        d_q, scale = torch.zeros_like(q), q.shape[2] ** -0.5
        d_keys: list[Any] = [None if x is None else torch.zeros_like(x) for x in keys]
        d_values: list[Any] = [None if x is None else torch.zeros_like(x) for x in values]
        d_mixed = d_mixed.contiguous()
        delta = (d_mixed * mixed).sum(2, keepdim=True)
        for rows, seen in _tiles(q, k, outside, far_k, far_outside, *ctx.window):
            own, d_own = q[:, rows], d_mixed[:, rows]
            for number, (columns, scores) in enumerate(seen):
                weights = scores.sub_(log_sums[:, rows]).exp_()
                d_values[number][:, columns].baddbmm_(weights.transpose(1, 2), d_own)
                d_scores = torch.bmm(d_own, values[number][:, columns].transpose(1, 2))
                d_scores.sub_(delta[:, rows]).mul_(weights)
                d_q[:, rows].baddbmm_(d_scores, keys[number][:, columns], alpha=scale)
                d_keys[number][:, columns].baddbmm_(d_scores.transpose(1, 2), own, alpha=scale)
        return d_q, d_keys[0], d_values[0], None, d_keys[1], d_values[1], None, None, None


def _tiles(
    q: Tensor,
    k: Tensor,
    outside: Tensor | None,
    far_k: Tensor | None,
    far_outside: Tensor | None,
    back: int,
    ahead: int,
) -> Iterator[tuple[slice, list[tuple[slice, Tensor]]]]:
    """For every tile of queries its rows, and which keys they see with their scores: the window's, then far ones."""
    texts, length, scale = len(q), q.shape[1], q.shape[2] ** -0.5
    back, ahead = min(back, length), min(ahead, length)
    offsets = torch.arange(TILE + back + ahead, device=q.device) - torch.arange(TILE, device=q.device)[:, None]
    band = q.new_zeros(offsets.shape).masked_fill((offsets < 0) | (offsets > back + ahead), -torch.inf)
    for first in range(0, length, TILE):
        rows = slice(first, min(first + TILE, length))
        columns = slice(max(0, first - back), min(length, rows.stop + ahead))
        start = first - back
        near = band[: rows.stop - first, columns.start - start : columns.stop - start].expand(texts, -1, -1)
        scores = torch.baddbmm(near, q[:, rows], k[:, columns].transpose(1, 2), alpha=scale)
        if outside is not None:
            scores.masked_fill_(outside[:, None, columns], -torch.inf)
        seen = [(columns, scores)]
        if far_k is not None and far_outside is not None:
            scores = torch.bmm(q[:, rows], far_k.transpose(1, 2)).mul_(scale)
            seen.append((slice(None), scores.masked_fill_(far_outside.transpose(1, 2), -torch.inf)))
        yield rows, seen


# ---- by flex_attention -----------------------------------------------------------------------------------------


def _flexible(q: Tensor) -> bool:
    """Whether flex_attention serves: it is compiled for CUDA by itself, and has no way back elsewhere."""
    fits = q.shape[2] >= FLEX and q.shape[3] in FLEX_WIDTHS and q.dtype is not torch.float64
    return q.is_cuda and fits and not torch.compiler.is_compiling()


def by_flex(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B H T D"],
    v: Float[Tensor, "B H T D"],
    window: Window,
    inside: Bool[Tensor, "B T"] | None,
    far: Globals | None,
) -> Float[Tensor, "B H T D"]:
    """The same by torch's flex_attention, which leaves out blocks in which nobody sees anybody."""
    from torch.nn.attention.flex_attention import create_block_mask

    length, dilations = q.shape[2], torch.tensor(window.dilations, device=q.device)
    everywhere = None if far is None else far.mask(length)

    def allowed(row: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        seen = window.holds(query - key, dilations[head])
        if everywhere is not None:
            seen = seen | everywhere[row, key]
        return seen if inside is None else seen & inside[row, key]

    rows = None if inside is None and everywhere is None else len(q)
    named = lambda row, head, query, key: allowed(row, head, query, key)  # noqa: E731  torch counts its arguments
    blocks = create_block_mask(named, rows, q.shape[1], length, length, q.device, _compile=q.is_cuda)
    return _flex(q.is_cuda)(q, k, v, block_mask=blocks)


@cache
def _flex(compiled: bool) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    found: Any = torch.compile(flex_attention) if compiled else flex_attention
    return found


def _openly(
    q: Tensor, k: Tensor, v: Tensor, mask: Bool[Tensor, "#B #H #T S"] | None, weights: list[Tensor] | None
) -> Float[Tensor, "B H T D"]:
    """Full attention; `weights` collects its weights."""
    if weights is None:
        return attend(q, k, v, mask=mask)
    mixed, found = attend_explicitly(q, k, v, mask=mask)
    weights.append(found)
    return mixed


# ---- a layer ---------------------------------------------------------------------------------------------------


class WindowAttention(nn.Module):
    """Every position attends to those around it; global ones, if there are, attend to all and are seen by all."""

    def __init__(self, shape: Shape, window: Window, *, globals: bool = False) -> None:
        super().__init__()
        self.heads, self.width, self.window = shape.heads, shape.width, window
        all_heads = shape.heads * shape.width
        self.qkv = Linear(shape.dim, 3 * all_heads, bias=shape.bias)
        if globals:
            self.global_query = Linear(shape.dim, all_heads, bias=shape.bias)
            self.global_key_value = Linear(shape.dim, 2 * all_heads, bias=shape.bias)
        self.out = Linear(all_heads, shape.dim, bias=shape.bias)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        inside: Bool[Tensor, "B T"] | None = None,
        far: Globals | None = None,
        rotation: Tensor | None = None,
        weights: list[Tensor] | None = None,
        kept: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """`weights` collects attention weights, which are then computed in the open; `kept`, keys and values."""
        q, k, v = self._queries_keys_values(x, rotation)
        if kept is not None:
            kept.append(torch.stack([k, v], 1))
        if weights is None and not watching():
            mixed = attend_in_window(q, k, v, self.window, inside=inside, far=far)
        else:
            seen = visible(self.window, x.shape[1], inside, far, x.device)
            seen = seen | torch.eye(x.shape[1], dtype=torch.bool, device=x.device)  # padding sees itself, or 0 / 0
            mixed = _openly(q, k, v, seen, weights)
        mixed = mixed.transpose(1, 2)
        if far is not None:
            (q,) = self._split(self.global_query(far.pick(x)), 1)
            k, v = self._split(self.global_key_value(x), 2)
            own: list[Tensor] | None = None if weights is None else []
            mixed = far.put(
                mixed, _openly(q, k, v, None if inside is None else inside[:, None, None], own).transpose(1, 2)
            )
            if weights is not None and own is not None:
                weights[-1] = far.put(weights[-1].transpose(1, 2), own[0].transpose(1, 2)).transpose(1, 2)
        return self.out(mixed.flatten(2))

    def _queries_keys_values(self, x: Float[Tensor, "B T d"], rotation: Tensor | None) -> tuple[Tensor, ...]:
        """Each (B, H, T, D); queries and keys turned, if there is a rotation."""
        q, k, v = self._split(self.qkv(x), 3)
        return (q, k, v) if rotation is None else (turn(q, rotation), turn(k, rotation), v)

    def step(
        self,
        x: Float[Tensor, "R 1 d"],
        ring: Float[Tensor, "R 2 H C D"],
        positions: Int[Tensor, " R"],
        rotation: Tensor | None = None,
    ) -> Float[Tensor, "R 1 d"]:
        """One position more in every row, each at its own. Keys and values of the last C positions are in a ring:
        those of position p stand at p mod C, and the new ones take the place of the oldest."""
        capacity, rows = ring.shape[3], torch.arange(len(x), device=x.device)
        q, k, v = self._queries_keys_values(x, rotation)
        ring[rows, :, :, positions % capacity] = torch.stack([k[:, :, 0], v[:, :, 0]], 1)
        age = (positions[:, None] - torch.arange(capacity, device=x.device)) % capacity
        dilations = torch.tensor(self.window.dilations, device=x.device)[:, None]
        seen = self.window.holds(age[:, None], dilations) & (age <= positions[:, None])[:, None]
        return self.out(attend(q, ring[:, 0], ring[:, 1], mask=seen[:, :, None]).transpose(1, 2).flatten(2))

    def _split(self, x: Float[Tensor, "B T k"], parts: int) -> tuple[Tensor, ...]:
        return x.view(*x.shape[:2], parts, self.heads, self.width).permute(2, 0, 3, 1, 4).unbind(0)


class WindowLayer(nn.Module):
    """A transformer layer with such attention; its weights have the names of nn/transformer.py's."""

    def __init__(self, shape: Shape, window: Window, *, globals: bool = False) -> None:
        super().__init__()
        self.dropout, self.pre = shape.dropout, shape.norm == "pre"
        self.norm_attention = shape.make_norm()
        self.attention = WindowAttention(shape, window, globals=globals)
        self.norm_feed_forward = shape.make_norm()
        self.feed_forward = FeedForward(shape.dim, shape.inner, shape.activation, shape.bias)

    def forward(self, x: Float[Tensor, "B T d"], **attention: Any) -> Float[Tensor, "B T d"]:
        """`attention`: what WindowAttention takes beside x."""
        return self._with(x, partial(self.attention, **attention))

    def step(
        self,
        x: Float[Tensor, "R 1 d"],
        ring: Float[Tensor, "R 2 H C D"],
        positions: Int[Tensor, " R"],
        rotation: Tensor | None = None,
    ) -> Float[Tensor, "R 1 d"]:
        """One position more in every row."""
        return self._with(x, partial(self.attention.step, ring=ring, positions=positions, rotation=rotation))

    def _with(self, x: Float[Tensor, "B T d"], attention: Callable[[Tensor], Tensor]) -> Float[Tensor, "B T d"]:
        near = self.norm_attention(x) if self.pre else x
        x = x + self._drop(attention(near))
        x = x if self.pre else self.norm_attention(x)
        near = self.norm_feed_forward(x) if self.pre else x
        x = x + self._drop(self.feed_forward(near))
        return x if self.pre else self.norm_feed_forward(x)

    def _drop(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x
