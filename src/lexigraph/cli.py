"""The command line: each verb is a few lines over train, load and the abilities of a model.

Results go to standard output, everything else to standard error, so that verbs can be piped. Exit codes: 0 done,
1 the work failed (a sentence, no traceback unless --debug), 2 wrong usage.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from lexigraph.cli_options import (
    Alpha,
    AsJson,
    Beam,
    Device,
    Int8,
    MaxNew,
    PromptTokens,
    RunArgument,
    Texts,
    first_process,
    load_model,
    print_json,
    print_table,
    read_texts,
    say,
    tell,
)
from lexigraph.cli_space import VERBS
from lexigraph.cli_words import app as words_app
from lexigraph.errors import Interrupted, LexigraphError, UsageError

app = typer.Typer(
    name="lexigraph",
    help="Train, evaluate, decode and look inside sequence models on your own text, offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from lexigraph import __version__

        print(f"lexigraph {__version__}")
        raise typer.Exit


# ---- training --------------------------------------------------------------------------------------------------


@app.command(rich_help_panel="Training")
def train(
    recipe: Annotated[str | None, typer.Argument(metavar="NAME", help="A recipe's name or .toml file.")] = None,
    data: Annotated[str | None, typer.Option(help="Training text, or `grammar` for the built-in corpus.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder to make.")] = None,
    valid: Annotated[str | None, typer.Option(help="Validation text; else part of --data.")] = None,
    test: Annotated[str | None, typer.Option(help="Test text; else part of --data.")] = None,
    start: Annotated[Path | None, typer.Option("--from", help="Fine-tune this run.")] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Change a recipe key: train.steps=500.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    prepare: Annotated[bool, typer.Option("--prepare", help="Stop before step 1; --resume trains it.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Train a recipe on a text file: raw text in, model out."""
    if out is None:
        raise UsageError("Say where the run folder goes: --out DIR.")
    from lexigraph import api
    from lexigraph import recipe as recipes

    common: dict[str, Any] = {
        "valid": valid,
        "test": test,
        "start": start,
        "set": recipes.settings(change or []),
        "quiet": quiet,
    }
    if prepare and recipe:
        api.prepare(recipe, data, out, **common)
    else:
        api.train(recipe, data, out, resume=resume, **common)
    if first_process():
        print(out)


@app.command(rich_help_panel="Training")
def recipes(name: Annotated[str | None, typer.Argument(help="Show this recipe's file.")] = None) -> None:
    """Every recipe: what it is and what it can do; with NAME, the whole commented file."""
    from lexigraph import recipe as recipes
    from lexigraph.registry import system
    from lexigraph.words import recipe as word_recipes

    if name:
        print((word_recipes if name in word_recipes.names() else recipes).source(name).text, end="")
        return
    rows = []
    for each in recipes.names():
        tables = recipes.source(each).tables
        rows.append((each, tables["about"], " ".join(system(tables["system"]).abilities), _goal(tables)))
    for each in word_recipes.names():
        tables = word_recipes.source(each).tables
        rows.append((each, tables["about"], "words train", _goal(tables)))
    print_table(("recipe", "what it is", "what it can do", "expected score"), rows)


def _goal(tables: dict[str, Any]) -> str:
    goal = tables.get("expected", {})
    return f"{goal['metric']} {goal['value']:g} ± {goal['tolerance']:g}, {goal['data']}" if goal else ""


