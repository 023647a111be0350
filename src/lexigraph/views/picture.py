"""What is seen, as a file: a picture (.png, .svg, .pdf), or a page (.html) that opens anywhere and asks for nothing.

Each says which run made it. A page is readable on a phone: what is wider than the screen is moved, not shrunk.
"""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.run import replacing
from lexigraph.views import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Sides = tuple[str, str]  # what lies along a picture's width, and along its height
SUFFIXES = (".png", ".svg", ".pdf", ".html")
MOST = 60  # rows or columns that can be read in a picture
ACROSS = 80  # characters in a line of a text in colours
BLUE, RED = (28, 100, 170), (200, 60, 40)
UNDER = 0.6  # the fullest colour under letters, which are to be read
WIDE = '<div class="wide" tabindex="0">{}</div>'
STYLE = """<style>
.wide { overflow-x: auto; }
.wide table:not(.heat) { width: auto; font-size: .85rem; }
.wide td { white-space: nowrap; }
.heat { width: auto; border-collapse: separate; border-spacing: 1px; font-size: .8rem; }
.heat th { font-weight: 400; border: 0; padding: 0 .4rem 0 0; text-align: right; white-space: pre; }
.heat th:first-child { position: sticky; left: 0; background: #fdfdfb; }
.heat thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .3rem 0 0; }
.heat td { width: 1.25rem; height: 1.25rem; min-width: 1.25rem; border: 0; padding: 0; }
.tokens { font: 1rem/2.1 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
.tokens span { border-radius: 2px; padding: .15rem 0; }
.chosen { outline: 2px solid #1f2933; outline-offset: -1px; }
#told { position: sticky; bottom: 0; margin: 0; padding: .5rem 0; background: #fdfdfb; border-top: 1px solid #ced4da;
        overflow-wrap: anywhere; }
</style>"""
TOLD = """<p id="told" aria-live="polite" hidden></p><script>
document.addEventListener("click", event => {
  const told = document.getElementById("told"), found = event.target.closest("[title]");
  document.querySelectorAll(".chosen").forEach(other => other.classList.remove("chosen"));
  if (found) { found.classList.add("chosen"); told.textContent = found.title; }
  told.hidden = !found;
});
</script>"""  # a touch cannot point: what a pointer is told over something is told when it is touched, too


@dataclass(frozen=True)
class Picture:
    """What is to be seen, and how; nothing is drawn before it is saved."""

    title: str
    lead: str  # how to read it
    made_by: str
    figure: Callable[[], Figure]
    sections: Callable[[], Mapping[str, str]] | None = None  # of the page, HTML by heading; None: the figure
    counts: Mapping[str, int] = field(default_factory=dict)  # of what stands in it: refused if it cannot be read


def save(picture: Picture, out: Path) -> None:
    """Write it in the format that the suffix names."""
    import matplotlib

    for what, count in picture.counts.items():
        readable(count, what)
    # a dollar sign is one; letters stay letters
    plain: dict[Any, Any] = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "lexigraph"}
    with replacing(out) as temporary, warnings.catch_warnings(), matplotlib.rc_context(plain):
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for it
        if out.suffix == ".html":
            temporary.write_text(_page(picture), "utf-8")
            return
        from matplotlib import pyplot

        figure = picture.figure()
        figure.suptitle(picture.title, x=0.005, ha="left", fontsize=11, weight="bold")
        figure.text(0.995, -0.005, picture.made_by, fontsize=6, color="0.5", ha="right", va="top")
        figure.savefig(temporary, format=out.suffix[1:], dpi=110, bbox_inches="tight")
        pyplot.close(figure)


def _page(picture: Picture) -> str:
    """A page that asks for nothing."""
    sections = {"": as_svg(picture.figure())} if picture.sections is None else picture.sections()
    body = "".join((head and f"<h2>{html.escape(head)}</h2>") + part for head, part in sections.items())
    told = TOLD if "title" in body else ""
    text = report.page(picture.title, picture.lead, {}, picture.made_by)
    return text.replace("<footer>", f"{STYLE}{body}{told}<footer>")


def made_by(*models: TextModel) -> str:
    """Which runs a picture comes from."""
    from lexigraph import __version__

    runs = [
        f"{model.path.name if model.path else 'a model'} ({model.recipe.system}, weights {model.fingerprint})"
        for model in models
    ]
    return f"Run {', '.join(runs)}; Lexigraph {__version__}"


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


def heat_figure(
    values: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str], label: str, sides: Sides = ("", "")
) -> Figure:
    """A heat map with the names of its rows and columns, dark where there is much; `sides` says what those are."""
    figure, axes = subplots(figsize=(2.2 + 0.3 * len(columns), 1.2 + 0.26 * len(rows)))
    draw_heat(axes[0, 0], values, rows, columns, label)
    axes[0, 0].set(xlabel=sides[0], ylabel=sides[1])
    return figure


