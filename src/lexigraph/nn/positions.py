"""Where a token stands: sinusoidal tables and rotary rotations. (Learned positions are an embedding.)

sinusoidal   PE[t, 2i] = sin(t / 10000^(2i/d)),  PE[t, 2i+1] = cos(t / 10000^(2i/d))
rotary       the pair (x_i, x_{i+D/2}) of a query or key is turned by the angle t / 10000^(2i/D),
             so that a product of query and key depends on the distance between their positions only
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F


def sinusoidal(length: int, dim: int) -> Float[Tensor, "length dim"]:
    """The fixed table of Vaswani et al. (2017)."""
    if _without_memory():
        return torch.empty(length, dim)
    table, angles = torch.zeros(length, dim), torch.arange(length)[:, None] * _frequencies(dim)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()[:, : dim // 2]
    return table


def rotary(length: int, dim: int) -> Float[Tensor, "2 length dim"]:
    """Cosines and sines for `turn`, the sines of the first half of a head negative (Su et al. 2021)."""
    if _without_memory():
        return torch.empty(2, length, 2 * len(range(0, dim, 2)))
    return rotations(torch.arange(length), dim)


def rotations(positions: Shaped[Tensor, "*B T"], dim: int) -> Float[Tensor, "2 *B T dim"]:
    """The same for tokens that stand at any positions, whole numbers or not."""
    angles = positions.float().unsqueeze(-1) * _frequencies(dim, positions.device)
    return torch.stack([torch.cat([angles.cos()] * 2, -1), torch.cat([-angles.sin(), angles.sin()], -1)])


def turn(x: Float[Tensor, "B H T D"], angles: Float[Tensor, "2 *#shape T D"]) -> Float[Tensor, "B H T D"]:
    """Turn queries or keys by angles that are given as cosines and sines, one for each position."""
    cos, sin = angles.to(x.dtype)
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([right, left], -1) * sin


def _frequencies(dim: int, device: torch.device | None = None) -> Float[Tensor, " half"]:
    return 10000.0 ** (-torch.arange(0, dim, 2, device=device).float() / dim)


def between(values: Float[Tensor, " B"], points: Float[Tensor, " n"]) -> Float[Tensor, "B n"]:
    """Where values stand among points on a line: the weights of the nearest two, by which to blend what belongs to
    them; beyond the ends, the end itself.

    >>> between(torch.tensor([0.0, 0.5, 3.0]), torch.tensor([0.0, 1.0, 2.0]))
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    values = values.clamp(points[0], points[-1])[:, None]
    up = (values - points[:-1]) / points.diff()  # 0 at the lower end of each gap, 1 at its upper end
    rising, falling = F.pad(up, (1, 0), value=1.0), F.pad(1 - up, (0, 1), value=1.0)
    return torch.minimum(rising, falling).clamp(0, 1)  # of each point: 1 there, and 0 at its neighbours


def _without_memory() -> bool:
    """Whether only shapes are asked for (nn/size.py): to compute with them, torch would load its compiler."""
    return torch.get_default_device().type == "meta"
