"""Edits of the built-in corpus's sentences ("the same, but in the past"), and agreement across intervening nouns.

An edit changes a feature of a clause and spells it out again, so that its result is exactly right. Analogies between
sentences, and whether a model tells `is` from `are` behind a long subject, are scored with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from lexigraph.text import grammar, lexicon
from lexigraph.text.constructions import PRESENT, clauses, draw_relative, entries, known, pick, relatives_of, split_of
from lexigraph.text.grammar import BE, HAVE, HE, IT, SHE, TELLING, THEY, WE, WHO, YOU, Clause, I, NounPhrase, Subject
from lexigraph.text.lexicon import ENTRIES, Noun

# --- Changing a feature ------------------------------------------------------------------------------------


def is_telling(clause: Clause) -> bool:
    return clause.mood in TELLING


PASSIVE = {frame for _, frame in entries("transitive", without="active")}
ALLOWED: dict[str, Callable[[Clause], bool]] = {  # for each feature, the clauses in which English lets it vary
    "subject": lambda c: is_telling(c) and c.frame.personal and not c.passive and c.subject not in (None, WHO, IT),
    "plural": lambda c: isinstance(c.surface_subject, NounPhrase) and bool(c.surface_subject.noun.plural),
    "tense": lambda c: is_telling(c) and not c.modal,
    "aspect": lambda c: is_telling(c) and c.tense != "future" and not (c.modal or c.asked or c.subordinate),
    "modal": lambda c: is_telling(c) and (c.tense, c.aspect) == PRESENT and "told" in c.frame.tags,
    "negative": is_telling,
    "mood": lambda c: is_telling(c) and not c.asked and c.subject is not WHO,
    "order": lambda c: not is_telling(c),  # mood, modal and polarity of what is said to `you`
    "fronted": lambda c: bool(c.time or c.place or c.subordinate),
    "passive": lambda c: is_telling(c) and c.frame in PASSIVE and not c.gap and c.subject not in (None, WHO),
    "dative": lambda c: c.frame.kind == "ditransitive" and not c.passive,
}


Setting = Subject | bool | str | tuple[str, str, bool]  # of a feature; of `order` mood, modal and polarity


def changed(clause: Clause, feature: str, value: Setting) -> Clause | None:
    """The clause with another value and what follows from it, or None where the result would not be English."""
    if not ALLOWED[feature](clause):
        return None
    result: Clause | None
    if feature == "subject" and isinstance(value, Subject):
        result = with_subject(clause, value)
    elif feature == "plural" and isinstance(value, bool):
        result = with_number(clause, value)
    elif feature == "tense" and isinstance(value, str):
        part = "complement" if clause.frame.kind == "reported" else "subordinate"
        below = getattr(clause, part)
        embedded = {part: replace(below, tense=grammar.tense_below(value))} if below else {}
        result = replace(clause, tense=value, **embedded)
    elif feature == "order" and isinstance(value, tuple):
        mood, modal, negative = value
        result = replace(clause, mood=mood, modal=modal, negative=negative)
    else:
        other: dict[str, Any] = {feature: value}  # a text or a truth value, as the feature has it
        result = replace(clause, **other)
    return result if result and grammar.sound(result) else None


def with_subject(clause: Clause, subject: Subject) -> Clause | None:
    """Another subject, and with it the pronoun that takes it up again (`he left because he was tired`)."""
    below, old, new = clause.subordinate, grammar.pronoun_for(clause.subject), grammar.pronoun_for(subject)
    if below is None or below.subject not in (old, new):
        return replace(clause, subject=subject)
    if below.subject != old or new is None:
        return None  # the pronoun would mean somebody else
    return replace(clause, subject=subject, subordinate=replace(below, subject=new))


def with_number(clause: Clause, plural: bool) -> Clause | None:
    """What the verb agrees with in another number: the subject, or else an object."""
    subject = clause.surface_subject
    assert isinstance(subject, NounPhrase)
    other = replace(subject, plural=plural)
    if subject is clause.subject:
        return with_subject(clause, other)
    return replace(clause, objects=tuple([other if phrase is subject else phrase for phrase in clause.objects]))


# --- The edits ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Edit:
    """A change of one feature. There is no pair where either sentence would not be English: a time adverbial that
    does not fit the tense, a progressive of `know`, a passive of `sleep`."""

    feature: str
    before: Setting
    after: Setting
    auxiliary: bool | None = None  # only clauses that have an auxiliary, or only those that need `do`

    def pair(self, clause: Clause) -> tuple[Clause, Clause] | None:
        """The clause before and after the edit, whatever its feature was."""
        if self.auxiliary is not None and self.auxiliary != has_auxiliary(clause):
            return None
        before = changed(clause, self.feature, self.before)
        after = changed(before, self.feature, self.after) if before else None
        if not before or not after or grammar.realise(before) == grammar.realise(after):  # "They put it there ."
            return None
        return before, after


def has_auxiliary(clause: Clause) -> bool:
    """Whether negation and questions need no `do`."""
    compound = clause.modal or clause.tense == "future" or clause.aspect != "simple"
    return bool(compound or clause.passive or clause.verb is BE)


COMMAND = ("command", "", False)  # mood, modal, negative

EDITS: dict[str, Edit] = {
    "he-she": Edit("subject", HE, SHE),  # He laughed . She laughed .
    "he-they": Edit("subject", HE, THEY),  # He sings . They sing .
    "i-we": Edit("subject", I, WE),  # I am waiting . We are waiting .
    "she-i": Edit("subject", SHE, I),  # She is tired . I am tired .
    "they-you": Edit("subject", THEY, YOU),  # They left . You left .
    "plural": Edit("plural", False, True),  # The key is old . The keys are old .
    "present-past": Edit("tense", "present", "past"),  # She sings . She sang .
    "past-future": Edit("tense", "past", "future"),  # She sang . She will sing .
    "present-future": Edit("tense", "present", "future"),  # She sings . She will sing .
    "progressive": Edit("aspect", "simple", "progressive"),  # He ate . He was eating .
    "perfect": Edit("aspect", "simple", "perfect"),  # He ate . He had eaten .
    "can": Edit("modal", "", "can"),  # She sings . She can sing .
    "must": Edit("modal", "", "must"),  # She sings . She must sing .
    "not-auxiliary": Edit("negative", False, True, auxiliary=True),  # He is here . He is not here .
    "not-do": Edit("negative", False, True, auxiliary=False),  # He sang . He did not sing .
    "ask-auxiliary": Edit("mood", "statement", "question", auxiliary=True),  # He is here . Is he here ?
    "ask-do": Edit("mood", "statement", "question", auxiliary=False),  # He sang . Did he sing ?
    "please": Edit("order", COMMAND, ("request", "", False)),  # Sit . Please sit .
    "could-you": Edit("order", COMMAND, ("request", "could", False)),  # Sit . Could you sit ?
    "do-not": Edit("order", COMMAND, ("command", "", True)),  # Sit . Do not sit .
    "fronting": Edit("fronted", False, True),  # She sang today . Today she sang .
    "passive": Edit("passive", False, True),  # He ate it . It was eaten by him .
    "dative": Edit("dative", False, True),  # She gave me a pen . She gave a pen to me .
}


def edit_pairs(family: str, count: int | None, seed: int = 0, split: str | None = None) -> Iterator[tuple[str, str]]:
    """`count` sentences (None: without end) before and after an edit; a pair is of "train" if both of it are."""
    edit = EDITS[known("edit", family, EDITS)]
    known("split", split or "train", ("train", "test"))
    pairs = filter(None, map(edit.pair, clauses(None, seed)))
    kept = (pair for pair in pairs if split is None or split == min(map(split_of, pair)))  # "test" < "train"
    return islice(((grammar.realise(before), grammar.realise(after)) for before, after in kept), count)


SEARCHED = 100  # pairs looked at for each quadruple of two that are edited alike


def edit_quadruples(
    family: str, count: int, seed: int = 0, split: str | None = None, *, parallel: bool = False
) -> Iterator[tuple[str, str, str, str]]:
    """`count` times the same edit of two different sentences x and y: (a(x), b(x), a(y), b(y)).

    parallel: in both, the edit changes the same words at the same places, as analogies usually do: `He is tired .
    She is tired .` goes with `He was asked to . She was asked to .` and not with `Did he sing ? Did she sing ?`. A
    place is known by its number and by the word before it. Some edits seldom do the same twice: where `SEARCHED`
    pairs for each quadruple are not enough, there are fewer than `count`.
    """
    pairs = edit_pairs(family, None, seed, split)
    if parallel:
        return islice(_parallel(islice(pairs, SEARCHED * count)), count)
    different = (first + second for first, second in zip(pairs, pairs, strict=False) if first != second)
    return islice(different, count)


def _parallel(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Each pair with the next different one of the same change."""
    waiting: dict[tuple[Change, ...], tuple[str, str]] = {}
    for pair in pairs:
        change = surface_change(*pair)
        other = waiting.pop(change, pair)
        if other == pair:
            waiting[change] = pair
        else:
            yield other + pair


