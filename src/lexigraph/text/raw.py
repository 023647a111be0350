"""The text of held-out units beside their tokens: what a score compares with.

    test.text.raw            the UTF-8 of all examples of a column, one after another
    test.text.raw_offsets    where each begins, and where the last ends (int64)

A tokenizer may lose letter case, white space or words that it does not know, so that what comes back through it
flatters a model. Both files are mapped, not loaded.

For the same reason `bytes_of` counts only the bytes that tokens stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def bytes_of(text: str, back: str, last: bool) -> tuple[int, str]:
    """How many bytes of UTF-8 the tokens of a text stand for, and the first word that is lost on the way.

    back: what its tokens give back. White space that they do not tell is not counted; more than that is lost.
    last: whether the unit ends here; otherwise white space at the end stands before a further word.

    >>> bytes_of("a  big dog", "a big dog", True), bytes_of("a Big dog", "a big dog", True)
    ((9, ''), (9, 'Big'))
    """
    size = len(text.encode(errors="surrogatepass"))
    if text == back:
        return size, ""
    given, known = "".join(text.split()), "".join(back.split())
    if given == known:
        gap = not last and text[-1:].isspace() and not back[-1:].isspace()
        return min(size, len(back.encode(errors="surrogatepass")) + gap), ""
    place = next(
        (i for i, (a, b) in enumerate(zip(given, known, strict=False)) if a != b), min(len(given), len(known))
    )
    for word in text.split():
        place -= len(word)
        if place < 0:
            return size, word
    return size, given


@dataclass(frozen=True)
class RawText:
    """The units of a split as text, mapped from the disk."""

    utf8: np.ndarray
    offsets: np.ndarray

    @classmethod
    def load(cls, column: Path) -> RawText | None:
        """The text beside a column's files; None if there is none: it is of the training split, or no text."""
        raw, offsets = (column.with_name(f"{column.name}.{suffix}") for suffix in ("raw", "raw_offsets"))
        if not offsets.exists():
            return None
        utf8 = np.memmap(raw, np.uint8, "r") if raw.stat().st_size else np.zeros(0, np.uint8)  # texts may be empty
        return cls(utf8, np.memmap(offsets, np.int64, "r"))

    def take(self, units: Iterable[int]) -> list[str]:
        """The text of these units."""
        bounds = ((int(self.offsets[unit]), int(self.offsets[unit + 1])) for unit in units)
        return [self.utf8[begin:end].tobytes().decode(errors="surrogatepass") for begin, end in bounds]


class RawWriter:
    """Appends text to a split, unit by unit."""

    def __init__(self, column: Path) -> None:
        self.utf8 = column.with_name(f"{column.name}.raw").open("wb")
        self.offsets = column.with_name(f"{column.name}.raw_offsets").open("wb")
        self.length = 0
        self._boundary()

    def _boundary(self) -> None:
        self.offsets.write(np.int64(self.length).tobytes())

    def add(self, utf8: bytes, last: bool) -> None:
        """A part of a unit; `last` ends it."""
        self.length += self.utf8.write(utf8)
        if last:
            self._boundary()

    def close(self) -> None:
        self.utf8.close()
        self.offsets.close()
