"""Plain clauses with the words of real text: what analogies of the flagship are made of beside the built-in grammar.

A clause puts a subject to a verb and what follows it, in any tense, aspect, voice, polarity and mood; a second clause
may stand behind it. Possessives and reflexives that mean the subject follow it. Subjects, phrases and second clauses
come from books (harvest.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verbs import Verb, listed

WORDS = re.compile(r"[A-Za-z']+")
PERSONS = {  # possessive, reflexive, agreement
    "I": ("my", "myself", "first"),
    "you": ("your", "yourself", "plural"),
    "he": ("his", "himself", "third"),
    "she": ("her", "herself", "third"),
    "it": ("its", "itself", "third"),
    "we": ("our", "ourselves", "plural"),
    "they": ("their", "themselves", "plural"),
}
PLURALS = {"I": "we", "he": "they", "she": "they", "it": "they", "you": "you"}
SAME = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}  # persons that include each other
OBJECTS = {"me": "I", "you": "you", "him": "he", "her": "she", "us": "we", "them": "they"}
BE = {
    "present": {"first": "am", "third": "is", "plural": "are"},
    "past": {"first": "was", "third": "was", "plural": "were"},
}
MODALS = ("can", "could", "must", "should", "would", "may", "might")
OPENINGS = (
    "Then",
    "Now",
    "Perhaps",
    "Soon",
    "Suddenly",
    "Of course",
    "Today",
    "At last",
    "In the end",
    "This time",
    "Again",
)
HOW = listed(
    """quickly quietly slowly carefully well hard softly gently politely fast often long loudly bravely gladly soon
