"""A dependency tree as SVG: words in a row, and above them an arc from every head to its dependent.

    open("tree.svg", "w").write(draw(["She", "sings", "."], [2, 0, 2], ["nsubj", "root", "punct"]))

An arc is a bracket with a flat top that bears its label. An arc over others is higher than they are, and every arc is
wide enough for its label, so that no two labels meet. Where several arcs stand on one word, the longest is nearest to
the word's middle, so that brackets that stand inside each other do not cross.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

WORD, LABEL = 15, 11  # sizes of letters
LEVEL, FOOT = 24, 7  # between the tops of two arcs; between the feet of two arcs on a word
GAP, MARGIN, CORNER = 18, 16, 6
NARROW, WIDE = frozenset("iljtfrI.,:;'!|()[]- "), frozenset("mwMW@%—")
STYLE = """text{font-family:Helvetica,Arial,sans-serif;text-anchor:middle}
.word{font-size:15px;fill:#1b1b1f}.tag{font-size:11px;fill:#7a7a85}.label{font-size:11px;fill:#1d4f91}
.arc{fill:none;stroke:#8d9bb0;stroke-width:1.3}.head{fill:#5f6f88}.back{fill:#fff}"""


class Arc(NamedTuple):
    """From a head to its dependent, both counted from 0."""

    head: int
    dependent: int
    label: str

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.head, self.dependent), max(self.head, self.dependent)

    @property
    def length(self) -> int:
        return abs(self.head - self.dependent)


def draw(words: Sequence[str], heads: Sequence[int], relations: Sequence[str], tags: Sequence[str] = ()) -> str:
    """The drawing; heads are counted from 1, and that of the root is 0."""
    arcs = sorted(
        (
            Arc(head - 1, position, label)
            for position, (head, label) in enumerate(zip(heads, relations, strict=True))
            if head
        ),
        key=lambda arc: (arc.length, arc.ends),
    )
    levels, feet = _levels(arcs), _feet(arcs)
    middles, width = _middles(words, tags, arcs, feet)
    top = max(levels.values(), default=0)
    base = MARGIN + LABEL + (top + 1) * LEVEL  # where arcs stand
    shapes = []
    for arc in arcs:
        start, end = (middles[word] + feet[arc, word] for word in (arc.head, arc.dependent))
        shapes.append(_bracket(start, end, base, base - levels[arc] * LEVEL, arc.label))
    for position, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        if not head:
            shapes.append(_root(middles[position], base, relation))
    for position, word in enumerate(words):
        shapes.append(_text("word", middles[position], base + WORD + 4, word))
        if tags and tags[position]:
            shapes.append(_text("tag", middles[position], base + WORD + LABEL + 9, tags[position]))
    height = base + WORD + LABEL + MARGIN + 4
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{html.escape(' '.join(words))}</title>",
            f"<style>{STYLE}</style>",
            '<rect class="back" width="100%" height="100%"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _levels(arcs: Sequence[Arc]) -> dict[Arc, int]:
    """How high each arc is: above every shorter one that has part of its way."""
    levels: dict[Arc, int] = {}
    for arc in arcs:
        first, last = arc.ends
        below = (levels[other] for other in levels if other.ends[0] < last and first < other.ends[1])
        levels[arc] = 1 + max(below, default=0)
    return levels


def _feet(arcs: Sequence[Arc]) -> dict[tuple[Arc, int], float]:
    """Where each arc stands on each of its words, from the word's middle: the longest nearest to it."""
    sides: dict[tuple[int, int], list[Arc]] = {}
    for arc in arcs:
        for word, side in zip(arc.ends, (1, -1), strict=True):
            sides.setdefault((word, side), []).append(arc)
    return {
        (arc, word): side * FOOT * (number + 0.5)
        for (word, side), own in sides.items()
        for number, arc in enumerate(reversed(own))
    }


def _middles(
    words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc], feet: dict[tuple[Arc, int], float]
) -> tuple[list[float], float]:
    """The middle of every word, so that words, their arcs and the arcs' labels all have room; and the whole width."""
    names = tags or [""] * len(words)
    half = [max(width_of(w, WORD), width_of(t, LABEL)) / 2 for w, t in zip(words, names, strict=True)]
    for (_, word), foot in feet.items():
        half[word] = max(half[word], abs(foot))
    steps = [a + b + GAP for a, b in pairwise(half)]  # from each word to the next
    for arc in arcs:  # the short ones first: they have the fewest positions where the row can give way
        first, last = arc.ends
        has = sum(steps[first:last]) - feet[arc, first] + feet[arc, last]
        lacks = width_of(arc.label, LABEL) + 2 * CORNER - has
        if lacks > 0:
            steps[first:last] = [step + lacks / arc.length for step in steps[first:last]]
    middles = [MARGIN + half[0]] if half else []
    for step in steps:
        middles.append(middles[-1] + step)
    return middles, (middles[-1] + half[-1] if half else 0) + MARGIN


def width_of(text: str, size: float) -> float:
    """About how wide a text is, rather more than less."""
    shares = (
        0.0
        if unicodedata.combining(letter)
        else 1.0
        if letter in WIDE or unicodedata.east_asian_width(letter) in "WF"
        else 0.36
        if letter in NARROW
        else 0.72
        if letter.isupper()
        else 0.6
        for letter in text
    )
    return size * sum(shares)


def _bracket(start: float, end: float, base: float, top: float, label: str) -> str:
    """Up from the head, across, and down to the dependent, where an arrow points."""
    turn = CORNER if end > start else -CORNER
    path = (
        f"M{start:.1f},{base:.1f}V{top + CORNER:.1f}q0,-{CORNER} {turn},-{CORNER}"
        f"H{end - turn:.1f}q{turn},0 {turn},{CORNER}V{base - 6:.1f}"
    )
    return f'<path class="arc" d="{path}"/>{_arrow(end, base)}{_label((start + end) / 2, top, label)}'


def _root(middle: float, base: float, label: str) -> str:
    top = MARGIN + LABEL / 2
    line = f'<path class="arc" d="M{middle:.1f},{top:.1f}V{base - 6:.1f}"/>'
    return f"{line}{_arrow(middle, base)}{_label(middle, top, label)}"


def _arrow(x: float, base: float) -> str:
    return f'<path class="head" d="M{x:.1f},{base:.1f}l-3,-7h6z"/>'


def _label(x: float, y: float, label: str) -> str:
    """On a white ground, which hides the line behind it."""
    width = width_of(label, LABEL) + 4
    ground = (
        f'<rect class="back" x="{x - width / 2:.1f}" y="{y - LABEL / 2 - 1:.1f}" width="{width:.1f}" height="13"/>'
    )
    return f"{ground}{_text('label', x, y + LABEL / 3, label)}"


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{html.escape(text)}</text>'
