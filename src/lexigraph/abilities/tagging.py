"""What taggers can do: name the tag of every word, or of every frame of a sequence of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from lexigraph.abilities.asking import many, words_of_texts
from lexigraph.abilities.textmodel import TextModel
from lexigraph.nn.tagging import TAGS, TaggerNetwork
from lexigraph.text.spans import BIO, converted


@dataclass(frozen=True)
class TaggedWord:
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
            for row, tags in zip(rows, _tags(self, [{"tokens": row} for row in rows]), strict=True)
        ]
        return found[0] if one else found


@dataclass(frozen=True)
class TaggedFrame:
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
        found = [
            [TaggedFrame(number, *each) for number, each in enumerate(tags)]
            for tags in _tags(self, [{"frames": each} for each in given])
        ]
        return found[0] if one else found


def _tags(model: Tagger | FrameTagger, records: Sequence[dict[str, Any]]) -> Iterator[list[tuple[str, float]]]:
    """The tags of every record's words or frames, and how probable each is."""
    names = model.vocabularies.labels(TAGS).names
    for batch in model._batches(records):
        with torch.inference_mode():
            answers = model.network.predict(batch)
        for answer in answers:
            values = answer.probabilities.gather(1, answer.tags[:, None])[:, 0].tolist()
            labels = converted([names[i] for i in answer.tags.tolist()], model.network.scheme and BIO)
            yield list(zip(labels, values, strict=True))
