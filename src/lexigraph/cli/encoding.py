"""The verb of models that see a whole text at once: fill."""

from __future__ import annotations

from typing import Annotated

import typer

from lexigraph.cli.options import Device, Int8, RunArgument, Texts, load_model, read_texts


def fill(
    run: RunArgument,
    texts: Texts = None,
    k: Annotated[int, typer.Option("-k", min=1, help="So many fillings of each text.")] = 5,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The most probable ways to fill the gaps of each text, written <mask>: probability, tokens, text."""
    model = load_model(run, device, int8)
    for text in read_texts(texts):
        for found in model.fill(text, k=k):
            print(f"{found.probability:.4f}\t{' '.join(found.tokens)}\t{found.text}")
