"""Convolutions between a vector and a picture: `Draw` paints it, `PictureEncoder` reads it.

    plain       as first described, with a norm after each convolution (`bare`: without one, which hardly trains):
                draw   z → 2d → d/8 × 4 × 4 → conv 2d → n × (bilinear ×2, conv halving channels, norm, ReLU)
                       → conv 3 → tanh
                look   conv d/2ⁿ → n × (conv 2×2 stride 2 doubling channels, conv 3×3, norm, ReLU)
                       → 16 vectors of size d
    residual    the same pyramid, d channels at 4 × 4 and half as many at each doubling of the side, where each stage
                is x + conv(f(conv(f(x)))), f = SiLU after a norm, so that the signal passes through all of them;
                the finest maps, which cost the most memory, are left to few channels
    basis       picture = tanh(Σ_i z_i · P_i): every number of z has a picture of its own, trained at half the side
                and smoothed to the full one; look is one matrix for all 16 patches. A pyramid of bilinear
                doublings starts from 4 × 4 positions, and all finer detail must be invented by convolutions, which
                are slow to learn it; here nothing stands between z and the decoder but one squashing.

n = log2(side / 4): 4 for a side of 64. Every stage of a pyramid costs the same number of products, but one of twice
the side has twice the numbers to read and write.

Shapes: B pictures, C channels, s the side of a map, d width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

Form = Literal["basis", "residual", "plain", "bare"]
Map = Float[Tensor, "B C s s"]
Oblong = Float[Tensor, "B C height width"]


class Norm(nn.GroupNorm):
    """Over groups of channels and all positions of one picture: nothing is shared between the pictures of a batch."""

    def __init__(self, channels: int) -> None:
        most = max(1, min(8, channels // 4))
        super().__init__(next(groups for groups in range(most, 0, -1) if channels % groups == 0), channels)

    def forward(self, x: Oblong) -> Oblong:
        if not torch.compiler.is_compiling():
            return super().forward(x)
        groups = x.unflatten(1, (self.num_groups, -1)).float()  # spelled out, the result stays in half precision
        variance, mean = torch.var_mean(groups, (2, 3, 4), correction=0, keepdim=True)
        normal = ((groups - mean) * (variance + self.eps).rsqrt()).flatten(1, 2)
        return (normal * self.weight[:, None, None] + self.bias[:, None, None]).to(x.dtype)


def conv3(inputs: int, outputs: int, padding: Literal["reflect", "zeros"] = "zeros") -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1, padding_mode=padding)


class MirroredConv(nn.Conv2d):
    """A 3 × 3 convolution with mirrored edges that stands alone: a class of its own, so that it can be compiled."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 3, padding=1, padding_mode="reflect")

    def forward(self, x: Map) -> Float[Tensor, "B outputs s s"]:
        return super().forward(x)  # written here, because torch.compile skips functions of torch.nn