@app.command(rich_help_panel="Training")
def compare(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Recipes, of networks or word vectors.")],
    data: Annotated[str, typer.Option(help="The text that all of them are trained on.")],
    out: Annotated[Path, typer.Option(help="The folder for what is trained and compare.json.")],
    gold: Annotated[Path | None, typer.Option(metavar="FOLDER", help="What word vectors are judged by.")] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Change a key of all recipes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train several recipes on the same text and show their scores in one table."""
    from lexigraph import comparison
    from lexigraph import recipe as recipes

    rows = comparison.compare(names, data, out, gold=gold, set=recipes.settings(change or []), tell=tell)
    if as_json:
        print_json(rows)
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print_table(tuple(columns), [tuple(comparison.cell(row.get(key, "")) for key in columns) for row in rows])


@app.command(rich_help_panel="Text")
def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Word vectors (.vec, .txt, .bin, folder), a run, a Hugging Face folder."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Of word vectors, the format follows from the name.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many words.")] = None,
) -> None:
    """Word vectors from one file format to another; a Hugging Face folder to a run, and a run to such a folder."""
    from lexigraph.run import bundled

    if target.exists():
        raise LexigraphError(f"{target} exists already: choose another name.")
    if (source.is_dir() and not (source / "meta.json").exists()) or str(source) in bundled():
        from lexigraph.exchange import folder

        if limit:
            raise UsageError("--limit is for word vectors: leave it out.")
        folder.convert(source, target)
    else:
        from lexigraph.words.vectors import WordVectors

        WordVectors.load(source, limit=limit).save(target)
    print(target)


@app.command(rich_help_panel="Runs")
def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("demo"),
    model: Annotated[str, typer.Option(help="A bundled model or a run that draws pictures.")] = "books",
) -> None:
    """See the flagship work: sentences as pictures, blended, added and sampled; writes an HTML page."""
    from lexigraph import demonstration

    print(f"\nThe page with pictures: {demonstration.run(out, model)}")


# ---- text ------------------------------------------------------------------------------------------------------


@app.command(rich_help_panel="Text")
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text, JSON lines, TSV or CoNLL file.")],
    valid: Annotated[str | None, typer.Option(help="A validation file, to look for leakage.")] = None,
    test: Annotated[str | None, typer.Option(help="A test file, likewise.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a text file holds, before anyone trains on it."""
    from lexigraph.text.check import check as look
    from lexigraph.text.corpus import find

    files = {name: find(path) for name, path in {"train": file, "valid": valid, "test": test}.items() if path}
    report = look(files)
    if as_json:
        print_json(report.to_dict())
        return
    print_table(("", ""), report.rows())
    for warning in report.warnings:
        tell(f"! {warning}")


@app.command(rich_help_panel="Text")
def tokenize(
    model: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, or a text file to train on with --train.")
    ],
    texts: Texts = None,
    kind: Annotated[str | None, typer.Option("--train", help="Train this kind: char, word, bpe, wordpiece …")] = None,
    size: Annotated[int, typer.Option(help="Entries of a new vocabulary.")] = 8000,
    out: Annotated[Path | None, typer.Option(help="Where a new tokenizer.json goes.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids instead of pieces.")] = False,
    source: Annotated[bool, typer.Option("--source", help="As a translator reads it, not as it writes it.")] = False,
) -> None:
    """Show how text is cut into tokens; or, with --train KIND --out FILE, train a tokenizer."""
    from lexigraph.text.corpus import texts_of
    from lexigraph.text.tokenizer import Tokenizer

    two = (model / "source-tokenizer.json").exists()
    if source and not two:
        raise UsageError(f"--source is for a run with a tokenizer for each side, which {model} is not: leave it out.")
    if kind:
        if out is None:
            raise UsageError("Say where the tokenizer goes: --out FILE.")
        if out.exists():
            raise LexigraphError(f"{out} exists already: choose another --out.")
        tokenizer = Tokenizer.train(texts_of(str(model)), kind=kind, size=size)
        tokenizer.save(out)
        tell(f"{len(tokenizer):,} entries.")
        print(out)
        return
    if two:
        tell("The tokenizer of the sources." if source else "The tokenizer of the targets; --source: of the sources.")
    tokenizer = Tokenizer.load(model / "source-tokenizer.json" if source else model)
    for text in read_texts(texts):
        row = tokenizer.encode(text)
        print(*(row if ids else tokenizer.tokens(row)))


# ---- what a run is and how good it is --------------------------------------------------------------------------


