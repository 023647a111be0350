"""The states of a model along texts, as a map: near to each other what it holds for alike.

A map of one word in many texts shows its senses: where a model tells them apart, they stand apart.

The two directions are those in which the states differ most (principal components); how much of all difference they
show is written beside them.

Shapes: N tokens of all texts, d width of a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.network import Reader
from lexigraph.views.picture import Picture, made_by, shown, subplots
from lexigraph.views.reading import one_text
from lexigraph.words.maps import label_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 400  # tokens that a map can hold
LEAD = "A point for every token, a line for every text: the two directions in which the states differ most."
WORD_LEAD = "A point for every text: the state of one word in it, in the two directions in which these differ most."
SIZE = 9.0  # points of a label's letters
BESIDE = 3  # words on each side that stand beside a point


@dataclass(frozen=True)
class StateMap:
    """Where the tokens of some texts stand, or one word of each."""

    texts: list[list[str]]  # their tokens
    places: Float[np.ndarray, "N 2"]
    explained: tuple[float, float]  # the share of all variance that each direction shows
    layer: int
    word: str = ""


def places(model: TextModel, texts: Sequence[str], layer: int = -1) -> StateMap:
    """The states of one layer (0: what goes in; -1: the last) for the tokens of texts."""
    found = [(tokens, states[layer]) for tokens, states, _ in _read(model, texts, layer)]
    count = sum(len(tokens) for tokens, _ in found)
    if not 2 <= count <= MOST:
        raise UsageError(f"The texts have {count} tokens together: a map holds 2 to {MOST}.")
    where, explained = _directions(np.concatenate([states for _, states in found]))
    return StateMap([tokens for tokens, _ in found], where, explained, _number(model, layer))


def senses(model: TextModel, word: str, texts: Sequence[str], layer: int = -1) -> StateMap:
    """The states of one word, wherever it stands in texts, whatever its case: the mean of its pieces."""
    labels, found = list[str](), list[np.ndarray]()
    for (_, states, numbers), text in zip(_read(model, texts, layer), model.cleaned(texts), strict=True):
        words = text.split()
        for place, each in enumerate(words):
            if each.lower() == word.lower() and place in numbers:
                labels.append(" ".join(words[max(0, place - BESIDE) : place + BESIDE + 1]))
                found.append(states[layer][numbers == place].mean(0))
    if not 2 <= len(found) <= MOST:
        raise UsageError(f"{word!r} stands {len(found)} times in these texts: a map holds 2 to {MOST}.")
    where, explained = _directions(np.stack(found))
    return StateMap([[label] for label in labels], where, explained, _number(model, layer), word)


def _number(model: TextModel, layer: int) -> int:
    """A layer counted from the lowest one up."""
    assert isinstance(model.network, Reader)
    return layer % model.network.depth


Read = tuple[list[str], list[Float[np.ndarray, "T d"]], Int[np.ndarray, " T"]]


def _read(model: TextModel, texts: Sequence[str], layer: int) -> Iterator[Read]:
    """The tokens of every text, the states of all layers, and which word each token belongs to."""
    network = model.network
    if not isinstance(network, Reader):
        raise UsageError(f"A {model.recipe.system} model has no states that others could read.")
    if not -network.depth <= layer < network.depth:
        raise UsageError(f"There is no layer {layer}: this model shows 0 to {network.depth - 1}.")
    for text in texts:
        tokens, numbers, batch = one_text(model, network, model.tokenizer, text, _refuse_many)
        with torch.inference_mode():
            layers = network.states(batch).layers
        yield tokens, [each[0, 1 : len(tokens) + 1].float().cpu().numpy() for each in layers], numbers


def _refuse_many(count: int) -> None:
    if count > MOST:
        raise UsageError(f"A text has {count} tokens, and a map holds 2 to {MOST}.")


def _directions(x: Float[np.ndarray, "N d"]) -> tuple[Float[np.ndarray, "N 2"], tuple[float, float]]:
    """Places in the two directions of most variance, and the share of it that each shows."""
    u, s, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    shares = np.append(s**2 / max(1e-12, float((s**2).sum())), 0.0)
    return (u * s)[:, :2], (float(shares[0]), float(shares[1]))


def picture(model: TextModel, found: StateMap) -> Picture:
    """The map, with the tokens beside their points."""
    title = f"{found.word or 'States'}, layer {found.layer}"
    return Picture(title, WORD_LEAD if found.word else LEAD, made_by(model), lambda: _figure(found))


def _figure(found: StateMap) -> Figure:
    side = float(np.clip(0.55 * np.sqrt(len(found.places)), 6, 13))
    drawn, axes = subplots(figsize=(side, 0.85 * side))
    axis, first = axes[0, 0], 0
    for number, tokens in enumerate(found.texts):
        here = found.places[first : first + len(tokens)]
        axis.plot(*here.T, "o-", color=f"C{number % 10}", linewidth=0.6, markersize=4, alpha=0.7)
        first += len(tokens)
    axis.margins(0.08)
    shares = (f"direction {n}: {share:.0%} of the variance" for n, share in enumerate(found.explained, 1))
    axis.set(**dict(zip(("xlabel", "ylabel"), shares, strict=True)))
    labels = [shown(token) for text in found.texts for token in text]
    missing = _label(drawn, axis, labels, found.places)
    if missing:
        axis.set_title(f"{missing} of {len(labels)} points have no room for their label", fontsize=9, color="0.4")
    return drawn


def _label(drawn: Figure, axis: Axes, labels: Sequence[str], places: Float[np.ndarray, "N 2"]) -> int:
    """Labels that cover neither each other nor a point, tied to it where they stand away; how many found no room."""
    drawn.draw_without_rendering()  # from here on nothing moves
    to_points = 72 / drawn.dpi
    dots = axis.transData.transform(places) * to_points
    corners = axis.bbox.get_points() * to_points
    boxes = np.array([(0.62 * SIZE * len(label) + 2, 1.25 * SIZE) for label in labels])
    centres = label_positions(dots, boxes, range(len(labels)), dots, corners)
    for label, place, dot, centre, box in zip(labels, places, dots, centres, boxes, strict=True):
        if np.isfinite(centre).all():
            edge = np.clip(dot, centre - box / 2, centre + box / 2)
            tied = {"arrowstyle": "-", "color": "0.7", "linewidth": 0.6} if np.hypot(*(edge - dot)) > 5 else None
            axis.annotate(label, place, xytext=centre - dot, textcoords="offset points", fontsize=SIZE, ha="center",
                          va="center", arrowprops=tied, annotation_clip=False)  # fmt: skip
    return int(np.isnan(centres[:, 0]).sum())
