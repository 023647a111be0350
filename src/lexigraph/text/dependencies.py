"""Dependency trees of the built-in grammar's clauses, in the manner of Universal Dependencies.

    She    did  not  give  the  boy  a    book  .
    nsubj  aux  advmod root det iobj det  obj   punct         content words hang on content words, small ones on those

A phrase is a list of words in their order, one of which, its top, hangs on nothing yet. Word order is the grammar's,
and a test holds both to each other: the words of a tree are those that `grammar.realise` spells out.

>>> from lexigraph.text.grammar import SHE, VERB, Clause
>>> from lexigraph.text.lexicon import frame_of
>>> [(word.form, word.tag, word.head, word.relation) for word in tree(
...     Clause(frame_of("intransitive", "wait"), VERB["wait"], SHE, aspect="progressive"))]
[('She', 'PRON', 3, 'nsubj'), ('is', 'AUX', 3, 'aux'), ('waiting', 'VERB', 0, 'root'), ('.', 'PUNCT', 3, 'punct')]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from lexigraph.text import grammar
from lexigraph.text.grammar import BE, WHO, Clause, NounPhrase, Pair, Pronoun, Subject
from lexigraph.text.lexicon import DETERMINER, PEOPLE, Noun


class Word(NamedTuple):
    """A word in its tree; `head` counts words from 1 and is 0 for the root."""

    form: str
    tag: str
    head: int
    relation: str


@dataclass(eq=False)
class _Node:
    """A word, and what it hangs on once that is known."""

    form: str
    tag: str
    relation: str = "root"
    head: _Node | None = field(default=None, repr=False)


Phrase = list[_Node]

POSSESSIVES, NUMERALS = {"my", "your", "his", "her", "our", "their"}, {"one", "two", "three"}
TIME_TAGS = {  # of the words of time phrases that are no nouns
    **dict.fromkeys(("in", "on", "at", "after", "before", "by"), "ADP"),
    **dict.fromkeys(("the", "this", "every", "an"), "DET"),
    **dict.fromkeys(("last", "next"), "ADJ"),
    **dict.fromkeys(("now", "right", "ago", "then", "soon"), "ADV"),
    **dict.fromkeys(("Monday", "Sundays"), "PROPN"),
    "two": "NUM",
}
BELOW = {"ADP": "case", "DET": "det", "ADJ": "amod", "NUM": "nummod", "ADV": "advmod", "NOUN": "compound"}


def tree(clause: Clause) -> list[Word]:
    """The words of a clause's sentence with their tags, heads and relations."""
    asking = clause.mood == "question" or (clause.mood == "request" and bool(clause.modal))
    words = _question(clause) if asking else _statement(clause) if clause.mood == "statement" else _command(clause)
    words.append(_under(_top(words), "punct", _Node("?" if asking else ".", "PUNCT")))
    words[0].form = words[0].form[0].upper() + words[0].form[1:]
    positions = {id(word): position for position, word in enumerate(words, 1)}
    return [Word(w.form, w.tag, positions[id(w.head)] if w.head else 0, w.relation) for w in words]


# --- Phrases -----------------------------------------------------------------------------------------------


def _top(phrase: Phrase) -> _Node:
    """The word of a phrase that hangs on nothing in it."""
    (top,) = (word for word in phrase if word.head is None)
    return top


def _under(head: _Node, relation: str, word: _Node) -> _Node:
    word.head, word.relation = head, relation
    return word


def _hang(head: _Node, relation: str, phrase: Phrase) -> Phrase:
    """A phrase that hangs on a word by its top."""
    if phrase:
        _under(head, relation, _top(phrase))
    return phrase


def _nominal(phrase: Subject | None, case: str = "subject", negated: bool = False) -> Phrase:
    """`she`, `Anna and me`, `to an old key in the drawer that she opened`; nothing for none."""
    if isinstance(phrase, Pronoun):
        return [_Node(grammar.spoken(phrase, case), "PRON")]
    if isinstance(phrase, Pair):
        first, second = _nominal(phrase.first), _nominal(phrase.second, case)
        both = _Node("and", "CCONJ", "cc", _top(second))
        return [*first, both, *_hang(_top(first), "conj", second)]
    return _noun_phrase(phrase, negated) if phrase else []


