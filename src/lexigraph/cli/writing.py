"""The verb of models that write one text about another: summarise."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lexigraph.cli.options import (
    Alpha,
    AsJson,
    Beam,
    Device,
    FromFile,
    Int8,
    Printer,
    RunArgument,
    Texts,
    Towards,
    answers,
    load_model,
    read_texts,
)


def summarise(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    beam: Beam = 5,
    alpha: Alpha = 1.0,
    shortest: Annotated[int, typer.Option(min=0, help="At least so many tokens.")] = 0,
    longest: Annotated[int, typer.Option(min=0, help="At most so many tokens; 0: as the model can write.")] = 0,
    no_repeat: Annotated[int, typer.Option(min=0, help="No sequence of so many tokens twice; 0: it may.")] = 3,
    to: Towards = None,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """A summary of each text, by beam search; of a text that is too long for the model, of its beginning."""
    model = load_model(run, device, int8)
    ask = partial(
        model.summarise, beam=beam, alpha=alpha, shortest=shortest, longest=longest, no_repeat=no_repeat, to=to
    )
    with Printer(as_json) as show:
        for text, found in answers(ask, read_texts(texts, file)):
            show(found, {"text": text, "summary": found})
