"""The verb of models that choose: choose."""

from __future__ import annotations

from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    FromFile,
    Printer,
    RunArgument,
    answers,
    load_model,
    read_texts,
)


def choose(
    run: RunArgument,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT CHOICE CHOICE]...", help="A text and its candidates; none: lines on stdin."),
    ] = None,
    file: FromFile = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Which of several candidates goes with a text: number (counted from 0), candidate, probability.

    In a file or on standard input, the text and its candidates are one line, with tabs between.
    """
    model = load_model(run, device)
    lines = read_texts(["\t".join(texts)] if texts else None, file, tabs=True)
    with Printer(as_json) as show:
        for line, found in answers(lambda lines: model.choose([_question(line) for line in lines]), lines):
            text, choices = _question(line)
            item = {"text": text, "choices": choices, "label": found.number, "probabilities": found.probabilities}
            show(f"{found.number}\t{found.text}\t{found.probability:.4f}", item)


def _question(line: str) -> tuple[str, list[str]]:
    """A text and its candidates, from a line with tabs between."""
    text, *choices = line.split("\t")
    return text, choices