class Residual(nn.Module):
    """x + conv(f(conv(f(x)))) with f = SiLU(Norm(·))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm_in, self.conv_in = Norm(channels), conv3(channels, channels)
        self.norm_out, self.conv_out = Norm(channels), conv3(channels, channels)

    def forward(self, x: Oblong) -> Oblong:
        inside = self.conv_in(F.silu(self.norm_in(x)))
        return x + self.conv_out(F.silu(self.norm_out(inside)))


class Doubled(nn.Module):
    """Twice the side, bilinear: each new value is 3/4 of the nearest old one and 1/4 of the next."""

    def forward(self, x: Map) -> Float[Tensor, "B C s2 s2"]:
        if not x.is_cuda and not torch.compiler.is_compiling():
            return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        for axis in (2, 3):  # spelled out, its gradient needs no atomic sums: faster there, and the same each time
            last = x.shape[axis] - 1
            before = torch.cat([x.narrow(axis, 0, 1), x.narrow(axis, 0, last)], axis)
            after = torch.cat([x.narrow(axis, 1, last), x.narrow(axis, last, 1)], axis)
            x = torch.stack([0.75 * x + 0.25 * before, 0.75 * x + 0.25 * after], axis + 1).flatten(axis, axis + 1)
        return x


class Draw(nn.Module):
    """A vector, or a map of C × k × k, as a picture in [-1, 1]."""

    def __init__(self, form: Form, dim: int, latent: int, side: int, k: int = 1, contrast: float | int = 0.0) -> None:
        super().__init__()
        self.first = side // 8 if form == "basis" else 4 if k == 1 else k  # the side of the first map
        doublings = (side // self.first).bit_length() - 1
        if form == "basis":
            self.start: nn.Module = nn.Linear(latent, 48 * self.first**2)
            self.stages = nn.Sequential(nn.PixelShuffle(4), Contrast(contrast), Doubled())
            return
        described = form in ("plain", "bare")
        given = latent // k**2 if k > 1 else dim // 8 if described else dim
        self.start = nn.Linear(latent, given * 16) if k == 1 else nn.Identity()
        if described:
            widths = [2 * dim >> n for n in range(doublings + 1)]
            stages: list[nn.Module] = [PlainStage(given, widths[0], form)]
            for a, b in pairwise(widths):
                stages += [Doubled(), PlainStage(a, b, form)]
            stages += [MirroredConv(widths[-1], 3)]
        else:
            widths = [dim >> n for n in range(doublings)]  # the last doubling is left to a few channels
            stages = [nn.Identity() if k == 1 else nn.Conv2d(given, dim, 1), Residual(dim)]
            for a, b in pairwise(widths):
                stages += [nn.Conv2d(a, b, 1), Doubled(), Residual(b)]
            stages += [Norm(widths[-1]), nn.SiLU(), conv3(widths[-1], 8), Doubled(), conv3(8, 3)]
        self.stages = nn.Sequential(*stages)

    def forward(self, z: Float[Tensor, "B latent"]) -> Float[Tensor, "B 3 side side"]:
        x = self.stages(placed_last(self.start(z).view(len(z), -1, self.first, self.first)))
        return x.to(torch.promote_types(x.dtype, torch.float32)).tanh()


class Contrast(nn.Module):
    """Every picture with mean 0 and the same standard deviation; 0: as it is."""

    def __init__(self, deviation: float | int) -> None:
        super().__init__()
        self.deviation = deviation

    def forward(self, x: Map) -> Map:
        return self.deviation * F.layer_norm(x, x.shape[1:]) if self.deviation else x


class PictureEncoder(nn.Module):
    """A picture as 16 vectors of size d, one for each of 4 × 4 positions."""

    def __init__(self, form: Form, dim: int, side: int) -> None:
        super().__init__()
        halvings = (side // 4).bit_length() - 1
        widths = [dim >> n for n in range(halvings, -1, -1)]
        if form == "basis":
            patches = nn.Conv2d(3, dim, side // 4, stride=side // 4)
            nn.init.normal_(patches.weight, std=patches.weight[0].numel() ** -0.5)
            stages: list[nn.Module] = [patches]
        elif form in ("plain", "bare"):
            stages = [MirroredConv(3, widths[0])]
            for a, b in pairwise(widths):
                stages += [nn.Conv2d(a, b, 2, stride=2), PlainStage(b, b, form)]
        else:
            stages = [nn.Conv2d(3, widths[2], 4, stride=4), Residual(widths[2])]  # the first two halvings at once
            for a, b in pairwise(widths[2:]):
                stages += [nn.Conv2d(a, b, 2, stride=2), Residual(b)]
        self.stages = nn.Sequential(*stages)
        self.positions = nn.Parameter(0.02 * torch.randn(16, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, picture: Float[Tensor, "B 3 side side"]) -> Float[Tensor, "B 16 d"]:
        return self.norm(self.stages(placed_last(picture)).flatten(2).transpose(1, 2)) + self.positions


class Straight(nn.Module):
    """16 vectors from z by one matrix, without a picture between: the ablation."""

    def __init__(self, latent: int, dim: int) -> None:
        super().__init__()
        self.out, self.norm = nn.Linear(latent, 16 * dim), nn.LayerNorm(dim)

    def forward(self, z: Float[Tensor, "B latent"]) -> Float[Tensor, "B 16 d"]:
        return self.norm(self.out(z).unflatten(1, (16, -1)))


def placed_last(x: Map) -> Map:
    """The same map with its channels last in memory, as the fast convolutions of a GPU want it."""
    return x.contiguous(memory_format=torch.channels_last) if x.is_cuda else x


class PlainStage(nn.Sequential):
    """Convolution with mirrored edges, norm, ReLU; `bare`: without the norm, as first described."""

    def __init__(self, inputs: int, outputs: int, form: Form) -> None:
        norm = nn.Identity() if form == "bare" else Norm(outputs)
        super().__init__(conv3(inputs, outputs, "reflect"), norm, nn.ReLU())

    def forward(self, x: Map) -> Float[Tensor, "B outputs s s"]:
        return super().forward(x)  # as in MirroredConv


COMPILED: dict[Form, tuple[type[nn.Module], ...]] = {  # what to compile of each form
    "basis": (),  # it has nothing to gain
    "residual": (Draw, PictureEncoder),
    # stage by stage, so that no kernel holds mirrored edges of doublings of norms
    **dict.fromkeys(("plain", "bare"), (PlainStage, Doubled, MirroredConv)),
}
