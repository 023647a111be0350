"""Two languages in one space: turn the vectors of one onto the other's, and translate by nearness.

    W = UVᵀ, where UΣVᵀ = XᵀY            of all orthogonal W the one with the least ‖XW − Y‖ (Procrustes)
    nearest    cos(xW, y)
    csls       2 cos(xW, y) − r(xW) − r(y)        r: mean cosine with the 10 nearest words of the other language

The rows of X and Y are the vectors of known pairs, scaled to length 1, centred, and scaled again. In many dimensions
some words, hubs, are near to everything; CSLS takes that off (Conneau et al. 2018).

>>> english = WordVectors(["dog", "cat", "sun"], np.array([[2, 0], [0, 2], [-1, -1]], np.float32))
>>> french = WordVectors(["soleil", "chat", "chien"], np.array([[-1, -1], [2, 0], [0, 2]], np.float32))
>>> alignment = align(english, french, [("dog", "chien"), ("cat", "chat")])
>>> alignment.translate("sun", k=1)[0].word
'soleil'
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.vectors import Neighbour, WordVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NEIGHBOURS = 10  # that CSLS looks at, as in the paper
BLOCK = 1024  # words compared at once with all of the other language

Pairs = Sequence[tuple[str, str]]  # a word and its translation


def procrustes(X: Float[np.ndarray, "pairs dim"], Y: Float[np.ndarray, "pairs dim"]) -> Float[np.ndarray, "dim dim"]:
    """The orthogonal W that brings XW nearest to Y."""
    U, _, Vt = np.linalg.svd(X.astype(np.float64).T @ Y)
    return U @ Vt


def align(source: WordVectors, target: WordVectors, pairs: Pairs) -> Alignment:
    """Turn the source's vectors so that the pairs' words, at least as many as dimensions, come to lie together."""
    if source.dim != target.dim:
        raise LexigraphError(
            f"The vectors have {source.dim} and {target.dim} dimensions. Train both languages with the same dim."
        )
    if len(pairs) < source.dim:
        raise LexigraphError(
            f"{len(pairs)} pairs do not settle a rotation in {source.dim} dimensions: "
            f"give at least {source.dim} pairs, or train shorter vectors."
        )
    _check_known(pairs, source, target)
    source, target = _centred(source), _centred(target)
    W = procrustes(np.stack([source[word] for word, _ in pairs]), np.stack([target[word] for _, word in pairs]))
    return Alignment(WordVectors(source.words, source.vectors @ W.astype(np.float32)), target, W)


@dataclass(frozen=True)
class Alignment:
    """The words of two languages, centred and of length 1 in the target's space; W has turned the source's."""

    source: WordVectors
    target: WordVectors
    W: Float[np.ndarray, "dim dim"]

    def translate(self, word: str, k: int = 10, method: str = "nearest") -> list[Neighbour]:
        """The k target words with the highest scores, by "nearest" or "csls"."""
        scores = self._scores([word], method)[0]
        return [
            Neighbour(self.target.words[row], float(scores[row])) for row in np.argsort(-scores, kind="stable")[:k]
        ]

    def accuracy(self, pairs: Pairs, k: Sequence[int] = (1, 5, 10), method: str = "nearest") -> dict[int, float]:
        """For each k, the share of source words with one of their translations among the k best."""
        if not pairs:
            raise UsageError("There are no pairs to test the translation with.")
        _check_known(pairs, self.source, self.target)
        right: dict[str, list[int]] = {}
        for word, translation in pairs:
            right.setdefault(word, []).append(self.target.index[translation])
        words, better = list(right), []  # better: how many words score higher than the best right one
        for start in range(0, len(words), BLOCK):
            part = words[start : start + BLOCK]
            for word, scores in zip(part, self._scores(part, method), strict=True):
                better.append(np.count_nonzero(scores > scores[right[word]].max()))
        return {limit: float(np.mean(np.array(better) < limit)) for limit in k}

    def _scores(self, words: list[str], method: str) -> Float32[np.ndarray, "words targets"]:
        if method not in ("nearest", "csls"):
            raise UsageError(f"There is no method {method!r}. Choose from: nearest, csls.")
        cosines = np.stack([self.source[word] for word in words]) @ self.target.unit.T
        if method == "nearest":
            return cosines
        return 2 * cosines - _mean_of_highest(cosines)[:, None] - self._crowding

    @cached_property
    def _crowding(self) -> Float32[np.ndarray, " targets"]:
        """r(y) of every target word."""
        blocks = (self.target.unit[start : start + BLOCK] for start in range(0, len(self.target), BLOCK))
        return np.concatenate([_mean_of_highest(block @ self.source.unit.T) for block in blocks])


def _mean_of_highest(cosines: np.ndarray) -> np.ndarray:
    k = min(NEIGHBOURS, cosines.shape[1])
    return np.partition(cosines, -k, axis=1)[:, -k:].mean(axis=1)


def _centred(wv: WordVectors) -> WordVectors:
    return WordVectors(wv.words, WordVectors(wv.words, wv.unit - wv.unit.mean(axis=0)).unit)


def _check_known(pairs: Pairs, source: WordVectors, target: WordVectors) -> None:
    sides = ((word, wv) for pair in pairs for word, wv in zip(pair, (source, target), strict=True))
    if unknown := [word for word, wv in sides if word not in wv]:
        raise LexigraphError(
            f"{len(unknown):,} words of the {len(pairs):,} pairs have no vector, the first is {unknown[0]!r}. "
            "Leave such pairs out: [(a, b) for a, b in pairs if a in source and b in target]."
        )


# ---- where pairs come from ----


def identical(source: WordVectors, target: WordVectors) -> list[tuple[str, str]]:
    """Words that both languages spell alike: names, numbers and loans."""
    return [(word, word) for word in source.words if word in target]


def dictionary(
    lines: Iterable[tuple[Sequence[str], Sequence[str]]],
    measure: str = "dice",
    least: float = 0.3,
    min_count: int = 5,
) -> list[tuple[str, str]]:
    """Words that are each other's best translation in sentence pairs, the surest first.

    n_s, n_t, n_st of the N lines have word s on one side, t on the other, both:
        dice = 2 n_st / (n_s + n_t)          ppmi = max(0, log2 N n_st / (n_s n_t)), which prefers rare words

    Args:
        lines: each a sentence and its translation, as words.
        least: pairs that score less are left out; dice ends at 1, ppmi is in bits.
        min_count: words on fewer lines are left out.
    """
    if measure not in ("dice", "ppmi"):
        raise UsageError(f"There is no measure {measure!r}. Choose from: dice, ppmi.")
    sides = list(zip(*((set(source), set(target)) for source, target in lines), strict=True))
    (sources, left), (targets, right) = (_presence(side, min_count) for side in sides or [(), ()])
    if not sources or not targets:
        raise LexigraphError(f"No word stands on min_count = {min_count} lines of its language; lower min_count.")
    n_st = (left.T @ right).tocoo()
    n_s, n_t = left.sum(axis=0)[n_st.row], right.sum(axis=0)[n_st.col]
    if measure == "dice":
        n_st.data = 2 * n_st.data / (n_s + n_t)
    else:
        n_st.data = np.maximum(np.log2(left.shape[0] * n_st.data / (n_s * n_t)), 0)
    scores = n_st.tocsr()
    best, score = scores.argmax(axis=1), scores.max(axis=1).toarray().ravel()
    mutual = scores.argmax(axis=0)[best] == np.arange(len(sources))
    rows = np.flatnonzero(mutual & (score >= least) & (score > 0))
    return [(sources[row], targets[best[row]]) for row in rows[np.argsort(-score[rows], kind="stable")]]


def held_out(pairs: Pairs, share: float = 0.2) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs to learn from and pairs to test with; a hash of the source word decides, so the order does not matter."""
    held = {word for word, _ in pairs if zlib.crc32(word.encode()) < share * 2**32}
    return [pair for pair in pairs if pair[0] not in held], [pair for pair in pairs if pair[0] in held]


def _presence(lines: Sequence[set[str]], min_count: int) -> tuple[list[str], csr_array]:
    """The words on at least min_count lines, and a sparse table (lines, words): 1 where the line has the word."""
    from scipy.sparse import csr_array

    counts = Counter(word for words in lines for word in words)
    kept = sorted(word for word, count in counts.items() if count >= min_count)
    number = {word: place for place, word in enumerate(kept)}
    found = [[number[word] for word in words if word in number] for words in lines]
    ends = np.cumsum([0, *map(len, found)])
    positions = np.fromiter(chain.from_iterable(found), np.int64, ends[-1])
    return kept, csr_array((np.ones(len(positions), np.int64), positions, ends), shape=(len(lines), len(kept)))
