"""Read text files as a stream: plain text, JSON lines, TSV and CoNLL, each plain, .gz or .xz.

A file is decoded in blocks, never whole, so memory does not grow with its size. Text is UTF-8; a byte
order mark is dropped, and `\\r\\n` and `\\r` become `\\n`. Lines end at `\\n` and nowhere else: U+2028, form
feeds and the like are characters of the line.

>>> from lexigraph.text.readers import read
>>> for record in read("pairs.tsv", columns={"source": "1", "target": "2"}):   # doctest: +SKIP
...     print(record.line, record.columns["source"], record.columns["target"])
"""

from __future__ import annotations

import codecs
import difflib
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from lexigraph.errors import LexigraphError, UsageError

MAX_CHARS = 1_000_000  # a longer line is almost surely a stream or a damaged file, not a sentence
PIECE_CHARS = 1 << 16  # read_text hands out pieces of at most this many characters
MAX_SENTENCE = 100_000  # tokens of a CoNLL sentence; more means that the blank lines are missing
BLOCK_BYTES = 1 << 18  # small enough for the processor's cache, large enough to hide Python's overhead

FORMATS = {
    ".jsonl": "json",
    ".json": "json",
    ".ndjson": "json",
    ".tsv": "tsv",
    ".conll": "conll",
    ".iob": "conll",
    ".iob2": "conll",
    ".bio": "conll",
    ".conllu": "conllu",
}
NOT_READ = {
    ".csv": "write it as TSV (one row per line, fields split by tabs) or as JSON lines",
    ".zip": "unpack it first, or compress it with gzip or xz",
    ".bz2": "unpack it first, or compress it with gzip or xz",
    ".zst": "unpack it first, or compress it with gzip or xz",
    ".7z": "unpack it first, or compress it with gzip or xz",
    ".tar": "unpack it first and name one of the files in it",
    ".tgz": "unpack it first and name one of the files in it",
    ".parquet": "write it as JSON lines, one object per line",
    ".pdf": "save its text as a UTF-8 text file",
    ".docx": "save its text as a UTF-8 text file",
}
CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

OPENERS: dict[str, Callable[[Path, str], Any]] = {".gz": gzip.open, ".xz": lzma.open}

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One line, object, row or sentence of a file."""

    columns: dict[str, Any]  # our name -> str or number; a CoNLL column is a list of str
    document: int  # counted from 0 within the file
    line: int  # where it starts, counted from 1


def read(
    path: str | Path | Source,
    columns: Mapping[str, str] | None = None,
    documents: str = "none",
    max_chars: int = MAX_CHARS,
    limit: int | None = None,
    format: str | None = None,
) -> Iterator[Record]:
    """Yield the records of a file one by one.

    Args:
        path: the file, whose suffix tells its format (see `file_format`) and compression (.gz, .xz); or a
            `Source`, to ask about it afterwards.
        columns: our names mapped to the file's fields, `{"text": "sentence"}`; numbers count from 1.
        documents: where documents begin: "none", "blank" (after blank lines), "file", or a field of a JSON
            or TSV file whose change begins one. CoNLL files mark their documents themselves.
        max_chars: a longer line is refused before it is read whole.
        limit: stop after this many records.
        format: "text", "json", "tsv", "conll" or "conllu", where the suffix does not tell.
    """
    source = path if isinstance(path, Source) else Source(path)
    kind = _known_format(format) if format else file_format(source.path)
    if kind == "text":
        records = _read_plain(source, columns, documents, max_chars)
    elif kind == "json":
        records = _read_json(source, columns or {"text": "text"}, documents, max_chars)
    elif kind == "tsv":
        records = _read_tsv(source, columns, documents, max_chars)
    else:
        records = _read_conll(source, columns, documents, max_chars, universal=kind == "conllu")
    return records if limit is None else islice(records, limit)


def read_text(
    path: str | Path,
    max_chars: int = MAX_CHARS,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
) -> Iterator[str]:
    """Yield a file's text in pieces that, joined, are the whole text: what a stream model reads.

    A piece holds whole lines, about 64 K characters; a longer line is cut at white space, or at 64 K where it
    has none, so plain text may have lines of any length. Of JSON and TSV files it is the `text` column of each
    record, of CoNLL files the tokens with spaces between, each followed by a newline.
    """
    source = Source(path)
    kind = _known_format(format) if format else file_format(source.path)
    if kind == "text":
        return pieces(source)
    name = "tokens" if kind.startswith("conll") else "text"
    if columns is not None and name not in columns:
        raise UsageError(
            f"{source.path}: a stream is read from the column '{name}', but the column map names only "
            f"{_listed(columns)}. Map '{name}' to the field that holds the text."
        )
    return pieces(_record_texts(read(path, columns, max_chars=max_chars, format=format), name))


def read_lines(path: str | Path, max_chars: int = MAX_CHARS) -> Iterator[str]:
    """Yield the non-blank lines of a plain text file as strings: `read` without records, and faster."""
    blocks = _line_blocks(Source(path), max_chars)
    return (line for _, lines in blocks for line in lines if line and not line.isspace())


def peek(path: str | Path, rows: int, format: str | None = None, max_chars: int = MAX_CHARS) -> list[list[str]]:
    """Give the first rows of a TSV file, or the keys of the first objects of a JSON file."""
    source = Source(path)
    kind = _known_format(format) if format else file_format(source.path)
    if kind not in ("json", "tsv"):
        raise UsageError(f"{path}: a {kind} file has neither rows nor keys.")
    blocks = _line_blocks(source, max_chars)
    numbered = ((number, line) for first, lines in blocks for number, line in enumerate(lines, first))
    filled = islice(((number, line) for number, line in numbered if line and not line.isspace()), rows)
    if kind == "tsv":
        return [line.split("\t") for _, line in filled]
    return [list(_json_object(source.path, number, line)) for number, line in filled]


def file_format(path: str | Path) -> str:
    """Tell "text", "json", "tsv", "conll" or "conllu" from a file's name.

    >>> file_format("a/train.jsonl.gz")
    'json'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in (".gz", ".xz"):
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in NOT_READ:
        raise LexigraphError(f"{path}: Lexigraph does not read {last} files; {NOT_READ[last]}.")
    return FORMATS.get(last, "text")


