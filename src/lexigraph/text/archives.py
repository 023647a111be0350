"""Texts in a .zip, read member by member and never unpacked to the disk.

A member is named as a file in a folder would be: `letters.zip/1923/may.txt`. Encrypted members, and those that
would become more than a text of that size can be, are refused.
"""

from __future__ import annotations

import zipfile
from functools import lru_cache
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import cast

from lexigraph.errors import LexigraphError

BOMB_RATIO, BOMB_BYTES = 200, 10 << 20  # text is packed to a tenth or, if it repeats itself much, to a hundredth


def archive_of(path: Path) -> tuple[Path, str] | None:
    """The .zip and the member's name in it, if a path names a member."""
    for parent in path.parents:
        if parent.suffix.lower() == ".zip" and parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    return None


def members(path: Path) -> list[str]:
    """The names of all members but folders, in sorted order; names that lead out of the archive are none of it."""
    names = (name for name, info in _opened(path, *_version(path))[1].items() if not info.is_dir())
    return sorted(name for name in names if ".." not in name.split("/"))


def open_member(path: Path, name: str) -> BufferedIOBase:
    """The bytes of a member."""
    archive, known = _opened(path, *_version(path))
    info = known.get(name)
    if info is None:
        raise LexigraphError(f"{path} has no member {name}; `unzip -l {path}` lists them.")
    if info.flag_bits & 1:
        raise LexigraphError(f"{path}: the member {name} is encrypted. Unpack it with its password: unzip {path}")
    if info.file_size > BOMB_BYTES and info.file_size > BOMB_RATIO * info.compress_size:
        raise LexigraphError(
            f"{path}: the member {name} would unpack {info.compress_size:,} bytes to {info.file_size:,}, as no text "
            "does: it looks like a zip bomb. If it is meant, unpack it and name the file."
        )
    try:
        return cast(BufferedIOBase, archive.open(info))
    except NotImplementedError as error:  # a way of packing that Python does not know
        raise LexigraphError(f"{path}: the member {name} cannot be read ({error}). Unpack it first.") from None


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _opened(path: Path, changed: int, size: int) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """The archive and its members by name, listed once: there may be many, and each is opened by itself."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise LexigraphError(
            f"{path} ends in .zip but is damaged or not such a file ({error}). Make or download it again; "
            "if it is plain text, rename it without .zip."
        ) from None
    except OSError as error:
        raise LexigraphError(f"{path} cannot be read: {error.strerror or error}.") from None
    return archive, {str(PurePosixPath(info.filename.lstrip("/"))): info for info in archive.infolist()}
