"""Files of word vectors: those of word2vec, GloVe and fastText, and a folder of our own that opens at once.

    word2vec-text     .vec .txt   a header "words dimensions", then lines "word 0.1 -0.2 …"; fastText's .vec too
    word2vec-binary   .bin        the same header, then for each word: word, space, float32 numbers [newline]
    glove             .txt        lines as in word2vec-text, without a header
    fasttext-binary   .bin        a fastText model with its n-grams: what is written as .bin if there are any
    lexigraph         no suffix   a folder: vectors.npy words.txt meta.json [counts.npy ngrams.npy], memory-mapped

Suffix and content tell the format, unless it is given; files may be compressed as .gz or .xz. Only the folder and
fastText's files keep counts and n-grams; a run of word vectors holds one, and is read like it. Text holds the fewest
digits that tell a float32 number from all others, so that every format gives back the same bits, but for fastText's,
which holds sums. Of a word that a file holds twice, the first vector counts.

Words are UTF-8. Old programs cut long ones in the middle of a character, and some files are in other encodings: bytes
that are not UTF-8 are read as \\xNN, which keeps such words apart, and a warning tells how many there are.

>>> from lexigraph.words.formats import load, save
>>> save(load("glove.6B.100d.txt", limit=50_000), "glove")    # doctest: +SKIP

`WordVectors.load` and `.save` call these two.
"""

from __future__ import annotations

import codecs
import json
import lzma
import mmap
import re
import struct
import warnings
import zlib
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import free_file, free_folder
from lexigraph.registry import nearest
from lexigraph.run import Run, holds_word_vectors, replacing
from lexigraph.text.source import COMPRESSED, Source, opened
from lexigraph.words.subwords import MAGIC, Subwords, model_bytes, read_model

SUFFIXES = {".vec": "word2vec-text", ".txt": "word2vec-text", ".bin": "word2vec-binary", "": "lexigraph"}  # to write
HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(\d+) (\d+) *\r?\n")  # words, dimensions
FOREIGN = {  # how other files begin that people take for vectors
    b"\x80": "this is a pickle, as gensim saves its models, and opening one could run any program; "
    "write it with gensim's save_word2vec_format",
    b"PK\3\4": "this is a zip archive; unpack it first",
    b"\x93NUMPY": "this is an array without words; use WordVectors(words, array)",
}
NUMBER = re.compile(rb"[-+.]*\d")
CONTROL = bytes(set(range(32)) - set(b"\t\n\r"))
LONGEST_LINE = 10_000_000  # bytes; a longer line is no row of numbers
BLOCK = 8192  # rows looked at together
KIND, VERSION = "lexigraph word vectors", 1  # of the folder
VECTORS = "vectors"  # the folder's name in a run


class Table(NamedTuple):
    """What a file may hold: the parts of `WordVectors`."""

    words: list[str]
    vectors: np.ndarray
    counts: np.ndarray | None = None
    subwords: Subwords | None = None


def load(path: str | Path, format: str | None = None, limit: int | None = None) -> Table:
    """Read word vectors, or only the first `limit` of them."""
    path = _in_run(Path(path))
    if format is not None and format not in READERS:
        raise UsageError(f"There is no format {format!r} of word vectors{nearest(format, READERS)}")
    if limit is not None and limit < 1:
        raise UsageError(f"limit is {limit}; ask for at least 1 word.")
    try:
        guessed = "lexigraph" if path.is_dir() else _guessed_format(path)
        words, vectors, counts, subwords = READERS[format or guessed](path, limit)
    except (ValueError, OSError, EOFError, TypeError, struct.error, zlib.error, lzma.LZMAError) as error:
        raise LexigraphError(f"{path}: {error}.") from None
    if not words:
        raise LexigraphError(f"{path} holds no words.")
    seen: dict[str, int] = {}
    first = [row for row, word in enumerate(words) if seen.setdefault(word, row) == row]
    if len(first) < len(words):
        again = next(word for row, word in enumerate(words) if seen[word] != row)
        rest = len(words) - len(first)
        warnings.warn(f"{path} repeats {rest} words, as {again!r}; the first vector of each counts.", stacklevel=2)
        words, vectors, counts = list(seen), vectors[first], None if counts is None else counts[first]
    return Table(words, vectors, counts, subwords)


