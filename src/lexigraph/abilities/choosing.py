"""Models that choose: which of several candidates goes with a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from lexigraph.abilities.asking import TextError, many
from lexigraph.abilities.textmodel import TextModel
from lexigraph.models.choices import Choices
from lexigraph.text.choices import CHOICES
from lexigraph.text.vocabularies import TEXT

Question = tuple[str, Sequence[str]] | Mapping[str, Any]  # a text and its candidates, or both by their fields


@dataclass(frozen=True)
class Choice:
    """The candidate that was chosen, its number (counted from 0), and how probable each is."""

    text: str
    number: int
    probabilities: list[float]

    @property
    def probability(self) -> float:
        """Of the chosen one."""
        return self.probabilities[self.number]

    def __str__(self) -> str:
        return self.text


class Choosing(TextModel):
    """One of several candidates."""

    network: Choices

    @overload
    def choose(self, questions: Question) -> Choice: ...  # type: ignore[overload-overlap]
    @overload
    def choose(self, questions: Iterable[Question]) -> list[Choice]: ...
    def choose(self, questions: object) -> Choice | list[Choice]:
        """The best candidate for each text.

        >>> str(model.choose(("The keys to the cabinet", ["is", "are"])))        # doctest: +SKIP
        'are'
        """
        every, one = many(questions, (tuple, list, Mapping), "question", alone=(tuple, Mapping))
        asked = [self._read(each, number, len(every)) for number, each in enumerate(every, 1)]
        found = []
        for record, log_p in zip(asked, self._predicted(asked), strict=True):
            probabilities = log_p.exp().tolist()
            best = max(range(len(probabilities)), key=probabilities.__getitem__)
            found.append(Choice(record[CHOICES][best], best, probabilities))
        return found[0] if one else found

    def _read(self, given: Any, number: int, of: int) -> dict[str, Any]:
        """A question by its fields, or a sentence that names it by its number."""
        both = [given.get(TEXT), given.get(CHOICES)] if isinstance(given, Mapping) else list(given)
        text, choices = both if len(both) == 2 else (None, None)
        if not isinstance(text, str) or not isinstance(choices, list | tuple) or len(choices) < 2:
            raise TextError(
                number, of, f"is no question ({given!r:.60}): give a text and a list of two texts or more."
            )
        if blank := [each for each in (text, *choices) if not isinstance(each, str) or not each.strip()]:
            raise TextError(number, of, f"holds {blank[0]!r}, where a text is wanted.")
        return {TEXT: text, CHOICES: self.cleaned(choices)}
