"""From examples to tables (tables.py): values of a column are encoded a block at a time and appended to its files.

A held-out split keeps the text of its tokens (raw.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypedDict

import numpy as np

from lexigraph.errors import LexigraphError
from lexigraph.text.columns import MAIN, Column, Columns
from lexigraph.text.encoding import ColumnEncoder, Example
from lexigraph.text.raw import RawWriter, bytes_of
from lexigraph.text.tables import Row, beside, file_of, stored_as
from lexigraph.text.vocabularies import Tokens, Vocabularies

BLOCK = 2000  # examples encoded at a time


class Facts(TypedDict):
    """What a reader of a column has to know."""

    dtype: str
    shape: list[int]
    bytes: int
    lost: str


Decode = Callable[[np.ndarray], str]


class _Writer:
    """Appends the values of one column to its files."""

    def __init__(self, path: Path, column: Column, dtype: np.dtype, size: int, shape: tuple[int, ...] = ()) -> None:
        self.path, self.column, self.dtype, self.shape = path, column, dtype, shape
        self.files: dict[str, BinaryIO] = {"values": beside(path, "values").open("wb")}
        self.waiting: dict[str, list[np.ndarray]] = {"values": []}
        self.counts = np.zeros(size, np.int64)
        self.length = self.words = self.bytes = 0
        self.lost = ""
        if column.sequence:
            self._bounds("offsets", 0)
        if column.by_word:
            self._bounds("inner", 0)

    def _bounds(self, name: str, value: int) -> None:
        if name not in self.files:
            self.files[name], self.waiting[name] = beside(self.path, name).open("wb"), []
        self.waiting[name].append(np.array([value], np.int64))

    def add(self, row: Row, last: bool = True) -> None:
        """The values of an example, or of a part of it."""
        for values in row if isinstance(row, list) else [row]:
            self.waiting["values"].append(values)
            self.length += len(values) if self.column.sequence else 1
            if self.column.by_word:
                self._bounds("inner", self.length)
                self.words += 1
        if last and self.column.sequence:
            self._bounds("offsets", self.words if self.column.by_word else self.length)

    def flush(self) -> None:
        for name, waiting in self.waiting.items():
            if not waiting:
                continue
            joined = np.concatenate(waiting) if self.column.sequence or name != "values" else np.stack(waiting)
            if name == "values" and len(self.counts):
                self.counts += np.bincount(joined[joined >= 0], minlength=len(self.counts))
            joined.astype(self.dtype if name == "values" else np.int64).tofile(self.files[name])
            waiting.clear()

    def close(self) -> Facts:
        self.flush()
        for file in self.files.values():
            file.close()
        if len(self.counts):
            np.save(beside(self.path, "counts.npy"), self.counts)
        return {"dtype": self.dtype.name, "shape": list(self.shape), "bytes": self.bytes, "lost": self.lost}


class _TokensWriter(_Writer):
    """The same with a boundary before the first example and behind every one."""

    def __init__(self, path: Path, column: Column, tokens: Tokens, decode: Decode | None, held_out: bool) -> None:
        super().__init__(path, column, ids_dtype(len(tokens)), len(tokens))
        self.boundary, self.decode = np.array([tokens.eos]), decode
        self.raw = RawWriter(path) if held_out else None  # nothing is compared with the training text
        self.waiting["values"].append(self.boundary)
        self.length = 1

    def add(self, row: Row, last: bool = True) -> None:
        super().add(row, last=False)
        if last:
            self._bounds("offsets", self.length)
            self.waiting["values"].append(self.boundary)
            self.length += 1

    def add_text(self, text: str, ids: np.ndarray, last: bool) -> None:
        """The text of what was added: its bytes, as far as its tokens stand for them."""
        utf8 = text.encode(errors="surrogatepass")
        size, lost = len(utf8), ""
        if self.raw:
            self.raw.add(utf8, last)
            if self.decode:
                size, lost = bytes_of(text, self.decode(ids), last)
        self.bytes, self.lost = self.bytes + size + last, self.lost or lost

    def close(self) -> Facts:
        if self.raw:
            self.raw.close()
        return super().close()


def ids_dtype(size: int) -> np.dtype:
    return np.dtype(np.uint16 if size <= 2**16 else np.uint32)


class TableWriter:
    """Encodes examples, a block at a time, into the files of their splits."""

    def __init__(self, folder: Path, columns: Columns, vocabularies: Vocabularies, table: str = MAIN) -> None:
        self.folder, self.table, self.vocabularies = folder, table, vocabularies
        self.columns = {name: column for name, column in columns.items() if name == stored_as(columns, name)}
        self.documented = any(column.at in ("before", "after") for column in columns.values())
        self.writers: dict[str, dict[str, _Writer]] = {}
        self.examples: dict[str, int] = {}
        self.documents: dict[str, list[int]] = {}
        self.encoder = ColumnEncoder(self.columns, vocabularies)

    def write(self, block: Sequence[Example]) -> None:
        encoded = self.encoder.encode(block)
        for number, example in enumerate(block):
            writers = self.writers.get(example.split) or self._open(example.split)
            for name, rows in encoded.items():
                writer, row = writers[name], rows[number]
                writer.add(row, example.last)
                if isinstance(writer, _TokensWriter):
                    writer.add_text(self.encoder.text(name, example), np.asarray(row), example.last)
            self.examples[example.split] += example.last
            if self.documented and example.last:
                self.documents[example.split].append(example.document)
        for writers in self.writers.values():
            for writer in writers.values():
                writer.flush()

    def _open(self, split: str) -> dict[str, _Writer]:
        self.examples[split], self.documents[split] = 0, []
        self.writers[split] = {
            name: self._writer(self.folder / f"{file_of(self.table, split)}.{name}", column, split != "train")
            for name, column in self.columns.items()
        }
        return self.writers[split]

    def _writer(self, path: Path, column: Column, held_out: bool) -> _Writer:
        if column.kind == "tokens":
            tokens = self.vocabularies.tokens(column.vocabulary)
            if not column.by_word:  # only of plain text bits per byte are taken
                decode = self.vocabularies.tokenizer(column.vocabulary).decode if len(self.columns) == 1 else None
                return _TokensWriter(path, column, tokens, decode, held_out)
            return _Writer(path, column, ids_dtype(len(tokens)), len(tokens))
        if column.kind in ("tags", "class"):
            return _Writer(path, column, np.dtype(np.int32), len(self.vocabularies.labels(column.vocabulary)))
        shapes = {"spans": (3,), "offsets": (2,), "answers": (2,), "heads": (), "raw": ()}
        shape = (
            shapes.get(column.kind) if column.kind in shapes else self.vocabularies.numbers(column.vocabulary).shape
        )
        dtypes = {"raw": np.uint8, "image": np.uint8} | dict.fromkeys(
            ("heads", "spans", "offsets", "answers"), np.int32
        )
        return _Writer(path, column, np.dtype(dtypes.get(column.kind, np.float32)), 0, shape or ())

    def seen_once(self) -> dict[str, list[str]]:
        """By column, the classes of which there is a single training example."""
        columns = [(name, writer) for name, writer in self.writers["train"].items() if writer.column.kind == "class"]
        names = {name: self.vocabularies.labels(writer.column.vocabulary).names for name, writer in columns}
        return {name: [names[name][i] for i in np.flatnonzero(writer.counts == 1)] for name, writer in columns}

    def close(self, needed: str) -> dict[str, int]:
        """Close all files; how many examples each split has."""
        for split, writers in self.writers.items():
            file = self.folder / file_of(self.table, split)
            facts = {name: writer.close() for name, writer in writers.items()}
            beside(file, "json").write_text(json.dumps({"examples": self.examples[split], "columns": facts}))
            if self.documented:
                np.save(beside(file, "documents.npy"), np.array(self.documents[split], np.int64))
        if not self.examples.get(needed) and not any(w.length > 1 for w in self.writers.get(needed, {}).values()):
            raise LexigraphError(f"Nothing is left of the {needed} text after cleaning and splitting.")
        return self.examples


def write_tables(
    examples: Iterable[Example],
    columns: Columns,
    vocabularies: Vocabularies,
    folder: Path,
    *,
    table: str = MAIN,
    needed: str = "train",
    report: Callable[[int], None] = lambda tokens: None,
) -> TableWriter:
    """Encode all examples into the tables of their splits; the `needed` one must not be empty.

    `report` is called after every block with the number of values so far.
    """
    folder.mkdir(parents=True, exist_ok=True)
    writer, source = TableWriter(folder, columns, vocabularies, table), iter(examples)
    while block := list(islice(source, BLOCK)):
        writer.write(block)
        report(sum(w.length for own in writer.writers.values() for w in own.values()))
    writer.close(needed)
    return writer
