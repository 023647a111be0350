"""The verb of taggers: tag."""

from __future__ import annotations

from typing import Annotated

import typer

from lexigraph.cli.options import Device, RunArgument, Texts, load_model, read_texts


def tag(
    run: RunArgument,
    texts: Texts = None,
    conll: Annotated[bool, typer.Option("--conll", help="A word and its tag a line, as in CoNLL files.")] = False,
    device: Device = "auto",
) -> None:
    """The tag of every word of each text; words stand between white space."""
    model = load_model(run, device)
    for row in model.tag([text for text in read_texts(texts) if text.strip()]):
        if conll:
            print(*(f"{word.word}\t{word.tag}" for word in row), sep="\n", end="\n\n")
        else:
            print(*row)
