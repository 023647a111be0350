"""Maps of word vectors: words as points of a plane, in a picture (.png, .svg) or in a page to explore (.html).

    pca      (x − μ)V, V the two directions of largest variance: the first right singular vectors of the rows x − μ
    tsne     points whose neighbourhoods are like those of the vectors (van der Maaten and Hinton 2008)
    pairs    pca of the pairs' words alone, with arrows from a to b; and for each two pairs (a, b), (c, d)
             rank of d = 1 + number of words x, none of the four, with cos(x, b − a + c) > cos(d, b − a + c)

A plane cannot keep every distance, so nearest words and ranks are found among the vectors, not on the map. All
vectors are scaled to length 1 first, since the cosine sees directions only.

>>> wv.map(["paris", "london", "bread", "milk"], "food.html")                                   # doctest: +SKIP
>>> wv.map(out="royal.png", pairs=[("man", "king"), ("woman", "queen")])                        # doctest: +SKIP
>>> positions(np.array([[5.0, 0, 0], [5, 4, 0], [5, 0, 2], [5, 4, 2]])).round(3).tolist()
[[-2.0, -1.0], [2.0, -1.0], [-2.0, 1.0], [2.0, 1.0]]
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import free_file
from lexigraph.run import replacing

INK, ACCENT, SOFT, FAINT, PAPER = "#1f2933", "#0b7285", "#52606d", "#ced4da", "#fdfdfb"
COLOURS = ("#b45309", "#8d4b87", "#4d7c0f", "#3b5fb0", "#be4b6b", "#7c5c3e")  # of groups, in their order
NEIGHBOURS = 10  # so many nearest words are listed
BLOCK = 2048  # rows of the whole table that are compared at once

Pairs = Sequence[tuple[str, str]]
Groups = Mapping[str, Sequence[str]]  # what the legend says → words in that colour


class Analogy(NamedTuple):
    """a is to b as c is to d: the rank of d among all answers, 1 for the best."""

    a: str
    b: str
    c: str
    d: str
    rank: int

    def __str__(self) -> str:
        return f"{self.b} − {self.a} + {self.c} → {self.d}: rank {self.rank:,}"


@dataclass(frozen=True, eq=False)
class Map:
    """What is drawn."""

    title: str
    lead: str
    words: Sequence[str]
    points: Float[np.ndarray, "words 2"]
    pairs: Pairs
    analogies: Sequence[Analogy]
    groups: Groups

    def colours(self) -> dict[str, str]:
        """The colour of each word that has one; of a word in two groups, that of the first."""
        paired = dict.fromkeys((word for pair in self.pairs for word in pair), ACCENT)
        groups = zip(self.groups.values(), COLOURS, strict=False)
        return paired | {word: colour for words, colour in reversed([*groups]) for word in words}


def positions(vectors: Float[np.ndarray, "n dim"], method: str = "pca", seed: int = 0) -> Float[np.ndarray, "n 2"]:
    """Points of a plane, one for each vector; `method` is pca or tsne, `seed` is for tsne."""
    if method not in ("pca", "tsne"):
        raise UsageError(f"There is no map by {method!r}. Choose from: pca, tsne.")
    _check(vectors)
    if method == "pca":
        mean, axes = _plane(vectors)
        return (vectors - mean) @ axes.T
    from sklearn.manifold import TSNE

    perplexity = min(30, (len(vectors) - 1) / 3)
    model = TSNE(perplexity=perplexity, init="pca", learning_rate="auto", random_state=seed)
    return model.fit_transform(np.asarray(vectors, np.float32)).astype(np.float64)


def ranks(
    pairs: Pairs,
    own: Mapping[str, Float[np.ndarray, " dim"]],
    words: Sequence[str],
    vectors: Float[np.ndarray, "words dim"],
) -> list[Analogy]:
    """For each two pairs (a, b), (c, d) without a common word, the rank of d among `words` as answer to b − a + c.

    Args:
        own: the vectors of the pairs' words, scaled to length 1.
        words, vectors: all words that might be the answer.
    """
    questions = [(*one, *two) for one, two in combinations(pairs, 2) if not set(one) & set(two)]
    if not questions:
        return []
    a, b, c, d = (np.stack([own[word] for word in side]) for side in zip(*questions, strict=True))
    targets = b - a + c
    expected = np.einsum("qd,qd->q", targets, d)
    asked = {word for question in questions for word in question}
    rows = {word: row for row, word in enumerate(words) if word in asked}
    given = np.array([[rows.get(word, -1) for word in question] for question in questions])
    better = np.zeros(len(questions), np.int64)
    for start in range(0, len(vectors), BLOCK):
        scores = targets @ _scaled(vectors[start : start + BLOCK]).T
        question, side = np.nonzero((given >= start) & (given < start + BLOCK))
        scores[question, given[question, side] - start] = -np.inf
        better += (scores > expected[:, None]).sum(axis=1)
    return [Analogy(*question, 1 + int(count)) for question, count in zip(questions, better, strict=True)]


@runtime_checkable
class Nearest(Protocol):
    """`WordVectors.nearest` of several words."""

    def __call__(self, query: list[str], *, k: int) -> Sequence[Sequence[tuple[str, float]]]: ...


def draw(
    words: Sequence[str],
    vectors: Float[np.ndarray, "words dim"],
    out: str | Path,
    method: str = "pca",
    *,
    seed: int = 0,
    pairs: Pairs = (),
    highlight: Groups | None = None,
    every: tuple[Sequence[str], Float[np.ndarray, "all dim"]] | None = None,
    nearest: Nearest | None = None,
    force: bool = False,
) -> Path:
    """Write a map and return its path; the suffix of `out` tells the kind.

    Args:
        words, vectors: what is drawn; `pairs` and `highlight` name words among them.
        every: all words and their vectors, among which the ranks of analogies are counted; by default those drawn.
        nearest: gives for a list of words and k the nearest words with their scores, as WordVectors.nearest does;
            without it a page lists none.
    """
    path, groups = free_file(out, "a map", (".png", ".svg", ".html"), force), highlight or {}
    suffix = path.suffix.lower()
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise UsageError(f"A pair is two different words, as ('man', 'king'), not {pair!r}.")
    if pairs and method != "pca":
        raise UsageError(f"Pairs are drawn on their principal components, not by {method}: leave method at pca.")
    if len(groups) > len(COLOURS):
        raise UsageError(f"There are colours for {len(COLOURS)} groups of words, not for {len(groups)}.")
    vectors = _scaled(vectors)
    row = {word: number for number, word in enumerate(words)}
    analogies: list[Analogy] = []
    if pairs:
        own = vectors[[row[word] for word in dict.fromkeys(word for pair in pairs for word in pair)]]
        _check(own)
        mean, axes = _plane(own)
        points = (vectors - mean) @ axes.T
        title = f"A map of {len(pairs)} pairs"
        lead = f"Principal components of the pairs’ words; the plane holds {_share(own, axes):.0%} of their variance."
        analogies = ranks(pairs, dict(zip(words, vectors, strict=True)), *(every or (words, vectors)))
    else:
        points = positions(vectors, method, seed)
        title, dim = f"A map of {len(words):,} words", vectors.shape[1]
        if method == "pca":
            share = _share(vectors, _plane(vectors)[1])
            lead = f"Principal components of {dim} dimensions; the plane holds {share:.0%} of the variance."
        else:
            lead = f"t-SNE of {dim} dimensions: neighbourhoods are kept, distances between them are not."
    drawn = Map(title, lead, words, points, pairs, analogies, groups)
    if suffix == ".html":
        page = _page(drawn, nearest(list(words), k=NEIGHBOURS) if nearest else [[]] * len(words))
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
    else:
        _picture(drawn, path, suffix[1:])
    return path


def _check(vectors: np.ndarray) -> None:
    if len(vectors) < 3:
        raise UsageError(f"A map needs at least 3 different words, not {len(vectors)}; of pairs, at least two.")
    if vectors.shape[1] < 2:
        raise LexigraphError("Vectors of 1 number lie on a line: a map needs at least 2.")
    if not np.isfinite(vectors).all():
        raise LexigraphError("The map cannot be drawn: the vectors hold values that are not finite numbers.")
    if np.ptp(vectors, axis=0).max() <= 1e-6 * np.abs(vectors).max():  # equal but for float32's rounding
        raise LexigraphError("The map would be one point: all its words have the same vector.")


def _scaled(vectors: np.ndarray) -> np.ndarray:
    """Rows in float64 of length 1; zero ones stay zero."""
    exact = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return exact / np.where(lengths == 0, 1, lengths)


def _plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the two principal directions, each with its largest number positive, so that none is mirrored."""
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:2]
    return mean, axes * np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)])[:, None]


