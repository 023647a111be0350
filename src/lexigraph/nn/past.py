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

import importlib
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.nn.attention import Mask, attend, attend_explicitly
from lexigraph.nn.stepper import State, picked

LANES = 16  # numbers that a processor takes at once: softmax over fewer is many times slower
KeyValue = tuple[Tensor, Tensor]  # (B, H, S, D) each


@dataclass(frozen=True)
class Past:
    """The places of all layers; `of(layer)` is what one layer writes to and reads from."""

    room: Float[Tensor, "W L 2 C H D"]
    lines: Int[Tensor, "R C"]
    writers: Int[Tensor, " R"]  # each row's own room, which no other has
    begins: Int[Tensor, " R"]  # the first place of each row that is not empty
    straight: bool = True  # whether every row has written all of its places itself
    ragged: bool = False  # whether any row has empty places
    layer: int = 0

    @classmethod
    def start(cls, rows: int, layers: int, heads: int, width: int, capacity: int, like: Tensor) -> Past:
        room = like.new_empty(rows, layers, 2, capacity, heads, width)
        writers = torch.arange(rows, device=like.device)
        return cls(room, writers[:, None].repeat(1, capacity), writers, torch.zeros_like(writers))

    @property
    def capacity(self) -> int:
        return self.lines.shape[1]

    def of(self, layer: int) -> Past:
        return replace(self, layer=layer)

    def of_prompts(self, width: int) -> list[KeyValue]:
        """Where each layer writes keys and values of whole prompts: those of the first row of each sentence."""
        rooms = self.room[::width].permute(1, 2, 0, 4, 3, 5)  # (L, 2, B, H, C, D)
        return [(keys, values) for keys, values in rooms]

    def follow(self, rows: Int[Tensor, " R"]) -> Past:
        """Each row goes on from one of these; what they write from now on is their own."""
        return self._moved(rows, self.writers)

    def keep(self, rows: Int[Tensor, " kept"]) -> Past:
        """Only these rows, each once."""
        return self._moved(rows, self.writers.index_select(0, rows))

    def _moved(self, rows: Int[Tensor, " R"], writers: Int[Tensor, " R"]) -> Past:
        lines, begins = self.lines.index_select(0, rows), self.begins.index_select(0, rows)
        return replace(self, lines=lines, writers=writers, begins=begins, straight=False)

    def grown(self, capacity: int) -> Past:
        """With room for so many places."""
        more = capacity - self.capacity
        if more <= 0:
            return self
        writers, layers, _, _, heads, width = self.room.shape
        room = torch.cat([self.room, self.room.new_empty(writers, layers, 2, more, heads, width)], 3)
        return replace(self, room=room, lines=torch.cat([self.lines, self.writers[:, None].repeat(1, more)], 1))

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
        """Write every row's key and value at place `time`, and look at all up to there; `bias` (1, H, 1, T)."""
        if not self.straight:
            self.lines[:, time] = self.writers
        lines = self.lines[:, : time + 1]
        compiled = q.is_cpu and q.dtype is torch.float32 and not torch.is_grad_enabled()
        if weights is None and compiled:
            return self._by_kernel(torch.stack([q, k, v], 1).squeeze(3), lines, bias, scale)
        own, places = self.room[:, self.layer], torch.arange(time + 1, device=q.device)
        if self.straight:
            own[:, 0, time], own[:, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = own[:, :, : time + 1].transpose(2, 3).unbind(1)
        else:
            own[self.writers, 0, time], own[self.writers, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = (own[lines, n, places].transpose(1, 2) for n in (0, 1))
        mask = bias
        if self.ragged:
            inside = (places >= self.begins[:, None])[:, None, None]
            mask = inside if bias is None else bias.masked_fill(~inside, -torch.inf)
        if weights is None:
            return attend(q, keys, values, mask=mask, scale=scale)
        mixed, seen = attend_explicitly(q, keys, values, mask=mask, scale=scale)
        weights.append(seen)
        return mixed

    def _by_kernel(
        self, new: Float[Tensor, "R 3 H D"], lines: Int[Tensor, "R T"], bias: Mask | None, scale: float | None
    ) -> Float[Tensor, "R H 1 D"]:
        kernels = _kernels()
        rows, _, heads, width = new.shape
        scores, mixed = torch.empty(rows, heads, -(-lines.shape[1] // LANES) * LANES), torch.empty(rows, heads, width)
        past = (self.room.numpy(), self.layer, lines.contiguous().numpy(), self.begins.numpy())
        kernels.write_and_score(new.numpy(), *past, scores.numpy())
        scores.mul_(width**-0.5 if scale is None else scale)
        if bias is not None:
            scores[:, :, : lines.shape[1]] += bias[:, :, 0]
        kernels.mix(*past, scores.softmax(2).numpy(), mixed.numpy())
        return mixed.unsqueeze(2)


@dataclass(frozen=True)
class Cache(State):
    """The state of a search whose rows write into a past."""

    past: Past = field(kw_only=True)
    time: int = 0  # places in use, the same for all rows
    ragged: bool = False  # whether what was read, prompts or sources, has padding

    def select(self, rows: Int[Tensor, " rows"]) -> Cache:
        return replace(self, rows=picked(self.rows, rows), past=self.past.follow(rows))

    def keep(self, sentences: Int[Tensor, " kept"]) -> Cache:
        rows = self.rows_of(sentences)
        source = picked(self.source, sentences)
        return replace(self, rows=picked(self.rows, rows), source=source, past=self.past.keep(rows))

    def with_room(self, limit: int) -> Past:
        """The past with room for one more place; to double it keeps the copying linear in the length."""
        return self.past if self.time < self.past.capacity else self.past.grown(min(limit, 2 * self.time))


@cache
def _kernels() -> Any:
    return importlib.import_module("lexigraph.nn.past_kernel")  # when it is first used: Numba takes a while to load
