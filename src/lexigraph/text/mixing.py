"""Several tasks in one training, each with a share of the examples (Raffel et al. 2020, 3.5.2).

    share of task m = r_m / Σ r        r_m = min(e_m, K)^(1/T)

with e_m the number of its examples, K the limit (data.task_limit) and T the temperature (data.task_temperature).
T = 1 is examples-proportional mixing; a larger T makes the shares more alike.

An epoch has as many rows as there are examples. Those of a task are sorted by length and cut into as many parts as
the task has rows; every epoch takes one example of each part at random. So a small task's examples come several
times, a large one's in some epochs, all equally often in the long run; and how many rows of which length an epoch has
is always the same, so that any step is found without those before it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from lexigraph.sections import Data
from lexigraph.text.batches import Buckets, Rows

TASK, TASKS = "task", "tasks"  # the column that says which one an example is of, and its vocabulary


def mixed(data: Data) -> bool:
    """Whether tasks have other shares than their examples are of all."""
    return data.task_temperature != 1 or data.task_limit > 0


def shares(
    examples: Int[np.ndarray, " tasks"], limit: int = 0, temperature: float = 1.0
) -> Float[np.ndarray, " tasks"]:
    """The share of each task.

    >>> shares(np.array([300, 100]), limit=100).tolist(), shares(np.array([900, 100]), temperature=2.0).tolist()
    ([0.5, 0.5], [0.75, 0.25])
    """
    rates = np.minimum(examples, limit or examples.max()) ** (1 / temperature)
    return rates / rates.sum()


class Mixed(Buckets):
    """Batches of rows of like length, in which every task has its share."""

    def __init__(
        self,
        starts: np.ndarray,
        lengths: np.ndarray,
        tasks: Int[np.ndarray, " rows"],
        data: Data,
        batch_tokens: int,
        seed: int,
    ) -> None:
        known, task, counts = np.unique(tasks, return_inverse=True, return_counts=True)
        wanted = np.maximum(
            1, (shares(counts, data.task_limit, data.task_temperature) * len(tasks)).round().astype(int)
        )
        first, size, longest = [], [], []
        ordered = np.lexsort((lengths, task))  # task by task, the shortest first
        begins = np.cumsum(counts) - counts
        for number in range(len(known)):
            slot = np.arange(wanted[number])  # a row of an epoch
            first.append(begins[number] + slot * counts[number] / wanted[number])
            size.append(np.full(len(slot), counts[number] / wanted[number]))
            longest.append(begins[number] - (-(slot + 1) * counts[number] // wanted[number]) - 1)
        self.first, self.size, self.last = (np.concatenate(each) for each in (first, size, longest))
        self.rows = Rows(starts[ordered], lengths[ordered])
        self._drawn: tuple[int, np.ndarray] | None = None
        super().__init__(np.arange(len(self.last)), self.rows.lengths[self.last], batch_tokens, seed)

    def batch(self, step: int) -> Rows:
        slots = super().batch(step)
        chosen = self._examples(slots.epoch)[slots.starts]
        return Rows(self.rows.starts[chosen], self.rows.lengths[chosen], slots.epoch)

    def _examples(self, epoch: int) -> Int[np.ndarray, " slots"]:
        """Which example each row of an epoch is."""
        if self._drawn is None or self._drawn[0] != epoch:
            random = np.random.default_rng([self.seed, epoch, 1])
            drawn = (self.first + random.random(len(self.first)) * self.size).astype(np.int64)
            self._drawn = epoch, np.minimum(drawn, self.last)
        return self._drawn[1]
