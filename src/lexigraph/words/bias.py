"""Unwanted associations in word vectors: measure them (WEAT), find their direction, take it out.

    direction    g: first principal component of a − μ, b − μ over pairs (a, b), μ = (a + b)/2
    neutralise   e − (e·g) g / ‖g‖²
    equalise     ν ± √(1 − ‖ν‖²) g / ‖g‖, ν = μ neutralised: both are then equally near to every neutral word
    WEAT         s(w) = mean cos(w, a) over A − mean cos(w, b) over B
                 d = (mean s over X − mean s over Y) / standard deviation of s over X and Y (with n − 1)
                 p = share of the ways to split X and Y anew, in the same sizes, whose difference is at least as large

after Bolukbasi et al. 2016 and Caliskan et al. 2017. All vectors are scaled to length 1 first.

>>> wv = WordVectors(["he", "she", "pilot", "nurse"], np.array([[1, 2], [-1, 2], [2, 3], [-2, 3]], np.float32))
>>> d, p = weat(wv, ["pilot"], ["nurse"], ["he"], ["she"])
>>> round(d, 3), p
(1.414, 0.5)
>>> fair = debias(wv, [("he", "she")])
>>> weat(fair, ["pilot"], ["nurse"], ["he"], ["she"])
Weat(effect=0.0, p=1.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.vectors import WordVectors

FLAT = 1e-6  # scores that differ by less differ by the rounding of float32

Pairs = Sequence[tuple[str, str]]


def direction(wv: WordVectors, pairs: Pairs) -> Float[np.ndarray, " dim"]:
    """What tells the first word of each pair from the second, such as he from she; of length 1."""
    if not pairs:
        raise UsageError("A direction needs at least one pair of words, as ('he', 'she').")
    apart = _unit(wv, [first for first, _ in pairs]) - _unit(wv, [second for _, second in pairs])
    if not np.linalg.norm(apart) > FLAT:
        raise LexigraphError(f"The words of each pair have the same vector, as {pairs[0][0]!r} and {pairs[0][1]!r}.")
    g = np.linalg.svd(apart)[2][0]  # a − μ and b − μ are ± half of each row: the same axis
    return g if (apart @ g).sum() >= 0 else -g


def neutralise(e: Float[np.ndarray, "*rows dim"], g: Float[np.ndarray, " dim"]) -> Float[np.ndarray, "*rows dim"]:
    """Vectors without their part along g.

    >>> neutralise(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
    array([0., 4.])
    """
    return e - (e @ g)[..., None] * g / (g @ g)


def equalise(pair: Float[np.ndarray, "2 dim"], g: Float[np.ndarray, " dim"]) -> Float[np.ndarray, "2 dim"]:
    """Two vectors of length 1, made alike in all but the sign of their part along g."""
    sign = np.sign((pair[0] - pair[1]) @ g)
    if not sign:
        raise LexigraphError(
            "The two vectors do not differ along the direction, so they cannot be set apart along it."
        )
    nu = neutralise(pair.mean(axis=0), g)
    along = sign * np.sqrt(max(1 - nu @ nu, 0)) * g / np.linalg.norm(g)
    return np.stack([nu + along, nu - along])


def debias(
    wv: WordVectors,
    pairs: Pairs,
    neutral: Iterable[str] | None = None,
    equal: Pairs | None = None,
    keep: Iterable[str] = (),
) -> WordVectors:
    """Vectors of length 1 without the direction that the pairs show.

    Args:
        neutral: words that lose the direction; by default all that are not in pairs, `equal` or `keep`.
        equal: pairs to be equalised; by default the pairs themselves.
        keep: words that the direction rightly belongs to, as father or queen.
    """
    g = direction(wv, pairs)
    wv = WordVectors(wv.words, wv.unit, wv.counts)  # without n-grams, which would bring the direction back
    equal = pairs if equal is None else equal
    equalised = [word for pair in equal for word in pair]
    if neutral is None:
        neutral = wv.index.keys() - {word for pair in pairs for word in pair} - set(equalised) - set(keep)
    neutral = set(neutral)
    if twice := {word for word in equalised if equalised.count(word) > 1 or word in neutral}:
        raise UsageError(
            f"{', '.join(map(repr, sorted(twice)))}: a word can be in one equal pair only, and not be neutral too."
        )
    vectors = wv.vectors.copy()
    rows = [_row(wv, word) for word in neutral]
    vectors[rows] = neutralise(vectors[rows], g)
    vectors = WordVectors(wv.words, vectors).unit.copy()
    for pair in equal:
        rows = [_row(wv, word) for word in pair]
        vectors[rows] = equalise(vectors[rows].astype(np.float64), g)
    return WordVectors(wv.words, vectors, wv.counts)


class Weat(NamedTuple):
    """How much more X than Y goes with A rather than B: effect size d, and how often random sets do as much."""

    effect: float
    p: float


def weat(
    wv: WordVectors,
    X: Sequence[str],
    Y: Sequence[str],
    A: Sequence[str],
    B: Sequence[str],
    permutations: int = 10_000,
    seed: int = 0,
) -> Weat:
    """Test whether the words X go with A, and Y with B; p is exact if there are at most `permutations` splits."""
    refuse_empty(X, Y, A, B)
    x, y, a, b = (np.array([wv[word] for word in words]) for words in (X, Y, A, B))
    return association(x, y, a, b, permutations, seed)


def refuse_empty(*sets: Sequence[str]) -> None:
    """The four sets of a test have words."""
    for name, words in zip("XYAB", sets, strict=True):
        if not words:
            raise UsageError(f"The set {name} is empty; each of X, Y, A and B needs at least one word.")


def association(
    X: Float[np.ndarray, "x dim"],
    Y: Float[np.ndarray, "y dim"],
    A: Float[np.ndarray, "a dim"],
    B: Float[np.ndarray, "b dim"],
    permutations: int = 10_000,
    seed: int = 0,
) -> Weat:
    """The same test on vectors, of whatever they are."""
    targets = _scaled(np.concatenate([X, Y]))
    s = targets @ _scaled(A).mean(axis=0) - targets @ _scaled(B).mean(axis=0)
    if np.ptp(s) < FLAT:
        return Weat(0.0, 1.0)
    effect = (s[: len(X)].mean() - s[len(X) :].mean()) / s.std(ddof=1)
    # the sum of s over X and Y is fixed, so the difference grows with the sum over X alone
    if comb(len(s), len(X)) <= permutations:
        sums = [s[list(chosen)].sum() for chosen in combinations(range(len(s)), len(X))]
    else:  # the split that was found counts as one of them, so p is never 0
        random = np.random.default_rng(seed)
        sums = [s[: len(X)].sum(), *(random.permutation(s)[: len(X)].sum() for _ in range(permutations - 1))]
    return Weat(float(effect), float(np.mean(np.array(sums) >= s[: len(X)].sum() - 1e-9)))


def _row(wv: WordVectors, word: str) -> int:
    wv[word]  # an unknown word is refused with a sentence
    return wv.index[word]


def _unit(wv: WordVectors, words: Sequence[str]) -> np.ndarray:
    return _scaled(np.array([wv[word] for word in words]))


def _scaled(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; a row of zeros stays one."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)
