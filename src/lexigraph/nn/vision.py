"""What reads a picture: a transformer over its patches, or convolutions; either way a vector for each position.

    patches     x_p = E (patch p, flattened)                                     n patches in reading order
    stem        x_p of convolutions 3 × 3 of stride 2 with norms, as many as halve p to 1, then 1 × 1
                                                                                           (Xiao et al. 2021)
    1d          x_p + P[p]                                                       a learned vector for each position
    2d          x_p + [R[row of p]; C[column of p]]                              one for each row and each column
    layers      pre-norm: x = x + Attention(Norm(x));  x = x + FFN(Norm(x));  a last Norm

    convolutions   the map is halved, and its channels doubled, until its shorter side has at most 4 positions

Numbers of a picture are brought to mean 0 and deviation 1 by what the training split's have.

Shapes: B batch, k channels, n positions (with a class token in front, if there is one), d width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.picture import Norm, Residual
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.text.vocabularies import Numbers

Positions = Literal["1d", "2d", "none"]
Pictures = Shaped[Tensor, "B height width k"]  # 8 bits a channel, or a mixture of such
SMALLEST = 4  # positions of the shorter side of a convolutional map


def normal(images: Pictures, numbers: Numbers, dtype: torch.dtype) -> Float[Tensor, "B height width k"]:
    """Pictures with mean 0 and deviation 1: of all their numbers, or (from elsewhere) of each channel."""
    x = images.to(dtype)
    if numbers.means:
        mean, deviation = x.new_tensor(numbers.means), x.new_tensor(numbers.deviations)
        return (x - mean) / deviation
    return (x - numbers.mean) / numbers.deviation


class VisionEncoder(nn.Module):
    """A transformer over patches; `encoder(images)` gives a vector for the class token, if any, and each patch."""

    def __init__(
        self,
        numbers: Numbers,
        shape: Shape,
        layers: int,
        patch: int,
        *,
        stem: bool = False,
        positions: Positions = "1d",
        token: bool = True,
    ) -> None:
        super().__init__()
        height, width, channels = numbers.shape
        if height % patch or width % patch:
            raise UsageError(
                f"model.patch = {patch} must divide the pictures' height and width, {height} and {width}."
            )
        self.numbers, self.patch = numbers, patch
        self.rows, self.columns = height // patch, width // patch
        self.length = self.rows * self.columns + token
        self.embed: nn.Module = nn.Linear(patch**2 * channels, shape.dim)
        if stem:
            self.embed = convolutional_stem(channels, shape.dim, patch)
        self.token = nn.Parameter(torch.zeros(shape.dim)) if token else None
        if positions == "1d":
            self.positions = nn.Embedding(self.length, shape.dim)
        elif positions == "2d":
            if shape.dim % 2:
                raise UsageError(f"model.dim = {shape.dim}: rows and columns share it, so that it must be even.")
            self.row_positions = nn.Embedding(self.rows, shape.dim // 2)
            self.column_positions = nn.Embedding(self.columns, shape.dim // 2)
        self.placed = positions
        self.stem = stem
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(layers))
        self.norm = shape.make_norm()
        for module in self.children():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def patches(self, images: Pictures) -> Float[Tensor, "B n numbers"]:
        """The squares of a picture in reading order, normal, each as channels × rows × columns."""
        x, p = normal(images, self.numbers, next(self.parameters()).dtype), self.patch
        return x.unfold(1, p, p).unfold(2, p, p).flatten(1, 2).flatten(2)

    def table(self) -> Float[Tensor, "n d"] | None:
        """The vector of each position, that of the class token first; None: there are none."""
        if self.placed == "none":
            return None
        if self.placed == "1d":
            return self.positions.weight
        rows, columns = self.row_positions.weight, self.column_positions.weight
        both = [rows[:, None].expand(-1, len(columns), -1), columns[None].expand(len(rows), -1, -1)]
        grid = torch.cat(both, 2).flatten(0, 1)
        return grid if self.token is None else F.pad(grid, (0, 0, 1, 0))  # the token's own vector says what it is

    def forward(
        self,
        images: Pictures,
        masked: Bool[Tensor, "B patches"] | None = None,
        instead: Float[Tensor, " d"] | None = None,
    ) -> Float[Tensor, "B n d"]:
        """masked: patches that are not seen; the vector `instead` stands for each."""
        x = self.patches(images)
        if masked is not None:
            x = x.masked_fill(masked[:, :, None], 0.0)
        if self.stem:
            p = self.patch
            squares = x.view(len(x), self.rows, self.columns, -1, p, p).permute(0, 3, 1, 4, 2, 5)
            x = self.embed(squares.flatten(4).flatten(2, 3)).flatten(2).transpose(1, 2)
        else:
            x = self.embed(x)
        if masked is not None and instead is not None:
            x = torch.where(masked[:, :, None], instead, x)
        if self.token is not None:
            x = torch.cat([self.token.expand(len(x), 1, -1), x], 1)
        table = self.table()
        x = self.dropout(x if table is None else x + table)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def convolutional_stem(channels: int, dim: int, patch: int) -> nn.Sequential:
    """Small steps in the place of one large one: from a picture to a map of d channels, `patch` times as small."""
    halvings = patch.bit_length() - 1
    if patch != 1 << halvings or patch == 1:
        raise UsageError(f"model.patch = {patch}: a stem halves the picture step by step, so take 2, 4, 8 or 16.")
    widths = [channels, *(max(8, dim >> n) for n in range(halvings - 1, -1, -1))]
    stages: list[nn.Module] = []
    for a, b in pairwise(widths):
        stages += [nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False), Norm(b), nn.ReLU()]
    return nn.Sequential(*stages, nn.Conv2d(widths[-1], dim, 1))


class ConvolutionalEncoder(nn.Module):
    """Convolutions; `encoder(images)` gives a vector for each position of the last map, in reading order."""

    def __init__(self, numbers: Numbers, dim: int) -> None:
        super().__init__()
        height, width, channels = numbers.shape
        sides = [(height, width)]
        while min(sides[-1]) > SMALLEST:
            sides.append(((sides[-1][0] + 1) // 2, (sides[-1][1] + 1) // 2))
        self.numbers = numbers
        self.rows, self.columns = sides[-1]
        self.length = self.rows * self.columns
        widths = [max(8, dim >> n) for n in range(len(sides) - 1, 0, -1)] + [dim]
        stages: list[nn.Module] = [nn.Conv2d(channels, widths[0], 3, padding=1)]
        for a, b in pairwise(widths):
            stages += [Residual(a), nn.Conv2d(a, b, 3, stride=2, padding=1)]
        self.stages = nn.Sequential(*stages, Residual(dim), Norm(dim), nn.SiLU())

    def forward(self, images: Pictures) -> Float[Tensor, "B n d"]:
        x = normal(images, self.numbers, next(self.parameters()).dtype)
        return self.stages(x.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
