"""Gram pooling: three ways to one value and one gradient."""

import pytest
import torch

from lexigraph.nn.gram import GramPooling, jacobians, pool, pool_closed, pool_literally

WAYS = {"literal": pool_literally, "fused": pool, "closed form": pool_closed}


def example(vectors=1, rows=3, time=5, dim=4):
    torch.manual_seed(0)
    A = torch.randn(rows, time, dim, dtype=torch.float64, requires_grad=True)
    W = torch.randn(vectors, dim, dim, dtype=torch.float64, requires_grad=True)
    return A, W


@pytest.mark.parametrize("way", WAYS)
def test_a_worked_example(way):
    A = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])  # AᵀA = [[10, 14], [14, 20]]
    W = torch.tensor([[[1.0, 0.0], [2.0, -1.0]]])  # z_1 = 1·10 + 2·14, z_2 = 0·14 - 1·20
    assert WAYS[way](A, W).tolist() == [[[38.0, -20.0]]]


@pytest.mark.parametrize("vectors", [1, 3])
@pytest.mark.parametrize("way", ["fused", "closed form"])
def test_all_ways_agree_in_value_and_gradient(way, vectors):
    A, W = example(vectors)
    weight = torch.randn(3, vectors, 4, dtype=torch.float64)
    wanted = pool_literally(A, W)
    wanted_gradients = torch.autograd.grad((wanted * weight).sum(), (A, W))
    found = WAYS[way](A, W)
    gradients = torch.autograd.grad((found * weight).sum(), (A, W))
    assert torch.allclose(found, wanted, rtol=1e-12)
    for one, other in zip(gradients, wanted_gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-12)


def test_the_closed_form_gradient_is_that_of_finite_differences():
    assert torch.autograd.gradcheck(pool_closed, example(2))


def test_the_gradients_are_the_matrices_of_the_derivation():
    A, W = example(rows=1)
    delta = torch.randn(4, dtype=torch.float64)
    dA, dW = torch.autograd.grad((pool_closed(A, W)[0, 0] * delta).sum(), (A, W))
    B, G = A[0].T @ A[0], W[0] * delta  # columns δ_i w_i
    assert torch.allclose(dA[0], A[0] @ (G + G.T))
    assert torch.allclose(dW[0], B * delta)  # columns δ_i b_i


def test_the_jacobians_by_kronecker_products_are_those_of_the_closed_form():
    A, W = example(rows=1)
    by_A, by_W = jacobians(A[0].detach(), W[0].detach())
    assert by_A.shape == (4, 20)
    assert by_W.shape == (4, 16)
    for i, z_i in enumerate(pool_closed(A, W)[0, 0]):
        dA, dW = torch.autograd.grad(z_i, (A, W), retain_graph=True)
        assert torch.allclose(by_A[i], dA[0].T.flatten())  # vec stacks columns
        assert torch.allclose(by_W[i], dW[0].T.flatten())


def test_zero_rows_add_nothing_and_order_is_not_seen():
    A, W = example()
    padded = torch.cat([A, torch.zeros(3, 2, 4, dtype=torch.float64)], 1)
    assert torch.allclose(pool(padded, W), pool(A, W))
    assert torch.allclose(pool(A.flip(1), W), pool(A, W))
    turned, _ = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64))
    assert torch.allclose(pool(turned @ A, W), pool(A, W))


def test_the_module_pools_by_its_weight():
    module = GramPooling(4, 2)
    A = torch.randn(2, 3, 4)
    assert torch.allclose(module(A), pool_literally(A, module.weight), atol=1e-5)
