"""A file as a stream of text: bytes, plain, .gz or .xz, become text, and text becomes pieces or lines.

A file is decoded in blocks, never whole, so memory does not grow with its size. Text is UTF-8; a byte
order mark is dropped, and `\\r\\n` and `\\r` become `\\n`. Lines end at `\\n` and nowhere else: U+2028, form
feeds and the like are characters of the line.
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path

from lexigraph.errors import LexigraphError, UsageError

PIECE_CHARS = 1 << 16  # `pieces` hands out at most this many characters at once
BLOCK_BYTES = 1 << 18  # small enough for the processor's cache, large enough to hide Python's overhead

COMPRESSED: dict[
    str, tuple[Callable[[Path], BufferedIOBase], bytes]
] = {  # suffix → how to open it, how such a file begins
    ".gz": (gzip.open, b"\x1f\x8b"),
    ".xz": (lzma.open, b"\xfd7zXZ\0"),
}


class Source:
    """A file's text, to be read once, and what was met on the way. Raises at once if there is no such file.

    With `chunks`, the bytes come from there, and `path` is only a name for them.
    """

    def __init__(self, path: str | Path, chunks: Iterable[bytes] | None = None) -> None:
        self.path = Path(path)
        self._chunks = _chunks(self.path) if chunks is None else chunks
        self.bytes = 0  # decoded so far, after decompression
        self.bom = False
        self.endings = {"\n": 0, "\r\n": 0, "\r": 0}
        self.lines = 0  # all of them, once the file has been read
        if chunks is None:
            _check_exists(self.path)

    def __iter__(self) -> Iterator[str]:
        """Yield text with `\\n` line ends; raise a sentence if it is damaged, binary, not UTF-8 or blank."""
        undecoded, blank, end = b"", True, "\n"
        held = ""  # a "\r" at the end of a block: the next block tells whether "\n" follows
        for chunk in chain(self._chunks, [b""]):
            data = undecoded + chunk
            try:
                text, used = codecs.utf_8_decode(data, "strict", not chunk)
                if "\0" in text:
                    raise UnicodeDecodeError("utf-8", data, data.index(0), data.index(0) + 1, "NUL")
            except UnicodeDecodeError as error:
                raise self._refusal(error, held) from None
            if not self.bytes and text.startswith("\ufeff"):
                self.bom, text = True, text[1:]
            undecoded = data[used:]
            self.bytes += used
            text = held + text
            held = "\r" if chunk and text.endswith("\r") else ""
            text = text.removesuffix(held)
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

    def _refusal(self, error: UnicodeDecodeError, held: str) -> LexigraphError:
        """Say which byte of the block being decoded is not text, and what the file may be."""
        before = error.object[: error.start]
        text = unix(held + before.decode("utf-8", "replace"))
        line = sum(self.endings.values()) + text.count("\n") + 1
        within = " of the decompressed text" if self.path.suffix.lower() in COMPRESSED else ""
        return LexigraphError(
            f"{self.path}, line {line} (byte offset {self.bytes + len(before)}{within}): byte "
            f"0x{error.object[error.start]:02X} is not UTF-8 text. {_guess_encoding(error)}"
        )


def _guess_encoding(error: UnicodeDecodeError) -> str:
    data, around = error.object, error.object[error.start : error.start + 200]
    for suffix, (_, magic) in COMPRESSED.items():
        if data.startswith(magic):
            return f"The file looks compressed; rename it so that it ends in {suffix}."
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "The file is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW."
    if b"\0" in data:
        return "The file holds NUL bytes, so it looks binary; convert it to text first."
    if error.reason == "unexpected end of data":
        return "The file ends inside a character, so it may have been cut short."
    windows = any(0x80 <= byte < 0xA0 for byte in around)  # control characters in Latin-1, quotes in Windows-1252
    encoding, code = ("Windows-1252", "WINDOWS-1252") if windows else ("Latin-1", "ISO-8859-1")
    shown = around[:1].decode(encoding, "replace")
    return f"It might be {encoding}, where that byte is '{shown}'; convert it: iconv -f {code} -t UTF-8 FILE > NEW."


def unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_exists(path: Path) -> None:
    if path.is_dir():
        raise LexigraphError(f"{path} is a folder. Name one file in it.")
    if not path.parent.is_dir():
        raise LexigraphError(f"{path}: no such file, and no folder {path.parent}. Check the path.")
    if not path.exists():
        names = [entry.name for entry in islice(path.parent.iterdir(), 10_000) if entry.is_file()]
        close = difflib.get_close_matches(path.name, names, n=1)
        hint = f"Did you mean '{close[0]}'?" if close else "Check the name and the folder."
        raise LexigraphError(f"{path}: no such file. {hint}")


def opened(path: Path) -> BufferedIOBase:
    """The bytes of a file, decompressed if its suffix says so."""
    opener = COMPRESSED.get(path.suffix.lower())
    return opener[0](path) if opener else path.open("rb")


def _chunks(path: Path) -> Iterator[bytes]:
    suffix, done = path.suffix.lower(), 0
    try:
        with opened(path) as stream:
            while chunk := stream.read(BLOCK_BYTES):
                done += len(chunk)
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        what = "truncated" if isinstance(error, EOFError) else "damaged or not such a file"
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
