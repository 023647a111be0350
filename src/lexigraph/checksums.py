"""Checksums of files: whether what is read is what was written. They find damage, not malice.

checksums.json    {"train.text.values": [bytes, CRC-32], …} of the files beside it
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lexigraph.errors import LexigraphError
from lexigraph.stored import table_in

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHECKSUMS = "checksums.json"
BLOCK = 1 << 22


def checksum(path: Path) -> tuple[int, int]:
    """Length and CRC-32 of a file, read once, a block at a time."""
    length = found = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            length, found = length + len(block), zlib.crc32(block, found)
    return length, found


def of_arrays(arrays: Iterable[tuple[str, Buffer]]) -> str:
    """One checksum of arrays, each with what names and describes it."""
    found = 0
    for name, content in arrays:
        found = zlib.crc32(content, zlib.crc32(name.encode(), found))
    return f"{found:08x}"


def checksums(paths: Iterable[Path]) -> dict[str, list[int]]:
    """The checksums of files of one folder, by name."""
    return {path.name: list(checksum(path)) for path in sorted(paths)}


def write(folder: Path) -> None:
    """Write down the checksums of all files of a folder."""
    known = checksums(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS)
    (folder / CHECKSUMS).write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")


def verify(folder: Path) -> None:
    """Refuse a folder with a file that is not as it was written; one from before there were checksums passes."""
    if not (folder / CHECKSUMS).exists():
        return
    known = table_in(folder / CHECKSUMS)
    try:
        expected = {str(name): (int(length), int(found)) for name, (length, found) in known.items()}
    except (ValueError, TypeError) as error:
        raise LexigraphError(f"{folder / CHECKSUMS} is damaged: {error}.") from None
    for name, written in expected.items():
        refuse_changed(folder / name, written)


def refuse_changed(path: Path, written: tuple[int, int]) -> None:
    """Refuse a file that has not the length and checksum that it was written with."""
    try:
        length = path.stat().st_size
        if length != written[0]:
            raise LexigraphError(f"{path} is damaged: it has {length:,} bytes, and {written[0]:,} were written.")
        if checksum(path) != written:
            raise LexigraphError(f"{path} is damaged or was exchanged: it is not what was written.")
    except FileNotFoundError:
        raise LexigraphError(f"{path} is missing: the folder is incomplete.") from None
    except OSError as error:
        raise LexigraphError(f"{path} cannot be read: {error}.") from None
