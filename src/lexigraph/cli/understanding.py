"""`lexigraph eval RUN --suite understanding`: what a pre-trained model is worth, as tables and in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lexigraph.cli.options import notify
from lexigraph.cli.suites import show, suite_file
from lexigraph.errors import LexigraphError, UsageError


def understanding(
    run: Path,
    data: list[str],
    device: str,
    as_json: bool,
    *,
    tasks: str,
    seeds: int,
    labels: str,
    beside: Path | None,
    vectors: Path | None,
    change: Sequence[str],
    quick: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Run it, print it, keep it."""
    from lexigraph import understanding as suite
    from lexigraph.evaluation.understanding.tables import tables
    from lexigraph.recipe import settings
    from lexigraph.run import Run

    if len(data) > 1:
        raise UsageError("The understanding suite takes one --data: the folder that holds the folders of all sets.")
    file = suite_file(run, "understanding.json", out, force or _ours(run, out))
    results = suite.run(
        run,
        data[0],
        tasks=[name.strip() for name in tasks.split(",") if name.strip()],
        seeds=seeds or None,
        labels=_numbers(labels),
        beside=beside,
        vectors=vectors,
        set=settings(list(change)),
        quick=quick,
        keep=file.with_suffix(""),
        device=device,
        report=notify,
    )
    suite.note(Run.open(run), results)
    show("Understanding", f"{run}, on {data[0]}.", tables(results), results, file, True, as_json)


def _ours(run: Path, out: Path | None) -> bool:
    """Whether what is there is of this suite: it is kept up to date."""
    from lexigraph.run import Run
    from lexigraph.stored import table_in

    file = out or Run.open(run).path / "understanding.json"
    try:
        return table_in(file).get("suite") == "understanding"
    except LexigraphError:
        return False


def _numbers(listed: str) -> list[int]:
    """`100,1000` as numbers."""
    numbers = [each.strip() for each in listed.split(",") if each.strip()]
    if wrong := [each for each in numbers if not each.isdigit() or int(each) < 10]:
        raise UsageError(f"--labels takes numbers from 10, as in 100 or 100,1000, not {wrong[0]!r}.")
    return [int(each) for each in numbers]
