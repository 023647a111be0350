"""Count what a text holds in one pass and bounded memory: the arithmetic behind `check`.

Lines are remembered as 64-bit hashes, words as they are; where there are many, a sample stands for all (`Sample`).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from lexigraph.text.readers import Record, pieces

MOST = 1 << 19  # lines or words that are held: some 50 MiB
BATCH = 1000  # records counted at a time
FINAL = tuple(".!?…。！？।؟")
CLOSING = "\"'”’»)]」』 \t"


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long lines are; `longest_line` is the number of the longest."""

    minimum: int
    median: int
    p95: int
    maximum: int
    longest_line: int


def stable_hash(text: str) -> int:
    """64 bits that are the same in every process, unlike Python's own hash."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class Sample:
    """Counts items in bounded memory: of too many, those whose hash ends in `level` zero bits stand for all."""

    def __init__(self, items: set[Hashable] | Counter[Hashable]) -> None:
        self.items = items  # a set, which is faster, where it does not matter how often each occurs
        self.level = 0
        self.met: set[Hashable] = set()

    def add(self, items: Iterable[Hashable]) -> None:
        self.items.update(filter(self._stands, items) if self.level else items)
        while len(self.items) > MOST:
            self.level += 1
            drop = self.items.discard if isinstance(self.items, set) else self.items.__delitem__
            for item in [item for item in self.items if not self._stands(item)]:
                drop(item)

    def _stands(self, item: Hashable) -> bool:
        number = item if isinstance(item, int) else stable_hash(str(item))
        return not number & ((1 << self.level) - 1)

    def distinct(self) -> int:
        return len(self.items) << self.level

    def meet(self, items: Iterable[Hashable]) -> None:
        """Note which of the counted items another split has."""
        self.met.update(filter(self.items.__contains__, items))

    def share_met(self) -> float:
        counts = Counter(self.items)
        return sum(counts[item] for item in self.met) / max(counts.total(), 1)


class Measure:
    """A length of every record: how often each occurs, and which is the longest."""

    def __init__(self) -> None:
        self.seen: Counter[int] = Counter()
        self.longest = (-1, 0)  # length, line number

    def add(self, numbers: Sequence[int], lengths: Sequence[int]) -> None:
        self.seen.update(lengths)
        if (longest := max(lengths)) > self.longest[0]:
            self.longest = (longest, numbers[lengths.index(longest)])

    def total(self) -> int:
        return sum(length * count for length, count in self.seen.items())

    def lengths(self) -> Lengths:
        """Quantiles by nearest rank: the smallest length that at least that share of lines does not exceed."""
        ordered = np.array(sorted(self.seen.items()))
        so_far = np.cumsum(ordered[:, 1])
        median, p95 = (int(ordered[np.searchsorted(so_far, share * so_far[-1]), 0]) for share in (0.5, 0.95))
        return Lengths(int(ordered[0, 0]), median, p95, *self.longest)


class Folding(dict[int, str | None]):
    """For str.translate: letters, accents and digits stay, all else goes."""

    def __missing__(self, code: int) -> str | None:
        self[code] = chr(code) if unicodedata.category(chr(code))[0] in "LMN" else None
        return self[code]


FOLDING = Folding()


class Tally:
    """Everything that is counted about one file. The training file gets the tallies of the `held_out` ones."""

    def __init__(self, held_out: Sequence[Tally] | None = None) -> None:
        self.held_out = held_out
        self.chars, self.words = Measure(), Measure()
        self.exact = Sample(Counter() if held_out is None else set())
        self.folded, self.vocabulary = Sample(Counter()), Sample(set())
        self.code_points = np.zeros(0x110000, dtype=np.int64)
        self.not_composed = self.sentence_ends = self.tabbed = 0

    @property
    def records(self) -> int:
        return self.chars.seen.total()

    def add_text(self, text: str) -> None:
        """Count the characters and distinct words of a stretch of text that does not end inside a word."""
        ascii = text.isascii()
        data = text.encode("ascii" if ascii else "utf-32-le", "surrogatepass")
        counts = np.bincount(np.frombuffer(data, dtype=np.uint8 if ascii else np.int32))
        self.code_points[: len(counts)] += counts
        self.vocabulary.add(set(text.split()))

    def add_records(self, numbers: list[int], texts: list[str], wholes: list[str], inputs: list[str]) -> None:
        """Count records: their line numbers, what is measured, all of them, and the part a model reads."""
        if not texts:
            return
        self.sentence_ends += sum(text.endswith(FINAL) or text.rstrip(CLOSING).endswith(FINAL) for text in texts)
        self.tabbed += sum("\t" in text for text in texts)
        self.not_composed += sum(not unicodedata.is_normalized("NFC", text) for text in texts)
        folded = [] if self.held_out == [] else [text.casefold().translate(FOLDING) for text in inputs]
        words = [len(text.split()) for text in texts]
        hashes = list(map(stable_hash, filter(None, folded)))
        self.add(numbers, list(map(len, texts)), words, list(map(stable_hash, wholes)), hashes)

    def add(
        self, numbers: list[int], chars: list[int], words: list[int], exact: list[int], folded: list[int]
    ) -> None:
        """Count records by their line numbers, lengths and hashes."""
        self.chars.add(numbers, chars)
        self.words.add(numbers, words)
        self.exact.add(exact)
        if self.held_out is None:
            self.folded.add(folded)
        for other in self.held_out or ():
            other.exact.meet(exact)
            other.folded.meet(folded)


class LongLine:
    """A line that is measured part by part because it is longer than a piece."""

    def __init__(self) -> None:
        self.chars = self.words = self.hash = 0
        self.end = ""  # its last character so far

    def add(self, part: str) -> None:
        self.chars += len(part)
        self.words += len((self.end + part).split()) - len(self.end.split())  # a word may go on
        self.hash = stable_hash(f"{self.hash} {part}")
        self.end = part[-1:] or self.end


def tally_plain(source: Iterable[str], tally: Tally) -> int:
    """Count plain text; return the number of parts that blank lines divide it into."""
    number, last, parts = 1, -1, 0  # number of the next line and of the last one that is not blank
    long = LongLine()
    for piece in pieces(chain(source, ["\n"])):  # so that every line ends
        tally.add_text(piece)
        *lines, rest = piece.split("\n")
        if rest:
            long.add(rest)
            continue
        numbers = []
        if long.chars:
            long.add(lines[0])
            lines[0] = ""
            if long.words:
                numbers.append(number)
                tally.add(numbers, [long.chars], [long.words], [long.hash], [])
            long = LongLine()
        filled = {place: line for place, line in enumerate(lines, number) if line and not line.isspace()}
        texts = list(filled.values())
        tally.add_records(list(filled), texts, texts, texts)
        number += len(lines)
        for place in chain(numbers, filled):
            parts += place != last + 1
            last = place
    return parts


def tally_records(records: Iterator[Record], tally: Tally, whole: bool) -> int:
    """Count records by the batch, `whole` or by their first column; return the number of documents."""
    document = -1
    while batch := list(islice(records, BATCH)):
        values = [
            [" ".join(v) if isinstance(v, list) else str(v) for v in record.columns.values()] for record in batch
        ]
        inputs = [row[0] for row in values]
        wholes = ["\t".join(row) for row in values]
        texts = wholes if whole else inputs
        tally.add_text("\n".join(texts))
        tally.add_records([record.line for record in batch], texts, wholes, inputs)
        document = batch[-1].document
    return document + 1
