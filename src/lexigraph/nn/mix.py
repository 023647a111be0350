"""Several layers of a reader as one: what a task takes from each it learns itself (Peters et al. 2018).

    h = γ Σ_j softmax(s)_j h_j            s = 0 and γ = 1 at the start: the mean of the layers

With one layer, γ alone is learned.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.network import Reader


def mix_of(layers: Sequence[int], reader: Reader | None) -> ScalarMix | None:
    """A mix of some layers of a part; none, if none are named."""
    if layers and reader is None:
        raise UsageError(
            "model.reader_layers says which layers of a part are mixed, and there is no part: name a run that reads "
            "(--from RUN), or leave it empty."
        )
    return ScalarMix(layers, reader.depth) if layers and reader is not None else None


class ScalarMix(nn.Module):
    """A weight for each of some layers, and one for all."""

    def __init__(self, layers: Sequence[int], depth: int) -> None:
        """layers: which of a reader's `depth` layers; 0 is what it gives to its first, -1 the last."""
        super().__init__()
        if wrong := [layer for layer in layers if not -depth <= layer < depth]:
            raise UsageError(f"model.reader_layers names layer {wrong[0]}, and the part shows 0 to {depth - 1}.")
        self.layers = [layer % depth for layer in layers]
        self.scores = nn.Parameter(torch.zeros(len(layers)))
        self.gamma = nn.Parameter(torch.ones(1))

    @property
    def weights(self) -> dict[int, float]:
        """γ times the share of each layer."""
        shares = self.gamma * self.scores.softmax(0)
        return dict(zip(self.layers, shares.tolist(), strict=True))

    def forward(self, layers: Sequence[Float[Tensor, "B T d"]]) -> Float[Tensor, "B T d"]:
        shares = self.scores.softmax(0)
        mixed = torch.stack([share * layers[layer] for share, layer in zip(shares, self.layers, strict=True)]).sum(0)
        return self.gamma * mixed
