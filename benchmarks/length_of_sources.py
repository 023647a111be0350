"""BLEU over the length of sources, for several translators beside each other: with attention, without, and so on.

    python benchmarks/length_of_sources.py runs/with runs/without --data test.en+test.de --out lengths.svg
    python benchmarks/length_of_sources.py runs/with=attention runs/without=none --data … --out lengths.png

What `lexigraph eval` has written into a run's results.json is taken from there; other runs are measured first, and
that is written there. Bars are 95 % intervals, which groups of fewer than 20 sentences do not have. The table goes to
standard output, the picture (.svg, .png, .pdf) to --out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import lexigraph
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.translation import LENGTH_GROUPS
from lexigraph.outputs import free_file
from lexigraph.text.files import named, shown

Groups = dict[str, dict[str, Any]]  # by the words of a source


def measured(run: Path, data: list[str], device: str) -> Groups:
    """BLEU by length, from the results of a run or measured now."""
    files = json.loads((run / "results.json").read_text(encoding="utf-8")).get("files", {})
    name = shown(named([Path(file) for file in data]))
    scores = files.get(name, {})
    if "by_length" not in scores:
        scores = lexigraph.evaluate(run, [Path(file) for file in data], device=device)
    if "by_length" not in scores:
        raise LexigraphError(f"{run} is no translator, or translates nothing (eval.sentences): it has no BLEU.")
    return scores["by_length"]


def drawn(found: dict[str, Groups], title: str, out: Path) -> None:
    """A line for each run, over the groups that any of them has."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [name for name in LENGTH_GROUPS if any(name in groups for groups in found.values())]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, (label, groups) in enumerate(found.items()):
        places = [place for place, name in enumerate(names) if name in groups]
        figures = [groups[names[place]]["bleu"] for place in places]
        values = [each["value"] for each in figures]
        ends = [each["interval"] or [each["value"]] * 2 for each in figures]
        below = [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)]
        above = [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)]
        beside = (number - (len(found) - 1) / 2) * 0.06  # so that bars do not hide each other
        axes.errorbar(
            [place + beside for place in places], values, [below, above], label=label, marker="o", capsize=3
        )
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel("words of the source")
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    figure.savefig(out, dpi=150)


def table(found: dict[str, Groups]) -> str:
    """The same as a table in Markdown."""
    lines = [f"| words of the source | sentences | {' | '.join(found)} |", f"| --- | --- {'| --- ' * len(found)}|"]
    for name in LENGTH_GROUPS:
        own = [groups.get(name) for groups in found.values()]
        if any(own):
            count = next(each["sentences"] for each in own if each)
            lines.append(f"| {name} | {count:,} | {' | '.join(_cell(each) for each in own)} |")
    return "\n".join(lines)


def _cell(group: dict[str, Any] | None) -> str:
    if group is None:
        return ""
    ends = group["bleu"]["interval"]
    return f"{group['bleu']['value']:.1f}" + (f" ({ends[0]:.1f} to {ends[1]:.1f})" if ends else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN[=NAME]")
    parser.add_argument("--data", action="append", required=True, help="pairs, as `lexigraph eval` takes them")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--title", default="")
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args()
    try:
        free_file(options.out, "a picture", (".svg", ".png", ".pdf"), options.force)
        named_runs = {name or path: Path(path) for path, _, name in (each.partition("=") for each in options.runs)}
        found = {name: measured(run, options.data, options.device) for name, run in named_runs.items()}
    except LexigraphError as error:
        raise SystemExit(f"{parser.prog}: {error}") from None
    print(table(found))
    drawn(found, options.title or shown(named([Path(file) for file in options.data])), options.out)


if __name__ == "__main__":
    main()
