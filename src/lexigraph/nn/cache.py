"""What a decoder has written so far, for searches whose hypotheses part and follow one another.

Every row of a search writes the keys and values of its tokens into a storage of its own, position by position, and
nothing is ever moved. When row r goes on from the hypothesis of row p, it takes over p's line: who wrote which
position.

    lines[r, t] = the writer of position t of row r's hypothesis
    row r looks at the keys of beam_indices[r, 0] at position 0, of beam_indices[r, 1] at position 1, …

So a beam copies a few integers for each row, where it would else copy all keys and values at every step. On a CPU a
kernel follows the beam_indices; elsewhere keys and values are gathered along them. A memory that is looked at beside
(`Memory`), as a source sentence, is stored in the same way, and looked at by the same kernels.

Shapes: R rows, W writers, L layers, C positions that there is storage for, S positions of a memory, H heads, D width
of a head, n sentences.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.nn.attention import Mask, attend, attend_explicitly, within
from lexigraph.nn.positions import turn
from lexigraph.nn.stepper import State, picked

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
        new: Float[Tensor, "R 3 H D"],
        time: int,
        *,
        rotation: Float[Tensor, "2 *#shape D"] | None = None,
        bias: Mask | None = None,
        scale: float | None = None,
        weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "R H D"]:
        """Write every row's key and value at position `time`, and look with its query at all up to there.

        new: queries, keys and values, which may be changed in place. rotation: by which the first two are turned
            (nn/positions.py), one for all rows or each its own; bias: added to the scores, (1, H, 1, T).
        """
        if not self.straight:
            self.beam_indices[:, time] = self.writers
        if weights is None and _compiled(new):
            along = (self.beam_indices, self.begins, torch.full_like(self.begins, time + 1))
            return _by_kernel(new, self.storage, self.layer, along, scale, self.writers, rotation, bias)
        q, k, v = new.unsqueeze(3).unbind(1)
        if rotation is not None:
            q, k = turn(q, rotation), turn(k, rotation)
        own, positions = self.storage[:, self.layer], torch.arange(time + 1, device=q.device)
        if self.straight:
            own[:, 0, time], own[:, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = own[:, :, : time + 1].transpose(2, 3).unbind(1)
        else:
            lines = self.beam_indices[:, : time + 1]
            own[self.writers, 0, time], own[self.writers, 1, time] = k[:, :, 0], v[:, :, 0]
            keys, values = (own[lines, n, positions].transpose(1, 2) for n in (0, 1))
        mask = bias
        if self.ragged:
            inside = (positions >= self.begins[:, None])[:, None, None]
            mask = inside if bias is None else bias.masked_fill(~inside, -torch.inf)
        return _by_torch(q, keys, values, mask, scale, weights)[:, :, 0]


@dataclass(frozen=True)
class Memory:
    """Keys and values of what a decoder looks at beside its own words, computed once for every layer.

    The `width` rows of a sentence share them. On a CPU those of finished sentences stay where they are, and rows know
    which sentence is theirs: to move the others together at each end would take longer than to look at them.
    """

    storage: Sequence[Float[Tensor, "n 2 S H D"]]  # of each layer
    lines: Int[Tensor, "R S"]  # each row's sentence, as often as there are positions
    begins: Int[Tensor, " R"]
    ends: Int[Tensor, " R"]  # how many of the positions are the sentence's
    width: int
    ragged: bool  # whether some sentences have fewer positions than others
    layer: int = 0

    @classmethod
    def start(
        cls, storage: Sequence[Float[Tensor, "n 2 S H D"]], width: int, lengths: Int[Tensor, " n"] | None = None
    ) -> Memory:
        count, _, positions = storage[0].shape[:3]
        owners = torch.arange(count, device=storage[0].device).repeat_interleave(width)
        ends = torch.full_like(owners, positions) if lengths is None else lengths[owners]
        lines = owners[:, None].repeat(1, positions)
        return cls(storage, lines, torch.zeros_like(ends), ends, width, lengths is not None)

    def of(self, layer: int) -> Memory:
        return replace(self, layer=layer)

    def keep(self, sentences: Int[Tensor, " some"], rows: Int[Tensor, " R"]) -> Memory:
        """Only these sentences, counted among those that are left, and their rows."""
        lines, begins, ends = (values.index_select(0, rows) for values in (self.lines, self.begins, self.ends))
        storage = self.storage if lines.is_cpu else [each.index_select(0, sentences) for each in self.storage]
        return replace(self, storage=storage, lines=lines, begins=begins, ends=ends)

    def attend(
        self, q: Float[Tensor, "R 1 H D"], *, scale: float | None = None, weights: list[Tensor] | None = None
    ) -> Float[Tensor, "R H D"]:
        """Every row looks at its sentence's positions."""
        own = self.storage[self.layer]
        if weights is None and _compiled(q):
            return _by_kernel(q, own.unsqueeze(1), 0, (self.lines, self.begins, self.ends), scale)
        if own.is_cpu:
            own = own[self.lines[:: self.width, 0]]
        keys, values = own.transpose(2, 3).unbind(1)
        mask = within(self.ends[:: self.width], own.shape[2]) if self.ragged else None
        queries = q.view(len(own), self.width, *q.shape[2:]).transpose(1, 2)  # as so many positions of one row
        return _by_torch(queries, keys, values, mask, scale, weights).transpose(1, 2).flatten(0, 1)