def _noun_phrase(phrase: NounPhrase, negated: bool) -> Phrase:
    bare = NounPhrase(phrase.noun, phrase.plural, phrase.determiner, phrase.adjective)
    *small, form = grammar.noun_phrase(bare, negated).split()  # determiner, adjective, noun
    noun = _Node(form, "PROPN" if phrase.noun.kind == "name" else "NOUN")
    words = [_Node(phrase.preposition, "ADP", "case", noun)] if phrase.preposition and phrase.determiner else []
    for word in small:
        if word == phrase.adjective:
            tag, relation = "ADJ", "amod"
        elif word in NUMERALS:
            tag, relation = "NUM", "nummod"
        else:
            tag, relation = ("PRON", "nmod:poss") if word in POSSESSIVES else ("DET", "det")
        words.append(_Node(word, tag, relation, noun))
    modifier = _hang(noun, "nmod", _nominal(phrase.modifier))
    relative = _hang(noun, "acl:relcl", _relative(phrase.relative, phrase)) if phrase.relative else []
    return [*words, noun, *modifier, *relative]


def _relative(clause: Clause, head: NounPhrase) -> Phrase:
    """`who live near the river`, `that she bought`."""
    pronoun = _Node("who" if head.noun.kind in PEOPLE else "that", "PRON")
    words = _statement(clause) if clause.gap else _predicate(clause, head.agreement)
    return [_under(_top(words), "obj" if clause.gap else "nsubj", pronoun), *words]


def _time(phrase: str) -> Phrase:
    """`yesterday`, `in the morning`, `two days ago`: the last word is the top, and what stands before hangs on it."""
    words = [_Node(form, TIME_TAGS.get(form, "NOUN")) for form in phrase.split()]
    *before, top = words
    if top.form == "ago":  # "two days" says how long
        *before, days = before
        _under(top, "obl:unmarked", days)
    for word in before:
        _under(days if top.form == "ago" else top, BELOW[word.tag], word)
    return words


# --- Clauses -----------------------------------------------------------------------------------------------


class _Verbs(NamedTuple):
    """A clause's verbs, the top of the clause, and, where that is no verb, the predicate that it belongs to."""

    first: _Node
    rest: Phrase
    top: _Node
    predicate: Phrase


def _verbs(clause: Clause, agreement: str, support: bool) -> _Verbs:
    """The verb group: auxiliaries hang on the verb; `be` hangs on what it says of the subject."""
    first, rest = grammar.verb_group(clause, agreement, support)
    return _grouped(clause, [_Node(form, "AUX", "aux") for form in (first, *rest.split())])


def _grouped(clause: Clause, words: Phrase) -> _Verbs:
    predicate = _predicative(clause)
    top = verb = words[-1]
    if predicate:
        top = _top(predicate)
        _under(top, "cop", verb)
    else:
        verb.relation, verb.tag = "root", "VERB"
    for word in words[:-1]:
        _under(top, "aux", word)
    if clause.passive:
        words[-2].relation = "aux:pass"
    return _Verbs(words[0], words[1:], top, predicate)


def _predicative(clause: Clause) -> Phrase:
    """What `be` says: `very cold`, `a good teacher`, `in the drawer`; nothing after other verbs."""
    if clause.verb is not BE or clause.frame.kind == "existential":
        return []
    if isinstance(clause.predicate, Noun):
        plural = clause.surface_subject.agreement == "plural" and clause.subject != grammar.YOU
        if not plural:
            return _nominal(NounPhrase(clause.predicate, False, DETERMINER["a"], clause.degree))
        noun = _Node(clause.predicate.plural, "NOUN")
        return [*([_Node(clause.degree, "ADJ", "amod", noun)] if clause.degree else []), noun]
    if clause.predicate:
        adjective = _Node(clause.predicate, "ADJ")
        return [*([_Node(clause.degree, "ADV", "advmod", adjective)] if clause.degree else []), adjective]
    return _nominal(clause.goal)


def _statement(clause: Clause) -> Phrase:
    """Subject first; a fronted adverbial stands before it, a fronted clause with a comma."""
    words = _predicate(clause, clause.surface_subject.agreement)
    top = _top(words)
    front = _adverbials(clause, top)[-1] if clause.fronted else []
    if clause.fronted and clause.subordinate:
        below = next(word for word in front if word.head is top)
        front.append(_Node(",", "PUNCT", "punct", below))
    return [*front, *_subject(clause, top), *words]


def _subject(clause: Clause, top: _Node) -> Phrase:
    if clause.frame.kind == "existential":
        return [_Node("there", "PRON", "expl", top)]
    return _hang(top, "nsubj:pass" if clause.passive else "nsubj", _nominal(clause.surface_subject))


