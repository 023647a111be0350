"""Passages of the built-in corpus with a question about one of their clauses: who, what, where or when.

    Anna sold the old boat . We sat in the garden . Did it rain ? …        Who sold the old boat ?  →  Anna

One question in five is about a clause that the passage does not have: it has no answer. No question of a passage fits
two of its clauses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random

from lexigraph.text import constructions, grammar
from lexigraph.text.constructions import pick
from lexigraph.text.grammar import WHO, Clause, NounPhrase, Subject
from lexigraph.text.lexicon import PEOPLE

CLAUSES = 5  # of a passage
UNANSWERABLE = 0.2  # the share of questions that are about another clause
PERSONS = {*PEOPLE, "name"}


def questions(clause: Clause) -> dict[str, str]:
    """What may be asked about a clause, and what it answers, as it says it; pronouns are no answers.

    >>> from lexigraph.text.lexicon import NOUN, PROPER, VERB, frame_of
    >>> anna, boat = NounPhrase(PROPER[0]), NounPhrase(NOUN["boat"], determiner=constructions.THE)
    >>> questions(Clause(frame_of("transitive", "sell"), VERB["sell"], anna, (boat,), tense="past"))
    {'Who sold the boat ?': 'Anna', 'What did Anna sell ?': 'the boat'}
    """
    plain = clause.mood == "statement" and not (clause.negative or clause.passive or clause.subordinate)
    if not plain or clause.complement or clause.fronted or clause.frame.kind in ("existential", "weather"):
        return {}
    asking, found = replace(clause, mood="question"), dict[str, str]()
    if _noun(clause.subject) in PERSONS:
        found[grammar.realise(replace(asking, subject=WHO))] = grammar.spoken(clause.subject)
    thing = clause.objects[-1] if clause.objects and clause.frame.kind == "transitive" else None
    if kind := _noun(thing):
        asked = "who" if kind in PERSONS else "what"
        found[grammar.realise(replace(asking, gap=True, asked=asked))] = grammar.spoken(thing, "object")
    if clause.place:
        found[grammar.realise(replace(asking, place=None, asked="where"))] = grammar.spoken(clause.place)
    if clause.time:
        found[grammar.realise(replace(asking, time=None, asked="when"))] = clause.time.phrase
    return found


def _noun(phrase: Subject | None) -> str:
    """What kind of noun a phrase is about; "" for a pronoun, or two who do it together."""
    return phrase.noun.kind if isinstance(phrase, NounPhrase) else ""


def passages() -> Iterator[tuple[str, str, str, int]]:
    """Passage, question, answer ("" if there is none) and where it begins, without end."""
    rng, clauses = Random(0), constructions.clauses(None)
    while True:
        *chosen, other = islice(clauses, CLAUSES + 1)
        sentences = [grammar.realise(clause) for clause in chosen]
        asked = other if rng.random() < UNANSWERABLE else pick(rng, chosen)
        possible = questions(asked)
        known = [question for clause in chosen for question in questions(clause)]
        possible = {
            question: said for question, said in possible.items() if known.count(question) <= (asked in chosen)
        }
        if not possible:
            continue
        question = pick(rng, list(possible))
        passage, answer = " ".join(sentences), possible[question]
        if asked is other:
            yield passage, question, "", -1
            continue
        number = next(place for place, clause in enumerate(chosen) if clause is asked)
        before = sum(len(sentence) + 1 for sentence in sentences[:number])
        inside = f" {sentences[number]} ".lower().find(f" {answer} ".lower())
        if inside >= 0:
            begin = before + inside
            yield passage, question, passage[begin : begin + len(answer)], begin
