"""What a model looks at in a picture, drawn over it; and which positions of pictures it takes for near.

a captioner              for each piece of the caption, where it looked while it wrote it
a vision transformer     for each head, where the class token looked, or (mean pooling) all positions on average
positions                the cosine of each position's vector with those of all others
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch.nn import functional as F

from lexigraph.abilities.captioning import Caption, Captioner
from lexigraph.abilities.classifying import Classifier
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.models.captioner import Captioner as CaptionNetwork
from lexigraph.models.vit import VisionTransformer
from lexigraph.nn.attention import watched
from lexigraph.nn.vision import VisionEncoder
from lexigraph.views.picture import Picture, made_by, shown, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 6  # panels side by side
OVER = "Light is where it looked; dark is what it left out. The number is the largest share of one position."


class Look(NamedTuple):
    """Where something looked in a picture: a piece of a caption, or a head."""

    name: str
    weights: Float[np.ndarray, "rows columns"]

    @property
    def best(self) -> tuple[int, int]:
        """Row and column of the position that was looked at most."""
        row, column = divmod(int(self.weights.argmax()), self.weights.shape[1])
        return row, column


class Over(NamedTuple):
    """A picture, and all looks at it."""

    image: UInt8[np.ndarray, "height width channels"]
    title: str
    looks: list[Look]


def sees(model: TextModel) -> bool:
    """Whether it is pictures that this model looks at."""
    return isinstance(model, Captioner) or isinstance(model.network, VisionTransformer)


def looks(model: TextModel, file: str) -> Over:
    """Where a model looks in a picture."""
    if isinstance(model, Captioner):
        (found,) = model.caption([file], attention=True)
        best = found[0]
        assert isinstance(best, Caption)
        assert best.attention is not None
        each = [Look(shown(piece), where) for piece, where in zip(best.pieces, best.attention, strict=True)]
        return Over(model.picture(file), best.text, each)
    assert isinstance(model, Classifier)
    network = model.network
    assert isinstance(network, VisionTransformer)
    (batch,) = model._batches([file])
    with torch.inference_mode(), watched(network) as watcher:
        (answer,) = network.predict(batch)
    label = model.vocabularies.labels("label").names[int(answer.probabilities.argmax())]
    encoder, token = network.encoder, network.config.pooling == "token"
    each = []
    for layer, (_, weights) in enumerate(watcher.found):
        taken = weights[0, :, 0, 1:] if token else weights[0].mean(1)
        maps = (taken / taken.sum(1, keepdim=True)).unflatten(1, (encoder.rows, encoder.columns))
        each += [Look(f"layer {layer} head {head}", own.cpu().numpy()) for head, own in enumerate(maps)]
    image = np.asarray(batch["images"][0].cpu())
    return Over(image, f"{label} {float(answer.probabilities.max()):.2f}", each)


def chosen(found: Over, heads: Sequence[str]) -> Over:
    """Only the looks of these names, or all that begin so: 'layer 0'."""
    kept = [look for look in found.looks if not heads or any(f"{look.name} ".startswith(f"{h} ") for h in heads)]
    if not kept:
        names = ", ".join(look.name for look in found.looks[:4])
        raise UsageError(f"There is no look named {heads[0]!r}; there are: {names} …")
    return found._replace(looks=kept)


def picture(model: TextModel, found: Over) -> Picture:
    """The picture once as it is, and once under each look."""

    def figure() -> Figure:
        rows = -(-(1 + len(found.looks)) // ACROSS)
        made, axes = subplots(rows, min(ACROSS, 1 + len(found.looks)), figsize=(1.7 * ACROSS, 1.95 * rows))
        for axis in axes.flat:
            axis.axis("off")
        _draw(axes.flat[0], found.image)
        for axis, look in zip(axes.flat[1:], found.looks, strict=False):
            _draw(axis, found.image, look.weights)
            axis.set_title(f"{look.name}  {look.weights.max():.2f}", fontsize=8)
        return made

    return Picture(found.title, OVER, made_by(model), figure, counts={"pieces or heads": len(found.looks)})


def _draw(axis: Axes, image: np.ndarray, weights: np.ndarray | None = None) -> None:
    """A picture, as light as it was looked at."""
    colours = np.repeat(image, 3, 2) if image.shape[2] == 1 else image[:, :, :3]
    light = np.ones(image.shape[:2])
    if weights is not None:
        scaled = torch.from_numpy(np.asarray(weights / weights.max(), np.float32))[None, None]
        size = (image.shape[0], image.shape[1])
        light = F.interpolate(scaled, size, mode="bilinear", align_corners=False)[0, 0].numpy()
    axis.imshow((colours * (0.15 + 0.85 * light[..., None])).astype(np.uint8), interpolation="nearest")


def similarities(model: TextModel) -> Float[np.ndarray, "rows columns rows columns"]:
    """The cosine of each position's vector with those of all others."""
    network = model.network
    encoder = network.encoder if isinstance(network, VisionTransformer | CaptionNetwork) else None
    table = encoder.table() if isinstance(encoder, VisionEncoder) else None
    if table is None or not isinstance(encoder, VisionEncoder):
        raise UsageError(f"This {model.recipe.system} model has no learned positions of pictures.")
    grid = F.normalize(table[int(encoder.token is not None) :].detach().float(), dim=1)
    return (grid @ grid.T).view(encoder.rows, encoder.columns, encoder.rows, encoder.columns).cpu().numpy()


def means(found: Float[np.ndarray, "rows columns rows columns"]) -> dict[str, float]:
    """The mean cosine of a position with others of its row, of its column, and elsewhere."""
    a, b, c, d = np.indices(found.shape)
    parts = {"its row": (a == c) & (b != d), "its column": (a != c) & (b == d), "elsewhere": (a != c) & (b != d)}
    return {name: float(found[part].mean()) for name, part in parts.items() if part.any()}


def positions(model: TextModel, found: Float[np.ndarray, "rows columns rows columns"]) -> Picture:
    """A map for each position, where that position stands."""

    def figure() -> Figure:
        rows, columns = found.shape[:2]
        made, axes = subplots(rows, columns, figsize=(0.75 * columns + 1, 0.75 * rows + 0.5))
        panels: list[Axes] = axes.flatten().tolist()
        for axis, own in zip(panels, found.reshape(-1, rows, columns), strict=True):
            shade = axis.imshow(own, vmin=-1, vmax=1, cmap="RdBu_r")
            axis.axis("off")
        made.colorbar(shade, ax=axes, label="cosine")
        return made

    lead = "One map for each position of a patch: how like its vector those of all positions are."
    counts = {"rows of patches": found.shape[0], "columns of patches": found.shape[1]}
    return Picture("Positions of patches", lead, made_by(model), figure, counts=counts)
