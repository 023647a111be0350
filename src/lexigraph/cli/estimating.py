"""The verb of regressors: estimate."""

from __future__ import annotations

import json

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
from lexigraph.errors import UsageError


def estimate(
    run: RunArgument,
    sequences: Texts = None,
    file: FromFile = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """A number for each sequence of vectors: JSON, a list of numbers for each step, as [[0.3, 1], [0.9, 0]].

    In a file of records, it is the field `vectors`.
    """
    model = load_model(run, device)
    with Printer(as_json) as show:
        for line, number in answers(
            lambda lines: model.estimate(list(map(_steps, lines))), read_texts(sequences, file, tabs=True)
        ):
            show(f"{number:.6g}", {"vectors": _steps(line), "number": number})


def _steps(line: str) -> list[list[float]]:
    """The sequence on a line."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    steps = found.get("vectors") if isinstance(found, dict) else found
    if not isinstance(steps, list):
        raise UsageError(f"{line!r:.60} is no sequence: write a list of numbers for each step, [[0.3, 1], [0.9, 0]].")
    return steps
