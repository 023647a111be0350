"""Pictures changed in training, so that a network does not learn them by heart: shifted, mirrored, mixed.

    crop        c dots of black around the picture, and of that a window as large as the picture    (He et al. 2016)
    flip        mirrored, half of the time
    mixup       λ x + (1 - λ) x',  λ ~ Beta(α, α): with another, whose label counts 1 - λ     (Zhang et al. 2018)

What happens to a picture follows from its seed alone: from the example and the epoch, in any batch, after any resume.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import UInt8

Picture = UInt8[np.ndarray, "height width channels"]


def changed(picture: Picture, random: np.random.Generator, crop: int, flip: bool) -> Picture:
    """A picture shifted by up to `crop` dots and, if it may be, mirrored half of the time."""
    if crop:
        height, width, _ = picture.shape
        y, x = random.integers(0, 2 * crop + 1, 2)
        picture = np.pad(picture, ((crop, crop), (crop, crop), (0, 0)))[y : y + height, x : x + width]
    return picture[:, ::-1] if flip and random.random() < 0.5 else picture


def mixing_share(random: np.random.Generator, alpha: float) -> float:
    """λ, how much of a mixture the picture itself is."""
    return float(random.beta(alpha, alpha))
