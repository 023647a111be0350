"""Plain clauses with the words of real text: what analogies of the flagship are made of beside the built-in grammar.

`harvest` takes what follows the verb from sentences that begin with a pronoun and a verb ("He | lost | his keys."),
what follows a form of be, and noun phrases that begin a sentence. A clause puts a subject to one of these, in any
tense, aspect, polarity and mood; possessives and reflexives that mean the subject follow it.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from verbs import IRREGULAR, NO_VERBS, Verb, listed, spellings, third, verbs_in

WORDS = re.compile(r"[A-Za-z']+")
PLAIN = re.compile(r"[A-Z][A-Za-z' ]*[.?!]")  # one clause, as far as marks tell
CONTRACTED = re.compile(r"n't$|'(d|ll|re|ve|m)$|^'")
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
# Words that begin another clause, or without which one would be none: what follows a verb has none of them.
STOP = listed(
    """i he she we they it's who whom which that what when where why how if because as than and but or nor though
while until unless since before after whether am is are was were be been being has have had do does did will
would shall should can could may might must not never n't to ever lest whose whoever there here's so yet"""
)
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
TAILS = (  # clauses about the same subject; {can}, {be}: as the tense asks
    *["as {how} as {s} {can}"] * 2,
    *[f"because {{s}} {{be}} {how}" for how in ("tired", "late", "afraid")],
    *[f"when {{s}} {{be}} {how}" for how in ("alone", "ready", "young")],
    "while {s} {be} at home",
    "as if {s} {be} in a hurry",
    "so {s} {be} happy",
    "though {s} {be} ill",
    "because {s} {can} not sleep",
    "and {s} {be} glad of it",
)
AGREEING = {"was": False, "is": False, "has": False, "were": True, "are": True}  # behind a noun phrase: plural?
DETERMINERS = listed("the a an this that these those my your his her our their some many every each no")


@dataclass(frozen=True)
class Subject:
    text: str  # as it stands inside a sentence
    agreement: str  # first, third, plural

    @property
    def pronoun(self) -> bool:
        return self.text in PERSONS


@dataclass(frozen=True)
class Phrase:
    """A verb and what follows it, or (no verb) what follows a form of be; {poss} and {self} mean the subject."""

    verb: Verb | None
    rest: str

    @property
    def bound(self) -> bool:
        return "{" in self.rest


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
    tail: str = ""


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
    own = PERSONS.get(clause.subject.text, PERSONS["they"])
    rest = clause.phrase.rest.replace("{poss}", own[0]).replace("{self}", own[1])
    if clause.mood == "command":
        base = _form(clause.phrase.verb, "base")
        before = {"": "", "please": "please"}.get(clause.polite, clause.polite)
        negation = "not" if clause.polite.endswith("you") else "do not"
        words = [before, negation if clause.negative else "", base, rest]
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
    """The clause behind, with the subject taken up again."""
    if not clause.tail:
        return ""
    past = clause.modal in ("could", "would", "might") if clause.modal else clause.tense == "past"
    be = BE["past" if past else "present"][clause.subject.agreement]
    return clause.tail.format(s=clause.subject.text, can="could" if past else "can", be=be)


def sound(clause: Clause) -> bool:
    """Whether the features go together."""
    subject, verb, rest = clause.subject, clause.phrase.verb, clause.phrase.rest.split()
    if clause.aspect != "simple" and (clause.modal or clause.tense == "future" or verb is None):
        return False
    if clause.aspect == "progressive" and verb and verb.base in STATES:
        return False
    if (clause.tail or clause.phrase.bound) and not (subject.pronoun or subject.agreement == "plural"):
        return False
    if clause.tail and not subject.pronoun:
        return False
    if clause.opening and clause.mood != "statement":
        return False
    if clause.mood == "command" and (subject.text != "you" or clause.tail or verb is None):
        return False
    if any(OBJECTS.get(word) in SAME.get(subject.text, ()) for word in rest):
        return False  # I saw us
    if _owners(rest) & {subject.text, *SAME.get(subject.text, ())}:
        return False  # he lost his keys, with a `his` that means somebody else
    return not (
        verb is None and subject.agreement == "plural" and subject.text != "you" and rest[:1] in (["a"], ["an"])
    )


def _owners(rest: Sequence[str]) -> set[str]:
    """Whose things are named that are not the subject's."""
    return {person for person, own in PERSONS.items() if person != "it" and (own[0] in rest or own[1] in rest)}


