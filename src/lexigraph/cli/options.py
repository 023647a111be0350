"""What the verbs of the command line have in common: their arguments and options, and how text comes and goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, overload

import typer

from lexigraph.errors import LexigraphError, UsageError

if TYPE_CHECKING:
    from lexigraph.abilities.textmodel import TextModel

MOST_CHARS = 1_000_000  # of a line with tabs, or of standard input
CHUNK = 1 << 16  # bytes of standard input that are read at once
KERNELS = "128"  # that oneDNN keeps, one for each shape of a batch: its 1,024 would grow in a stream without end
Answer = TypeVar("Answer")
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the name of a bundled model.")]
Device = Annotated[str, typer.Option(help="auto (CUDA, MPS, CPU), cpu, cuda, mps.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FORMS = "A file, folder, 'pattern*' or - for stdin; may be given again"
TrainingText = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help=f"Training text. {FORMS}; `grammar`: the built-in corpus.")
]
HeldOut = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A text of its own; else part of --data.")]
SplitSentences = Annotated[bool, typer.Option("--split-sentences", help="Cut running text into sentences.")]
Texts = Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts; none: one a line on stdin.")]
FromFile = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="Texts from a file, one a line; -: from standard input.")
]
Beam = Annotated[int, typer.Option(min=1, max=1000, help="Beam width.")]
Measure = Annotated[str, typer.Option(help="cosine or euclidean.")]
Quick = Annotated[bool, typer.Option("--quick", help="Smaller samples.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Alpha = Annotated[float, typer.Option(help="Length penalty: scores are Σ log p / T^alpha.")]
Towards = Annotated[
    str | None,
    typer.Option("--to", help="Of a translator: the language wanted, as de, or a mixture, as de=0.6,fr=0.4."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Int8 = Annotated[bool, typer.Option("--int8", help="On a CPU: products in 8 bits, faster and a little less exact.")]


def load_model(run: Path, device: str, int8: bool = False) -> TextModel:
    """The model in a run folder; of one in 8 bits, it says what that costs."""
    from lexigraph.abilities.textmodel import TextModel

    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KERNELS)
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
            if isinstance(rounded, dict) and isinstance(rounded.get("value"), float):
                return f"In 8 bits: {name} {rounded['value']:.4f} instead of {scores[name]['value']:.4f} on {file}."
    return ""


class Arriving:
    """Lines of standard input, as they come: whoever writes the next one may have to see the last answer first.

    So a block is what has come by the time that it is asked for: one line of a slow writer, thousands of a fast one.
    """

    def __init__(self, wanted: Callable[[str], object]) -> None:
        self.wanted = wanted

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.blocks())

    def blocks(self) -> Iterator[list[str]]:
        number = 0
        for block in _arriving_lines():
            number += len(block)
            if wanted := [line for line in block if self.wanted(line)]:
                yield wanted
        if not number:
            raise UsageError("There is no text: give texts as arguments, --file FILE, or lines on standard input.")


def _arriving_lines() -> Iterator[list[str]]:
    """All whole lines that have come, without their ends."""
    if sys.stdin.isatty():
        notify("Reading texts from standard input, one a line; end with Ctrl-D.")
    binary, rest, number = getattr(sys.stdin, "buffer", None), b"", 0
    if binary is None:  # text that stands in for it
        if lines := sys.stdin.read().split("\n"):
            yield lines if lines[-1] else lines[:-1]
        return
    while chunk := binary.read1(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield _decoded(lines, number)
        number += len(lines)
        if len(rest) > MOST_CHARS:
            raise LexigraphError(f"Standard input, line {number + 1}, has over {MOST_CHARS:,} bytes: end it.")
    if rest:
        yield _decoded([rest], number)


def _decoded(lines: list[bytes], number: int) -> list[str]:
    """Lines of text, of which so many came before."""
    found = []
    for number, line in enumerate(lines, number + 1):  # noqa: B020
        try:
            found.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            raise LexigraphError(f"Standard input, line {number}, is not UTF-8 text: {error}.") from None
    return found


def read_texts(
    texts: list[str] | None, file: str | None = None, *, tabs: bool = False, blank: bool = True
) -> Iterable[str]:
    """Texts from the arguments, a file, or standard input, one a line; at least one.

    tabs: what stands on a line is one, though tabs divide it, even in a .tsv file. blank: so are blank lines of
    standard input.
    """
    if texts and file:
        raise UsageError("Texts come as arguments or from --file, not both: leave out one of them.")
    if texts:
        return texts
    if not file or file == "-":
        return Arriving((lambda line: True) if blank else str.strip)
    if tabs:
        return _lines_with_tabs(file)
    from lexigraph.text.corpus import texts_of

    return texts_of(file)


def _lines_with_tabs(file: str) -> Iterator[str]:
    """The lines of a file; of two that belong together, and of a built-in corpus, a source, a tab and its target."""
    from lexigraph.sections import Data
    from lexigraph.text import builtin, files, parallel
    from lexigraph.text.source import Source, line_blocks

    both, sides = parallel.sides(file), ("source", "target")
    if both or files.built_in(file):
        pairs = parallel.records([Source(name) for name in both], sides, MOST_CHARS) if both else None
        records = pairs or builtin.records(sides, Data().sentences, file)
        return ("\t".join(record.columns[side].replace("\t", " ") for side in sides) for record in records)
    return (line for block in line_blocks(Source(file), MOST_CHARS) for line in block if line)


def answers(ask: Callable[[list[str]], Sequence[Answer]], texts: Iterable[str]) -> Iterator[tuple[str, Answer]]:
    """Each text with its answer, asked for in blocks, so that memory does not grow with the number of texts.

    What was answered is written before the next text is waited for.
    """
    from lexigraph.abilities.asking import TextError
    from lexigraph.abilities.index import blocks

    done = 0
    for block in chain.from_iterable(map(blocks, texts.blocks() if isinstance(texts, Arriving) else [texts])):
        try:
            found = ask(block)
        except TextError as error:
            raise error.after(done) from None
        yield from zip(block, found, strict=True)
        sys.stdout.flush()
        done += len(block)


class Printer:
    """Answers on standard output as they come: lines of text or, with --json, the items of one list."""

    def __init__(self, as_json: bool) -> None:
        self.as_json, self.items = as_json, 0

    def __call__(self, text: str, item: Mapping[str, object]) -> None:
        if self.as_json:
            from lexigraph.outputs import json_text

            print(",\n " if self.items else "[", json_text(item), sep="", end="")
        else:
            print(text)
        self.items += 1

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.as_json and kind is None:
            print("]" if self.items else "[]")


@overload
def paths(names: list[str]) -> list[Path]: ...
@overload
def paths(names: None) -> None: ...
def paths(names: list[str] | None) -> list[Path] | None:
    """What an option names, as files: no text stands on the command line."""
    if names and not all(names):
        raise UsageError("An empty name stands where a text should be named, in --data, --valid or --test.")
    return [Path(name) for name in names] if names else None


def first_process() -> bool:
    """Whether this is the first of several processes, which speaks for all."""
    return os.environ.get("RANK", "0") == "0"


def notify(sentence: str) -> None:
    """A line for the person at the keyboard: on standard error, so that results can be piped."""
    print(sentence, file=sys.stderr)


def say(text: str) -> None:
    """A piece of a result, as soon as it is there."""
    print(text, end="", flush=True)


def write_text(path: Path, text: str, what: str, force: bool) -> None:
    """A whole file or none; the guard stands here once more, for much may have happened since the work began."""
    from lexigraph.outputs import free_file
    from lexigraph.run import replacing

    with replacing(free_file(path, what, force=force)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    from lexigraph.outputs import json_text

    print(json_text(value, indent=2))


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
