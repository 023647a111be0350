"""The suite's results as tables, for the terminal and for a page.

A figure is {"value", "interval"}. Figures that stand side by side become lines; groups of figures that stand side by
side become the rows of one table, with a column for each figure. Half the width of the interval stands behind ±.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from lexigraph.evaluation.intervals import Figure
from lexigraph.evaluation.latent.sentences import Mean, Result


class Table(NamedTuple):
    """A part of the results."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def tables(results: Mapping[str, Mapping[str, Result]]) -> list[Table]:
    """All parts, in their order; the signature is the last."""
    parts = [name for name in results if name not in ("signature", "seconds")]
    found = [table for name in parts for table in _tables(name, results[name])]
    signature = [(name, str(value)) for name, value in results.get("signature", {}).items()]
    return [*found, Table("signature", ("", ""), signature)] if signature else found


def _tables(title: str, part: Mapping[str, Result]) -> Iterator[Table]:
    lines = [(_plain(name), text) for name, value in part.items() if (text := cell(value))]
    if lines:
        yield Table(title, ("figure", "value"), lines)
    groups = {name: value for name, value in part.items() if _is_group(value)}
    if groups:
        columns = list(dict.fromkeys(name for group in groups.values() for name in group if cell(group[name])))
        rows = [(_plain(name), *(cell(group.get(column)) for column in columns)) for name, group in groups.items()]
        yield Table(title, ("", *map(_plain, columns)), rows)
    for name, value in part.items():
        if _is_group(value):  # its figures stand above; what lies deeper has tables of its own
            deeper = {inner: found for inner, found in value.items() if _is_deeper(found)}
            yield from _tables(f"{title}: {_plain(name)}", deeper)
        elif _is_deeper(value):
            yield from _tables(f"{title}: {_plain(name)}", value)


def cell(value: Result | None) -> str:
    """A figure, a number or a short text; nothing for what is none.

    >>> cell({"value": 0.9512, "interval": [0.94, 0.96]})
    '0.951 ±0.010'
    """
    if _is_figure(value):
        if value["value"] is None:
            return "–"
        ends = value["interval"]
        return number(value["value"]) + (f" ±{number((ends[1] - ends[0]) / 2)}" if ends else "")
    if isinstance(value, Mapping):
        if not value or not all(isinstance(count, int) for count in value.values()):
            return ""
        return ", ".join(f"{count} {_plain(name)}" for name, count in value.items() if count) or "none"
    if isinstance(value, float):
        return number(value)
    return str(value) if isinstance(value, int) or (isinstance(value, str) and len(value) < 90) else ""


def number(value: float) -> str:
    """Three decimals, fewer for large numbers."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"


def _is_figure(value: object) -> TypeGuard[Figure | Mean]:
    return isinstance(value, Mapping) and {"value", "interval"} <= value.keys()


def _is_group(value: object) -> TypeGuard[Mapping[str, Result]]:
    """Whether there are figures right inside."""
    return isinstance(value, Mapping) and not _is_figure(value) and any(map(_is_figure, value.values()))


def _is_deeper(value: Result) -> TypeGuard[Mapping[str, Result]]:
    """Whether there is more inside than a cell holds."""
    return isinstance(value, Mapping) and not cell(value)


def _plain(name: str) -> str:
    return name.replace("_", " ")
