"""Read text files as a stream: plain text, JSON lines, CSV, TSV, CoNLL, trees, each plain or compressed; Parquet.

How a file's bytes become lines, source.py says; here lines become records. What stands for files,
files.py says.

>>> from lexigraph.text.readers import read
>>> for record in read("pairs.tsv", columns={"source": "1", "target": "2"}):   # doctest: +SKIP
...     print(record.line, record.columns["source"], record.columns["target"])
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import nearest
from lexigraph.text import parquet, squad, trees
from lexigraph.text.source import COMPRESSED, Source, line_blocks, pieces, unix

if TYPE_CHECKING:
    import numpy as np

MAX_CHARS = 1_000_000  # a longer line is almost surely a stream or a damaged file, not a sentence
MAX_SENTENCE = 100_000  # tokens of a CoNLL sentence; more means that the blank lines are missing

FORMATS = {".jsonl": "json", ".json": "json", ".ndjson": "json", ".tsv": "tsv", ".csv": "csv", ".conllu": "conllu"}
FORMATS |= dict.fromkeys((".conll", ".iob", ".iob2", ".bio"), "conll") | {".parquet": "parquet"}
FORMATS |= dict.fromkeys((".mrg", ".ptb", ".tree", ".trees"), "trees")
TABLES = ("json", "tsv", "csv", "parquet")  # formats whose records have fields with names
NOT_READ = dict.fromkeys((".zst", ".7z", ".tar", ".tgz", ".rar"), "unpack it first; .gz, .xz, .bz2 and .zip are read")
NOT_READ |= dict.fromkeys((".pdf", ".docx", ".odt", ".epub", ".xlsx"), "save its text as UTF-8 text or CSV")
CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
CONLL_DEFAULT = {"conll": {"tokens": "1", "tags": "-1"}, "conllu": {"tokens": "form", "tags": "upos"}}
CONLL_FIELDS = CONLL_DEFAULT | {"conllu": CONLL_DEFAULT["conllu"] | {"heads": "head", "relations": "deprel"}}

TREE_FIELDS: dict[str, Callable[[trees.Tree], Value]] = {  # of trees in brackets
    "tokens": lambda tree: list(tree.words),
    "tags": lambda tree: tree.tags,
    "tree": lambda tree: list(tree.spans),
    "phrases": lambda tree: tree.phrases,
    "text": lambda tree: " ".join(tree.words),
}
BRACKETED = {"tree", "phrases"}  # what makes plain text trees: where one of these is asked for, it is brackets

Columns = Mapping[str, str]  # our name → the file's field
Wanted = tuple[Sequence[str], Sequence[str]]  # without such a map: names that are needed, and that are welcome
Lines = Iterator[tuple[int, str]]  # number, line
Filled = Iterator[tuple[int, str, int]]  # number, line that is not blank, number of its paragraph
Split = Iterator[tuple[int, list[str], int]]  # likewise, the fields of a row
Value: TypeAlias = (
    "str | int | float | list[str] | list[trees.Span] | np.ndarray | Path"  # text, number, words, spans …
)
Json: TypeAlias = "str | int | float | list[Json] | dict[str, Json] | None"
Rows = Iterator[tuple[int, dict[str, Value], Value]]  # number, columns, a key: a document begins where it changes


class Record(NamedTuple):
    """One line, object, row or sentence of a file."""

    columns: dict[str, Any]  # by our name, each a `Value`; which kind it is, the caller knows or asks
    document: int  # counted from 0 within the file
    line: int  # where it starts, counted from 1


def read(
    path: str | Path | Source,
    columns: Columns | None = None,
    documents: str = "none",
    max_chars: int = MAX_CHARS,
    limit: int | None = None,
    needed: Sequence[str] = ("text",),
    welcome: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[Record]:
    """Yield the records of a file one by one.

    Args:
        path: the file, whose suffix tells its format (see `file_format`) and compression (.gz, .xz, .bz2); or a
            `Source`, to ask about it afterwards.
        columns: our names mapped to the file's fields, `{"text": "sentence"}`; numbers count from 1.
        documents: where documents begin: "none", "blank" (after blank lines), "file", or a field of a table
            whose change begins one. CoNLL files mark their documents themselves.
        max_chars: a longer line is refused before it is read whole.
        limit: stop after this many records.
        needed: without `columns`, the fields to read, by these names; of a TSV file whose first row has not all of
            them, the first columns.
        welcome: further ones, read by these names where the first record or the header has them.
        numbers: our names of those that hold lists of numbers, in JSON.
    """
    source = path if isinstance(path, Source) else Source(path)
    kind, fields = file_format(source.path), columns or {}
    by_field = "" if documents in ("none", "blank", "file") else fields.get(documents, documents)
    asked_for = tuple(fields.values()) or tuple(needed)
    if kind == "text" and BRACKETED & set(asked_for):
        kind = "trees"
    if kind == "text" and (by_field or len(asked_for) > 1 or not set(asked_for) <= {"1", "text"}):
        asked = by_field or ", ".join(asked_for)
        pair = not by_field and len(asked_for) == 2
        raise UsageError(
            f"{source.path}: plain text has one column, its lines, but the recipe asks for {asked}. "
            "Name the file .csv, .tsv, .jsonl or .conll if it has columns"
            + (f"; if each is a file of its own, join their names: {source.path}+OTHER." if pair else ".")
        )
    if kind in CONLL_DEFAULT and documents not in ("none", "file"):
        raise UsageError(f"{source.path}: a CoNLL file marks its documents itself; leave data.documents at 'none'.")
    if kind == "trees" and documents not in ("none", "file"):
        raise UsageError(f"{source.path}: a file of trees is one document; leave data.documents at 'none'.")
    counted = count(1)
    if kind == "parquet":
        return islice(
            _records(source.path, counted, _parquet_rows(source, counted, fields, by_field, (needed, welcome))), limit
        )
    lines = zip(counted, chain.from_iterable(line_blocks(source, max_chars)), strict=False)
    if kind in CONLL_DEFAULT:
        rows = _conll_rows(lines, fields or CONLL_DEFAULT[kind], kind)
    elif kind == "trees":
        rows = _tree_rows(lines, fields or {name: name for name in needed})
    elif kind == "csv":
        split = _csv_lines(lines, documents == "blank")
        rows = _table_rows(split, fields, by_field, (needed, welcome), header=True)
    elif kind == "tsv":
        split = ((number, line.split("\t"), part) for number, line, part in _filled(lines, documents == "blank"))
        rows = _table_rows(split, fields, by_field, (needed, welcome), header=False)
    elif kind == "json" and squad.asked(asked_for) and squad.nested(source.path):
        rows = squad.rows(source, (*asked_for, *welcome))
    elif kind == "json":
        rows = _json_rows(_filled(lines, documents == "blank"), fields, by_field, (needed, welcome), numbers)
    else:
        (name,) = fields or ("text",)
        rows = ((number, {name: line}, part) for number, line, part in _filled(lines, documents == "blank"))
    return islice(_records(source.path, counted, rows), limit)


def read_text(path: str | Path | Source, max_chars: int = MAX_CHARS, columns: Columns | None = None) -> Iterator[str]:
    """Yield a file's text in pieces that, joined, are the whole text: what a stream model reads.

    A piece holds whole lines, about 64 K characters; a longer line is cut at white space, or at 64 K where it
    has none, so plain text may have lines of any length. Of tables it is the `text` column of each record, of
    CoNLL files the tokens with spaces between, each followed by a newline.
    """
    source = path if isinstance(path, Source) else Source(path)
    kind = file_format(source.path)
    if kind == "text":
        return pieces(source)
    name = "tokens" if kind in CONLL_DEFAULT else "text"
    if columns and name not in columns:
        raise UsageError(
            f"{source.path}: a stream is read from the column '{name}'; map it to the field with the text."
        )
    values = (record.columns[name] for record in read(source, columns, max_chars=max_chars))
    return pieces(unix(" ".join(value) if isinstance(value, list) else str(value)) + "\n" for value in values)


def read_lines(path: str | Path, max_chars: int = MAX_CHARS) -> Iterator[str]:
    """Yield the non-blank lines of a file as strings: `read` without records, and faster."""
    blocks = line_blocks(Source(path), max_chars)
    return (line for lines in blocks for line in lines if line and not line.isspace())


def file_format(path: str | Path) -> str:
    """Tell "text", "json", "tsv", "csv", "parquet", "trees", "conll" or "conllu" from a file's name.

    >>> file_format("a/train.jsonl.gz")
    'json'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    last = next((suffix for suffix in reversed(suffixes) if suffix not in COMPRESSED), "")
    if last == ".parquet" and suffixes[-1] != last:
        raise LexigraphError(f"{path}: a Parquet file is compressed within; unpack it to a name that ends in {last}.")
    if last in NOT_READ:
        raise LexigraphError(f"{path}: Lexigraph does not read {last} files; {NOT_READ[last]}.")
    return FORMATS.get(last, "text")


