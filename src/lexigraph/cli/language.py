"""The verbs of language models: generate, complete, score, rank, diagnose, compare-text."""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lexigraph.cli.options import (
    Alpha,
    AsJson,
    Beam,
    Device,
    FromFile,
    Int8,
    Printer,
    RunArgument,
    Texts,
    Towards,
    answers,
    load_model,
    print_json,
    print_table,
    read_texts,
    say,
)
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.abilities.language import LanguageModel

MaxNew = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many new tokens.")]
PromptTokens = Annotated[int, typer.Option(min=1, help="So many tokens are given, the rest is searched for.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many texts.")]


def generate(
    run: RunArgument,
    prompts: Texts = None,
    file: FromFile = None,
    max_new: MaxNew = 100,
    temperature: Annotated[float, typer.Option(help="0: the most probable token each time.")] = 0.8,
    top_k: Annotated[int, typer.Option(min=0, help="Only the k most probable tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Only the most probable tokens of mass p; 1: all.")] = 1.0,
    beam: Beam = 1,
    noise: Annotated[float, typer.Option(help="Noise on logits, not on hidden states; temperature 0.")] = 0.0,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=100_000, help="So many texts for each prompt.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same text.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Continue each prompt; `generate RUN ""` starts from nothing. Several texts stand below a numbered line each."""
    from lexigraph.abilities.index import blocks

    if beam > 1 and count > 1:
        raise UsageError("--beam searches for the best text, which is one: leave out --count, or take `complete`.")
    model = load_model(run, device, int8)
    lines = read_texts(prompts, file)
    several = count > 1 or (isinstance(lines, list) and len(lines) > 1)
    live = isinstance(lines, list) and not several and beam == 1 and not as_json and sys.stdout.isatty()
    made = partial(model.generate, max_new=max_new, temperature=temperature, top_k=top_k, top_p=top_p, beam=beam,
                   noise=noise, seed=seed, on_text=say if live else None)  # fmt: skip
    if live:  # a person watches
        made(lines)
        print()
        return

    def ask(starts: list[str]) -> list[list[str]]:
        return list(blocks(made([start for start in starts for _ in range(count)]), count))

    long = count > 1 or model.recipe.data.unit == "stream"  # else a line is a text
    pairs = ((prompt, text) for prompt, texts in answers(ask, lines) for text in texts)
    with Printer(as_json) as show:
        for number, (prompt, text) in enumerate(pairs, 1):
            apart = (long or "\n" in text) and (several or number > 1)
            show(f"--- {number} ---\n{text}" if apart else text, {"prompt": prompt, "text": text})


def complete(
    run: RunArgument,
    prompts: Texts = None,
    file: FromFile = None,
    n_best: Annotated[int, typer.Option(min=1, max=1000, help="So many endings for each prompt.")] = 5,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    max_new: MaxNew = 40,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The most probable ways to finish each text: score (Σ log p / T^alpha), Σ log p, text."""
    model = load_model(run, device, int8)
    ask = partial(model.complete, n_best=n_best, beam=beam, max_new=max_new, alpha=alpha)
    with Printer(as_json) as show:
        for prompt, endings in answers(ask, read_texts(prompts, file)):
            for each in endings:
                item = {"prompt": prompt, "text": each.text, "score": each.score}
                show(f"{each.score:.4f}\t{each.log_probability:.4f}\t{each.text}",
                     item | {"log_probability": each.log_probability})  # fmt: skip


def score(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    prefix: Annotated[bool, typer.Option("--prefix", help="Score texts as beginnings, without their end.")] = False,
    to: Towards = None,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Natural-log probability of each text, its end included; of a translator: source, tab, target."""
    model = load_model(run, device, int8)
    with Printer(as_json) as show:
        lines = read_texts(texts, file, tabs="translate" in model.abilities)
        for text, value in answers(partial(model.score_lines, ended=not prefix, to=to), lines):
            show(f"{value:.4f}\t{text}", {"text": text, "score": value})


def rank(
    run: RunArgument,
    candidates: Texts = None,
    file: FromFile = None,
    prompt: Annotated[str, typer.Option(help="What stands before every candidate.")] = "",
    example: Annotated[list[str] | None, typer.Option(help="A text before the prompt; several are several.")] = None,
    by: Annotated[str, typer.Option(help="sum of log p; mean of it; gain over the candidate by itself.")] = "sum",
    prefix: Annotated[bool, typer.Option("--prefix", help="The text may go on after the candidate.")] = False,
    as_json: AsJson = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The candidates by probability, the most probable first: score, text."""
    model = load_model(run, device, int8)
    texts = list(read_texts(candidates, file))
    with Printer(as_json) as show:
        for item in model.rank(texts, prompt=prompt, examples=example or (), by=by, ended=not prefix):
            show(f"{item.score:.4f}\t{item.text}", {"text": item.text, "score": item.score})


def diagnose(
    run: RunArgument,
    texts: Texts = None,
    file: Annotated[
        str | None, typer.Option("--file", "--data", metavar="FILE", help="Texts from a file, one a line.")
    ] = None,
    prompt_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Language models: so many tokens are given, 3 if not said; the rest is searched for."
        ),
    ] = None,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    to: Towards = None,
    limit: Limit = 200,
    beams: Annotated[str, typer.Option(help="Also a table over these beam widths, as 1,2,5.")] = "",
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Whether errors belong to the search or to the model, for texts or a whole file; of a translator: source, tab,
    target."""
    from lexigraph.evaluation import search

    model = load_model(run, device)
    if beams and not all(width.strip().isdecimal() and 1 <= int(width) <= 1000 for width in beams.split(",")):
        raise UsageError(f"--beams takes widths up to 1,000, as 1,2,5, not {beams!r}.")
    lines = list(islice(read_texts(texts, file, tabs="translate" in model.abilities), limit))
    trial = model.trial_of_lines(lines, prompt_tokens=prompt_tokens, alpha=alpha, to=to)
    report = trial.diagnosis(beam)
    rows = search.beam_rows(trial, [int(width) for width in beams.split(",")]) if beams else []
    if as_json:
        verdicts = {name: {"texts": n, "share": report.shares[name]} for name, n in report.counts.items()}
        print_json(
            {"verdicts": verdicts, "beams": [dict(zip(search.BEAM_COLUMNS, row, strict=True)) for row in rows]}
        )
        return
    print_table(
        ("verdict", "texts", "share"), [(k, str(n), f"{report.shares[k]:.1%}") for k, n in report.counts.items()]
    )
    if rows:
        print_table(search.BEAM_COLUMNS, rows)


def compare_text(
    run: RunArgument,
    texts: Texts = None,
    file: Annotated[
        str | None, typer.Option("--file", "--data", metavar="FILE", help="Human texts from a file, one a line.")
    ] = None,
    prompt_tokens: PromptTokens = 3,
    limit: Limit = 100,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Human, beam and sampled text side by side: repetition, variety and probability."""
    from lexigraph.evaluation import search

    model = cast("LanguageModel", load_model(run, device))
    lines = list(islice(read_texts(texts, file), limit))
    rows = search.text_rows(model, lines, prompt_tokens=prompt_tokens)
    if as_json:
        print_json([dict(zip(search.TEXT_COLUMNS, row, strict=True)) for row in rows])
    else:
        print_table(search.TEXT_COLUMNS, rows)
