"""The verb of parsers: parse."""

from __future__ import annotations

from lexigraph.cli.drawing import Drawing, draw, drawable
from lexigraph.cli.options import (
    AsJson,
    Device,
    Force,
    FromFile,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
)


def parse(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    svg: Drawing = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """How the words of each text hang together: its tree. One sentence each, words between white space."""
    given = read_texts(texts, file, blank=False)
    if svg:
        given = drawable(given, svg, force)
    model = load_model(run, device)
    with Printer(as_json) as show:
        for number, (text, tree) in enumerate(answers(model.parse, given)):
            show(str(tree), {"text": text, **tree.record()})
            if svg:
                draw(tree.svg(), svg, number, force)