def _share(vectors: np.ndarray, axes: np.ndarray) -> float:
    """How much of the variance is along the axes."""
    apart = vectors - vectors.mean(axis=0)
    return float(np.square(apart @ axes.T).sum() / np.square(apart).sum())


# ---- the picture ----


def _picture(drawn: Map, path: Path, kind: str) -> None:
    """Draw dots, arrows, labels and notes; all lengths are points of print, 1/72 inch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    words, colours = drawn.words, drawn.colours()
    labels, notes = [_label(word) for word in words], _notes(drawn.analogies)
    size = 10.0 if len(words) <= 60 else 7.5
    width = float(np.clip(46 * np.sqrt(len(words)), 540, 2000))
    left, top, line = 20.0, 62.0, 15.0
    foot = 24 + line * (len(notes) + bool(drawn.groups))
    span = np.maximum(np.ptp(drawn.points, axis=0), 1e-9)
    room = (width - 80) * np.array([1, np.clip(span[1] / span[0], 0.55, 1)])
    height = top + room[1] + foot
    middle = (drawn.points.min(axis=0) + drawn.points.max(axis=0)) / 2
    dots = [width / 2, foot + room[1] / 2] + (drawn.points - middle) * (room / span).min() * 0.97
    place = dict(zip(words, dots, strict=True))
    arrows = [np.linspace(place[a], place[b], 40) for a, b in drawn.pairs]

    families, strange = _fonts("".join([drawn.title, drawn.lead, *labels, *notes, *map(_label, drawn.groups)]))
    with _style(families), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the picture itself says which letters it lacks
        figure = Figure((width / 72, height / 72), dpi=72, facecolor=PAPER)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
        axes.set_axis_off()
        renderer, font = FigureCanvasAgg(figure).get_renderer(), FontProperties(size=size)

        def wide(text: str) -> float:
            return renderer.get_text_width_height_descent(text, font, ismath=False)[0]

        axes.text(left, height - 27, drawn.title, size=15, weight="bold", color=INK)
        axes.text(left, height - 44, drawn.lead, size=9.5, color=SOFT)
        for arrow in arrows:
            shape = {"arrowstyle": "-|>", "color": ACCENT, "linewidth": 1, "shrinkA": 4, "shrinkB": 4}
            axes.annotate("", arrow[-1], arrow[0], arrowprops=shape)
        sizes = [10 if word in colours else 6 for word in words]
        shades = [colours.get(word, SOFT) for word in words]
        axes.scatter(dots[:, 0], dots[:, 1], sizes, shades, linewidths=0, zorder=3)
        boxes = np.array([(wide(label) + 3, 1.25 * size) for label in labels])
        order = sorted(range(len(words)), key=lambda number: words[number] not in colours)
        frame = np.array([(6, foot - 10), (width - 6, height - top + 10)])
        centres = label_positions(dots, boxes, order, np.concatenate([dots, *arrows]), frame)
        edges = np.clip(dots, centres - boxes / 2, centres + boxes / 2)
        far = np.hypot(*(edges - dots).T) > 5  # a thread ties such a label to its dot; a missing label is NaN
        axes.add_collection(LineCollection(np.stack([dots, edges], 1)[far], colors=FAINT, linewidths=0.6, zorder=2))
        for word, label, (x, y) in zip(words, labels, centres, strict=True):
            if np.isfinite(x):
                colour = colours.get(word, INK)
                axes.text(x, y - 0.35 * size, label, size=size, ha="center", color=colour, zorder=4)
        for number, note in enumerate(notes):
            axes.text(left, foot - 24 - line * number, note, size=9, color=INK)
        start = left
        for name, colour in zip(drawn.groups, COLOURS, strict=False):
            axes.scatter(start + 3, 17, 24, colour, linewidths=0)
            axes.text(start + 10, 14, _label(name), size=9, color=INK)
            start += 28 + wide(_label(name)) * 9 / size
        missing = int(np.isnan(centres[:, 0]).sum())
        lacks = [f"{missing} of {len(words)} words found no room for their label"] if missing else []
        if strange and kind == "png":  # who looks at an .svg file has fonts of their own
            lacks.append(f"no font is installed for {len(strange)} of the letters")
        axes.text(width - left, 14, "; ".join(lacks), size=8, color=SOFT, ha="right")
        with replacing(path) as temporary:
            marks = {"Software": "Lexigraph"} if kind == "png" else {"Creator": "Lexigraph", "Date": None}
            figure.savefig(temporary, format=kind, dpi=160, metadata=marks)


def _style(families: list[str]) -> AbstractContextManager[None]:
    """These fonts; letters that stay letters in .svg files, and dollar signs that are dollar signs."""
    import matplotlib

    return matplotlib.rc_context(
        {"font.family": families, "svg.fonttype": "none", "svg.hashsalt": "lexigraph", "text.parse_math": False}
    )


def label_positions(
    dots: Float[np.ndarray, "n 2"],
    boxes: Float[np.ndarray, "n 2"],
    order: Sequence[int],
    obstacles: Float[np.ndarray, "m 2"],
    frame: Float[np.ndarray, "2 2"],
) -> Float[np.ndarray, "n 2"]:
    """The centre of each label, one after the other: the free place nearest to its dot, or NaN if there is none."""
    around = [(x, y) for x in (1, 0.5, 0, -0.5, -1) for y in (0, 0.5, 1, -0.5, -1) if max(abs(x), abs(y)) == 1]
    sides = np.array(sorted(around, key=lambda side: abs(side[0]) + abs(side[1])))  # straight ones before corners
    gaps = np.array([3, 6, 10, 15, 21, 28, 36, 45])
    steps, sides = (gaps[:, None, None] * sides).reshape(-1, 2), np.tile(sides, (len(gaps), 1))
    low, high = obstacles - 1.6, obstacles + 1.6  # lower left and upper right corners of what is taken
    positions = np.full(dots.shape, np.nan)
    for number in order:
        half = boxes[number] / 2
        centres = dots[number] + sides * half + steps
        reach = 2 * half + gaps[-1]
        close = ((high > dots[number] - reach) & (low < dots[number] + reach)).all(axis=1)
        apart = ((centres - half)[:, None] >= high[close]) | ((centres + half)[:, None] <= low[close])
        inside = ((centres - half >= frame[0]) & (centres + half <= frame[1])).all(axis=1)
        free = np.flatnonzero(apart.any(axis=2).all(axis=1) & inside)
        if len(free):
            positions[number] = centres[free[0]]
            low, high = np.vstack([low, positions[number] - half]), np.vstack([high, positions[number] + half])
    return positions


def _fonts(text: str) -> tuple[list[str], set[str]]:
    """Installed fonts that have the letters of the text between them, and the letters that none has."""
    from matplotlib.font_manager import fontManager, get_font

    families, missing = list[str](), set(text)
    upright = {font.name: font.fname for font in fontManager.ttflist if (font.style, font.weight) == ("normal", 400)}
    for name in sorted(upright, key=lambda name: (name != "DejaVu Serif", name != "DejaVu Sans", name)):
        if missing and "Emoji" not in name and "Last Resort" not in name:  # pictures; a box for any letter
            known = get_font(upright[name]).get_charmap()
            if found := {letter for letter in missing if ord(letter) in known}:
                families.append(name)
                missing -= found
    return families, missing


def _label(word: str, longest: int = 28) -> str:
    """The word as it can be printed: not too long, no control characters."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in word)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _notes(analogies: Sequence[Analogy], most: int = 10) -> list[str]:
    """The lines under the picture."""
    notes = [_label(str(analogy), 120) for analogy in analogies[:most]]
    if len(analogies) > most:
        best = sum(analogy.rank == 1 for analogy in analogies)
        notes.append(f"… {len(analogies)} analogies in all, {best} of them with rank 1")
    return notes


