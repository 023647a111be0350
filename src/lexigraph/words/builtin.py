"""Questions about everyday words from the built-in grammar, for when no benchmark files are at hand.

They are few and easy: enough to see which vectors have learned something, not to compare them with published ones.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypedDict

from lexigraph.text.lexicon import KINDS, NOUNS, VERB
from lexigraph.words import measures
from lexigraph.words.benchmarks import Question
from lexigraph.words.vectors import WordVectors

LEAST = 20  # questions or words that must be known, or there is no figure


class Judged(TypedDict):
    """A figure, or None where too few of its words have vectors, and the share of them that have."""

    value: float | None
    coverage: float


def questions() -> list[Question]:
    """Dog is to dogs as box is to boxes; sing is to sang as go is to went: neighbours in the lists of the grammar."""
    nouns = [(noun.singular, noun.plural) for kind in NOUNS for noun in KINDS[kind] if noun.plural]
    verbs = [(verb.base, verb.past) for verb in VERB.values() if verb.base != verb.past]
    found = []
    for section, pairs in {"plural": nouns, "past": verbs}.items():
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
        for first in range(0, len(pairs), 8):  # each of eight against the others: a few hundred questions
            for (a, b), (c, d) in combinations(pairs[first : first + 8], 2):
                found.append(Question("grammar", section, a, b, c, (d,)))
    return found


def kinds() -> list[tuple[str, str]]:
    """Nouns with their kind: child, food, vehicle …"""
    return [(noun.singular, kind) for kind in NOUNS for noun in KINDS[kind]]


def judged(wv: WordVectors) -> dict[str, Judged]:
    """The share of such analogies that are right, and how pure as many clusters of nouns are as there are kinds."""
    purity = measures.categorisation(wv, kinds())
    right = measures.analogies(wv, questions())["grammar"]
    found = {"plurals and tenses": right, "kinds of nouns": purity}
    return {
        name: {"value": figure["value"] if figure["n"] >= LEAST else None, "coverage": figure["coverage"]}
        for name, figure in found.items()
    }
