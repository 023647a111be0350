"""An n-gram language model: how often words follow each other, smoothed as Kneser and Ney do.

    p(w | h) = (c(hw) − D(c(hw))) / c(h·) + γ(h) p(w | h')          h' is the history h without its first word
    γ(h)     = (D1 N1(h) + D2 N2(h) + D3 N3(h)) / c(h·)             Nc(h): words seen c times (3: or more) after h

This is interpolated, modified Kneser-Ney (Chen and Goodman 1998), with three discounts for every order. The
longest n-grams are counted as they occur; a shorter one by the different words that stand before it, except where
it begins a sentence and nothing can. Below single words is the uniform distribution over all that can be predicted.

A sentence is read as <s> w1 … wT </s>. <s> is never predicted, </s> is; every word outside the vocabulary is <unk>,
and so is the word <unk> itself. No n-gram has more than one <s>: several in a history mean the same as one.

>>> model = NgramModel.train([["the", "cat", "sat"], ["the", "dog", "sat"]], order=3)
>>> model.generate(["the", "cat"], temperature=0)
[['the', 'cat', 'sat']]
>>> model.perplexity([["the", "cat", "sat"]]) < model.perplexity([["sat", "cat", "the"]])
True
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import free_file
from lexigraph.run import replacing
from lexigraph.words import arpa
from lexigraph.words.ngram_tables import BLOCK, END, NEVER, SPECIAL, START, UNK, Table, find

FEW = np.array([0, 0.5, 1, 1.5])  # discounts of counts 0, 1, 2, 3+ where there are too few n-grams to estimate them


class Totals(NamedTuple):
    """What a text adds up to; perplexity is exp(−log_probability / tokens)."""

    log_probability: float  # natural logarithm
    tokens: int  # words, and one end for every sentence
    unknown: int  # tokens that are <unk>


@dataclass(frozen=True, eq=False)
class NgramModel:
    """Words, the first three of them <unk>, <s> and </s>, and one table for each order from 1."""

    words: list[str]
    tables: list[Table]

    @property
    def order(self) -> int:
        return len(self.tables)

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.words)

    @classmethod
    def train(
        cls,
        sentences: Iterable[list[str]],
        order: int = 5,
        min_count: int = 1,
        vocabulary: Collection[str] | None = None,
    ) -> NgramModel:
        """Learn from sentences; known words are those of `vocabulary`, or else all that occur `min_count` times."""
        if order < 1:
            raise UsageError(f"order is {order}; it is 1 (single words) or more.")
        words, ids = _read(sentences, min_count, vocabulary)
        size = len(words)
        small = ids.dtype  # wide enough for rows too: an order has no more n-grams than the text has positions
        rows = ids  # of the n-gram that ends at each position; −1 where it would begin before <s>
        keys, counts = [np.arange(size)], [np.bincount(ids, minlength=size)]
        suffixes = [np.zeros(size, small)]  # the row, one order below, of each n-gram without its first word
        for _ in range(1, order):
            at = np.flatnonzero((rows[:-1] >= 0) & (ids[1:] != START)) + 1
            pairs = rows[at - 1].astype(np.int64) * size + ids[at]
            key, row, occurs = np.unique(pairs, return_inverse=True, return_counts=True)
            suffix = np.empty(len(key), small)
            suffix[row] = rows[at]
            rows = np.full(len(ids), -1, small)
            rows[at] = row
            for part, new in zip((keys, counts, suffixes), (key, occurs.astype(small), suffix), strict=True):
                part.append(new)
        begins = keys[0] == START
        for below, above in pairwise(range(order)):
            different = np.bincount(suffixes[above], minlength=len(keys[below]))
            counts[below] = np.where(begins, counts[below], different)
            begins = begins[keys[above] // size]
        counts[0][START] = 0
        return cls(words, _estimate(keys, counts, suffixes))

    def probability(self, word: str, history: Sequence[str] = ()) -> float:
        """p(word | history). A history that begins a sentence begins with "<s>"; the word may be "</s>".

        >>> round(NgramModel.train([["a", "b"], ["a", "c"]], order=2).probability("a", ["<s>"]), 6)
        0.6
        """
        return float(10 ** self._log10(self._ids([*history, word]))[-1])

    def distribution(self, history: Sequence[str] = ()) -> Float[np.ndarray, " words"]:
        """p(· | history) for each of `words`."""
        size, ids = len(self.words), self._ids([*history, SPECIAL[UNK]])  # a place for the word to come
        log_p = self.tables[0].log_p.astype(np.float64)
        for (below, table), (at, histories, _) in zip(pairwise(self.tables), self._matches(ids), strict=True):
            if len(at) and at[-1] == len(ids) - 1:
                log_p += below.backoff[histories[-1]]
                first, last = np.searchsorted(table.keys, [histories[-1] * size, (histories[-1] + 1) * size])
                log_p[table.keys[first:last] % size] = table.log_p[first:last]
        log_p[START] = -np.inf
        return 10**log_p

    def score(self, sentence: list[str]) -> float:
        """The natural logarithm of the sentence's probability, its end included."""
        return self.totals([sentence]).log_probability

    def perplexity(self, sentences: Iterable[list[str]]) -> float:
        """exp of the mean surprise per token, the ends of sentences included."""
        totals = self.totals(sentences)
        if not totals.tokens:
            raise LexigraphError("There is no perplexity of nothing: give at least one sentence.")
        return math.exp(-totals.log_probability / totals.tokens)

    def totals(self, sentences: Iterable[list[str]]) -> Totals:
        """Log-probability, tokens and unknown words of all sentences together."""
        log10, tokens, unknown = 0.0, 0, 0
        for ids in _streams(sentences, self._index):
            predicted = ids != START
            log10 += float(self._log10(ids)[predicted].sum())
            tokens += int(predicted.sum())
            unknown += int((ids == UNK).sum())
        return Totals(log10 * math.log(10), tokens, unknown)

    def generate(
        self, prompt: Sequence[str] = (), max_new: int = 40, temperature: float | int = 1.0, seed: int = 0, n: int = 1
    ) -> list[list[str]]:
        """`n` sentences that begin with the prompt, each with up to `max_new` more words.

        Temperature 0 takes the likeliest word. A word that the model does not know is "<unk>" here too.
        """
        if not 0 <= temperature < math.inf:
            raise UsageError(f"temperature is {temperature}: it is 0 (the likeliest word) or more.")
        made = [list(prompt) for _ in range(n)]
        for number, sentence in enumerate(made):
            random = np.random.default_rng((seed, number))  # the first sentence is the same however many follow
            for _ in range(max_new):
                p = self.distribution([SPECIAL[START], *sentence][1 - self.order :])
                if temperature:
                    sums = ((p / p.max()) ** (1 / temperature)).cumsum()
                    word = int(np.searchsorted(sums, random.random() * sums[-1], side="right"))
                else:
                    word = int(p.argmax())
                if word == END:
                    break
                sentence.append(self.words[word])
        return made

    def _ids(self, words: Sequence[str]) -> np.ndarray:
        own = {SPECIAL[START]: START, SPECIAL[END]: END}  # in a history they are what they say
        return np.array([own.get(word, self._index[word]) for word in words])

    def _matches(self, ids: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each order from 2: the positions whose history has a row, that row, and the n-gram's row or −1."""
        rows = ids
        for table in self.tables[1:]:
            at = np.flatnonzero(rows[:-1] >= 0) + 1
            histories = rows[at - 1]
            found = find(table.keys, histories * len(self.words) + ids[at])
            yield at, histories, found
            rows = np.full(len(ids), -1)
            rows[at] = found

    def _log10(self, ids: np.ndarray) -> np.ndarray:
        """log10 p of each id after those before it, as far back as <s>: no n-gram reaches beyond."""
        log_p = self.tables[0].log_p[ids].astype(np.float64)
        for (below, table), (at, histories, found) in zip(pairwise(self.tables), self._matches(ids), strict=True):
            seen = found >= 0
            log_p[at[seen]] = table.log_p[found[seen]]
            log_p[at[~seen]] += below.backoff[histories[~seen]]
        return log_p

    # ---- files ----

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write everything to one safetensors file; `force` replaces what is there."""
        from safetensors.numpy import save

        tensors = {f"{name}.{k}": part for k, t in enumerate(self.tables, 1) for name, part in t._asdict().items()}
        tensors["words"] = np.frombuffer(json.dumps(self.words).encode(), np.uint8)
        with replacing(free_file(path, "an n-gram model", force=force)) as temporary:
            temporary.write_bytes(save(tensors))

    @classmethod
    def load(cls, path: str | Path) -> NgramModel:
        """Read what `save` wrote, or say what is wrong with it."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            tensors = load_file(path)
            names = [[f"{name}.{k}" for name in Table._fields] for k in range(1, len(tensors) // 3 + 1)]
            if tensors.keys() != {"words", *chain.from_iterable(names)}:
                raise ValueError(f"it holds {', '.join(sorted(tensors)) or 'nothing'}")
            words = json.loads(tensors["words"].tobytes())
            return cls._checked(words, [Table(*map(tensors.__getitem__, table)) for table in names])
        except FileNotFoundError:
            raise LexigraphError(f"There is no n-gram model {path}.") from None
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise LexigraphError(f"{path} is damaged or no n-gram model: {error}.") from None

    def save_arpa(self, path: str | Path, force: bool = False) -> None:
        """Write the text format that other language-model tools read; `force` replaces what is there."""
        with replacing(free_file(path, "an n-gram model", force=force)) as temporary:
            arpa.write(temporary, self.words, self.tables)

    @classmethod
    def load_arpa(cls, path: str | Path) -> NgramModel:
        """Read an ARPA file of any tool; if it has no <unk>, unknown words get probability 0."""
        try:
            with open(path, "rb") as file:
                return cls._checked(*arpa.read(file))
        except FileNotFoundError:
            raise LexigraphError(f"There is no ARPA file {path}.") from None
        except (OSError, ValueError) as error:
            raise LexigraphError(f"{path} is damaged or no ARPA file: {error}.") from None

    @classmethod
    def _checked(cls, words: object, tables: list[Table]) -> NgramModel:
        """The model of these words and tables, or a ValueError that says why they are none."""
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("it has no list of words")
        if tuple(words[:3]) != SPECIAL or len(set(words)) < len(words) or not tables:
            raise ValueError("it lacks <unk>, <s>, </s> or all n-grams, or has a word twice")
        histories = 1
        for k, table in enumerate(tables, 1):
            keys, n = table.keys, len(words) if k == 1 else table.keys.size
            if [(part.dtype, part.shape) for part in table] != [(kind, (n,)) for kind in ("i8", "f4", "f4")]:
                raise ValueError(f"the table of its {k}-grams has a wrong form")
            if n and (keys[0] < 0 or keys[-1] >= histories * len(words) or not (keys[1:] > keys[:-1]).all()):
                raise ValueError(f"its {k}-grams are not in order, or one is there twice")
            if not np.isfinite(table.log_p).all() or not np.isfinite(table.backoff).all():
                raise ValueError(f"its {k}-grams have values that are not finite numbers")
            histories = n
        return cls(words, tables)


class _Index(dict[str, int]):
    """Ids of the words of a text, in which there are no boundaries: what is written like one is unknown too."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(zip(words, range(len(words)), strict=True))
        self.update(dict.fromkeys(SPECIAL, UNK))

    def __missing__(self, word: str) -> int:
        return UNK


def _streams(sentences: Iterable[list[str]], index: Mapping[str, int]) -> Iterator[np.ndarray]:
    """Ids of BLOCK sentences at a time, each between its <s> and </s>."""
    rest = iter(sentences)
    while block := list(islice(rest, BLOCK)):
        if text := next((sentence for sentence in block if isinstance(sentence, str)), ""):
            raise UsageError(f"{text[:40]!r} is a text: give each sentence as a list of words.")
        lengths = np.array([len(sentence) + 2 for sentence in block])
        ends = lengths.cumsum()
        ids = np.full(ends[-1], -1)
        ids[ends - lengths], ids[ends - 1] = START, END
        ids[ids < 0] = np.fromiter(map(index.__getitem__, chain.from_iterable(block)), np.int64)
        yield ids


def _read(
    sentences: Iterable[list[str]], min_count: int, vocabulary: Collection[str] | None
) -> tuple[list[str], np.ndarray]:
    """The vocabulary, and the whole text as one row of ids."""
    seen: defaultdict[str, int] = defaultdict(count(len(SPECIAL)).__next__, dict.fromkeys(SPECIAL, UNK))
    ids = np.concatenate([np.empty(0, np.int64), *_streams(sentences, seen)])
    occurs = np.bincount(ids, minlength=len(seen))
    if occurs.sum() == occurs[START] + occurs[END]:
        raise LexigraphError("There is nothing to count: the text holds no words.")
    if vocabulary is None:
        vocabulary = [word for word, times in zip(seen, occurs, strict=True) if times >= min_count]
    words = [*SPECIAL, *sorted(set(vocabulary).difference(SPECIAL))]
    if len(words) == len(SPECIAL):
        raise LexigraphError(f"There is no word to learn: none occurs {min_count} times, or the vocabulary is empty.")
    index = _Index(words)
    renumbered = np.array([UNK, START, END, *(index[word] for word in islice(seen, len(SPECIAL), None))])
    return words, renumbered.astype(np.int32 if len(ids) < 2**31 else np.int64)[ids]


def discounts(counts: Int[np.ndarray, " n"]) -> Float[np.ndarray, " 4"]:
    """What is taken off counts of 0, 1, 2 and 3 or more: 0, D1, D2, D3, by how many n-grams have which count.

    Where no n-gram has count 1, 2, 3 or 4, or a discount would not be positive (small or odd texts), the discounts
    of this order are 0.5, 1 and 1.5.

    >>> discounts(np.array([1] * 6 + [2] * 3 + [3] * 2 + [4]))
    array([0. , 0.5, 1. , 2. ])
    """
    n1, n2, n3, n4 = np.bincount(counts[counts < 5], minlength=5)[1:].tolist()
    if min(n1, n2, n3, n4) == 0:
        return FEW
    Y = n1 / (n1 + 2 * n2)
    D = np.array([0, 1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3])
    return D if D[1:].min() > 0 else FEW


def _estimate(keys: list[np.ndarray], counts: list[np.ndarray], suffixes: list[np.ndarray]) -> list[Table]:
    """The tables, from the lowest order up, each interpolated with the one below; empties the lists."""
    size = len(keys[0])
    p = np.array([1 / (size - 1)])  # uniform over all words but <s>
    tables: list[Table] = []
    while keys:  # what an order has given is let go before the next: there may be many
        key, c, suffix = keys.pop(0), counts.pop(0), suffixes.pop(0)
        history = key // size
        D = discounts(c)[np.minimum(c, 3)]
        total = np.bincount(history, c, minlength=len(p))  # c(h·)
        gamma = np.where(total > 0, np.bincount(history, D, minlength=len(p)) / np.maximum(total, 1), 1)
        if tables:
            tables[-1].backoff[:] = np.log10(gamma)
        p = (c - D) / total[history] + gamma[history] * p[suffix]
        tables.append(Table(key, np.log10(p).astype(np.float32), np.zeros(len(key), np.float32)))
    tables[0].log_p[START] = NEVER
    return tables