def free(path: str | Path, format: str | None = None, force: bool = False) -> tuple[Path, str]:
    """Where word vectors may be written, and in which format."""
    path = Path(path)
    kind = format or SUFFIXES.get(path.suffix.lower())
    if kind not in WRITERS:
        wrong = f"Nothing is written as {format!r}" if format else f"The suffix of {path} tells no format to write"
        raise UsageError(f"{wrong}. Use .vec, .txt, .bin, no suffix, or format: {', '.join(WRITERS)}.")
    if kind == "lexigraph":
        return free_folder(path, "word vectors", force, alike=lambda folder: bool(_meta(folder))), kind
    return free_file(path, "word vectors", force=force), kind


def save(table: Table, path: str | Path, format: str | None = None, force: bool = False) -> None:
    """Write word vectors; `force` replaces what is there, which stays until all is written."""
    path, kind = free(path, format, force)
    if kind == "word2vec-binary" and format is None and table.subwords:
        kind = "fasttext-binary"  # the one .bin that has a place for n-grams
    breaks = re.compile("[\n\0\ud800-\udfff]" if kind == "lexigraph" else "^\ufeff|[ \n\0\ud800-\udfff]")
    broken = next((word for word in table.words if breaks.search(word)), None)
    if broken is not None:
        raise LexigraphError(
            f"{path} was not written: {broken!r} cannot be a word in {kind} files. Leave it out; "
            "words with spaces fit into a Lexigraph folder, a path without suffix."
        )
    try:
        _check_finite(table.words, table.vectors)
    except ValueError as error:
        raise LexigraphError(f"{path} was not written: {error}.") from None
    WRITERS[kind](table, path)


def _in_run(path: Path) -> Path:
    """Where the vectors are: in a run of word vectors a folder of it, else the path itself."""
    if not holds_word_vectors(path):
        return path
    run = Run.open(path)
    if not run.finished:
        raise LexigraphError(f"{path} is not trained yet: lexigraph train --out {path} --resume goes on.")
    if not (path / VECTORS).is_dir():
        raise LexigraphError(f"The run folder {path} is incomplete: {VECTORS} is missing.")
    return path / VECTORS


# Readers raise ValueError with what is wrong and where; `load` adds the path.


def _guessed_format(path: Path) -> str:
    """The format of a file, by its suffix and its first bytes."""
    Source(path)  # says what to do if there is no such file
    with opened(path) as stream:
        start = stream.read(1 << 16)
    if not start:
        raise ValueError("the file is empty")
    for magic, what in FOREIGN.items():
        if start.startswith(magic):
            raise ValueError(what)
    if start.startswith(struct.pack("<i", MAGIC)):
        return "fasttext-binary"
    suffix = next((suffix for suffix in reversed(path.suffixes) if suffix.lower() not in COMPRESSED), "").lower()
    if suffix == ".bin" or (suffix not in (".vec", ".txt") and not _is_text(start)):
        return "word2vec-binary"
    return "word2vec-text" if HEADER.match(start) else "glove"


def _is_text(start: bytes) -> bool:
    try:
        codecs.utf_8_decode(start, "strict", False)
    except UnicodeDecodeError:
        return False
    return len(start.translate(None, CONTROL)) == len(start)


def _content(path: Path) -> bytes | mmap.mmap:
    """The bytes of a file, memory-mapped unless it is compressed."""
    with opened(path) as stream:
        compressed = path.suffix.lower() in COMPRESSED
        return stream.read() if compressed else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _check_finite(words: list[str], vectors: np.ndarray) -> None:
    for start in range(0, len(words), BLOCK):
        finite = np.isfinite(vectors[start : start + BLOCK]).all(axis=1)
        if not finite.all():
            row = start + int(finite.argmin())
            raise ValueError(f"word {row + 1}, {words[row]!r}, has a number that is not finite")


