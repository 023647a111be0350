"""Pairs of sentences from the built-in corpus: whether they say the same, and how much they have in common.

Some edits (edits.py) change the words and not what is said: `She gave me a pen today . Today she gave a pen to me .`
Others change what is said and hardly a word. A pair is a sentence and another form of it, of which half say something
else: another time, the contrary, other people.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from lexigraph.text.constructions import clauses, pick
from lexigraph.text.edits import EDITS, Setting, changed
from lexigraph.text.grammar import HE, SHE, THEY, WE, Clause, I, NounPhrase, realise

FORMS = [EDITS[name] for name in ("fronting", "passive", "dative")]  # the same in other words
TENSES, PEOPLE = ("present", "past", "future"), (HE, SHE, THEY, WE, I)
SAID = (
    "verb",
    "subject",
    "objects",
    "goal",
    "predicate",
    "complement",
    "tense",
    "aspect",
    "modal",
    "negative",
    "mood",
)
HIGHEST = 5.0  # of similarities, as in the STS benchmark


def paraphrases(seed: int = 0) -> Iterator[tuple[str, str, bool]]:
    """Two sentences, and whether they say the same."""
    rng = Random(seed)
    for clause in clauses(None, seed):
        pairs = [pair for edit in FORMS if (pair := edit.pair(clause))]
        if not pairs:
            continue
        before, after = pick(rng, pairs)
        same = rng.random() < 0.5
        other = after if same else otherwise(rng, after)
        if other is not None:
            both = (realise(before), realise(other))
            yield (*(both if rng.random() < 0.5 else both[::-1]), same)


def similarities(seed: int = 0) -> Iterator[tuple[str, str, float]]:
    """Two sentences, and how much of what they say is the same, from 0 to 5."""
    rng = Random(seed)
    other = next(clauses(None, seed + 1))
    for clause in clauses(None, seed):
        again = other if rng.random() < 0.25 else clause
        for _ in range(pick(rng, (0, 1, 1, 2, 3))):
            again = otherwise(rng, again) or again
        forms = [pair[1] for edit in FORMS if (pair := edit.pair(again))]
        yield realise(clause), realise(pick(rng, [again, *forms])), similarity(clause, again)
        other = clause


def similarity(one: Clause, other: Clause) -> float:
    """The share of the features that say something in either clause and say the same in both."""
    said = [(getattr(one, name), getattr(other, name)) for name in SAID]
    told = [pair for pair in said if any(value not in ("", (), None, False) for value in pair)]
    return round(HIGHEST * sum(first == second for first, second in told) / len(told), 2)


def otherwise(rng: Random, clause: Clause) -> Clause | None:
    """The clause with one feature changed that changes what is said, if it has the one that is drawn."""
    settings: dict[str, Setting] = {
        "negative": not clause.negative,
        "tense": pick(rng, [tense for tense in TENSES if tense != clause.tense]),
        "subject": pick(rng, [person for person in PEOPLE if person is not clause.subject]),
    }
    if isinstance(clause.surface_subject, NounPhrase):
        settings["plural"] = not clause.surface_subject.plural
    feature = pick(rng, list(settings))
    found = changed(clause, feature, settings[feature])
    return found if found and realise(found) != realise(clause) else None
