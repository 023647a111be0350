"""Beam search over phrases: which words are translated is open, and the translation grows from left to right.

    score(f, e) = Σ_k λ_k h_k(f, e)         h: the four features of the phrases, log p(f) of an n-gram model, words,
                                            phrases, and - Σ |begin_i - end_{i-1} - 1| over places in the source:
                                            phrase i's first word, and the last one of the phrase written before it

A hypothesis has translated some words of the source. Those that have translated as many compete in one stack, by
score and by what the rest costs at least (the best phrases for each gap, as if in order). Two that have done the same
words, ended at the same place and written the same last words cannot be told apart by what comes: the better stays.

A word that the table lacks is copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from lexigraph.statistical.phrases import PhraseTable
from lexigraph.words.ngram import NgramModel
from lexigraph.words.ngram_tables import END, START, UNK

FEATURES = ("p(f|e)", "p(e|f)", "lex(f|e)", "lex(e|f)", "language", "words", "phrases", "distortion")
START_WEIGHTS = (0.2, 0.1, 0.1, 0.1, 0.3, 0.1, 0.05, 0.1)
LANGUAGE, WORDS, PHRASES, DISTORTION = range(4, 8)
Weights = Float64[np.ndarray, " 8"]


class Option(NamedTuple):
    """What a stretch of the source may become."""

    words: tuple[str, ...]
    ids: tuple[int, ...]  # of the n-gram model
    features: tuple[float, ...]  # the four of the table
    score: float  # of these, of words and phrases
    rest: float  # with the n-gram model, as if nothing stood before: for what is still to come


class Partial(NamedTuple):
    """A hypothesis: what it has translated, as bits, and how it came about."""

    score: float
    done: int
    end: int  # behind the last phrase's place in the source
    history: tuple[int, ...]
    before: Partial | None
    option: Option | None
    begin: int
    language: float  # log p of the n-gram model, of the last phrase


class Found(NamedTuple):
    """A translation and its features."""

    words: list[str]
    features: Weights
    score: float


class Ngrams:
    """log p(word | history) of an n-gram model, one word at a time."""

    def __init__(self, model: NgramModel) -> None:
        self.model, self.size, self.span = model, len(model.words), model.order - 1
        self.rows = [dict(zip(table.keys.tolist(), range(len(table.keys)), strict=True)) for table in model.tables]
        self.log_p = [(table.log_p * math.log(10)).tolist() for table in model.tables]
        self.backoff = [(table.backoff * math.log(10)).tolist() for table in model.tables]
        self.numbers = {word: number for number, word in enumerate(model.words) if number > UNK}
        self.known: dict[tuple[tuple[int, ...], int], float] = {}

    def __call__(self, history: tuple[int, ...], word: int) -> float:
        found = self.known.get((history, word))
        if found is None:
            found = self.known[history, word] = self._log_p(history, word)
        return found

    def _log_p(self, history: tuple[int, ...], word: int) -> float:
        backoff = 0.0
        for first in range(len(history)):
            suffix = history[first:]
            row = self._row(suffix)
            if row is None:
                continue
            found = self.rows[len(suffix)].get(row * self.size + word)
            if found is not None:
                return backoff + self.log_p[len(suffix)][found]
            backoff += self.backoff[len(suffix) - 1][row]
        return backoff + self.log_p[0][word]

    def _row(self, words: tuple[int, ...]) -> int | None:
        row: int | None = words[0]
        for order, word in enumerate(words[1:], 1):
            row = self.rows[order].get(row * self.size + word) if row is not None else None
        return row

    def ids(self, words: Sequence[str]) -> tuple[int, ...]:
        """The numbers of words."""
        return tuple(self.numbers.get(word, UNK) for word in words)


class PhraseDecoder:
    """Searches with a table, an n-gram model and weights."""

    def __init__(
        self, table: PhraseTable, language: NgramModel, weights: Sequence[float] = START_WEIGHTS, reach: int = 6
    ) -> None:
        self.table, self.language, self.reach = table, Ngrams(language), reach
        self.weights = np.asarray(weights, np.float64)
        self.longest = max((len(phrase) for phrase in table), default=1)

    def translate(self, source: Sequence[str], *, beam: int = 50, n_best: int = 1) -> list[Found]:
        """The best translations of a sentence, different ones, best first."""
        if not source:
            return [Found([], np.zeros(len(FEATURES)), 0.0)]
        options, count = self._options(source), len(source)
        future = self._future(options, count)
        begin = Partial(0.0, 0, 0, (START,) * min(1, self.language.span), None, None, 0, 0.0)
        stacks: list[dict[tuple[int, int, tuple[int, ...]], Partial]] = [{} for _ in range(count + 1)]
        stacks[0][0, 0, begin.history] = begin
        for number in range(count):
            for partial in self._best(stacks[number], future, count, beam):
                gap = next(i for i in range(count) if not partial.done >> i & 1)
                for (first, last), choices in options.items():
                    mask = (1 << last) - (1 << first)
                    if partial.done & mask or (first != gap and last - gap > self.reach):
                        continue
                    for option in choices:
                        new = self._after(partial, option, first, last, mask, count)
                        key = (new.done, new.end, new.history)
                        stack = stacks[number + last - first]
                        if key not in stack or stack[key].score < new.score:
                            stack[key] = new
        ended = sorted(stacks[count].values(), key=lambda partial: -partial.score)
        found: dict[tuple[str, ...], Found] = {}
        for partial in ended:
            each = self._read(partial)
            found.setdefault(tuple(each.words), each)
        return list(found.values())[:n_best]

    def _options(self, source: Sequence[str]) -> dict[tuple[int, int], list[Option]]:
        """What every stretch may become, by its first word and the one behind its last."""
        found = {}
        for first in range(len(source)):
            for last in range(first + 1, min(len(source), first + self.longest) + 1):
                given = tuple(source[first:last])
                choices = self.table.get(given, [])
                if not choices and last == first + 1:
                    choices = [(given, (0.0, 0.0, 0.0, 0.0))]
                if choices:
                    found[first, last] = [self._option(*choice) for choice in choices]
        return found

    def _option(self, words: tuple[str, ...], features: tuple[float, ...]) -> Option:
        ids, weights = self.language.ids(words), self.weights
        score = float(weights[:4] @ np.array(features)) + weights[WORDS] * len(words) + weights[PHRASES]
        alone = sum(self.language(ids[max(0, i - self.language.span) : i], ids[i]) for i in range(len(ids)))
        return Option(words, ids, features, float(score), float(score + weights[LANGUAGE] * alone))

    def _future(self, options: dict[tuple[int, int], list[Option]], count: int) -> list[list[float]]:
        """The best that every stretch may come to, by its first word and the one behind its last."""
        future = [[-math.inf] * (count + 1) for _ in range(count + 1)]
        for (first, last), choices in options.items():
            future[first][last] = max(option.rest for option in choices)
        for length in range(2, count + 1):
            for first in range(count + 1 - length):
                last = first + length
                split = max(future[first][middle] + future[middle][last] for middle in range(first + 1, last))
                future[first][last] = max(future[first][last], split)
        return future

    def _best(
        self,
        stack: dict[tuple[int, int, tuple[int, ...]], Partial],
        future: list[list[float]],
        count: int,
        beam: int,
    ) -> list[Partial]:
        """The most promising hypotheses of a stack."""
        gaps: dict[int, float] = {}

        def promise(partial: Partial) -> float:
            if partial.done not in gaps:
                bits, first, total = partial.done, None, 0.0
                for i in range(count + 1):
                    open_ = i < count and not bits >> i & 1
                    if open_ and first is None:
                        first = i
                    elif not open_ and first is not None:
                        total, first = total + future[first][i], None
                gaps[partial.done] = total
            return partial.score + gaps[partial.done]

        return sorted(stack.values(), key=promise, reverse=True)[:beam]

    def _after(self, partial: Partial, option: Option, first: int, last: int, mask: int, count: int) -> Partial:
        """A hypothesis with one phrase more; the last one ends the sentence."""
        history, language, span = partial.history, 0.0, self.language.span
        done = partial.done | mask
        for word in (*option.ids, END) if done == (1 << count) - 1 else option.ids:
            language += self.language(history, word)
            history = (*history, word)[-span:] if span else ()
        score = partial.score + option.score + self.weights[LANGUAGE] * language
        score -= self.weights[DISTORTION] * abs(first - partial.end)
        return Partial(float(score), done, last, history, partial, option, first, language)

    def _read(self, partial: Partial) -> Found:
        """The words of a hypothesis, and its features."""
        words, features, last = list[str](), np.zeros(len(FEATURES)), partial
        while last.option is not None and last.before is not None:
            words[:0] = last.option.words
            features[:4] += last.option.features
            features[4:] += last.language, len(last.option.words), 1, -abs(last.begin - last.before.end)
            last = last.before
        return Found(words, features, partial.score)

    @cached_property
    def named_weights(self) -> dict[str, float]:
        """What every feature counts."""
        return dict(zip(FEATURES, self.weights.tolist(), strict=True))
