"""The verb of models that say a number: estimate."""

from __future__ import annotations

from lexigraph.cli.options import (
    AsJson,
    Device,
    FromFile,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    read_texts,
)


def estimate(
    run: RunArgument,
    sequences: Texts = None,
    file: FromFile = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """A number for each pair of texts, with a tab between, or for each sequence of vectors: [[0.3, 1], [0.9, 0]].

    In a file of records, sequences are the field `vectors`.
    """
    model = load_model(run, device)
    with Printer(as_json) as show:
        for _, (fields, number) in answers(model.estimate_lines, read_texts(sequences, file, tabs=True)):
            show(f"{number:.6g}", {**fields, "number": number})
