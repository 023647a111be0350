"""Records of a Parquet file, read in batches. It needs pyarrow, the extra `lexigraph[parquet]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lexigraph.errors import LexigraphError

if TYPE_CHECKING:
    import pyarrow.parquet

BATCH = 1000  # rows held at a time


def opened(path: Path) -> pyarrow.parquet.ParquetFile:
    """The file, or a sentence that says why it cannot be read."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise LexigraphError(
            f"{path}: Parquet files are read with pyarrow, which is not installed: pip install 'lexigraph[parquet]', "
            "or save the text as JSON lines."
        ) from None
    try:
        return pyarrow.parquet.ParquetFile(path, memory_map=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        first = str(error).split("\n")[0].rstrip(".")
        raise LexigraphError(f"{path} is damaged or no Parquet file ({first}). Copy or download it again.") from None


def names(path: Path) -> list[str]:
    """The names of a file's columns."""
    return list(opened(path).schema_arrow.names)


def rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The values of these columns, row by row."""
    import pyarrow

    try:
        for batch in opened(path).iter_batches(BATCH, columns=list(dict.fromkeys(columns))):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    except (pyarrow.ArrowException, OSError) as error:
        first = str(error).split("\n")[0].rstrip(".")
        raise LexigraphError(f"{path} is damaged ({first}). Copy or download it again.") from None
