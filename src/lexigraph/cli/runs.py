"""The verbs of trained models: info, eval, demo."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, TypeGuard

import typer

from lexigraph.cli.options import (
    FORMS,
    AsJson,
    Device,
    Force,
    Quick,
    RunArgument,
    load_model,
    notify,
    paths,
    print_json,
    print_table,
)
from lexigraph.cli.suites import show, suite_file
from lexigraph.cli.understanding import understanding
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.evaluation.intervals import Figure
    from lexigraph.evaluation.task import Score, Scores

SIMPLE = ("always_", "all_on_", "right_branching")  # scores that a rule without any model has


class SuiteOptions(TypedDict):
    """What is asked of a suite, as `evaluate` takes it."""

    judge: Path | None
    domain: list[str] | None
    edits: Path | None
    similarity: Path | None
    quick: bool
    out: Path | None
    force: bool


SUITES = {  # options that are of one suite alone
    "latent": ("train", "judge", "domain", "edits", "similarity"),
    "meaning": (),
    "understanding": ("tasks", "seeds", "labels", "beside", "vectors", "set"),
}


def info(run: RunArgument, as_json: AsJson = False) -> None:
    """What a run folder holds: system, size, settings, scores, the loss curve, and what to type next."""
    from lexigraph.run import Run
    from lexigraph.views import summary

    found = summary.facts(Run.open(run))
    if as_json:
        print_json(found)
        return
    results = found.get("results", {})
    scored = list(results.get("scores", {}).items()) + list(results.get("files", {}).items())
    rows = list(summary.rows(found))
    rows += [
        (f"{name} {key}", "  ".join(_metric(value))) for name, scores in scored for key, value in _metrics(scores)
    ]
    print_table(("", ""), rows)
    for title, lines in (("", summary.drawn(found["curve"])), ("What it can do:", found["commands"])):
        if lines:
            print("", *([title] if title else []), *lines, sep="\n")


def evaluate(
    run: RunArgument,
    data: Annotated[list[str], typer.Option(metavar="TEXT", help=f"The text to score. {FORMS}.")],
    device: Device = "auto",
    as_json: AsJson = False,
    suite: Annotated[
        str,
        typer.Option(
            help="`latent`: all that a model of sentence vectors can be asked; `meaning`: what the vectors of any "
            "model are worth, on --data sts-b --data sick; `understanding`: what a model is worth that is fine-tuned."
        ),
    ] = "",
    judge: Annotated[Path | None, typer.Option(metavar="RUN", help="A language model of other text.")] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Also in 8 bits, side by side.")] = False,
    train: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="The training text: for n-grams of it, or copies.")
    ] = None,
    domain: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="Text of another domain.")] = None,
    edits: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Pairs: sentence-edits, styleptb.")] = None,
    similarity: Annotated[Path | None, typer.Option(metavar="FOLDER", help="What holds sts-b and sick.")] = None,
    quick: Quick = False,
    window: Annotated[
        int, typer.Option(min=0, help="Language models: tokens of context at most; 0: as trained.")
    ] = 0,
    stride: Annotated[
        int, typer.Option(min=0, help="With --window: a new one every so many tokens; 0: side by side.")
    ] = 0,
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Language models: also by how much stands before a token.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where a suite (.json) or a picture by position goes.")
    ] = None,
    force: Force = False,
    tasks: Annotated[str, typer.Option(metavar="A,B,…", help="Understanding: some tasks; none: all.")] = "",
    seeds: Annotated[int, typer.Option(min=0, help="Understanding: of each fine-tuning; 0: three, quick one.")] = 0,
    labels: Annotated[str, typer.Option(metavar="N,…", help="Understanding: learn from so many labels.")] = "",
    beside: Annotated[Path | None, typer.Option(metavar="RUN", help="Understanding: another run, compared.")] = None,
    vectors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Understanding: averaged word vectors.")
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Understanding: a key of fine-tuning, as train.steps=300.")
    ] = None,
) -> None:
    """Score a model on a file; scores and their signature are added to the run's results.json.

    With --suite, a whole suite instead: tables here, JSON and a page beside the run or at --out.
    """
    if suite not in ("", *SUITES):
        raise UsageError(f"There is no suite {suite!r}. Choose: {', '.join(SUITES)}.")
    given: SuiteOptions = {"judge": judge, "domain": domain, "edits": edits,
                           "similarity": similarity, "quick": quick, "out": out, "force": force}  # fmt: skip
    own = {"tasks": tasks, "seeds": seeds, "labels": labels, "beside": beside, "vectors": vectors, "set": change}
    asked = {**given, **own, "train": train if suite else None}
    _refuse_options_of_others(suite, [name for name, value in asked.items() if value], by_position)
    if suite and (window or stride or by_position):
        raise UsageError("--window, --stride and --by-position are not for suites: leave them out.")
    if suite and int8:
        raise UsageError("--int8 is not for suites: leave out one of them.")
    if suite == "meaning":
        _meaning(run, data, device, as_json, given)
        return
    if suite == "understanding":
        understanding(run, data, device, as_json, tasks=tasks, seeds=seeds, labels=labels, beside=beside,
                      vectors=vectors, change=change or [], quick=quick, out=out, force=force)  # fmt: skip
        return
    if suite:
        if len(data) > 1 or len(train or ()) > 1:
            raise UsageError("A suite takes one --data and one --train: a folder or a pattern names several files.")
        _latent(run, data[0], device, as_json, train[0] if train else None, given)
        return
    from lexigraph import api

    if out:
        _check_picture(out, force)
    scores = api.evaluate(
        run,
        paths(data),
        train=paths(train),
        device=device,
        int8=int8,
        window=window,
        stride=stride,
        by_position=by_position,
    )
    if out:
        _draw_by_position(run, scores, out)
    if as_json:
        print_json(scores)
    else:
        _print_scores(scores)


def _refuse_options_of_others(suite: str, asked: list[str], by_position: bool) -> None:
    """Refuse options that belong to another suite, or to any where there is none."""
    for name in asked:
        other = next((each for each, options in SUITES.items() if name in options), "")
        if other and other != suite:
            more = "; sts-b and sick are named by --data" if suite == "meaning" else ""
            raise UsageError(f"--{name} belongs to --suite {other}{more}.")
        if not suite and not (by_position and name in ("out", "force")):
            more = ", or --by-position for a picture" if name == "out" else ""
            raise UsageError(f"--{name} belongs to a suite: add --suite {' or --suite '.join(SUITES)}{more}.")


def demo(
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("demo"),
    model: Annotated[str, typer.Option(help="A bundled model or a run that draws pictures.")] = "books",
    force: Force = False,
) -> None:
    """See the flagship work: sentences as pictures, blended, added and sampled; writes an HTML page."""
    from lexigraph.views import demonstration

    print(f"\nThe page with pictures: {demonstration.run(out, model, force)}")


def _check_picture(out: Path, force: bool) -> None:
    from lexigraph.outputs import free_file
    from lexigraph.views.picture import SUFFIXES

    free_file(out, "a picture", SUFFIXES, force)


def _draw_by_position(run: Path, scores: Scores, out: Path) -> None:
    from lexigraph.views import context, picture

    picture.save(context.picture({run.name: scores}), out)
    notify(f"Saved as {out}.")


def _print_scores(scores: Scores) -> None:
    """A table of metrics with their baselines beside them; what limits their meaning, and the signature."""
    baselines: dict[str, dict[str, float]] = {}
    if "int8" in scores:
        baselines["in 8 bits"] = {name: value["value"] for name, value in _metrics(scores["int8"])}
    if "ngram_baseline" in scores:
        baselines["n-grams"] = _numbers(scores["ngram_baseline"])
    if "chance" in scores:
        baselines["chance"] = _numbers(scores["chance"])
    if "unigram_baseline" in scores:
        baselines["token frequencies alone"] = _numbers(scores["unigram_baseline"])
    simple = {name.replace("_", " "): value for name, value in scores.items() if name.startswith(SIMPLE)}
    baselines |= {name: _numbers(value) for name, value in simple.items() if isinstance(value, dict)}
    rows = [(name, *_metric(value), *(f"{each[name]:.4f}" if name in each else "" for each in baselines.values()))
            for name, value in _metrics(scores)]  # fmt: skip
    padding = [""] * (1 + len(baselines))
    rows += [(name, f"{value:.4f}", *padding) for name, value in simple.items() if isinstance(value, float)]
    print_table(("metric", "value", "95 % interval", *baselines), rows)
    for name, groups in scores.items():
        _print_groups(name.replace("_", " "), groups)
    if "processed" in scores:
        notify(f"{scores['processed']:.2f} tokens processed for each that is scored.")
    if scores.get("unknown"):
        notify(f"! {scores['unknown']:.1%} of the tokens are unknown words: compare only models of this vocabulary.")
    if scores.get("bits_per_byte_refused"):
        notify(f"! No bits per byte: {scores['bits_per_byte_refused']}.")
    if scores.get("too_long"):
        notify(f"! {scores['too_long']:,} texts are too long for the model and are in none of these scores.")
    notify(str(scores["signature"]))


def _print_groups(title: str, groups: Score) -> None:
    """A table of metrics by group, where that is what a score holds."""
    if not isinstance(groups, Mapping) or _is_figure(groups):
        return
    parts = {name: group for name, group in groups.items() if isinstance(group, Mapping)}
    tables = {name: dict(_metrics(group)) for name, group in parts.items()}
    if not tables or len(tables) < len(groups) or not all(tables.values()):
        return
    counted = "tokens" if all("tokens" in group for group in parts.values()) else "sentences"
    columns = [each for each in next(iter(tables.values())) if all(each in figures for figures in tables.values())]
    rows = [
        (
            name,
            str(dict(parts[name]).get(counted, "")),
            *(" ".join(_metric(found[each])).strip() for each in columns),
        )
        for name, found in tables.items()
    ]
    print()
    print_table((title, counted, *columns), rows)


def _latent(run: Path, data: str, device: str, as_json: bool, train: str | None, given: SuiteOptions) -> None:
    """The latent suite of a run."""
    from lexigraph.evaluation.latent import suite, tables

    file, judge = suite_file(run, "latent.json", given["out"], given["force"]), given["judge"]
    model = load_model(run, device)
    results = suite.run(
        model,
        test=suite.test_sentences(data),
        train=train,
        domains=suite.read_domains(given["domain"] or []),
        judge=load_model(judge, device) if judge else None,
        edits=given["edits"],
        similarity=given["similarity"],
        quick=given["quick"],
        report=notify,
    )
    about = f"{run}, on {data}."
    show("The latent suite", about, tables.tables(results), results, file, given["force"], as_json)


def _meaning(run: Path, data: list[str], device: str, as_json: bool, given: SuiteOptions) -> None:
    """The meaning suite of a run; `data` are folders of benchmark sets."""
    from lexigraph.evaluation import meaning
    from lexigraph.evaluation.latent import tables

    file = suite_file(run, "meaning.json", given["out"], given["force"])
    results = meaning.run(load_model(run, device), data, quick=given["quick"], report=notify)
    about = f"{run}, on {', '.join(data)}."
    show("Meaning", about, tables.tables(results), results, file, given["force"], as_json)


def _metrics(scores: Score) -> Iterator[tuple[str, Figure]]:
    assert isinstance(scores, Mapping)
    return ((name, value) for name, value in scores.items() if _is_figure(value))


def _is_figure(value: object) -> TypeGuard[Figure]:
    number = value.get("value") if isinstance(value, dict) else None
    return isinstance(number, int | float) and math.isfinite(number)  # one that is not was told of


def _numbers(baseline: Score | None) -> dict[str, float]:
    """What a baseline achieves, by the names of metrics; nothing where there is none."""
    found = baseline.items() if isinstance(baseline, Mapping) else ()
    return {name: value for name, value in found if isinstance(value, int | float)}


def _metric(value: Figure) -> tuple[str, str]:
    """A value and its interval, where there were texts enough for one."""
    interval = "[{:.4f}, {:.4f}]".format(*value["interval"]) if value["interval"] else ""
    return f"{value['value']:.4f}", interval