much"""
)
DETERMINERS = listed("the a an this that these those my your his her our their some many every each no")


OF_TWO = {person: obj for obj, person in OBJECTS.items()} | {"it": "it"}  # he → him


@dataclass(frozen=True)
class Subject:
    text: str  # as it stands inside a sentence
    agreement: str  # first, third, plural

    @property
    def pronoun(self) -> bool:
        return self.text in PERSONS


@dataclass(frozen=True)
class Phrase:
    """A verb and what follows it, or (no verb) what follows a form of be; {poss} and {self} mean the subject.

    What follows may hold clauses of its own, which a change of tense would touch, and take the subject up again:
    such phrases keep the tense and the subject that they were found with.
    """

    verb: Verb | None
    rest: str
    tense: str = ""  # the only one, or any
    owner: str = ""  # the only subject, or any

    @property
    def bound(self) -> bool:
        return "{" in self.rest

    @property
    def object(self) -> Subject | None:
        """The noun phrase that is all that follows the verb, if a passive can be made with it."""
        words = self.rest.split()
        if self.verb is None or self.verb.base in NO_PASSIVE or self.owner or not 2 <= len(words) <= 3:
            return None
        if words[0] not in DETERMINERS or not all(word.isalpha() for word in words) or words[-1] in MEASURES:
            return None
        if words[-1] in PREPOSITIONS or words[1] in PREPOSITIONS or words[-1].endswith("ly"):
            return None
        many = words[-1] in ("men", "women", "children", "people") or re.search(r"[^sui]s$", words[-1])
        one = words[0] in ("a", "an", "this", "that", "every", "each")
        if (words[0] in ("these", "those", "many") and not many) or (one and many):
            return None
        return Subject(self.rest, "plural" if many else "third")


@dataclass(frozen=True)
class Tail:
    """A clause behind the first one, in the tense that this asks for."""

    conjunction: str
    subject: Subject | None  # None: the same, taken up by its pronoun
    phrase: Phrase | None  # None: "as fast as he could"


@dataclass(frozen=True)
class Clause:
    subject: Subject
    phrase: Phrase
    tense: str = "past"
    aspect: str = "simple"
    modal: str = ""
    negative: bool = False
    mood: str = "statement"  # question, command; a request is a command with what stands in `polite`
    polite: str = ""  # please, can you, could you, will you, would you
    opening: str = ""
    tail: Tail | None = None
    voice: str = "active"


def verb_words(clause: Clause, support: bool) -> list[str]:
    """The verb group; `support` asks for an auxiliary in front."""
    verb, agreement = clause.phrase.verb, clause.subject.agreement
    chain: list[Verb | None] = [verb]
    forms: list[str] = []
    if clause.aspect == "progressive":
        chain, forms = [None, verb], ["ing"]
    elif clause.aspect == "perfect":
        chain, forms = [HAVE, verb], ["participle"]
    if clause.modal or clause.tense == "future":
        return [clause.modal or "will", *(_form(v, f) for v, f in zip(chain, ["base", *forms], strict=True))]
    first = chain[0]
    if support and len(chain) == 1 and first is not None:
        do = "did" if clause.tense == "past" else "does" if agreement == "third" else "do"
        return [do, first.base]
    if first is None:
        head = BE[clause.tense][agreement]
    elif clause.tense == "past":
        head = first.past
    else:
        head = first.third if agreement == "third" else first.base
    return [head, *(_form(v, f) for v, f in zip(chain[1:], forms, strict=True))]


def _form(verb: Verb | None, form: str) -> str:
    return {"base": "be", "participle": "been", "ing": "being"}[form] if verb is None else str(getattr(verb, form))


def realise(clause: Clause) -> str:
    """The sentence as books spell it."""
    if clause.voice == "passive":
        clause = _passive(clause)
    own = PERSONS.get(clause.subject.text, PERSONS["they"])
    rest = clause.phrase.rest.replace("{poss}", own[0]).replace("{self}", own[1])
    if clause.mood == "command":
        base = _form(clause.phrase.verb, "base")
        before = {"": "", "please": "please"}.get(clause.polite, clause.polite)
        negation = "not" if clause.polite.endswith("you") else "do not"
        words = [before, negation if clause.negative else "", base, rest, tail(clause)]
        return _sentence(words, "?" if clause.polite.endswith("you") else ".")
    question = clause.mood == "question"
    first, *others = verb_words(clause, support=clause.negative or question)
    negation = "not" if clause.negative else ""
    if question:
        words = [first, clause.subject.text, negation, *others, rest, tail(clause)]
        return _sentence(words, "?")
    if negation:
        first, negation = ("cannot", "") if first == "can" else (first, "not")
    return _sentence([clause.opening, clause.subject.text, first, negation, *others, rest, tail(clause)], ".")


def _sentence(words: Sequence[str], mark: str) -> str:
    text = " ".join(word for word in words if word)
    return text[0].upper() + text[1:] + mark


def tail(clause: Clause) -> str:
    """The clause behind."""
    if (behind := clause.tail) is None:
        return ""
    past = clause.modal in ("could", "would", "might") if clause.modal else clause.tense == "past"
    past = past and clause.mood != "command"
    who = behind.subject or clause.subject
    if behind.phrase is None:
        return f"{behind.conjunction} {who.text} {'could' if past else 'can'}"
    below = Clause(who, behind.phrase, "past" if past else "present")
    return f"{behind.conjunction} {' '.join([who.text, *verb_words(below, support=False), _rest(below)]).strip()}"


def _rest(clause: Clause) -> str:
    own = PERSONS.get(clause.subject.text, PERSONS["they"])
    return clause.phrase.rest.replace("{poss}", own[0]).replace("{self}", own[1])


def _passive(clause: Clause) -> Clause:
    """What the clause is about is said first; who does it, behind."""
    verb, done = clause.phrase.verb, clause.phrase.object
    assert verb is not None
    assert done is not None
    agent = OF_TWO.get(clause.subject.text, clause.subject.text)
    return replace(clause, subject=done, phrase=Phrase(None, f"{verb.participle} by {agent}"), voice="active")


def sound(clause: Clause) -> bool:
    """Whether the features go together."""
    subject, phrase, verb = clause.subject, clause.phrase, clause.phrase.verb
    rest = _words(phrase.rest)
    if clause.aspect != "simple" and (clause.modal or clause.tense == "future" or verb is None):
        return False
    if clause.aspect == "progressive" and verb and verb.base in STATES:
        return False
    if phrase.tense not in ("", clause.tense) or phrase.owner not in ("", subject.text):
        return False
    if phrase.bound and not (subject.pronoun or subject.agreement == "plural"):
        return False
    if clause.negative and NEGATIVE & {*rest, *_words(subject.text)}:
        return False
    if clause.opening and clause.mood != "statement":
        return False
    if clause.mood == "command" and (subject.text != "you" or verb is None or phrase.tense):
        return False
    if clause.voice == "passive":
        simple = clause.aspect == "simple" and not phrase.bound and clause.mood != "command"
        if not simple or phrase.object is None or (clause.tail and not clause.tail.subject):
            return False
    if any(OBJECTS.get(word) in SAME.get(subject.text, ()) for word in rest):
        return False  # I saw us
    if not phrase.owner and (_owners(rest) & {subject.text, *SAME.get(subject.text, ())}):
        return False  # he lost his keys, with a `his` that means somebody else
    if phrase.tense and not phrase.owner and any(subject.text in (word, OBJECTS.get(word)) for word in rest):
        return False  # another `he`
    if clause.tail and not _sound_tail(clause.tail, subject):
        return False
    return not (
        verb is None and subject.agreement == "plural" and subject.text != "you" and rest[:1] in (["a"], ["an"])
    )


def _sound_tail(tail: Tail, subject: Subject) -> bool:
    """Whether a clause behind says without doubt whom it means."""
    who, rest = tail.subject or subject, _words(tail.phrase.rest) if tail.phrase else []
    if not tail.subject:
        many = subject.agreement == "plural" and subject.text != "you"
        return subject.pronoun and not (many and tail.phrase and not tail.phrase.verb and rest[:1] in (["a"], ["an"]))
    named = {subject.text, *SAME.get(subject.text, ())}
    if who.text in named or _owners(rest) & (named | {who.text}):
        return False
    return not any(OBJECTS.get(word) in named for word in rest)


def _words(text: str) -> list[str]:
    return [word.strip(",") for word in text.split()]


def _owners(rest: Sequence[str]) -> set[str]:
    """Whose things are named that are not the subject's."""
    return {person for person, own in PERSONS.items() if person != "it" and (own[0] in rest or own[1] in rest)}


