"""How far a sentence that was decoded is to be trusted.

    round trip    the cosine between what was decoded and what the text that came out becomes: vectors on the sphere,
                  or pictures. A copy has 1.00; a sum is near a sentence if it makes sense.
    likelihood    log-probability of the text, in nats per token, as the decoder gave it
    doubtful      one of the two is less than answers have that are right

Both depend on the noise that was allowed for: with much of it, a likely sentence is wanted and not the nearest one.
So the limits are given at some noises, and lie on lines between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# benchmarks/confidence.py makes these lines for `books`, from the training split of the built-in grammar's edits: of
# the sums that are right, 1 % have less of a round trip and 5 % less likelihood. At noise 4, where nothing is right
# or wrong, 5 % of the sentences have less likelihood that are written from noisy vectors. Of pictures that were saved
# as JPEG or shrunk, and are still read rightly, 1 % have less of either.
NOISES = (0.0, 0.7, 4.0)
LEAST_ROUND_TRIP = (0.84, 0.82, 0.0)
LEAST_LIKELIHOOD = (-0.265, -0.114, -2.089)
OF_PICTURES = (0.86, -1.16)


@dataclass(frozen=True)
class Confidence:
    """Two measures of an answer, and whether one of them is too small for it to be trusted."""

    round_trip: float
    likelihood: float
    doubtful: bool

    @property
    def word(self) -> str:
        """For people: "doubtful", or nothing."""
        return "doubtful" if self.doubtful else ""


def judged(round_trip: float, likelihood: float, noise: float, picture: bool = False) -> Confidence:
    """The two measures of a text that was decoded with so much noise, from a vector or a picture, and the verdict.

    >>> judged(0.99, -0.11, noise=0.0).word, judged(0.65, -2.5, noise=0.0).word
    ('', 'doubtful')
    """
    near, likely = (float(np.interp(noise, NOISES, limits)) for limits in (LEAST_ROUND_TRIP, LEAST_LIKELIHOOD))
    if picture:
        near, likely = min(near, OF_PICTURES[0]), min(likely, OF_PICTURES[1])
    return Confidence(round_trip, likelihood, bool(round_trip < near or likelihood < likely))


def cosines(first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """The cosine of each pair of rows, their means taken off, as the sphere of vectors has it; 0 for a row of zeros.

    >>> cosines(np.array([[1.0, 2.0, 3.0]]), np.array([[5.0, 7.0, 9.0]])).round(6)
    array([1.])
    """
    u, v = (rows.astype(np.float64) - rows.mean(1, keepdims=True, dtype=np.float64) for rows in (first, second))
    lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    return (u * v).sum(1) / np.where(lengths == 0, 1, lengths)
