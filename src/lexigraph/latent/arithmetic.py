"""Sums of vectors, with weights; how a person writes them is in expression.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError
from lexigraph.latent.expression import Part
from lexigraph.latent.geometry import blend

NOTHING = 1e-4  # of what was added: a sum that is shorter has cancelled


def combine(
    vectors: Float[np.ndarray, "n d"], weights: Sequence[float | int] | Float[np.ndarray, " n"]
) -> Float[np.ndarray, " d"]:
    """The weighted sum of the parts' vectors.

    >>> combine(np.array([[1.0, 2.0], [3.0, 4.0]]), [1, -0.5])
    array([-0.5,  0. ])
    """
    shares = np.asarray(weights, dtype=np.float64)
    if len(shares) != len(vectors):
        raise LexigraphError(f"There are {len(vectors)} vectors and {len(shares)} weights; each vector needs one.")
    return blend(vectors, shares[None])[0]


def total(expression: str, parts: Sequence[Part], vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """What the parts of an expression add up to, given their vectors, unless nothing is left of them."""
    weights = np.array([part.weight for part in parts])
    added = combine(vectors, weights)
    if np.linalg.norm(added) <= NOTHING * np.abs(weights) @ np.linalg.norm(vectors, axis=1):
        raise LexigraphError(
            f"The sum {expression!r} cancels to nothing: what is left of its vectors is rounding, and no "
            "sentence belongs to it. Do sentences stand in it twice, once to be added and once to be taken away?"
        )
    return added.astype(vectors.dtype)
