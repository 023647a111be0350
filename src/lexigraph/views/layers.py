"""What a task takes from each layer of the network that reads for it: the weights that it has learned (nn/mix.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.mix import ScalarMix
from lexigraph.views.picture import Picture, made_by, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAD = "How much the task takes of each layer of its part, from the lowest up; 0 is what goes into the first."


def weights(model: TextModel) -> Mapping[int, float]:
    """γ times the share of each layer that is mixed."""
    found = next((module for module in model.network.modules() if isinstance(module, ScalarMix)), None)
    if found is None:
        raise UsageError(
            f"This {model.recipe.system} model mixes no layers: train one with --from RUN and "
            "--set model.reader_layers=[0,1,2]."
        )
    return found.weights


def picture(model: TextModel, found: Mapping[int, float]) -> Picture:
    """A bar for each layer."""

    def figure() -> Figure:
        drawn, axes = subplots(figsize=(5, 0.6 + 0.4 * len(found)))
        axes[0, 0].barh([f"layer {layer}" for layer in found], list(found.values()))
        axes[0, 0].set_xlabel("weight")
        return drawn

    return Picture("What is taken of each layer", LEAD, made_by(model), figure)
