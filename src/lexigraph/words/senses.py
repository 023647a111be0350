"""The senses of a word add up to its vector, and can be read from it (Arora et al. 2018).

    v ≈ α v_a + β v_b,  α = f_a / (f_a + f_b),  β = f_b / (f_a + f_b)    of a word seen f_a times as a, f_b times as b
    v ≈ Σ_j x_j A_j, only a few x_j not 0                                atoms A_j: directions that stand for topics

To test it, make a word with two senses: put a pseudo-word for both of two words, train, and recover the two.

    lines = merge(sentences("my.txt"), "piano", "virus", "piano_virus")       # write them, train, load the vectors
    atoms = learn_atoms(wv, count=1000)
    for sense in recover(wv, "piano_virus", atoms): print(sense.weight, *sense.words)

Learning goes by turns: each word's few weights by orthogonal matching pursuit (take the atom nearest to what is left
of the vector, fit the weights of all that were taken, repeat), then all atoms by least squares for those weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.vectors import WordVectors

ROUNDS = 10  # of learning weights and atoms by turns; later ones change little
WORDS = 20_000  # the first so many words teach the atoms; the vectors of rarer ones are noisy
HOLD = 1e-3  # weight of an atom's last place; words that use it weigh far more
BLOCK = 1024  # words coded at once


def merge(sentences: Iterable[Sequence[str]], a: str, b: str, name: str) -> Iterator[list[str]]:
    """The sentences with `name` in place of both words.

    >>> list(merge([["the", "piano"], ["a", "virus"]], "piano", "virus", "both"))
    [['the', 'both'], ['a', 'both']]
    """
    if a == b:
        raise UsageError(f"{a!r} and {b!r} are one word; a pseudo-word merges two.")
    missing = {a, b}
    for number, sentence in enumerate(sentences, 1):
        if name in sentence and name not in (a, b):
            raise LexigraphError(f"Sentence {number} has the word {name!r} already; choose another name.")
        missing.difference_update(sentence)
        yield [name if word in (a, b) else word for word in sentence]
    if missing:
        raise LexigraphError(f"No sentence has the word {sorted(missing)[0]!r}, so nothing was merged with it.")


def blend_of(
    v_a: Float[np.ndarray, " dim"], v_b: Float[np.ndarray, " dim"], f_a: int, f_b: int
) -> Float[np.ndarray, " dim"]:
    """Where the vector of a word with senses a and b, seen so often each, is expected.

    >>> blend_of(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 3, 1)
    array([0.75, 0.25])
    """
    if f_a < 0 or f_b < 0 or f_a + f_b == 0:
        raise UsageError(f"The counts are {f_a} and {f_b}; they cannot be negative, nor both 0.")
    return (f_a * v_a + f_b * v_b) / (f_a + f_b)


def mixture_weights(
    v: Float[np.ndarray, " dim"], v_a: Float[np.ndarray, " dim"], v_b: Float[np.ndarray, " dim"]
) -> tuple[float, float]:
    """The α and β with the least ‖v − α v_a − β v_b‖."""
    alpha, beta = np.linalg.lstsq(np.stack([v_a, v_b], axis=1), v, rcond=None)[0]
    return float(alpha), float(beta)


class Sense(NamedTuple):
    """A topic of a word: how much of the vector it makes up, and the words nearest to it."""

    weight: float
    words: list[str]


def recover(
    wv: WordVectors, word: str, atoms: Float[np.ndarray, "atoms dim"], active: int = 5, k: int = 10
) -> list[Sense]:
    """The senses of a word, the heaviest first: of `active` atoms those with a positive weight, with k words each."""
    if atoms.shape[1] != wv.dim or not 1 <= active <= len(atoms):
        raise UsageError(f"{max(active, 1)} or more atoms of {wv.dim} dimensions are needed, not {atoms.shape}.")
    vector = wv[word] / (np.linalg.norm(wv[word]) or 1)
    chosen, weights = sparse_code(vector[None], atoms, active)
    near = wv.nearest(list(atoms[chosen[0]]), k + 1)
    senses = [
        Sense(float(weight), [neighbour.word for neighbour in row if neighbour.word != word][:k])
        for weight, row in zip(weights[0], near, strict=True)
        if weight > 0
    ]
    return sorted(senses, reverse=True)


def learn_atoms(wv: WordVectors, count: int = 1000, active: int = 5, seed: int = 0) -> Float[np.ndarray, "atoms dim"]:
    """Directions of length 1 of which `active` nearly add up to the vector of any frequent word."""
    from scipy.sparse import csr_array

    vectors = wv.head(WORDS).unit.astype(np.float64)
    if not 1 <= active <= count <= len(vectors):
        raise UsageError(
            f"active = {active} must be at least 1, count = {count} from there to {len(vectors):,} words."
        )
    atoms = np.random.default_rng(seed).choice(vectors, count, replace=False)
    ends = np.arange(len(vectors) + 1) * active
    for _ in range(ROUNDS):
        chosen, weights = sparse_code(vectors, atoms, active)
        code = csr_array((weights.ravel(), chosen.ravel(), ends), shape=(len(vectors), count))
        # A = argmin ‖V − XA‖: XᵀX A = XᵀV, held near the last A so that an atom that no word uses stays as it is
        atoms = np.linalg.solve((code.T @ code).toarray() + HOLD * np.eye(count), code.T @ vectors + HOLD * atoms)
        atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    return atoms


def sparse_code(
    vectors: Float[np.ndarray, "n dim"], atoms: Float[np.ndarray, "atoms dim"], active: int
) -> tuple[Int[np.ndarray, "n active"], Float[np.ndarray, "n active"]]:
    """For each vector the few atoms that add up to it, and their weights, by orthogonal matching pursuit."""
    parts = [_pursue(vectors[start : start + BLOCK], atoms, active) for start in range(0, len(vectors), BLOCK)]
    return np.concatenate([chosen for chosen, _ in parts]), np.concatenate([weights for _, weights in parts])


def _pursue(vectors: np.ndarray, atoms: np.ndarray, active: int) -> tuple[np.ndarray, np.ndarray]:
    chosen, left = np.empty((len(vectors), 0), np.int64), vectors
    for _ in range(active):
        near = left @ atoms.T  # a sense adds to a vector, so the highest is taken, not the largest in size
        np.put_along_axis(near, chosen, -np.inf, axis=1)
        chosen = np.column_stack([chosen, near.argmax(axis=1)])
        taken = atoms[chosen]  # (n, taken, dim)
        products = taken @ taken.transpose(0, 2, 1) + 1e-9 * np.eye(chosen.shape[1])  # two atoms may be the same
        weights = np.linalg.solve(products, taken @ vectors[:, :, None])
        left = vectors - (weights * taken).sum(axis=1)
    return chosen, weights[:, :, 0]
