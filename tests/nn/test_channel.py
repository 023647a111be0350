"""Damaged pictures: as Pillow damages them, each row by its own seed, and with a gradient."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from lexigraph.nn.channel import Channel, resampling


@pytest.fixture
def levels() -> torch.Tensor:
    """Four smooth pictures, 0 … 255."""
    torch.manual_seed(0)
    coarse = 40 * torch.randn(4, 3, 24, 24) + 128
    return F.interpolate(coarse, 64, mode="bicubic").clamp(0, 255).round()


def as_image(levels: torch.Tensor) -> Image.Image:
    return Image.fromarray(levels.permute(1, 2, 0).byte().numpy())


def as_levels(image: Image.Image) -> torch.Tensor:
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).float()


@pytest.mark.parametrize("quality", [30, 50, 75, 95])
def test_jpeg_is_that_of_pillow(levels: torch.Tensor, quality: int) -> None:
    ours = Channel(64, 1.0)._jpeg(levels, torch.full((4,), float(quality))).round().clamp(0, 255)
    for picture, found in zip(levels, ours, strict=True):
        file = BytesIO()
        as_image(picture).save(file, "JPEG", quality=quality, subsampling=2)
        saved = as_levels(Image.open(file))
        damage = (saved - picture).abs().mean()
        assert (found - saved).abs().mean() < 0.2 * damage


def test_half_the_side_and_back_is_that_of_pillow(levels: torch.Tensor) -> None:
    bicubic = resampling(64)[5]  # behind three that move, and three eighths of the side twice
    for picture in levels:
        image = as_image(picture).resize((32, 32), Image.Resampling.BICUBIC)
        wanted = as_levels(image.resize((64, 64), Image.Resampling.BICUBIC))
        found = (bicubic @ picture @ bicubic.T).clamp(0, 255)
        assert (found - wanted).abs().mean() < 1


def test_a_picture_is_damaged_alike_alone_and_in_company(levels: torch.Tensor) -> None:
    channel, seeds, pictures = Channel(64, 0.8), torch.tensor([3, 14, 15, 92]), levels / 127.5 - 1
    together = channel(pictures, seeds)
    for row in range(4):
        torch.testing.assert_close(channel(pictures[row : row + 1], seeds[row : row + 1])[0], together[row])


def test_the_share_says_how_many_are_damaged_and_the_rest_is_untouched() -> None:
    pictures, seeds = torch.rand(400, 3, 16, 16) * 1.6 - 0.8, torch.arange(400) * 7919
    changed = (Channel(16, 0.25)(pictures, seeds) != pictures).flatten(1).any(1)
    assert 0.17 < changed.float().mean() < 0.33
    assert torch.equal(Channel(16, 0.0)(pictures, seeds), pictures)


def test_damaged_pictures_are_pictures_and_pass_gradients(levels: torch.Tensor) -> None:
    pictures = (levels / 127.5 - 1).requires_grad_()
    found = Channel(64, 1.0)(pictures, torch.arange(4))
    assert found.abs().max() <= 1
    (found * torch.randn_like(found)).sum().backward()
    gradient = pictures.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient.flatten(1).abs().sum(1) > 0).all()
