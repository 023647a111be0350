"""Learning rates against their published formulas, optimizers against theirs."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from lexigraph.errors import UsageError
from lexigraph.recipe import Train
from lexigraph.training.schedules import clip_gradients, optimizer, rate
from tests.contracts.tiny import newborn


def test_inverse_square_root_is_the_formula_of_vaswani_et_al():
    dim, warmup = 512, 4000
    settings = Train(lr=(dim * warmup) ** -0.5, schedule="inverse-sqrt", warmup=warmup)
    for i in (1, 100, 3999, 4000, 4001, 20_000):
        assert rate(i, 10**6, settings) == pytest.approx(dim**-0.5 * min(i**-0.5, i * warmup**-1.5))


def test_a_renewed_warm_up_starts_again():
    settings = Train(lr=1.0, schedule="inverse-sqrt", warmup=10, restart_every=100)
    assert [rate(i, 1000, settings) for i in (1, 10, 40)] == [rate(i + 100, 1000, settings) for i in (1, 10, 40)]
    assert rate(100, 1000, settings) > rate(101, 1000, settings)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_linear_and_cosine_go_from_the_peak_to_the_final_share(schedule):
    settings = Train(lr=2.0, schedule=schedule, warmup=10, final_lr=0.1)
    assert rate(5, 110, settings) == pytest.approx(1.0)
    assert rate(10, 110, settings) == pytest.approx(2.0)
    assert rate(60, 110, settings) == pytest.approx(1.1)  # half way: the mean of both ends
    assert rate(110, 110, settings) == pytest.approx(0.2)


def test_constant_stays():
    settings = Train(lr=0.5, schedule="constant", warmup=1)
    assert {rate(i, 100, settings) for i in (1, 50, 100)} == {0.5}


def quadratic(name: str, steps: int, **settings: float) -> list[float]:
    """Where an optimizer goes on x² / 2 from x = 1; the gradient is x."""
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(module.weight)
    made = optimizer(module, Train(optimizer=name, **settings), fused=False)
    path = []
    for _ in range(steps):
        made.zero_grad()
        (module.weight**2 / 2).sum().backward()
        made.step()
        path.append(module.weight.item())
    return path


def test_sgd_with_nesterov_momentum():
    # v = μ v + g;  x = x − lr (g + μ v):   v₁ = 1, x₁ = 1 − 0.1 (1 + 0.9);  v₂ = 0.9 + 0.81, …
    x1 = 1 - 0.1 * 1.9
    x2 = x1 - 0.1 * (x1 + 0.9 * (0.9 + x1))
    assert quadratic("sgd", 2, lr=0.1, momentum=0.9) == pytest.approx([x1, x2])


def test_rmsprop_divides_by_the_root_of_the_mean_square_plus_epsilon():
    # r = 0.01 g² at the first step, with torch's decay of 0.99
    assert quadratic("rmsprop", 1, lr=0.01, eps=1e-3) == pytest.approx([1 - 0.01 / (0.1 + 1e-3)])


def test_the_decay_of_rmsprop_can_be_set():
    # Hinton's 0.9: r = 0.1 g² at the first step
    step = 0.01 / (0.1**0.5 + 1e-3)
    assert quadratic("rmsprop", 1, lr=0.01, eps=1e-3, rmsprop_decay=0.9) == pytest.approx([1 - step])


def test_the_first_step_of_adam_has_the_length_of_the_rate():
    assert quadratic("adam", 1, lr=0.01, eps=1e-12) == pytest.approx([0.99])


def test_adamw_decays_matrices_and_leaves_biases_free():
    module = torch.nn.Linear(2, 2)
    made = optimizer(module, Train(optimizer="adamw", weight_decay=0.5), fused=False)
    decays = {id(p): group["weight_decay"] for group in made.param_groups for p in group["params"]}
    assert decays[id(module.weight)] == 0.5
    assert decays[id(module.bias)] == 0.0


def test_weight_decay_spares_the_biases_of_relative_attention():
    """XLNet's u, v and s have an axis for heads, and are biases all the same."""
    network = newborn("xlnet", **{"model.segments": True})
    made = optimizer(network, Train(optimizer="adamw", weight_decay=0.5), fused=False)
    decays = {id(p): group["weight_decay"] for group in made.param_groups for p in group["params"]}
    found = {name.rpartition(".")[2]: decays[id(p)] for name, p in network.named_parameters()}
    assert found["by_content"] == found["by_distance"] == found["by_segment"] == 0.0
    assert found["segment"] == 0.5  # an embedding of two segments


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_slow_parts_take_their_share_of_the_rate_whatever_group_they_are_of(name):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    settings = Train(optimizer=name, lr_scale={"1": 0.1}, adam_share=0.5)
    made = optimizer(module, settings, fused=False)
    shares = {id(p): group.get("share", 1.0) for group in made.param_groups for p in group["params"]}
    biases = 0.5 if name == "muon" else 1.0
    assert [shares[id(p)] for p in module.parameters()] == pytest.approx([1.0, biases, 0.1, 0.1 * biases])
    with pytest.raises(UsageError, match="no part named '2'"):
        optimizer(module, Train(lr_scale={"2": 1.0}), fused=False)