class Change(NamedTuple):
    """One place where an edit takes hold: its number before and after, the word that stands before it, and what
    gives way to what."""

    old: int
    new: int
    left: str
    gone: str
    come: str


def surface_change(before: str, after: str) -> tuple[Change, ...]:
    """Which words give way to which, and where.

    >>> surface_change("She is here .", "She was not here .")
    (Change(old=1, new=1, left='She', gone='is', come='was not'),)
    """
    old, new = before.split(), after.split()
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        Change(i, k, " ".join(old[:i][-1:]), " ".join(old[i:j]), " ".join(new[k:m]))
        for tag, i, j, k, m in steps
        if tag != "equal"
    )


# --- Agreement across intervening nouns --------------------------------------------------------------------


@dataclass(frozen=True)
class AgreementItem:
    """`The key to the cabinets` with the right verb `is` and the wrong verb `are`."""

    prefix: str
    right: str
    wrong: str
    distractors: int  # nouns between the subject and its verb
    attractor: bool  # one of them has the other number


def agreement_items(count: int, seed: int = 0) -> Iterator[AgreementItem]:
    """`count` subjects with zero to three intervening nouns, each with a verb in the right and in the wrong form."""
    rng = Random(seed)
    heads = [noun for noun in lexicon.MODIFIERS_OF if noun.plural and noun.kind != "site"]
    for _ in range(count):
        subject = draw_nested(rng, heads, pick(rng, (0, 1, 1, 2, 2, 3)))
        doings = [(verb, "present") for verb, frame in ENTRIES["intransitive"] if subject.noun in frame.subjects]
        verb, tense = pick(rng, [(BE, "present"), (BE, "past"), (HAVE, "present"), *doings[:5]])
        right, wrong = grammar.finite(verb, tense, "third"), grammar.finite(verb, tense, "plural")
        if subject.plural:
            right, wrong = wrong, right
        text, between = grammar.spoken(subject), [phrase.plural for phrase in intervening(subject)]
        attractor = (not subject.plural) in between
        yield AgreementItem(text[0].upper() + text[1:], right, wrong, len(between), attractor)


