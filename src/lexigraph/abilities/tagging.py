"""What taggers can do: name the tag of every word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import torch

from lexigraph.abilities.asking import words_of_texts
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
        names, words, found = self.vocabularies.labels(TAGS).names, iter(rows), []
        for batch in self._batches([{"tokens": row} for row in rows]):
            with torch.inference_mode():
                answers = self.network.predict(batch)
            for answer in answers:
                values = answer.probabilities.gather(1, answer.tags[:, None])[:, 0]
                labels = converted([names[i] for i in answer.tags.tolist()], self.network.scheme and BIO)
                found.append([TaggedWord(*each) for each in zip(next(words), labels, values.tolist(), strict=True)])
        return found[0] if one else found
