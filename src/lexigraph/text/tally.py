"""Count what a text holds in one pass and bounded memory: the arithmetic behind `check`.

Lines and words are remembered as 64-bit hashes; where there are many, a sample stands for all (`Sample`).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from lexigraph.text.readers import Record, pieces

MOST = 1 << 17  # lines or words whose hashes are held: 2 MiB, for an error of 0.3 % where there are more
FAMILIAR = 1 << 15  # words that are known by themselves, so that a common one is hashed once
BATCH = 1000  # records counted at a time
NONE = np.zeros(0, np.uint64)
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
    """Counts different hashes in bounded memory: of too many, those that end in `level` zero bits stand for all."""

    def __init__(self) -> None:
        self.hashes, self.counts = NONE, np.zeros(0, np.int64)  # sorted; how often each occurs
        self.met = np.zeros(0, np.bool_)  # of each, whether another split has it
        self.level = 0
        self._waiting = np.zeros(MOST // 8, np.uint64)  # added, and not sorted in yet: the first `_many`
        self._many = self._given = 0

    def add(self, hashes: Sequence[int]) -> None:
        self._given += len(hashes)
        new = self._standing(np.array(hashes, np.uint64))
        if self._many + len(new) > len(self._waiting):
            self._sort_in(new)
            return
        self._waiting[self._many : self._many + len(new)] = new
        self._many += len(new)

    def _sort_in(self, more: np.ndarray = NONE) -> None:
        if not self._many + len(more):
            return
        new, often = np.unique(np.concatenate([self._waiting[: self._many], more]), return_counts=True)
        self._many = 0
        known = _find(self.hashes, new)
        self.counts[known[known >= 0]] += often[known >= 0]
        hashes = np.concatenate([self.hashes, new[known < 0]])
        counts = np.concatenate([self.counts, often[known < 0]])
        order = np.argsort(hashes, kind="stable")
        self.hashes, self.counts = hashes[order], counts[order]
        while len(self.hashes) > MOST:
            self.level += 1
            stand = self._stand(self.hashes)
            self.hashes, self.counts = self.hashes[stand], self.counts[stand]
        self.met = np.zeros(len(self.hashes), np.bool_)

    def _stand(self, hashes: np.ndarray) -> np.ndarray:
        return hashes & np.uint64((1 << self.level) - 1) == 0

    def _standing(self, hashes: np.ndarray) -> np.ndarray:
        return hashes[self._stand(hashes)] if self.level else hashes

    def distinct(self) -> int:
        self._sort_in()
        return len(self.hashes) << self.level

    def repeated(self) -> int:
        """How many were added again."""
        self._sort_in()
        given, again = self._given, int((self.counts - 1).sum()) << self.level
        # A few that recur very often are in the sample or not: then only the number of different ones scales well.
        others = max(0, given - self.distinct())
        error = given / max(1, len(self.hashes)) ** 0.5  # one standard deviation of `others`
        return others if abs(others - again) > 4 * error else again

    def meet(self, hashes: Sequence[int]) -> None:
        """Note which of the counted hashes another split has; all have been counted by then."""
        self._sort_in()
        found = _find(self.hashes, self._standing(np.array(hashes, np.uint64)))
        self.met[found[found >= 0]] = True

    def share_met(self) -> float:
        return float(self.counts[self.met].sum() / max(self.counts.sum(), 1))


def _find(ordered: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where in an ordered array each number stands; -1: nowhere."""
    if not len(ordered):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[places] == wanted, places, -1)


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
        self.exact, self.folded, self.vocabulary = Sample(), Sample(), Sample()
        self._familiar: set[str] = set()
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
        words = set(text.split()) - self._familiar
        self.vocabulary.add(list(map(stable_hash, words)))
        if len(self._familiar) < FAMILIAR:
            self._familiar.update(word for word in words if len(word) <= 20)

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
            [" ".join(map(str, v)) if isinstance(v, list) else str(v) for v in record.columns.values()]
            for record in batch
        ]
        inputs = [row[0] for row in values]
        wholes = ["\t".join(row) for row in values]
        texts = wholes if whole else inputs
        tally.add_text("\n".join(texts))
        tally.add_records([record.line for record in batch], texts, wholes, inputs)
        document = batch[-1].document
    return document + 1