def _predicate(clause: Clause, agreement: str) -> Phrase:
    """All but the subject: `did not open the door`."""
    first, rest, top, predicate = _verbs(clause, agreement, support=clause.negative)
    negation = []
    if clause.negative and first.form == "can":
        first.form = "cannot"
    elif clause.negative:
        negation = [_Node("not", "PART", "advmod", top)]
    return [first, *negation, *rest, *_after_verb(clause, top, predicate)]


def _question(clause: Clause) -> Phrase:
    """Auxiliary first, after the word that asks."""
    if clause.subject is WHO and not clause.passive:
        return _statement(clause)
    first, rest, top, predicate = _verbs(clause, clause.surface_subject.agreement, support=True)
    asked = _Node(clause.asked, *(("PRON", "obj") if clause.gap else ("ADV", "advmod")), top)
    negation = [_Node("not", "PART", "advmod", top)] if clause.negative else []
    words = [first, *_subject(clause, top), *negation, *rest, *_after_verb(clause, top, predicate)]
    return [asked, *words] if clause.asked else words


def _command(clause: Clause) -> Phrase:
    """The bare verb; `do not` even before `be`."""
    auxiliary = [_Node("do", "AUX")] if clause.negative else []
    first, rest, top, predicate = _grouped(clause, [*auxiliary, _Node(clause.verb.base, "AUX", "aux")])
    words = [first, _Node("not", "PART", "advmod", top), *rest] if clause.negative else [first]
    please = [_Node("please", "INTJ", "discourse", top)] if clause.mood == "request" else []
    return [*please, *words, *_after_verb(clause, top, predicate)]


def _after_verb(clause: Clause, top: _Node, predicate: Phrase) -> Phrase:
    """Complements, then adjuncts in the order manner, place, time."""
    relations = ["nsubj"] if clause.frame.kind == "existential" else ["iobj", "obj"][-len(clause.objects) :]
    objects = [
        _hang(top, relation, _nominal(phrase, "object", clause.negative))
        for phrase, relation in zip(clause.objects, relations, strict=False)
    ]
    if clause.gap:
        objects.pop()
    if clause.dative:
        receiver, *thing = objects
        objects = [*thing, [_Node("to", "ADP", "case", next(w for w in receiver if w.head is top)), *receiver]]
        next(word for word in receiver if word.head is top).relation = "obl"
    if clause.passive:
        objects = objects[1:]
    goal = [] if predicate else _hang(top, "obl", _nominal(clause.goal))
    manner = [_Node(clause.manner, "ADV", "advmod", top)] if clause.manner else []
    adverbials = _adverbials(clause, top)
    behind = adverbials[:-1] if clause.fronted else adverbials
    return [
        *chain.from_iterable(objects),
        *predicate,
        *goal,
        *_complement(clause, top),
        *_doer(clause, top),
        *manner,
        *chain.from_iterable(behind),
    ]


def _doer(clause: Clause, top: _Node) -> Phrase:
    """`by the girls`, in the passive."""
    if not clause.passive or not clause.subject:
        return []
    words = _nominal(clause.subject, "object")
    return _hang(top, "obl:agent", [_Node("by", "ADP", "case", _top(words)), *words])


def _complement(clause: Clause, top: _Node) -> Phrase:
    """`that she opened the door`, or `to open the door`."""
    below = clause.complement
    if not below:
        return []
    told = clause.frame.kind == "reported"
    words = _statement(below) if told else _command(below)
    mark = _Node("that", "SCONJ") if told else _Node("to", "PART")
    return _hang(top, "ccomp" if told else "xcomp", [_under(_top(words), "mark", mark), *words])


def _adverbials(clause: Clause, top: _Node) -> list[Phrase]:
    """Place, time and subordinate clause, in this order."""
    place = _hang(top, "obl", _nominal(clause.place))
    time = _time(clause.time.phrase) if clause.time else []
    if time:
        adverb = _top(time).tag == "ADV" and time[0].tag != "ADP"
        marked = time[0].tag == "ADP"
        _hang(top, "advmod" if adverb else "obl" if marked else "obl:unmarked", time)
    below = _statement(clause.subordinate) if clause.subordinate else []
    if below:
        when = clause.conjunction == "when"
        mark = _under(
            _top(below), *(("advmod", _Node("when", "ADV")) if when else ("mark", _Node(clause.conjunction, "SCONJ")))
        )
        below = _hang(top, "advcl", [mark, *below])
    return [part for part in (place, time, below) if part]
