"""Answers to questions as stretches of a text: where each stands in it, as a record says or as is found by search.

    answer            a text, or a list of texts that are all right; none, or an empty one: the text does not say
    answer_start      where each begins, counted in characters from 0; without it the answer is searched for

An answer that is searched for may stand in several places: all are right, but one inside a longer word only where
there is no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lexigraph.errors import LexigraphError

STARTS, TITLE, IDENTITY = BESIDES = ("answer_start", "title", "id")  # what records may say beside the answer
Range = tuple[int, int]  # the first character, and the one behind the last


def read(values: Mapping[str, Any], field: str, text: str, place: str) -> list[Range]:
    """Where the answers of a record stand in its text; one that does not is refused with its line and its id."""
    context, where = str(values[text]), f"{place} (id {values[IDENTITY]})" if values.get(IDENTITY) else place
    answers = [str(each) for each in _listed(values[field])]
    starts = [] if set(given := _listed(values.get(STARTS, []))) <= {""} else given
    if not any(answer.strip() for answer in answers):
        return []
    if len(starts) not in (0, len(answers)):
        raise LexigraphError(f"{where}: there are {len(answers)} answers and {len(starts)} values of {STARTS}.")
    found: list[Range] = []
    for number, answer in enumerate(answers):
        stripped = answer.strip()
        if starts:
            first = _whole(starts[number], where) + len(answer) - len(answer.lstrip())
            places = [first] if context[first : first + len(stripped)] == stripped else []
        else:
            places = occurrences(stripped, context)
        if not places or not stripped:
            raise LexigraphError(f"{where}: {_missing(stripped, context, starts)}")
        found += [(first, first + len(stripped)) for first in places]
    return found


def occurrences(answer: str, context: str) -> list[int]:
    """Where a text stands in another one: as words of its own if it does so at all, else its first place.

    >>> occurrences("in", "King in rain"), occurrences("ing", "King in rain"), occurrences("x", "King")
    ([5], [1], [])
    """
    every = [match.start() for match in re.finditer(re.escape(answer), context)]
    whole = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", context)]
    return whole or every[:1]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None or value == "" else [value]


def _whole(start: Any, where: str) -> int:
    if not str(start).isdigit():
        raise LexigraphError(f"{where}: {STARTS} is {start!r:.40}, and counts characters from 0.")
    return int(start)


def _missing(answer: str, context: str, starts: list[Any]) -> str:
    """What is wrong with an answer that does not stand where it should."""
    if not answer:
        return "one of several answers is empty. Leave it out."
    elsewhere = context.find(answer)
    if starts and elsewhere >= 0:
        return (
            f"the answer {answer[:40]!r} does not begin at the {STARTS} that is given; it stands at {elsewhere}. "
            f"Correct {STARTS}, which counts characters from 0, or leave that field out."
        )
    return f"the answer {answer[:40]!r} does not stand in the context. Answers are copied from it, letter for letter."