class Source:
    """A file's text in decoded blocks, and what was met on the way. Raises at once if there is no such file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        _check_exists(self.path)
        self._reset()

    def _reset(self) -> None:
        self.bytes = 0  # decoded so far, after decompression
        self.bom = False
        self.endings = {"\n": 0, "\r\n": 0, "\r": 0}
        self._unfinished = False  # the last line has no line end

    @property
    def lines(self) -> int:
        """How many lines have been read, with a last one that lacks its line end."""
        return sum(self.endings.values()) + self._unfinished

    def __iter__(self) -> Iterator[str]:
        """Yield text with `\\n` line ends; raise a sentence if it is damaged, binary, not UTF-8 or blank."""
        self._reset()
        undecoded, blank = b"", True
        held = ""  # a "\r" at the end of a block: the next block tells whether "\n" follows
        for chunk in _chunks(self.path):
            if not self.bytes:
                self._refuse_foreign(chunk)
            if b"\0" in chunk:
                self._refuse_binary(undecoded + chunk, held)
            data = undecoded + chunk if undecoded else chunk
            first = not self.bytes
            try:
                text, used = codecs.utf_8_decode(data, "strict", False)
            except UnicodeDecodeError as error:
                self._refuse_bytes(data, error, held)
            undecoded = data[used:]
            self.bytes += used
            if first and text.startswith("\ufeff"):
                self.bom, text = True, text[1:]
            text, held = self._normalised(held + text)
            if blank and text and not text.isspace():
                blank = False
            if text:
                self._unfinished = not text.endswith("\n")
                yield text
        if undecoded:
            try:
                codecs.utf_8_decode(undecoded, "strict", True)
            except UnicodeDecodeError as error:
                self._refuse_bytes(undecoded, error, held)
        if held:
            self.endings["\r"] += 1
            self._unfinished = False
            yield "\n"
        if blank:
            raise LexigraphError(
                f"{self.path} is empty{'' if self.bytes == 0 else ': it holds nothing but white space'}. "
                "Name a file with text in it."
            )

    def _normalised(self, text: str) -> tuple[str, str]:
        held = ""
        if "\r" in text:
            if text.endswith("\r"):
                text, held = text[:-1], "\r"
            both, returns = text.count("\r\n"), text.count("\r")
            self.endings["\r\n"] += both
            self.endings["\r"] += returns - both
            self.endings["\n"] -= returns  # all of them are newlines by the time the line below counts
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.endings["\n"] += text.count("\n")
        return text, held

    def _place(self, before: bytes, held: str) -> tuple[int, int]:
        """Line number and byte offset of the byte that follows `before`, in the block being decoded."""
        text = held + before.decode("utf-8", "replace")
        lines = sum(self.endings.values()) + text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        return lines + 1, self.bytes + len(before)

    def _within(self) -> str:
        return " of the decompressed text" if self.path.suffix.lower() in (".gz", ".xz") else ""

    def _refuse_foreign(self, chunk: bytes) -> None:
        for start, name in ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
            if chunk.startswith(start):
                raise LexigraphError(
                    f"{self.path}, line 1 (byte offset 0{self._within()}): the file is {name}, not UTF-8. "
                    f"Convert it: iconv -f {name} -t UTF-8 FILE > NEW."
                )
        for start, suffix in ((b"\x1f\x8b", ".gz"), (b"\xfd7zXZ\0", ".xz")):
            if chunk.startswith(start):
                raise LexigraphError(
                    f"{self.path} looks compressed ({suffix}), but its name does not say so. "
                    f"Rename it so that it ends in {suffix}."
                )

    def _refuse_binary(self, data: bytes, held: str) -> NoReturn:
        line, offset = self._place(data[: data.index(b"\0")], held)
        raise LexigraphError(
            f"{self.path}, line {line} (byte offset {offset}{self._within()}): there is a NUL byte, so the file "
            "looks binary. Lexigraph reads UTF-8 text, plain or as .gz or .xz; convert the file to text first."
        )

    def _refuse_bytes(self, data: bytes, error: UnicodeDecodeError, held: str) -> NoReturn:
        line, offset = self._place(data[: error.start], held)
        around = data[error.start : error.start + 200]
        if error.reason == "unexpected end of data":
            guess = "The file ends inside a character, so it may have been cut short."
        else:
            high = {byte for byte in around if byte >= 0x80}
            windows = any(byte < 0xA0 for byte in high)  # control characters in Latin-1, quotes in Windows-1252
            encoding, code = ("Windows-1252", "WINDOWS-1252") if windows else ("Latin-1", "ISO-8859-1")
            shown = around[:1].decode(encoding, "replace")
            guess = (
                f"It might be {encoding}, where that byte is '{shown}'; if so, convert it: "
                f"iconv -f {code} -t UTF-8 FILE > NEW."
            )
        raise LexigraphError(
            f"{self.path}, line {line} (byte offset {offset}{self._within()}): byte 0x{around[0]:02X} is not "
            f"valid UTF-8. {guess}"
        ) from None


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
            if end <= start:
                end = start + _cut_at_space(joined[start : start + PIECE_CHARS])
            yield joined[start:end]
            start = end
        waiting, length = [joined[start:]], len(joined) - start
    if length:
        yield "".join(waiting)


def _cut_at_space(window: str) -> int:
    """Where to cut a text with no line end: after its last white space, or at its end if it has none."""
    if window[-1].isspace():
        return len(window)
    last_word = window.rsplit(None, 1)[-1]
    return len(window) - len(last_word) or len(window)


def _record_texts(records: Iterator[Record], name: str) -> Iterator[str]:
    for record in records:
        value = record.columns[name]
        text = " ".join(value) if isinstance(value, list) else str(value)
        yield text.replace("\r\n", "\n").replace("\r", "\n") + "\n"


# ---- bytes ----


def _check_exists(path: Path) -> None:
    if path.is_dir():
        raise LexigraphError(f"{path} is a folder. Name one file in it.")
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise LexigraphError(f"{path}: no such file, and no folder {folder}. Check the path.")
    names = sorted(entry.name for entry in islice(folder.iterdir(), 10_000) if entry.is_file())
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = f"Did you mean {_listed(close, 'or')}?" if close else "Check the name and the folder."
    raise LexigraphError(f"{path}: no such file. {hint}")


def _chunks(path: Path) -> Iterator[bytes]:
    suffix = path.suffix.lower()
    read_so_far = 0
    try:
        with OPENERS.get(suffix, open)(path, "rb") as stream:
            while chunk := stream.read(BLOCK_BYTES):
                read_so_far += len(chunk)
                yield chunk
    except EOFError:
        raise LexigraphError(
            f"{path}: the compressed file is truncated; it ends early, after {read_so_far:,} bytes of text or a "
            "little more. Copy or download it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise _damaged(path, suffix, read_so_far) from error
    except OSError as error:
        raise LexigraphError(f"{path} cannot be read: {error.strerror or error}.") from error


def _damaged(path: Path, suffix: str, read_so_far: int) -> LexigraphError:
    magic = {".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0"}[suffix]
    with path.open("rb") as stream:
        if stream.read(len(magic)) != magic:
            return LexigraphError(
                f"{path} ends in {suffix} but is not such a file. If it is plain text, rename it without {suffix}."
            )
    return LexigraphError(
        f"{path}: the compressed file is damaged after {read_so_far:,} bytes of text or a little more. "
        "Copy or download it again."
    )


# ---- lines ----


def _line_blocks(source: Source, max_chars: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, lines), a block's worth at a time."""
    if max_chars < 1:
        raise UsageError(f"data.max_chars is {max_chars}; it must be at least 1.")
    first, unfinished, length = 1, [], 0
    for text in source:
        lines = text.split("\n")
        unfinished.append(lines[0])
        length += len(lines[0])
        if length > max_chars:
            _refuse_length(source.path, first, length, at_least=len(lines) == 1)
        if len(lines) == 1:
            continue
        lines[0] = "".join(unfinished)
        last = lines.pop()
        if len(max(lines, key=len)) > max_chars:
            place = next(index for index, line in enumerate(lines) if len(line) > max_chars)
            _refuse_length(source.path, first + place, len(lines[place]), at_least=False)
        yield first, lines
        first += len(lines)
        unfinished, length = [last], len(last)
        if length > max_chars:
            _refuse_length(source.path, first, length, at_least=True)
    if length:
        yield first, ["".join(unfinished)]


