"""A moving average of the weights, which wanders less than they do (Polyak & Juditsky 1992).

    a_t = d_t a_{t-1} + (1 - d_t) w_t        d_t = min(decay, (1 + t) / (10 + t)): the first steps are forgotten

Steps are taken with the weights w; what is validated and kept is the average a.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.weights: dict[str, Tensor] = {name: p.detach().clone() for name, p in self.parameters.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after this step, counted from 1."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        for name, parameter in self.parameters.items():
            self.weights[name].lerp_(parameter, share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The network has the average as its weights for a while, where they were: CUDA graphs remember places."""
        weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(weights)

    @torch.no_grad()
    def _put(self, weights: dict[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(weights[name])
