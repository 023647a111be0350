"""Parts of clauses (clauses.py) found in books: subjects, verbs and what follows them, second and whole clauses.

A line is read from the left: a pronoun, a name or a noun phrase, then a verb group, then the rest. Verbs are known by
a table of their forms (verbs.py), nouns by what stands before `was` and `were`. What follows a verb is *plain* if no
word of it begins another clause; then it goes with any subject in any tense. Else it keeps what it was found with.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from clauses import DETERMINERS, MODALS, OBJECTS, PERSONS, Clause, Phrase, Subject, Tail, sound
from verbs import IRREGULAR, NO_VERBS, Verb, listed, spellings, third, verbs_in

WORDS = re.compile(r"[A-Za-z']+")
PLAIN = re.compile(r"[A-Z][A-Za-z',\- ]*[.!]")  # one sentence, as far as marks tell
CONTRACTED = re.compile(r"n't$|'(d|ll|re|ve|m)$|^'|'$")
# Words that begin another clause, or without which one would be none: what follows a verb plainly has none of them.
STOP = listed(
    """i he she we they it's who whom which that what when where why how if because though
while unless whether am is are was were be been being has have had do does did will
would shall should can could may might must not never n't ever lest whose whoever here's nor yet cannot"""
)
PERHAPS = listed("as than and but or until since before after so till for")  # or join no more than words
CONJUNCTIONS = listed("when whenever because while although though until before after if since unless where")
ADVERBS = listed(
    "twice once already just always often long still ever quite also only now then thus indeed even almost"
)
BE = {"am": "present", "is": "present", "are": "present", "was": "past", "were": "past"}
AGREEING = {"was": False, "is": False, "has": False, "were": True, "are": True}  # behind a noun phrase: plural?
LONGEST = 8, 11  # words that follow a verb plainly, and not


@dataclass(frozen=True)
class Harvest:
    phrases: list[Phrase]
    predicates: list[Phrase]
    subjects: list[Subject]
    nouns: list[tuple[str, str]]  # singular and plural noun phrases
    tails: list[Tail]
    clauses: list[Clause]  # as books have them
    verbs: list[Verb]  # of a word list, most of which the text does not have

    def save(self, file: Path) -> None:
        forms = {clause.phrase.verb for clause in self.clauses} | {p.verb for p in self.phrases}
        forms |= {tail.phrase.verb for tail in self.tails if tail.phrase} | set(self.verbs)
        table = sorted({verb for verb in forms if verb}, key=lambda verb: (verb.base, verb.past))
        number = {verb: n for n, verb in enumerate(table)}

        def flat(p: Phrase) -> list:
            return [number[p.verb] if p.verb else -1, p.rest, p.tense, p.owner]

        def said(s: Subject | None) -> list | None:
            return s and [s.text, s.agreement]

        facts = {
            "table": [list(vars(verb).values()) for verb in table],
            "verbs": [number[verb] for verb in self.verbs],
            "phrases": [flat(p) for p in (*self.phrases, *self.predicates)],
            "subjects": [said(s) for s in self.subjects],
            "nouns": self.nouns,
            "tails": [[t.conjunction, said(t.subject), flat(t.phrase)] for t in self.tails if t.phrase],
            "clauses": [[said(c.subject), flat(c.phrase), c.tense, c.aspect, c.modal] for c in self.clauses],
        }
        with lzma.open(file, "wt", encoding="utf-8") as stream:
            json.dump(facts, stream)

    @classmethod
    def load(cls, file: Path) -> Harvest:
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            facts = json.load(stream)
        table = [Verb(*forms) for forms in facts["table"]]

        def phrase(flat: list) -> Phrase:
            return Phrase(None if flat[0] < 0 else table[flat[0]], *flat[1:])

        phrases = [phrase(flat) for flat in facts["phrases"]]
        return cls(
            [p for p in phrases if p.verb],
            [p for p in phrases if not p.verb],
            [Subject(*s) for s in facts["subjects"]],
            [(a, b) for a, b in facts["nouns"]],
            [Tail(c, Subject(*s) if s else None, phrase(flat)) for c, s, flat in facts["tails"]],
            [Clause(Subject(*s), phrase(flat), *features) for s, flat, *features in facts["clauses"]],
            [table[n] for n in facts["verbs"]],
        )


class Reader:
    """Reads sentences by a table of verbs and the nouns and names of a text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.verbs = verbs_in((WORDS.findall(line.lower()) for line in lines), least=6)
        table = self.verbs.values()
        self.past = {verb.past: verb for verb in table}
        self.third = {verb.third: verb for verb in table}
        self.participles = {verb.participle: verb for verb in table}
        self.ing = {verb.ing: verb for verb in table}
        inside: Counter[str] = Counter()  # words with a capital inside a sentence
        small: Counter[str] = Counter()
        first: Counter[str] = Counter()  # words that begin one, before a past
        heads: Counter[str] = Counter()  # words before `was` and the like, behind a determiner
        for line in lines:
            words = line.split()
            for word in words[1:]:
                (inside if word[:1].isupper() else small)[word.strip(".,!?")] += 1
            first[words[0]] += len(words) > 1 and words[1] in self.past
            if words[0].lower() in DETERMINERS:
                heads.update(noun for noun, verb in pairwise(words[1:4]) if verb in AGREEING)
        self.names = {
            word
            for word, count in first.items()
            if word.isalpha() and count >= 5 and inside[word] >= 30 and inside[word] > 10 * small[word.lower()]
        } - {"I"}
        self.nouns = {word for word, count in heads.items() if count >= 2}

    def subject(self, words: Sequence[str]) -> tuple[Subject | None, int]:
        """What a sentence, or a second clause, begins with, and how many words that are."""
        start = words[0] if words[0] == "I" or words[0] in self.names else words[0].lower()
        if start in PERSONS:
            return Subject(start, PERSONS[start][2]), 1
        if start in self.names:
            return Subject(start, "third"), 1
        if start not in DETERMINERS:
            return None, 0
        for place, word in enumerate(words[1:6], 1):
            verb = word in AGREEING or word in MODALS or word in ("had", "will") or word in self.past
            if words[place - 1] in ADVERBS:
                return None, 0
            noun = words[place - 1]
            if place > 1 and verb and (word in AGREEING or (noun in self.nouns and word not in self.nouns)):
                many = AGREEING.get(word, noun.endswith("s") and not noun.endswith("ss"))
                return Subject(" ".join([start, *words[1:place]]), "plural" if many else "third"), place
            if word.lower() in STOP or word.lower() in PERSONS or word.endswith(","):
                return None, 0
        return None, 0

    def group(self, words: Sequence[str], subject: Subject) -> tuple[Verb | None, str, str, str, int] | None:
        """Verb (None: be), tense, aspect, modal and length of a verb group without a negation."""
        first, second = [*words, "", ""][:2]
        if second in ("not", "never", "n't", "been", "better") or not first:
            return None
        if first in BE:
            if verb := self.ing.get(second):
                return verb, BE[first], "progressive", "", 2
            return (None, BE[first], "simple", "", 1) if second else None
        if first in ("has", "have", "had"):
            if second in self.participles:
                return self.participles[second], "past" if first == "had" else "present", "perfect", "", 2
            if second.endswith("ly") or second in ADVERBS or {*words[1:4]} & {"to", "been"}:
                return None  # a participle may follow; had to go
        if first in MODALS or first == "will":
            tense, modal = ("future", "") if first == "will" else ("present", first)
            if second == "be":
                return None, tense, "simple", modal, 2
            return (
                (self.verbs[second], tense, "simple", modal, 2) if second in self.verbs and second != "have" else None
            )
        if first in self.past:
            return self.past[first], "past", "simple", "", 1
        if subject.agreement == "third" and first in self.third:
            return self.third[first], "present", "simple", "", 1
        if subject.pronoun and subject.agreement != "third" and first in self.verbs:
            return self.verbs[first], "present", "simple", "", 1
        return None

    def finite(self, word: str) -> bool:
        return word in self.past or word in self.third or word in BE or word in ("had", "has", "would", "could")

    def plain(self, words: Sequence[str], subject: Subject) -> str | None:
        """What follows a verb, with what is the subject's marked; None if it is more than one clause, or too long."""
        bare = [word.strip(",") for word in words]
        if (
            len(words) > LONGEST[0]
            or any(word.lower() in STOP or CONTRACTED.search(word) for word in bare)
            or (bare and bare[-1] in DETERMINERS - {"her", "this"} | PERHAPS)
        ):
            return None
        for n, word in enumerate(bare):
            if word in PERHAPS and any(other in self.past or other in PERSONS for other in bare[n + 1 :]):
                return None
            if word in ("and", "but", "or") and {*bare[n + 1 : n + 2]} & self.third.keys():
                return None
        own = PERSONS.get(subject.text)
        if own is None:  # a noun: nothing may take it up again
            if any(w in (p, s) for w in bare for p, s, _ in (PERSONS[x] for x in ("he", "she", "it", "they"))):
                return None
            marked = list(words)
        elif (
            subject.text == "she"
            and bare
            and any(
                word == "her" and (n + 1 == len(bare) or bare[n + 1] in OBJECTS or bare[n + 1] in DETERMINERS)
                for n, word in enumerate(bare)
            )
        ):
            return None  # somebody else
        else:
            marked = ["{poss}" if word == own[0] else "{self}" if word == own[1] else word for word in words]
        if any(word in PERSONS and word not in ("you", "it") for word in bare):
            return None
        return " ".join(marked)

    def clause(self, words: Sequence[str]) -> Clause | None:
        """The clause that a sentence is."""
        subject, place = self.subject(words)
        found = self.group(words[place:], subject) if subject else None
        if subject is None or found is None:
            return None
        verb, tense, aspect, modal, length = found
        rest = words[place + length :]
        plain = self.plain(rest, subject)
        if plain is not None:
            phrase = Phrase(verb, plain)
        elif len(rest) > LONGEST[1] or any(CONTRACTED.search(word) for word in rest) or '"' in rest:
            return None
        else:
            bare = {word.strip(",").lower() for word in rest}
            if any(a.strip(",") in ("and", "but", "or") and self.finite(b) for a, b in pairwise(rest)):
                return None  # a second verb of the same subject
            again = bare & _forms(subject)
            phrase = Phrase(verb, " ".join(rest), tense, subject.text if again else "")
        clause = Clause(subject, phrase, tense, aspect, modal)
        return clause if (verb or phrase.rest) and sound(clause) else None

    def tail(self, words: Sequence[str], main: Subject) -> Tail | None:
        """The second clause of a sentence, if there is just one and it ends the sentence."""
        for n, word in enumerate(words):
            if n > 2 and word in CONJUNCTIONS and len(words) - n > 2:
                behind = self.clause(words[n + 1 :])
                if behind is None or behind.phrase.tense or behind.aspect != "simple" or behind.modal:
                    return None
                same = behind.subject == main
                return (
                    None if behind.tense == "future" else Tail(word, None if same else behind.subject, behind.phrase)
                )
        return None