# ---- lines → records ----


class _Fault(Exception):
    """What is wrong with the line being read; `_records` adds where it stands."""


def _records(path: Path, numbers: Iterator[int], rows: Rows) -> Iterator[Record]:
    document, previous = -1, object()  # the first record begins document 0
    try:
        for number, values, key in rows:
            if key != previous:
                document, previous = document + 1, key
            yield Record(values, document, number)
    except _Fault as fault:
        raise LexigraphError(f"{path}, line {next(numbers) - 1}: {fault}") from None
    except trees.NoTree as fault:
        raise LexigraphError(f"{path}, {fault}") from None
    if document < 0:
        raise LexigraphError(f"{path}: there is a header or a document mark and nothing after it.")


def _filled(lines: Lines, by_blank: bool) -> Filled:
    paragraph = 0
    for number, line in lines:
        if line and not line.isspace():
            yield number, line, paragraph
        else:
            paragraph += by_blank


def _json_rows(lines: Filled, fields: Columns, by_field: str, wanted: Wanted, numbers: Sequence[str]) -> Rows:
    for number, line, paragraph in lines:
        item = _json_object(line)
        fields = fields or _own_names(wanted, item)
        values: dict[str, Value] = {name: _json_value(item, key, name in numbers) for name, key in fields.items()}
        yield number, values, _json_value(item, by_field) if by_field else paragraph


