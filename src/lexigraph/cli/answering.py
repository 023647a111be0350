"""The verb of question answering: answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexigraph.cli.options import AsJson, Device, Int8, Printer, RunArgument, Towards, answers, load_model, read_texts
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    n_best: Annotated[
        int | None, typer.Option(min=1, max=20, help="Cut answers: so many candidates for each question; 1.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Cut answers: how much better than none one must be, in nats; else as validated."),
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, max=1000, help="Written answers: beam width; 5.")] = None,
    to: Towards = None,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The answer to each question. Cut from a text: score, where it stands, answer; of all texts, the best. Or, by a
    model that writes: in its own words, about a text or from what it has learned."""
    if file and context:
        raise UsageError("Texts that are asked come from --file or as --context, not both: leave out one of them.")
    if not questions and "-" in (file or ()):
        raise UsageError("Standard input cannot hold both questions and text: give questions as arguments.")
    model = load_model(run, device, int8)
    ask = model.answer  # refused here, if it is not for that
    writes = "translate" in model.abilities
    cut, written = {"n_best": n_best, "threshold": threshold}, {"beam": beam, "to": to}
    if wrong := next((name for name, value in (cut if writes else written).items() if value is not None), ""):
        option, kind = wrong.replace("_", "-"), "writes its answers" if writes else "cuts its answers from a text"
        raise UsageError(f"--{option} is not for a {model.recipe.system} model, which {kind}: leave it out.")
    if not file and not context and not writes:
        if not questions:
            raise UsageError('Say which text is asked: --file FILE or --context "TEXT", and the questions.')
        file = ["-"]
    names, passages = _passages(file) if file else (["text"] * len(context or ()), list(context or ()))
    options = {name: value for name, value in (written if writes else cut).items() if value is not None}
    every = read_texts(questions, blank=False)
    with Printer(as_json) as show:
        (_write if writes else _cut)(show, partial(ask, **options), every, names, passages)


def _write(show: Printer, ask: Any, questions: Iterable[str], names: list[str], passages: list[str]) -> None:
    """Answers in a model's own words."""
    if len(passages) > 1:
        raise UsageError(f"A model that writes its answers is asked about one text, and there are {len(passages)}.")
    for question, found in answers(partial(ask, context=passages[0] if passages else None), questions):
        show(found, {"question": question, "answer": found})


def _cut(show: Printer, ask: Any, questions: Iterable[str], names: list[str], passages: list[str]) -> None:
    """Answers that stand in the texts."""
    for question, found in answers(partial(ask, context=passages), questions):
        candidates = [
            {"text": each.text, "score": each.score, "begin": each.begin, "end": each.end}
            | {"passage": each.passage, "where": _where(each, names, passages)}
            for each in found.candidates
        ]
        show(_lines(found, names, passages), {"question": question, "answer": found.text, "candidates": candidates})


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
