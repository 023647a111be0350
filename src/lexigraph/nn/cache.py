"""What a decoder has written so far, for searches whose hypotheses part and follow one another.

Every row of a search writes the keys and values of its tokens into a storage of its own, position by position, and
nothing is ever moved. When row r goes on from the hypothesis of row p, it takes over p's line: who wrote which
position.

    lines[r, t] = the writer of position t of row r's hypothesis
    row r looks at the keys of beam_indices[r, 0] at position 0, of beam_indices[r, 1] at position 1, …

So a beam copies a few integers for each row, where it would else copy all keys and values at every step. On a CPU a
kernel follows the beam_indices; elsewhere keys and values are gathered along them.

Shapes: R rows, W writers, L layers, C positions that there is storage for, H heads, D width of a head.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.nn.attention import Mask, attend, attend_explicitly
from lexigraph.nn.stepper import State, picked

SIMD_WIDTH = 16  # numbers that a processor takes at once: softmax over fewer is many times slower
KeyValue = tuple[Tensor, Tensor]  # (B, H, S, D) each


@dataclass(frozen=True)
class KeyValueCache:
    """The positions of all layers; `of(layer)` is what one layer writes to and reads from."""

    storage: Float[Tensor, "W L 2 C H D"]
    beam_indices: Int[Tensor, "R C"]
    writers: Int[Tensor, " R"]  # each row's own storage, which no other has
    begins: Int[Tensor, " R"]  # the first place of each row that is not empty
    straight: bool = True  # whether every row has written all of its positions itself
    ragged: bool = False  # whether any row has empty positions
    layer: int = 0

    @classmethod
    def start(cls, rows: int, layers: int, heads: int, width: int, capacity: int, like: Tensor) -> KeyValueCache:
        storage = like.new_empty(rows, layers, 2, capacity, heads, width)
        writers = torch.arange(rows, device=like.device)
        return cls(storage, writers[:, None].repeat(1, capacity), writers, torch.zeros_like(writers))

    @property
    def capacity(self) -> int:
        return self.beam_indices.shape[1]

    def of(self, layer: int) -> KeyValueCache:
        return replace(self, layer=layer)

    def of_prompts(self, width: int) -> list[KeyValue]:
        """Where each layer writes keys and values of whole prompts: those of the first row of each sentence."""
        stores = self.storage[::width].permute(1, 2, 0, 4, 3, 5)  # (L, 2, B, H, C, D)
        return [(keys, values) for keys, values in stores]

    def reorder(self, rows: Int[Tensor, " R"]) -> KeyValueCache:
        """Each row goes on from one of these; what they write from now on is their own."""
        return self._moved(rows, self.writers)

    def keep(self, rows: Int[Tensor, " kept"]) -> KeyValueCache:
        """Only these rows, each once."""
        return self._moved(rows, self.writers.index_select(0, rows))

    def _moved(self, rows: Int[Tensor, " R"], writers: Int[Tensor, " R"]) -> KeyValueCache:
        beam_indices, begins = self.beam_indices.index_select(0, rows), self.begins.index_select(0, rows)
        return replace(self, beam_indices=beam_indices, writers=writers, begins=begins, straight=False)

    def grown(self, capacity: int) -> KeyValueCache:
        """With storage for so many positions."""
        more = capacity - self.capacity
        if more <= 0:
            return self
        writers, layers, _, _, heads, width = self.storage.shape
        storage = torch.cat([self.storage, self.storage.new_empty(writers, layers, 2, more, heads, width)], 3)
        return replace(
            self,
            storage=storage,
            beam_indices=torch.cat([self.beam_indices, self.writers[:, None].repeat(1, more)], 1),
        )

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
        """Write every row's key and value at position `time`, and look at all up to there; `bias` (1, H, 1, T)."""
        if not self.straight:
            self.beam_indices[:, time] = self.writers
        beam_indices = self.beam_indices[:, : time + 1]
        compiled = q.is_cpu and q.dtype is torch.float32 and not torch.is_grad_enabled()
        if weights is None and compiled:
            return self._by_kernel(torch.stack([q, k, v], 1).squeeze(3), beam_indices, bias, scale)
        own, positions = self.storage[:, self.layer], torch.arange(time + 1, device=q.device)
        if self.straight:
            own[:, 0, time], own[:, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = own[:, :, : time + 1].transpose(2, 3).unbind(1)
        else:
            own[self.writers, 0, time], own[self.writers, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = (own[beam_indices, n, positions].transpose(1, 2) for n in (0, 1))
        mask = bias
        if self.ragged:
            inside = (positions >= self.begins[:, None])[:, None, None]
            mask = inside if bias is None else bias.masked_fill(~inside, -torch.inf)
        if weights is None:
            return attend(q, keys, values, mask=mask, scale=scale)
        mixed, seen = attend_explicitly(q, keys, values, mask=mask, scale=scale)
        weights.append(seen)
        return mixed

    def _by_kernel(
        self, new: Float[Tensor, "R 3 H D"], beam_indices: Int[Tensor, "R T"], bias: Mask | None, scale: float | None
    ) -> Float[Tensor, "R H 1 D"]:
        kernels = _kernels()
        rows, _, heads, width = new.shape
        scores, mixed = (
            torch.empty(rows, heads, -(-beam_indices.shape[1] // SIMD_WIDTH) * SIMD_WIDTH),
            torch.empty(rows, heads, width),
        )
        cache = (self.storage.numpy(), self.layer, beam_indices.contiguous().numpy(), self.begins.numpy())
        kernels.write_and_score(new.numpy(), *cache, scores.numpy())
        scores.mul_(width**-0.5 if scale is None else scale)
        if bias is not None:
            scores[:, :, : beam_indices.shape[1]] += bias[:, :, 0]
        kernels.mix(*cache, scores.softmax(2).numpy(), mixed.numpy())
        return mixed.unsqueeze(2)


@dataclass(frozen=True)
class CachedState(State):
    """The state of a search whose rows write into a cache."""

    cache: KeyValueCache = field(kw_only=True)
    time: int = 0  # positions in use, the same for all rows
    ragged: bool = False  # whether what was read, prompts or sources, has padding

    def select(self, rows: Int[Tensor, " rows"]) -> CachedState:
        return replace(self, rows=picked(self.rows, rows), cache=self.cache.reorder(rows))

    def keep(self, sentences: Int[Tensor, " kept"]) -> CachedState:
        rows = self.rows_of(sentences)
        source = picked(self.source, sentences)
        return replace(self, rows=picked(self.rows, rows), source=source, cache=self.cache.keep(rows))

    def with_capacity(self, limit: int) -> KeyValueCache:
        """The cache with storage for one more position; to double it keeps the copying linear in the length."""
        return self.cache if self.time < self.cache.capacity else self.cache.grown(min(limit, 2 * self.time))


@cache
def _kernels() -> ModuleType:
    return importlib.import_module("lexigraph.nn.cache_kernel")  # when it is first used: Numba takes a while to load
