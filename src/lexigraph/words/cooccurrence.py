"""How often words stand near each other: X_wc = Σ weight(d) over all positions where c stands d words from w.

    with Corpus.read("my.txt") as corpus, cooccurrence(corpus, window=10, weighting="harmonic") as counts:
        counts.matrix()                                    # words × contexts, sparse, where it fits into memory
        for rows, columns, values in counts.triples(): …   # the same piece by piece, where it does not

    flat        weight(d) = 1
    harmonic    weight(d) = 1 / d                          GloVe's
    linear      weight(d) = (window − d + 1) / window      what word2vec's random windows come to on average

Contexts stand on the left of the word, on its right, or on both sides; then X_wc = X_cw. A window ends with its line.

One word is counted at a time: all its positions are visited, and what stands around them is added up in an array as
long as the vocabulary, which a processor's cache can hold. A text too long for memory is counted in parts, which are
added up in the end. The counts lie in temporary files.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import reduce
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import numpy as np
from scipy.sparse import csr_matrix

from lexigraph.compiled import kernel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import nearest
from lexigraph.words.corpus import Corpus
from lexigraph.words.scan import END

MEMORY = 512 << 20
PARTS = 16  # counted, then added up to one
PIECE = 1 << 20  # cells handed out, or counted by a thread, at a time: 8 MiB
SIDES = {"left": [-1], "right": [1], "both": [-1, 1]}
WEIGHTINGS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "flat": lambda distance, window: np.ones(window),
    "harmonic": lambda distance, window: 1 / distance,
    "linear": lambda distance, window: (window - distance + 1) / window,
}


class Cooccurrence:
    """Counts on disk, row after row: a row holds the contexts of one word. They go when it is closed.

    vocabulary: how many words there are, and as many contexts.
    nonzeros: pairs of words that were seen together.
    starts: row w is the cells starts[w] … starts[w + 1] − 1.
    """

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary, self.nonzeros, self.starts = vocabulary, 0, np.zeros(vocabulary + 1, np.int64)
        self._folder = tempfile.TemporaryDirectory(prefix="lexigraph-")

    def matrix(self) -> csr_matrix:
        """All counts, words × contexts."""
        return self.rows(0, self.vocabulary)

    def rows(self, first: int, last: int) -> csr_matrix:
        """The counts of the words first … last − 1."""
        starts = self.starts[first : last + 1]
        columns, values = self._cells(int(starts[0]), int(starts[-1]))
        return csr_matrix((values, columns, starts - starts[0]), shape=(last - first, self.vocabulary))

    def triples(self, size: int = PIECE) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Word, context (both int32) and count (float32) of every pair, in order, `size` pairs at a time."""
        for begin in range(0, self.nonzeros, size):
            end = min(begin + size, self.nonzeros)
            first, last = np.searchsorted(self.starts, [begin, end - 1], "right")
            lengths = np.diff(self.starts[first - 1 : last + 1].clip(begin, end))
            yield np.repeat(np.arange(first - 1, last, dtype=np.int32), lengths), *self._cells(begin, end)

    def _cells(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of the cells begin … end − 1."""
        columns = np.fromfile(self._file("columns"), np.int32, end - begin, offset=4 * begin)
        values = np.fromfile(self._file("values"), np.float32, end - begin, offset=4 * begin)
        return columns, values

    def _append(self, first: int, ends: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Write rows from `first` on, below those that are there; ends: where each ends in columns and values."""
        self.starts[first + 1 : first + 1 + len(ends)] = self.nonzeros + ends
        self.nonzeros += len(columns)
        try:
            for name, cells in (("columns", columns.astype(np.int32, copy=False)), ("values", values)):
                with open(self._file(name), "ab") as file:
                    cells.tofile(file)
        except OSError as error:
            raise LexigraphError(
                f"The counts could not be written to {self._folder.name}: {error}. Make room there, or set "
                "TMPDIR to a folder that has more."
            ) from None

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def close(self) -> None:
        """Remove the temporary files."""
        self._folder.cleanup()

    def __enter__(self) -> Cooccurrence:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def cooccurrence(
    corpus: Corpus,
    window: int = 5,
    side: str = "both",
    weighting: str = "flat",
    memory: int = MEMORY,
    threads: int = 1,
) -> Cooccurrence:
    """Count the words around every word of a text.

    side: where contexts stand: "left", "right" or "both".
    weighting: "flat", "harmonic" or "linear", see above.
    memory: bytes that may be in use, about; a text that needs more is counted in parts.
    """
    for name, value, known in (("side", side, SIDES), ("weighting", weighting, WEIGHTINGS)):
        if value not in known:
            raise UsageError(f"There is no {name} {value!r}{nearest(value, known)}")
    if window < 1 or threads < 1:
        raise UsageError(f"window is {window} and threads {threads}: neither may be less than 1.")
    weights = WEIGHTINGS[weighting](np.arange(1, window + 1), window)
    length = min(max(memory // 40, 1), 1 << 30)  # 20 bytes for each id, in half of the memory; positions are int32
    with ExitStack() as stack:
        parts = []
        for ids, begin in _overlapping(corpus, length, window):
            parts.append(stack.enter_context(Cooccurrence(len(corpus.words))))
            _count(parts[-1], ids, begin, np.array(SIDES[side]), weights, threads)
            if len(parts) == PARTS:
                parts = [stack.enter_context(_added(parts))]
        if not any(part.nonzeros for part in parts):
            raise LexigraphError(
                "No two words of the text stand on one line. Give text with a sentence on each line."
            )
        if len(parts) > 1:
            return _added(parts)
        stack.pop_all()
    return parts[0]


def _overlapping(corpus: Corpus, length: int, window: int) -> Iterator[tuple[np.ndarray, int]]:
    """Parts of the text, an END on either side, each with the words that stand before it, and where it begins."""
    before = np.empty(0, np.int32)
    for block in corpus.blocks(length):
        ids = np.concatenate([[END], before, block, [END]], dtype=np.int32)
        yield ids, 1 + len(before)
        before = ids[1:-1][-window:].copy()  # a long line is cut, but windows go on


def _count(
    counts: Cooccurrence, ids: np.ndarray, begin: int, steps: np.ndarray, weights: np.ndarray, threads: int
) -> None:
    """Write the counts of one part of the text: pairs of which a word stands at ids[begin] or after it."""
    starts, positions = np.zeros(counts.vocabulary + 2, np.int64), np.empty(len(ids), np.int32)
    _find(ids, starts, positions)
    most = np.minimum(np.diff(starts[:-1]) * len(steps) * len(weights), counts.vocabulary)  # cells in each row

    def rows(first: int, last: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        room, ends = int(most[first:last].sum()), np.empty(last - first, np.int64)
        columns, values = np.empty(room, np.int32), np.empty(room, np.float32)
        _add(
            ids, begin, starts[first:], positions, steps, weights, np.zeros(counts.vocabulary), ends, columns, values
        )
        return first, ends, columns[: ends[-1]], values[: ends[-1]]

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[tuple[int, np.ndarray, np.ndarray, np.ndarray]]] = deque()
        for first, last in _pieces(most):
            if len(waiting) > threads:
                counts._append(*waiting.popleft().result())
            waiting.append(pool.submit(rows, first, last))
        for piece in waiting:
            counts._append(*piece.result())


def _pieces(lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs of rows, from … to, that have about `PIECE` cells together."""
    cuts = np.flatnonzero(np.diff(np.cumsum(lengths) // PIECE)) + 1
    return pairwise([0, *cuts.tolist(), len(lengths)])


def _added(parts: list[Cooccurrence]) -> Cooccurrence:
    """The sum of the counts of several parts, in place of them."""
    counts = Cooccurrence(parts[0].vocabulary)
    try:
        for first, last in _pieces(np.diff(reduce(np.add, (part.starts for part in parts)))):
            rows = sum((part.rows(first, last) for part in parts[1:]), parts[0].rows(first, last))
            counts._append(first, rows.indptr[1:], rows.indices, rows.data)
    except BaseException:
        counts.close()
        raise
    for part in parts:
        part.close()
    return counts


@kernel("void(int32[::1], int64[::1], int32[::1])")
def _find(ids, starts, positions):
    """Sort the positions of the text by word: those of word w become positions[starts[w] : starts[w + 1]]."""
    for word in ids:
        if word >= 0:
            starts[word + 2] += 1
    for word in range(2, len(starts)):
        starts[word] += starts[word - 1]
    for place in range(len(ids)):
        if ids[place] >= 0:
            positions[starts[ids[place] + 1]] = place
            starts[ids[place] + 1] += 1


@kernel(
    "void(int32[::1], int64, int64[::1], int32[::1], int64[::1], float64[::1], float64[::1], int64[::1], int32[::1],"
    " float32[::1])"
)
def _add(ids, begin, starts, positions, steps, weights, sums, ends, columns, values):
    """Add up what stands around the positions of each word, row after row; sums are 0 before and after each."""
    written = 0
    for row in range(len(ends)):
        start = written
        for place in positions[starts[row] : starts[row + 1]]:
            for step in steps:
                at = np.int64(place)
                for weight in weights:
                    at += step
                    context = ids[at]
                    if context < 0:
                        break
                    if max(at, place) < begin:  # both stand in the part before this one and were counted there
                        continue
                    if sums[context] == 0:
                        columns[written] = context
                        written += 1
                    sums[context] += weight
        columns[start:written].sort()
        for cell in range(start, written):
            values[cell] = sums[columns[cell]]
            sums[columns[cell]] = 0
        ends[row] = written
