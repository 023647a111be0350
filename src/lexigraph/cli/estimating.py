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
            lambda lines: model.estimate(_sequences(lines)), read_texts(sequences, file, tabs=True)
        ):
            show(f"{number:.6g}", {"vectors": _steps(line), "number": number})


def _sequences(lines: list[str]) -> list[list[list[float]]]:
    """The sequence on every line, or a sentence that names the line that has none by its number."""
    from lexigraph.abilities.asking import TextError

    found = []
    for number, line in enumerate(lines, 1):
        if (steps := _steps(line)) is None:
            why = f"is no sequence ({line!r:.60}): write a list of numbers for each step, [[0.3, 1], [0.9, 0]]."
            raise TextError(number, len(lines), why)
        found.append(steps)
    return found


def _steps(line: str) -> list[list[float]] | None:
    """The sequence on a line, if there is one."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    steps = found.get("vectors") if isinstance(found, dict) else found
    return steps if isinstance(steps, list) else None
