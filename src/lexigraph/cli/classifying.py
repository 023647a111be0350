"""The verb of classifiers: classify."""

from __future__ import annotations

from typing import Annotated

import typer

from lexigraph.cli.options import AsJson, Device, RunArgument, Texts, load_model, print_json, print_table, read_texts


def classify(
    run: RunArgument,
    texts: Texts = None,
    words: Annotated[int, typer.Option(min=0, help="Show so many words that speak for each class instead.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The class of each example: label, probability, text. Of pictures: their files."""
    model = load_model(run, device)
    if words:
        rows = [(name, word, f"{weight:+.3f}") for name, found in model.word_weights(words).items()
                for word, weight in found]  # fmt: skip
        print_table(("class", "word", "weight"), rows)
        return
    given = list(read_texts(texts))
    found = model.classify(given)
    if as_json:
        print_json([{"text": t, "label": c.label, "probabilities": c.probabilities}
                    for t, c in zip(given, found, strict=True)])  # fmt: skip
        return
    for text, each in zip(given, found, strict=True):
        print(f"{each.label}\t{each.probability:.4f}\t{text}")
