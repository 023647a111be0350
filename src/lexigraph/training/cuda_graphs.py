"""CUDA graphs: the kernels of a forward and backward pass, recorded once for each shape of batch and replayed.

A small model on a large card waits for Python to launch its next kernel. A recorded pass is launched as a whole. What
it reads stands at fixed addresses: a batch is copied there, and gradients are left where the recording put them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

WARM = 2  # passes of a shape before it is recorded: libraries choose their kernels, compilers compile

Tensors = dict[str, Tensor]
Pass = Callable[[Tensors, Tensors], Tensor]  # a batch and its counts → the loss, with gradients left behind
Shape = tuple[tuple[str, torch.Size], ...]


@dataclass(frozen=True)
class Recording:
    graph: Any  # torch.cuda.CUDAGraph
    tensors: Tensors
    counts: Tensors
    loss: Tensor


class Recorder:
    """Runs a pass, from the third batch of a shape on by replaying it."""

    def __init__(self, run: Pass, parameters: Sequence[nn.Parameter]) -> None:
        self.run = run
        self.gradients = [torch.zeros_like(parameter) for parameter in parameters]
        for parameter, gradient in zip(parameters, self.gradients, strict=True):
            parameter.grad = gradient  # from now on it is written here, by whatever recording
        self.recordings: dict[Shape, Recording] = {}
        self.seen: Counter[Shape] = Counter()
        self.pool = torch.cuda.graph_pool_handle()  # one for all: they never run at once
        self.stream = torch.cuda.Stream()

    def __call__(self, tensors: Tensors, counts: dict[str, float]) -> Tensor:
        shape = tuple((name, value.shape) for name, value in tensors.items())
        device = self.gradients[0].device
        divisors = {name: torch.tensor(count).to(device, non_blocking=True) for name, count in counts.items()}
        self.seen[shape] += 1
        if shape not in self.recordings and self.seen[shape] <= WARM:
            with self._aside():
                return self._pass(tensors, divisors)
        if shape not in self.recordings:
            self.recordings[shape] = self._record(tensors, divisors)
        recording = self.recordings[shape]
        for fixed, given in ((recording.tensors, tensors), (recording.counts, divisors)):
            for name, value in given.items():
                fixed[name].copy_(value)
        recording.graph.replay()
        return recording.loss.clone()

    def _pass(self, tensors: Tensors, counts: Tensors) -> Tensor:
        torch._foreach_zero_(self.gradients)
        return self.run(tensors, counts)

    def _record(self, tensors: Tensors, counts: Tensors) -> Recording:
        fixed, divisors = ({name: value.clone() for name, value in given.items()} for given in (tensors, counts))
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            loss = self._pass(fixed, divisors)
        return Recording(graph, fixed, divisors, loss)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """On the stream that recordings are made on: autograd's nodes stay on the stream where they first ran."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield
        torch.cuda.current_stream().wait_stream(self.stream)
