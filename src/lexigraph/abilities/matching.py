"""What models of pictures and texts can do: say how well they go together, and find one by the other.

In Python a text is a `str`; a picture is a `Path`, an array, or a record with the field `image`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Float32

from lexigraph.abilities.asking import many, whole
from lexigraph.abilities.textmodel import BATCH_SIZE, Input
from lexigraph.abilities.vectors import Neighbour, Vectors
from lexigraph.errors import UsageError
from lexigraph.latent.geometry import neighbours
from lexigraph.models.clip import CLIP
from lexigraph.words.progress import Report

PICTURES = (Path, np.ndarray, Mapping)
EITHER = (str, *PICTURES)


@dataclass(frozen=True)
class Match:
    """How well a text goes with a picture, and how probable it is among the texts that were asked about."""

    text: str
    score: float
    probability: float

    def __str__(self) -> str:
        return self.text


class PairedVectors(Vectors):
    """A vector for a picture and one for a text, near where they go together."""

    network: CLIP
    of_unknown_words = ": they are read as unknown"

    def encode(  # type: ignore[override]
        self,
        given: object,
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "*n dim"]:
        """The vector of each text or picture, of length 1 unless `unnormalised`."""
        if lossless or pooling is not None:
            raise UsageError("This model has one vector for a text or a picture: leave out other options.")
        listed = list(given) if isinstance(given, np.ndarray) and given.ndim == 4 else given
        every, one = many(listed, EITHER, "text or picture")
        z = np.zeros((len(every), self.network.width), np.float32)
        texts = [number for number, each in enumerate(every) if isinstance(each, str)]
        others = [number for number, each in enumerate(every) if not isinstance(each, str)]
        if texts:
            z[texts] = self._texts([every[number] for number in texts])
        if others:
            z[others] = self._pictures([every[number] for number in others])
        z = z if unnormalised else z / np.linalg.norm(z, axis=1, keepdims=True)
        return z[0] if one else z

    def _texts(self, texts: Sequence[str]) -> Float32[np.ndarray, "n dim"]:
        rows, end = self._sentences(texts), self.network.end
        z = np.zeros((len(rows), self.network.width), np.float32)
        order = np.argsort([len(row) for row in rows], kind="stable")  # like lengths together
        for first in range(0, len(rows), BATCH_SIZE):
            chosen = order[first : first + BATCH_SIZE]
            batch = self._batch([[*rows[i].tolist(), end] for i in chosen])
            with torch.inference_mode():
                z[chosen] = self.network.texts(batch["ids"], batch["lengths"]).float().cpu().numpy()
        return z

    def _pictures(self, pictures: Sequence[Input]) -> Float32[np.ndarray, "n dim"]:
        with torch.inference_mode():
            found = [
                self.network.pictures(batch["images"]).float().cpu().numpy() for batch in self._batches(pictures)
            ]
        return np.concatenate(found)

    def match(
        self, pictures: object, texts: str | Sequence[str], *, template: str = "{}"
    ) -> list[Match] | list[list[Match]]:
        """For each picture the texts, the one that goes with it best first.

        pictures: files, arrays of 8 bits a channel, or records with the field `image`; one or many.
        template: what the texts stand in: with names of classes and "a photo of a {} .", the first of each picture is
            its class, though none was learned.

            >>> model.match(Path("beach.jpg"), ["dog", "cat"], template="A {} .")[0]        # doctest: +SKIP
            Match(text='dog', score=…, probability=0.98)
        """
        if "{}" not in template:
            raise UsageError(f"The template {template!r} has no {{}}, where the texts go.")
        listed = list(pictures) if isinstance(pictures, np.ndarray) and pictures.ndim == 4 else pictures
        every, one = many(listed, EITHER, "picture")
        given, _ = many(texts)
        scores = self.pair_scores(every, [template.replace("{}", text) for text in given])
        found = []
        for row in scores:
            shares = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
            order = np.argsort(-row, kind="stable").tolist()
            found.append([Match(given[i], float(row[i]), float(shares[i])) for i in order])
        return found[0] if one else found

    def pair_scores(self, pictures: Sequence[Input], texts: Sequence[str]) -> Float[np.ndarray, "pictures texts"]:
        """How well each picture goes with each text: logits, of which a softmax makes shares."""
        shown = [Path(each) if isinstance(each, str) else each for each in pictures]
        scale = float(self.network.sharpness.detach().exp())
        return scale * np.asarray(self.encode(shown) @ self.encode(list(texts)).T, np.float64)

    def neighbours(  # type: ignore[override]
        self,
        given: object,
        among: Sequence[Input] | Callable[[], Iterator[str]] = (),
        *,
        k: int = 5,
        measure: str = "cosine",
        index: str | Path | None = None,
        report: Report | None = None,
    ) -> list[Neighbour] | list[list[Neighbour]]:
        """The k texts or pictures of `among` that are nearest to each text or picture, nearest first.

        index: a folder that vectors of texts are kept in, as long as model and texts stay the same.
        """
        every, one = many(given, EITHER, "text or picture")
        if all(isinstance(each, str) for each in every) and (index is not None or callable(among)):
            found = super().neighbours(every, cast(Any, among), k=k, measure=measure, index=index, report=report)
            return found[0] if one else found
        whole(k=k)
        listed, _ = many(among() if callable(among) else among, EITHER, "text or picture to look among")
        where, values = neighbours(self.encode(every), self.encode(listed), min(k, len(listed)), measure)
        rows = [
            [Neighbour(_name(listed[place], place), value, place) for place, value in zip(*both, strict=True)]
            for both in zip(where.tolist(), values.tolist(), strict=True)
        ]
        return rows[0] if one else rows


def _name(given: Input, place: int) -> str:
    """What a text or a picture is called in an answer."""
    return str(given) if isinstance(given, str | Path) else f"picture {place}"
