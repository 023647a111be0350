"""Which text of a batch belongs to a picture, and which picture to a text: the others are the wrong ones.

    S_ij = s cos(p_i, t_j)                                              s > 0 is learned
    loss = - ½ Σ_i log softmax_j(S_ij)[i] - ½ Σ_j log softmax_i(S_ij)[j]                        (Radford et al. 2021)

A batch may be shared out over processes: each scores its own rows against those of all (`gathered`).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def symmetric_nll(
    pictures: Float[Tensor, "B d"],
    texts: Float[Tensor, "B d"],
    sharpness: Float[Tensor, "*one"],
    *,
    everywhere: bool = False,
) -> Float[Tensor, " B"]:
    """The loss of each pair. everywhere: the rows of other processes are wrong ones, too, and the gradient goes to
    them."""
    pictures, texts = F.normalize(pictures, dim=1), F.normalize(texts, dim=1)
    (all_pictures, first), (all_texts, _) = (
        gathered(rows) if everywhere else (rows, 0) for rows in (pictures, texts)
    )
    right = torch.arange(first, first + len(pictures), device=pictures.device)
    scale = sharpness.float().exp()
    one = F.cross_entropy(scale * (pictures @ all_texts.T).float(), right, reduction="none")
    other = F.cross_entropy(scale * (texts @ all_pictures.T).float(), right, reduction="none")
    return (one + other) / 2


def gathered(rows: Float[Tensor, "B d"]) -> tuple[Float[Tensor, "all d"], int]:
    """The rows of all processes, in the order of their ranks, and where those of this process begin.

    All processes must ask; what each makes of the rows goes back to those whose they are.
    """
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return rows, 0
    lengths = [torch.zeros(1, dtype=torch.int64, device=rows.device) for _ in range(dist.get_world_size())]
    dist.all_gather(lengths, torch.tensor([len(rows)], device=rows.device))
    sizes = [int(length) for length in lengths]
    whole: Tensor = _Gather.apply(rows, sizes)
    return whole, sum(sizes[: dist.get_rank()])


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        padded = rows.new_zeros((max(sizes), rows.shape[1]))
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        whole = gradients[0].contiguous()
        dist.all_reduce(whole)  # the sum of all losses is what is learned from
        return whole.split(ctx.sizes)[dist.get_rank()], None
