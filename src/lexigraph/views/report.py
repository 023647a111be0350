"""A self-contained HTML page: prose, tables and curves drawn as inline SVG, readable in ten years."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from lexigraph.stored import lines_in

INK, ACCENT, FAINT = "#1f2933", "#0b7285", "#ced4da"
STYLE = f"""
:root {{ color-scheme: light; }}
body {{ font: 16px/1.55 Georgia, 'Times New Roman', serif; color: {INK}; background: #fdfdfb;
       max-width: 46rem; margin: 3rem auto; padding: 0 1.2rem; }}
h1 {{ font-size: 1.9rem; margin-bottom: .2rem; }} h2 {{ font-size: 1.25rem; margin-top: 2.2rem; }}
p.lead {{ color: #52606d; margin-top: 0; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid {FAINT}; vertical-align: top; }}
th {{ font-weight: 600; }} svg {{ width: 100%; max-width: 36rem; height: auto; }}
blockquote {{ margin: .35rem 0; padding-left: .9rem; border-left: 3px solid {ACCENT}; white-space: pre-wrap;
             overflow-wrap: anywhere; }}
.figures {{ display: grid; gap: .9rem; }} figure {{ margin: 0; min-width: 0; }}
figure img {{ width: 100%; image-rendering: pixelated; border-radius: 3px; display: block; }}
figcaption {{ font-size: .85rem; line-height: 1.35; margin-top: .35rem; overflow-wrap: anywhere; }}
pre {{ overflow-x: auto; }}
@media (max-width: 34rem) {{ .figures {{ grid-template-columns: repeat(2, 1fr) !important; }} }}
code, pre {{ font: .88em/1.5 ui-monospace, Menlo, Consolas, monospace; }}
footer {{ margin-top: 3rem; color: #7b8794; font-size: .85rem; overflow-wrap: anywhere; }}
"""


def page(title: str, lead: str, sections: Mapping[str, str], footer: str = "") -> str:
    """A page from HTML fragments by heading."""
    body = "".join(f"<h2>{html.escape(heading)}</h2>\n{fragment}\n" for heading, fragment in sections.items())
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f'<body><h1>{html.escape(title)}</h1><p class="lead">{html.escape(lead)}</p>\n{body}'
        f"<footer>{html.escape(footer)}</footer></body></html>\n"
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def quotes(texts: Sequence[str]) -> str:
    """Texts, one under the other."""
    return "\n".join(f"<blockquote>{html.escape(text)}</blockquote>" for text in texts)


def figures(pictures: Sequence[tuple[str, str]], columns: int) -> str:
    """Pictures (as data URIs) with their captions, so many in a row."""
    cards = "".join(
        f'<figure><img src="{uri}" alt=""><figcaption>{html.escape(caption)}</figcaption></figure>'
        for uri, caption in pictures
    )
    return f'<div class="figures" style="grid-template-columns: repeat({columns}, 1fr)">{cards}</div>'


def loss_curve(log: Path) -> str:
    """Training and validation loss of a run's log.jsonl over its steps, as SVG."""
    events = [event for event in lines_in(log)[0] if {"step", "loss"} <= event.keys()]
    curves = {
        kind: [(event["step"], event["loss"]) for event in events if event.get("kind") == kind]
        for kind in ("train", "valid")
    }
    return curve(curves, "step", "loss (nats per token)")


def curve(curves: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> str:
    """Lines with their names and last values, as inline SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context(
        {"svg.fonttype": "none", "font.family": "serif", "font.size": 11, "svg.hashsalt": "lexigraph"}
    ):
        figure, axes = pyplot.subplots(figsize=(5.2, 2.9))
        for (name, points), colour in zip(curves.items(), ("#9aa5b1", ACCENT, INK), strict=False):
            if points:
                xs, ys = zip(*points, strict=True)
                marker = "o" if len(xs) < 15 else ""
                axes.plot(
                    xs, ys, color=colour, linewidth=1.8, marker=marker, markersize=4, label=f"{name} {ys[-1]:.2f}"
                )
        axes.legend(frameon=False)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.spines[["top", "right"]].set_visible(False)
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        axes.set_xlim(left=0)
        figure.tight_layout()
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    svg = stream.getvalue()
    return svg[svg.index("<svg") :]
