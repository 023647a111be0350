"""The verb of question answering: answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import AsJson, Device, Printer, RunArgument, answers, load_model, read_texts
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.abilities.answering import Answer, Candidate


def answer(
    run: RunArgument,
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION]...", help="Questions; none: one a line on stdin.")
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="FILE", help="A text that is asked; may be given again. -: standard input."),
    ] = None,
    context: Annotated[
        list[str] | None, typer.Option("--context", metavar="TEXT", help="The same, as text; may be given again.")
    ] = None,
    n_best: Annotated[int, typer.Option(min=1, max=20, help="Show so many candidates for each question.")] = 1,
    threshold: Annotated[
        float | None, typer.Option(help="How much better than no answer one must be, in nats; else as validated.")
    ] = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The answer to each question, cut from a text: score, where it stands, answer. Of all texts, the best."""
    if file and context:
        raise UsageError("Texts that are asked come from --file or as --context, not both: leave out one of them.")
    if not file and not context:
        if not questions:
            raise UsageError('Say which text is asked: --file FILE or --context "TEXT", and the questions.')
        file = ["-"]
    if not questions and "-" in (file or ()):
        raise UsageError("Standard input cannot hold both questions and text: give questions as arguments.")
    names, passages = _passages(file) if file else (["text"] * len(context or ()), list(context or ()))
    model = load_model(run, device)
    with Printer(as_json) as show:
        for question, found in answers(
            lambda block: model.answer(block, passages, n_best=n_best, threshold=threshold),
            read_texts(questions, blank=False),
        ):
            candidates = [
                {"text": each.text, "score": each.score, "begin": each.begin, "end": each.end}
                | {"passage": each.passage, "where": _where(each, names, passages)}
                for each in found.candidates
            ]
            show(
                _lines(found, names, passages), {"question": question, "answer": found.text, "candidates": candidates}
            )


def _passages(given: list[str]) -> tuple[list[str], list[str]]:
    """The texts of files, whole, and their names."""
    from lexigraph.text.files import STDIN, listed
    from lexigraph.text.readers import read_text

    found = [("standard input" if name == STDIN else file, file) for name in given for file in listed(name)]
    return [name for name, _ in found], ["".join(read_text(file)) for _, file in found]


def _where(found: Candidate, names: list[str], passages: list[str]) -> str:
    """The file and the line in which an answer begins."""
    line = passages[found.passage].count("\n", 0, found.begin) + 1
    return f"{names[found.passage]}:{line}"


def _lines(found: Answer, names: list[str], passages: list[str]) -> str:
    """Score, where it stands, and answer, of each candidate; before them, if none is good enough, that there is none.

    A line end inside an answer is a space here.
    """
    lines = [
        f"{each.score:.2f}\t{_where(each, names, passages)}\t{' '.join(each.text.split())}"
        for each in found.candidates
    ]
    none = [] if found.text else ["0.00\t-\t(no answer)"]
    return "\n".join(none if none and len(lines) < 2 else none + lines)
