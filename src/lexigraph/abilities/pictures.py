"""What a space of sentences with pictures can do besides: draw vectors, and read what it drew."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from jaxtyping import UInt8

from lexigraph.abilities.asking import many, number, whole
from lexigraph.abilities.decoded import Decoded, with_confidence
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.pictures import as_png, free_png, load_any_picture, load_picture
from lexigraph.run import adding


class Reading(TypedDict, total=False):
    """How pictures are read; `read` says what is usual."""

    beam: int
    noise: float | np.ndarray
    alpha: float
    any: bool


def free_pictures(folder: Path, count: int, force: bool = False) -> list[Path]:
    """The files for so many pictures, if none of them is there."""
    if folder.exists() and not folder.is_dir():
        raise LexigraphError(f"{folder} is a file: name a folder for the pictures.")
    files = [folder / f"{number:04d}.png" for number in range(count)]
    return [free_png(file, force) for file in files] if folder.is_dir() else files


class PictureSpace(SentenceSpace):
    """A picture for a vector, and a text for a picture."""

    def pictures(self, z: np.ndarray | str | Sequence[str]) -> UInt8[np.ndarray, "*n side side 3"]:
        """The picture of each vector (or text), 8 bits a channel; of one, the picture alone."""
        self._require_pictures()
        vectors = self._asked_vectors(z) if isinstance(z, np.ndarray) else self.encode(z)
        drawn = self.space.draw(vectors.reshape(-1, self.network.latent))
        return drawn[0] if vectors.ndim == 1 else drawn

    @overload
    def read(  # type: ignore[overload-overlap]
        self, pictures: str | Path, *, confidence: Literal[False] = False, **how: Unpack[Reading]
    ) -> str: ...
    @overload
    def read(
        self,
        pictures: UInt8[np.ndarray, "n side side 3"] | Sequence[str | Path],
        *,
        confidence: Literal[False] = False,
        **how: Unpack[Reading],
    ) -> list[str]: ...
    @overload
    def read(
        self, pictures: object, *, confidence: Literal[True], attention: bool = False, **how: Unpack[Reading]
    ) -> Decoded | list[Decoded]: ...
    def read(
        self,
        pictures: object,
        *,
        beam: int = 1,
        noise: float | np.ndarray = 0.0,
        alpha: float = 0.7,
        any: bool = False,
        confidence: bool = False,
        attention: bool = False,
    ) -> str | list[str] | Decoded | list[Decoded]:
        """The sentence in each picture: an array, or PNG files that this model drew (`save_pictures`).

        any: take any picture file: one that was saved again, as JPEG, in another size; it warns what that costs.
        confidence: each sentence as `Decoded`, with its scores and how far it is to be trusted, not as a string.
        attention: then also where the decoder looked in the picture while it wrote each piece.
        """
        self._require_pictures()
        whole(beam=beam)
        number(alpha=alpha)
        if attention and not confidence:
            raise UsageError("Where the decoder looked is told with confidence=True only.")
        pixels, one = self._pixels(pictures, any)
        found = self.space.read(pixels, beam=beam, noise=noise, alpha=alpha, attention=attention)
        if not confidence:
            texts = [row[0].text for row in self.scored(found)]
            return texts[0] if one else texts

        def again(texts: list[str]) -> np.ndarray:
            drawn = self.space.draw(self.space.encode(self.rows(texts)[0]))
            return drawn.reshape(len(texts), -1)

        flat = pixels.reshape(len(pixels), 3 * self.network.side**2).astype(np.float32)
        told = [row[0] for row in with_confidence(self, found, flat, noise, again, pictures=True)]
        return told[0] if one else told

    def _pixels(self, pictures: object, any: bool) -> tuple[UInt8[np.ndarray, "n side side 3"], bool]:
        """Pictures from files or as they are, and whether it was one."""
        side = self.network.side
        if isinstance(pictures, np.ndarray):
            one = pictures.ndim == 3
        else:
            files, one = many(pictures, (str, Path), "picture")
            pictures = np.stack([self._picture(file, any) for file in files])
        pictures = pictures.reshape(-1, *pictures.shape[-3:])
        if pictures.dtype != np.uint8 or pictures.shape[1:] != (side, side, 3):
            raise LexigraphError(
                f"These are not pictures of this model: it reads arrays of uint8 and shape (n, {side}, {side}, 3), "
                f"not {pictures.dtype} and {pictures.shape}."
            )
        return pictures, one

    def _picture(self, file: str | Path, any: bool) -> UInt8[np.ndarray, "side side 3"]:
        if not any:
            return load_picture(file, self.fingerprint, self.network.side)
        pixels, changed = load_any_picture(file, self.fingerprint, self.network.side)
        if changed:
            warnings.warn(f"{file} {changed}: the sentence may be another one.", stacklevel=4)
        return pixels

    def lost(self, texts: Sequence[str], pictures: UInt8[np.ndarray, "n side side 3"]) -> dict[int, str]:
        """Of pictures that were drawn from texts, those that are not read as their text: place, and what is read."""
        back = self.read(pictures)
        wanted = self.tokenizer.decode_batch(self.rows(texts)[0])
        found = enumerate(zip(wanted, back, strict=True))
        return {place: read for place, (text, read) in found if text != read}

    def save_pictures(
        self, z: np.ndarray | str | Sequence[str], folder: str | Path, force: bool = False
    ) -> list[Path]:
        """Draw each vector (or text) into a PNG file that carries this model's fingerprint, all of them or none.

        folder: for 0000.png, 0001.png …; what else it holds stays, and `force` replaces pictures of these names.
        """
        one = isinstance(z, str) or (isinstance(z, np.ndarray) and z.ndim == 1)
        folder = Path(folder)
        files = free_pictures(folder, 1 if one else len(z), force)
        drawn = self.pictures(z)
        with adding(folder) as temporary:
            for file, pixels in zip(files, drawn.reshape(-1, *drawn.shape[-3:]), strict=True):
                (temporary / file.name).write_bytes(as_png(pixels, self.fingerprint))
        return files

    def _require_pictures(self) -> None:
        if not self.network.draws:
            raise LexigraphError("This model has a linear head: it draws and reads no pictures.")
