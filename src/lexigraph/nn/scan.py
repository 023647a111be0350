"""The simple recurrence h_t = act(a_t + U h_{t-1}) along time.

Shapes: B batch, T time, d width of a state, n = d / 2 complex numbers.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

TINY = 1e-12  # beside |z|², so that z = 0 has a gradient


def recur(
    a: Float[Tensor, "T B d"],
    start: Float[Tensor, "B d"],
    U: Float[Tensor, "d d"],
    act: str,
    threshold: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, "T B d"]:
    """The states of all times."""
    h, states = start, []
    for now in a.unbind(0):
        z = torch.addmm(now, h, U.T)
        h = modrelu(z, threshold) if threshold is not None else getattr(torch, act)(z)
        states.append(h)
    return torch.stack(states)


def modrelu(z: Float[Tensor, "*B d"], threshold: Float[Tensor, " n"]) -> Float[Tensor, "*B d"]:
    """max(0, |z| + m) z / |z| on complex numbers: all real parts, then all imaginary ones."""
    parts = z.unflatten(-1, (2, -1))
    size = (parts.square().sum(-2) + TINY).sqrt()
    return (parts * (1 + threshold / size).relu().unsqueeze(-2)).flatten(-2)


def unitary_matrix(skew: Float[Tensor, "2 n n"], phases: Float[Tensor, " n"]) -> Float[Tensor, "2n 2n"]:
    """U = (1 + A)⁻¹ (1 - A) diagonal(exp(i φ)) with A = S - Sᴴ, as a real matrix [[Re, -Im], [Im, Re]]."""
    S = torch.complex(skew[0], skew[1])
    A, one = S - S.mH, torch.eye(len(S), dtype=S.dtype, device=S.device)
    U = torch.linalg.solve(one + A, one - A) * torch.polar(torch.ones_like(phases), phases)
    return torch.cat([torch.cat([U.real, -U.imag], 1), torch.cat([U.imag, U.real], 1)])
