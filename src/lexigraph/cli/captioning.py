"""The verb of captioners: caption."""

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
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
)


def caption(
    run: RunArgument,
    pictures: Texts = None,
    file: FromFile = None,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    n_best: Annotated[int, typer.Option(min=1, max=1000, help="So many captions of each: score, Σ log p, text.")] = 1,
    temperature: Annotated[
        float, typer.Option(min=0, help="Above 0: draw --n-best captions, score Σ log p, instead of searching.")
    ] = 0.0,
    top_p: Annotated[
        float, typer.Option(min=0, max=1, help="--temperature: only the most probable tokens of mass p; 1: all.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="--temperature: the same seed gives the same captions.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """What is to be seen in each picture, named by its file."""
    model = load_model(run, device)
    ask = partial(
        model.caption, beam=beam, alpha=alpha, n_best=n_best, temperature=temperature, top_p=top_p, seed=seed
    )
    with Printer(as_json) as show:
        for name, found in answers(ask, read_texts(pictures, file)):
            if isinstance(found, str):
                show(found, {"picture": name, "caption": found})
                continue
            for each in found:
                item = {"picture": name, "caption": each.text, "score": each.score}
                show(
                    f"{each.score:.4f}\t{each.log_probability:.4f}\t{each.text}",
                    item | {"log_probability": each.log_probability},
                )