def _refuse_length(path: Path, line: int, length: int, at_least: bool) -> NoReturn:
    if path.name.lower().removesuffix(".gz").removesuffix(".xz").endswith(".json"):
        otherwise = "if the whole file is one JSON value, write one object per line"
    else:
        otherwise = 'if the file is running text, set data.unit = "stream"'
    raise LexigraphError(
        f"{path}, line {line}: the line is {'at least ' if at_least else ''}{length:,} characters long, which is "
        f"over the limit. If lines of this length are meant, set data.max_chars higher; {otherwise}."
    )


def _read_plain(
    source: Source, columns: Mapping[str, str] | None, documents: str, max_chars: int
) -> Iterator[Record]:
    if columns:
        names = _listed(columns)
        if len(columns) > 1 or next(iter(columns.values())) not in ("1", "text"):
            raise UsageError(
                f"{source.path}: a plain text file has one column, its lines, but the column map asks for {names}. "
                "Name the file .tsv, .jsonl or .conll if it has columns."
            )
    if documents not in ("none", "blank", "file"):
        raise UsageError(
            f"{source.path}: documents = '{documents}' would be a column, but plain text has none. "
            "Use 'none', 'blank' (blank lines separate documents) or 'file'."
        )
    return _plain_records(source, next(iter(columns)) if columns else "text", documents == "blank", max_chars)