def _forms(subject: Subject) -> set[str]:
    """Words that may mean the subject."""
    if subject.pronoun:
        return {subject.text, *PERSONS[subject.text][:2], *(o for o, p in OBJECTS.items() if p == subject.text)}
    return {form for person in ("he", "she", "it", "they") for form in _forms(Subject(person, ""))}


def harvest(lines: Sequence[str], word_list: Iterable[str], most: int = 120_000, seed: int = 0) -> Harvest:
    """The parts of clauses from sentences, a sample of `most` of each kind."""
    reader, random = Reader(lines), Random(seed)
    clauses: dict[Clause, None] = {}
    tails: dict[Tail, None] = {}
    for line in lines:
        if not PLAIN.fullmatch(line) or " - " in line or " -- " in line:
            continue
        words = line[:-1].split()
        if (clause := reader.clause(words)) is not None:
            clauses[clause] = None
            if clause.phrase.tense and (tail := reader.tail(words, clause.subject)):
                tails[tail] = None
    phrases = dict.fromkeys(c.phrase for c in clauses if not c.phrase.tense)
    texts = Counter(clause.subject for clause in clauses if not clause.subject.pronoun)
    seen = Counter(word for line in lines for word in line[:-1].split())
    nouns = [(s.text, other) for s, n in texts.items() if s.agreement == "third" and n > 1
             and (other := _plural_of(s.text, seen))]  # fmt: skip
    return Harvest(
        _some(random, [p for p in phrases if p.verb], most),
        _some(random, [p for p in phrases if not p.verb], most // 3),
        _some(random, list(texts), most // 3),
        nouns,
        _some(random, list(tails), most // 3),
        _some(random, list(clauses), most),
        dictionary_verbs(word_list),
    )


def _plural_of(phrase: str, seen: Counter[str]) -> str | None:
    """The same noun phrase in the plural, if the text has that noun."""
    *before, noun = phrase.split()
    if not before or before[0] in ("a", "an", "this", "that", "every", "each", "no") or len(before) > 2:
        return None
    if noun in ("one", "two", "three", "other", "same", "rest", "latter", "former") or noun.endswith("s"):
        return None
    irregular = {
        "man": "men",
        "foot": "feet",
        "child": "children",
        "tooth": "teeth",
        "mouse": "mice",
        "goose": "geese",
    }
    ends = [noun[: -len(one)] + many for one, many in irregular.items() if noun.endswith(one)]
    ends = ends or [noun + "s", noun + "es", noun[:-1] + "ies", noun[:-2] + "ves"]
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
