"""Learning WordPiece's vocabulary (Schuster and Nakajima 2012; Wu et al. 2016).

From single characters, merge again and again the adjacent pair with the highest

    p(ab) / (p(a) p(b))   =   N · n(ab) / (n(a) n(b))        N is the same for all pairs, so it is left out

which asks whether a and b stand together more often than by chance, where BPE asks only how often. A piece
that continues a word is written with ## in front.

The words of the text lie one after another in flat arrays; a merge touches only the positions where its pair
stands, all of them at once, and corrects the counts of the neighbouring pairs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

LONGEST_WORD = 100  # longer ones are unknown to the encoder as well


def learn_pieces(words: Mapping[str, int], size: int, min_count: int = 2) -> list[str]:
    """At most `size` pieces from words and their counts: the characters, then the merges in order.

    >>> learn_pieces({"qu": 15, "an": 20, "at": 20, "nt": 20}, size=7)
    ['##n', '##t', '##u', 'a', 'n', 'q', 'qu']
    """
    text = _Text({word: count for word, count in sorted(words.items()) if len(word) <= LONGEST_WORD})
    # The ratio is largest for symbols that are seen once, and there together: n(ab) = n(a) = n(b) = 1. Such
    # chance pairs would win every merge, so a pair must be seen often enough to be considered. The bar starts
    # high and is halved whenever no pair reaches it: with 8000 pieces from 5 MB of Wikipedia, a fixed bar of 2
    # takes 4.4 pieces for a word of other text, of 5 takes 3.8, this one 1.6.
    bar = max(min_count, 4 * sum(words.values()) // max(size, 1))
    while len(text.pieces) < size:
        pair = text.best_pair(bar)
        if pair is not None:
            text.merge(pair)
        elif bar > min_count:
            bar = max(min_count, bar // 2)
        else:
            break
    return text.pieces


class _Text:
    """All words as flat arrays of symbols, linked both ways, with the counts of symbols and pairs."""

    def __init__(self, words: Mapping[str, int]):
        symbols = [c if i == 0 else "##" + c for word in words for i, c in enumerate(word)]
        self.pieces = sorted(set(symbols))
        self.index = {piece: i for i, piece in enumerate(self.pieces)}
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        self.symbol = np.fromiter(map(self.index.__getitem__, symbols), np.int64, len(symbols))
        self.weight = np.repeat(np.fromiter(words.values(), np.int64, len(words)), lengths)
        place = np.arange(len(symbols))
        last = np.cumsum(lengths)
        self.after, self.before = place + 1, place - 1  # -1 beyond the ends of a word
        self.after[last - 1] = -1
        self.before[last - lengths] = -1
        self.frequency = np.bincount(self.symbol, self.weight, len(self.pieces)).astype(np.int64)
        # One row per pair that was ever seen; `positions` may hold positions where the pair stands no more.
        self.row: dict[tuple[int, int], int] = {}
        self.left, self.right, self.count = (np.zeros(0, np.int64) for _ in range(3))
        self.positions: list[list[np.ndarray]] = []
        self._count_pairs(place[self.after >= 0], sign=1)

    def best_pair(self, bar: int) -> int | None:
        """The row of the pair with the highest ratio among those seen `bar` times; ties by count, then text."""
        rows = np.flatnonzero(self.count[: len(self.positions)] >= bar)
        if not len(rows):
            return None
        ratio = self.count[rows] / (self.frequency[self.left[rows]] * self.frequency[self.right[rows]])
        tied = rows[ratio == ratio.max()].tolist()
        return min(tied, key=lambda r: (-self.count[r], self.pieces[self.left[r]], self.pieces[self.right[r]]))

    def merge(self, row: int) -> None:
        """Join this pair wherever it stands."""
        a, b = int(self.left[row]), int(self.right[row])
        joined = self.pieces[a] + self.pieces[b][2:]
        new = self.index.setdefault(joined, len(self.pieces))
        if new == len(self.pieces):
            self.pieces.append(joined)
            self.frequency = np.append(self.frequency, 0)

        first = np.unique(np.concatenate(self.positions[row]))
        first = first[(self.symbol[first] == a) & (self.after[first] >= 0)]
        first = first[self.symbol[self.after[first]] == b]
        if a == b:  # in "aaa" the pair stands twice but can be joined once
            chosen: list[int] = []
            for place in first.tolist():
                if not chosen or self.after[chosen[-1]] != place:
                    chosen.append(place)
            first = np.array(chosen, np.int64)
        second = self.after[first]

        self._count_pairs(np.concatenate([self.before[first], first, second]), sign=-1)
        following = self.after[second]
        self.symbol[first], self.symbol[second] = new, -1
        self.after[first] = following
        self.before[following[following >= 0]] = first[following >= 0]
        self._count_pairs(np.concatenate([self.before[first], first]), sign=1)
        total = self.weight[first].sum()
        self.frequency[new] += total
        self.frequency[a] -= total
        self.frequency[b] -= total

    def _count_pairs(self, positions: np.ndarray, sign: int) -> None:
        """Add to (or take from) the counts the pairs that begin at these positions."""
        positions = np.unique(positions[positions >= 0])  # a pair between two merged ones is named by both
        positions = positions[self.after[positions] >= 0]
        key = self.symbol[positions] << 32 | self.symbol[self.after[positions]]
        order = np.argsort(key, kind="stable")
        key, positions = key[order], positions[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        totals = np.add.reduceat(self.weight[positions], starts) if len(starts) else starts
        groups = np.split(positions, starts[1:])
        for pair_key, total, group in zip(key[starts].tolist(), totals.tolist(), groups, strict=False):
            pair = (pair_key >> 32, pair_key & 0xFFFFFFFF)
            row = self.row.setdefault(pair, len(self.positions))
            if row == len(self.positions):
                self._add_row(pair)
            self.count[row] += sign * total
            if sign > 0:
                self.positions[row].append(group)

    def _add_row(self, pair: tuple[int, int]) -> None:
        row = len(self.positions)
        if row == len(self.count):  # room is doubled, so that adding stays cheap
            room = np.zeros(max(1024, row), np.int64)
            self.left, self.right, self.count = (
                np.concatenate([column, room]) for column in (self.left, self.right, self.count)
            )
        self.left[row], self.right[row] = pair
        self.positions.append([])