STATES = listed(
    """know want believe belong own hate love like need seem mean remember understand prefer wish hear see have own
contain consist deserve doubt matter resemble suppose recognize despise possess owe"""
)
HAVE = Verb("have", "has", "had", "had", "having")


# ---- from text --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Harvest:
    phrases: list[Phrase]
    predicates: list[Phrase]
    subjects: list[Subject]
    nouns: list[tuple[str, str]]  # singular and plural noun phrases
    sentences: list[str]  # that begin with a subject and an auxiliary
    verbs: list[Verb]  # of a word list, most of which the text does not have

    def save(self, file: Path) -> None:
        facts = {
            "verbs": [list(vars(verb).values()) for verb in self.verbs],
            "phrases": [
                [list(vars(p.verb).values()) if p.verb else None, p.rest] for p in (*self.phrases, *self.predicates)
            ],
            "subjects": [[s.text, s.agreement] for s in self.subjects],
            "nouns": self.nouns,
            "sentences": self.sentences,
        }
        with lzma.open(file, "wt", encoding="utf-8") as stream:
            json.dump(facts, stream)

    @classmethod
    def load(cls, file: Path) -> Harvest:
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            facts = json.load(stream)
        phrases = [Phrase(Verb(*verb) if verb else None, rest) for verb, rest in facts["phrases"]]
        return cls(
            [p for p in phrases if p.verb],
            [p for p in phrases if not p.verb],
            [Subject(*s) for s in facts["subjects"]],
            [(a, b) for a, b in facts["nouns"]],
            facts["sentences"],
            [Verb(*verb) for verb in facts["verbs"]],
        )