@app.command(rich_help_panel="Runs")
def info(run: RunArgument, as_json: AsJson = False) -> None:
    """What a run folder holds: system, size, settings, scores."""
    from lexigraph.run import Run

    opened = Run.open(run)
    facts: dict[str, Any] = dict(opened.config())
    facts["finished"] = opened.finished
    if opened.finished:
        facts["results"] = opened.json("results.json")
    if as_json:
        print_json(facts | {"recipe": opened.recipe().flat()})
        return
    rows = [(key, str(value)) for key, value in facts.items() if key != "results" and value not in ("", {})]
    for split, scores in facts.get("results", {}).get("scores", {}).items():
        rows += [(f"{split} {name}", "  ".join(_metric(value))) for name, value in _metrics(scores)]
    print_table(("", ""), rows)


@app.command("eval", rich_help_panel="Runs")
def evaluate(
    run: RunArgument,
    data: Annotated[str, typer.Option(help="The text to score.")],
    device: Device = "auto",
    as_json: AsJson = False,
    suite: Annotated[str, typer.Option(help="`latent`: all that a model of sentence vectors can be asked.")] = "",
    judge: Annotated[Path | None, typer.Option(metavar="RUN", help="A language model of other text.")] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Also in 8 bits, side by side.")] = False,
    train: Annotated[str | None, typer.Option(help="The training text: for n-grams of it, or copies.")] = None,
    domain: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="Text of another domain.")] = None,
    edits: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Pairs: sentence-edits, styleptb.")] = None,
    similarity: Annotated[Path | None, typer.Option(metavar="FOLDER", help="What holds sts-b and sick.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller samples.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Where a suite goes.")] = None,
) -> None:
    """Score a model on a file; scores and their signature go to results.json.

    With --suite latent, the whole latent suite instead: tables here, JSON and a page beside the run or at --out.
    """
    from lexigraph import api

    if suite not in ("", "latent"):
        raise UsageError(f"There is no suite {suite!r}. Choose: latent.")
    given: dict[str, Any] = {"judge": judge, "domain": domain, "edits": edits,
                             "similarity": similarity, "quick": quick, "out": out}  # fmt: skip
    if not suite and any(given.values()):
        raise UsageError(f"--{next(name for name in given if given[name])} belongs to a suite: add --suite latent.")
    if suite and int8:
        raise UsageError("--int8 is not for suites: leave out one of them.")
    if suite:
        _latent(run, data, device, as_json, train=train, **given)
        return
    scores = api.evaluate(run, data, train=train, device=device, int8=int8)
    if as_json:
        print_json(scores)
        return
    rounded = {name: value["value"] for name, value in _metrics(scores["int8"])} if int8 else None
    counted = {"in 8 bits": rounded, "n-grams": scores.get("ngram_baseline"),
               "token frequencies alone": scores.get("unigram_baseline", {})}  # fmt: skip
    baselines = {name: values for name, values in counted.items() if values is not None}
    rows = [(name, *_metric(value), *(f"{each[name]:.4f}" if name in each else "" for each in baselines.values()))
            for name, value in _metrics(scores)]  # fmt: skip
    print_table(("metric", "value", "95 % interval", *baselines), rows)
    if scores.get("unknown"):
        tell(f"! {scores['unknown']:.1%} of the tokens are unknown words: compare only models of this vocabulary.")
    if scores.get("bits_per_byte_refused"):
        tell(f"! No bits per byte: {scores['bits_per_byte_refused']}.")
    if scores.get("too_long"):
        tell(f"! {scores['too_long']:,} texts are too long for the model and are in none of these scores.")
    tell(scores["signature"])


