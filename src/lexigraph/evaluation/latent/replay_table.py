"""Tables of experiments with sentences, as `replay` reads them: tab-separated, the columns named in the first line.

    expression                  a sum of sentences, as `solve` takes it
    from, to, t                 an interpolation: the sentence at (1 - t) from + t to
    text                        a reconstruction: the sentence that comes back from the text's own vector
    intended                    what is expected; of a reconstruction, if nothing else, the text itself
    published, score            what somebody else found, and its log-probability: shown, not expected
    family                      a name to count by

A row is one of the three kinds, by the cells that it fills, so that one table may hold them all. Other columns are
notes, which are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from lexigraph.errors import LexigraphError
from lexigraph.latent.expression import Part, parse
from lexigraph.text.source import Source, line_blocks

KINDS = {"sum": ("expression",), "interpolation": ("from", "to", "t"), "reconstruction": ("text",)}
COLUMNS = (*chain.from_iterable(KINDS.values()), "intended", "published", "score", "family")
MOST_CHARS = 1_000_000  # of a line
WANTED = "`expression` or `text` or all of `from`, `to` and `t`"


@dataclass(frozen=True)
class Row:
    """One experiment: where it stands, its sentences with their weights, and what is known of the answer."""

    line: int
    kind: str
    family: str
    asked: Mapping[str, str]  # the cells that say what is asked, by column
    terms: tuple[Part, ...]
    intended: str = ""
    published: str = ""
    score: float | None = None  # of what was published


def read_table(file: str | Path) -> list[Row]:
    """The rows of a table; what cannot be read gets a sentence with the file and the line."""
    lines = enumerate(chain.from_iterable(line_blocks(Source(file), MOST_CHARS)), 1)
    filled = ((number, line.rstrip("\n")) for number, line in lines if line.strip())
    first, header = next(filled, (0, ""))
    names = [name.strip().lower() for name in header.split("\t")]
    _check_header(names, f"{file}, line {first}")
    rows = list(_rows(names, filled, str(file)))
    if not rows:
        raise LexigraphError(f"{file} has a line of column names and no rows: write an experiment a line below it.")
    return rows


def _check_header(names: list[str], where: str) -> None:
    for name in names:
        near = [] if name in COLUMNS else get_close_matches(name, COLUMNS, n=1, cutoff=0.75)
        if near:
            raise LexigraphError(f"{where}: there is no column {name!r}; is {near[0]!r} meant?")
        if name in COLUMNS and names.count(name) > 1:
            raise LexigraphError(f"{where}: the column {name!r} is named twice.")
    begun = [kind for kind, columns in KINDS.items() if set(columns) & set(names)]
    if not begun:
        raise LexigraphError(f"{where}: a column is missing: the first line names the columns, {WANTED}.")
    for kind in begun:
        if missing := [name for name in KINDS[kind] if name not in names]:
            raise LexigraphError(f"{where}: the column {missing[0]!r} is missing, which an {kind} needs.")


def _rows(names: list[str], lines: Iterator[tuple[int, str]], file: str) -> Iterator[Row]:
    for number, line in lines:
        where = f"{file}, line {number}"
        cells = line.split("\t")
        if len(cells) > len(names):
            raise LexigraphError(f"{where}: there are {len(cells)} cells, and the first line names {len(names)}.")
        row = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}
        yield _row(row, number, where)


def _row(cells: Mapping[str, str], line: int, where: str) -> Row:
    kinds = [kind for kind, columns in KINDS.items() if set(columns) & cells.keys()]
    if len(kinds) != 1:
        what = "two experiments at once" if kinds else "nothing"
        raise LexigraphError(f"{where}: this row asks for {what}. Fill {WANTED}.")
    kind = kinds[0]
    if empty := [name for name in KINDS[kind] if name not in cells]:
        raise LexigraphError(f"{where}: the cell {empty[0]!r} is empty, which an {kind} needs.")
    asked = {name: cells[name] for name in KINDS[kind]}
    if kind == "sum":
        try:
            terms = tuple(parse(cells["expression"]))
        except LexigraphError as error:
            raise LexigraphError(f"{where}: {error}") from None
    elif kind == "interpolation":
        t = _number(cells["t"], "t", where)
        terms = (Part(round(1 - t, 9), cells["from"]), Part(t, cells["to"]))
    else:
        terms = (Part(1.0, cells["text"]),)
    return Row(
        line,
        kind,
        cells.get("family", kind),
        asked,
        terms,
        cells.get("intended", cells.get("text", "")),
        cells.get("published", ""),
        _number(cells["score"], "score", where) if "score" in cells else None,
    )


def _number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell.replace("−", "-"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LexigraphError(f"{where}: {name} is {cell!r}, and must be a number such as 0.5.")
    return value
