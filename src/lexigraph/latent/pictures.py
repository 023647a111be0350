"""Pictures are real files: a PNG that says which model drew it, and only that model reads it back.

    lexigraph:format         1
    lexigraph:fingerprint    of the model that drew the picture
    lexigraph:text           a caption, if there is one

A picture is uint8 (side, side, 3); a network sees it as float32 in [-1, 1]: p = 127.5 (x + 1), rounded.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, UInt8
from PIL import Image, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import free_file
from lexigraph.run import replacing

FORMAT = "1"  # raise it when an old picture would be misread
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 1 << 24  # of a file that is read: the models' own have a few thousand
GREY = 128  # what an occlusion hides a picture with: the middle of the range


def to_uint8(values: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """From [-1, 1] to 0 … 255, rounded; values outside are clipped.

    >>> to_uint8(np.array([-1.0, 0.5, 1.0]))
    array([  0, 191, 255], dtype=uint8)
    """
    if np.isnan(values).any():
        raise LexigraphError("This is no picture: it holds values that are not numbers.")
    return np.rint(127.5 * (values.astype(np.float64).clip(-1, 1) + 1)).astype(np.uint8)


def to_float(pixels: UInt8[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """From 0 … 255 to [-1, 1]; `to_uint8` goes back exactly.

    >>> to_float(np.array([0, 51, 255], dtype=np.uint8))
    array([-1. , -0.6,  1. ], dtype=float32)
    """
    return (pixels / 127.5 - 1).astype(np.float32)


# ---- files ----


def save_picture(
    path: str | Path, pixels: UInt8[np.ndarray, "side side 3"], fingerprint: str, text: str = "", force: bool = False
) -> None:
    """Write a PNG that `load_picture` reads back exactly; `text` is a caption for people, `force` replaces a file."""
    _write(path, as_png(pixels, fingerprint, text, path), force)


def as_png(
    pixels: UInt8[np.ndarray, "side side 3"], fingerprint: str, text: str = "", path: str | Path = "The picture"
) -> bytes:
    """The content of such a file."""
    if not fingerprint:
        raise LexigraphError(f"{path} was not written: a picture needs the fingerprint of the model that drew it.")
    notes = PngInfo()
    notes.add_text("lexigraph:format", FORMAT)
    notes.add_text("lexigraph:fingerprint", fingerprint)
    if text:
        try:
            notes.add_itxt("lexigraph:text", text)
        except UnicodeEncodeError:
            raise LexigraphError(f"{path} was not written: its caption is not valid Unicode text.") from None
    return _encode(pixels, "PNG", pnginfo=notes)


ANY = "To read it all the same, as well as it can be read: read --any (any=True)."


def load_picture(path: str | Path, fingerprint: str, side: int) -> UInt8[np.ndarray, "side side 3"]:
    """The pixels of a picture that the model with this fingerprint drew; anything else is refused."""
    content = _content(path)
    if not content.startswith(SIGNATURE):
        raise LexigraphError(f"{path} is not a picture in PNG format, as Lexigraph's models draw them. {ANY}")
    pixels, notes = _decoded(path, content, ("PNG",))
    if why := _not_ours(notes, fingerprint):
        raise LexigraphError(f"{path} {why} {ANY}")
    if pixels.shape[:2] != (side, side):
        height, width = pixels.shape[:2]
        raise LexigraphError(f"{path} is {width} × {height} pixels; this model's pictures are {side} × {side}. {ANY}")
    depth, colours = content[24:26]  # of the header; Pillow would turn 16 bits into 8 and say nothing
    if (depth, colours) != (8, 2):
        raise LexigraphError(
            f"{path} is not in RGB with 8 bits per colour: a program has changed and saved it again. {ANY}"
        )
    return pixels


def load_any_picture(path: str | Path, fingerprint: str, side: int) -> tuple[UInt8[np.ndarray, "side side 3"], str]:
    """The pixels of any picture file at this model's size, and what has become of it on the way, if anything."""
    content = _content(path)
    pixels, notes = _decoded(path, content, None)
    changed = []
    if not content.startswith(SIGNATURE):
        changed.append("is no PNG file")
    elif why := _not_ours(notes, fingerprint):
        changed.append(why.rstrip(".").split(":")[0])
    if pixels.shape[:2] != (side, side):
        height, width = pixels.shape[:2]
        changed.append(f"was resized from {width} × {height} to {side} × {side} pixels")
        scaled = Image.fromarray(pixels).resize(
            (side, side), Image.Resampling.BOX if width > side else Image.Resampling.BICUBIC
        )
        pixels = np.array(scaled)
    return pixels, " and ".join(changed)


