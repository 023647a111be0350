"""Examples on disk: for every column one file of values, mapped and never loaded whole, and where examples begin.

    tokens       values  <eos> w w w <eos> w w <eos> …      offsets  0 4 7 …
    by word      values  w w w w w …                        offsets  0 2 3 … of words, inner  0 3 4 5 … of tokens
    sequences    values  v v v v v …                        offsets  0 3 5 …   tags, vectors
    one each     values  v v v …                            class, number, image: value i is that of example i

So an example's tokens with both boundaries are `values[offsets[i] : offsets[i + 1] + 1]`, and the whole is a stream.
A table holds one split of one data set: `train.text.values`, `train.text.offsets` …; further tables have their name
in front. A column that shows a neighbour (`Column.at`) has no file: it reads that of the column that it is beside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Int, Integer

from lexigraph.errors import LexigraphError
from lexigraph.stored import array_in, table_in
from lexigraph.text.batches import Rows
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.raw import RawText

SPLITS = ("train", "valid", "test")

Row = np.ndarray | list[np.ndarray]  # of one example: values, or those of each of its words


@dataclass(frozen=True)
class Stored:
    """A column of a table, mapped from the disk."""

    column: Column
    values: np.ndarray
    offsets: Int[np.ndarray, " bounds"] | None = None
    inner: Int[np.ndarray, " words"] | None = None
    counts: Int[np.ndarray, " values"] = field(default_factory=lambda: np.zeros(0, np.int64))  # how often each occurs
    bytes: int = 0  # of UTF-8 that its tokens stand for, a boundary counted as one: what bits per byte divides by
    texts: RawText | None = None  # of a held-out split
    lost: str = ""  # the first word of it that its tokens do not give back

    @property
    def bounded(self) -> bool:
        """Whether a boundary stands before and behind every example."""
        return self.column.kind == "tokens" and not self.column.by_word

    def of(self, example: int) -> Row:
        """The values of an example, its boundaries included."""
        if self.offsets is None:
            return np.asarray(self.values[example])
        return self.between(*self.offsets[example : example + 2].tolist())

    def between(self, first: int, last: int) -> Row:
        """The values, or words, from one position to another; of tokens, the one after them too."""
        if self.inner is None:
            return self.values[first : last + self.bounded]
        bounds = self.inner[first : last + 1].tolist()
        return [self.values[a:b] for a, b in pairwise(bounds)]

    def contents(self, starts: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The tokens of rows that are whole examples, without their boundaries."""
        return [self.values[a + 1 : a + n] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def raw(self, examples: Sequence[int] | np.ndarray) -> list[str]:
        """The text of examples of a held-out split, cleaned as the recipe says and never tokenized."""
        if self.texts is None:
            raise LexigraphError("Only held-out text is kept beside its tokens, and this is none.")
        return self.texts.take(np.asarray(examples).tolist())

    def lengths(self) -> Integer[np.ndarray, " examples"]:
        """How long each example is, with the boundary that ends it. There may be millions: 4 bytes each."""
        assert self.offsets is not None
        lengths = np.empty(len(self.offsets) - 1, np.int32)
        np.subtract(self.offsets[1:], self.offsets[:-1], out=lengths, casting="unsafe")
        return lengths


@dataclass(frozen=True)
class Table:
    """A split of a data set, mapped from the disk."""

    examples: int
    columns: Mapping[str, Stored]
    documents: Int[np.ndarray, " examples"] | None = None

    def __len__(self) -> int:
        return self.examples

    @cached_property
    def sequences(self) -> list[str]:
        """The columns of tokens, which decide how long a row is, as the recipe cuts them if any is; where there are
        none, those of vectors."""
        columns = {name: stored.column for name, stored in self.columns.items()}
        tokens = [name for name, column in columns.items() if column.kind == "tokens"]
        own = [name for name in tokens if not columns[name].cut]
        return own or tokens or [name for name, column in columns.items() if column.kind == "vectors"]

    @property
    def vocabularies(self) -> list[str]:
        """The first column of tokens of each vocabulary."""
        tokens = [(name, stored.column) for name, stored in self.columns.items() if stored.column.kind == "tokens"]
        return list({column.vocabulary: name for name, column in reversed(tokens)}.values())[::-1]

    def fetch(
        self,
        rows: Rows,
        traits: Traits,
        seeds: Int[np.ndarray, " rows"] | None = None,
        besides: Collection[str] = (),
    ) -> dict[str, Sequence[Row]]:
        """The columns of rows, as `network.prepare` takes them, `besides` those that somebody else brings.

        Of the windowed column each row is a window, unless examples of several columns are read whole; of the others,
        all of the example. `seeds` choose the examples of columns that show any other one.
        """
        found: dict[str, Sequence[Row]] = {}
        names = [name for name in self.columns if name not in besides]
        others = [name for name in names if not self.cuts(name, traits)]
        examples = self.examples_of(rows, traits.windowed) if others else np.zeros(0, int)
        for name in names:
            stored = self.columns[name]
            if name not in others:
                found[name] = self.windows(name, rows)
                continue
            chosen = self._neighbours(examples, stored.column.at, seeds)
            found[name] = [stored.of(i) if i >= 0 else _nothing(stored) for i in chosen.tolist()]
        return found

    def cuts(self, name: str, traits: Traits) -> bool:
        """Whether a row has a window of this column, and not all of its example's."""
        column = self.columns[name].column
        if traits.windowed not in self.columns or (traits.reads_whole and len(self.columns) > 1):
            return False
        return traits.windowed in (name, column.aligned) and column.kind not in ("spans", "answers")

    def rows_of(self, name: str, rows: Rows, traits: Traits) -> Rows:
        """Where the values of a column of sequences stand for each row."""
        if self.cuts(name, traits):
            return rows
        offsets, examples = self.columns[name].offsets, self.examples_of(rows, traits.windowed)
        assert offsets is not None
        return Rows(offsets[examples], offsets[examples + 1] - offsets[examples], rows.epoch)

    def windows(self, name: str, rows: Rows) -> list[Row]:
        """The values of each row, and, of tokens, the one after them; of words, the pieces of each."""
        stored = self.columns[name]
        bounds = zip(rows.starts.tolist(), rows.lengths.tolist(), strict=True)
        return [stored.between(start, start + length) for start, length in bounds]

    def examples_of(self, rows: Rows, windowed: str) -> Int[np.ndarray, " rows"]:
        """The example in which each row begins."""
        if windowed not in self.columns:
            return np.asarray(rows.starts)
        offsets = self.columns[windowed].offsets
        assert offsets is not None
        return np.searchsorted(offsets, rows.starts, side="right") - 1

    def _neighbours(
        self, examples: Int[np.ndarray, " rows"], at: str, seeds: Int[np.ndarray, " rows"] | None
    ) -> Int[np.ndarray, " rows"]:
        """Those that stand beside these in their documents, -1 where there is none; or any others."""
        if not at:
            return examples
        if at == "random":
            drawn = examples * 0x9E3779B1 if seeds is None else seeds
            return (examples + 1 + drawn % max(1, self.examples - 1)) % self.examples
        assert self.documents is not None
        beside = examples + (1 if at == "after" else -1)
        there = (beside >= 0) & (beside < self.examples)
        same = self.documents[beside.clip(0, self.examples - 1)] == self.documents[examples]
        return np.where(there & same, beside, -1)

    # ---- how examples become rows ----------------------------------------------------------------------------

    def cut(self, traits: Traits) -> tuple[Integer[np.ndarray, " rows"], Integer[np.ndarray, " rows"]]:
        """Starts and lengths of the rows that all examples make.

        An example that is read whole is left out if one of its sequences is too long, or all are empty. One that is
        not goes on in further windows.
        """
        if traits.windowed not in self.columns:
            numbers = np.arange(self.examples)
            if not self.sequences:
                return numbers, np.ones(self.examples, np.int32)
            fitting = self.longest <= (traits.context if traits.reads_whole and traits.context else np.inf)
            return numbers[fitting], self.longest[fitting]
        if not traits.reads_whole:
            return windows_of(self.columns[traits.windowed], traits.context, traits.overlap)
        lengths = self.longest
        least = min(self.columns[name].bounded for name in self.sequences)  # the boundary that ends a text is no word
        fitting = (lengths > least) & (lengths <= (traits.context or lengths.max(initial=0)))
        offsets = self.columns[traits.windowed].offsets
        assert offsets is not None
        return offsets[:-1][fitting], lengths[fitting]

    def check(self) -> None:
        """ValueError if the files of a column do not fit together."""
        for name, stored in self.columns.items():
            bounds, count = stored.offsets, len(stored.values) if stored.inner is None else len(stored.inner)
            examples = len(stored.values) if bounds is None else len(bounds) - 1
            last = 0 if bounds is None or not len(bounds) else int(bounds[-1])
            if examples != self.examples or last > count:
                raise ValueError(f"the column {name} has {examples} examples of {self.examples}, or lost some values")

    @property
    def longest(self) -> Integer[np.ndarray, " examples"]:
        """The length of every example's longest sequence, the boundary that ends it included."""
        lengths = [self.columns[name].lengths() for name in self.sequences]
        return lengths[0] if len(lengths) == 1 else np.maximum.reduce(lengths)

    def too_long(self, traits: Traits) -> int:
        """How many examples are left out because one of their sequences does not fit into the model."""
        if not traits.reads_whole or not traits.context or not self.sequences:
            return 0
        return int((self.longest > traits.context).sum())


def windows_of(
    stored: Stored, longest: int, overlap: int = 0
) -> tuple[Integer[np.ndarray, " rows"], Integer[np.ndarray, " rows"]]:
    """Starts and lengths of all examples; one longer than `longest` (0: no limit) goes on in further windows, each of
    which begins with the last `overlap` tokens of the one before."""
    assert stored.offsets is not None
    starts, lengths = stored.offsets[:-1], stored.lengths()
    if not longest or lengths.max(initial=0) <= longest:
        return starts, lengths
    step = longest - overlap
    count = int(_windows(lengths, longest, step).sum())
    firsts = np.empty(count, np.uint32 if len(stored.values) < 2**32 else np.int64)
    sizes = np.empty(count, np.int32)
    done = 0
    for block in range(0, len(starts), 1 << 20):  # in blocks, whose 64-bit positions are soon gone
        length = lengths[block : block + (1 << 20)]
        parts = _windows(length, longest, step)
        unit = np.repeat(np.arange(len(parts)), parts)
        position = (np.arange(len(unit)) - (np.cumsum(parts) - parts)[unit]) * step  # of a window within its example
        here = slice(done, done := done + len(unit))
        firsts[here] = starts[block : block + (1 << 20)][unit] + position
        sizes[here] = np.minimum(length[unit] - position, longest)
    return firsts, sizes


def _windows(lengths: np.ndarray, longest: int, step: int) -> np.ndarray:
    """How many windows of at most `longest`, begun every `step`, hold so many tokens."""
    return 1 + -(-np.maximum(lengths - longest, 0) // step)


def _nothing(stored: Stored) -> Row:
    """What stands for a neighbour that is not there: an empty text."""
    return stored.values[:1].repeat(2) if stored.bounded else stored.values[:0]


# ---- files ----------------------------------------------------------------------------------------------------


def tables(folder: Path, columns: Columns, table: str = MAIN) -> dict[str, Table]:
    """The tables in a folder, by split."""
    files = {split: folder / file_of(table, split) for split in SPLITS}
    return {split: _load(file, columns) for split, file in files.items() if beside(file, "json").exists()}


def _load(file: Path, columns: Columns) -> Table:
    """A table whose files fit together, or a sentence."""
    try:
        table = _mapped_table(file, columns)
        table.check()
        return table
    except (KeyError, TypeError, ValueError, OSError, IndexError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise LexigraphError(
            f"The encoded text {file} is damaged: {reason}. Train anew into another folder."
        ) from None


def _mapped_table(file: Path, columns: Columns) -> Table:
    facts = table_in(beside(file, "json"))
    documents = beside(file, "documents.npy")
    found = {}
    for name, column in columns.items():
        stored = stored_as(columns, name)
        path, own = file.with_name(f"{file.name}.{stored}"), facts["columns"][stored]
        counts = beside(path, "counts.npy")
        found[name] = Stored(
            column,
            _mapped(beside(path, "values"), own["dtype"], tuple(own["shape"])),
            _mapped(beside(path, "offsets"), "int64") if column.sequence else None,
            _mapped(beside(path, "inner"), "int64") if column.by_word else None,
            array_in(counts) if counts.exists() else np.zeros(0, np.int64),
            own["bytes"],
            RawText.load(path),
            own["lost"],
        )
        _refuse_misfit(path, found[name])
    numbers = array_in(documents) if documents.exists() else None
    return Table(facts["examples"], found, numbers)


def _refuse_misfit(path: Path, stored: Stored) -> None:
    """Refuse offsets that do not end where their values do: older tables have no checksums that would tell."""
    ends = [("offsets", stored.offsets, len(stored.values) if stored.inner is None else len(stored.inner) - 1)]
    ends += [("inner", stored.inner, len(stored.values))]
    for suffix, bounds, end in ends:
        if bounds is not None and (not len(bounds) or bounds[-1] + stored.bounded != end):
            raise LexigraphError(f"{beside(path, suffix)} is damaged: it does not fit the values beside it.")


def _mapped(path: Path, dtype: str, shape: tuple[int, ...] = ()) -> np.ndarray:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.zeros((0, *shape), dtype)
    return np.memmap(path, dtype, "r").reshape(-1, *shape)


def stored_as(columns: Columns, name: str) -> str:
    """The column whose file holds this one: another, where this one shows its neighbours."""
    column = columns[name]
    same = (
        other
        for other, each in columns.items()
        if not each.at
        and (each.field_of(other), each.vocabulary, each.by_word)
        == (column.field_of(name), column.vocabulary, column.by_word)
    )
    return next(same, name) if column.at else name


def file_of(table: str, split: str) -> str:
    return f"{table}.{split}" if table else split


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")
