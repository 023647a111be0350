"""The verbs of models that translate: translate, align."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    notify,
    read_texts,
)

if TYPE_CHECKING:
    from lexigraph.abilities.translating import Translation


def translate(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    n_best: Annotated[
        int, typer.Option(min=1, max=1000, help="So many translations of each: score, Σ log p, text.")
    ] = 1,
    length: Annotated[
        Literal["power", "gnmt"],
        typer.Option(help="What scores are divided by: power: T^alpha; gnmt: ((5 + T) / 6)^alpha."),
    ] = "power",
    coverage: Annotated[
        float, typer.Option(min=0, help="Penalty for what was not looked at, as 0.2; 0: none.")
    ] = 0.0,
    copy_unknown: Annotated[
        bool, typer.Option("--copy-unknown", help="For an unknown word, write the one of the source it looked at.")
    ] = False,
    temperature: Annotated[
        float, typer.Option(min=0, help="Above 0: draw --n-best translations, score Σ log p, instead of searching.")
    ] = 0.0,
    top_p: Annotated[
        float, typer.Option(min=0, max=1, help="--temperature: only the most probable tokens of mass p; 1: all.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="--temperature: the same seed gives the same texts.")] = 0,
    to: Towards = None,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Each piece written, and what it looked at.")
    ] = False,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Translate each text, by beam search or (--temperature) by drawing."""
    model = load_model(run, device, int8)
    ask = partial(
        model.translate,
        beam=beam,
        alpha=alpha,
        n_best=n_best,
        to=to,
        alignment=alignment,
        length=length,
        coverage=coverage,
        copy_unknown=copy_unknown,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
    )
    with Printer(as_json) as show:
        for text, found in answers(ask, read_texts(texts, file)):
            if isinstance(found, str):
                show(found, {"text": text, "translation": found})
                continue
            for each in found:
                line = f"{each.score:.4f}\t{each.log_probability:.4f}\t{each.text}" if n_best > 1 else each.text
                item = {"text": text, "translation": each.text, "score": each.score}
                item |= {"log_probability": each.log_probability}
                if alignment:
                    pieces = _looked_at(each)
                    line = "\n".join([line, *(f"  {a}\t{b}\t{share:.2f}" for a, b, share in pieces)])
                    item |= {"alignment": pieces}
                show(line, item)


def align(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The true links, a line each: say the error, too.")
    ] = None,
    to: Towards = None,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Which word of a source each word of its translation comes from: `source, tab, target` gives 0-0 1-2 …"""
    from lexigraph.evaluation.alignment import TrueLinks

    model, true = load_model(run, device, int8), TrueLinks(gold) if gold else None
    found: list[list[tuple[int, int]]] = []
    with Printer(as_json) as show:
        for text, links in answers(partial(model.align_lines, to=to), read_texts(texts, file, tabs=True)):
            found.append(links)
            written = " ".join(f"{source}-{target}" for source, target in links)
            show(written, {"text": text, "alignment": written})
    if true:
        notify(str(true.scores(found)))


def _looked_at(found: Translation) -> list[tuple[str, str, float]]:
    """Each piece that was written, the piece of the source that it looked at most, and how much."""
    assert found.alignment is not None
    rows = zip(found.target, found.alignment, strict=True)
    return [(piece.strip(), found.source[row.argmax()].strip(), float(row.max())) for piece, row in rows]