def _content(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise LexigraphError(f"There is no picture {path}.") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise LexigraphError(f"The picture {path} could not be read: {error}.") from None


def _decoded(path: str | Path, content: bytes, formats: tuple[str, ...] | None) -> tuple[np.ndarray, dict[Any, Any]]:
    """Pixels in RGB, and the notes in the file."""
    try:
        with Image.open(io.BytesIO(content), formats=formats) as image:
            if image.width * image.height > MOST_PIXELS:
                raise LexigraphError(f"The picture {path} is too large: {image.width:,} × {image.height:,} pixels.")
            image.load()
            return np.array(image.convert("RGB")), dict(image.info)
    except UnidentifiedImageError:
        raise LexigraphError(f"{path} is no picture that can be read.") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise LexigraphError(f"The picture {path} is damaged: {error}.") from None


def _not_ours(notes: Mapping[Any, Any], fingerprint: str) -> str:
    """Why the model with this fingerprint did not draw a picture with such notes, if it did not."""
    drawn_by, version = notes.get("lexigraph:fingerprint"), notes.get("lexigraph:format")
    if not drawn_by or not version:
        return "was not drawn by a Lexigraph model, or a program that saved it again dropped the notes in it."
    if version != FORMAT:
        return f"has picture format {version}, this Lexigraph reads {FORMAT}: update Lexigraph."
    if drawn_by != fingerprint:
        return (
            f"was drawn by another model: its fingerprint is {drawn_by}, this model's is {fingerprint}. "
            "Read it with the model that drew it."
        )
    return ""


def free_png(path: str | Path, force: bool = False) -> Path:
    """The path of a picture that may be written."""
    return free_file(path, "a picture", (".png",), force)


def _encode(pixels: np.ndarray, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def _write(path: str | Path, content: bytes, force: bool) -> None:
    with replacing(free_png(path, force)) as temporary:
        temporary.write_bytes(content)


# ---- for people to look at ----


def strip(
    pictures: UInt8[np.ndarray, "n side side 3"], columns: int | None = None, gap: int = 2, scale: int = 1
) -> UInt8[np.ndarray, "height width 3"]:
    """The pictures side by side on white, in rows of `columns` (None: one row), each pixel `scale` times as large."""
    columns = len(pictures) if columns is None else columns
    if not len(pictures) or columns < 1 or gap < 0 or scale < 1:
        raise LexigraphError(
            f"A strip of {len(pictures)} pictures with columns={columns}, gap={gap}, scale={scale} cannot be made: "
            "it needs at least 1 picture, column and scale, and a gap that is not negative."
        )
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    side = pictures.shape[1] * scale
    sheet = np.full((rows * (side + gap) - gap, columns * (side + gap) - gap, 3), 255, dtype=np.uint8)
    for number, picture in enumerate(pictures):
        top, left = ((side + gap) * position for position in divmod(number, columns))
        sheet[top : top + side, left : left + side] = _enlarge(picture, scale)
    return sheet


def save_strip(
    path: str | Path,
    pictures: UInt8[np.ndarray, "n side side 3"],
    columns: int | None = None,
    gap: int = 2,
    scale: int = 1,
    force: bool = False,
) -> None:
    """Write a strip as a PNG, for looking at: no model reads it back; `force` replaces a file."""
    _write(path, _encode(strip(pictures, columns, gap, scale), "PNG"), force)


def as_data_uri(pixels: UInt8[np.ndarray, "height width 3"], scale: int = 1) -> str:
    """The picture as the `src` of an HTML image, without a file.

    >>> as_data_uri(np.zeros((1, 1, 3), dtype=np.uint8))[:32]
    'data:image/png;base64,iVBORw0KGg'
    """
    if scale < 1:
        raise LexigraphError(f"scale is {scale}; it must be at least 1.")
    return "data:image/png;base64," + base64.b64encode(_encode(_enlarge(pixels, scale), "PNG")).decode("ascii")


def _enlarge(pixels: np.ndarray, scale: int) -> np.ndarray:
    return pixels.repeat(scale, axis=0).repeat(scale, axis=1)


# ---- damage, to see what a reader of pictures survives ----

DAMAGES = {  # what `amount` means, and its least and greatest value
    "png": ("nothing", -math.inf, math.inf),
    "jpeg": ("the quality", 1, 100),
    "noise": ("the standard deviation in grey levels", 0, 255),
    "resize": ("the share of the side that is kept", 0, 1),
    "occlusion": ("the share of the area that is hidden", 0, 1),
}


def degrade(
    pixels: UInt8[np.ndarray, "side side 3"], how: str, amount: float | int, seed: int = 0
) -> UInt8[np.ndarray, "side side 3"]:
    """The picture as it comes back from a rough journey.

    png          written and read: unchanged, whatever the amount
    jpeg         compressed with this quality, 1 … 100
    noise        Gaussian noise of this standard deviation, in grey levels
    resize       scaled down to this share of its side and up again, bilinearly
    occlusion    a grey square over this share of its area, where the seed says
    """
    if how not in DAMAGES:
        raise UsageError(f"There is no damage {how!r}. Choose from: {', '.join(DAMAGES)}.")
    meaning, least, greatest = DAMAGES[how]
    if not least <= amount <= greatest:
        raise LexigraphError(f"For {how!r}, the amount is {meaning}, between {least} and {greatest}, not {amount}.")
    side, random = len(pixels), np.random.default_rng(seed)
    if how == "noise":
        return np.rint(pixels + random.normal(0, amount, pixels.shape)).clip(0, 255).astype(np.uint8)
    if how == "resize":
        small = max(1, round(side * amount))
        image = Image.fromarray(pixels).resize((small, small), Image.Resampling.BILINEAR)
        return np.array(image.resize((side, side), Image.Resampling.BILINEAR))
    if how == "occlusion":
        edge = round(side * math.sqrt(amount))
        top, left = random.integers(0, side - edge + 1, size=2)
        hidden = pixels.copy()
        hidden[top : top + edge, left : left + edge] = GREY
        return hidden
    options = {"quality": round(amount)} if how == "jpeg" else {}
    return np.array(Image.open(io.BytesIO(_encode(pixels, how.upper(), **options))))
