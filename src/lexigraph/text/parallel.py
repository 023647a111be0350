"""Two files that say the same line by line, in two languages: `train.en+train.de` stands wherever pairs are expected.

With `de=train.en+train.de`, or `de=pairs.tsv`, all pairs have the direction `de`: what a model is told that learns to
write several languages.

Line n of one belongs to line n of the other. Lines that are blank in both are left out; one that is blank in a single
file, or has no counterpart, is refused with its number: from there on all pairs might be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text.readers import Record
from lexigraph.text.source import Source, line_blocks

BETWEEN = "+"
DIRECTED = re.compile(r"(<[^<>=\s/]+>|\w[\w-]*)=(.+)", re.DOTALL)


def directed(name: str) -> tuple[str, str]:
    """The direction that a name gives to its pairs, if it is no file itself, and what stands behind it.

    >>> directed("de=train.en+train.de"), directed("pairs.tsv")
    (('de', 'train.en+train.de'), ('', 'pairs.tsv'))
    """
    found = DIRECTED.fullmatch(name)
    return ("", name) if found is None or Path(name).exists() else (found[1], found[2])


def with_direction(records: Iterator[Record], direction: str, fields: Sequence[str], name: str) -> Iterator[Record]:
    """The records of a file, all of one direction; `fields`: where it goes."""
    if not fields:
        raise UsageError(f"{direction}={name} gives a direction, and this recipe reads none: translators do.")
    for record in records:
        if stated := [field for field in fields if field in record.columns]:
            raise UsageError(
                f"{direction}={name}, line {record.line}: there is a field {stated[0]!r} as well. Leave out "
                f"{direction}=, or the field in data.columns."
            )
        yield record._replace(columns=record.columns | dict.fromkeys(fields, direction))


def sides(name: str) -> tuple[str, str] | None:
    """The two files that a name stands for, if it is no file itself and both of them are."""
    return next(((one, other) for one, other in _halves(name) if Path(one).is_file() and Path(other).is_file()), None)


def refuse_half(name: str) -> None:
    """Of a name for two files, one may be there: say which one is not."""
    for halves in _halves(name):
        there = [Path(half).is_file() for half in halves]
        if any(there) and not all(there):
            one, missing = halves[there.index(True)], halves[there.index(False)]
            raise LexigraphError(f"{missing or 'The other half'}: no such file, to go with {one} line by line.")


def _halves(name: str) -> list[tuple[str, str]]:
    """What stands before and behind each sign between two files, if the name is not that of a file itself."""
    if Path(name).exists():
        return []
    return [(name[:place], name[place + 1 :]) for place, sign in enumerate(name) if sign == BETWEEN]


def records(sources: Sequence[Source], fields: Sequence[str], max_chars: int) -> Iterator[Record]:
    """The pairs of lines of two files, with the first field from the first file."""
    names = [str(source.path) for source in sources]
    if len(fields) != 2:
        raise UsageError(
            f"{BETWEEN.join(names)} are pairs of lines, and this recipe reads {' and '.join(fields)} of an example."
        )
    one, other = (chain.from_iterable(line_blocks(source, max_chars)) for source in sources)
    for number, (source, target) in enumerate(zip_longest(one, other), 1):
        if source is None or target is None:
            _refuse_lengths(names, number, source, target, one, other)
        blank = not source.strip(), not target.strip()
        if any(blank) and not all(blank):
            raise LexigraphError(
                f"{names[blank.index(True)]}, line {number}: nothing stands here, and line {number} of "
                f"{names[blank.index(False)]} is {(source + target).strip()[:40]!r}. Fill it, or leave both out."
            )
        if not any(blank):
            yield Record(dict(zip(fields, (source, target), strict=True)), number - 1, number)


def _refuse_lengths(
    names: Sequence[str],
    number: int,
    source: str | None,
    target: str | None,
    one: Iterator[str],
    other: Iterator[str],
) -> None:
    """Say how many lines each has, and where the first stands alone."""
    longer, text = (names[1], target) if source is None else (names[0], source)
    total = number + sum(1 for _ in (other if source is None else one))
    counts = {longer: total, names[source is not None]: number - 1}
    raise LexigraphError(
        f"{names[0]} has {counts[names[0]]:,} lines and {names[1]} {counts[names[1]]:,}: line {number:,} of "
        f"{longer}, {(text or '').strip()[:40]!r}, has no counterpart. Find the line from where on they do not fit."
    )
