"""The simple recurrence h_t = act(a_t + U h_{t-1}) along time, with its gradient written out.

Autograd would keep a graph of every step and add T products to ∂/∂U one by one. Here the forward pass fills two
buffers, the backward pass is the recursion of δ (backpropagation.py), and ∂/∂U = Σ_t δ_t h_{t-1}ᵀ is one product.

Shapes: B batch, T time, d width of a state, n = d / 2 complex numbers (all real parts, then all imaginary ones).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from lexigraph.nn.backpropagation import deltas

Act = Literal["tanh", "relu", "modrelu"]
TINY = 1e-8  # added to |z|², so that z = 0 has a gradient


def recur(
    a: Float[Tensor, "T B d"],
    start: Float[Tensor, "B d"],
    U: Float[Tensor, "d d"],
    act: Act,
    threshold: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, "T B d"]:
    """The states of all times. threshold: of modReLU."""
    with torch.autocast(a.device.type, enabled=False):  # a long sum of small changes needs full precision
        a, start = a.to(U.dtype), start.to(U.dtype)
        if torch.compiler.is_compiling():
            return by_autograd(a, start, U, act, threshold)
        if threshold is not None:
            return _ModReLURecurrence.apply(a, start, U, threshold)
        return _Recurrence.apply(a, start, U, act)


def by_autograd(
    a: Float[Tensor, "T B d"],
    start: Float[Tensor, "B d"],
    U: Float[Tensor, "d d"],
    act: Act,
    threshold: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, "T B d"]:
    """The same as it stands in books: what a compiler gets, and what tests compare with."""
    states = [start]
    for now in a.unbind(0):
        z = now + states[-1] @ U.T
        states.append(getattr(torch, act)(z) if threshold is None else modrelu(z, threshold))
    return torch.stack(states[1:])


def modrelu(z: Float[Tensor, "*B d"], threshold: Float[Tensor, " n"]) -> Float[Tensor, "*B d"]:
    """max(0, |z| + m) z / |z| on complex numbers: their phase stays (Arjovsky et al. 2016)."""
    parts = z.unflatten(-1, (2, -1))
    size = (parts.square().sum(-2) + TINY).sqrt()
    return (parts * (1 + threshold / size).relu().unsqueeze(-2)).flatten(-2)


def unitary_matrix(skew: Float[Tensor, "2 n n"], phases: Float[Tensor, " n"]) -> Float[Tensor, "2*n 2*n"]:
    """U = (1 + A)⁻¹ (1 - A) diagonal(exp(i φ)) with A = S - Sᴴ, as a real matrix [[Re, -Im], [Im, Re]]."""
    with torch.autocast(skew.device.type, enabled=False):
        S = torch.complex(skew[0], skew[1])
        A, one = S - S.mH, torch.eye(len(S), dtype=S.dtype, device=S.device)
        U = torch.linalg.solve(one + A, one - A) * torch.polar(torch.ones_like(phases), phases)
        return torch.cat([torch.cat([U.real, -U.imag], 1), torch.cat([U.imag, U.real], 1)])


class _Recurrence(torch.autograd.Function):
    """act = tanh or ReLU: its slope follows from the state."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, start: Tensor, U: Tensor, act: Act) -> Tensor:
        states, apply = _room(start, len(a)), {"tanh": torch.tanh_, "relu": torch.relu_}[act]
        for t, now in enumerate(a.unbind(0)):
            apply(torch.addmm(now, states[t], U.T, out=states[t + 1]))
        ctx.save_for_backward(states, U)
        ctx.act = act
        return states[1:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        states, U = ctx.saved_tensors
        if ctx.act == "tanh":
            found = deltas(above, U, lambda gradient, t: torch.ops.aten.tanh_backward(gradient, states[t + 1]))
        else:
            found = deltas(
                above, U, lambda gradient, t: torch.ops.aten.threshold_backward(gradient, states[t + 1], 0)
            )
        return found, found[0] @ U, _summed(found, states), None


class _ModReLURecurrence(torch.autograd.Function):
    """h = s z with s = max(0, 1 + m / |z|), so that ∂h/∂z = s + (1 - s) z zᵀ / |z|², and 0 where s = 0."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, start: Tensor, U: Tensor, threshold: Tensor) -> Tensor:
        states, z = _room(start, len(a)), torch.empty_like(a)
        n = len(threshold)
        sizes, scales = z.new_empty(2, *z.shape[:2], n)
        for t, now in enumerate(a.unbind(0)):
            real, imaginary = torch.addmm(now, states[t], U.T, out=z[t]).split(n, 1)
            size = torch.addcmul(real * real, imaginary, imaginary, out=sizes[t]).add_(TINY).sqrt_()
            scale = torch.div(threshold, size, out=scales[t]).add_(1).relu_()
            torch.mul(z[t].unflatten(1, (2, n)), scale.unsqueeze(1), out=states[t + 1].unflatten(1, (2, n)))
        ctx.save_for_backward(states, U, z, sizes, scales)
        return states[1:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        states, U, z, sizes, scales = ctx.saved_tensors
        active, z = scales > 0, z.unflatten(2, (2, -1))
        bend = ((1 - scales) / sizes.square()).masked_fill_(~active, 0)
        along = torch.empty_like(sizes)  # z · gradient

        def through(gradient: Tensor, t: int) -> Tensor:
            parts = gradient.unflatten(1, (2, -1))
            torch.sum(z[t] * parts, 1, out=along[t])
            passed = parts * scales[t].unsqueeze(1)
            return passed.addcmul_(z[t], (along[t] * bend[t]).unsqueeze(1)).flatten(1)

        found = deltas(above, U, through)
        by_threshold = along.div_(sizes).masked_fill_(~active, 0).sum((0, 1))
        return found, found[0] @ U, _summed(found, states), by_threshold


def _room(start: Tensor, times: int) -> Tensor:
    """Room for the states of all times, behind that which they start from."""
    states = start.new_empty(times + 1, *start.shape)
    states[0] = start
    return states


def _summed(found: Float[Tensor, "T B d"], states: Float[Tensor, "T+1 B d"]) -> Float[Tensor, "d d"]:
    """∂/∂U = Σ_t δ_t h_{t-1}ᵀ."""
    return found.flatten(0, 1).T @ states[:-1].flatten(0, 1)
