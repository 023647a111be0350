"""Word vectors, and what one asks them: which words are near, which is to c as b is to a, which is out of place.

    cosine      x·y / (‖x‖ ‖y‖), 0 if one of them is zero           euclidean   ‖x − y‖
    a is to b as c is to the word x, none of the three, with the highest
        additive          cos(x, b − a + c)                          a, b, c scaled to length 1
        multiplicative    s(x, b) s(x, c) / (s(x, a) + ε)            s = (cos + 1) / 2, ε = 0.001
    outlier     the word with the lowest mean cosine to the others

>>> from lexigraph.words.vectors import WordVectors
>>> wv = WordVectors(["man", "woman", "king", "queen"], np.array([[1, 0], [0, 1], [3, 1], [2, 2]], np.float32))
>>> wv.nearest("king", k=1)
[Neighbour(word='man', score=0.9486833214759827)]
>>> wv.analogy("man", "king", "woman", k=1)[0].word
'queen'
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, NoReturn, overload

import numpy as np
from jaxtyping import Float, Float32, Int, Int64

from lexigraph.errors import AbilityError, LexigraphError, UsageError
from lexigraph.registry import SYSTEMS, WORD_SYSTEMS, WORD_VECTORS
from lexigraph.text.files import Given
from lexigraph.words import formats
from lexigraph.words.subwords import Subwords

EPSILON = 0.001  # keeps the multiplicative analogy from dividing by zero
BLOCK = 8192  # rows worked on at once
SCORES = 1 << 24  # so many scores, 64 MB, are computed at once
SPELLINGS = 10_000  # so many words, the first ones that might be meant, are compared letter by letter

Query = str | np.ndarray  # a word or a vector


class Neighbour(NamedTuple):
    """A word and its cosine, distance or analogy score."""

    word: str
    score: float


class WordVectors:
    """Words with their vectors, usually the most frequent first.

    Args:
        words: no word twice.
        vectors: one row for each word; may be memory-mapped, and is never written to.
        counts: how often each word was seen, if that is known.
        subwords: n-gram vectors; with them a word that is not among `words` has a vector too.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: Float[np.ndarray, "words dim"],
        counts: Int[np.ndarray, " counts"] | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        self.words = list(words)
        self.index = {word: row for row, word in enumerate(self.words)}
        self.vectors: Float32[np.ndarray, "words dim"] = np.asarray(vectors, np.float32).view()
        self.vectors.flags.writeable = False
        self.counts: Int64[np.ndarray, " words"] | None = None if counts is None else np.asarray(counts, np.int64)
        self.subwords = subwords
        self.losses: list[float] = []  # mean loss of each epoch, where the vectors were just trained
        if self.vectors.ndim != 2 or not self.vectors.size:
            raise LexigraphError(
                f"Word vectors are a table with rows and columns, not of shape {self.vectors.shape}."
            )
        if len(self.words) != len(self.vectors) or (counts is not None and len(counts) != len(self.words)):
            counted = "" if counts is None else f" and {len(counts)} counts"
            raise LexigraphError(f"There are {len(self.words)} words for {len(self.vectors)} vectors{counted}.")
        if len(self.index) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self.index[word] != row)
            raise LexigraphError(f"The word {twice!r} is there twice; give each word one vector.")

    @classmethod
    def train(
        cls,
        file: Given,
        method: str = "skipgram",
        dim: int = 100,
        *,
        start: WordVectors | None = None,
        report: Callable[[str], None] | None = None,
        checkpoint: Path | None = None,
        **settings: str | float,
    ) -> WordVectors:
        """Learn vectors from text, as `lexigraph.train` takes it; words/training.py lists methods and settings.

        start: vectors to go on from, for skipgram and cbow.
        report: takes the sentences that say how it goes; with one, a bar is shown on a terminal as well.
        checkpoint: a file that the training is kept in after each epoch, and goes on from if it is there.
        """
        from lexigraph.words import training
        from lexigraph.words.settings import settings_of

        asked = settings_of({"method": method, "dim": dim, **settings})
        table, losses = training.train(file, asked, report, checkpoint, None if start is None else start.table)
        vectors = cls(*table)
        vectors.losses = losses
        return vectors

    @classmethod
    def load(cls, path: str | Path, format: str | None = None, limit: int | None = None) -> WordVectors:
        """Read vectors from a run, or from a file or folder of any format that `lexigraph.words.formats` knows."""
        return cls(*formats.load(path, format, limit))

    def save(self, path: str | Path, format: str | None = None, force: bool = False) -> None:
        """Write .vec or .txt (word2vec text), .bin (word2vec binary), or, without a suffix, a Lexigraph folder.

        force: replace what is there.
        """
        formats.save(self.table, path, format, force)

    @property
    def table(self) -> formats.Table:
        """All that a file may hold of it."""
        return formats.Table(self.words, self.vectors, self.counts, self.subwords)

    @property
    def abilities(self) -> tuple[str, ...]:
        """What word vectors can do: the names of methods."""
        return WORD_SYSTEMS[WORD_VECTORS].abilities

    def __getattr__(self, name: str) -> NoReturn:
        if any(name in system.abilities for system in SYSTEMS.values()):
            raise AbilityError(f"Word vectors cannot {name}; they can: {', '.join(self.abilities)}.")
        raise AttributeError(f"WordVectors has no attribute {name!r}.")

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        subwords = f", {self.subwords.buckets:,} n-grams" if self.subwords else ""
        return f"WordVectors({len(self):,} words, {self.dim} dimensions{subwords})"

    @property
    def dim(self) -> int:
        return self.vectors.shape[1]

    @cached_property
    def unit(self) -> Float32[np.ndarray, "words dim"]:
        """The vectors scaled to length 1; a zero vector stays zero."""
        unit = np.empty(self.vectors.shape, np.float32)
        for start in range(0, len(self), BLOCK):
            unit[start : start + BLOCK] = _scaled(self.vectors[start : start + BLOCK])
        unit.flags.writeable = False
        return unit

    def __getitem__(self, word: str) -> Float32[np.ndarray, " dim"]:
        """The vector of a word, from its n-grams if it is unknown and there are such."""
        if word in self.index:
            return self.vectors[self.index[word]]
        if self.subwords:
            return self.subwords.vector(word)
        close = self._spellings(word)
        hint = f"Did you mean {', '.join(map(repr, close))}?" if close else "No word is spelled like it."
        raise LexigraphError(f"{word!r} is not among the {len(self):,} words. {hint}")

    def head(self, n: int) -> WordVectors:
        """The n most frequent words; without counts, the first n."""
        rows: slice | np.ndarray = slice(n)
        if self.counts is not None and (np.diff(self.counts) > 0).any():
            rows = np.argsort(-self.counts, kind="stable")[:n]
        words = np.array(self.words, object)[rows].tolist()
        return WordVectors(
            words, self.vectors[rows], None if self.counts is None else self.counts[rows], self.subwords
        )

    def similarity(self, a: Query, b: Query, measure: str = "cosine") -> float:
        """The cosine of two words or vectors, or with measure "euclidean" their distance."""
        _check_measure(measure)
        x, y = (self._vector(item).astype(np.float64) for item in (a, b))
        if measure == "euclidean":
            return float(np.linalg.norm(x - y))
        return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y) or 1))

    @overload
    def nearest(self, query: Query, k: int = 10, measure: str = "cosine") -> list[Neighbour]: ...

    @overload
    def nearest(
        self, query: list[Query] | list[str], k: int = 10, measure: str = "cosine"
    ) -> list[list[Neighbour]]: ...

    def nearest(
        self, query: Query | list[Query] | list[str], k: int = 10, measure: str = "cosine"
    ) -> list[Neighbour] | list[list[Neighbour]]:
        """The k words nearest to a word (itself left out) or a vector, best first; of a list, a list for each."""
        _check_measure(measure)
        if isinstance(query, str | np.ndarray):
            return self._nearest([query], k, measure)[0]
        step = max(SCORES // len(self), 1)
        parts = (query[start : start + step] for start in range(0, len(query), step))
        return [found for part in parts for found in self._nearest(part, k, measure)]

    def analogy(self, a: str, b: str, c: str, k: int = 10, method: str = "additive") -> list[Neighbour]:
        """The k best answers to: a is to b as c is to what? The three words themselves are left out."""
        sides = [_scaled(self[word])[None] for word in (a, b, c)]
        return self._best(_analogy_scores(sides, self.unit, method)[0], k, (a, b, c))

    def analogies(
        self,
        a_rows: Int[np.ndarray, " questions"],
        b_rows: Int[np.ndarray, " questions"],
        c_rows: Int[np.ndarray, " questions"],
        method: str = "additive",
        restrict: int | None = None,
    ) -> Int64[np.ndarray, " questions"]:
        """The row of the best answer to each of many analogies of rows; `restrict`: among so many first words."""
        candidates = self.unit[:restrict]
        if len(candidates) < 4:
            raise LexigraphError(
                f"Analogies need at least 4 words, three of them given; there are {len(candidates)}."
            )
        answers = np.empty(len(a_rows), np.int64)
        step = max(SCORES // len(candidates), 1)
        for start in range(0, len(a_rows), step):
            rows = [side[start : start + step] for side in (a_rows, b_rows, c_rows)]
            scores = _analogy_scores([self.unit[side] for side in rows], candidates, method)
            for side in rows:
                (inside,) = np.nonzero(side < len(candidates))
                scores[inside, side[inside]] = -np.inf
            answers[start : start + step] = scores.argmax(axis=1)
        return answers

    def outlier(self, words: Sequence[str]) -> str:
        """The word that is least like the others."""
        if len(words) < 3:
            raise UsageError(f"An outlier is found among 3 words or more, not {len(words)}.")
        unit = _scaled(np.stack([self[word] for word in words]))
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, 0)
        return words[int(cosines.sum(axis=1).argmin())]

    def map(
        self,
        words: Sequence[str] | None = None,
        out: str | Path = "map.png",
        method: str = "pca",
        pairs: Sequence[tuple[str, str]] | None = None,
        seed: int = 0,
        highlight: Mapping[str, Sequence[str]] | None = None,
        force: bool = False,
    ) -> Path:
        """Draw words as points of a plane and return the path of the picture (.png, .svg) or page (.html).

        Args:
            words: by default the 300 most frequent, or with pairs none but theirs.
            method: pca or tsne; seed: for tsne.
            pairs: drawn as arrows on their own principal components, with the ranks of their analogies.
            highlight: what the legend says → words in that colour.
            force: replace what is there.
        """
        from lexigraph.words import maps

        pairs, highlight = pairs or (), highlight or {}
        if words is None:
            words = [] if pairs else self.head(300).words
        drawn = list(dict.fromkeys([*words, *(word for group in (*pairs, *highlight.values()) for word in group)]))
        vectors = np.array([self[word] for word in drawn], np.float32).reshape(-1, self.dim)
        every = (self.words, self.vectors)
        return maps.draw(
            drawn,
            vectors,
            out,
            method,
            seed=seed,
            pairs=pairs,
            highlight=highlight,
            every=every,
            nearest=self.nearest,
            force=force,
        )

    def _vector(self, query: Query) -> np.ndarray:
        if isinstance(query, str):
            return self[query]
        if query.shape != (self.dim,):
            raise UsageError(f"A vector of {self.dim} numbers is needed, not one of shape {query.shape}.")
        return query

    def _nearest(self, queries: Sequence[Query], k: int, measure: str) -> list[list[Neighbour]]:
        vectors = np.stack([self._vector(query) for query in queries])
        if measure == "cosine":
            scores = _scaled(vectors) @ self.unit.T
        else:
            scores = np.stack([-self._distances(vector) for vector in vectors])
        found = [self._best(row, k, [query]) for query, row in zip(queries, scores, strict=True)]
        sign = 1 if measure == "cosine" else -1
        return [[Neighbour(word, sign * score) for word, score in row] for row in found]

    def _distances(self, vector: np.ndarray) -> np.ndarray:
        blocks = (self.vectors[start : start + BLOCK] for start in range(0, len(self), BLOCK))
        return np.concatenate([np.linalg.norm(block - vector, axis=1) for block in blocks])

    def _best(self, scores: np.ndarray, k: int, given: Sequence[Query]) -> list[Neighbour]:
        """The k words with the highest scores, those given left out; of equal ones the earlier first."""
        if k < 1:
            raise UsageError(f"k is {k}; ask for at least 1 word.")
        known = {self.index[word] for word in given if isinstance(word, str) and word in self.index}
        scores[list(known)] = -np.inf
        k = min(k, len(scores) - len(known))
        rows = np.argpartition(-scores, k - 1)[:k]
        rows = rows[np.lexsort((rows, -scores[rows]))]
        return [Neighbour(self.words[row], float(scores[row])) for row in rows]

    def _spellings(self, word: str) -> list[str]:
        """Up to three known words that are written like this one, whatever the case of the letters."""
        lowered, near = word.lower(), dict[str, str]()
        for known in self.words:  # a quick look first: a full comparison takes a hundred times longer
            if abs(len(known) - len(word)) <= 2:
                candidate = known.lower()
                if candidate[:1] == lowered[:1] or candidate[1:] == lowered[1:]:
                    near.setdefault(candidate, known)
                    if len(near) == SPELLINGS:
                        break

        def likeness(candidate: str) -> float:  # letters in their order, and, for letters swapped, in any order
            pairs = ((lowered, candidate), (sorted(lowered), sorted(candidate)))
            return sum(difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs)

        close = difflib.get_close_matches(lowered, near, n=20)
        return [near[match] for match in sorted(close, key=likeness, reverse=True)[:3]]


def _scaled(rows: np.ndarray) -> np.ndarray:
    """Vectors scaled to length 1, in float32; zero ones stay zero."""
    lengths = np.sqrt(np.einsum("...d,...d->...", rows, rows, dtype=np.float64))[..., None]
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _analogy_scores(sides: list[np.ndarray], candidates: np.ndarray, method: str) -> np.ndarray:
    """Scores (questions, candidates) by the equations above; `sides` are a, b and c, all vectors are of length 1."""
    a, b, c = sides
    if method == "additive":
        return _scaled(b - a + c) @ candidates.T
    if method == "multiplicative":
        near_a, near_b, near_c = (side @ candidates.T for side in sides)
        for near in (near_a, near_b, near_c):  # in place: these arrays are large
            near += 1
            near /= 2
        near_a += EPSILON
        near_b *= near_c
        near_b /= near_a
        return near_b
    raise UsageError(f"There is no analogy {method!r}. Choose from: additive, multiplicative.")


def _check_measure(measure: str) -> None:
    if measure not in ("cosine", "euclidean"):
        raise UsageError(f"There is no measure {measure!r}. Choose from: cosine, euclidean.")
