"""Drawn scenes, and sentences that say what is to be seen: two coloured shapes on a dark ground, 16 × 16 dots.

    A red disc is above a blue square .          A blue square is below a red disc .
    There is a red disc above a blue square .    There is a blue square below a red disc .

Every picture comes with all four sentences, which are true of it, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import UInt8

SIDE, HALF = 16, 8
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 190, 70),
    "blue": (60, 90, 230),
    "yellow": (230, 210, 50),
    "white": (240, 240, 240),
    "purple": (160, 60, 190),
}
SHAPES = ("square", "disc", "cross", "ring")
OPPOSITE = {"above": "below", "below": "above", "left of": "right of", "right of": "left of"}

Picture = UInt8[np.ndarray, "side side 3"]


def scenes(seed: int = 0) -> Iterator[tuple[Picture, list[str]]]:
    """Pictures without end, each with its sentences."""
    random = np.random.default_rng(seed)
    while True:
        picture = random.integers(0, 50, (SIDE, SIDE, 3))
        quarters = random.choice(4, 2, replace=False).tolist()
        names = []
        for quarter in quarters:
            colour, shape = str(random.choice(list(COLOURS))), str(random.choice(SHAPES))
            middle = (HALF * np.array(divmod(quarter, 2)) + random.integers(3, 6, 2)).tolist()
            noise = random.integers(-20, 21, 3)
            picture = np.where(_inside(shape, *middle)[..., None], np.add(COLOURS[colour], noise), picture)
            names.append(f"{colour} {shape}")
        yield picture.clip(0, 255).astype(np.uint8), said_of(names[0], names[1], _relation(*quarters))


def said_of(one: str, other: str, relation: str) -> list[str]:
    """What is true of a picture in which one thing is, say, above another.

    >>> said_of("red disc", "blue ring", "left of")[3]
    'There is a blue ring right of a red disc .'
    """
    both = f"a {one}", f"a {other}"
    said = [f"{both[0]} is {relation} {both[1]}", f"{both[1]} is {OPPOSITE[relation]} {both[0]}"]
    said += [f"there is {both[0]} {relation} {both[1]}", f"there is {both[1]} {OPPOSITE[relation]} {both[0]}"]
    return [f"{sentence[0].upper()}{sentence[1:]} ." for sentence in said]


def _relation(one: int, other: int) -> str:
    """Where one quarter of a picture is, seen from another; what is higher is above, however far to the side."""
    if one // 2 != other // 2:
        return "above" if one < other else "below"
    return "left of" if one < other else "right of"


def _inside(shape: str, y: int, x: int) -> np.ndarray:
    """Which dots a shape around a middle covers."""
    down, across = np.mgrid[:SIDE, :SIDE]
    down, across = abs(down - y), abs(across - x)
    distance = down**2 + across**2
    covered = {
        "square": np.maximum(down, across) <= 2,
        "disc": distance <= 9,
        "cross": (np.minimum(down, across) == 0) & (np.maximum(down, across) <= 3),
        "ring": (distance <= 10) & (distance >= 5),
    }
    return covered[shape]
