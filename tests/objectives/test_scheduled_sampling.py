"""Scheduled sampling: Bengio et al.'s schedules, and draws that follow the model's probabilities."""

from __future__ import annotations

import pytest
import torch

from lexigraph.errors import UsageError
from lexigraph.objectives.sampling import check, drawn, draws, own_positions, truth


@pytest.mark.parametrize(
    ("schedule", "k", "expected"),
    [
        ("none", 0.0, [1.0, 1.0, 1.0]),
        ("linear", 200.0, [1.0, 0.5, 0.0]),
        ("exponential", 0.99, [1.0, 0.3660, 0.1340]),  # 0.99^100, 0.99^200
        ("inverse-sigmoid", 50.0, [50 / 51, 0.8712, 0.4780]),  # 50 / (50 + e^2), 50 / (50 + e^4)
    ],
)
def test_schedules_are_the_published_ones(schedule, k, expected):
    assert [truth(schedule, k, step) for step in (0, 100, 200)] == pytest.approx(expected, abs=1e-4)
    assert truth(schedule, k, 10**7) == (1.0 if schedule == "none" else pytest.approx(0.0, abs=1e-9))


def test_a_k_without_a_falling_schedule_is_refused():
    for schedule, k in (("exponential", 1.0), ("linear", 0.0), ("inverse-sigmoid", 0.5)):
        with pytest.raises(UsageError, match="sampling_k"):
            check(schedule, k)


def test_so_many_positions_show_the_truth_and_the_first_always_does():
    own = own_positions(torch.arange(500), 40, 0.7)
    assert not own[:, 0].any()
    assert own[:, 1:].float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert torch.equal(own_positions(torch.tensor([7]), 40, 0.7)[0], own[7])  # of the example alone


def test_tokens_are_drawn_as_probable_as_they_are():
    logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(20_000, 3)
    found = drawn(logits, draws(torch.arange(20_000), 1)[:, 0])
    assert (found.bincount() / 20_000).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.015)
