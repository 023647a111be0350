"""What a space of sentences with pictures can do besides: draw vectors, and read what it drew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.errors import LexigraphError
from lexigraph.latent.pictures import as_png, free_png, load_picture
from lexigraph.run import adding


def free_pictures(folder: Path, count: int, force: bool = False) -> list[Path]:
    """The files for so many pictures, if none of them is there."""
    if folder.exists() and not folder.is_dir():
        raise LexigraphError(f"{folder} is a file: name a folder for the pictures.")
    files = [folder / f"{number:04d}.png" for number in range(count)]
    return [free_png(file, force) for file in files] if folder.is_dir() else files


class PictureSpace(SentenceSpace):
    """A picture for a vector, and a text for a picture."""

    def pictures(self, z: np.ndarray | str | Sequence[str]) -> UInt8[np.ndarray, "n side side 3"]:
        """The picture of each vector (or text), 8 bits a channel."""
        self._require_pictures()
        return self.space.draw(self._vectors(z) if isinstance(z, np.ndarray) else self.encode(z))

    def read(
        self,
        pictures: UInt8[np.ndarray, "*n side side 3"] | str | Path | Sequence[str | Path],
        *,
        beam: int = 1,
        noise: float | np.ndarray = 0.0,
    ) -> list[str]:
        """The sentence in each picture: an array, or PNG files that this model drew (`save_pictures`)."""
        self._require_pictures()
        side = self.network.side
        if isinstance(pictures, str | Path):
            pictures = [pictures]
        if not isinstance(pictures, np.ndarray):
            loaded = [load_picture(file, self.fingerprint, side) for file in pictures]
            pictures = np.stack(loaded) if loaded else np.zeros((0, side, side, 3), np.uint8)
        pictures = pictures[None] if pictures.ndim == 3 else pictures
        if pictures.dtype != np.uint8 or pictures.shape[1:] != (side, side, 3):
            raise LexigraphError(
                f"These are not pictures of this model: it reads arrays of uint8 and shape (n, {side}, {side}, 3), "
                f"not {pictures.dtype} and {pictures.shape}."
            )
        return [row[0].text for row in self._told(self.space.read(pictures, beam=beam, noise=noise))]

    def save_pictures(
        self, z: np.ndarray | str | Sequence[str], folder: str | Path, force: bool = False
    ) -> list[Path]:
        """Draw each vector (or text) into a PNG file that carries this model's fingerprint, all of them or none.

        folder: for 0000.png, 0001.png …; what else it holds stays, and `force` replaces pictures of these names.
        """
        texts = [z] if isinstance(z, str) else z
        folder = Path(folder)
        files = free_pictures(folder, 1 if isinstance(z, np.ndarray) and z.ndim == 1 else len(texts), force)
        drawn = self.pictures(texts)
        with adding(folder) as temporary:
            for file, pixels in zip(files, drawn, strict=True):
                (temporary / file.name).write_bytes(as_png(pixels, self.fingerprint))
        return files

    def _require_pictures(self) -> None:
        if not self.network.draws:
            raise LexigraphError("This model has a linear head: it draws and reads no pictures.")
