"""What the suites of `lexigraph eval` have in common: where they go, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lexigraph.cli.options import notify, print_json, print_table, write_text
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.evaluation.latent.tables import Table


def suite_file(run: Path, name: str, out: Path | None, force: bool) -> Path:
    """Where a suite is saved, if it may be."""
    from lexigraph.outputs import free_file
    from lexigraph.run import Run

    opened = Run.open(run)
    if out is None and opened.bundled:
        raise UsageError("A bundled model's folder is not written to: say where the suite goes with --out FILE.json.")
    file = out or opened.path / name
    for written, kind in ((file, ".json"), (file.with_suffix(".html"), ".html")):
        free_file(written, "a suite", (kind,), force)
    return file


def show(
    title: str,
    about: str,
    found: Sequence[Table],
    results: Mapping[str, object],
    file: Path,
    force: bool,
    as_json: bool,
) -> None:
    """A suite as tables, and saved as JSON and as a page."""
    from lexigraph.outputs import json_text
    from lexigraph.views import report

    sections: dict[str, str] = {}
    for table in found:
        sections[table.title] = sections.get(table.title, "") + report.table(table.columns, table.rows)
    page = report.page(title, about, sections)
    write_text(file, json_text(results, indent=1), "a suite", force)
    write_text(file.with_suffix(".html"), page, "a suite", force)
    if as_json:
        print_json(results)
        return
    for table in found:
        print(f"\n{table.title}")
        print_table(table.columns, table.rows)
    notify(f"Saved as {file} and {file.with_suffix('.html')}.")
