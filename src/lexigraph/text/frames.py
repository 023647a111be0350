"""Sequences of vectors: measurements over time, features of sound or video. Each is an array (frames, numbers).

A JSON record lists the numbers of every frame, a table names one .npy file a record, relative to the table itself; a
.npz file has one array for each field: (sequences, frames, numbers), or, with an array `lengths`, the frames of all
sequences one after the other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float32

from lexigraph.errors import LexigraphError


def read(value: object, folder: Path = Path(), where: str = "") -> Float32[np.ndarray, "frames numbers"]:
    """A sequence from an array, from lists, or from a .npy file below `folder`; `where` it stands, for messages."""
    name = f"{where}The sequence {value}" if isinstance(value, str | Path) else f"{where}A sequence of frames"
    if isinstance(value, str | Path):
        try:
            value = np.load(folder / value, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise LexigraphError(f"{name} cannot be read: {why}. A .npy file holds one array.") from None
    try:
        array = np.asarray(value, np.float32)
    except ValueError:
        raise LexigraphError(f"{name} has frames of different lengths, or what are no numbers.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise LexigraphError(f"{name} is an array (frames, numbers); this one has the shape {array.shape}.")
    if not np.isfinite(array).all():
        frame = int(np.flatnonzero(~np.isfinite(array).all(1))[0]) + 1
        raise LexigraphError(f"{name} has a frame, number {frame}, with what is no number (NaN or infinite).")
    return array
