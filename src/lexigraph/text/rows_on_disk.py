"""Arrays that are larger than memory: .npy files that are written row by row and read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lexigraph.errors import LexigraphError

BLOCK_BYTES = 1 << 22  # of rows that are read at once


class RowWriter:
    """A .npy file that grows: `add` appends rows, `close` states in the header how many there are."""

    def __init__(self, path: Path) -> None:
        self._file, self._rows, self._row_shape, self._dtype = path.open("w+b"), 0, (0,), np.dtype(np.float32)

    def add(self, rows: np.ndarray) -> None:
        """Append rows, all of one shape and type."""
        if not self._rows:
            self._row_shape, self._dtype = rows.shape[1:], rows.dtype
            self._header()
        self._rows += len(rows)
        self._file.write(np.ascontiguousarray(rows, self._dtype).data)

    def _header(self) -> None:
        """NumPy leaves room for a first axis of any length, so that the header can be written again."""
        shape, kind = (self._rows, *self._row_shape), np.lib.format.dtype_to_descr(self._dtype)
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, {"descr": kind, "fortran_order": False, "shape": shape})

    def close(self) -> int:
        """Finish the file; how many rows it has."""
        self._header()
        self._file.close()
        return self._rows


class RowReader:
    """The rows of a .npy file. Each block is mapped by itself and let go again, so that memory stays flat."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                np.lib.format.read_magic(file)
                shape, fortran, self.dtype = np.lib.format.read_array_header_1_0(file)
                self._start = file.tell()
        except (OSError, ValueError) as error:
            raise LexigraphError(f"{path} is damaged: {error}.") from None
        self.shape: tuple[int, ...] = shape
        wanted = self._start + int(np.prod(shape)) * self.dtype.itemsize
        if fortran or path.stat().st_size != wanted:
            raise LexigraphError(f"{path} is damaged: it has {path.stat().st_size:,} bytes instead of {wanted:,}.")

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, last, _ = rows.indices(len(self))
        width = int(np.prod(self.shape[1:])) * self.dtype.itemsize
        shape = (max(0, last - first), *self.shape[1:])
        if not shape[0]:
            return np.zeros(shape, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self._start + first * width, shape)

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Blocks of rows, each with the number of its first row."""
        size = max(1, BLOCK_BYTES // max(1, int(np.prod(self.shape[1:])) * self.dtype.itemsize))
        for first in range(0, len(self), size):
            yield first, self[first : first + size]
