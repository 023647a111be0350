"""From what records say to arrays: the values of each column, by its kind and its vocabulary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import frames, images
from lexigraph.text.columns import Column, Columns
from lexigraph.text.readers import Value
from lexigraph.text.spans import SchemeCheck, converted
from lexigraph.text.tables import Row
from lexigraph.text.trees import UNARY, Span
from lexigraph.text.vocabularies import ROLES, Labels, Vocabularies, sentinels

if TYPE_CHECKING:
    from lexigraph.text.tokenizer import Tokenizer


USUAL = {name for names in ROLES.values() for name in names} | {"<cls>", "<sep>", "[CLS]", "[SEP]"}


@dataclass(frozen=True)
class Example:
    """What a record says, for one split. `last` ends it: a stream's text comes in pieces, of which only one is."""

    split: str
    values: Mapping[str, Value]  # by field
    document: int = 0
    last: bool = True
    where: str = ""  # "a.conll, line 7", for messages


class ColumnEncoder:
    """Encodes examples, a block at a time."""

    def __init__(self, columns: Columns, vocabularies: Vocabularies) -> None:
        self.columns, self.vocabularies = columns, vocabularies
        self.unseen: dict[str, tuple[str, str]] = {}  # by column, a label that training has not, and where it is
        self.checks: dict[tuple[str, str], SchemeCheck] = defaultdict(SchemeCheck)  # by column and split

    def encode(self, block: Sequence[Example]) -> dict[str, Sequence[Row]]:
        """The values of every column, without boundaries."""
        found = {name: self._encoded(name, column, block) for name, column in self.columns.items()}
        for name, column in self.columns.items():
            if column.aligned in found:
                self._check_aligned(name, column.aligned, found, block)
        return found

    def rows(self, block: Sequence[Example]) -> dict[str, Sequence[Row]]:
        """The same as a network prepares them: tokens between boundaries."""
        found = self.encode(block)
        for name, column in self.columns.items():
            if column.kind == "tokens" and not column.by_word:
                eos = [self.vocabularies.tokens(column.vocabulary).eos]
                found[name] = [np.concatenate([eos, np.asarray(row), eos]).astype(np.int64) for row in found[name]]
        return found

    def unlearned(self) -> Iterator[str]:
        """A sentence for every column with a label that training has not."""
        for column, (label, place) in self.unseen.items():
            what = "label" if self.columns[column].kind == "spans" else column.removesuffix("s")
            where = f", first in {place}" if place else ""
            yield (
                f"Held-out examples have a {what} that training has not seen ({label!r}{where}): "
                "it is scored as wrong."
            )

    def text(self, name: str, example: Example) -> str:
        return running(example.values[self.columns[name].field_of(name)])

    def _encoded(self, name: str, column: Column, block: Sequence[Example]) -> Sequence[Row]:
        if column.kind == "tokens" and not column.by_word:
            return self._tokens(column, block, [self.text(name, example) for example in block])
        values = [example.values[column.field_of(name)] for example in block]
        if column.kind == "tokens":
            return self._by_word(column, values)
        if column.kind in ("tags", "class", "spans"):
            labels = self.vocabularies.labels(column.vocabulary)
            return [self._labels(name, labels, value, e) for value, e in zip(values, block, strict=True)]
        if column.kind == "raw":
            return [np.frombuffer(str(value).encode(errors="surrogatepass"), np.uint8) for value in values]
        if column.kind == "offsets":
            return self.vocabularies.tokenizer(column.vocabulary).offsets([str(value) for value in values])
        if column.kind == "answers":
            return [np.array(value, np.int64).reshape(-1, 2) for value in values]
        if column.kind == "image":
            shape = self.vocabularies.numbers(column.vocabulary).shape
            return [images.read(value, where=e.where, shape=shape) for value, e in zip(values, block, strict=True)]
        if column.kind == "vectors":
            return [self._frames(column, value) for value in values]
        if column.kind == "number":
            return [number_of(value, example.where) for value, example in zip(values, block, strict=True)]
        return [np.asarray(value) for value in values]

    def _tokens(self, column: Column, block: Sequence[Example], texts: list[str]) -> list[Row]:
        tokenizer = self.vocabularies.tokenizer(column.vocabulary)
        rows: list[Row] = list(tokenizer.encode_batch(texts))
        for number, example in enumerate(block if column.lead else ()):
            lead = str(example.values.get(column.lead, ""))
            if column.prefixes and not lead:
                raise LexigraphError(
                    f"{example.where}: no task is named, and data.prefixes has texts for "
                    f"{', '.join(dict(column.prefixes))}: name files as {column.prefixes[0][0]}=FILE, or give each "
                    f"record a field {column.lead!r}."
                )
            if lead:
                rows[number] = np.concatenate([lead_ids(tokenizer, column, lead), np.asarray(rows[number])])
        return rows

    def _by_word(self, column: Column, values: Sequence[Value]) -> list[Row]:
        words = [words_of(value) for value in values]
        tokenizer = self.vocabularies.tokenizer(column.vocabulary)
        if column.texts:
            cut = iter(tokenizer.encode_batch([text for row in words for text in row]))
            return [list(islice(cut, len(row))) for row in words]
        if tokenizer.marks_spaces:  # as in running text, where the space before a word is part of it
            words = [[*row[:1], *(f" {word}" for word in row[1:])] for row in words]
        cut = iter(tokenizer.encode_words([word for row in words for word in row]))
        return [list(islice(cut, len(row))) for row in words]

    def _frames(self, column: Column, value: Value) -> np.ndarray:
        array, width = frames.read(value), len(self.vocabularies.numbers(column.vocabulary))
        if array.shape[1] != width:
            raise LexigraphError(f"A frame has {array.shape[1]} numbers, and those of this model have {width}.")
        return array

    def _labels(self, name: str, labels: Labels, value: Value, example: Example) -> np.ndarray:
        column = self.columns[name]
        if column.scheme:
            self.checks[name, example.split].read(words_of(value), example.where)
        names = labels_of(column, value)
        ids = np.array([labels.id_of(label) for label in names], np.int64)
        if (ids < 0).any():
            self.unseen.setdefault(name, (names[int((ids < 0).argmax())], example.where))
        if column.kind == "spans":
            ends = [span[:2] for span in cast("list[Span]", value)]
            return np.column_stack([np.array(ends, np.int64).reshape(-1, 2), ids])
        return np.asarray(ids[0]) if column.kind == "class" else ids

    def _check_aligned(
        self, name: str, words: str, found: Mapping[str, Sequence[Row]], block: Sequence[Example]
    ) -> None:
        if self.columns[name].kind in ("spans", "offsets", "answers"):
            return
        for row, of, example in zip(found[name], found[words], block, strict=True):
            if len(row) != len(of):
                raise LexigraphError(
                    f"{example.where}: there are {len(of)} {words} and {len(row)} {name}; each has one."
                )