def _own_names(wanted: Wanted, known: Container[str]) -> Columns:
    """Fields by our own names: those that are needed, and those that are welcome where they are known."""
    needed, welcome = wanted
    return {name: name for name in (*needed, *(name for name in welcome if name in known))}


def _json_object(line: str) -> dict[str, Json]:
    hint = "Write one object per line; of a list, jq -c '.[]' FILE does so."
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise _Fault(f"broken JSON at column {error.colno} ({error.msg}). {hint}") from None
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise _Fault(f"the JSON cannot be read ({error}).") from None
    if not isinstance(item, dict):
        raise _Fault(f"{line.strip()[:40]} is not a JSON object. {hint}")
    return item


def _json_value(item: Mapping[str, Any], key: str, numbers: bool = False) -> Any:
    value: Any = item
    for part in [key] if key in item else key.split("."):  # "translation.de" is a field of a field
        if not isinstance(value, dict) or part not in value:
            raise _missing(key, item)
        value = value[part]
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _Fault(f"the field '{key}' holds half of a surrogate pair. Write the file again as UTF-8.")
    if isinstance(value, str | int | float):
        return value
    if numbers and isinstance(value, list):
        return value
    if isinstance(value, list) and all(isinstance(each, str | int) and not isinstance(each, bool) for each in value):
        return [str(each) for each in value]  # words, tags; numbers of words, as heads are
    shown = json.dumps(value, default=str)[:40]
    raise _Fault(
        f"the field '{key}' is {shown}; it must be a string, a number or a list of strings or whole numbers."
    )


def _csv_lines(lines: Lines, by_blank: bool) -> Split:
    """The rows of a CSV file. A quoted field may hold commas, line ends and doubled quotation marks."""
    csv.field_size_limit(MAX_CHARS)
    paragraph, begin = 0, 1  # where the row begins that is being read
    number, first = next(lines, (1, ""))
    ended = (f"{line}\n" for number, line in chain([(number, first)], lines))
    reader = csv.reader(ended, delimiter=csv_delimiter(first), strict=True)
    try:
        for row in reader:
            if any(field.strip() for field in row):
                yield begin, row, paragraph
            else:
                paragraph += by_blank
            begin = reader.line_num + 1
    except csv.Error as error:
        quoted = "unexpected end" in str(error) or "field limit" in str(error)
        what = "a quotation mark is never closed" if quoted else str(error)
        raise _Fault(f'{what}, in the row that begins in line {begin}. Inside quotes, double a mark: "".') from None


def csv_delimiter(line: str) -> str:
    """What stands between the fields, of which a file's first line has most: a comma, semicolon or tab."""
    return max(",;\t", key=line.count)


