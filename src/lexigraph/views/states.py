"""The states of a model along texts, as a map: near to each other what it holds for alike.

The two directions are those in which the states differ most (principal components); how much of all difference they
show is written beside them.

Shapes: N tokens of all texts, d width of a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.network import Reader
from lexigraph.views.picture import Picture, made_by, shown, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 400  # tokens that a map can hold
LEAD = "A point for every token, a line for every text: the two directions in which the states differ most."


@dataclass(frozen=True)
class StateMap:
    """Where the tokens of some texts stand."""

    texts: list[list[str]]  # their tokens
    places: Float[np.ndarray, "N 2"]
    explained: tuple[float, float]  # the share of all variance that each direction shows
    layer: int


@torch.inference_mode()
def places(model: TextModel, texts: Sequence[str], layer: int = -1) -> StateMap:
    """The states of one layer (0: what goes in; -1: the last) for the tokens of texts."""
    if not isinstance(model.network, Reader):
        raise UsageError(f"A {model.recipe.system} model has no states that others could read.")
    rows, eos, found, tokens = model.rows(texts)[0], model.tokenizer.eos, [], []
    if not 2 <= sum(map(len, rows)) <= MOST:
        raise UsageError(f"The texts have {sum(map(len, rows))} tokens together: a map holds 2 to {MOST}.")
    for row in rows:
        batch = model.network.reading([np.array([eos, *row, eos])]).to(model.device)
        layers = model.network.states(batch).layers
        if not -len(layers) <= layer < len(layers):
            raise UsageError(f"There is no layer {layer}: this model shows 0 to {len(layers) - 1}.")
        found.append(layers[layer][0, 1 : len(row) + 1].float().cpu().numpy())
        tokens.append(model.tokenizer.tokens(row.tolist()))
    x = np.concatenate(found)
    x = x - x.mean(0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    shares = s**2 / max(1e-12, float((s**2).sum()))
    shares = np.append(shares, 0.0)
    return StateMap(tokens, (u * s)[:, :2], (float(shares[0]), float(shares[1])), layer % len(layers))


def picture(model: TextModel, found: StateMap) -> Picture:
    """The map, with the tokens beside their points."""

    def figure() -> Figure:
        drawn, axes = subplots(figsize=(8, 6.5))
        axis, first = axes[0, 0], 0
        for number, tokens in enumerate(found.texts):
            here = found.places[first : first + len(tokens)]
            axis.plot(*here.T, "o-", color=f"C{number % 10}", linewidth=0.6, markersize=4, alpha=0.7)
            for token, (x, y) in zip(tokens, here, strict=True):
                axis.annotate(shown(token), (x, y), fontsize=8, xytext=(3, 3), textcoords="offset points")
            first += len(tokens)
        axis.set(xlabel=f"{found.explained[0]:.0%} of the variance", ylabel=f"{found.explained[1]:.0%}")
        return drawn

    return Picture(f"States of layer {found.layer}", LEAD, made_by(model), figure)
