"""What a checkpoint gives back: moments in memory as the weights are."""

from __future__ import annotations

import torch
from torch import nn

from lexigraph.training import checkpoint
from lexigraph.training.checkpoint import Progress
from lexigraph.training.distribution import World


def convolution() -> tuple[nn.Module, torch.optim.Optimizer]:
    """With its channels last, as on a card."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)
    return network, torch.optim.Adam(network.parameters(), lr=0.1)


def step(network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    network(torch.ones(1, 3, 5, 5)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_moments_are_laid_out_as_their_weights_are(tmp_path):
    """Fused Adam refuses moments that are not: a run with convolutions could not be resumed on CUDA."""
    network, optimizer = convolution()
    step(network, optimizer)
    world = World(torch.device("cpu"))
    checkpoint.save(tmp_path, network, optimizer, [None], Progress(step=1), world)
    again, restored = convolution()
    path = checkpoint.latest(tmp_path)
    assert path is not None
    checkpoint.restore(path, again, restored, 1, world)
    weight = again[0].weight
    assert weight.stride() != weight.contiguous().stride()
    assert all(restored.state[weight][name].stride() == weight.stride() for name in ("exp_avg", "exp_avg_sq"))
    for each in ((network, optimizer), (again, restored)):
        step(*each)
    assert torch.equal(network[0].weight, weight)
