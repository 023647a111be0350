"""A file as a stream of text: bytes, plain, compressed or in a .zip, become text, and text becomes pieces or lines.

A file is decoded in blocks, never whole, so memory does not grow with its size. Text is UTF-8, or UTF-16 or UTF-32
with a byte order mark, which is dropped; `\\r\\n` and `\\r` become `\\n`. Lines end at `\\n` and nowhere else:
U+2028, form feeds and the like are characters of the line.
"""

from __future__ import annotations

import bz2
import codecs
import difflib
import gzip
import lzma
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import nearest
from lexigraph.text import archives, languages

PIECE_CHARS = 1 << 16  # `pieces` hands out at most this many characters at once
BLOCK_BYTES = 1 << 18  # small enough for the processor's cache, large enough to hide Python's overhead

COMPRESSED: dict[
    str, tuple[Callable[[Path], BufferedIOBase], bytes]
] = {  # suffix → how to open it, how such a file begins
    ".gz": (gzip.open, b"\x1f\x8b"),
    ".xz": (lzma.open, b"\xfd7zXZ\0"),
    ".bz2": (bz2.open, b"BZh"),
}
MARKS = {  # byte order marks; those of UTF-32 first, for one begins as UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
AUTO = "auto"


class Source:
    """A file's text, to be read once, and what was met on the way. Raises at once if there is no such file.

    encoding: what text is that is neither UTF-8 nor begins with a byte order mark; "auto": it is refused. Whether a
        file is UTF-8 its first byte beyond ASCII tells, so that files of both kinds can be read in one go.
    With `chunks`, the bytes come from there, and `path` is only a name for them.
    """

    def __init__(self, path: str | Path, chunks: Iterable[bytes] | None = None, encoding: str = AUTO) -> None:
        self.path = Path(path)
        self._chunks = _chunks(self.path) if chunks is None else chunks
        self._other = "" if encoding == AUTO else _codec(encoding)
        self.encoding = "utf-8"  # as it was found
        self.bytes = 0  # decoded so far, after decompression
        self.bom = False
        self.endings = {"\n": 0, "\r\n": 0, "\r": 0}
        self.lines = 0  # all of them, once the file has been read
        self._held = ""  # a "\r" at the end of a block: the next block tells whether "\n" follows
        if chunks is None:
            _check_exists(self.path)

    def __iter__(self) -> Iterator[str]:
        """Yield text with `\\n` line ends; raise a sentence if it is damaged, binary, not text or blank."""
        blank, end = True, "\n"
        for decoded, last in self._decoded():
            text = self._held + decoded
            self._held = "\r" if not last and text.endswith("\r") else ""
            text = text.removesuffix(self._held)
            returns, both = text.count("\r"), text.count("\r\n") if "\r" in text else 0
            self.endings["\r\n"] += both
            self.endings["\r"] += returns - both
            self.endings["\n"] += text.count("\n") - both
            text = unix(text) if returns else text
            if text:
                blank = blank and text.isspace()
                end = text[-1]
                yield text
        self.lines = sum(self.endings.values()) + (end != "\n")
        if blank:
            nothing = ": it holds nothing but white space" if self.bytes else ""
            raise LexigraphError(f"{self.path} is empty{nothing}. Name a file with text in it.")

    def _decoded(self) -> Iterator[tuple[str, bool]]:
        """The text block by block, and whether a block is the last."""
        decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")()
        undecoded, ascii_so_far = b"", True
        for chunk in chain(self._chunks, [b""]):
            if not self.bytes and not undecoded and (mark := next(filter(chunk.startswith, MARKS), b"")):
                self.encoding, self.bom, self.bytes, chunk = MARKS[mark], True, len(mark), chunk[len(mark) :]
                decoder, ascii_so_far = codecs.getincrementaldecoder(self.encoding)(), False
            data = undecoded + chunk
            try:
                text = _decode(decoder, chunk, data)
            except UnicodeDecodeError as error:
                if not (self._other and ascii_so_far):
                    raise self._refusal(error) from None
                self.encoding, decoder = self._other, codecs.getincrementaldecoder(self._other)()
                try:
                    text = _decode(decoder, data, data)
                except UnicodeDecodeError as again:
                    raise self._refusal(again) from None
            undecoded = decoder.getstate()[0]
            self.bytes += len(data) - len(undecoded)
            ascii_so_far = ascii_so_far and text.isascii()
            yield text, not chunk

    def _refusal(self, error: UnicodeDecodeError) -> LexigraphError:
        """Say which byte of the block being decoded is not text, and what the file may be."""
        before = error.object[: error.start]
        text = unix(self._held + before.decode(self.encoding, "replace"))
        line = sum(self.endings.values()) + text.count("\n") + 1
        within = " of the decompressed text" if self.path.suffix.lower() in COMPRESSED else ""
        name = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}.get(self.encoding, self.encoding)
        return LexigraphError(
            f"{self.path}, line {line} (byte offset {self.bytes + len(before)}{within}): byte "
            f"0x{error.object[error.start]:02X} is not {name} text. {_advice(error, self.path)}"
        )


