"""A tree with a node for every phrase, as SVG: words in a row, and above them what they form.

    open("tree.svg", "w").write(draw(parse("(S (NP (PRP She)) (VP (VBZ sings)))")))

A node stands above the middle of its children, one level higher than the highest of them; lines run level from it and
then straight down, so that none crosses another. Classes of sentiment, which are numbers, are coloured: the lowest
blue, the middle white, the highest orange.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise

from lexigraph.drawing.arcs import width_of
from lexigraph.text.trees import Tree, parents

WORD, LABEL = 15, 12  # sizes of letters
LEVEL, GAP, MARGIN = 30, 14, 16
STYLE = """text{font-family:Helvetica,Arial,sans-serif;text-anchor:middle}
.word{font-size:15px;fill:#1b1b1f}.label{font-size:12px;fill:#1d4f91}.value{font-size:12px;fill:#1b1b1f}
.edge{fill:none;stroke:#b4bcc9;stroke-width:1.2}.back{fill:#fff}.node{stroke:#8d9bb0;stroke-width:1}"""
LOW, MIDDLE, HIGH = (46, 110, 190), (255, 255, 255), (232, 119, 34)


def draw(tree: Tree, scale: Sequence[str] = ()) -> str:
    """The drawing. scale: all labels that there may be; if they are numbers, nodes are coloured by them."""
    above = parents(tree.spans)
    below: list[list[int]] = [[] for _ in tree.spans]
    for index, parent in enumerate(above):
        if parent >= 0:
            below[parent].append(index)
    heights = [0] * len(tree.spans)
    for index in reversed(range(len(tree.spans))):
        heights[index] = 1 + max((heights[child] for child in below[index]), default=-1)
    colours = _colours(scale)
    middles, width = _middles(tree)
    x = [0.0] * len(tree.spans)
    for index in reversed(range(len(tree.spans))):
        own = [x[child] for child in below[index]]
        x[index] = (own[0] + own[-1]) / 2 if own else middles[tree.spans[index].first]
    base = MARGIN + LABEL + max(heights, default=0) * LEVEL  # where the words' own nodes stand
    y = [base - height * LEVEL for height in heights]
    edges = [
        f'<path class="edge" d="M{x[parent]:.1f},{y[parent]:.1f}H{x[index]:.1f}V{y[index]:.1f}"/>'
        for index, parent in enumerate(above)
        if parent >= 0
    ]
    shapes = [_node(x[i], y[i], span.label, colours.get(span.label, "")) for i, span in enumerate(tree.spans)]
    words = [_text("word", middles[i], base + LABEL + WORD + 4, word) for i, word in enumerate(tree.words)]
    height = base + LABEL + WORD + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{html.escape(' '.join(tree.words))}</title>",
            f"<style>{STYLE}</style>",
            '<rect class="back" width="100%" height="100%"/>',
            *edges,
            *shapes,
            *words,
            "</svg>\n",
        ]
    )


def _middles(tree: Tree) -> tuple[list[float], float]:
    """The middle of every word, with room for the labels above it; and the whole width."""
    half = [max(width_of(word, WORD) / 2, 8.0) for word in tree.words]
    for span in tree.spans:
        if span.first == span.last:
            half[span.first] = max(half[span.first], width_of(span.label, LABEL) / 2 + 2)
    middles = [MARGIN + half[0]]
    for left, right in pairwise(half):
        middles.append(middles[-1] + left + right + GAP)
    return middles, middles[-1] + half[-1] + MARGIN


def _colours(scale: Sequence[str]) -> dict[str, str]:
    """A colour for every label, if all are numbers."""
    try:
        values = {label: float(label) for label in scale}
    except ValueError:
        return {}
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    reach = (high - low) / 2 or 1.0
    return {label: _mixed((value - low) / reach - 1) for label, value in values.items()}


def _mixed(side: float) -> str:
    """Between the middle's colour and those of the ends, -1 and 1."""
    end = HIGH if side > 0 else LOW
    parts = (round(m + (e - m) * abs(side) * 0.85) for m, e in zip(MIDDLE, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


def _node(x: float, y: float, label: str, colour: str) -> str:
    """A coloured disc with the label, or the label on a white ground that hides the lines behind it."""
    if colour:
        return f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{colour}"/>' + _text(
            "value", x, y + 4, label
        )
    width = width_of(label, LABEL) + 6
    ground = f'<rect class="back" x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18"/>'
    return ground + _text("label", x, y + 4, label)


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{html.escape(text)}</text>'
