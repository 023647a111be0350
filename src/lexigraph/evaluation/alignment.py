"""How well words of a translation are told to come from words of its source.

    AER = 1 - 2 |A ∩ S| / (|A| + |S|)        A: links that were found, S: the true ones (Och & Ney 2003, all sure)

Precision is |A ∩ S| / |A|, recall |A ∩ S| / |S|, and 1 - AER their harmonic mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lexigraph.errors import UsageError
from lexigraph.text.source import Source, line_blocks

Links = Sequence[tuple[int, int]]  # word of the source, word of the target
LONGEST = 1_000_000  # characters of a line


class AlignmentScores(NamedTuple):
    """What is measured of links."""

    aer: float
    precision: float
    recall: float
    links: int  # true ones

    def __str__(self) -> str:
        return (
            f"alignment error {self.aer:.2%} (precision {self.precision:.2%}, recall {self.recall:.2%}) "
            f"of {self.links:,} links"
        )


def alignment_scores(found: Iterable[Links], true: Iterable[Links]) -> AlignmentScores:
    """The error over all sentences.

    >>> alignment_scores([[(0, 0), (1, 1), (0, 1), (2, 1)]], [[(0, 0), (1, 1), (2, 2), (1, 2)]])
    AlignmentScores(aer=0.5, precision=0.5, recall=0.5, links=4)
    """
    both = called = wanted = 0
    for one, other in zip(found, true, strict=True):
        both, called, wanted = both + len(set(one) & set(other)), called + len(set(one)), wanted + len(set(other))
    share = 2 * both / (called + wanted) if called + wanted else 1.0
    return AlignmentScores(1 - share, both / called if called else 0.0, both / wanted if wanted else 0.0, wanted)


def read_links(line: str, where: str = "") -> Links:
    """Links as they are written in files.

    >>> read_links("0-0 1-3")
    [(0, 0), (1, 3)]
    """
    found = []
    for link in line.split():
        source, _, target = link.partition("-")
        if not (source.isdecimal() and target.isdecimal()):
            raise UsageError(f"{where}{link!r} is no link: pairs of word numbers are expected, as 0-0 1-3.")
        found.append((int(source), int(target)))
    return found


class TrueLinks:
    """The links of a file, a line for each pair of sentences, to compare found ones with."""

    def __init__(self, path: Path) -> None:
        lines = chain.from_iterable(line_blocks(Source(path), LONGEST))
        self.path = path
        self.links = [read_links(line, f"{path}, line {number}: ") for number, line in enumerate(lines, 1)]

    def scores(self, found: Sequence[Links]) -> AlignmentScores:
        """The error of the links of as many pairs."""
        if len(found) != len(self.links):
            raise UsageError(f"There are {len(found):,} pairs, and {self.path} has {len(self.links):,} lines.")
        return alignment_scores(found, self.links)
