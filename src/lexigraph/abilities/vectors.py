"""What every model with one vector for a text can do: find texts whose vectors are near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from lexigraph.abilities.textmodel import TextModel
from lexigraph.latent.geometry import neighbours


@dataclass(frozen=True)
class Neighbour:
    """A text and how near it is."""

    text: str
    similarity: float

    def __str__(self) -> str:
        return self.text


class Vectors(TextModel):
    """A vector for a text."""

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n dim"]:
        """The vector of each text; which options a model has depends on its kind."""
        raise self._cannot("encode")

    def neighbours(
        self, texts: str | Sequence[str], among: Sequence[str], *, k: int = 5, measure: str = "cosine"
    ) -> list[list[Neighbour]]:
        """The k texts of `among` whose vectors are nearest to each of `texts`."""
        positions, similarity = neighbours(self.encode(texts), self.encode(among), k, measure)
        return [
            [Neighbour(among[i], float(s)) for i, s in zip(row, values, strict=True)]
            for row, values in zip(positions, similarity, strict=True)
        ]