def _decoded(path: Path, raw: list[bytes]) -> list[str]:
    words = [word.decode("utf-8", "backslashreplace") for word in raw]
    if (zero := next((row for row, word in enumerate(words) if "\0" in word), None)) is not None:
        raise ValueError(f"the file is damaged: word {zero + 1} holds a NUL byte")
    stray = [word for word, read in zip(words, raw, strict=True) if word.encode() != read]
    if stray:
        warnings.warn(f"{path}: {len(stray)} words are not UTF-8; they are read as {stray[0]!r} is.", stacklevel=4)
    return words


# ---- text ----


def _read_text(path: Path, limit: int | None, header: bool = True) -> Table:
    words: list[bytes] = []
    numbers = array("f")  # grows without holding all rows twice
    promised, dim = None, 0
    for line, text in _lines(path):
        fields = (text if line > 1 else text.removeprefix(codecs.BOM_UTF8)).rstrip(b" \r").split(b" ")
        if header and line == 1:
            if not (found := HEADER.match(text + b"\n")) or int(found[2]) == 0:
                raise ValueError(
                    f"line 1: the numbers of words and of dimensions are expected, not {_shown(text)}; "
                    "a file without this header has format 'glove'"
                )
            promised, dim = int(found[1]), int(found[2])
            continue
        if len(words) == limit:
            break
        if fields == [b""]:
            continue
        if len(words) == promised:
            raise ValueError(f"line {line}: the header promises {promised} words, and here is one more")
        dim = dim or len(fields) - 1
        if not header and len(fields) > dim + 1 and not any(map(NUMBER.match, fields[1:-dim])):
            fields[:-dim] = [b" ".join(fields[:-dim])]  # some of GloVe's words have spaces: ". . ."
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is reported below
                row = np.array(fields[1:], np.float32)
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
        if not dim or len(row) != dim:
            wanted = f"a word and {dim or 'its'} numbers with spaces between"
            raise ValueError(f"line {line}: {wanted} are expected, not {len(row)} numbers after {_shown(fields[0])}")
        if not np.isfinite(row).all():
            raise ValueError(f"line {line}: the vector of {_shown(fields[0])} has a number that is not finite")
        words.append(fields[0])
        numbers.frombytes(row.tobytes())
    if promised is not None and len(words) < min(promised, limit or promised):
        raise ValueError(f"line 1: the header promises {promised} words, but the file ends after {len(words)}")
    return Table(_decoded(path, words), np.frombuffer(numbers, np.float32).reshape(-1, dim or 1))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number, rest = 1, b""
    with opened(path) as stream:
        while block := stream.read(1 << 18):
            if (zero := block.find(b"\0")) >= 0:
                raise ValueError(f"line {number + block[:zero].count(10)}: NUL bytes; is the file binary?")
            *lines, rest = (rest + block).split(b"\n")
            yield from enumerate(lines, number)
            number += len(lines)
            if len(rest) > LONGEST_LINE:
                raise ValueError(f"line {number}: over {LONGEST_LINE:,} bytes are no row of numbers")
    if rest:
        yield number, rest


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "backslashreplace"))


def _write_text(table: Table, path: Path, header: bool = True) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        if header:
            file.write(f"{len(table.words)} {table.vectors.shape[1]}\n")
        for word, vector in zip(table.words, table.vectors, strict=True):
            file.write(f"{word} {' '.join(map(str, vector))}\n")  # str of a float32 is its shortest form


# ---- binary ----


def _read_binary(path: Path, limit: int | None) -> Table:
    content = _content(path)
    header = HEADER.match(content)
    if not header or int(header[2]) == 0:
        raise ValueError(f"this is no file of word vectors that Lexigraph reads: {', '.join(READERS)}")
    promised, dim = int(header[1]), int(header[2])
    raw: list[bytes] = []
    numbers, position = array("f"), header.end()
    for row in range(min(promised, limit or promised)):
        space = content.find(b" ", position)
        end = space + 1 + 4 * dim
        if space < 0 or end > len(content):
            raise ValueError(f"the header promises {promised} words, but the file ends within word {row + 1}")
        raw.append(content[position:space].lstrip(b"\n"))
        numbers.frombytes(content[space + 1 : end])
        position = end
    if len(raw) == promised and content[position : position + 9].strip():
        raise ValueError(f"after the {promised} words of {dim} numbers that the header promises, more follows")
    words, vectors = _decoded(path, raw), np.frombuffer(numbers, "<f4").reshape(-1, dim)
    _check_finite(words, vectors)
    return Table(words, vectors)