def number_of(value: Value, where: str = "") -> np.ndarray:
    """One number, as a record says it."""
    where = f"{where}: " if where else ""
    try:
        found = np.asarray(value, np.float32)
    except (TypeError, ValueError):
        raise LexigraphError(f"{where}{value!r:.60} is no number.") from None
    if found.ndim or not np.isfinite(found):
        raise LexigraphError(f"{where}{value!r:.60} is no number, or none that is finite.")
    return found


def running(value: Value) -> str:
    """A text, or words as the text that they are."""
    return value if isinstance(value, str) else " ".join(words_of(value))


def words_of(value: Value) -> list[str]:
    """Words or labels one by one, as they are listed or stand in a text; a number is one of them."""
    if isinstance(value, str | int | float):
        return str(value).split()
    assert not isinstance(value, Path), f"{value} is neither a text nor words"
    return [str(each) for each in value]


def labels_of(column: Column, value: Value) -> list[str]:
    """A class, or tags or spans' labels one by one, as a column has them.

    >>> labels_of(Column("spans", until="-="), [Span(0, 3, "S+NP-SBJ-1"), Span(0, 0, "-LRB-")])
    ['S+NP', '-LRB-']
    """
    if column.kind == "spans":
        names = [span.label for span in cast("list[Span]", value)]
    else:
        names = [str(value)] if column.kind == "class" else words_of(value)
    if column.until:
        names = [_until(column, name) for name in names]
    return converted(names, column.scheme) if column.scheme else names


def _until(column: Column, name: str) -> str:
    """A label up to the first of some signs; of labels that are joined, each."""
    joint = UNARY if column.kind == "spans" else "\n"
    signs = f"[{re.escape(column.until)}]"
    return joint.join(re.split(signs, part, maxsplit=1)[0] or part for part in name.split(joint))


def lead_ids(tokenizer: Tokenizer, column: Column, name: str) -> list[int]:
    """The tokens that a task's name puts before a text: those of its prefix, or one special token."""
    if not column.prefixes:
        return [special_id(tokenizer, name)]
    if name not in (prefixes := dict(column.prefixes)):
        raise UsageError(f"{name!r} is no task of this model; data.prefixes has texts for {', '.join(prefixes)}.")
    return [int(token) for token in tokenizer.encode(prefixes[name].rstrip())]


def special_id(tokenizer: Tokenizer, name: str) -> int:
    """The id of a special token, or a sentence that says which ones there are. `de` is <de> or <2de>, too."""
    known = directions(tokenizer)
    for spelt in (name, *spellings(name)):
        if spelt in known or (tokenizer.kind == "imported" and spelt in tokenizer.special):
            return tokenizer.special[spelt]
    if not known:
        raise LexigraphError(f"{name!r}: this model was taught no directions, and writes one language.")
    raise LexigraphError(
        f"{name!r} is no direction of this model; it has {', '.join(known)}. A direction has to be one of the "
        "training text: name files there as de=FILE, or a field for it in data.columns."
    )


def spellings(name: str) -> tuple[str, str]:
    """The special tokens that the name of a direction may stand for, the usual one last."""
    return f"<{name}>", f"<2{name}>"


def directions(tokenizer: Tokenizer) -> list[str]:
    """The special tokens that have no part to play but to say which language or task is wanted."""
    if tokenizer.kind == "imported":  # nobody knows what its special tokens are for
        return []
    parts = {*tokenizer.roles.values(), *sentinels(tokenizer)} | {tokenizer.special.get(name) for name in USUAL}
    return [name for name, i in tokenizer.special.items() if i not in parts]
