"""The cliff in the loss of a recurrent network, and how optimizers take it (Pascanu et al. 2013, section 2.3).

    x_t = w σ(x_{t-1}) + b,   x_0 = 1/2,   t = 1 … 50         one unit, its weight and its bias
    L(w, b) = (σ(x_50) - 0.7)²

Where w is large there are two fixed points, and at a line the state that is reached changes from one to the other:
the loss has a wall there, whose gradient throws a plain step far away. Clipping keeps the direction, not the length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.views.picture import Picture, as_svg, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

STEPS, TARGET, START = 50, 0.7, (6.0, -2.75)
WEIGHTS, BIASES = (3.0, 8.0), (-4.5, -1.5)  # what the picture shows
MOVES = 300
LABEL = "loss (σ(x₅₀) − 0.7)²"

Path2 = Float[np.ndarray, "moves 2"]
Optimizer = Callable[[list[Tensor]], torch.optim.Optimizer]
WAYS: Mapping[str, tuple[Optimizer, float]] = {  # the optimizer, and the norm that gradients are clipped to
    "plain": (lambda p: torch.optim.SGD(p, lr=0.1), np.inf),
    "clipped to a norm of 0.1": (lambda p: torch.optim.SGD(p, lr=0.1), 0.1),
    "Nesterov, momentum 0.9": (lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True), np.inf),
    "RMSprop, decay 0.9": (lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9), np.inf),
}


def loss(weight: Tensor, bias: Tensor) -> Tensor:
    """The loss at every weight and bias."""
    x = torch.full_like(weight, 0.5)
    for _ in range(STEPS):
        x = weight * x.sigmoid() + bias
    return (x.sigmoid() - TARGET).square()


def path(optimizer: Optimizer, clip: float, moves: int = MOVES) -> Path2:
    """Where an optimizer goes from the start, one point more than it moves."""
    weight, bias = (nn.Parameter(torch.tensor(value, dtype=torch.float64)) for value in START)
    made, points = optimizer([weight, bias]), [START]
    for _ in range(moves):
        made.zero_grad()
        loss(weight, bias).backward()
        nn.utils.clip_grad_norm_([weight, bias], clip)
        made.step()
        points.append((weight.item(), bias.item()))
    return np.array(points)


def paths() -> dict[str, Path2]:
    """The path of each way to step."""
    return {name: path(*way) for name, way in WAYS.items()}


def picture(found: Mapping[str, Path2]) -> Picture:
    """The surface and the paths."""
    lead = "The loss of a recurrent unit over its two weights, dark where it is large, and where optimizers go on it."

    def figure() -> Figure:
        drawn, axes = subplots(2, 2, figsize=(9, 7), sharex=True, sharey=True)
        filled = [_draw(axis, *way) for axis, way in zip(axes.flat, found.items(), strict=True)]
        drawn.colorbar(filled[0], ax=axes, label=LABEL, shrink=0.7)
        return drawn

    def sections() -> Mapping[str, str]:
        made = {}
        for name, points in found.items():
            drawn, axes = subplots(figsize=(4.2, 3.4))
            drawn.colorbar(_draw(axes[0, 0], "", points), ax=axes, label=LABEL)
            made[name] = as_svg(drawn)
        return made

    return Picture("A cliff in the loss", lead, "made by no run", figure, sections)


def _draw(axis: Axes, name: str, points: Path2) -> AxesImage:
    """One path on the surface."""
    from matplotlib.colors import PowerNorm

    weights, biases = np.meshgrid(np.linspace(*WEIGHTS, 300), np.linspace(*BIASES, 300))
    surface = loss(torch.from_numpy(weights), torch.from_numpy(biases)).numpy()
    window = (*WEIGHTS, *BIASES)
    filled = axis.imshow(surface, cmap="Greys", norm=PowerNorm(0.5), extent=window, origin="lower", aspect="auto")
    axis.plot(*points.T, "o-", color="tab:orange", markersize=3, linewidth=1)
    axis.plot(*points[0], "s", color="tab:blue", markersize=7)
    axis.set(xlim=WEIGHTS, ylim=BIASES, xlabel="weight w", ylabel="bias b")
    axis.set_title(
        f"{name}\nlongest step {longest(points):.2g}, last loss {losses(points)[-1]:.2g}".strip(), fontsize=10
    )
    return filled


def losses(points: Path2) -> Float[np.ndarray, " moves"]:
    """The loss at every point of a path."""
    return loss(*torch.from_numpy(points).T).numpy()


def longest(points: Path2) -> float:
    """The length of the longest step."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).max())
