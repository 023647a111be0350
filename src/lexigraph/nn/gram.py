"""Gram pooling: the outputs of an encoder, however many, become one vector of fixed size.

    B = Ψ(A) = AᵀA          (d × d)       the Gram matrix of the columns of A (T × d)
    z_i = w_iᵀ b_i                        Φ: column i of B against column i of W

    general Φ: column i of B times m vectors instead of one, z_mi = w_miᵀ b_i; with m = C k² / d the result is a
    map of C channels and k × k positions, and m = 1 is the vector.

B is never needed. Since b_i = Σ_t a_ti a_t,

    z_mi = Σ_t a_ti (w_miᵀ a_t)   that is   z_m = (A ⊙ A W_m).sum(0)

and with δ_m = ∂C/∂z_m and G = Σ_m W_m diag(δ_m) = ∂C/∂B

    ∂C/∂A   = A (G + Gᵀ) = Σ_m (A W_m) ⊙ δ_m + (A ⊙ δ_m) W_mᵀ
    ∂C/∂W_m = B diag(δ_m) = Aᵀ (A ⊙ δ_m)

The same by Kronecker products, as matrix calculus writes it (vec stacks columns, K vec(X) = vec(Xᵀ)):

    ∂vec(B) / ∂vec(A) = (I + K) (I ⊗ Aᵀ)          (d² × Td)      from dB = dAᵀ A + Aᵀ dA
    ∂z      / ∂vec(B) = Σ_i e_i (e_i ⊗ w_i)ᵀ      (d × d²)       row i has w_iᵀ at the i-th column of B
    ∂z      / ∂vec(W) = Σ_i e_i (e_i ⊗ b_i)ᵀ      (d × d²)

Rows of A that are padding must be zero: they then add nothing. B is the same for A and for QA with any orthogonal Q,
so the order of the rows is seen only as far as A itself tells it.

Shapes: n sentences, T positions, d width, m vectors.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

Rows = Float[Tensor, "n T d"]
Weights = Float[Tensor, "m d d"]
Pooled = Float[Tensor, "n m d"]


def pool_literally(A: Rows, W: Weights) -> Pooled:
    """The definition, matrix by matrix: diagonal(Wᵀ AᵀA)."""
    B = A.transpose(1, 2) @ A
    return (W.transpose(1, 2) @ B.unsqueeze(1)).diagonal(dim1=-2, dim2=-1)


def pool(A: Rows, W: Weights) -> Pooled:
    """The fused form, (A ⊙ AW).sum(0); what a compiler likes best."""
    AW = torch.einsum("ntj,mji->nmti", A, W) if len(W) > 1 else (A @ W[0]).unsqueeze(1)
    return (A.unsqueeze(1) * AW).sum(2)


class _Pool(torch.autograd.Function):
    """The fused form with the gradient written out: only A and W are kept for it."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, W: Tensor) -> Tensor:
        ctx.save_for_backward(A, W)
        return pool(A, W)

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor, Tensor]:
        A, W = ctx.saved_tensors
        dA, dW = torch.zeros_like(A), torch.empty_like(W)
        for m, (W_m, delta_m) in enumerate(zip(W, delta.unsqueeze(2).unbind(1), strict=True)):
            scaled = A * delta_m
            dA += (A @ W_m) * delta_m + scaled @ W_m.T
            dW[m] = A.flatten(0, 1).T @ scaled.flatten(0, 1)
        return dA, dW


def pool_closed(A: Rows, W: Weights) -> Pooled:
    """The fused form with its closed-form gradient: the least memory outside a compiler."""
    return _Pool.apply(A, W)


def jacobians(
    A: Float[Tensor, "T d"], W: Float[Tensor, "d d"]
) -> tuple[Float[Tensor, "d Td"], Float[Tensor, "d dd"]]:
    """∂z/∂vec(A) and ∂z/∂vec(W) of one sentence and one vector, by Kronecker products: to check by, not to train."""
    one = torch.eye(len(W), dtype=A.dtype)
    commutation = torch.eye(W.numel(), dtype=A.dtype).view(*W.shape, -1).transpose(0, 1).flatten(0, 1)  # K
    B_by_A = (torch.eye(W.numel(), dtype=A.dtype) + commutation) @ torch.kron(one, A.T.contiguous())
    z_by_B, z_by_W = (torch.block_diag(*columns.T) for columns in (W, A.T @ A))
    return z_by_B @ B_by_A, z_by_W


class GramPooling(nn.Module):
    """Φ(Ψ(A)) with trained W."""

    def __init__(self, dim: int, vectors: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vectors, dim, dim) / math.sqrt(dim))

    def forward(self, A: Rows) -> Pooled:
        return pool(A, self.weight) if torch.compiler.is_compiling() else pool_closed(A, self.weight)
