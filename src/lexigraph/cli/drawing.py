"""Drawings of answers: one into a file, several into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import write_text
from lexigraph.errors import UsageError

Drawing = Annotated[
    Path | None, typer.Option("--svg", metavar="OUT", help="Draw it: tree.svg; of several, a folder for 0000.svg …")
]
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".eps", ".html")  # of other kinds, and no names of folders


def drawable(lines: Iterable[str], svg: Path, force: bool) -> Iterator[str]:
    """The texts, if there is room for their drawings."""
    from lexigraph.outputs import free_file, free_folder

    if svg.suffix.lower() in PICTURES:
        raise UsageError(f"{svg}: drawings are SVG files: name one, as in --svg tree.svg, or a folder for several.")
    rest = iter(lines)
    first = list(islice(rest, 2))
    if svg.suffix != ".svg":
        free_folder(svg, "drawings", force, alike=lambda folder: all(f.suffix == ".svg" for f in folder.iterdir()))
    elif len(first) > 1:
        raise UsageError(
            f"{svg} holds one drawing, and there are several texts: name a folder, as in --svg drawings."
        )
    else:
        free_file(svg, "a drawing", force=force)
    return chain(first, rest)


def draw(drawing: str, svg: Path, number: int, force: bool) -> None:
    """Write the drawing of one of the answers."""
    path = svg if svg.suffix == ".svg" else svg / f"{number:04}.svg"
    path.parent.mkdir(exist_ok=True)
    write_text(path, drawing, "a drawing", force)
