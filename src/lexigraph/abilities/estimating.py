"""What regressors can do: estimate a number for a sequence of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np
import torch

from lexigraph.abilities.asking import TextError, many
from lexigraph.abilities.textmodel import BATCH_SIZE, Input, TextModel
from lexigraph.errors import LexigraphError
from lexigraph.nn.regression import RegressorNetwork

Steps = np.ndarray | Sequence[Sequence[float]]  # a vector for each step


class Regressor(TextModel):
    """One number for an example."""

    network: RegressorNetwork

    @overload
    def estimate(self, sequences: np.ndarray) -> float: ...
    @overload
    def estimate(self, sequences: Sequence[Steps]) -> list[float]: ...
    def estimate(self, sequences: object) -> float | list[float]:
        """The number of each sequence; one sequence is an array with an axis for time and one for its vectors.

        >>> model.estimate([[[0.3, 1.0], [0.9, 0.0], [0.4, 1.0]]])        # doctest: +SKIP
        [0.7]
        """
        every, one = many(sequences, (np.ndarray, list, tuple, Mapping), "sequence", alone=(np.ndarray, Mapping))
        found: list[float] = []
        for start in range(0, len(every), BATCH_SIZE):
            found += self._estimated(every[start : start + BATCH_SIZE], start, len(every))
        return found[0] if one else found

    def _estimated(self, block: list[Input], start: int, of: int) -> list[float]:
        """Those of a block; a sequence that cannot be read is named by its number."""
        try:
            batches = list(self._batches(block))
        except LexigraphError as error:
            if len(block) == 1:
                raise TextError(start + 1, of, f"cannot be read: {error}") from None
            return [n for at, each in enumerate(block, start) for n in self._estimated([each], at, of)]
        with torch.inference_mode():
            return [number for batch in batches for number in self.network.predict(batch)]