def draw_heat(
    axis: Axes, values: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str], label: str
) -> None:
    """The same on some axes."""
    image = axis.imshow(values, cmap="Blues", vmin=0, vmax=max(1e-9, float(values.max())), aspect="auto")
    axis.set_xticks(range(len(columns)), [shown(each) for each in columns], rotation=60, ha="right")
    axis.set_yticks(range(len(rows)), [shown(each) for each in rows])
    assert axis.figure is not None
    axis.figure.colorbar(image, ax=axis, label=label)


def heat_table(values: Float[np.ndarray, "R C"], rows: Sequence[str], columns: Sequence[str]) -> str:
    """The same as an HTML table, whose cells say their number."""
    most = max(1e-9, float(values.max()))
    names = [html.escape(shown(each), quote=True) for each in columns]
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = []
    for row, line in zip(rows, values.tolist(), strict=True):
        name = html.escape(shown(row), quote=True)
        cells = "".join(
            f'<td style="background:{css(v / most)}" title="{name} · {column}: {v:.3f}"></td>'
            for column, v in zip(names, line, strict=True)
        )
        lines.append(f"<tr><th>{name}</th>{cells}</tr>")
    table = f'<table class="heat"><thead><tr><th></th>{head}</tr></thead>{"".join(lines)}</table>'
    return WIDE.format(table)


def coloured(tokens: Sequence[str], values: Sequence[float], titles: Sequence[str]) -> str:
    """A text whose tokens have the colours of values from -1 to 1, and say more when they are touched."""
    told = (html.escape(f"{shown(token)} · {title}", quote=True) for token, title in zip(tokens, titles, strict=True))
    parts = (
        f'<span style="background:{css(value, UNDER)}" title="{title}">{html.escape(broken(token))}</span>'
        for token, value, title in zip(tokens, values, told, strict=True)
    )
    return f'<p class="tokens">{"".join(parts)}</p>'


def text_figure(texts: Mapping[str, tuple[Sequence[str], Sequence[float]]], most: int = 400) -> Figure:
    """The same as a picture: of each text the first so many characters, in lines of `ACROSS`, under its name."""
    from matplotlib.patches import Rectangle

    laid = {name: _laid_out(*text, most) for name, text in texts.items()}
    heights = [pieces[-1][0] + 1 if pieces else 1 for pieces in laid.values()]
    figure, axes = subplots(
        len(laid), figsize=(0.085 * ACROSS + 0.3, 0.26 * sum(heights) + 0.4 * len(laid)), height_ratios=heights
    )
    for axis, (name, pieces), height in zip(axes[:, 0], laid.items(), heights, strict=True):
        axis.set(xlim=(0, ACROSS), ylim=(height, 0))
        cut = sum(map(len, texts[name][0])) > most
        axis.set_title(f"{name} (the first {most} characters)" if cut else name, loc="left", fontsize=10)
        axis.axis("off")
        for line, first, letters, value in pieces:
            axis.add_patch(Rectangle((first, line + 0.04), len(letters), 0.92, facecolor=shade(value, UNDER)))
            for place, letter in enumerate(letters):
                middle = (first + place + 0.5, line + 0.52)
                axis.text(*middle, letter, ha="center", va="center", family="monospace", fontsize=9)
    return figure


def _laid_out(tokens: Sequence[str], values: Sequence[float], most: int) -> list[tuple[int, int, str, float]]:
    """Pieces of a text in lines: the line, where in it, the letters, and their value."""
    found: list[tuple[int, int, str, float]] = []
    line = place = count = 0
    for token, value in zip(tokens, values, strict=True):
        letters, count = broken(token), count + len(token)
        if count > most:
            break
        for number, part in enumerate(letters.split("\n")):
            if number or place + len(part) > ACROSS:
                line, place = line + 1, 0
            while part:
                if place == ACROSS:
                    line, place = line + 1, 0
                piece, part = part[: ACROSS - place], part[ACROSS - place :]
                found.append((line, place, piece, value))
                place += len(piece)
    return found


def shade(value: float, most: float = 1.0) -> tuple[float, float, float, float]:
    """White to blue from 0 to 1, white to red from 0 to -1: red, green, blue and how much of it."""
    red, green, blue = BLUE if value > 0 else RED
    return red / 255, green / 255, blue / 255, most * min(1.0, abs(value))


def css(value: float, most: float = 1.0) -> str:
    """The same for a page."""
    return f"rgba({','.join(map(str, BLUE if value > 0 else RED))},{most * min(1.0, abs(value)):.3f})"


def shown(token: str) -> str:
    """A token as it can be seen: spaces and ends of lines have signs."""
    return token.replace("\n", "⏎").replace("\t", "⇥").strip(" ") or "␣"


def broken(token: str) -> str:
    """A token in a text: an end of line is seen, and ends the line."""
    return token.replace("\n", "⏎\n")


def as_svg(figure: Figure) -> str:
    """A figure as part of a page: letters of nine points have ten pixels or more, and what is too wide is moved."""
    from matplotlib import pyplot

    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    points = float(svg.split('width="', 1)[1].split("pt", 1)[0])
    size = f'style="min-width:{points * 10.1 / 9:.0f}px;max-width:{points * 4 / 3:.0f}px"'
    return WIDE.format(svg.replace("<svg", f"<svg {size}", 1))
