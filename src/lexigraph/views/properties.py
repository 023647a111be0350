"""Properties of characters, read off a text by rules: what a cell of a character model may have learned to track.

Each is a number for every character, known once it has been read: nothing looks ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

Property = Float[np.ndarray, " characters"]
OPENING, CLOSING = "([{", ")]}"
COMMENTS = ("#", "//")


def properties(text: str) -> Mapping[str, Property]:
    """Those that are not the same everywhere in the text."""
    found = {name: make(text) for name, make in PROPERTIES.items()}
    return {name: values for name, values in found.items() if values.std() > 0}


def _line_position(text: str) -> Property:
    """Characters since the last end of line, at most 80."""
    return _since(text, lambda before, c: 0.0 if c == "\n" else min(80.0, before + 1))


def _word_position(text: str) -> Property:
    """Letters since the word began, at most 12; 0 outside of words."""
    return _since(text, lambda before, c: min(12.0, before + 1) if c.isalpha() else 0.0)


def _lines_since_blank(text: str) -> Property:
    """Ends of lines since the last blank line, at most 6."""
    found, lines, last = [], 0.0, "\n"
    for c in text:
        if c == "\n":
            lines = 0.0 if last == "\n" else min(6.0, lines + 1)
        found.append(lines)
        last = c
    return np.array(found)


def _first_line(text: str) -> Property:
    """1 in the first line after a blank one: in a play, the speaker's name."""
    return (_lines_since_blank(text) == 0).astype(np.float64)


def _capitals(text: str) -> Property:
    """1 in a run of capitals of two letters or more."""
    return (_since(text, lambda before, c: before + 1 if c.isupper() else 0.0) >= 2).astype(np.float64)


def _quoted(text: str) -> Property:
    """1 between double quotation marks; an end of line closes what was left open."""
    return _since(text, lambda before, c: 1 - before if c == '"' else 0.0 if c == "\n" else before)


def _brackets(text: str) -> Property:
    """How many brackets are open, at most 5."""
    return _since(
        text,
        lambda before, c: min(5.0, before + 1) if c in OPENING else max(0.0, before - 1) if c in CLOSING else before,
    )


def _indent(text: str) -> Property:
    """Spaces that the line began with, at most 20; a tab counts as four."""
    found, spaces, within = [], 0.0, False
    for c in text:
        if c == "\n":
            spaces, within = 0.0, True
        elif within and c in " \t":
            spaces = min(20.0, spaces + (4 if c == "\t" else 1))
        else:
            within = False
        found.append(spaces)
    return np.array(found)


def _in_lines(text: str, begins: Callable[[str], int]) -> Property:
    """1 from some place of a line to its end; `begins` finds the place, -1 if the line has none."""
    found: list[float] = []
    for line in text.splitlines(keepends=True):
        place = begins(line)
        found += [float(0 <= place <= i) for i in range(len(line))]
    return np.array(found)


def _comment(text: str) -> Property:
    """1 on a line from # or the second stroke of // on."""

    def begins(line: str) -> int:
        return min((line.find(mark) + len(mark) - 1 for mark in COMMENTS if mark in line), default=-1)

    return _in_lines(text, begins)


def _if_statement(text: str) -> Property:
    """1 behind the `if` that a line begins with."""

    def begins(line: str) -> int:
        return line.find("if") + 2 if line.lstrip().startswith(("if ", "if(", "elif ", "} else if")) else -1

    return _in_lines(text, begins)


def _since(text: str, step: Callable[[float, str], float]) -> Property:
    """A number that follows from the one before and a character."""
    value, found = 0.0, []
    for c in text:
        value = step(value, c)
        found.append(value)
    return np.array(found)


PROPERTIES: dict[str, Callable[[str], Property]] = {
    "position in the line": _line_position,
    "position in the word": _word_position,
    "lines since a blank one": _lines_since_blank,
    "first line after a blank one": _first_line,
    "in capitals": _capitals,
    "between quotation marks": _quoted,
    "open brackets": _brackets,
    "indentation": _indent,
    "in a comment": _comment,
    "in an if-statement": _if_statement,
}
