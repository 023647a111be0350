"""What a person names as text, as the files to read: one or several, folders, patterns, archives, standard input.

    expand("letters")               every text in the folder, in sorted order
    expand(("a.txt", "b/*.txt"))    several; a pattern stands for all files that it fits
    expand("letters.zip")           every text in the archive, by names as `letters.zip/may.txt`
    expand("-")                     standard input, kept in a temporary file
    expand("de=pairs")              what `pairs` stands for, each with the direction `de` (parallel.py)

A recipe holds the names as they were given (`named`), so that a run folder says what it was trained on. Texts that
come from Python are kept in a temporary file, too: text is never all in memory.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from io import TextIOBase
from pathlib import Path
from typing import TypeAlias, cast

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import archives, languages, parallel, readers
from lexigraph.text.source import COMPRESSED, MARKS

GRAMMAR, SENTIMENT, EDITS, CODED = "grammar", "sentiment", "edits", "coded"
DATES, UNSEEN_DATES = "dates", "dates:unseen"
BUILT_IN = (GRAMMAR, SENTIMENT, EDITS, DATES, UNSEEN_DATES, CODED)  # the corpora made by code
STDIN = "-"
SNIFFED = 4096  # bytes that tell whether a file in a folder is text
SHOWN = 3  # names in a message

Names = str | tuple[str, ...]  # as a recipe has them
Record = Mapping[str, object]
Given: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Record]"

_spooled: dict[str, Path] = {}  # names that are no files → where their text is kept


def named(given: Given) -> Names:
    """What a caller gives as data, by the names that a recipe keeps.

    A string or a path is the name of a file, a folder, a pattern, "-" or "grammar", never a text. In a list or tuple,
    paths are files; strings are files if every one is there or looks like one (`data.txt`: no white space and a
    suffix that is read), and otherwise all of them are texts. Any other iterable gives texts. Instead of a text there
    may be a dictionary, with the fields of a record.
    """
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    if isinstance(given, list | tuple) and given:
        paths = [isinstance(each, os.PathLike) for each in given]
        if any(paths) and not all(paths):
            raise UsageError("The data are files and texts in one list: give either paths or texts.")
        if all(paths) or all(map(names_a_file, given)):
            names = tuple(map(os.fspath, given))
            return names if len(names) > 1 else names[0]
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise UsageError(f"The data must be files or texts, not {given!r:.60}.")
    return _spool_texts(given)


def names_a_file(item: object) -> bool:
    """Whether an item of a list is a file: a path, or a string that is one, or looks like data.txt or a/b.tsv.gz."""
    if isinstance(item, os.PathLike):
        return True
    if not isinstance(item, str):
        return False
    item = parallel.directed(item)[1]
    known = "|".join(suffix[1:] for suffix in (*readers.FORMATS, ".txt", ".zip", *COMPRESSED))
    with suppress(OSError, ValueError):  # a text may be too long for a name
        looks = bool(re.fullmatch(rf"\S+\.({known})", item, re.IGNORECASE))
        return looks or os.path.exists(item) or parallel.sides(item) is not None
    return False


def built_in(name: str) -> bool:
    """Whether a name stands for text that is made by code: a built-in corpus, or a language (languages.py)."""
    return name in BUILT_IN or languages.named(name) is not None


def find(name: str) -> str:
    """A name as given, or under the folder that LEXIGRAPH_DATA names."""
    direction, name = parallel.directed(name)
    if direction:
        return f"{direction}={find(name)}"
    root = os.environ.get("LEXIGRAPH_DATA")
    if built_in(name) or name == STDIN or name in _spooled:
        return name
    if not root or Path(name).is_absolute() or Path(name).exists():
        return name
    if "+" in name and all((Path(root) / part).exists() for part in name.split("+")):
        return "+".join(str(Path(root) / part) for part in name.split("+"))
    below = str(Path(root) / name)
    return below if Path(below).exists() or (_is_pattern(below) and glob.glob(below)) else name


def same(one: Names, other: Names) -> bool:
    """Whether two names stand for the same files."""
    return [find(name) for name in several(one)] == [find(name) for name in several(other)]


def listed(names: Names) -> list[str]:
    """The files that names stand for, in order, those of a folder, pattern or archive sorted."""
    return [file for name in several(names) for file in _files(name)]


def expand(names: Names) -> list[str]:
    """The files that names stand for, which must all be of one format."""
    found = listed(names)
    formats: dict[str, str] = {}  # → the first such file
    for file in found:
        formats.setdefault(readers.file_format(file), file)
    if len(formats) > 1:
        kinds = ", ".join(f"{kind} ({file})" for kind, file in formats.items())
        raise LexigraphError(
            f"{shown(names)}: the files are of several formats: {kinds}. Name those of one: --data 'texts/*.txt'."
        )
    return found


def shown(names: Names) -> str:
    """Names as a message has them."""
    if isinstance(names, str):
        return "standard input" if names == STDIN else names
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def on_disk(names: Names) -> list[str]:
    """The names as another process understands them."""
    return [str(_kept(find(name)) or name) for name in several(names)]


def several(names: Names) -> tuple[str, ...]:
    """Names, however many there are."""
    return (names,) if isinstance(names, str) else names


def _files(name: str) -> list[str]:
    if built_in(name):
        return [name]
    direction, name = parallel.directed(name)
    if direction:
        return [f"{direction}={file}" for file in _files(name)]
    name = find(name)
    if kept := _kept(name):
        return [str(kept)]
    path = Path(name)
    if path.is_dir():
        walked = (Path(folder) / file for folder, _, files in os.walk(path) for file in files)
        return _chosen(path, sorted(map(str, walked)))
    if path.suffix.lower() == ".zip" and path.is_file():
        return _chosen(path, [f"{path}/{member}" for member in archives.members(path)])
    if _is_pattern(name) and not path.exists():
        found = sorted(file for file in glob.glob(name, recursive=True) if Path(file).is_file())
        if not found:
            raise LexigraphError(f"{name}: no file fits this pattern. Check the folder and the spelling.")
        return [file for each in found for file in _files(each)]
    if not parallel.sides(name):
        parallel.refuse_half(name)
    return [name]


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _chosen(where: Path, files: list[str]) -> list[str]:
    """The texts among the files of a folder or an archive; says how many others there are."""
    texts: list[str] = []
    left: Counter[str] = Counter()
    for file in files:
        if why := _left_out(where, Path(file)):
            left[why] += 1
        else:
            texts += _files(file) if archives.archive_of(Path(file)) is None else [file]
    told = ", ".join(f"{count:,} {why}" for why, count in left.most_common())
    if not texts:
        holds = f"only files that are no text: {told}" if left else "no files"
        raise LexigraphError(f"{where} holds {holds}. Name a text, or a folder with texts in it.")
    if left:
        warnings.warn(f"{where}: texts are read from {len(texts):,} files; left out: {told}.", stacklevel=2)
    return texts


def _left_out(where: Path, path: Path) -> str:
    """Why a file of a folder or an archive is not read; "" if it is."""
    suffix, packed = path.suffix.lower(), archives.archive_of(path) is not None
    if any(part.startswith((".", "__MACOSX")) for part in path.relative_to(where).parts):
        return "hidden"
    if packed and suffix in (*COMPRESSED, ".zip", ".parquet"):
        return f"{suffix} in a .zip"
    if suffix in (".parquet", ".zip", *COMPRESSED):
        return ""
    if suffix in readers.NOT_READ:
        return suffix
    if not packed and not path.is_file():
        return "not a file"
    try:
        with archives.open_member(*inside) if (inside := archives.archive_of(path)) else path.open("rb") as stream:
            begin = stream.read(SNIFFED)
    except LexigraphError:
        return ""  # encrypted or damaged: the reader says so
    except OSError:
        return "unreadable"
    if not begin.strip():
        return "empty"
    binary = b"\0" in begin and not begin.startswith(tuple(MARKS))
    return (suffix or "binary") if binary or begin.startswith((b"%PDF", b"{\\rtf")) else ""


# ---- text that is in no file ----


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where texts are kept that are in no file; it goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="lexigraph-")


def _kept(name: str) -> Path | None:
    """Where the text is kept of a name that is no file, or of a pipe, which can be read but once."""
    if name == STDIN:
        return _spool_stdin(cast(TextIOBase, sys.stdin))
    if name in _spooled:
        return _spooled[name]
    if name.startswith("<") and name.endswith(">"):
        raise LexigraphError(f"{name} were given from memory, which is gone: give the texts again.")
    if (path := Path(name)).exists() and not path.is_file() and not path.is_dir():
        with path.open("rb") as stream:
            _spooled[name] = _spool(stream.read, name.strip("/").replace("/", "-"))
    return _spooled.get(name)


@cache
def _spool_stdin(stdin: TextIOBase) -> Path:
    if stdin.isatty():
        print("Reading text from standard input; end with Ctrl-D.", file=sys.stderr)
    stream = getattr(stdin, "buffer", None)
    file = _spool(stream.read if stream else lambda size: stdin.read(size).encode(), "standard-input")
    if not file.stat().st_size:
        raise LexigraphError("Standard input is empty: pipe a text into the command, or name a file.")
    return file


def _spool(read: Callable[[int], bytes], name: str) -> Path:
    """Keep what can be read once in a file, whose suffix tells how it is compressed."""
    first = read(1 << 20)
    suffix = next((suffix for suffix, (_, magic) in COMPRESSED.items() if first.startswith(magic)), "")
    file = Path(_folder().name) / f"{name}{suffix}"
    with file.open("wb") as out:
        while first:
            out.write(first)
            first = read(1 << 20)
    return file


def _spool_texts(texts: Iterable[object]) -> str:
    """Keep texts as JSON lines, so that each is one record whatever is in it; returns a name for them."""
    number = sum(name.startswith("<") for name in _spooled) + 1
    file, count = Path(_folder().name) / f"texts-{number}.jsonl", 0
    with file.open("w", encoding="utf-8") as out:
        for count, text in enumerate(texts, 1):
            if not isinstance(text, str | Mapping):
                raise UsageError(f"Text {count} of the data is {text!r:.60}, not a text or a dictionary of fields.")
            record = {"text": text} if isinstance(text, str) else dict(text)
            try:
                out.write(json.dumps(record) + "\n")
            except (TypeError, ValueError) as error:
                raise UsageError(f"Text {count} of the data cannot be kept: {error}.") from None
    if not count:
        raise UsageError("The data are empty: give texts, or the name of a file.")
    name = f"<{count:,} texts{'' if number == 1 else f', {number}'}>"
    _spooled[name] = file
    return name
