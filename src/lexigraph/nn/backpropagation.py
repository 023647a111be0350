"""Backpropagation through time, written out: for a stack of simple recurrent layers whose losses of all steps add up.

    z(k,t) = W(k) h(k-1,t) + U(k) h(k,t-1) + b(k)        h(k,t) = act(z(k,t)),  h(0,t) = x_t,  h(k,0) = 0
    y_t = V h(K,t) + c                                   p_t = softmax(y_t), or σ(y_t) (Bernoulli)
    loss = - Σ_t log p_t[target_t]                       Bernoulli: - Σ_t target log p_t + (1 - target) log (1 - p_t)

    ε_t = ∂loss/∂y_t = p_t - target_t                    of both; many to one: only of the last time, 0 before it
    δ(K,t) = act′ ⊙ (Vᵀ ε_t          + U(K)ᵀ δ(K,t+1))   δ = ∂loss/∂z
    δ(k,t) = act′ ⊙ (W(k+1)ᵀ δ(k+1,t) + U(k)ᵀ δ(k,t+1))
    ∂loss/∂W(k) = Σ_t δ(k,t) h(k-1,t)ᵀ    ∂loss/∂U(k) = Σ_t δ(k,t) h(k,t-1)ᵀ    ∂loss/∂b(k) = Σ_t δ(k,t)

Truncated: nothing goes further back than the beginning of a window, δ(k,t+1) counts as 0 where t is the last time of
one, and states go on across windows (Williams & Peng 1990). The scans of scan.py run on `deltas`; the rest is here to
be read, and tests hold it to autograd.

Shapes: T time, B batch, i width of an input, d of a state, m of an answer. A row is a vector, so that Uᵀ δ is δ @ U.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

SLOPES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "tanh": (torch.tanh, lambda h: 1 - h.square()),  # act, and act′ as h tells it
    "relu": (torch.relu, lambda h: (h > 0).to(h.dtype)),
}


@dataclass(frozen=True)
class Layer:
    """The weights of a layer, or their gradients."""

    W: Float[Tensor, "d i"]
    U: Float[Tensor, "d d"]
    b: Float[Tensor, " d"]


@dataclass(frozen=True)
class Stack:
    """Layers from the bottom up, and what makes answers of the top one's states; or the gradients of all."""

    layers: tuple[Layer, ...]
    V: Float[Tensor, "m d"]
    c: Float[Tensor, " m"]
    act: Literal["tanh", "relu"] = "tanh"


def loss_and_gradients(
    stack: Stack,
    x: Float[Tensor, "T B i"],
    targets: Int[Tensor, "T B"] | Float[Tensor, "T B m"],
    *,
    last_only: bool = False,
    window: int = 0,
) -> tuple[Float[Tensor, ""], Stack]:
    """The loss summed over times and rows, and its gradients.

    targets: classes (softmax), or numbers from 0 to 1 (Bernoulli). last_only: many to one. window: times of a window;
    0: all are one.
    """
    states = forward(stack, x)
    y = states[-1][1:] @ stack.V.T + stack.c
    if targets.is_floating_point():
        losses = F.binary_cross_entropy_with_logits(y, targets, reduction="none").sum(2)
        error = y.sigmoid() - targets
    else:
        losses = -y.log_softmax(2).gather(2, targets.unsqueeze(2)).squeeze(2)
        error = y.softmax(2) - F.one_hot(targets, y.shape[2])
    if last_only:
        losses, error[:-1] = losses[-1:], 0
    slope = SLOPES[stack.act][1]
    gradients: list[Layer] = []
    above = error @ stack.V
    for layer, below, h in reversed(list(zip(stack.layers, states, states[1:], strict=False))):
        delta = deltas(above, layer.U, _times(slope(h[1:])), window)
        gradients.insert(0, Layer(_outer(delta, below[1:]), _outer(delta, h[:-1]), delta.sum((0, 1))))
        above = delta @ layer.W
    return losses.sum(), Stack(tuple(gradients), _outer(error, states[-1][1:]), error.sum((0, 1)), stack.act)


def forward(stack: Stack, x: Float[Tensor, "T B i"]) -> list[Float[Tensor, "T+1 B _"]]:
    """The states of the input and of all layers at all times, from time 0 on, when they are 0."""
    act, states = SLOPES[stack.act][0], [F.pad(x, (0, 0, 0, 0, 1, 0))]
    for W, U, b in ((layer.W, layer.U, layer.b) for layer in stack.layers):
        h = [x.new_zeros(x.shape[1], len(U))]
        for below in states[-1][1:]:
            h.append(act(below @ W.T + h[-1] @ U.T + b))
        states.append(torch.stack(h))
    return states


def deltas(
    above: Float[Tensor, "T B d"],
    U: Float[Tensor, "d d"],
    through: Callable[[Float[Tensor, "B d"], int], Float[Tensor, "B d"]],
    window: int = 0,
) -> Float[Tensor, "T B d"]:
    """δ_t = act′_t ⊙ (above_t + Uᵀ δ_{t+1}), from the last time to the first; `through` multiplies with act′_t."""
    found = torch.empty_like(above)
    for t in reversed(range(len(above))):
        cut = t + 1 == len(above) or (window and (t + 1) % window == 0)
        found[t] = through(above[t] if cut else torch.addmm(above[t], found[t + 1], U), t)
    return found


def _times(slopes: Float[Tensor, "T B d"]) -> Callable[[Tensor, int], Tensor]:
    return lambda gradient, t: slopes[t] * gradient


def _outer(delta: Float[Tensor, "T B d"], h: Float[Tensor, "T B i"]) -> Float[Tensor, "d i"]:
    """Σ_t δ_t h_tᵀ, over all rows."""
    return delta.flatten(0, 1).T @ h.flatten(0, 1)
