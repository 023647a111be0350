"""The verbs of language models: generate, complete, score, rank, diagnose, compare-text."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lexigraph.cli.options import (
    Alpha,
    Beam,
    Device,
    Int8,
    RunArgument,
    Texts,
    load_model,
    print_table,
    read_texts,
    say,
)
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.abilities.language import LanguageModel

MaxNew = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many new tokens.")]
PromptTokens = Annotated[int, typer.Option(min=1, help="So many tokens are given, the rest is searched for.")]
Limit = Annotated[int, typer.Option(help="At most so many texts.")]


def generate(
    run: RunArgument,
    prompts: Texts = None,
    max_new: MaxNew = 100,
    temperature: Annotated[float, typer.Option(help="0: the most probable token each time.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Only the k most probable tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Only the most probable tokens of mass p; 1: all.")] = 1.0,
    beam: Beam = 1,
    noise: Annotated[float, typer.Option(help="Noise on logits, not on hidden states; temperature 0.")] = 0.0,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=1_000_000, help="So many texts for each prompt.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Continue each prompt; `generate RUN ""` starts from nothing."""
    model = load_model(run, device, int8)
    starts = [prompt for prompt in read_texts(prompts) for _ in range(count)]
    live = len(starts) == 1 and beam == 1 and sys.stdout.isatty()  # a person watches: show text as it comes
    texts = model.generate(starts, max_new=max_new, temperature=temperature, top_k=top_k, top_p=top_p, beam=beam,
                           noise=noise, seed=seed, on_text=say if live else None)  # fmt: skip
    print(*texts if not live else [""], sep="\n")


def complete(
    run: RunArgument,
    prompts: Texts = None,
    n_best: Annotated[int, typer.Option(min=1, max=10_000, help="So many endings for each prompt.")] = 5,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    max_new: MaxNew = 40,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The most probable ways to finish each text: score (Σ log p / T^alpha), Σ log p, text."""
    model = load_model(run, device, int8)
    for prompt in read_texts(prompts):
        for ending in model.complete(prompt, n_best=n_best, beam=beam, max_new=max_new, alpha=alpha):
            print(f"{ending.score:.4f}\t{ending.log_probability:.4f}\t{ending.text}")


def score(
    run: RunArgument,
    texts: Texts = None,
    prefix: Annotated[bool, typer.Option("--prefix", help="Score texts as beginnings, without their end.")] = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Natural-log probability of each text, its end included; of a translator: source, tab, target."""
    model = load_model(run, device, int8)
    lines = list(read_texts(texts))
    for text, value in zip(lines, model.score_lines(lines, ended=not prefix), strict=True):
        print(f"{value:.4f}\t{text}")


def rank(
    run: RunArgument,
    candidates: Texts = None,
    prompt: Annotated[str, typer.Option(help="What stands before every candidate.")] = "",
    example: Annotated[list[str] | None, typer.Option(help="A text before the prompt; several are several.")] = None,
    by: Annotated[str, typer.Option(help="sum of log p; mean of it; gain over the candidate by itself.")] = "sum",
    prefix: Annotated[bool, typer.Option("--prefix", help="The text may go on after the candidate.")] = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The candidates by probability, the most probable first: score, text."""
    model = load_model(run, device, int8)
    texts = list(read_texts(candidates))
    for item in model.rank(texts, prompt=prompt, examples=example or (), by=by, ended=not prefix):
        print(f"{item.score:.4f}\t{item.text}")


def diagnose(
    run: RunArgument,
    texts: Texts = None,
    data: Annotated[str | None, typer.Option(help="A file of texts, one a line.")] = None,
    prompt_tokens: PromptTokens = 3,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    limit: Limit = 200,
    beams: Annotated[str, typer.Option(help="Also a table over these beam widths, as 1,2,5.")] = "",
    device: Device = "auto",
) -> None:
    """Whether errors belong to the search or to the model, for texts or a whole file."""
    from lexigraph.evaluation import search

    model = cast("LanguageModel", load_model(run, device))  # any other says that it has no `longer`
    if beams and not all(width.strip().isdecimal() and 1 <= int(width) <= 10_000 for width in beams.split(",")):
        raise UsageError(f"--beams takes widths up to 10,000, as 1,2,5, not {beams!r}.")
    lines = model.longer(list(islice(read_texts(texts, data), limit)), prompt_tokens)  # reported once
    report = model.diagnose(lines, prompt_tokens=prompt_tokens, beam=beam, alpha=alpha)
    print_table(
        ("verdict", "texts", "share"), [(k, str(n), f"{report.shares[k]:.1%}") for k, n in report.counts.items()]
    )
    if beams:
        widths = [int(width) for width in beams.split(",")]
        print_table(
            search.BEAM_COLUMNS, search.beam_rows(model, lines, widths, prompt_tokens=prompt_tokens, alpha=alpha)
        )


def compare_text(
    run: RunArgument,
    data: Annotated[str, typer.Option(help="A file of human texts, one a line.")],
    prompt_tokens: PromptTokens = 3,
    limit: Limit = 100,
    device: Device = "auto",
) -> None:
    """Human, beam and sampled text side by side: repetition, variety and probability."""
    from lexigraph.evaluation import search

    model = cast("LanguageModel", load_model(run, device))
    lines = list(islice(read_texts(None, data), limit))
    print_table(search.TEXT_COLUMNS, search.text_rows(model, lines, prompt_tokens=prompt_tokens))