def _plain_records(source: Source, name: str, by_blank: bool, max_chars: int) -> Iterator[Record]:
    document, gap, started = 0, False, False  # gap: blank lines since the last line of text
    for first, lines in _line_blocks(source, max_chars):
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                gap = by_blank and started
                continue
            if gap:
                document, gap = document + 1, False
            started = True
            yield Record({name: line}, document, number)


@dataclass(slots=True)
class _Documents:
    """Counts documents as rows go by."""

    blank: bool  # blank lines separate them; otherwise a change of `key` does
    count: int = 0
    started: bool = False
    gap: bool = False
    key: Any = None

    def skip_blank(self) -> None:
        self.gap = self.started

    def place(self, key: Any) -> int:
        if self.started and ((self.blank and self.gap) or key != self.key):
            self.count += 1
        self.started, self.gap, self.key = True, False, key
        return self.count


# ---- JSON lines ----


def _read_json(source: Source, columns: Mapping[str, str], documents: str, max_chars: int) -> Iterator[Record]:
    by_field = None if documents in ("none", "blank", "file") else columns.get(documents, documents)
    counter = _Documents(blank=documents == "blank")
    for first, lines in _line_blocks(source, max_chars):
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                counter.skip_blank()
                continue
            item = _json_object(source.path, number, line)
            values = {name: _json_value(source.path, number, item, key) for name, key in columns.items()}
            key = None if by_field is None else _json_value(source.path, number, item, by_field)
            yield Record(values, counter.place(key), number)


