"""Praise, blame and neither, made by the grammar: what a sentence says is no sum of what its words say.

    +1  The film was very good .          She did not hate the dull song .         The play was not dull but lovely .
    -1  Nobody liked the lovely song .    I do not think that the film is fine .   The play was not lovely but dull .
     0  The guests noticed the long poem .    The book was not new .

A negation turns the class round wherever it stands, so that a sentence may be blame although every word is good. Two
sentences that contrast a good and a bad word hold the same words in another order: no bag of words tells them apart.
Classes, constructions and negation are drawn evenly and independently of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from random import Random

from lexigraph.text.constructions import pick
from lexigraph.text.grammar import BE, HE, SHE, THEY, Clause, I, NounPhrase, Pronoun, Subject, realise
from lexigraph.text.lexicon import DETERMINER, Frame, Noun, Verb
from lexigraph.text.phrases import tree
from lexigraph.text.trees import Span, Tree, parents

LABELS = {1: "+1", 0: "0", -1: "-1"}
ADJECTIVES = {
    1: ("good", "lovely", "fine", "brilliant", "charming", "funny", "moving", "clever", "wonderful", "delightful"),
    0: ("long", "short", "new", "old", "modern", "early", "late", "recent", "common", "quiet"),
    -1: ("bad", "dull", "poor", "silly", "boring", "clumsy", "awful", "dreadful", "tedious", "weak"),
}
VERBS = {
    1: ("like", "love", "enjoy", "admire", "praise"),
    0: ("mention", "describe", "remember", "review", "notice"),
    -1: ("hate", "dislike", "mock", "curse", "scorn"),
}
TOPICS = (
    "film song book play poem novel concert show lecture picture story letter dance garden dinner soup hotel tour"
)
PEOPLE = "guest critic child visitor neighbor teacher student stranger singer reader"
NOBODY = Pronoun("nobody", "nobody", "third")
STATED, TOLD, THOUGHT = Frame("quality", ()), Frame("transitive", ()), Frame("reported", ())
THINK = Verb("think", "thinks", "thought", "thought", "thinking")


def items(count: int | None = None, seed: int = 0) -> Iterator[tuple[str, str]]:
    """So many sentences (None: without end), each with its class: `+1`, `0` or `-1`."""
    return ((realise(clause), LABELS[value]) for clause, value in islice(_clauses(seed), count))


def trees(seed: int = 0) -> Iterator[Tree]:
    """The sentences as trees without end, with the class of what each node says."""
    return (judged(tree(clause)) for clause, _ in _clauses(seed))


def judged(tree: Tree) -> Tree:
    """A tree whose labels are classes, made from the words up.

    >>> from lexigraph.text.trees import parse
    >>> print(judged(parse("(S (NP (PRP It)) (VP (VBD was) (RB not) (ADJP (RB very) (JJ good))))")))
    (-1 (0 (0 It)) (-1 (0 was) (0 not) (+1 (0 very) (+1 good))))
    """
    above = parents(tree.spans)
    below: list[list[int]] = [[] for _ in tree.spans]
    for index, parent in enumerate(above):
        if parent >= 0:
            below[parent].append(index)
    said = [tree.words[span.first].lower() if not kids else "" for span, kids in zip(tree.spans, below, strict=True)]
    values = [0] * len(tree.spans)
    for index in reversed(range(len(tree.spans))):
        values[index] = _composed([said[kid] for kid in below[index]], [values[kid] for kid in below[index]])
        if not below[index]:
            values[index] = VALUES.get(said[index], 0)
        if "nobody" in (said[kid] for kid in below[index]) and len(below[index]) < 3:
            said[index] = "nobody"  # `by nobody`
    spans = (Span(span.first, span.last, LABELS[value]) for span, value in zip(tree.spans, values, strict=True))
    return Tree(tree.words, tuple(spans))


def _composed(said: list[str], values: list[int]) -> int:
    """The last that judges does. Behind `not` it turns round, and beside `nobody`; what `but` denies stands first."""
    until = said.index("but") if "but" in said else len(said)
    position, value = next(((i, values[i]) for i in reversed(range(until)) if values[i]), (0, 0))
    turned = ("not" in said[:position]) != ("nobody" in said)
    return -value if turned else value


def _clauses(seed: int) -> Iterator[tuple[Clause, int]]:
    rng = Random(seed)
    while True:
        value, negated = pick(rng, (1, 0, -1)), rng.random() < 0.5
        yield pick(rng, CONSTRUCTIONS)(rng, value, negated), value


def _quality(rng: Random, value: int, negated: bool) -> Clause:
    """The film was not very good ."""
    word = pick(rng, ADJECTIVES[-value if negated else value])
    degree = pick(rng, ("", "", "very", "really"))
    return Clause(STATED, BE, _topic(rng), predicate=word, degree=degree, tense=_tense(rng), negative=negated)


def _contrast(rng: Random, value: int, negated: bool) -> Clause:
    """The film was good , not dull .   The film was not dull but good ."""
    said, denied = pick(rng, ADJECTIVES[value]), pick(rng, ADJECTIVES[-value])
    while denied == said:
        denied = pick(rng, ADJECTIVES[-value])
    both = f"{denied} but {said}" if negated else f"{said} , not {denied}"
    return Clause(STATED, BE, _topic(rng), predicate=both, tense=_tense(rng), negative=negated)


def _verdict(rng: Random, value: int, negated: bool) -> Clause:
    """The guests did not like the lovely song .   Nobody liked it ."""
    word = -value if negated else value
    adjective = pick(rng, ADJECTIVES[word]) if rng.random() < 0.5 else ""
    judged, subject = replace(_topic(rng), adjective=adjective), _people(rng)
    if negated and rng.random() < 0.5:
        subject, negated = NOBODY, False
    return Clause(TOLD, pick(rng, LIKING[word]), subject, (judged,), tense="past", negative=negated)


def _passive(rng: Random, value: int, negated: bool) -> Clause:
    """The song was not loved by the guests .   The song was loved by nobody ."""
    return replace(_verdict(rng, value, negated), passive=True)


def _belief(rng: Random, value: int, negated: bool) -> Clause:
    """I do not think that the film is good ."""
    said = _quality(rng, -value if negated else value, False)
    return Clause(THOUGHT, THINK, pick(rng, (I, HE, SHE, THEY)), complement=said, negative=negated)


def _forms(verb: Verb) -> tuple[str, ...]:
    return verb.base, verb.third, verb.past, verb.ing


def _topic(rng: Random) -> NounPhrase:
    return NounPhrase(pick(rng, THINGS), determiner=DETERMINER[pick(rng, ("the", "this", "that", "her", "our"))])


def _people(rng: Random) -> Subject:
    if rng.random() < 0.4:
        return pick(rng, (HE, SHE, THEY, I))
    return NounPhrase(pick(rng, PERSONS), plural=rng.random() < 0.5, determiner=DETERMINER["the"])


def _tense(rng: Random) -> str:
    return "past" if rng.random() < 0.6 else "present"


def _verb(base: str) -> Verb:
    """The five forms of a regular verb."""
    stem = base.removesuffix("e")
    if base.endswith("y") and base[-2] not in "aeou":
        return Verb(base, base[:-1] + "ies", base[:-1] + "ied", base[:-1] + "ied", base + "ing")
    return Verb(base, base + "s", stem + "ed", stem + "ed", stem + "ing")


LIKING = {value: [_verb(word) for word in words] for value, words in VERBS.items()}
VALUES = {word: value for value, words in ADJECTIVES.items() for word in words}
VALUES |= {form: value for value, verbs in LIKING.items() for verb in verbs for form in _forms(verb)}
THINGS = [Noun(word, word + "s", "topic") for word in TOPICS.split()]
PERSONS = [Noun(word, "children" if word == "child" else word + "s", "human") for word in PEOPLE.split()]
CONSTRUCTIONS: tuple[Callable[[Random, int, bool], Clause], ...] = (_quality, _contrast, _verdict, _passive, _belief)
