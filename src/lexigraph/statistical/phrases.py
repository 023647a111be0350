"""Phrase tables: stretches of words and what they become, read off aligned sentences (Koehn, Och & Marcu 2003).

A pair of phrases is taken if they have a link and no word of either is linked to a word outside of the other:

    das Haus ist klein        das → the    das Haus → the house    ist klein → is small    klein → small    …
    the house is small

Links come from both directions: those that both have, then those of either that lie beside one that is in, then
those of words that have none yet ("grow-diag-final-and"). Four features, all logarithms, for a pair (e, f):

    p(f | e), p(e | f)      how often e became f, of all times that e was taken; and the other way round
    lex(f | e)              Π over words of f of the mean of w over those they are linked to, the same of e
"""

from __future__ import annotations

import gzip
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from lexigraph.errors import LexigraphError
from lexigraph.statistical.ibm import Links, Sides

Phrase = tuple[str, ...]
Features = tuple[float, float, float, float]
PhraseTable = dict[Phrase, list[tuple[Phrase, Features]]]
BESIDE = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
MOST = 20  # of what one phrase may become: the most probable
NOTHING = ""  # what a word without link is linked to


def symmetrised(forward: Links, back: Links) -> Links:
    """The links of two directions as one.

    >>> symmetrised([(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1), (4, 4)])
    [(0, 0), (1, 1), (1, 2), (4, 4)]
    """
    either, found = sorted({*forward, *back}), set(forward) & set(back)
    sources, targets = {i for i, _ in found}, {j for _, j in found}

    def add(i: int, j: int) -> None:
        found.add((i, j))
        sources.add(i)
        targets.add(j)

    grown = True
    while grown:
        grown = False
        for i, j in either:
            beside = any((i + a, j + b) in found for a, b in BESIDE)
            if (i, j) not in found and beside and (i not in sources or j not in targets):
                add(i, j)
                grown = True
    for i, j in either:
        if i not in sources and j not in targets:
            add(i, j)
    return sorted(found)


def stretches(source: int, target: int, links: Links, longest: int) -> Iterator[tuple[int, int, int, int]]:
    """Pairs of phrases as first and last word of the source's, and of the target's; sides of so many words."""
    of_source, of_target = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for i, j in links:
        of_source[i].append(j)
        of_target[j].append(i)
    for first in range(source):
        for last in range(first, min(source, first + longest)):
            linked = [j for i in range(first, last + 1) for j in of_source[i]]
            if not linked:
                continue
            low, high = min(linked), max(linked)
            come_from = {i for j in range(low, high + 1) for i in of_target[j]}
            if high - low >= longest or min(come_from) < first or max(come_from) > last:
                continue
            begin = low
            while begin >= 0 and (begin == low or not of_target[begin]):  # words without links may go with it
                end = high
                while end < target and (end == high or not of_target[end]) and end - begin < longest:
                    yield first, last, begin, end
                    end += 1
                begin -= 1


def phrase_table(pairs: Sequence[Sides], links: Sequence[Links], longest: int = 5) -> PhraseTable:
    """What stretches of at most so many words become, the most probable first."""
    there, back = Shares(), Shares()
    for (source, target), linked in zip(pairs, links, strict=True):
        there.add(source, target, linked)
        back.add(target, source, _turned(linked))
    seen = Counter[tuple[Phrase, Phrase]]()
    lexical: dict[tuple[Phrase, Phrase], tuple[float, float]] = {}
    for (source, target), linked in zip(pairs, links, strict=True):
        for first, last, begin, end in stretches(len(source), len(target), linked, longest):
            e, f = tuple(source[first : last + 1]), tuple(target[begin : end + 1])
            inside = [(i - first, j - begin) for i, j in linked if first <= i <= last and begin <= j <= end]
            now = there.log_probability(e, f, inside), back.log_probability(f, e, _turned(inside))
            before = lexical.get((e, f), now)
            lexical[e, f] = max(before[0], now[0]), max(before[1], now[1])
            seen[e, f] += 1
    of_source, of_target = Counter[Phrase](), Counter[Phrase]()
    for (e, f), count in seen.items():
        of_source[e] += count
        of_target[f] += count
    table = defaultdict[Phrase, list[tuple[Phrase, Features]]](list)
    for (e, f), count in seen.items():
        features = math.log(count / of_source[e]), math.log(count / of_target[f]), *lexical[e, f]
        table[e].append((f, features))
    return {e: sorted(found, key=lambda each: (-each[1][0], each[0]))[:MOST] for e, found in table.items()}


class Shares:
    """w(f | e): how often a word is linked to f, of all its links."""

    def __init__(self) -> None:
        self.both, self.one = Counter[tuple[str, str]](), Counter[str]()

    def add(self, source: Sequence[str], target: Sequence[str], links: Links) -> None:
        """Count the links of one pair of sentences; a word of the target without any comes from NOTHING."""
        for e, f in self._named(source, target, links):
            self.both[e, f] += 1
            self.one[e] += 1

    def log_probability(self, source: Phrase, target: Phrase, links: Links) -> float:
        """log lex(target | source)."""
        shares = defaultdict[int, list[float]](list)
        for (e, f), j in zip(self._named(source, target, links), self._places(target, links), strict=True):
            shares[j].append(self.both[e, f] / self.one[e])
        return sum(math.log(sum(each) / len(each)) for each in shares.values())

    def _named(self, source: Sequence[str], target: Sequence[str], links: Links) -> Iterator[tuple[str, str]]:
        yield from ((source[i], target[j]) for i, j in links)
        yield from ((NOTHING, target[j]) for j in _alone(target, links))

    def _places(self, target: Sequence[str], links: Links) -> Iterator[int]:
        yield from (j for _, j in links)
        yield from _alone(target, links)


def _alone(target: Sequence[str], links: Links) -> list[int]:
    linked = {j for _, j in links}
    return [j for j in range(len(target)) if j not in linked]


def _turned(links: Links) -> Links:
    return [(j, i) for i, j in links]


def write_table(table: PhraseTable, path: Path) -> None:
    """One pair a line as Moses has them: `das Haus ||| the house ||| p(f|e) p(e|f) lex(f|e) lex(e|f)`."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for e, found in table.items():
            for f, features in found:
                scores = " ".join(f"{math.exp(feature):.6g}" for feature in features)
                file.write(f"{' '.join(e)} ||| {' '.join(f)} ||| {scores}\n")


def read_table(path: Path) -> PhraseTable:
    """A table from such a file."""
    table = defaultdict[Phrase, list[tuple[Phrase, Features]]](list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                e, f, scores = line.split(" ||| ")
                p, q, r, s = (math.log(float(score)) for score in scores.split())
            except ValueError:
                raise LexigraphError(f"{path}, line {number}: this is no pair of phrases with four scores.") from None
            table[tuple(e.split())].append((tuple(f.split()), (p, q, r, s)))
    return dict(table)