def _json_object(path: Path, number: int, line: str) -> Fields:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        hint = "Each line must be one whole JSON object"
        if number == 1 and line.strip() in ("[", "{"):
            hint = "The file is one JSON value over many lines; write one object per line (jq -c '.[]' FILE)"
        raise LexigraphError(
            f"{path}, line {number}, column {error.colno}: broken JSON ({error.msg}). {hint}."
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise LexigraphError(f"{path}, line {number}: the JSON cannot be read ({error}).") from None
    if not isinstance(item, dict):
        raise LexigraphError(
            f"{path}, line {number}: there is a JSON {_json_type(item)} where an object such as "
            '{"text": "…"} should be. Write one object per line' + (" (jq -c '.[]' FILE)." if item else ".")
        )
    return item


def _json_value(path: Path, number: int, item: Fields, key: str) -> Any:
    value: Any = item
    if key in item:
        value = item[key]
    else:
        for part in key.split("."):  # "translation.de" is a field of a field
            if not isinstance(value, dict) or part not in value:
                raise _missing(path, number, key, list(item))
            value = value[part]
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise LexigraphError(
                f"{path}, line {number}: the field '{key}' holds half of a surrogate pair (\\ud800 to \\udfff), "
                "which is no character. Write the file again as UTF-8."
            )
        return value
    if isinstance(value, int | float) or (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        return value
    raise LexigraphError(
        f"{path}, line {number}: the field '{key}' is a JSON {_json_type(value)}; it must be a string, a number "
        "or a list of strings."
    )


def _json_type(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


# ---- TSV ----


def _read_tsv(source: Source, columns: Mapping[str, str] | None, documents: str, max_chars: int) -> Iterator[Record]:
    counter = _Documents(blank=documents == "blank")
    by_field = None if documents in ("none", "blank", "file") else (columns or {}).get(documents, documents)
    places: dict[str, int] | None = None
    key_place, needed = -1, 0
    for first, lines in _line_blocks(source, max_chars):
        for number, line in enumerate(lines, first):
            if not line or line.isspace():
                counter.skip_blank()
                continue
            row = line.split("\t")
            if places is None:
                asked = dict(columns) if columns else {"text": "text" if "text" in row else "1"}
                wanted = list(asked.values()) + ([] if by_field is None else [by_field])
                found = [_tsv_place(source.path, number, key, row) for key in wanted]
                places = dict(zip(asked, found, strict=False))
                key_place = -1 if by_field is None else found[-1]
                needed = max(found)
                if not all(_is_number(key) for key in wanted):
                    continue  # the header
            if len(row) <= needed:
                raise LexigraphError(
                    f"{source.path}, line {number}: the row has {_counted(len(row), 'field')}, but field "
                    f"{needed + 1} is asked for. Fields are split by tabs; correct the line or the column map."
                )
            values = {name: row[place] for name, place in places.items()}
            yield Record(values, counter.place(row[key_place] if key_place >= 0 else None), number)
    if not counter.started:
        raise LexigraphError(f"{source.path}: there is a header line and nothing after it.")


def _is_number(key: str) -> bool:
    return key.isascii() and key.isdigit()


def _tsv_place(path: Path, number: int, key: str, row: list[str]) -> int:
    if _is_number(key):
        if int(key) == 0:
            raise UsageError(f"{path}: the column map asks for field 0; fields are counted from 1.")
        return int(key) - 1
    if key not in row:
        raise _missing(path, number, key, row, "or map columns by number, counted from 1")
    return row.index(key)


# ---- CoNLL ----


def _read_conll(
    source: Source, columns: Mapping[str, str] | None, documents: str, max_chars: int, universal: bool
) -> Iterator[Record]:
    if documents not in ("none", "file"):
        raise UsageError(
            f"{source.path}: documents = '{documents}' does not apply to a CoNLL file, which marks its documents "
            "itself (-DOCSTART- or # newdoc). Leave it at 'none'."
        )
    return _conll_records(source, columns, max_chars, universal)


def _conll_records(
    source: Source, columns: Mapping[str, str] | None, max_chars: int, universal: bool
) -> Iterator[Record]:
    document, seen, start = 0, False, 0  # seen: sentences in this document; start: line of the sentence
    width, width_line = 0, 0
    places: dict[str, int] = {}
    sentence: list[list[str]] = []

    def finished() -> Record:
        return Record(dict(zip(places, map(list, zip(*sentence, strict=True)), strict=True)), document, start)

    any_sentence = False
    for first, lines in _line_blocks(source, max_chars):
        for number, line in enumerate(lines, first):
            begins = not sentence and _begins_document(line)
            if not line or line.isspace() or line.startswith("-DOCSTART-"):
                if sentence:
                    yield finished()
                    sentence, seen, any_sentence = [], True, True
                begins = line.startswith("-DOCSTART-")
                if not begins:
                    continue
            if begins:
                document, seen = document + seen, False
                continue
            if not sentence and _is_comment(line, universal):
                continue
            row = line.split("\t") if "\t" in line else line.split()
            if not width:
                width, width_line = len(row), number
                places = _conll_places(source.path, number, columns, row, universal)
            if len(row) != width:
                raise LexigraphError(
                    f"{source.path}, line {number}: the line has {_counted(len(row), 'column')}, but line "
                    f"{width_line} has {width}. Every token needs the same columns; a blank line ends a sentence."
                )
            if universal and not row[0].isdigit():
                continue  # 3-4 is a span of words, 8.1 an empty node: neither is a word of the sentence
            if not sentence:
                start = number
            sentence.append([row[place] for place in places.values()])
            if len(sentence) > MAX_SENTENCE:
                raise LexigraphError(
                    f"{source.path}, line {start}: the sentence that starts here has over {MAX_SENTENCE:,} tokens. "
                    "A blank line must end each sentence."
                )
    if sentence:
        yield finished()
    elif not any_sentence:
        raise LexigraphError(f"{source.path}: there is no sentence in it, only comments or document marks.")


def _begins_document(line: str) -> bool:
    return line.startswith(("# newdoc", "#begin document"))


def _is_comment(line: str, universal: bool) -> bool:
    if universal:
        return line.startswith("#")
    # In other column files "#" may be a word: only what cannot be one is a comment.
    return line.startswith("#end document") or (line.startswith("# ") and " = " in line)


def _conll_places(
    path: Path, number: int, columns: Mapping[str, str] | None, row: list[str], universal: bool
) -> dict[str, int]:
    if columns is None:
        columns = {"tokens": "form", "tags": "upos"} if universal else {"tokens": "1", "tags": "-1"}
        if len(row) < 2:
            raise LexigraphError(
                f"{path}, line {number}: a CoNLL file has at least two columns, word and tag, and here is one. "
                'For words alone, map columns = {"tokens": "1"}.'
            )
    places = {}
    for name, key in columns.items():
        if universal and key.lower() in CONLLU_COLUMNS:
            place = CONLLU_COLUMNS.index(key.lower())
        elif key == "-1":
            place = len(row) - 1
        elif _is_number(key):
            place = int(key) - 1
        else:
            place = -1
        if not 0 <= place < len(row):
            there = list(CONLLU_COLUMNS) if universal else [str(index + 1) for index in range(len(row))]
            raise _missing(path, number, key, there, "or -1 for the last")
        places[name] = place
    return places


# ---- words for messages ----


def _missing(path: Path, number: int, key: str, there: list[str], more: str = "") -> LexigraphError:
    close = difflib.get_close_matches(key, there, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    more = f" ({more})" if more else ""
    return LexigraphError(
        f"{path}, line {number}: there is no field '{key}'; the fields are {_listed(there)}.{hint} "
        f"Set data.columns to the names in the file{more}."
    )


def _known_format(name: str) -> str:
    known = sorted({"text", *FORMATS.values()})
    if name not in known:
        raise UsageError(f"'{name}' is not a format; the formats are {_listed(known)}.")
    return name


def _listed(names: Iterable[str], word: str = "and") -> str:
    shown = [f"'{name if len(name) <= 40 else name[:39] + '…'}'" for name in names]
    if len(shown) > 12:
        shown = [*shown[:11], f"{len(shown) - 11} more"]
    if len(shown) < 2:
        return shown[0] if shown else "none"
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