def _decode(decoder: codecs.IncrementalDecoder, chunk: bytes, data: bytes) -> str:
    text = decoder.decode(chunk, not chunk)
    if "\0" in text:
        place = data.index(0)
        raise UnicodeDecodeError("utf-8", data, place, place + 1, "NUL")
    return text


def _codec(name: str) -> str:
    """An encoding by the name that Python has for it."""
    try:
        found = codecs.lookup(name)
        "".encode(found.name)  # a codec of bytes, as zlib is one, is refused here
    except (LookupError, ValueError):
        known = ("cp1252", "latin-1", "utf-16-le", "utf-16-be", "shift_jis", "gb18030", "euc-kr", "koi8-r", "cp1251")
        raise UsageError(f"data.encoding: there is no encoding {name!r}{nearest(name, known)}") from None
    return found.name


def _advice(error: UnicodeDecodeError, path: Path) -> str:
    """What a file that is not UTF-8 may be, and the command that converts it."""
    data, around = error.object, error.object[error.start : error.start + 200]
    for suffix, (_, magic) in COMPRESSED.items():
        if data.startswith(magic):
            return f"The file looks compressed; rename it so that it ends in {suffix}."
    if b"\0" in data[:4096]:
        for encoding, zeros in {"utf-16-le": data[1:200:2], "utf-16-be": data[0:200:2]}.items():
            if len(zeros) > 3 and zeros.count(0) > 0.8 * len(zeros):
                return f"It looks like UTF-16 without a byte order mark: {_convert(encoding, path)}"
        return "The file holds NUL bytes, so it looks binary; convert it to text first."
    if error.reason in ("unexpected end of data", "truncated data"):
        return "The file ends inside a character, so it may have been cut short."
    if error.encoding not in ("utf-8", "utf8"):
        return "Is data.encoding the right one?"
    windows = any(0x80 <= byte < 0xA0 for byte in around)  # control characters in Latin-1, quotes in Windows-1252
    encoding, code = ("Windows-1252", "cp1252") if windows else ("Latin-1", "latin-1")
    shown = around[:1].decode(encoding, "replace")
    return f"It might be {encoding}, where that byte is '{shown}': {_convert(code, path)}"


def _convert(encoding: str, path: Path) -> str:
    """What to type so that a file in another encoding is read."""
    code = {"cp1252": "WINDOWS-1252", "latin-1": "ISO-8859-1"}.get(encoding, encoding.upper().replace("-LE", "LE"))
    code, file, suffix = code.replace("-BE", "BE"), shlex.quote(str(path)), path.suffix.lower()
    unpacked = {".gz": f"gzip -dc {file} | ", ".xz": f"xz -dc {file} | ", ".bz2": f"bzip2 -dc {file} | "}.get(suffix)
    new = shlex.quote(f"{path.name.removesuffix(path.suffix)}.utf8{'' if unpacked else path.suffix}")
    if archive := archives.archive_of(path):
        unpacked = f"unzip -p {shlex.quote(str(archive[0]))} {shlex.quote(archive[1])} | "
    command = f"{unpacked or ''}iconv -f {code} -t UTF-8{'' if unpacked else ' ' + file} > {new}"
    return f"train with --set data.encoding={encoding}, or convert it: {command}"


def unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_exists(path: Path) -> None:
    if path.is_dir():
        raise LexigraphError(f"{path} is a folder. Name one file in it.")
    if archives.archive_of(path):
        return
    if not path.parent.is_dir():
        raise LexigraphError(f"{path}: no such file, and no folder {path.parent}. Check the path.")
    if not path.exists():
        names = [entry.name for entry in islice(path.parent.iterdir(), 10_000) if entry.is_file()]
        close = difflib.get_close_matches(path.name, names, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else "Check the name and the folder."
        raise LexigraphError(f"{path}: no such file. {languages.unnamed(path.name) or hint}")


def opened(path: Path) -> BufferedIOBase:
    """The bytes of a file or of a member of a .zip, decompressed if its suffix says so."""
    if archive := archives.archive_of(path):
        return archives.open_member(*archive)
    opener = COMPRESSED.get(path.suffix.lower())
    return opener[0](path) if opener else path.open("rb")


def _chunks(path: Path) -> Iterator[bytes]:
    suffix, done = path.suffix.lower(), 0
    try:
        with opened(path) as stream:
            while chunk := stream.read(BLOCK_BYTES):
                done += len(chunk)
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        what = "truncated" if isinstance(error, EOFError) else "damaged or not such a file"
        if archives.archive_of(path):
            raise LexigraphError(f"{path} is {what} ({error}). Make or download the archive again.") from error
        raise LexigraphError(
            f"{path} ends in {suffix} but is {what} (after about {done:,} bytes of text). Copy or download it again; "
            f"if it is plain text, rename it without {suffix}."
        ) from error
    except OSError as error:
        raise LexigraphError(f"{path} cannot be read: {error.strerror or error}.") from error


def line_blocks(source: Source, max_chars: int) -> Iterator[list[str]]:
    """Yield every line, blank ones too, by the block."""
    if max_chars < 1:
        raise UsageError(f"data.max_chars is {max_chars}; it must be at least 1.")
    done, rest = 0, ""  # lines handed out; the line that has not ended yet
    for text in source:
        lines = (rest + text).split("\n")
        if max(map(len, lines)) > max_chars:
            place = next(place for place, line in enumerate(lines) if len(line) > max_chars)
            least = "at least " if place == len(lines) - 1 else ""
            raise LexigraphError(
                f"{source.path}, line {done + place + 1}: the line is {least}{len(lines[place]):,} characters long. "
                'If that is meant, set data.max_chars higher; if the file is running text, set data.unit = "stream".'
            )
        rest = lines.pop()
        yield lines
        done += len(lines)
    if rest:
        yield [rest]


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Cut a run of texts, taken as one, into pieces of whole lines and at most `PIECE_CHARS` characters."""
    waiting: list[str] = []
    length = 0
    for text in texts:
        waiting.append(text)
        length += len(text)
        if length <= PIECE_CHARS:
            continue
        joined, start = "".join(waiting), 0
        while len(joined) - start > PIECE_CHARS:
            end = joined.rfind("\n", start, start + PIECE_CHARS) + 1
            if end <= start:  # a line longer than a piece: cut it after its last white space, if it has any
                window = joined[start : start + PIECE_CHARS]
                last_word = "" if window[-1].isspace() else window.rsplit(None, 1)[-1]
                end = start + (len(window) - len(last_word) or len(window))
            yield joined[start:end]
            start = end
        waiting, length = [joined[start:]], len(joined) - start
    if length:
        yield "".join(waiting)
