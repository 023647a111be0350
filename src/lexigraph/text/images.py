"""Pictures as arrays: files that Pillow reads, or arrays in a .npz file.

A table names one file a record, relative to the table itself; a .npz file has one array for each field, whose first
axis is the example; with an array `lengths`, so many rows of the others are one.

Files are taken as a viewer shows them: turned as their EXIF data say, what is transparent on white, 16 bits as 8.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text.readers import Record, Value

if TYPE_CHECKING:
    from PIL import Image

IMAGE = "image"  # the usual name of a column of pictures, and of their vocabulary
LENGTHS = "lengths"  # the array of a .npz file that says how many rows of the others each example has
MOST_DOTS = 80_000_000  # a file may claim to hold any number of them in a few bytes

Shape = tuple[int, ...]  # height, width, channels


def read(
    value: Value, folder: Path = Path(), side: int = 0, where: str = "", shape: Shape = ()
) -> UInt8[np.ndarray, "height width channels"]:
    """A picture, 8 bits a channel, from an array or from a file below `folder`; grey ones have one channel.

    side: of files the largest square in the middle is taken, in colours, and scaled to so many dots; 0: all of it, as
    it is. shape: what is wanted of files, instead. where: "a.tsv, line 3", for messages.
    """
    name = f"{where}{': ' * bool(where)}"
    if isinstance(value, np.ndarray):
        if value.dtype != np.uint8 or value.ndim not in (2, 3) or not value.size:
            raise LexigraphError(
                f"{name}A picture is an array of uint8 and shape (height, width) or (height, width, channels), not "
                f"{value.dtype} and {value.shape}."
            )
        return value[..., None] if value.ndim == 2 else value
    if not str(value).strip():
        raise LexigraphError(f"{name}no picture is named there: the field is empty.")
    path = folder / str(value)
    wanted = shape or ((side, side, 3) if side else ())
    try:
        image = _opened(path)
        return read(np.asarray(_fitted(image, wanted) if wanted else image))
    except LexigraphError as error:
        raise LexigraphError(f"{name}{error}") from None
    except Exception as error:  # Pillow raises whatever its parts do: OSError, SyntaxError, struct.error …
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LexigraphError(f"{name}The picture {path} cannot be read: {reason.rstrip('.')}.") from None


def _opened(path: Path) -> Image.Image:
    """A picture in colours or in grey."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    large = f"The picture {path} has more than {MOST_DOTS:,} dots, as its header says: make it smaller first."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # refused below, before it is decoded
        try:
            opened = Image.open(path)
        except Image.DecompressionBombError:
            raise LexigraphError(large) from None
        except UnidentifiedImageError:
            raise LexigraphError(f"The picture {path} cannot be read: it is no picture, or damaged.") from None
    with opened as image:
        if image.width * image.height > MOST_DOTS:
            raise LexigraphError(large)
        image.load()
        turned = ImageOps.exif_transpose(image)
        if turned.mode.startswith("I"):  # 16 bits
            return Image.fromarray((np.asarray(turned).astype(np.int64).clip(0, 65535) >> 8).astype(np.uint8))
        if turned.mode == "F":
            raise LexigraphError(f"The picture {path} has fractions for dots: save it with 8 bits a channel.")
        if turned.has_transparency_data:
            ground = Image.new("RGBA", turned.size, "white")
            turned = Image.alpha_composite(ground, turned.convert("RGBA"))
        return turned.convert("L" if turned.mode in ("1", "L", "LA") else "RGB")


def _fitted(image: Image.Image, shape: Shape) -> Image.Image:
    """The largest part in the middle of a picture that has the proportions of this shape, scaled to it."""
    from PIL import Image

    height, width, channels = shape
    image = image.convert("L" if channels == 1 else "RGB")
    part = min(image.width / width, image.height / height)
    across, down = round(part * width), round(part * height)
    left, top = (image.width - across) // 2, (image.height - down) // 2
    image = image.crop((left, top, left + across, top + down))
    return image if image.size == (width, height) else image.resize((width, height), Image.Resampling.BICUBIC)


def same_shapes(rows: Sequence[np.ndarray], shape: Shape) -> Sequence[np.ndarray]:
    """Pictures, refused where one has another shape than those that a model has learned from."""
    if wrong := next((row.shape for row in rows if row.shape != shape), None):
        raise UsageError(f"This model reads pictures of shape {shape}, not {wrong}.")
    return rows


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
