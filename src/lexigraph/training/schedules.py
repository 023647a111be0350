"""How the learning rate moves, as a pure function of the step; the optimizers that take it; and clipped gradients.

With lr the peak rate, w the warm-up and i = 1, 2, … the step:

    warm-up        lr · i / w                                  for i ≤ w, then
    constant       lr
    linear         from lr down to final_lr · lr at the last step
    cosine         the same ends, along half a cosine
    inverse-sqrt   lr · √(w / i): Vaswani et al.'s d^-0.5 · min(i^-0.5, i · w^-1.5) with lr = (d · w)^-0.5
                   (restarted: i starts again every `restart_every` steps)

and of a layer k levels from the top lr · layer_decay^k (Howard & Ruder 2018; nn/levels.py).

The optimizers (torch.optim), with g the gradient, μ momentum, ρ rmsprop_decay:

    sgd            v ← μ v + g         w ← w - lr · (g + μ v)   (Nesterov; without: w ← w - lr · v)
    rmsprop        r ← ρ r + (1 - ρ) g²          w ← w - lr · g / (√r + ε)
    adam, adamw    Kingma & Ba 2015; Loshchilov & Hutter 2019; muon: muon.py

and clipping: each entry of g to ± clip_value, then g · min(1, clip / ‖g‖) (Pascanu et al. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.levels import levels
from lexigraph.nn.network import Network
from lexigraph.nn.relative import BIASES
from lexigraph.recipe import Train
from lexigraph.registry import nearest
from lexigraph.training.muon import Muon, matrices


def rate(step: int, steps: int, settings: Train) -> float:
    """The learning rate of step `step` (counted from 1) out of `steps`."""
    warmup = max(1, settings.warmup)
    if settings.schedule == "inverse-sqrt":
        i = (step - 1) % settings.restart_every + 1 if settings.restart_every else step
        return settings.lr * min(math.sqrt(warmup / i), i / warmup)
    if step < warmup:
        return settings.lr * step / warmup
    if settings.schedule == "constant":
        return settings.lr
    done = (step - warmup) / max(1, steps - warmup)
    share = 1 - done if settings.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    return settings.lr * (settings.final_lr + (1 - settings.final_lr) * share)


def scales(network: nn.Module, settings: Train) -> dict[int, float]:
    """What the learning rate of each parameter is multiplied with, by its id, where `train.lr_scale` says so or, by
    the layer, `train.layer_decay`."""
    found: dict[int, float] = {}
    deep: dict[int, float] = {}
    if settings.layer_decay < 1 and isinstance(network, Network):
        deep = {id(p): settings.layer_decay**level for level, own in enumerate(levels(network)) for p in own}
    for part, scale in settings.lr_scale.items():
        if not 0 <= scale < math.inf:
            raise UsageError(f"train.lr_scale: {part} = {scale} must be at least 0.")
        own = {id(p): scale for name, p in network.named_parameters() if f"{name}.".startswith(f"{part}.")}
        if not own:
            parts = {name.split(".")[0] for name, _ in network.named_parameters()}
            raise UsageError(f"train.lr_scale: the network has no part named {part!r}{nearest(part, parts)}")
        found |= own
    return {i: deep.get(i, 1.0) * found.get(i, 1.0) for i in deep | found}


def clip_gradients(network: nn.Module, settings: Train, norm: Callable[[], Tensor] | None = None) -> Tensor:
    """Clip the gradients by value, then by their norm, which is given back as it was in between. `norm`: finds it
    where they are not all here."""
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    if settings.clip_value:
        for gradient in gradients:
            gradient.clamp_(-settings.clip_value, settings.clip_value)
    found = norm() if norm else nn.utils.get_total_norm(gradients)
    nn.utils.clip_grads_with_norm_(network.parameters(), settings.clip or math.inf, found)
    return found


def optimizer(network: nn.Module, settings: Train, *, fused: bool) -> torch.optim.Optimizer:
    """The optimizer of the recipe. Weight decay falls on matrices and tables; biases and norms are left free."""
    made, scale_of = _optimizer(network, settings, fused), scales(network, settings)
    for group in list(made.param_groups) if scale_of else []:
        whole = group["params"]
        group["params"] = [p for p in whole if id(p) not in scale_of]
        for scale in dict.fromkeys(scale_of.values()):
            if others := [p for p in whole if scale_of.get(id(p)) == scale]:
                made.add_param_group(group | {"params": others, "share": group.get("share", 1.0) * scale})
    return made


def biases(network: nn.Module) -> set[int]:
    """The ids of the parameters that weight decay spares: biases and norms, also those biases that have an axis for
    heads, as XLNet's authors spare them (r_w_bias, r_r_bias, r_s_bias)."""
    return {
        id(parameter)
        for name, parameter in network.named_parameters()
        if parameter.dim() < 2 or name.rpartition(".")[2] in BIASES
    }


def _optimizer(network: nn.Module, settings: Train, fused: bool) -> torch.optim.Optimizer:
    trained = [p for p in network.parameters() if p.requires_grad]
    first, second = settings.betas
    if settings.optimizer == "muon":
        own = matrices(network)
        chosen = [p for p in trained if id(p) in own]
        rest = [p for p in trained if id(p) not in own]
        groups = [
            {"params": chosen, "matrices": True, "weight_decay": settings.weight_decay, "share": 1.0},
            {"params": rest, "matrices": False, "weight_decay": 0.0, "share": settings.adam_share},
        ]
        return Muon(groups, lr=settings.lr, betas=(first, second), eps=settings.eps, fused=fused or None)
    free = biases(network)
    groups = [
        {"params": [p for p in trained if id(p) not in free], "weight_decay": settings.weight_decay},
        {"params": [p for p in trained if id(p) in free], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "sgd":
        ahead = settings.nesterov and settings.momentum > 0
        return torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum, nesterov=ahead)
    if settings.optimizer == "rmsprop":
        return torch.optim.RMSprop(
            groups, lr=settings.lr, alpha=settings.rmsprop_decay, eps=settings.eps, momentum=settings.momentum
        )
    kind = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    return kind(groups, lr=settings.lr, betas=(first, second), eps=settings.eps, fused=fused or None)
