"""The verb of models that write one text from another: translate."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from lexigraph.cli.options import Alpha, Beam, Device, Int8, RunArgument, Texts, load_model, read_texts


def translate(
    run: RunArgument,
    texts: Texts = None,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    n_best: Annotated[int, typer.Option(min=1, help="So many translations of each: score, Σ log p, text.")] = 1,
    direction: Annotated[str, typer.Option(help="The special token of what is wanted, as <2de>.")] = "",
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Each piece written, and what it looked at.")
    ] = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Translate each text by beam search."""
    model, lines = load_model(run, device, int8), list(read_texts(texts))
    translate = partial(model.translate, lines, beam=beam, alpha=alpha, n_best=n_best, direction=direction)
    if n_best == 1 and not alignment:
        print(*translate(), sep="\n")
        return
    for found in translate(alignment=alignment):
        for each in found:
            print(f"{each.score:.4f}\t{each.log_probability:.4f}\t{each.text}" if n_best > 1 else each.text)
            if alignment:
                for piece, row in zip(each.target, each.alignment, strict=True):
                    print(f"  {piece.strip()}\t{each.source[row.argmax()].strip()}\t{row.max():.2f}")
