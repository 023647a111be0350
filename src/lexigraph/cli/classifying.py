"""The verb of classifiers: classify."""

from __future__ import annotations

from typing import Annotated

import typer

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
    print_json,
    print_table,
    read_texts,
)
from lexigraph.errors import UsageError


def classify(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    words: Annotated[int, typer.Option(min=0, help="Show so many words that speak for each class instead.")] = 0,
    weights: Annotated[
        bool, typer.Option("--weights", help="Show how much of each word it took, where attention pools the words.")
    ] = False,
    svg: Drawing = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """The class of each example: label, probability, text. Of pictures: their files; of trees: in brackets; of pairs:
    two texts with a tab between."""
    from lexigraph.nn.network import columns_of
    from lexigraph.nn.text_vectors import OTHER

    model = load_model(run, device)
    if words:
        speak_for = model.word_weights(words)
        if as_json:
            print_json(
                {name: [{"word": word, "weight": w} for word, w in found] for name, found in speak_for.items()}
            )
            return
        rows = [(name, word, f"{w:+.3f}") for name, found in speak_for.items() for word, w in found]
        print_table(("class", "word", "weight"), rows)
        return
    lines = read_texts(texts, file, tabs=OTHER in columns_of(model.recipe))
    if svg:
        lines = drawable(lines, svg, force)
    with Printer(as_json) as show:
        for number, (text, found) in enumerate(answers(model.classify, lines)):
            item = {"text": text, "label": found.label, "probabilities": found.probabilities, **found.record()}
            if weights:
                if not found.attention:
                    raise UsageError(f'{run} does not pool by attention: train it with model.pooling = "attention".')
                text = " ".join(f"{word.strip()}:{weight:.2f}" for word, weight in found.attention)
                item["attention"] = [{"token": word, "weight": weight} for word, weight in found.attention]
            if svg:
                draw(found.svg(), svg, number, force)
            show(f"{found.label}\t{found.probability:.4f}\t{text}", item)
