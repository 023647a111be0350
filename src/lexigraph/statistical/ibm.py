"""IBM models 1 and 2: which word comes from which, and what words become, learned from pairs of sentences alone.

    p(f, a | e) = Π_j t(f_j | e_{a_j}) d(a_j | j, S, T)       f_1 … f_T from e_1 … e_S; e_0, the empty word, is in all

    model 1     d = 1 / (S + 1)                               every position as likely
    model 2     d learned for each j, S and T                 (Brown et al. 1993)

Expectation: δ_ji = t(f_j | e_i) d(i | j, S, T), scaled so that Σ_i δ_ji = 1, counts how much f_j comes from e_i.
Maximisation: t(f | e) and d(i | j, S, T) are these counts, divided by their sums. The text only gets more probable.
Model 1 has no solutions that are best only nearby: from even chances it finds the best. Model 2 starts from it.

All pairs of words that stand together have a row, and sums over them are numpy's: a step over 29,000 sentences
takes a second.

Shapes: C cells (a word of a source, or none, and a word of its target), K pairs of words, B places of model 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int

from lexigraph.errors import LexigraphError, UsageError

NONE = 0  # the number of the empty word, and of words that training has not seen
UNSEEN = 1e-9  # t of a pair of words that never stood in the same pair of sentences
Links = list[tuple[int, int]]  # word of the source, word of the target
Sides = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class IBMModel:
    """t and, for model 2, d; `align` and `translations` are what they are for."""

    sources: dict[str, int]  # numbers of words, from 1
    targets: dict[str, int]
    pairs: Int[np.ndarray, " K"]  # source · (number of targets + 1) + target, sorted
    t: Float64[np.ndarray, " K"]
    places: dict[tuple[int, int, int], np.ndarray]  # (j, S, T) → d over i = 0 … S; none in model 1
    log_likelihoods: tuple[float, ...] = ()  # of the training text before each step

    @classmethod
    def train(cls, pairs: Sequence[Sides], *, model: int = 2, steps: int = 5) -> IBMModel:
        """Learn from pairs of sentences, cut into words; for model 2, so many steps of each model."""
        if model not in (1, 2):
            raise UsageError(f"There is no IBM model {model} here: 1 or 2.")
        pairs = [(source, target) for source, target in pairs if source and target]
        if not pairs:
            raise LexigraphError("There is nothing to align: every pair has an empty side.")
        sources, targets = (_numbered(side) for side in zip(*pairs, strict=True))
        cells = _Cells.of(pairs, sources, targets)
        t, d, likelihoods = np.full(len(cells.pairs), 1 / len(targets)), cells.even(), list[float]()
        for number in range(steps * model):
            t, new, likelihood = cells.step(t, d)
            d = d if number < steps else new  # d of model 1 does not change
            likelihoods.append(likelihood)
        return cls(sources, targets, cells.pairs, t, cells.table(d) if model == 2 else {}, tuple(likelihoods))

    def probabilities(self, source: Sequence[str], target: Sequence[str]) -> Float64[np.ndarray, "T S_and_1"]:
        """t(f_j | e_i) d(i | j, S, T) for every word of a target and of its source, the empty one first."""
        e = np.array([NONE, *(self.sources.get(word, -1) for word in source)])
        f = np.array([self.targets.get(word, -1) for word in target])
        wanted = e * (len(self.targets) + 1) + f[:, None]
        rows = np.searchsorted(self.pairs, wanted).clip(max=len(self.pairs) - 1)
        known = (self.pairs[rows] == wanted) & (e >= 0) & (f[:, None] >= 0)
        found = np.where(known, self.t[rows], UNSEEN)
        if self.places:
            even = np.full(len(e), 1 / len(e))
            found = found * [self.places.get((j, len(source), len(target)), even) for j in range(len(target))]
        return found

    def align(self, source: Sequence[str], target: Sequence[str]) -> Links:
        """The word of the source that each word of the target most probably comes from, if it comes from one."""
        if not source or not target:
            return []
        best = self.probabilities(source, target).argmax(1)
        return [(int(i) - 1, j) for j, i in enumerate(best) if i]

    def translations(self, word: str, count: int = 5) -> list[tuple[str, float]]:
        """What a word becomes, the most probable first; "" is the empty word."""
        number = NONE if word == "" else self.sources.get(word)
        if number is None:
            raise UsageError(f"{word!r} is no word of the sources.")
        size = len(self.targets) + 1
        first, last = np.searchsorted(self.pairs, [number * size, (number + 1) * size])
        best = first + np.argsort(-self.t[first:last], kind="stable")[:count]
        return [(self._target_words[self.pairs[row] % size], float(self.t[row])) for row in best]

    @cached_property
    def _target_words(self) -> dict[int, str]:
        return {number: word for word, number in self.targets.items()}


@dataclass(frozen=True)
class Habits:
    """How words behave in aligned text."""

    spurious: list[tuple[str, float, int]]  # words of the target: how often from none, of so many
    fertile: list[tuple[str, float, int]]  # words of the source: into how many words on average, of so many
    kinds: dict[str, float]  # shares of source words: to none, one, several words; of target words: from none


def habits(pairs: Sequence[Sides], links: Sequence[Links], least: int = 20) -> Habits:
    """Spurious and fertile words, of those that stand in the text at least so many times."""
    made, seen, alone, written = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    fertility = Counter[str]()
    for (source, target), linked in zip(pairs, links, strict=True):
        becomes = Counter(i for i, _ in linked)
        seen.update(source)
        written.update(target)
        for i, word in enumerate(source):
            made[word] += becomes[i]
            fertility[{0: "none", 1: "one"}.get(becomes[i], "several")] += 1
        alone.update(word for j, word in enumerate(target) if j not in {j for _, j in linked})
    spurious = [(word, alone[word] / count, count) for word, count in written.items() if count >= least]
    fertile = [(word, made[word] / count, count) for word, count in seen.items() if count >= least]
    total, words = max(1, seen.total()), max(1, written.total())
    kinds = {f"source words to {kind}": fertility[kind] / total for kind in ("none", "one", "several")}
    kinds["target words from none"] = alone.total() / words
    return Habits(sorted(spurious, key=_most_first), sorted(fertile, key=_most_first), kinds)


def _most_first(row: tuple[str, float, int]) -> tuple[float, int, str]:
    return -row[1], -row[2], row[0]


@dataclass(frozen=True)
class _Cells:
    """All words of all sources, and the empty one, with all words of their targets."""

    pairs: Int[np.ndarray, " K"]
    pair: Int[np.ndarray, " C"]  # the row of `pairs`
    word: Int[np.ndarray, " C"]  # which word of all targets
    source: Int[np.ndarray, " K"]  # the source's word of each pair
    lengths: list[tuple[int, int]]  # S and T of each pair of sentences

    @classmethod
    def of(cls, pairs: Sequence[Sides], sources: dict[str, int], targets: dict[str, int]) -> _Cells:
        size, keys, words, first = len(targets) + 1, list[np.ndarray](), list[np.ndarray](), 0
        for source, target in pairs:
            e = np.array([NONE, *(sources[word] for word in source)], np.int64)
            f = np.array([targets[word] for word in target], np.int64)
            keys.append((e * size + f[:, None]).ravel())
            words.append(np.repeat(np.arange(first, first + len(f), dtype=np.int32), len(e)))
            first += len(f)
        known, pair = np.unique(np.concatenate(keys), return_inverse=True)
        lengths = [(len(source), len(target)) for source, target in pairs]
        return cls(known, pair.astype(np.int32), np.concatenate(words), (known // size).astype(np.int32), lengths)

    def step(
        self, t: Float64[np.ndarray, " K"], d: Float64[np.ndarray, " B"]
    ) -> tuple[Float64[np.ndarray, " K"], Float64[np.ndarray, " B"], float]:
        """One step of EM: t and d, and how probable the text was before."""
        place, words, _ = self.place
        p = t[self.pair] * d[place]
        sums = np.bincount(self.word, p)
        delta = p / sums[self.word]
        counts = np.bincount(self.pair, delta, minlength=len(t))
        t = counts / np.bincount(self.source, counts)[self.source]
        return t, np.bincount(place, delta) / words, float(np.log(sums).sum())

    @cached_property
    def place(
        self,
    ) -> tuple[Int[np.ndarray, " C"], Float64[np.ndarray, " B"], dict[tuple[int, int], int]]:
        """The place (i, j, S, T) of every cell; how many words of targets have it; where those of (S, T) begin."""
        begins: dict[tuple[int, int], int] = {}
        often, size, found = Counter(self.lengths), 0, list[np.ndarray]()
        for S, T in self.lengths:
            if (S, T) not in begins:
                begins[S, T] = size
                size += (S + 1) * T
            found.append(begins[S, T] + np.arange((S + 1) * T, dtype=np.int32))
        words = np.zeros(size)
        for (S, T), first in begins.items():
            words[first : first + (S + 1) * T] = often[S, T]
        return np.concatenate(found), words, begins

    def even(self) -> Float64[np.ndarray, " B"]:
        """d of model 1."""
        _, words, begins = self.place
        d = np.empty(len(words))
        for (S, T), first in begins.items():
            d[first : first + (S + 1) * T] = 1 / (S + 1)
        return d

    def table(self, d: Float64[np.ndarray, " B"]) -> dict[tuple[int, int, int], np.ndarray]:
        """d by j, S and T."""
        each = ((S, T, d[first : first + (S + 1) * T].reshape(T, S + 1)) for (S, T), first in self.place[2].items())
        return {(j, S, T): rows[j] for S, T, rows in each for j in range(T)}


def _numbered(side: Sequence[Sequence[str]]) -> dict[str, int]:
    words: Iterator[str] = (word for sentence in side for word in sentence)
    return {word: number for number, word in enumerate(dict.fromkeys(words), 1)}
