"""What a task takes from each layer of the network that reads for it, and what each layer knows of its words.

The first are the weights that the task has learned (nn/mix.py), the second the accuracy of a linear classifier of
tags for each layer (probing.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.mix import ScalarMix
from lexigraph.views.picture import Picture, as_svg, made_by, subplots
from lexigraph.views.probing import Probed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TAKEN, KNOWN = "What the task takes of each layer", "What each layer knows"
LEAD = "From the lowest layer up; 0 is what goes into the first."
PROBED = (
    "{} A bar is the share of {:,} words whose tag ({} different ones) a linear probe of that layer names; it was "
    "fitted on {:,} others. The line is what each word's most frequent tag comes to, without any context."
)


def weights(model: TextModel) -> Mapping[int, float]:
    """γ times the share of each layer that is mixed; none, if the model mixes none."""
    found = next((module for module in model.network.modules() if isinstance(module, ScalarMix)), None)
    return found.weights if found else {}


def mixed(model: TextModel) -> Mapping[int, float]:
    """The same; refused, if the model mixes none."""
    if not (found := weights(model)):
        raise UsageError(
            f"This {model.recipe.system} model mixes no layers: train one with --from RUN and --set "
            "model.reader_layers=[0,1,2]; or give texts with tags, --file tags.conll, to see what its layers know."
        )
    return found


def picture(model: TextModel, taken: Mapping[int, float], known: Probed | None = None, title: str = "") -> Picture:
    """A bar for each layer: the weight that it has, the accuracy of its probe."""
    lead = PROBED.format(LEAD, known.judged, known.tags, known.fitted) if known else LEAD

    def draw(axis: Axes, name: str) -> None:
        if name == TAKEN:
            axis.barh([f"layer {layer}" for layer in taken], list(taken.values()))
            axis.set_xlabel("weight")
            return
        assert known is not None
        values = np.array([found["value"] for found in known.layers.values()])
        ends = np.array([found["interval"] or [found["value"]] * 2 for found in known.layers.values()]).T
        axis.barh([f"layer {layer}" for layer in known.layers], values, xerr=np.abs(ends - values), color="tab:green")
        axis.axvline(known.most_frequent["value"], color="0.3", linestyle="--")
        axis.set(xlim=(0, 1.02), xlabel="share of right tags, 95 % interval\nline: each word's most frequent tag")

    names = [TAKEN] * bool(taken) + [KNOWN] * bool(known)
    high = 1.0 + 0.4 * max(len(taken), len(known.layers) if known else 0)

    def figure() -> Figure:
        drawn, axes = subplots(1, len(names), figsize=(5 * len(names), high))
        for axis, name in zip(axes[0], names, strict=True):
            draw(axis, name)
            axis.set_title(name)
        return drawn

    def sections() -> Mapping[str, str]:
        made = {}
        for name in names:
            drawn, axes = subplots(figsize=(4.2, high))
            draw(axes[0, 0], name)
            made[name] = as_svg(drawn)
        return made

    return Picture(title or "Layers", lead, made_by(model), figure, sections)