def weight_with(gradient: list[float]) -> torch.nn.Module:
    module = torch.nn.Linear(len(gradient), 1, bias=False)
    module.weight.grad = torch.tensor([gradient])
    return module


@pytest.mark.parametrize(("gradient", "limit"), [([3.0, 4.0], 1.0), ([0.3, 0.4], 1.0)])
def test_clipping_scales_by_the_smaller_of_one_and_v_over_the_norm(gradient, limit):
    module = weight_with(gradient)
    assert clip_gradients(module, Train(clip=limit)).item() == pytest.approx(math.hypot(*gradient))
    scale = min(1.0, limit / math.hypot(*gradient))
    assert module.weight.grad[0].tolist() == pytest.approx([g * scale for g in gradient], rel=1e-5)


def test_clipping_by_value_turns_the_gradient_and_clipping_by_norm_does_not():
    module = weight_with([0.3, -40.0])
    clip_gradients(module, Train(clip=0.0, clip_value=1.0))
    assert module.weight.grad[0].tolist() == pytest.approx([0.3, -1.0])
    module = weight_with([3.0, -40.0])
    clip_gradients(module, Train(clip=0.5, clip_value=1.0))  # (1, -1), and then half as long as √(1/2) tells
    assert module.weight.grad[0].tolist() == pytest.approx([0.5 * 0.5**0.5, -0.5 * 0.5**0.5])


PEERS = {
    "sgd": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "classical": (torch.optim.SGD, {"momentum": 0.9}),
    "rmsprop": (torch.optim.RMSprop, {"alpha": 0.9, "momentum": 0.5, "eps": 1e-4}),
}


@pytest.mark.parametrize("name", PEERS)
def test_clipped_steps_are_those_of_torch(name):
    """The same steps as torch's optimizers and its two ways of clipping."""
    settings = {
        "sgd": Train(optimizer="sgd", lr=0.1, momentum=0.9, clip=0.5, clip_value=0.2),
        "classical": Train(optimizer="sgd", lr=0.1, momentum=0.9, nesterov=False, clip=0.5, clip_value=0.2),
        "rmsprop": Train(
            optimizer="rmsprop", lr=0.1, momentum=0.5, rmsprop_decay=0.9, eps=1e-4, clip=0.5, clip_value=0.2
        ),
    }[name]
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    peer = copy.deepcopy(network)
    kind, options = PEERS[name]
    mine, theirs = optimizer(network, settings, fused=False), kind(peer.parameters(), lr=0.1, **options)
    for step in range(4):
        x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
        for module, made in ((network, mine), (peer, theirs)):
            made.zero_grad()
            module(x).square().sum().backward()
        clip_gradients(network, settings)
        torch.nn.utils.clip_grad_value_(peer.parameters(), 0.2)
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 0.5)
        mine.step()
        theirs.step()
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), peer.parameters(), strict=True))