def harvest(lines: Sequence[str], word_list: Iterable[str], most: int = 120_000, seed: int = 0) -> Harvest:
    """The parts of clauses from sentences, a sample of `most` of each kind."""
    verbs = verbs_in((WORDS.findall(line.lower()) for line in lines), least=6)
    finite = {form: verb for verb in verbs.values() for form in (verb.past, verb.third)}
    participles = {verb.participle for verb in verbs.values()}
    random, phrases, predicates, sentences = Random(seed), set(), set(), []
    singular: Counter[str] = Counter()
    plural: Counter[str] = Counter()
    for line in lines:
        if not PLAIN.fullmatch(line):
            continue
        words = line[:-1].split()
        subject = "I" if words[0] == "I" else words[0].lower()
        place = 1 if subject in PERSONS else _noun_phrase(words)
        if not place or len(words) < place + 1:
            continue
        if place > 1:
            (plural if AGREEING[words[place]] else singular)[" ".join([words[0].lower(), *words[1:place]])] += 1
        if _has_auxiliary(words, place, participles) and len(words) <= 18 and words[-1].lower() not in STOP:
            sentences.append(line)
        if place > 1:
            continue
        rest = _rest(words[2:], subject)
        if rest is None:
            continue
        if words[1] in finite and not (
            words[1] in ("had", "has") and words[2:3] and words[2] in participles | {"better"}
        ):
            phrases.add((finite[words[1]].base, rest))
        elif words[1] in ("am", "is", "are", "was", "were") and rest and not rest.split()[0].endswith("ing"):
            predicates.add(rest)
        elif words[1] in (*MODALS, "will", "shall") and words[2:3] and words[2] in verbs:
            behind = _rest(words[3:], subject)
            phrases |= {(words[2], behind)} if behind is not None else set()
    seen = Counter(word for line in lines for word in line[:-1].split())
    nouns = [(a, b) for a in singular if singular[a] > 1 and (b := _plural_of(a, seen))]
    subjects = [Subject(text, "third") for text in singular] + [Subject(text, "plural") for text in plural]
    return Harvest(
        [Phrase(verbs[base], rest) for base, rest in _some(random, sorted(phrases), most)],
        [Phrase(None, rest) for rest in _some(random, sorted(predicates), most // 3)],
        _some(random, sorted(subjects, key=lambda s: s.text), most // 3),
        nouns,
        _some(random, sentences, most),
        dictionary_verbs(word_list),
    )


AUXILIARIES = listed("am is are was were will would could can must should may might")


def _has_auxiliary(words: Sequence[str], place: int, participles: set[str]) -> bool:
    """Whether the verb group, at that place, begins with an auxiliary."""
    perfect = (
        words[place] in ("has", "had", "have") and words[place + 1 : place + 2] and words[place + 1] in participles
    )
    return words[place] in AUXILIARIES or bool(perfect)


def _noun_phrase(words: Sequence[str]) -> int:
    """How many words the noun phrase has that begins a sentence, before a verb that agrees with it; 0: none."""
    if words[0].lower() not in DETERMINERS:
        return 0
    for place, word in enumerate(words[1:7], 1):
        if word in AGREEING:
            return place if place > 1 else 0
        if word.lower() in STOP or word.lower() in PERSONS:
            return 0
    return 0


def _rest(words: Sequence[str], subject: str) -> str | None:
    """What follows a verb, with what is the subject's marked; None if it is more than one clause, or too long."""
    if (
        len(words) > 8
        or any(word.lower() in STOP or CONTRACTED.search(word) for word in words)
        or (words and words[-1] in DETERMINERS - {"her", "this"})
    ):
        return None
    own = PERSONS[subject]
    if subject == "she" and words and words[-1] == "her":
        return None  # somebody else
    marked = ["{poss}" if word == own[0] else "{self}" if word == own[1] else word for word in words]
    if any(word in PERSONS and word not in ("you", "it") for word in marked):
        return None
    return " ".join(marked)


def _plural_of(phrase: str, seen: Counter[str]) -> str | None:
    """The same noun phrase in the plural, if the text has that noun."""
    *before, noun = phrase.split()
    if before[0] in ("a", "an", "this", "that", "every", "each", "no") or len(before) > 2:
        return None
    ends = [
        noun + "s",
        noun + "es",
        noun[:-1] + "ies",
        noun[:-2] + "ves",
        noun.replace("man", "men"),
        noun.replace("foot", "feet"),
    ]
    return next((" ".join([*before, end]) for end in ends if end != noun and seen[end] >= 5), None)


def _some(random: Random, items: list, most: int) -> list:
    return random.sample(items, most) if len(items) > most else items


def dictionary_verbs(words: Iterable[str]) -> list[Verb]:
    """Words of a word list that have all forms of a regular verb there."""
    known = {word.strip() for word in words}
    irregular = {row.split()[0] for line in IRREGULAR.split("\n") for row in line.split("|") if row}
    found = []
    for base in sorted(known):
        if not base.isalpha() or not base.islower() or len(base) < 3 or base in irregular | NO_VERBS:
            continue
        forms = [
            next((form for form in spellings(base, ending)[::-1] if form in known), "") for ending in ("ed", "ing")
        ]
        if all(forms) and third(base) in known and not base.endswith(("ed", "ing", "er")):
            found.append(Verb(base, third(base), forms[0], forms[0], forms[1]))
    return found


def changed(clause: Clause, **features: object) -> Clause | None:
    """The clause with other features, or None where it would not be English."""
    other = replace(clause, **features)  # type: ignore[arg-type]
    return other if sound(other) else None
