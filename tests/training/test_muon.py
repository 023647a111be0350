"""Muon: orthogonal steps for matrices, Adam for the rest."""

import copy

import pytest
import torch
from torch import nn

from lexigraph.recipe import Train
from lexigraph.training import muon
from lexigraph.training.muon import as_matrix, matrices, orthogonal
from lexigraph.training.schedules import optimizer
from tests.contracts.tiny import newborn


def test_the_iteration_keeps_singular_vectors_and_evens_out_singular_values():
    torch.manual_seed(0)
    M = torch.randn(2, 20, 12, dtype=torch.float64)
    U, _, V = torch.linalg.svd(M, full_matrices=False)
    found = U.mT @ orthogonal(M, torch.float64) @ V.mT  # diagonal, if the singular vectors are kept
    values = found.diagonal(dim1=1, dim2=2)
    assert (found - torch.diag_embed(values)).abs().max() < 1e-8
    assert values.min() > 0.6
    assert values.max() < 1.3


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_torch(monkeypatch, decay):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16, bias=False))
    peer = copy.deepcopy(network)
    settings = Train(optimizer="muon", lr=0.01, weight_decay=decay)
    ours = optimizer(network, settings, fused=False)
    theirs = torch.optim.Muon([p for p in peer.parameters() if p.dim() == 2], lr=0.01, weight_decay=decay,
                              momentum=0.95, adjust_lr_fn="match_rms_adamw")  # fmt: skip
    honest = orthogonal
    monkeypatch.setattr(muon, "orthogonal", lambda M, dtype: honest(M, torch.bfloat16))  # as torch computes it
    for step in range(3):
        for model, steps in ((network, ours), (peer, theirs)):
            steps.zero_grad()
            x = torch.randn(8, 16, generator=torch.Generator().manual_seed(step))
            model(x).square().mean().backward()
        peer[0].bias.grad = None
        bias = network[0].bias.detach().clone()
        ours.step()
        theirs.step()
        assert not torch.equal(bias, network[0].bias)  # Adam's
        with torch.no_grad():
            peer[0].bias.copy_(network[0].bias)
        for mine, other in ((network[0].weight, peer[0].weight), (network[2].weight, peer[2].weight)):
            moved = 0.01 * 0.2 * max(mine.shape) ** 0.5 * min(mine.shape) ** 0.5  # the norm of a step
            assert (mine - other).norm() < 0.1 * (
                step + 2
            ) * moved  # rounding to 8 bits is magnified by the iteration


def test_matrices_are_weights_of_products_not_tables():
    network = nn.ModuleDict({"table": nn.Embedding(5, 4), "product": nn.Linear(4, 3), "norm": nn.LayerNorm(4),
                             "convolution": nn.Conv2d(2, 6, 3)})  # fmt: skip
    chosen = matrices(network)
    assert {name for name, p in network.named_parameters() if id(p) in chosen} == {
        "product.weight",
        "convolution.weight",
    }
    assert as_matrix(network["convolution"].weight).shape == (6, 18)


@pytest.mark.parametrize(
    ("system", "changes", "tables"),
    [
        ("gpt", {"model.tied": False}, {"output.weight"}),
        ("transformer", {"model.tied": False}, {"output.weight"}),
        ("electra", {}, {"replaced.weight"}),
        ("bert", {"model.pooler": True, "objective.second": "order"}, {"order.weight"}),
        ("lstm-lm", {"model.tied": False}, {"table"}),
        ("nplm", {"model.tied": False}, {"table"}),
    ],
)
def test_output_tables_are_left_to_adam(system, changes, tables):
    """Embeddings and classifier heads are no hidden matrices (Jordan 2024): a step of equal size in all directions of
    a table would move words that were not seen as far as those that were."""
    network = newborn(system, **changes)
    chosen = matrices(network)
    named = {name: p for name, p in network.named_parameters() if p.dim() > 1}
    vocabulary = next(len(p) for name, p in named.items() if "embedding" in name)
    assert tables <= named.keys()
    for name, parameter in named.items():
        if name in tables or len(parameter) == vocabulary or 1 in parameter.shape:
            assert id(parameter) not in chosen, name
    assert any(
        "attention" in name or "recurrent" in name or "inner" in name for name, p in named.items() if id(p) in chosen
    )


def test_a_scaler_skips_steps_of_infinite_gradients():
    layer = torch.nn.Linear(4, 4)
    groups = [
        {"params": [layer.weight], "matrices": True, "weight_decay": 0.0},
        {"params": [layer.bias], "matrices": False, "weight_decay": 0.0},
    ]
    muon_optimizer, scaler = muon.Muon(groups, lr=0.1, fused=True), torch.amp.GradScaler("cpu")
    before = [p.detach().clone() for p in layer.parameters()]
    scaler.scale(layer(torch.full((1, 4), torch.inf)).sum()).backward()
    scaler.step(muon_optimizer)
    assert all(torch.equal(a, b) for a, b in zip(before, layer.parameters(), strict=True))
