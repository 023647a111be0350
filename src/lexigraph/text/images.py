"""Pictures as arrays: files that Pillow reads, or arrays in a .npz file.

A table names one file a record, relative to the table itself; a .npz file has one array for each field, whose first
axis is the example; with an array `lengths`, so many rows of the others are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from lexigraph.errors import LexigraphError
from lexigraph.text.readers import Record, Value

LENGTHS = "lengths"  # the array of a .npz file that says how many rows of the others each example has


def read(value: Value, folder: Path = Path()) -> UInt8[np.ndarray, "height width channels"]:
    """A picture, 8 bits a channel, from an array or from a file below `folder`; grey ones have one channel."""
    if isinstance(value, np.ndarray):
        if value.dtype != np.uint8 or value.ndim not in (2, 3):
            raise LexigraphError(
                f"A picture is an array of uint8 and shape (height, width) or (height, width, channels), not "
                f"{value.dtype} and {value.shape}."
            )
        return value[..., None] if value.ndim == 2 else value
    from PIL import Image, UnidentifiedImageError

    path = folder / str(value)
    try:
        with Image.open(path) as image:
            return read(np.asarray(image.convert("L" if image.mode in ("1", "L", "I", "I;16") else "RGB")))
    except (OSError, UnidentifiedImageError) as error:
        raise LexigraphError(f"The picture {path} cannot be read: {error}.") from None


def read_arrays(file: Path, columns: Mapping[str, str]) -> Iterator[Record]:
    """The records of a .npz file: our fields, and the arrays that hold them."""
    try:
        with np.load(file, allow_pickle=False) as found:
            if missing := [name for name in columns.values() if name not in found.files]:
                raise LexigraphError(f"{file} has no array {missing[0]!r}; it has: {', '.join(found.files)}.")
            arrays = {field: found[name] for field, name in columns.items()}
            ends = np.cumsum(found[LENGTHS])[:-1] if LENGTHS in found.files else None
    except (OSError, ValueError) as error:
        raise LexigraphError(f"{file} cannot be read: {error}.") from None
    lengths = {field: len(array) for field, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise LexigraphError(f"The arrays of {file} have different lengths: {lengths}.")
    if ends is not None:  # examples of different lengths, one after the other
        if ends.size and ends[-1] > min(lengths.values()):
            raise LexigraphError(f"The array {LENGTHS} of {file} counts more rows than the others have: {lengths}.")
        cut = {field: np.split(array, ends) for field, array in arrays.items()}
    else:
        cut = {field: list(array) for field, array in arrays.items()}
    for number in range(len(next(iter(cut.values())))):
        row = {field: values[number] for field, values in cut.items()}
        values = {field: value if value.ndim else value.item() for field, value in row.items()}
        yield Record(values, number, number + 1)
