"""A text as word numbers on disk: counted once, read in blocks, never whole in memory.

    with Corpus.read("my.txt", min_count=5) as corpus:
        corpus.words, corpus.counts            # the most frequent first; words rarer than min_count are left out
        for block in corpus.blocks(): …        # int32 ids, -1 where a line ends

The ids lie in a temporary folder, four bytes a word, and go when the corpus is closed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Data
from lexigraph.text import builtin, files, readers
from lexigraph.text.files import Given
from lexigraph.text.sentences import of_pieces
from lexigraph.text.source import Source
from lexigraph.words.scan import END, Types

BLOCK = 1 << 16  # ids read at a time: 256 KiB
CHARS = 1 << 16  # characters scanned at a time


class Corpus:
    """The words of a text with their counts, and the text as their numbers.

    words, counts: the most frequent first, equal ones as they first appear. Words that come up together are of one
        topic as a rule, and neighbours in a Huffman tree: hierarchical softmax is better so than by the alphabet.
    tokens, lines: how many the text holds without the words left out.
    dropped: how many words of the text were left out.
    """

    def __init__(self, words: list[str], counts: np.ndarray, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.words, self.counts = words, counts
        self.tokens, self.lines, self.dropped = int(counts.sum()), 0, 0
        self.fingerprint = ""  # of words and text
        self._folder = folder

    @classmethod
    def read(
        cls,
        text: Given | Data,
        min_count: int = 5,
        max_words: int = 0,
        split: str = "words",
        report: Callable[[int], None] = lambda words: None,
    ) -> Corpus:
        """Count the words of a file, or of what a recipe's [data] names, and number its text.

        max_words: at most so many different words, the most frequent; 0: all.
        split: how text is cut, "words" or "space" (see scan.py).
        report: called now and then with the number of words read.
        """
        if min_count < 1 or max_words < 0:
            raise UsageError(f"min_count is {min_count} and max_words {max_words}: neither may be less than 1 and 0.")
        folder = tempfile.TemporaryDirectory(prefix="lexigraph-")
        try:
            types, seen = Types(split), 0
            data = text if isinstance(text, Data) else Data(train=files.named(text))
            with open(Path(folder.name) / "labels", "wb") as labels:
                for piece in texts(data):
                    ids = types.scan(piece)
                    ids.tofile(labels)
                    report(seen := seen + int(np.count_nonzero(ids != END)))
            words, counts, ranks = _ranked(types, min_count, max_words)
            if not words:
                most = f"the most frequent is seen {types.counts.max()} times" if len(types) else "there are no words"
                raise LexigraphError(
                    f"{files.shown(data.train)}: no word is seen min_count = {min_count} times; {most}. "
                    "Lower min_count."
                )
            del types  # numbering needs the room
            corpus = cls(words, counts, folder)
            corpus._number(ranks, seen)
            _give_back()
        except BaseException:
            folder.cleanup()
            raise
        return corpus

    def _number(self, ranks: np.ndarray, seen: int) -> None:
        """Write the ids of the words that are kept; each line that has any still ends with END."""
        source, target = Path(self._folder.name) / "labels", self._file
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=8)
        with open(source, "rb") as labels, open(target, "wb") as ids:
            ended = True  # so that a line of dropped words leaves nothing
            while len(block := np.fromfile(labels, np.int32, BLOCK)):
                ranked = ranks[block]  # END is -1: the last rank
                ranked = ranked[ranked != DROPPED]
                ends = ranked == END
                again = ends & np.concatenate([[ended], ends[:-1]])
                if len(ranked):
                    ended = bool(ends[-1])
                self.lines += int(ends.sum() - again.sum())
                kept = ranked[~again]
                kept.tofile(ids)
                digest.update(kept.data)
            if not ended:
                np.array([END], np.int32).tofile(ids)
                self.lines += 1
        source.unlink()
        self.dropped = seen - self.tokens
        self.fingerprint = digest.hexdigest()

    @property
    def _file(self) -> Path:
        return Path(self._folder.name) / "ids"

    def blocks(self, size: int = BLOCK) -> Iterator[np.ndarray]:
        """The text's ids in blocks of whole lines, about `size` each; a longer line is cut."""
        rest = np.empty(0, np.int32)
        with open(self._file, "rb") as ids:
            while len(block := np.fromfile(ids, np.int32, size)):
                block = np.concatenate([rest, block])
                ends = np.flatnonzero(block[-size:] == END)
                cut = len(block) - min(size, len(block)) + int(ends[-1]) + 1 if len(ends) else len(block)
                yield block[:cut]
                rest = block[cut:]
        if len(rest):
            yield rest

    def close(self) -> None:
        """Remove the temporary files."""
        self._folder.cleanup()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def _give_back() -> None:
    """Return freed memory to the system, which glibc keeps otherwise: tables that grew leave holes of 35 MiB."""
    if trim := getattr(ctypes.CDLL(None) if os.name == "posix" else None, "malloc_trim", None):
        trim(0)


DROPPED = -3


def _ranked(types: Types, min_count: int, max_words: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words that are kept and their counts, and for each label its rank among them, END for END, else DROPPED."""
    frequent = np.flatnonzero(types.counts >= min_count)
    words, counts = types.words(frequent), types.counts[frequent]
    order = np.argsort(-counts, kind="stable")[: max_words or len(words)]
    ranks = np.full(types.given + 1, DROPPED, np.int32)
    ranks[types.labels[frequent[order]]] = np.arange(len(order))
    ranks[-1] = END
    return [words[place] for place in order], counts[order], ranks


def texts(text: Given | Data) -> Iterator[str]:
    """The text of files, or of the built-in corpus, in large pieces that begin and end between words."""
    data = text if isinstance(text, Data) else Data(train=files.named(text))
    pieces = (piece for file in files.expand(data.train) for piece in _pieces(file, data))
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= CHARS:
            yield "".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield "".join(waiting)


def _pieces(file: str, data: Data) -> Iterator[str]:
    """A file's text in pieces; the last ends a line, so that no words of two files stand together."""
    if files.built_in(file):
        yield from (sentence + "\n" for sentence in builtin.sentences(data.sentences, file))
        return
    pieces = readers.read_text(Source(file, encoding=data.encoding), columns=data.columns or None)
    if data.split_sentences:
        pieces = (sentence + "\n" for sentence, _ in of_pieces(pieces))
    yield from pieces
    yield "\n"


def sentences(file: Given, split: str = "words") -> Iterator[list[str]]:
    """The lines of a file as lists of words, those without any left out."""
    types = Types(split, most=2**31)
    words: list[str] = []
    line: list[str] = []
    for text in texts(file):
        ids = types.scan(text).tolist()
        if len(types) > len(words):
            words = types.words()
        for label in ids:
            if label == END:
                yield line
                line = []
            else:
                line.append(words[label])
    if line:
        yield line