def _latent(
    run: Path, data: str, device: str, as_json: bool, judge: Path | None, domain: list[str] | None, out: Path | None,
    **given: Any,
) -> None:  # fmt: skip
    """The latent suite of a run: told on the way, printed, and saved as JSON and as a page."""
    from lexigraph.evaluation.latent import suite, tables
    from lexigraph.run import Run, replacing
    from lexigraph.views import report

    model = load_model(run, device)
    if out is None and Run(model.path).bundled:
        raise UsageError("A bundled model's folder is not written to: say where the suite goes with --out FILE.json.")
    file = out or Path(model.path) / "latent.json"
    if not os.access(file.parent, os.W_OK):
        raise LexigraphError(
            f"{file.parent} is no folder that can be written to: say where the suite goes with --out."
        )
    results = suite.run(model, test=suite.test_sentences(data), domains=suite.read_domains(domain or []),
                        judge=load_model(judge, device) if judge else None, tell=tell, **given)  # fmt: skip
    found = tables.tables(results)
    sections: dict[str, str] = {}
    for table in found:
        sections[table.title] = sections.get(table.title, "") + report.table(table.columns, table.rows)
    page = report.page("The latent suite", f"{run}, on {data}.", sections)
    for path, text in {
        file: json.dumps(results, indent=1, ensure_ascii=False),
        file.with_suffix(".html"): page,
    }.items():
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if as_json:
        print_json(results)
        return
    for table in found:
        print(f"\n{table.title}")
        print_table(table.columns, table.rows)
    tell(f"Saved as {file} and {file.with_suffix('.html')}.")


# ---- abilities -------------------------------------------------------------------------------------------------


@app.command(rich_help_panel="Abilities")
def generate(
    run: RunArgument,
    prompts: Texts = None,
    max_new: MaxNew = 100,
    temperature: Annotated[float, typer.Option(help="0: the most probable token each time.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Only the k most probable tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Only the most probable tokens of mass p; 1: all.")] = 1.0,
    beam: Beam = 1,
    noise: Annotated[float, typer.Option(help="Noise on logits, not on hidden states; temperature 0.")] = 0.0,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="So many texts for each prompt.")] = 1,
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


