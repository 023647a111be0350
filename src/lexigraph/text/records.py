"""Records of several fields: what each kind of column makes of its field, and which split a record belongs to.

A kind that needs more of a record than a text has a function in READINGS: heads are counted in the words of another
field, answers stand in a text, pictures are found beside the file that names them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import answers, builtin, choices, clean, files, frames, heads, images, parallel, readers, trees
from lexigraph.text.columns import Column, Columns
from lexigraph.text.encoding import Example, running, words_of
from lexigraph.text.source import Source

PAIRS = {"source", "target"}, {"text", "other"}  # of which neither may be empty alone


# ---- fields of columns ----------------------------------------------------------------------------------------


def fields_of(columns: Columns) -> dict[str, bool]:
    """The fields that columns are read from, and whether a record must have each."""
    fields = {column.field_of(name): not column.blank for name, column in columns.items()}
    return fields | dict.fromkeys(leads_of(columns), False)


def fields_read(columns: Columns, *kinds: str) -> list[str]:
    """The fields that columns of some kinds are read from."""
    return list(dict.fromkeys(column.field_of(name) for name, column in columns.items() if column.kind in kinds))


def leads_of(columns: Columns) -> list[str]:
    """The fields that name a special token to put in front of a text."""
    return [column.lead for column in columns.values() if column.lead]


def cleaned_fields(columns: Columns) -> list[str]:
    """The fields that hold running text, which cleaning may change."""
    return fields_read({name: c for name, c in columns.items() if not c.by_word}, "tokens", "raw")


# ---- what a kind makes of its field ---------------------------------------------------------------------------


class At(NamedTuple):
    """Where a record stands, and what it is read with."""

    file: str
    line: int
    columns: Columns
    data: recipes.Data

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"

    @property
    def folder(self) -> Path:
        """What names of files in a record start from."""
        return Path(self.file).parent

    def counted_in(self, column: Column) -> str:
        """The field in whose words, or in whose text, a column is counted."""
        return self.columns[column.aligned].field_of(column.aligned)


def _heads(values: Mapping[str, Any], field: str, column: Column, at: At) -> object:
    return heads.read(values[field], words_of(values[at.counted_in(column)]), str(at))


def _answers(values: Mapping[str, Any], field: str, column: Column, at: At) -> object:
    return answers.read(values, field, at.counted_in(column), str(at))


def _spans(values: Mapping[str, Any], field: str, column: Column, at: At) -> object:
    trees.refuse_other(values[field], field, str(at))
    return values[field]


def _vectors(values: Mapping[str, Any], field: str, column: Column, at: At) -> object:
    return frames.read(values[field], at.folder, f"{at.file}, record {at.line}: ")


def _image(values: Mapping[str, Any], field: str, column: Column, at: At) -> object:
    return images.read(values[field], at.folder, at.data.side, str(at))


READINGS: dict[str, Callable[[Mapping[str, Any], str, Column, At], object]] = {
    "heads": _heads,
    "answers": _answers,
    "spans": _spans,
    "vectors": _vectors,
    "image": _image,
}


# ---- examples -------------------------------------------------------------------------------------------------


def examples(
    file: str,
    data: recipes.Data,
    columns: Columns,
    split: str,
    cut: Callable[[str], str] | None,
    cleaner: clean.LineRule | None,
    begun: int,
) -> Iterator[Example]:
    """The records of a file, their documents counted from `begun`. One that lacks text in any field that needs some,
    or of which cleaning leaves none, goes.

    The first field decides to which split a record belongs. Texts are cleaned; words that something is aligned with,
    labels and numbers are as they are.
    """
    if data.unit == "stream":
        raise UsageError('data.unit = "stream" is for plain text: examples with several columns are lines.')
    if data.split_sentences:
        raise UsageError("data.split_sentences is for plain text: examples with several columns are as they are.")
    fields, texts = fields_of(columns), cleaned_fields(columns)
    tasks = [field for field in leads_of(columns) if field in fields_read(columns, "class")]  # no name: a task, too
    read = {column.field_of(name): column for name, column in columns.items() if column.kind in READINGS}
    listed = [column.field_of(name) for name, column in columns.items() if column.texts]
    for record in _records(file, data, columns):
        values, at = dict.fromkeys(tasks, "") | dict(record.columns), At(file, record.line, columns, data)
        _refuse_blanks(values, columns, tasks, at)
        key = record.columns[next(iter(fields))]
        for field, column in read.items():
            values[field] = READINGS[column.kind](values, field, column, at)
        for field in listed:
            values |= choices.read(values, field, str(at), cleaner)
        if isinstance(key, list) and isinstance(values[next(iter(fields))], np.ndarray):
            key = values[next(iter(fields))]
        where = cut(_said(values.get(answers.TITLE) or key)) if cut else split
        for field in texts:
            text = str(values.get(field, ""))
            values[field] = (cleaner(text) or "") if cleaner else text
        if where and all(values[field].strip() for field in texts if fields[field]):
            yield Example(where, values, begun + record.document, True, str(at))


def _said(key: Any) -> str:
    """What decides to which split a record belongs, as text."""
    return key.tobytes().hex() if isinstance(key, np.ndarray) else running(key)


def _refuse_blanks(values: Mapping[str, Any], columns: Columns, tasks: Collection[str], at: At) -> None:
    """Refuse a record without a label, with one side of a pair alone, or with a picture and no text."""

    def blank(fields: Sequence[str]) -> str:
        return next((field for field in fields if not str(values.get(field, "")).strip()), "")

    if unlabelled := blank([field for field in fields_read(columns, "class") if field not in tasks]):
        raise LexigraphError(f"{at}: the {unlabelled} is empty; every example needs one.")
    texts = cleaned_fields(columns)
    for pair in PAIRS:
        if pair.issubset(texts) and (side := blank(sorted(pair))) and not all(blank([field]) for field in pair):
            raise LexigraphError(
                f"{at}: the {side} is empty; a pair needs both sides. Fill it, or leave the line out."
            )
    needed = [field for field, required in fields_of(columns).items() if required and field in texts]
    if fields_read(columns, "image", "vectors") and (missing := blank(needed)):
        raise LexigraphError(f"{at}: the {missing} is empty; every picture needs one.")


def _records(file: str, data: recipes.Data, columns: Columns) -> Iterator[readers.Record]:
    """The records of a file, by the names or numbers that the recipe gives their fields."""
    needed, leads = [field for field, required in fields_of(columns).items() if required], leads_of(columns)
    direction, file = parallel.directed(file)
    if direction:
        yield from parallel.with_direction(_records(file, data, columns), direction, leads, file)
        return
    if files.built_in(file):
        yield from builtin.records(needed, data.sentences, file)
        return
    if both := parallel.sides(file):
        yield from parallel.records([Source(name, encoding=data.encoding) for name in both], needed, data.max_chars)
        return
    if Path(file).suffix == ".npz":
        yield from images.read_arrays(Path(file), data.columns or {field: field for field in needed})
        return
    usual = readers.CONLL_FIELDS.get(readers.file_format(file), {})
    mapped = data.columns or {field: usual[field] for field in needed if field in usual} or usual
    if missing := [field for field in needed if mapped and field not in mapped]:
        raise UsageError(
            f"Examples of this system have the fields {' and '.join(needed)}: data.columns lacks "
            f"{' and '.join(missing)}."
        )
    yield from readers.read(
        Source(file, encoding=data.encoding),
        mapped or None,
        "none" if data.documents == "line" else data.documents,
        data.max_chars,
        needed=needed,
        welcome=[*leads, *(answers.BESIDES if fields_read(columns, "answers") else ())],  # read where they are
        numbers=fields_read(columns, "vectors"),
    )
