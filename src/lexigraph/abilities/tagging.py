"""What taggers can do: name the tag of every word, or of every frame of a sequence of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import torch

from lexigraph.abilities.asking import many, words_of_texts
from lexigraph.abilities.textmodel import TextModel
from lexigraph.nn.tagging import TAGS, TaggerNetwork
from lexigraph.text import frames
from lexigraph.text.spans import BIO, converted


class TaggedWord(NamedTuple):
    """A word, its tag, and how probable that is."""

    word: str
    tag: str
    probability: float

    def __str__(self) -> str:
        return f"{self.word}/{self.tag}"


class Tagger(TextModel):
    """One tag for each word."""

    network: TaggerNetwork

    @overload
    def tag(self, texts: str) -> list[TaggedWord]: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Sequence[str | Sequence[str]]) -> list[list[TaggedWord]]: ...
    def tag(self, texts: object) -> list[TaggedWord] | list[list[TaggedWord]]:
        """The words of each text with their tags. Words stand between white space, or are given as lists.

        >>> [str(word) for word in model.tag(["She sings ."])[0]]        # doctest: +SKIP
        ['She/PRON', 'sings/VERB', './PUNCT']
        """
        rows, one = words_of_texts(texts, "tag")
        found = [
            [TaggedWord(word, *each) for word, each in zip(row, tags, strict=True)]
            for row, tags in zip(rows, _tags(self, "tokens", rows), strict=True)
        ]
        return found[0] if one else found


class TaggedFrame(NamedTuple):
    """A frame by its number, counted from 0, its tag, and how probable that is."""

    frame: int
    tag: str
    probability: float

    def __str__(self) -> str:
        return self.tag


class FrameTagger(TextModel):
    """One tag for each frame of a sequence."""

    network: TaggerNetwork

    @overload
    def tag(self, sequences: str | Path) -> list[TaggedFrame]: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, sequences: Sequence[str | Path | np.ndarray]) -> list[list[TaggedFrame]]: ...
    def tag(self, sequences: object) -> list[TaggedFrame] | list[list[TaggedFrame]]:
        """The tag of every frame of each sequence: arrays (frames, numbers), or .npy files.

        >>> [str(frame) for frame in model.tag([np.zeros((2, 13))])[0]]      # doctest: +SKIP
        ['silence', 'silence']
        """
        given, one = many(sequences, (str, Path, np.ndarray), named="sequence", alone=(str, Path))
        arrays = [frames.read(each) for each in given]
        found = [[TaggedFrame(n, *each) for n, each in enumerate(tags)] for tags in _tags(self, "frames", arrays)]
        return found[0] if one else found


def _tags(model: Tagger | FrameTagger, field: str, rows: Sequence[Any]) -> list[list[tuple[str, float]]]:
    """The tags of the words or frames of every row, and how probable each is; rows of like length together."""
    names, scheme = model.vocabularies.labels(TAGS).names, model.network.scheme and BIO
    found: list[list[tuple[str, float]]] = [[] for _ in rows]
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    rows_in_order = iter(order)
    for batch in model._batches([{field: rows[number]} for number in order]):
        with torch.inference_mode():
            tags, probabilities = model.network.decoded(model.network.logits(batch).float(), batch["lengths"])
            values = probabilities.gather(2, tags[:, :, None])[:, :, 0]
        for row, sure, length in zip(tags.tolist(), values.tolist(), batch["lengths"].tolist(), strict=True):
            labels = [names[tag] for tag in row[:length]]
            found[next(rows_in_order)] = list(zip(converted(labels, scheme), sure[:length], strict=True))
    return found