@app.command(rich_help_panel="Abilities")
def complete(
    run: RunArgument,
    prompts: Texts = None,
    n_best: Annotated[int, typer.Option(help="So many endings for each prompt.")] = 5,
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


@app.command(rich_help_panel="Abilities")
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
    if "translate" in model.abilities:
        sources, _, targets = zip(*(line.partition("\t") for line in lines), strict=True) if lines else ((), (), ())
        values = model.score(targets, sources=sources)
    else:
        values = model.score(lines, ended=not prefix)
    for text, value in zip(lines, values, strict=True):
        print(f"{value:.4f}\t{text}")


@app.command(rich_help_panel="Abilities")
def translate(
    run: RunArgument,
    texts: Texts = None,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    n_best: Annotated[int, typer.Option(min=1, help="So many translations of each: score, Σ log p, text.")] = 1,
    direction: Annotated[str, typer.Option(help="The special token of what is wanted, as <2de>.")] = "",
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Each piece written, and what it looked at.")
    ] = False,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """Translate each text by beam search."""
    model, lines = load_model(run, device, int8), list(read_texts(texts))
    how: dict[str, Any] = {"beam": beam, "alpha": alpha, "n_best": n_best, "direction": direction}
    if n_best == 1 and not alignment:
        print(*model.translate(lines, **how), sep="\n")
        return
    for found in model.translate(lines, alignment=alignment, **how):
        for each in found:
            print(f"{each.score:.4f}\t{each.log_probability:.4f}\t{each.text}" if n_best > 1 else each.text)
            if alignment:
                for piece, row in zip(each.target, each.alignment, strict=True):
                    print(f"  {piece.strip()}\t{each.source[row.argmax()].strip()}\t{row.max():.2f}")


@app.command(rich_help_panel="Abilities")
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
    given: dict[str, Any] = {"prompt": prompt, "examples": example or (), "by": by}
    for item in model.rank(list(read_texts(candidates)), ended=not prefix, **given):
        print(f"{item.score:.4f}\t{item.text}")


@app.command(rich_help_panel="Abilities")
def fill(
    run: RunArgument,
    texts: Texts = None,
    k: Annotated[int, typer.Option("-k", min=1, help="So many fillings of each text.")] = 5,
    device: Device = "auto",
    int8: Int8 = False,
) -> None:
    """The most probable ways to fill the gaps of each text, written <mask>: probability, tokens, text."""
    model = load_model(run, device, int8)
    for text in read_texts(texts):
        for found in model.fill(text, k=k):
            print(f"{found.probability:.4f}\t{' '.join(found.tokens)}\t{found.text}")


@app.command(rich_help_panel="Abilities")
def diagnose(
    run: RunArgument,
    texts: Texts = None,
    data: Annotated[str | None, typer.Option(help="A file of texts, one a line.")] = None,
    prompt_tokens: PromptTokens = 3,
    beam: Beam = 5,
    alpha: Alpha = 0.7,
    limit: Annotated[int, typer.Option(help="At most so many texts.")] = 200,
    beams: Annotated[str, typer.Option(help="Also a table over these beam widths, as 1,2,5.")] = "",
    device: Device = "auto",
) -> None:
    """Whether errors belong to the search or to the model, for texts or a whole file."""
    from lexigraph.evaluation import search

    model = load_model(run, device)
    if beams and not all(width.strip().isdigit() and int(width) for width in beams.split(",")):
        raise UsageError(f"--beams takes widths, as 1,2,5, not {beams!r}.")
    lines = model.longer(list(islice(read_texts(texts, data), limit)), prompt_tokens)  # told once
    report = model.diagnose(lines, prompt_tokens=prompt_tokens, beam=beam, alpha=alpha)
    print_table(
        ("verdict", "texts", "share"), [(k, str(n), f"{report.shares[k]:.1%}") for k, n in report.counts.items()]
    )
    if beams:
        widths = [int(width) for width in beams.split(",")]
        print_table(
            search.BEAM_COLUMNS, search.beam_rows(model, lines, widths, prompt_tokens=prompt_tokens, alpha=alpha)
        )


@app.command(rich_help_panel="Abilities")
def compare_text(
    run: RunArgument,
    data: Annotated[str, typer.Option(help="A file of human texts, one a line.")],
    prompt_tokens: PromptTokens = 3,
    limit: Annotated[int, typer.Option(help="At most so many texts.")] = 100,
    device: Device = "auto",
) -> None:
    """Human, beam and sampled text side by side: repetition, variety and probability."""
    from lexigraph.evaluation import search

    model = load_model(run, device)
    lines = list(islice(read_texts(None, data), limit))
    print_table(search.TEXT_COLUMNS, search.text_rows(model, lines, prompt_tokens=prompt_tokens))


def _metrics(scores: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, value) for name, value in scores.items() if isinstance(value, dict) and "value" in value)


def _metric(value: dict[str, Any]) -> tuple[str, str]:
    """A value and its interval, where there were texts enough for one."""
    interval = "[{:.4f}, {:.4f}]".format(*value["interval"]) if value["interval"] else ""
    return f"{value['value']:.4f}", interval


app.add_typer(words_app, rich_help_panel="Words")
for verb in VERBS:
    app.command(rich_help_panel="Sentence spaces")(verb)


def main() -> NoReturn:
    """Run the command line; errors become a sentence and an exit code."""
    debug = "--debug" in sys.argv
    if debug:  # wherever it stands
        sys.argv.remove("--debug")
    warnings.showwarning = lambda message, *_, **__: tell(f"! {message}")
    try:
        app(standalone_mode=True)
    except Interrupted as stopped:
        if first_process():
            tell(str(stopped))
        raise SystemExit(0) from None
    except LexigraphError as error:
        if debug:
            raise
        tell(f"lexigraph: {error}")
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of a pipe had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:  # a full disk, a folder that may not be written to
        if debug:
            raise
        tell(f"lexigraph: {error}")
        raise SystemExit(1) from None
    raise SystemExit(0)