def _table_rows(rows: Split, fields: Columns, by_field: str, wanted: Wanted, header: bool) -> Rows:
    """Rows of a table by the names in its header, or by number. header: without `fields`, the first row is one."""
    positions: list[int] = []  # of the fields, and of the one that tells the document
    least = 0
    for number, row, paragraph in rows:
        if not positions:
            needed, _ = wanted
            by_name = header or set(needed) <= set(row)
            by_place = {name: str(place) for place, name in enumerate(needed, 1)}
            fields = fields or (_own_names(wanted, row) if by_name else by_place)
            keys = [*fields.values(), by_field or "1"]
            positions = _positions(keys, row, names=row)
            least = max(positions) + 1
            if not all(map(_is_number, (*fields.values(), by_field or "1"))):
                continue  # the header
        if len(row) < least:
            raise _Fault(
                f"field {least} is asked for, but the row ends after field {len(row)}. "
                "Correct the row, what stands between its fields, or the column map."
            )
        values: dict[str, Value] = {name: row[place] for name, place in zip(fields, positions, strict=False)}
        yield number, values, row[positions[-1]] if by_field else paragraph


def _is_number(key: str) -> bool:
    return key.removeprefix("-").isdigit()


def _parquet_rows(source: Source, numbers: Iterator[int], fields: Columns, by_field: str, wanted: Wanted) -> Rows:
    known = parquet.names(source.path)
    fields = fields or _own_names(wanted, known)
    keys = [*fields.values(), *([by_field] if by_field else [])]
    chosen = [known[place] for place in _positions(keys, known, names=known)]
    for row in parquet.rows(source.path, chosen):
        number = next(numbers)
        source.lines, source.bytes = number, source.path.stat().st_size
        if None in row:  # as a blank line
            continue
        item = dict(zip(keys, row, strict=True))
        values: dict[str, Value] = {name: _json_value(item, key) for name, key in fields.items()}
        yield number, values, _json_value(item, by_field) if by_field else 0


def _conll_rows(lines: Lines, fields: Columns, kind: str) -> Rows:
    sentence: list[list[str]] = []
    positions: list[int] = []
    start = width = documents = 0
    for number, line in chain(lines, [(0, "")]):
        begins = line.startswith("-DOCSTART-") or (not sentence and line.startswith(("# newdoc", "#begin document")))
        if begins or not line or line.isspace():
            if sentence:
                values = ([row[place] for row in sentence] for place in positions)
                yield start, dict(zip(fields, values, strict=True)), documents
                sentence = []
            documents += begins
            continue
        remark = line.startswith("#end document") or (line.startswith("# ") and " = " in line)
        if not sentence and (remark or (kind == "conllu" and line.startswith("#"))):
            continue  # in files other than CoNLL-U, a line that begins with "#" may hold a word
        row = line.split("\t") if "\t" in line else line.split()
        if not positions:
            if len(row) < 2 and "-1" in fields.values():
                raise _Fault('a CoNLL file has at least two columns; for words alone, map columns = {"tokens": "1"}.')
            keys = [key.lower() for key in fields.values()]
            width, positions = len(row), _positions(keys, row, names=CONLLU_COLUMNS if kind == "conllu" else ())
        if len(row) != width:
            raise _Fault(
                f"the line ends after column {len(row)}, but the first token has {width} columns. "
                "Every token needs the same columns; a blank line ends a sentence."
            )
        if kind == "conll" or row[0].isdigit():  # 3-4 is a span of words, 8.1 an empty node: not words
            start = start if sentence else number
            sentence.append(row)
        if len(sentence) > MAX_SENTENCE:
            raise _Fault(f"over {MAX_SENTENCE:,} tokens since line {start}; a blank line must end each sentence.")


def _tree_rows(lines: Lines, fields: Columns) -> Rows:
    for key in fields.values():
        if key not in TREE_FIELDS:
            raise UsageError(f"Trees have no field {key!r}{nearest(key, TREE_FIELDS)}")
    for number, tree in trees.read(lines):
        yield number, {name: TREE_FIELDS[key](tree) for name, key in fields.items()}, 0


def _positions(keys: Sequence[str], row: Sequence[str], names: Sequence[str]) -> list[int]:
    """Find fields in a row by the names of its columns, or by number: counted from 1, -1 for the last."""
    known = {name: names.index(name) for name in names[: len(row)]}
    known |= {str(place + 1): place for place in range(len(row))} | {"-1": len(row) - 1}
    for key in keys:
        if key not in known:
            raise _missing(key, known)
    return [known[key] for key in keys]


def _missing(key: str, names: Iterable[str]) -> _Fault:
    near = nearest(key, [name[:40] for name in names])
    return _Fault(f"there is no field '{key}' for data.columns (names, or numbers counted from 1){near}")
