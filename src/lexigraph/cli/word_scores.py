"""The verbs that say how good word vectors are: `lexigraph words eval` and `words curve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraph.cli.options import AsJson, Force, Quick, notify, print_json, print_table, write_text
from lexigraph.errors import UsageError

Benchmarks = Annotated[Path | None, typer.Option(metavar="FOLDER", help="What holds word-vectors-eval, bats …")]


def evaluate(
    vectors: Annotated[list[Path], typer.Argument(metavar="VECTORS...", help="One or several files or folders.")],
    benchmarks: Benchmarks = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Judge vectors: similarity, analogies, categories, outliers, and as input of classifiers and taggers."""
    from lexigraph.words import evaluation
    from lexigraph.words.vectors import WordVectors

    benchmarks = _test_sets(benchmarks)
    for path in vectors:
        results = evaluation.evaluate(WordVectors.load(path), benchmarks, quick=quick, report=notify)
        if as_json:
            print_json({str(path): results})
            continue
        if len(vectors) > 1:
            print(f"\n{path}")
        print_table(*evaluation.table(results))


def curve(
    recipe: Annotated[str, typer.Argument(metavar="[NAME]", help="skipgram, cbow, glove …, or a .toml file.")],
    over: Annotated[str, typer.Option(metavar="KEY=A,B,…", help="What varies: dim=50,100, megabytes=1,10 …")],
    data: Annotated[str, typer.Option(help="Training text.")],
    benchmarks: Benchmarks = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Another setting: epochs=2.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="A page with the curves.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """How good vectors are over a setting, or over the size of the text: `curve glove --over window=2,5,10 …`."""
    from lexigraph.outputs import free_file
    from lexigraph.recipe import settings
    from lexigraph.text.files import find
    from lexigraph.words import evaluation
    from lexigraph.words import recipe as recipes

    benchmarks = _test_sets(benchmarks)
    if out:
        free_file(out, "a page", (".html",), force)
    key, _, listed = over.partition("=")
    values = [settings([f"{key}={value}"])[key] for value in listed.split(",") if value]
    if not values:
        raise UsageError(f"--over takes a setting and its values, as dim=50,100,200, not {over!r}.")
    given = settings(change or [])
    for value in values:  # all are looked at before the first one is trained
        recipes.read(recipe, given if key == "megabytes" else given | {key: value})
    chosen = vars(recipes.read(recipe, given).words)
    rows = list(evaluation.curve(find(data), chosen, key, values, benchmarks, notify))
    cells: list[tuple[str, ...]] = [
        (str(row[key]), str(row["words"]), f"{row['similarity']:.4f}", f"{row['analogies']:.4f}") for row in rows
    ]
    if out:
        write_text(out, _curve_page(recipe, rows, cells), "a page", force)
        notify(f"The page: {out}")
    if as_json:
        print_json(rows)
    else:
        print_table(tuple(rows[0]), cells)


def _curve_page(recipe: str, rows: list[dict[str, Any]], cells: list[tuple[str, ...]]) -> str:
    """The rows as a page: curves, and the table below."""
    from lexigraph.views import report

    key = next(iter(rows[0]))
    numbers = all(isinstance(row[key], int | float) for row in rows)
    along = [row[key] if numbers else place for place, row in enumerate(rows)]
    judged = ("similarity", "analogies")
    curves = {name: [(x, row[name]) for x, row in zip(along, rows, strict=True)] for name in judged}
    drawn = report.curve(curves, key, "Spearman's ρ, share right")
    return report.page(f"{recipe} over {key}", "", {"Curves": drawn, "Table": report.table(tuple(rows[0]), cells)})


def _test_sets(benchmarks: Path | None) -> Path:
    """Where the test sets are, if that was given."""
    if benchmarks is None:
        raise UsageError("Say where the test sets are: --benchmarks FOLDER, one that holds word-vectors-eval, bats …")
    return benchmarks
