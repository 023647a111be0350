"""The suite's results as tables, for the terminal and for a page.

A figure is {"value", "interval"}. Figures that stand side by side become lines; groups of figures that stand side by
side become the rows of one table, with a column for each figure. Half the width of the interval stands behind ±.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class Table(NamedTuple):
    """A part of the results."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def tables(results: Mapping[str, Any]) -> list[Table]:
    """All parts, in their order; the signature is the last."""
    parts = [name for name in results if name not in ("signature", "seconds")]
    found = [table for name in parts for table in _tables(name, results[name])]
    signature = [(name, str(value)) for name, value in results.get("signature", {}).items()]
    return [*found, Table("signature", ("", ""), signature)] if signature else found


def _tables(title: str, part: Mapping[str, Any]) -> Iterator[Table]:
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
            deeper = {
                inner: found for inner, found in value.items() if isinstance(found, Mapping) and not cell(found)
            }
            yield from _tables(f"{title}: {_plain(name)}", deeper)
        elif isinstance(value, Mapping) and not cell(value):
            yield from _tables(f"{title}: {_plain(name)}", value)


def cell(value: Any) -> str:
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


def _is_figure(value: Any) -> bool:
    return isinstance(value, Mapping) and {"value", "interval"} <= value.keys()


def _is_group(value: Any) -> bool:
    """Whether there are figures right inside."""
    return isinstance(value, Mapping) and not _is_figure(value) and any(map(_is_figure, value.values()))


def _plain(name: str) -> str:
    return name.replace("_", " ")
