"""The verb of parsers: parse."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    Force,
    FromFile,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
    write_text,
)
from lexigraph.errors import UsageError

Drawing = Annotated[
    Path | None, typer.Option("--svg", metavar="OUT", help="Draw it: tree.svg; of several, a folder for 0000.svg …")
]


def parse(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    svg: Drawing = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """How the words of each text hang together: its tree. One sentence each, words between white space."""
    given = read_texts(texts, file, blank=False)
    if svg:
        given = _drawable(given, svg, force)
    model = load_model(run, device)
    with Printer(as_json) as show:
        for number, (text, tree) in enumerate(answers(model.parse, given)):
            show(str(tree), {"text": text, **tree.record()})
            if svg:
                path = svg if svg.suffix == ".svg" else svg / f"{number:04}.svg"
                path.parent.mkdir(exist_ok=True)
                write_text(path, tree.svg(), "a drawing", force)


def _drawable(texts: Iterable[str], svg: Path, force: bool) -> Iterable[str]:
    """The texts, if there is room for their drawings."""
    from lexigraph.outputs import free_file, free_folder

    if svg.suffix != ".svg":
        free_folder(svg, "drawings", force, alike=lambda folder: all(f.suffix == ".svg" for f in folder.iterdir()))
        return texts
    free_file(svg, "a drawing", force=force)
    texts = list(texts)
    if len(texts) > 1:
        raise UsageError(
            f"{svg} holds one drawing, and there are {len(texts)} texts: name a folder, as in --svg out."
        )
    return texts