def _read_fasttext(path: Path, limit: int | None) -> Table:
    raw, counts, vectors, subwords = read_model(_content(path), limit)
    words = _decoded(path, raw)
    _check_finite(words, vectors)
    return Table(words, vectors, counts, subwords)


def _write_binary(table: Table, path: Path) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(f"{len(table.words)} {table.vectors.shape[1]}\n".encode())
        for word, vector in zip(table.words, table.vectors, strict=True):
            file.write(word.encode() + b" " + vector.astype("<f4").tobytes())


def _write_fasttext(table: Table, path: Path) -> None:
    if table.subwords is None:
        raise UsageError(f"{path} was not written: these vectors have no n-grams, and fastText's files hold some.")
    with replacing(path) as temporary, temporary.open("wb") as file:
        for part in model_bytes(table.words, table.vectors, table.counts, table.subwords):
            file.write(part)


# ---- our folder ----


def _read_folder(path: Path, limit: int | None) -> Table:
    meta = _meta(path)
    words = (path / "words.txt").read_bytes().decode().split("\n")[:-1]
    vectors = _array(path / "vectors.npy", np.float32, len(words))[:limit]
    counts = _array(path / "counts.npy", np.int64, len(words))[:limit] if meta["counts"] else None
    subwords = None
    if size := meta["subwords"]:
        subwords = Subwords(_array(path / "ngrams.npy", np.float32, size["buckets"]), **size)
    _check_finite(words[: len(vectors)], vectors)
    return Table(words[:limit], vectors, counts, subwords)


def _array(path: Path, kind: type, rows: int) -> np.ndarray:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != kind or len(array) != rows:
        raise ValueError(f"{path.name} holds {len(array)} rows of {array.dtype}, not {rows} of {np.dtype(kind)}")
    return array


class Meta(TypedDict):
    """What meta.json says of a folder."""

    kind: str
    format: int
    counts: bool
    subwords: dict[str, int] | None  # shortest, longest, buckets, as `Subwords` takes them


def _meta(path: Path) -> Meta:
    """The description of a folder that `_write_folder` made; any other folder is refused."""
    try:
        meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
        ours = meta["kind"] == KIND and {"format", "counts", "subwords"} <= meta.keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        ours = False
    if not ours:
        raise LexigraphError(f"{path} is no folder of Lexigraph word vectors: no meta.json in it says so.")
    if meta["format"] > VERSION:
        raise LexigraphError(f"{path} has format {meta['format']}, only up to {VERSION} is known: update Lexigraph.")
    return meta


def _write_folder(table: Table, path: Path) -> None:
    words, vectors, counts, subwords = table
    size = {name: getattr(subwords, name) for name in ("buckets", "minn", "maxn")} if subwords else None
    meta = {"kind": KIND, "format": VERSION, "counts": counts is not None, "subwords": size}
    with replacing(path) as folder:
        folder.mkdir()
        (folder / "meta.json").write_text(json.dumps(meta) + "\n", encoding="utf-8")
        (folder / "words.txt").write_bytes("".join(f"{word}\n" for word in words).encode())
        np.save(folder / "vectors.npy", vectors)
        if counts is not None:
            np.save(folder / "counts.npy", counts)
        if subwords:
            np.save(folder / "ngrams.npy", subwords.matrix)


READERS: dict[str, Callable[[Path, int | None], Table]] = {
    "word2vec-text": _read_text,
    "word2vec-binary": _read_binary,
    "glove": partial(_read_text, header=False),
    "fasttext-binary": _read_fasttext,
    "lexigraph": _read_folder,
}
WRITERS: dict[str, Callable[[Table, Path], None]] = {
    "word2vec-text": _write_text,
    "word2vec-binary": _write_binary,
    "glove": partial(_write_text, header=False),
    "fasttext-binary": _write_fasttext,
    "lexigraph": _write_folder,
}
