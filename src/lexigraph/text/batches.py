"""Which rows stand together at which step: a pure function of the seed, the epoch and the lengths.

A plan knows nothing of processes, devices or micro-batches. It says what the global batch of any step is, at
once, without walking through the steps before it; whoever trains takes a slice of it (`share`). So a resumed
run, a run on two processes and a run that accumulates all see the same batches.

One table is read in one of three ways:

    Buckets   examples of like length together, padded to their longest; the lengths of each batch stay the same from
              epoch to epoch, only its members change, so the largest batch is known before training starts
    Windows   one long stream cut into windows, at a new phase in each epoch, in random order
    Streams   one long stream read by parallel readers, window after window (for stateful systems)
    Staged    a stream read in short windows for the first steps, and in long ones from then on

Several tables are mixed, each with epochs of its own:

    Together  every step takes rows of each table
    InTurn    every step takes rows of one; how often each has its turn is fixed for every block of steps
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Integer

from lexigraph.errors import LexigraphError
from lexigraph.text.columns import MAIN


@dataclass(frozen=True)
class Rows:
    """Rows of one table in a global batch.

    Row i is the values from `starts[i]` to `starts[i] + lengths[i]` of the windowed column (of tokens, and one more);
    where there is no such column, `starts` are numbers of examples. Starts and epoch are also what seeds are made of.
    """

    starts: Integer[np.ndarray, " rows"]
    lengths: Integer[np.ndarray, " rows"]
    epoch: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(self.starts[rows], self.lengths[rows], self.epoch)


@runtime_checkable
class TablePlan(Protocol):
    """The rows of one table at every step."""

    epoch_steps: int
    tokens: int  # predicted in one epoch

    def batch(self, step: int) -> Rows: ...

    def fresh(self, step: int) -> bool:
        """Whether memory starts anew at this step."""
        ...


@runtime_checkable
class Plan(Protocol):
    """The global batch of every step, by table."""

    epoch_steps: int
    tokens: int
    many_shapes: bool  # whether batches differ in shape

    def batch(self, step: int) -> Mapping[str, Rows]: ...

    def fresh(self, step: int) -> bool: ...


class Buckets:
    """Batches of rows of like length, at most `batch_tokens` tokens each, padding included."""

    def __init__(self, starts: np.ndarray, lengths: np.ndarray, batch_tokens: int, seed: int) -> None:
        self.starts, self.lengths, self.seed = starts, lengths, seed
        padded = _padded(np.arange(lengths.max(initial=0) + 1))
        sizes, bucket = np.unique(-padded, return_inverse=True)  # the longest first
        self.bucket = bucket.astype(np.uint16)[lengths]  # of every row; two bytes each, as there may be millions
        self.edges = np.cumsum([0, *np.bincount(self.bucket, minlength=len(sizes))])
        bounds = [0]  # batches, longest first, each as many rows as fit at its longest row's length
        while bounds[-1] < len(lengths):
            longest = -sizes[np.searchsorted(self.edges, bounds[-1], side="right") - 1]
            rows = max(1, int(batch_tokens // longest))
            bounds.append(bounds[-1] + (rows if rows < 64 else rows // 8 * 8))  # hardware likes multiples of 8
        bounds[-1] = len(lengths)
        self.bounds = np.array(bounds)
        self.epoch_steps = len(bounds) - 1
        self.tokens = int(lengths.sum())
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def batch(self, step: int) -> Rows:
        epoch, index = divmod(step, self.epoch_steps)
        members, batches = self._shuffled(epoch)
        first, last = self.bounds[batches[index] : batches[index] + 2]
        rows = members[first:last]
        return Rows(self.starts[rows], self.lengths[rows], epoch)

    def fresh(self, step: int) -> bool:
        return True

    def _shuffled(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        if self._epoch is None or self._epoch[0] != epoch:
            random = np.random.default_rng([self.seed, epoch])
            members = np.empty(len(self.lengths), np.int32 if len(self.lengths) < 2**31 else np.int64)
            for number, (first, last) in enumerate(pairwise(self.edges)):
                members[first:last] = np.flatnonzero(self.bucket == number)
                random.shuffle(members[first:last])  # within a bucket all may change places
            batches = random.permutation(self.epoch_steps)
            if epoch == 0:  # the longest batch runs first: if memory suffices for it, it suffices for all
                batches = np.concatenate([[0], batches[batches != 0]])
            self._epoch = epoch, members, batches
        return self._epoch[1], self._epoch[2]


class Windows:
    """Windows of a stream of `total` tokens, each seen once an epoch."""

    def __init__(self, total: int, window: int, batch_tokens: int, seed: int) -> None:
        self.window, self.seed = window, seed
        self.rows = max(1, batch_tokens // window)
        self.slack = min(window, total - 1 - window * self.rows)  # how far the phase may move
        self.count = (total - 1 - max(0, self.slack)) // window
        self.epoch_steps = self.count // self.rows
        self.tokens = self.epoch_steps * self.rows * window
        self._epoch: tuple[int, np.ndarray] | None = None

    def batch(self, step: int) -> Rows:
        epoch, index = divmod(step, self.epoch_steps)
        if self._epoch is None or self._epoch[0] != epoch:
            random = np.random.default_rng([self.seed, epoch])
            phase = random.integers(self.slack + 1)
            self._epoch = epoch, phase + self.window * random.permutation(self.count)
        starts = self._epoch[1][index * self.rows : (index + 1) * self.rows]
        return Rows(starts, np.full(len(starts), self.window), epoch)

    def fresh(self, step: int) -> bool:
        return True


class Streams:
    """`streams` readers, each going through its own part of the text; a batch is the next window of each."""

    def __init__(self, total: int, window: int, streams: int, seed: int, *, tail: bool = False) -> None:
        self.window, self.seed, self.tail = window, seed, tail
        self.length = (total - 1) // streams
        self.first = np.arange(streams) * self.length
        self.last = self.first + self.length
        if tail:  # evaluation leaves nothing out: the last reader takes the remainder, windows may be short
            self.last[-1] = total - 1
            self.epoch_steps = -(-int((self.last - self.first).max()) // window)
        else:
            self.epoch_steps = self.length // window
        self.tokens = total - 1 if tail else self.epoch_steps * window * streams

    def batch(self, step: int) -> Rows:
        epoch, index = divmod(step, self.epoch_steps)
        phase = 0
        if not self.tail:  # what does not fill a window is left out at a new place in every epoch
            slack = self.length - self.epoch_steps * self.window
            phase = int(np.random.default_rng([self.seed, epoch]).integers(slack + 1))
        starts = np.minimum(self.first + phase + index * self.window, self.last)
        return Rows(starts, np.clip(self.last - starts, 0, self.window), epoch)

    def fresh(self, step: int) -> bool:
        return step % self.epoch_steps == 0


class Staged:
    """The first steps are those of one plan, as if it were alone, and the others those of another, from its first."""

    def __init__(self, first: TablePlan, steps: int, rest: TablePlan) -> None:
        self.first, self.steps, self.rest = first, steps, rest
        self.epoch_steps, self.tokens = rest.epoch_steps, rest.tokens

    def batch(self, step: int) -> Rows:
        return self.first.batch(step) if step < self.steps else self.rest.batch(step - self.steps)

    def fresh(self, step: int) -> bool:
        return self.first.fresh(step) if step < self.steps else self.rest.fresh(step - self.steps)


class Together:
    """Every step takes rows of each table; the main one says when an epoch ends."""

    def __init__(self, plans: Mapping[str, TablePlan]) -> None:
        self.plans, main = plans, plans[MAIN]
        self.epoch_steps, self.tokens = main.epoch_steps, main.tokens
        self.many_shapes = any(isinstance(plan, Buckets) for plan in plans.values())

    def batch(self, step: int) -> dict[str, Rows]:
        return {name: plan.batch(step) for name, plan in self.plans.items()}

    def fresh(self, step: int) -> bool:
        return self.plans[MAIN].fresh(step)


class InTurn:
    """Every step takes rows of one table; in a block of steps each has its quota of turns, ordered by the seed."""

    def __init__(self, plans: Mapping[str, TablePlan], quotas: Mapping[str, int], seed: int) -> None:
        self.plans, self.seed = plans, seed
        self.names, self.quotas = list(plans), np.array([quotas[name] for name in plans])
        self.turns = np.repeat(np.arange(len(self.names)), self.quotas)  # of a block, not yet in order
        main = plans[MAIN]
        self.epoch_steps = -(-main.epoch_steps * len(self.turns) // int(quotas[MAIN]))
        self.tokens, self.many_shapes = main.tokens, True

    def batch(self, step: int) -> dict[str, Rows]:
        block, index = divmod(step, len(self.turns))
        order = np.random.default_rng([self.seed, block]).permutation(self.turns)
        table = order[index]
        turn = int(block * self.quotas[table] + (order[:index] == table).sum())
        name = self.names[table]
        return {name: self.plans[name].batch(turn)}

    def fresh(self, step: int) -> bool:
        return True


def share(batch: Rows, part: int, parts: int) -> Rows:
    """The `part`-th of `parts` nearly equal slices of a global batch; it may be empty."""
    bounds = np.linspace(0, len(batch), parts + 1).round().astype(int)
    return batch[bounds[part] : bounds[part + 1]]


def first_rows(plan: Plan, count: int) -> Rows:
    """About so many rows of the main table, of the first steps; all that there are, if they are fewer."""
    batches: list[Rows] = []
    for step in range(plan.epoch_steps):
        batches += [rows for name, rows in plan.batch(step).items() if name == MAIN]
        if sum(map(len, batches)) >= count:
            break
    return Rows(np.concatenate([b.starts for b in batches]), np.concatenate([b.lengths for b in batches]))[:count]


def require_a_batch(plan: TablePlan, where: str, batch_tokens: int, total: int) -> None:
    """Refuse a corpus that does not fill one batch."""
    if plan.epoch_steps < 1 or total < batch_tokens:
        raise LexigraphError(
            f"{where} holds {total:,} tokens for training, fewer than one batch of {batch_tokens:,}: "
            "give more text, or set train.batch_tokens lower."
        )


def _padded(lengths: np.ndarray) -> np.ndarray:
    """Lengths rounded up to steps of an eighth of their power of two: few shapes, little padding."""
    step = np.maximum(4, 2 ** np.floor(np.log2(np.maximum(lengths, 1))).astype(np.int64) // 8)
    return -(-lengths // step) * step


# ---- padding --------------------------------------------------------------------------------------------------


def padded(
    rows: Sequence[Sequence[int] | np.ndarray], fill: int, *, longest: int = 0, first: int = 0
) -> Int[np.ndarray, "rows _"]:
    """Rows as one array of 64-bit ids, `fill` behind each; `first` positions are left for what comes before them."""
    width = max(longest, first + max(map(len, rows), default=0))
    array = np.full((len(rows), width), fill, np.int64)
    for number, row in enumerate(rows):
        array[number, first : first + len(row)] = row
    return array


def pair_lengths(first: int, second: int, most: int) -> tuple[int, int]:
    """How many tokens two texts keep if they have room for `most` together: the longer gives up one token at a time,
    and the second where both are as long. 0: room for all.

    >>> pair_lengths(2, 9, 8), pair_lengths(5, 9, 8), pair_lengths(9, 9, 7), pair_lengths(2, 9, 0)
    ((2, 6), (4, 4), (4, 3), (2, 9))
    """
    if not most:
        return first, second
    second = min(second, max(most // 2, most - first))
    return min(first, most - second), second