# ---- spellings ----------------------------------------------------------------------------------------------------

JOINED = [
    (re.compile(r"\b([Cc])annot\b"), r"\1an't"),
    (re.compile(r"\b([Ww])ill not\b"), r"\1on't"),
    (re.compile(r"\b([Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Dd]o|[Dd]oes|[Dd]id|[Hh]as|[Hh]ave|[Hh]ad|[Ww]ould|[Cc]ould|"
                r"[Mm]ust|[Ss]hould) not\b"), r"\1n't"),
    (re.compile(r"\bI am\b"), "I'm"),
    (re.compile(r"\b([Hh]e|[Ss]he|[Ii]t) is\b"), r"\1's"),
    (re.compile(r"\b([Ww]e|[Yy]ou|[Tt]hey) are\b"), r"\1're"),
    (re.compile(r"\b(I|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Yy]ou|[Tt]hey) will\b"), r"\1'll"),
]  # fmt: skip


def contracted(text: str) -> str:
    """As people speak: "I'm here", "he didn't"."""
    for pattern, short in JOINED:
        text = pattern.sub(short, text)
    return text


def tokenized(text: str) -> str:
    """Small letters, and spaces around marks."""
    return re.sub(r"([.,?!;])", r" \1", text.lower().replace("n't", " n't"))


NEGATIVE = listed("no not nothing nobody none never neither nor hardly scarcely nowhere some cannot already")
STATES = listed(
    """know want believe belong own hate love like need seem mean remember understand prefer wish hear see have own
contain consist deserve doubt matter resemble suppose recognize despise possess owe"""
)
NO_PASSIVE = listed(
    """become seem look appear remain stay wait go come walk weigh cost last have want lack resemble fit suit keep
turn stand sit lie run live die sleep happen fall rise arrive exist belong let get make cast mean bid"""
)
MEASURES = listed(
    """day days moment moments time times night nights way ways hour hours minute minutes year years week weeks mile
miles morning evening afternoon while bit deal lot month months step steps home sort kind instant season winter"""
)
PREPOSITIONS = listed(
    """in on at of to with by for from into upon over under about behind before after against among between through
without within across down up out off away back along around toward towards beyond above below near like till"""
)
HAVE = Verb("have", "has", "had", "had", "having")


def changed(clause: Clause, **features: object) -> Clause | None:
    """The clause with other features, or None where it would not be English."""
    other = replace(clause, **features)  # type: ignore[arg-type]
    return other if sound(other) else None
