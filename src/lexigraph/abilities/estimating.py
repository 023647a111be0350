"""What regressors can do: estimate a number for a sequence of vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from lexigraph.abilities.asking import TextError, many
from lexigraph.abilities.textmodel import Input, TextModel
from lexigraph.errors import LexigraphError
from lexigraph.nn.regression import VECTORS, RegressorNetwork
from lexigraph.text import frames

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
        arrays = [self._read(each, number, len(every)) for number, each in enumerate(every, 1)]
        found: list[float] = list(self._predicted(arrays))
        return found[0] if one else found

    def estimate_lines(self, lines: Sequence[str]) -> list[tuple[dict[str, Any], float]]:
        sequences = [_steps(line) for line in lines]
        for number, (line, steps) in enumerate(zip(lines, sequences, strict=True), 1):
            if steps is None:
                why = f"is no sequence ({line!r:.60}): write a list of numbers for each step, [[0.3, 1], [0.9, 0]]."
                raise TextError(number, len(lines), why)
        found = self.estimate([steps for steps in sequences if steps is not None])
        return [({VECTORS: steps}, number) for steps, number in zip(sequences, found, strict=True)]

    def _read(self, given: Input, number: int, of: int) -> np.ndarray:
        """A sequence as an array of vectors as long as this model's, or a sentence that names it by its number."""
        width = len(self.vocabularies.numbers(VECTORS))
        try:
            array = frames.read(given.get(VECTORS) if isinstance(given, Mapping) else given)
        except LexigraphError as error:
            raise TextError(number, of, f"cannot be read: {error}") from None
        if array.shape[1] != width:
            has = f"{array.shape[1]} number{'s' * (array.shape[1] > 1)}"
            raise TextError(number, of, f"has {has} in a step, and this model reads {width}.")
        return array


def _steps(line: str) -> list[list[float]] | None:
    """The sequence on a line in JSON, if there is one."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    steps = found.get(VECTORS) if isinstance(found, dict) else found
    return steps if isinstance(steps, list) else None
