"""ROUGE (Lin 2004): how much of a reference text a written one has, as pure functions.

    precision = hits / n        recall = hits / m        F = 2 P R / (P + R)

    rouge1, rouge2   hits: n-grams in both, each as often as in the one that has fewer; n and m: those of the written
                     text and of the reference
    rougeL           hits: words of the longest common subsequence
    rougeLsum        the same sentence by sentence, a line each: of every sentence of the reference, the words that
                     are in a longest common subsequence with any sentence written; no word counts more often than
                     it is there

Words are runs of ASCII letters and digits, in small letters; with `stemmed`, those of more than three letters are
their stems (text/stemming.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from lexigraph.text.stemming import stem

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")


class Score(NamedTuple):
    """How a written text agrees with a reference."""

    precision: float
    recall: float
    f: float


def rouge(reference: str, written: str, *, stemmed: bool = True) -> dict[str, Score]:
    """All four scores of a text.

    >>> rouge("a cat sat down", "the cat sat")["rouge1"].recall
    0.5
    """
    read, wrote = words(reference, stemmed), words(written, stemmed)
    lines = [[words(line, stemmed) for line in text.split("\n") if line] for text in (reference, written)]
    return {
        "rouge1": _of_ngrams(read, wrote, 1),
        "rouge2": _of_ngrams(read, wrote, 2),
        "rougeL": _score(lcs_length(read, wrote), len(wrote), len(read)),
        "rougeLsum": _of_sentences(*lines),
    }


def words(text: str, stemmed: bool = False) -> list[str]:
    """The words that ROUGE counts.

    >>> words("Two Cats' naïve tails", stemmed=True)
    ['two', 'cat', 'na', 've', 'tail']
    """
    found = re.findall("[a-z0-9]+", text.lower())
    return [stem(word) if len(word) > 3 else word for word in found] if stemmed else found


def lcs_length(one: Sequence[str], other: Sequence[str]) -> int:
    """How long the longest common subsequence is, by bits: a 0 wherever it grows (Hyyrö 2004).

    >>> lcs_length("police killed the gunman".split(), "police kill the gunman".split())
    3
    """
    where: dict[str, int] = {}
    for position, word in enumerate(one):
        where[word] = where.get(word, 0) | 1 << position
    everything = ones = (1 << len(one)) - 1
    for word in other:
        match = ones & where.get(word, 0)
        ones = (ones + match | ones - match) & everything
    return len(one) - ones.bit_count()


def _of_ngrams(read: Sequence[str], wrote: Sequence[str], n: int) -> Score:
    ours, theirs = (Counter(zip(*(text[k:] for k in range(n)), strict=False)) for text in (wrote, read))
    return _score((ours & theirs).total(), ours.total(), theirs.total())


def _of_sentences(read: Sequence[Sequence[str]], wrote: Sequence[Sequence[str]]) -> Score:
    m, n = sum(map(len, read)), sum(map(len, wrote))
    ours, theirs = (Counter(word for line in text for word in line) for text in (wrote, read))
    hits = 0
    for line in read if n else []:
        for position in sorted(set().union(*(_common(line, other) for other in wrote))):
            if ours[line[position]] > 0 and theirs[line[position]] > 0:
                ours[line[position]] -= 1
                theirs[line[position]] -= 1
                hits += 1
    return _score(hits, n, m)


def _common(one: Sequence[str], other: Sequence[str]) -> list[int]:
    """The positions in `one` of a longest common subsequence; of several, the one that walking back prefers."""
    table = [[0] * (len(other) + 1)]
    for word in one:
        above, row = table[-1], [0]
        for column, each in enumerate(other):
            row.append(above[column] + 1 if word == each else max(above[column + 1], row[column]))
        table.append(row)
    found, i, j = list[int](), len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found


def _score(hits: int, n: int, m: int) -> Score:
    precision, recall = hits / max(n, 1), hits / max(m, 1)
    return Score(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)
