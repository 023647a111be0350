"""What is seen, as a file: a picture (.png, .svg, .pdf), or a page (.html) that opens anywhere and asks for nothing.

Each says which run made it. A page is readable on a phone: what is wider than the screen is moved, not shrunk.
"""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.run import replacing
from lexigraph.views import report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf", ".html")
MOST = 60  # rows or columns that can be read in a picture
WIDE = "<div style='overflow-x:auto'>{}</div>"
STYLE = """<style>
.heat { width: auto; border-collapse: separate; border-spacing: 1px; font-size: .8rem; }
.heat th { font-weight: 400; border: 0; padding: 0 .4rem 0 0; text-align: right; white-space: pre; }
.heat thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .3rem 0 0; }
.heat td { width: 1.25rem; height: 1.25rem; min-width: 1.25rem; border: 0; padding: 0; }
.tokens { font: 1rem/2.1 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
.tokens span { border-radius: 2px; padding: .15rem 0; }
</style>"""


@dataclass(frozen=True)
class Picture:
    """What is to be seen, and how; nothing is drawn before it is saved."""

    title: str
    lead: str  # how to read it
    made_by: str
    figure: Callable[[], Figure]
    sections: Callable[[], Mapping[str, str]] | None = None  # of the page, HTML by heading; None: the figure


def save(picture: Picture, out: Path) -> None:
    """Write it in the format that the suffix names."""
    with replacing(out) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for it
        if out.suffix == ".html":
            sections = {"": _as_svg(picture.figure())} if picture.sections is None else picture.sections()
            text = report.page(picture.title, picture.lead, {}, picture.made_by)
            named = {head and f"<h2>{html.escape(head)}</h2>": part for head, part in sections.items()}
            body = "".join(head + part for head, part in named.items())
            temporary.write_text(text.replace("<footer>", f"{STYLE}{body}<footer>"), "utf-8")
            return
        from matplotlib import pyplot

        figure = picture.figure()
        figure.text(0.995, -0.005, picture.made_by, fontsize=6, color="0.5", ha="right", va="top")
        figure.savefig(temporary, format=out.suffix[1:], dpi=110, bbox_inches="tight")
        pyplot.close(figure)


def made_by(*models: TextModel) -> str:
    """Which runs a picture comes from."""
    from lexigraph import __version__

    runs = [
        f"{model.path.name if model.path else 'a model'} ({model.recipe.system}, weights {model.fingerprint})"
        for model in models
    ]
    return f"{', '.join(runs)}; Lexigraph {__version__}"


def subplots(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure without a window, and its axes as a table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, squeeze=False, layout="constrained", **options)
    return figure, axes


def readable(count: int, what: str) -> None:
    """Refuse what would be too small to be read."""
    if count > MOST:
        raise UsageError(f"There are {count} {what}, and a picture shows at most {MOST}: give a shorter text.")


def heat_figure(values: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str], label: str) -> Figure:
    """A heat map with the names of its rows and columns, dark where there is much."""
    figure, axes = subplots(figsize=(2.2 + 0.3 * len(columns), 1.2 + 0.26 * len(rows)))
    axis = axes[0, 0]
    image = axis.imshow(values, cmap="Blues", vmin=0, vmax=max(1e-9, float(values.max())), aspect="auto")
    axis.set_xticks(range(len(columns)), [shown(each) for each in columns], rotation=60, ha="right")
    axis.set_yticks(range(len(rows)), [shown(each) for each in rows])
    figure.colorbar(image, ax=axis, label=label)
    return figure


def heat_table(values: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str]) -> str:
    """The same as an HTML table, whose cells say their number."""
    most = max(1e-9, float(values.max()))
    head = "".join(f"<th>{html.escape(shown(each))}</th>" for each in columns)
    lines = []
    for name, line in zip(rows, values, strict=True):
        cells = "".join(f'<td style="background:{blue(v / most)}" title="{v:.3f}"></td>' for v in line.tolist())
        lines.append(f"<tr><th>{html.escape(shown(name))}</th>{cells}</tr>")
    table = f'<table class="heat"><thead><tr><th></th>{head}</tr></thead>{"".join(lines)}</table>'
    return WIDE.format(table)


def coloured(tokens: Sequence[str], colours: Sequence[str], titles: Sequence[str]) -> str:
    """A text whose tokens have colours, and say more when they are pointed at."""
    parts = (
        f'<span style="background:{colour}" title="{html.escape(title, quote=True)}">{html.escape(token)}</span>'
        for token, colour, title in zip(tokens, colours, titles, strict=True)
    )
    return f'<p class="tokens">{"".join(parts)}</p>'


def blue(share: float) -> str:
    """White to blue, from 0 to 1."""
    return f"rgba(28, 100, 170, {min(1.0, max(0.0, share)):.3f})"


def signed(value: float) -> str:
    """Red below 0, blue above, white between; the full colours at -1 and 1."""
    colour = "28, 100, 170" if value > 0 else "200, 60, 40"
    return f"rgba({colour}, {min(1.0, abs(value)) * 0.8:.3f})"


def shown(token: str) -> str:
    """A token as it can be seen: spaces and ends of lines have signs."""
    return token.replace("\n", "⏎").replace("\t", "⇥").strip(" ") or "␣"


def _as_svg(figure: Figure) -> str:
    """A figure as part of a page."""
    import matplotlib
    from matplotlib import pyplot

    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lexigraph"}):
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    svg = stream.getvalue()
    return WIDE.format(svg[svg.index("<svg") :].replace("<svg", '<svg style="min-width:34rem"', 1))
