"""The verb of models of pictures and texts: match."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from lexigraph.errors import UsageError


def match(
    run: RunArgument,
    pictures: Texts = None,
    file: FromFile = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="What may go with a picture; may be given again.")
    ] = None,
    template: Annotated[
        str, typer.Option(metavar="'A {} .'", help="What the texts stand in: with names of classes, it classifies.")
    ] = "{}",
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """How well texts go with each picture, the best first: picture, score, share of probability, text."""
    if not text:
        raise UsageError("Say what the pictures may show: --text 'a dog' --text 'a cat'.")
    model = load_model(run, device)

    def ask(names: list[str]) -> list[Any]:
        return model.match([Path(name) for name in names], texts=text, template=template)

    with Printer(as_json) as show:
        for name, found in answers(ask, read_texts(pictures, file)):
            for each in found:
                show(f"{name}\t{each.score:.4f}\t{each.probability:.4f}\t{each.text}", {"picture": name} | vars(each))
