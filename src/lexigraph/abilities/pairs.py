"""Pairs of texts: what is asked about two at once, and models that estimate a number for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from lexigraph.abilities.asking import TextError, many
from lexigraph.abilities.textmodel import TextModel
from lexigraph.models.similarity import Similarity as Network
from lexigraph.nn.text_vectors import OTHER
from lexigraph.text.readers import Value
from lexigraph.text.vocabularies import TEXT

Pair = str | tuple[str, str] | Mapping[str, Value]  # two texts with a tab between, a tuple, or both by their fields


def pairs_of(given: object, purpose: str) -> tuple[list[dict[str, str]], bool]:
    """Pairs by their fields, and whether it was one.

    purpose: what they are wanted for, "to classify".
    """
    every, one = many(given, (str, tuple, list, Mapping), "pair", alone=(str, tuple, Mapping))
    found = []
    for number, each in enumerate(every, 1):
        both: list[Any]
        if isinstance(each, Mapping):
            both = [each.get(TEXT), each.get(OTHER)]
        else:
            both = each.split("\t") if isinstance(each, str) else list(each)
        if len(both) != 2 or not all(isinstance(text, str) for text in both):
            why = f"is no pair ({each!r:.60}): write two texts with a tab between, or a tuple (text, other)."
            raise TextError(number, len(every), why)
        for which, text in zip(("first", "second"), both, strict=True):
            if not text.strip():
                raise TextError(number, len(every), f"has an empty {which} text: there is nothing {purpose}.")
        found.append(dict(zip((TEXT, OTHER), both, strict=True)))
    return found, one


class Similarity(TextModel):
    """One number for a pair of texts."""

    network: Network

    @overload
    def estimate(self, pairs: Pair) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def estimate(self, pairs: Iterable[Pair]) -> list[float]: ...
    def estimate(self, pairs: object) -> float | list[float]:
        """The number of each pair.

        >>> model.estimate(("A man sings .", "Somebody is singing ."))        # doctest: +SKIP
        4.1
        """
        every, one = pairs_of(pairs, "to compare")
        found: list[float] = list(self._predicted(every))
        return found[0] if one else found

    def estimate_lines(self, lines: Sequence[str]) -> list[tuple[dict[str, Any], float]]:
        both, _ = pairs_of(lines, "to compare")
        return list(zip(both, self.estimate(lines), strict=True))