def draw_nested(rng: Random, pool: Sequence[Noun], depth: int, preposition: str = "") -> NounPhrase:
    """A noun phrase with `depth` nouns behind its own: `the key to the cabinets near the doors`."""
    noun, plural = pick(rng, pool), rng.random() < 0.5
    determiner = pick(rng, lexicon.DETERMINERS_OF[noun][plural])
    adjective = pick(rng, lexicon.ADJECTIVES_OF[noun]) if rng.random() < 0.25 else ""
    phrase = NounPhrase(noun, plural, determiner, adjective, preposition=preposition)
    if depth == 1 and rng.random() < 0.3 and relatives_of(noun):
        return replace(phrase, relative=draw_relative(rng, noun))
    if depth == 0:
        return phrase
    behind = [  # deeper down, what stands behind must bear a modifier itself
        (word, [other for other in others if depth == 1 or other in lexicon.MODIFIERS_OF])
        for word, others in lexicon.MODIFIERS_OF[noun]
    ]
    word, others = pick(rng, [option for option in behind if option[1]])
    return replace(phrase, modifier=draw_nested(rng, others, depth - 1, word))


def intervening(phrase: NounPhrase) -> Iterator[NounPhrase]:
    """The noun phrases inside a noun phrase, behind its own noun."""
    inside: list[Subject | None] = [phrase.modifier]
    if clause := phrase.relative:
        inside += [clause.subject, clause.goal, *clause.objects[: -1 if clause.gap else None]]
    for part in inside:
        if isinstance(part, NounPhrase):
            yield part
            yield from intervening(part)
