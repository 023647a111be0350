"""The verb of models that see a whole text at once: fill."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    FromFile,
    Int8,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
)


def fill(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100_000, help="So many fillings of each text.")] = 5,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The most probable ways to fill the gaps of each text, written <mask>: probability, tokens, text."""
    model = load_model(run, device, int8)
    with Printer(as_json) as show:
        for text, fillings in answers(partial(model.fill, k=k), read_texts(texts, file)):
            for one in fillings:
                item = {"text": text, "probability": one.probability, "tokens": one.tokens, "filled": one.text}
                show(f"{one.probability:.4f}\t{' '.join(one.tokens)}\t{one.text}", item)
