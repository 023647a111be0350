"""The verbs of training: train, recipes, compare. What the keys of recipes mean is in explaining.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraph.cli import explaining
from lexigraph.cli.options import (
    FORMS,
    AsJson,
    HeldOut,
    Quiet,
    SplitSentences,
    TrainingText,
    first_process,
    notify,
    paths,
    print_json,
    print_table,
)
from lexigraph.errors import UsageError


def train(
    recipe: Annotated[str | None, typer.Argument(metavar="NAME", help="A recipe's name or .toml file.")] = None,
    data: TrainingText = None,
    out: Annotated[Path | None, typer.Option(help="The run folder to make.")] = None,
    valid: HeldOut = None,
    test: HeldOut = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Fine-tune this run; go on from these vectors.")
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Change a key: train.steps=500, words.dim=50.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    split_sentences: SplitSentences = False,
    prepare: Annotated[bool, typer.Option("--prepare", help="Stop before step 1; --resume trains it.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train a recipe on a text file: raw text in, model out."""
    if out is None:
        raise UsageError("Say where the run folder goes: --out DIR.")
    from lexigraph import entry
    from lexigraph import recipe as recipes

    changes = recipes.settings(change or []) | ({"data.split_sentences": True} if split_sentences else {})
    common: dict[str, Any] = {"valid": paths(valid), "test": paths(test), "start": start, "set": changes}
    common["quiet"] = quiet
    if prepare and recipe:
        from lexigraph import api

        api.prepare(recipe, paths(data), out, **common)
    else:
        entry.train(recipe, paths(data), out, resume=resume, **common)
    if first_process():
        print(out)


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this recipe's file.")] = None,
    keys: Annotated[bool, typer.Option("--keys", help="Show every key of NAME and what it is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every recipe: what it is and what it can do; with NAME, the whole commented file."""
    from lexigraph import recipe as recipes
    from lexigraph.registry import WORD_SYSTEMS, system_of_any_kind

    if keys:
        if not name:
            raise UsageError("--keys lists the keys of one recipe: name it, as in `lexigraph recipes gpt --keys`.")
        explaining.print_keys(recipes.read(name))
        return
    if name:
        found = recipes.source(name)
        print_json(found.tables) if as_json else print(found.text, end="")
        return
    rows = []
    for each in recipes.names():
        tables = recipes.source(each).tables
        group = "words: " if tables["system"] in WORD_SYSTEMS else ""  # whose verbs they are
        abilities = group + " ".join(system_of_any_kind(tables["system"]).abilities)
        rows.append((each, tables["about"], abilities, _goal(tables)))
    columns = ("recipe", "what it is", "what it can do", "expected score")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows)


def _goal(tables: dict[str, Any]) -> str:
    goal = tables.get("expected", {})
    return f"{goal['metric']} {goal['value']:g} ± {goal['tolerance']:g}, {goal['data']}" if goal else ""


def compare(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Recipes, of networks or word vectors.")],
    data: Annotated[list[str], typer.Option(metavar="TEXT", help=f"What all are trained on. {FORMS}.")],
    out: Annotated[Path, typer.Option(help="The folder for what is trained and compare.json.")],
    benchmarks: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="What word vectors are judged by.")
    ] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Change a key of all recipes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train several recipes on the same text and show their scores in one table."""
    from lexigraph import comparison
    from lexigraph import recipe as recipes

    rows = comparison.compare(
        names,
        paths(data),
        out,
        benchmarks=benchmarks,
        set=recipes.settings(change or []),
        report=notify,
    )
    if as_json:
        print_json(rows)
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print_table(tuple(columns), [tuple(comparison.cell(row.get(key, "")) for key in columns) for row in rows])
