"""Candidates to choose from: a list of texts in a record, and which of them is right.

The label is the number of the right one, counted from 0, or its own text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lexigraph.errors import LexigraphError

CHOICES, LABEL = "choices", "label"  # columns


def read(
    values: Mapping[str, Any], field: str, place: str, cleaner: Callable[[str], str | None] | None
) -> dict[str, Any]:
    """The candidates of a record, cleaned, and the number of the right one; or a sentence that says what is wrong."""
    texts = values[field]
    if not isinstance(texts, list):
        raise LexigraphError(f"{place}: {field} is {texts!r:.40}, not a list of texts to choose from.")
    if len(texts) < 2:
        raise LexigraphError(f"{place}: {field} holds {len(texts)} of the two texts that a choice needs at least.")
    number = number_of(values[LABEL], texts, place)
    cleaned = [(cleaner(text) or "") if cleaner else text for text in texts]
    if blank := [n for n, text in enumerate(cleaned) if not text.strip()]:
        raise LexigraphError(f"{place}: number {blank[0]} of {field}, counted from 0, is empty.")
    return {field: cleaned, LABEL: number}


def number_of(label: object, texts: list[str], place: str) -> int:
    """Which of the texts is right."""
    if isinstance(label, str) and label in texts:
        return texts.index(label)
    try:
        number = int(str(label))
    except ValueError:
        number = -1
    if 0 <= number < len(texts):
        return number
    raise LexigraphError(
        f"{place}: the label {label!r:.40} names none of the {len(texts)} choices: write the number of one, counted "
        "from 0, or its text."
    )
