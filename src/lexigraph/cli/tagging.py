"""The verb of taggers: tag."""

from __future__ import annotations

from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    FromFile,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
)


def tag(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    conll: Annotated[bool, typer.Option("--conll", help="A word and its tag a line, as in CoNLL files.")] = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The tag of every word of each text; words stand between white space. Of frames: .npy files."""
    model = load_model(run, device)
    with Printer(as_json) as show:
        for text, row in answers(model.tag, read_texts(texts, file, blank=False)):
            shown = "".join("{}\t{}\n".format(*word) for word in row) if conll else " ".join(map(str, row))
            show(shown, {"text": text, "words": [word._asdict() for word in row]})
