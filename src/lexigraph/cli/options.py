"""What the verbs of the command line have in common: their arguments and options, and how text comes and goes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lexigraph.abilities.textmodel import TextModel

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the name of a bundled model.")]
Device = Annotated[str, typer.Option(help="auto (CUDA, MPS, CPU), cpu, cuda, mps.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrainingText = Annotated[str | None, typer.Option(help="Training text, or `grammar` for the built-in corpus.")]
Texts = Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts; none: one a line on stdin.")]
Beam = Annotated[int, typer.Option(min=1, max=10_000, help="Beam width.")]
Measure = Annotated[str, typer.Option(help="cosine or euclidean.")]
Quick = Annotated[bool, typer.Option("--quick", help="Smaller samples.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Alpha = Annotated[float, typer.Option(help="Length penalty: scores are Σ log p / T^alpha.")]
Int8 = Annotated[bool, typer.Option("--int8", help="On a CPU: products in 8 bits, faster and a little less exact.")]


def load_model(run: Path, device: str, int8: bool = False) -> TextModel:
    """The model in a run folder; of one in 8 bits, it says what that costs."""
    from lexigraph.abilities.textmodel import TextModel

    model = TextModel.load(run, device, int8)
    if int8:
        unknown = f"In 8 bits. `lexigraph eval {run} --data FILE --int8` tells what that costs."
        notify(_cost_of_int8(run) or unknown)
    return model


def _cost_of_int8(folder: Path) -> str:
    """What `eval --int8` found last."""
    from lexigraph.run import Run

    run = Run.open(folder)
    files = run.json("results.json").get("files", {}) if run.finished else {}
    for file, scores in reversed(files.items()):
        for name, rounded in scores.get("int8", {}).items():
            if isinstance(rounded, dict) and "value" in rounded:
                return f"In 8 bits: {name} {rounded['value']:.4f} instead of {scores[name]['value']:.4f} on {file}."
    return ""


def read_texts(texts: list[str] | None, file: str | None = None) -> Iterator[str]:
    """Texts from the arguments, a file, or standard input, one a line."""
    if texts:
        yield from texts
    elif file:
        from lexigraph.text.corpus import texts_of

        yield from texts_of(file)
    else:
        if sys.stdin.isatty():
            notify("Reading texts from standard input, one a line; end with Ctrl-D.")
        yield from (line.rstrip("\n") for line in sys.stdin)


def first_process() -> bool:
    """Whether this is the first of several processes, which speaks for all."""
    return os.environ.get("RANK", "0") == "0"


def notify(sentence: str) -> None:
    """A line for the person at the keyboard: on standard error, so that results can be piped."""
    print(sentence, file=sys.stderr)


def say(text: str) -> None:
    """A piece of a result, as soon as it is there."""
    print(text, end="", flush=True)


def write_text(path: Path, text: str) -> None:
    """A whole file or none."""
    from lexigraph.run import replacing

    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table for people on a terminal, tab-separated lines for programs."""
    if not sys.stdout.isatty():
        for row in ([columns] if any(columns) else []) + list(rows):
            print(*row, sep="\t")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, show_header=any(columns), box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*map(Text, row))  # as it is: a text may hold [brackets]
    Console().print(table)