def _compiled(queries: Tensor) -> bool:
    """Whether the kernel serves."""
    return queries.is_cpu and queries.dtype is torch.float32 and not torch.is_grad_enabled()


def _by_kernel(
    new: Float[Tensor, "R n H D"],
    storage: Float[Tensor, "W L 2 C H D"],
    layer: int,
    along: tuple[Int[Tensor, "R T"], Int[Tensor, " R"], Int[Tensor, " R"]],
    scale: float | None,
    writers: Int[Tensor, " R"] | None = None,
    rotation: Tensor | None = None,
    bias: Mask | None = None,
) -> Float[Tensor, "R H D"]:
    """Every row writes what is new, if there are writers, and looks along its line from its beginning to its end."""
    rows, _, heads, width = new.shape
    mixed = torch.empty(rows, heads, width)
    own = np.empty(0, np.int64) if writers is None else writers.numpy()
    angles = np.empty((2, 0, width), np.float32) if rotation is None else rotation.reshape(2, -1, width).numpy()
    added = np.empty((heads, 0), np.float32) if bias is None else bias[0, :, 0].numpy()
    lines, begins, ends = (each.numpy() for each in along)
    size = width**-0.5 if scale is None else scale
    places = (storage.numpy(), layer, lines, begins, ends)
    _kernel()(
        new.numpy(), np.ascontiguousarray(angles), own, *places, size, np.ascontiguousarray(added), mixed.numpy()
    )
    return mixed


def _by_torch(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, scale: float | None, weights: list[Tensor] | None
) -> Float[Tensor, "B H T D"]:
    """Attention by torch; `weights` collects its weights."""
    if weights is None:
        return attend(q, k, v, mask=mask, scale=scale)
    mixed, seen = attend_explicitly(q, k, v, mask=mask, scale=scale)
    weights.append(seen)
    return mixed


@dataclass(frozen=True)
class CachedState(State):
    """The state of a search whose rows write into a cache."""

    cache: KeyValueCache = field(kw_only=True)
    memory: Memory | None = None  # what is looked at beside it
    time: int = 0  # positions in use, the same for all rows

    def select(self, rows: Int[Tensor, " rows"]) -> CachedState:
        return replace(self, rows=picked(self.rows, rows), cache=self.cache.reorder(rows))

    def keep(self, sentences: Int[Tensor, " kept"]) -> CachedState:
        rows = self.rows_of(sentences)
        memory = self.memory and self.memory.keep(sentences, rows)
        source, cache = picked(self.source, sentences), self.cache.keep(rows)
        return replace(self, rows=picked(self.rows, rows), source=source, cache=cache, memory=memory)

    def with_capacity(self, limit: int) -> KeyValueCache:
        """The cache with storage for one more position; to double it keeps the copying linear in the length."""
        return self.cache if self.time < self.cache.capacity else self.cache.grown(min(limit, 2 * self.time))


@cache
def _kernel() -> Callable[..., None]:
    found: Callable[..., None] = importlib.import_module("lexigraph.nn.cache_kernel").attend
    return found  # when it is first used: Numba takes a while to load
