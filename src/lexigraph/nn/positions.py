"""Where a token stands: sinusoidal tables and rotary rotations. (Learned positions are an embedding.)

sinusoidal   PE[t, 2i] = sin(t / 10000^(2i/d)),  PE[t, 2i+1] = cos(t / 10000^(2i/d))
rotary       the pair (x_i, x_{i+D/2}) of a query or key is turned by the angle t / 10000^(2i/D),
             so that a product of query and key depends on the distance between their places only
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal(length: int, dim: int) -> Float[Tensor, "length dim"]:
    """The fixed table of Vaswani et al. (2017)."""
    table = torch.zeros(length, dim)
    table[:, 0::2], table[:, 1::2] = _angles(length, dim).sin(), _angles(length, dim).cos()[:, : dim // 2]
    return table


def rotary(length: int, dim: int) -> Float[Tensor, "2 length dim"]:
    """Cosines and sines for `turn`, both halves of a head alike (Su et al. 2021)."""
    angles = _angles(length, dim).repeat(1, 2)
    return torch.stack([angles.cos(), angles.sin()])


def turn(x: Float[Tensor, "B H T D"], angles: Float[Tensor, "2 *#shape T D"]) -> Float[Tensor, "B H T D"]:
    """Turn queries or keys by angles that are given as cosines and sines, one for each place."""
    cos, sin = angles.to(x.dtype)
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


def _angles(length: int, dim: int) -> Float[Tensor, "length half"]:
    frequency = 10000.0 ** (-torch.arange(0, dim, 2).float() / dim)
    return torch.arange(length).float()[:, None] * frequency
