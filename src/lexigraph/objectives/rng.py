"""Random numbers that belong to an example, not to a batch: a function of the example's seed and a position alone.

A corruption drawn from these is the same on every device, in any batch, on any number of processes, and after a
resumed run. Each number is a hash of (seed, stream, position): 32-bit words are multiplied and folded, with factors
below 2^31, so that the 64-bit integers of torch hold every product exactly.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

WORD = 0xFFFFFFFF


def seeds_of(positions: np.ndarray, epoch: int, seed: int, table: str = "") -> np.ndarray:
    """A seed for each row, from its place in its table, the epoch and the seed of the run."""
    mixed = np.asarray(positions).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        mixed += np.uint64((epoch * 0xBF58476D1CE4E5B9 + seed * 0x94D049BB133111EB) % 2**64)
        mixed += np.uint64(zlib.crc32(table.encode()) << 32)  # 0 for the main table
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(32)).astype(np.int64)


def seeds_of_content(rows: Sequence[np.ndarray]) -> np.ndarray:
    """A seed for each row of tokens from what it says: in evaluation, a text is corrupted alike in any company."""
    return np.array([zlib.crc32(np.ascontiguousarray(row, np.int64)) for row in rows], np.int64)


def random_of(seed: int | np.integer) -> np.random.Generator:
    """The random numbers of one example, for what happens to it on the host."""
    return np.random.default_rng(seed)


def uniform(seeds: Int[Tensor, " rows"], count: int, stream: int) -> Float[Tensor, "rows count"]:
    """`count` numbers in (0, 1] for each seed; another `stream` gives other numbers."""
    positions = torch.arange(count, device=seeds.device) * 0x1E3779B1 + stream * 0x05EBCA77
    h = (seeds[:, None] ^ positions) & WORD
    for shift, factor in ((16, 0x7FEB352D), (15, 0x045D9F3B), (16, 0x27D4EB2F), (15, 1)):
        h = ((h ^ (h >> shift)) * factor) & WORD
    return ((h >> 8).float() + 0.5) / 2**24


def gaussian(seeds: Int[Tensor, " rows"], count: int, stream: int) -> Float[Tensor, "rows count"]:
    """Standard normal numbers, by Box and Muller from the uniform streams 2 n and 2 n + 1."""
    radius = (-2 * uniform(seeds, count, 2 * stream).log()).sqrt()
    return radius * (2 * math.pi * uniform(seeds, count, 2 * stream + 1)).cos()
