"""The sliced loss is the plain one, in value and gradient."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.objectives import next_token
from lexigraph.objectives.next_token import IGNORE, linear_cross_entropy, next_token_terms, shifted
from lexigraph.objectives.terms import value

TOKENS, DIM, VOCABULARY, PAD = 13, 5, 11, 3
SLICES = [1, 4 * VOCABULARY, 6 * VOCABULARY + 1, 1 << 22]  # logits: one row, four rows, six rows, all


def example(bias: bool = True) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Hidden states, table, bias and targets, some of them ignored."""
    torch.manual_seed(0)
    hidden = torch.randn(TOKENS, DIM, dtype=torch.float64, requires_grad=True)
    table = torch.randn(VOCABULARY, DIM, dtype=torch.float64, requires_grad=True)
    offset = torch.randn(VOCABULARY, dtype=torch.float64, requires_grad=True) if bias else None
    targets = torch.tensor([4, 0, IGNORE, 10, 5, 5, IGNORE, IGNORE, 1, 2, 6, 7, IGNORE])
    return hidden, table, offset, targets


def gradients(loss: Tensor, inputs: tuple[Tensor | None, ...]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, [tensor for tensor in inputs if tensor is not None]))


def smoothed_kl(log_p: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Σ q log(q / p), q written out: 1 − ε on the right token, ε / (V − 2) on the others, none on padding."""
    total = torch.zeros((), dtype=log_p.dtype)
    for row, target in zip(log_p, targets.tolist(), strict=True):
        if target == IGNORE:
            continue
        for token in range(len(row)):
            q = 1 - smoothing if token == target else 0.0 if token == PAD else smoothing / (len(row) - 2)
            if q:
                total = total + q * (math.log(q) - row[token])
    return total


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", SLICES)
def test_value_and_gradient_are_those_of_cross_entropy(
    rows: int, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_token, "SLICE", rows)
    hidden, table, offset, targets = example(bias)
    loss, nll = linear_cross_entropy(hidden, table, offset, targets)
    logits = F.linear(hidden, table, offset)
    expected = F.cross_entropy(logits, targets, ignore_index=IGNORE, reduction="sum")
    assert torch.allclose(loss, expected, rtol=1e-12)
    assert torch.allclose(nll, F.cross_entropy(logits, targets, ignore_index=IGNORE, reduction="none"), rtol=1e-12)
    assert not nll.requires_grad
    for mine, other in zip(
        gradients(3 * loss, (hidden, table, offset)), gradients(3 * expected, (hidden, table, offset)), strict=True
    ):
        assert torch.allclose(mine, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("smoothing", [0.1, 0.4])
@pytest.mark.parametrize("rows", SLICES)
def test_smoothed_labels_give_the_divergence_written_out(
    rows: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_token, "SLICE", rows)
    hidden, table, offset, targets = example()
    loss, nll = linear_cross_entropy(hidden, table, offset, targets, smoothing=smoothing, pad=PAD)
    log_p = F.linear(hidden, table, offset).log_softmax(1)
    expected = smoothed_kl(log_p, targets, smoothing)
    assert torch.allclose(loss, expected, rtol=1e-12)
    assert torch.allclose(nll.sum(), F.nll_loss(log_p, targets, ignore_index=IGNORE, reduction="sum"), rtol=1e-12)
    for mine, other in zip(
        gradients(loss, (hidden, table, offset)), gradients(expected, (hidden, table, offset)), strict=True
    ):
        assert torch.allclose(mine, other, rtol=1e-11, atol=1e-12)


def test_divergence_is_zero_where_the_model_predicts_the_smoothed_labels() -> None:
    smoothing = 0.1
    q = torch.full((1, VOCABULARY), smoothing / (VOCABULARY - 2), dtype=torch.float64)
    q[0, 4], q[0, PAD] = 1 - smoothing, 1e-300
    table = q.log().T.contiguous().requires_grad_()
    hidden = torch.ones(1, 1, dtype=torch.float64)
    loss, nll = linear_cross_entropy(hidden, table, None, torch.tensor([4]), smoothing=smoothing, pad=PAD)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-12)
    assert float(nll[0]) == pytest.approx(-math.log(0.9))
    assert float(table.grad.abs().max()) < 1e-12


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradient_is_that_of_finite_differences(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_token, "SLICE", 5 * VOCABULARY)
    hidden, table, offset, targets = example()

    def loss(hidden: Tensor, table: Tensor, offset: Tensor) -> Tensor:
        return linear_cross_entropy(hidden, table, offset, targets, smoothing=smoothing, pad=PAD)[0]

    assert torch.autograd.gradcheck(loss, (hidden, table, offset))


def test_only_ignored_targets_cost_nothing() -> None:
    hidden, table, offset, targets = example()
    loss, _ = linear_cross_entropy(hidden, table, offset, torch.full_like(targets, IGNORE))
    assert loss.item() == 0
    assert all(not gradient.any() for gradient in gradients(loss, (hidden, table, offset)))


def test_half_precision_stays_near_and_returns_the_types_of_its_inputs() -> None:
    hidden, table, _, targets = example(bias=False)
    hidden, table = (tensor.detach().float().requires_grad_() for tensor in (hidden, table))
    with torch.autocast("cpu", torch.bfloat16):
        loss, nll = linear_cross_entropy(hidden, table, None, targets)
    expected = F.cross_entropy(F.linear(hidden, table), targets, ignore_index=IGNORE, reduction="sum")
    assert loss.dtype == nll.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=0.02)
    for mine, other in zip(gradients(loss, (hidden, table)), gradients(expected, (hidden, table)), strict=True):
        assert mine.dtype == torch.float32
        assert (mine - other).norm() < 0.02 * other.norm()


def test_targets_are_the_inputs_moved_by_one_and_padding_is_not_counted() -> None:
    batch = shifted([np.array([7, 1, 2, 7]), np.array([7, 5])], pad=PAD)
    assert batch["inputs"].tolist() == [[7, 1, 2], [7, PAD, PAD]]
    assert batch["targets"].tolist() == [[1, 2, 7], [5, IGNORE, IGNORE]]
    assert batch.counts == {"loss": 4}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_terms_are_nats_per_token_with_the_plain_loss_beside_the_smoothed(smoothing: float) -> None:
    torch.manual_seed(1)
    table = torch.randn(VOCABULARY, DIM)
    batch = shifted([np.array([7, 1, 2, 7]), np.array([7, 5])], pad=PAD)
    hidden = torch.randn(2, 3, DIM)
    terms = next_token_terms(hidden, table, batch, smoothing=smoothing, pad=PAD)
    log_p = F.linear(hidden, table).log_softmax(-1)
    plain = [-sum(float(log_p[0, t, y]) for t, y in enumerate((1, 2, 7))), -float(log_p[1, 0, 5])]
    reported = terms["nll" if smoothing else "loss"]
    assert reported.items.sum(1).tolist() == pytest.approx(plain, rel=1e-5)
    assert reported.count == 4
    if smoothing:
        expected = float(smoothed_kl(log_p.flatten(0, 1), batch["targets"].flatten(), smoothing)) / 4
    else:
        expected = sum(plain) / 4
    assert float(value(terms)) == pytest.approx(expected, rel=1e-5)


def test_the_compiled_form_is_the_same_loss():
    """In a process of its own: the compiler does not see through the type checks of this one."""
    code = """
import torch
from lexigraph.objectives.next_token import linear_cross_entropy

random = torch.Generator().manual_seed(0)
hidden = torch.randn(7, 4, generator=random, dtype=torch.float64, requires_grad=True)
table = torch.randn(9, 4, generator=random, dtype=torch.float64, requires_grad=True)
targets = torch.tensor([3, 4, -100, 8, 1, -100, 2])
for smoothing in (0.0, 0.1):
    torch.compiler.reset()
    compiled = torch.compile(linear_cross_entropy, backend="aot_eager", fullgraph=True)
    results = []
    for form in (linear_cross_entropy, compiled):
        loss, nll = form(hidden, table, None, targets, smoothing=smoothing)
        results.append((loss, nll, *torch.autograd.grad(loss, [hidden, table])))
    for plain, other in zip(*results):
        assert torch.allclose(plain, other, rtol=1e-12)
print("the same")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "the same", done.stderr
