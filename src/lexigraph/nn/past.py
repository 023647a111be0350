"""What a decoder has written so far, for searches whose hypotheses part and follow one another.

Every row of a search writes the keys and values of its tokens into a room of its own, place by place, and nothing is
ever moved. When row r goes on from the hypothesis of row p, it takes over p's line: who wrote which place.

    lines[r, t] = the writer of place t of row r's hypothesis
    row r looks at the keys of lines[r, 0] at place 0, of lines[r, 1] at place 1, …

So a beam copies a few integers for each row, where it would else copy all keys and values at every step. On a CPU a
kernel follows the lines; elsewhere keys and values are gathered along them.

Shapes: R rows, W writers, L layers, C places that there is room for, H heads, D width of a head.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.attention import Mask, attend, attend_explicitly

THREADED = 1 << 19  # numbers to read; below, what a thread takes to begin is more than it saves


@dataclass(frozen=True)
class Past:
    """The places of all layers; `of(layer)` is what one layer writes to and reads from."""

    room: Float[Tensor, "W L 2 C H D"]
    lines: Int[Tensor, "R C"]
    writers: Int[Tensor, " R"]  # each row's own room, which no other has
    layer: int = 0

    @classmethod
    def start(cls, rows: int, layers: int, heads: int, width: int, capacity: int, like: Tensor) -> Past:
        room = like.new_empty(rows, layers, 2, capacity, heads, width)
        writers = torch.arange(rows, device=like.device)
        return cls(room, writers[:, None].repeat(1, capacity), writers)

    def of(self, layer: int) -> Past:
        return replace(self, layer=layer)

    def follow(self, rows: Int[Tensor, " R"]) -> Past:
        """Each row goes on from one of these; what they write from now on is their own."""
        return replace(self, lines=self.lines.index_select(0, rows))

    def keep(self, rows: Int[Tensor, " kept"]) -> Past:
        """Only these rows, each once."""
        return replace(self, lines=self.lines.index_select(0, rows), writers=self.writers.index_select(0, rows))

    def grown(self, capacity: int) -> Past:
        """With room for so many places."""
        more = capacity - self.lines.shape[1]
        if more <= 0:
            return self
        shape = list(self.room.shape)
        shape[3] = capacity
        room = self.room.new_empty(shape)
        room[:, :, :, : shape[3] - more].copy_(self.room)
        return replace(self, room=room, lines=F.pad(self.lines, (0, more)))

    def attend(
        self,
        q: Float[Tensor, "R H 1 D"],
        k: Float[Tensor, "R H 1 D"],
        v: Float[Tensor, "R H 1 D"],
        time: int,
        *,
        bias: Mask | None = None,
        scale: float | None = None,
        weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "R H 1 D"]:
        """Write every row's key and value at place `time`, and look at all up to there."""
        self.lines[:, time] = self.writers
        lines = self.lines[:, : time + 1]
        if weights is None and q.is_cpu and q.dtype is torch.float32 and not torch.is_grad_enabled():
            return self._by_kernel(torch.stack([q, k, v]).squeeze(3), lines, bias, scale)
        for number, new in enumerate((k, v)):
            self.room[self.writers, self.layer, number, time] = new[:, :, 0]
        places = torch.arange(time + 1, device=q.device)
        keys, values = (self.room[lines, self.layer, number, places].transpose(1, 2) for number in (0, 1))
        if weights is None:
            return attend(q, keys, values, mask=bias, scale=scale)
        mixed, seen = attend_explicitly(q, keys, values, mask=bias, scale=scale)
        weights.append(seen)
        return mixed

    def _by_kernel(
        self, new: Float[Tensor, "3 R H D"], lines: Int[Tensor, "R T"], bias: Mask | None, scale: float | None
    ) -> Float[Tensor, "R H 1 D"]:
        from lexigraph.nn.past_kernel import follow

        _, rows, heads, width = new.shape
        added = new.new_zeros(heads, 0) if bias is None else bias[0, :, 0].expand(heads, -1).contiguous()
        given = (new.numpy(), self.room.numpy(), self.layer, lines.contiguous().numpy(), added.numpy())
        mixed, scale = torch.empty(rows, heads, width), width**-0.5 if scale is None else scale
        threads = torch.get_num_threads() if lines.numel() * heads * width > THREADED else 1
        ends = [rows * part // threads for part in range(threads + 1)]
        parts = [(*given, scale, mixed.numpy(), *ends[part : part + 2]) for part in range(threads)]
        waiting = [_pool(threads - 1).submit(follow, *part) for part in parts[1:]]
        follow(*parts[0])
        for each in waiting:
            each.result()
        return mixed.unsqueeze(2)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="lexigraph-past")
