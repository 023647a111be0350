"""What context buys, as a picture: the score of tokens by how many stand before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lexigraph import __version__
from lexigraph.errors import UsageError
from lexigraph.views.picture import Picture, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES = {"context": "tokens in view", "document": "position in the document"}
LEAD = "The lower the line, the better tokens are predicted that have so many before them."
FEWEST = 100  # tokens of a point: of fewer, a line is noise


def picture(runs: Mapping[str, Mapping[str, Any]]) -> Picture:
    """Scores of evaluation/context.py by context and, where there are documents, by position in them."""
    kinds = [kind for kind in SIDES if any(kind in scores for scores in runs.values())]
    if not kinds:
        raise UsageError("These scores are not by position: evaluate with --by-position.")
    groups = [group for scores in runs.values() for kind in kinds for group in scores.get(kind, {}).values()]
    metric = "bits_per_byte" if all("bits_per_byte" in group for group in groups) else "nll"

    def figure() -> Figure:
        drawn, axes = subplots(1, len(kinds), figsize=(4.5 * len(kinds), 3.4), sharey=True)
        for axis, kind in zip(axes[0], kinds, strict=True):
            for name, scores in runs.items():
                found = {k: group for k, group in scores.get(kind, {}).items() if group["tokens"] >= FEWEST}
                ends = [int(each.rpartition("-")[2]) for each in found]
                values = [group[metric]["value"] for group in found.values()]
                axis.plot(ends, values, "o-", markersize=3, label=name if kind == kinds[0] else None)
            axis.set_xscale("log", base=2)
            ticks = [4**n for n in range(16) if 4**n <= axis.get_xlim()[1]]
            axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=7)
            axis.set_xlabel(SIDES[kind])
            axis.grid(alpha=0.3)
        axes[0, 0].set_ylabel(metric.replace("_", " ") if metric != "nll" else "nats per token")
        drawn.legend(loc="outside right upper", fontsize=8)
        return drawn

    return Picture("What context buys", LEAD, f"Lexigraph {__version__}", figure)
