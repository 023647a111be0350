"""What happens to pictures on their way: a channel between drawing and reading them, for training.

A person sends a picture through a chat program, which scales it and saves it as JPEG, or covers a corner. A decoder
that is to read such pictures must have seen them, and what draws must learn to put what counts where it survives.
Each row that is damaged gets some of these, in this order, with strengths of its own:

    resampled   smaller and back, blurred, or moved by a dot: P → M P Mᵀ, with M from a bank of matrices
    coloured    another brightness and contrast for each channel
    noisy       normal noise, up to 24 of 256 levels
    covered     a grey square
    JPEG        YCbCr, colours at half the side, 8 × 8 cosine transforms, rounded by the tables of the standard for a
                quality of 20 to 95; where something is rounded, the gradient passes as if it were not
    rounded     to 256 levels, as any file is

Shapes: B pictures in [-1, 1], s their side.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.objectives import rng

Pictures = Float[Tensor, "B 3 s s"]

KINDS, STRENGTHS, SHARE = 14, 15, 18  # streams of random numbers (objectives/rng.py): uniform numbers,
NOISE = 8  # and normal ones (uniform 16 and 17)
LIKELY = {"resampled": 0.3, "coloured": 0.2, "noisy": 0.3, "covered": 0.25, "jpeg": 0.45}  # each by itself
NOISIEST = 24 / 127.5
LARGEST = 0.36  # side of a covered square, of the picture's
COLOURED = 0.15  # change of brightness and contrast at most
WORST, BEST = 20, 95  # JPEG qualities

# The tables of the JPEG standard (ITU T.81, annex K), by which cosine coefficients of quality 50 are divided.
LUMINANCE = """16 11 10 16 24 40 51 61  12 12 14 19 26 58 60 55  14 13 16 24 40 57 69 56  14 17 22 29 51 87 80 62
               18 22 37 56 68 109 103 77  24 35 55 64 81 104 113 92  49 64 78 87 103 121 120 101
               72 92 95 98 112 100 103 99"""
CHROMINANCE = f"""17 18 24 47 99 99 99 99  18 21 26 66 99 99 99 99  24 26 56 99 99 99 99 99
                  47 66 99 99 99 99 99 99 {"99 " * 32}"""
YCBCR = [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
RGB = [[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]]


class Channel(nn.Module):
    """Damages a share of the pictures, each as its seed says; it has nothing to learn."""

    bank: Tensor
    cosines: Tensor
    tables: Tensor
    to_ycbcr: Tensor
    to_rgb: Tensor

    def __init__(self, side: int, share: float) -> None:
        super().__init__()
        self.side, self.share = side, share
        frequency, place = torch.arange(8.0)[:, None], torch.arange(8.0)
        cosines = torch.cos((2 * place + 1) * frequency * math.pi / 16) * 0.5
        cosines[0] *= 0.5**0.5
        cosines = torch.block_diag(*[cosines] * (side // 8))  # all blocks of a row at once: one large product
        tables = [[float(n) for n in table.split()] for table in (LUMINANCE, CHROMINANCE)]
        constants = {"bank": resampling(side), "cosines": cosines, "tables": torch.tensor(tables).view(2, 8, 8)}
        constants |= {"to_ycbcr": torch.tensor(YCBCR), "to_rgb": torch.tensor(RGB)}
        for name, value in constants.items():
            self.register_buffer(name, value, persistent=False)

    def forward(self, pictures: Pictures, seeds: Int[Tensor, " B"]) -> Pictures:
        with torch.autocast(pictures.device.type, enabled=False):  # 16 bits would be damage of their own
            return self._damaged(pictures.to(torch.promote_types(pictures.dtype, torch.float32)), seeds)

    def _damaged(self, pictures: Pictures, seeds: Int[Tensor, " B"]) -> Pictures:
        chances = rng.uniform(seeds, len(LIKELY) + 1, KINDS)
        some = {name: (chances[:, n] < p).view(-1, 1, 1, 1) for n, (name, p) in enumerate(LIKELY.items())}
        strength = rng.uniform(seeds, 12, STRENGTHS)
        x = torch.where(some["resampled"], self._resampled(pictures, strength[:, :2]), pictures)
        gains = 1 + COLOURED * (2 * strength[:, 2:5, None, None] - 1)
        offsets = COLOURED * (2 * strength[:, 5:8, None, None] - 1)
        x = torch.where(some["coloured"], gains * x + offsets, x)
        x = x + some["noisy"] * (NOISIEST * strength[:, 8].view(-1, 1, 1, 1)) * self._noise(seeds)
        x = torch.where(some["covered"] & self._square(strength[:, 9:12]), 0.0, x).clamp(-1, 1)
        levels = 127.5 * (x + 1)
        quality = WORST + (BEST - WORST) * chances[:, -1]
        levels = torch.where(some["jpeg"], self._jpeg(levels, quality), levels)
        damaged = straight_round(levels).clamp(0, 255) / 127.5 - 1
        touched = (rng.uniform(seeds, 1, SHARE) < self.share).view(-1, 1, 1, 1)
        return torch.where(touched, damaged, pictures)

    def _resampled(self, x: Pictures, drawn: Float[Tensor, "B 2"]) -> Pictures:
        """By one matrix of the bank across, and by it, or another one that moves, down."""
        moves = 3  # the first ones of the bank: by a dot to either side, or not
        across = (drawn[:, 0] * len(self.bank)).long().clamp(max=len(self.bank) - 1)
        down = torch.where(across < moves, (drawn[:, 1] * moves).long().clamp(max=moves - 1), across)
        return self.bank[down][:, None] @ x @ self.bank[across][:, None].transpose(2, 3)

    def _noise(self, seeds: Int[Tensor, " B"]) -> Float[Tensor, "B 3 s s"]:
        """One field for all three channels, moved: three would take three times as long."""
        field = rng.gaussian(seeds, self.side**2, NOISE).view(-1, 1, self.side, self.side)
        return torch.cat([field, field.roll((7, 13), (2, 3)), field.roll((23, 5), (2, 3))], 1)

    def _square(self, drawn: Float[Tensor, "B 3"]) -> Tensor:
        """Where a square lies."""
        size = (LARGEST * self.side * drawn[:, :1]).round()
        first = ((self.side - size) * drawn[:, 1:]).floor()  # its upper left corner
        place = torch.arange(self.side, device=drawn.device)
        inside = (place >= first[:, :, None]) & (place < (first + size)[:, :, None])  # (B, 2, s)
        return (inside[:, 0, :, None] & inside[:, 1, None, :])[:, None]

    def _jpeg(self, levels: Pictures, quality: Float[Tensor, " B"]) -> Pictures:
        ycc = torch.einsum("ij,bjhw->bihw", self.to_ycbcr, levels)
        bright, colours = ycc[:, :1] - 128, F.avg_pool2d(ycc[:, 1:], 2)
        scale = torch.where(quality < 50, 5000 / quality, 200 - 2 * quality)
        tables = ((self.tables * scale[:, None, None, None] + 50) / 100).floor().clamp(1, 255)
        bright = self._blocks(straight_round(bright), tables[:, 0])
        colours = self._blocks(straight_round(colours), tables[:, 1])
        whole = F.interpolate(colours, scale_factor=2, mode="bilinear", align_corners=False)
        back = torch.cat([bright + 128, whole], 1)
        return torch.einsum("ij,bjhw->bihw", self.to_rgb, back)

    def _blocks(self, plane: Float[Tensor, "B C h h"], table: Float[Tensor, "B 8 8"]) -> Float[Tensor, "B C h h"]:
        """Blocks of 8 × 8 to cosines, rounded by the table, and back."""
        side = plane.shape[3]
        D = self.cosines[:side, :side]
        steps = table.repeat(1, side // 8, side // 8)[:, None]
        rounded = straight_round((D @ plane @ D.T) / steps) * steps
        return D.T @ rounded @ D


def straight_round(x: Tensor) -> Tensor:
    """x rounded; the gradient is that of x."""
    return x + (x.round() - x).detach()


def resampling(side: int) -> Float[Tensor, "n s s"]:
    """Matrices that act on the columns of a picture: one dot up, none, one down; smaller and back; blurred."""
    one = torch.eye(side)
    down, up = one[[0, *range(side - 1)]], one[[*range(1, side), side - 1]]
    found = [down, one, up]
    for share in (0.375, 0.5, 0.5, 0.5, 0.625, 0.75):
        for mode in ("bicubic", "bilinear"):
            found.append(_resized(_resized(one, round(share * side), mode), side, mode))
    place = torch.arange(side, dtype=torch.float32)
    for width in (0.5, 0.8, 1.1):
        kernel = torch.exp(-0.5 * ((place[:, None] - place) / width) ** 2)
        found.append(kernel / kernel.sum(1, keepdim=True))
    return torch.stack(found)


def _resized(rows: Float[Tensor, "a s"], size: int, mode: str) -> Float[Tensor, "b s"]:
    """Another number of rows; smaller ones are averaged over as many as they stand for, as Pillow does."""
    return F.interpolate(rows[None, None], (size, rows.shape[1]), mode=mode, antialias=True)[0, 0]