# ---- the page ----


def _page(drawn: Map, nearest: Sequence[Sequence[tuple[str, float]]]) -> str:
    """A page that needs nothing but itself; each word stands in it once, elsewhere its number."""
    every = list(dict.fromkeys([*drawn.words, *(word for row in nearest for word, _ in row)]))
    number = {word: place for place, word in enumerate(every)}
    colours, (low, high) = drawn.colours(), (drawn.points.min(axis=0), drawn.points.max(axis=0))
    unit = (high - low).max() / 2
    data = {
        "words": every,
        "points": ((drawn.points - (low + high) / 2) / unit).round(4).tolist(),
        "span": ((high - low) / unit).round(4).tolist(),
        "near": [[(number[word], round(float(score), 3)) for word, score in row] for row in nearest],
        "colours": [colours.get(word, "") for word in drawn.words],
        "groups": list(zip(drawn.groups, COLOURS, strict=False)),
        "pairs": [(number[a], number[b]) for a, b in drawn.pairs],
        "analogies": [(*(number[word] for word in analogy[:4]), analogy.rank) for analogy in drawn.analogies],
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # so that no word can end the script
    page = (resources.files("lexigraph") / "words" / "map.html").read_text(encoding="utf-8")
    return page.replace("__TITLE__", drawn.title).replace("__LEAD__", drawn.lead).replace("__DATA__", text)
