"""The built-in corpus: an English grammar with features, so that everything runs with no data.

A sentence is a `Clause`: subject, verb frame, objects, tense, aspect, polarity, mood, adverbials and subordinate
clauses. `realise` spells it out; agreement, case, do-support and word order are decided there and nowhere else:

    sentence   ->  [adverbial] clause [adverbial] .          clause  ->  subject verb-group complements adjuncts
    verb group ->  [modal | will] [have] [be] [be] verb      each auxiliary decides the form of the next word

An edit ("the same, but in the past") changes features and realises again, so its result is exactly right.

>>> she_waits = Clause(frame_of("intransitive", "wait"), VERB["wait"], SHE, aspect="progressive")
>>> realise(she_waits)
'She is waiting .'
>>> realise(replace(she_waits, negative=True, mood="question"))
'Is she not waiting ?'
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import Any, TypeVar
from zlib import crc32

from lexigraph.errors import UsageError
from lexigraph.text import lexicon
from lexigraph.text.lexicon import DETERMINER, ENTRIES, PEOPLE, TIME, VERB, Determiner, Entry, Frame, Noun, Time, Verb

# --- Parts of a sentence -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A pronoun in its two cases; `agreement` is the form of the verb that it asks for."""

    subject: str
    object: str
    agreement: str  # "first" (am), "third" (is), "plural" (are)
    person: int = 3


I, YOU = Pronoun("I", "me", "first", 1), Pronoun("you", "you", "plural", 2)  # noqa: E741
HE, SHE, IT = Pronoun("he", "him", "third"), Pronoun("she", "her", "third"), Pronoun("it", "it", "third")
WE, THEY = Pronoun("we", "us", "plural", 1), Pronoun("they", "them", "plural")
WHO = Pronoun("who", "whom", "third")  # also the understood subject of infinitives and relative clauses


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands around it; names have no determiner."""

    noun: Noun
    plural: bool = False
    determiner: Determiner | None = None
    adjective: str = ""
    modifier: Prepositional | None = None
    relative: Clause | None = None

    @property
    def agreement(self) -> str:
        return "plural" if self.plural else "third"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two subjects joined by `and`."""

    first: NounPhrase
    second: NounPhrase | Pronoun
    agreement: str = "plural"


@dataclass(frozen=True, slots=True)
class Prepositional:
    """A preposition and its noun phrase."""

    preposition: str
    phrase: NounPhrase


Subject = Pronoun | NounPhrase | Pair
TELLING, ORDERING = ("statement", "question"), ("command", "request")  # the moods


@dataclass(frozen=True, slots=True)
class Clause:
    """The features of a clause; every one of them can be changed with `dataclasses.replace`."""

    frame: Frame
    verb: Verb
    subject: Subject | None  # the doer, also in the passive; None for a passive that names no doer
    objects: tuple[NounPhrase | Pronoun, ...] = ()  # of two, the receiver stands first
    goal: Prepositional | None = None  # put it *on the table*, walk *to the market*
    predicate: str | Noun = ""  # be *hungry*, be a *teacher*
    degree: str = ""  # be *very* hungry, be a *good* teacher
    complement: Clause | None = None  # say *that it rains*, try *to open the door*
    tense: str = "present"  # "present", "past", "future"
    aspect: str = "simple"  # "simple", "progressive", "perfect", "perfect progressive"
    modal: str = ""  # stands in the place of the tense; in a request, "" is `please`
    negative: bool = False
    passive: bool = False
    dative: bool = False  # give a book *to the boy*
    mood: str = "statement"  # "statement", "question", "command", "request"
    asked: str = ""  # "why", "when", "where"; with `gap`, "what" or "who"
    gap: bool = False  # the last object is asked for, or is the head of a relative clause
    manner: str = ""
    place: Prepositional | None = None
    time: Time | None = None
    conjunction: str = ""
    subordinate: Clause | None = None
    fronted: bool = False  # the subordinate clause, the time or else the place stands first
    construction: str = ""

    @property
    def surface_subject(self) -> Subject:
        """What the verb agrees with: in the passive an object, in `there is a key` the key."""
        if self.passive:
            return self.objects[-1] if self.dative else self.objects[0]
        if self.frame.kind == "existential":
            return self.objects[0]
        assert self.subject is not None, "only a passive clause may leave the doer out"
        return self.subject


def frame_of(kind: str, verb: str) -> Frame:
    """The first frame of this kind that has the verb, to build a clause by hand."""
    return next(frame for entry, frame in ENTRIES[kind] if entry.base == verb)


# --- Words: agreement, auxiliaries, articles ---------------------------------------------------------------

BE, HAVE, DO = VERB["be"], VERB["have"], VERB["do"]
FORMS_OF_BE = {
    "present": {"first": "am", "third": "is", "plural": "are"},
    "past": {"first": "was", "third": "was", "plural": "were"},
}


def finite(verb: Verb, tense: str, agreement: str) -> str:
    """The form that carries tense and agreement: `is`, `were`, `opens`, `opened`."""
    if verb is BE:
        return FORMS_OF_BE[tense][agreement]
    if tense == "past":
        return verb.past
    return verb.third if agreement == "third" else verb.base


@cache
def verb_group(
    verb: Verb, agreement: str, tense: str, modal: str, aspect: str, passive: bool, support: bool
) -> tuple[str, str]:
    """The first word of the verb group, and the rest; `support` asks for an auxiliary (`did open`)."""
    chain: list[tuple[Verb, str]] = []  # each auxiliary, and the form that it asks of the next verb
    if "perfect" in aspect:
        chain.append((HAVE, "participle"))
    if "progressive" in aspect:
        chain.append((BE, "ing"))
    if passive:
        chain.append((BE, "participle"))
    verbs = [auxiliary for auxiliary, _ in chain] + [verb]
    forms = [form for _, form in chain]
    if modal or tense == "future":
        first, forms = modal or "will", ["base", *forms]
    elif support and verbs[0] is verb and verb is not BE:
        first, forms = finite(DO, tense, agreement), ["base"]
    else:
        first, verbs = finite(verbs[0], tense, agreement), verbs[1:]
    return first, " ".join(getattr(word, form) for word, form in zip(verbs, forms, strict=True))


def noun_phrase(phrase: NounPhrase, negated: bool = False) -> str:
    """Determiner, adjective, noun and modifiers: `an old key to the cabinets that she lost`."""
    noun, determiner = phrase.noun, phrase.determiner
    if determiner is None:
        return noun.singular
    word = noun.plural if phrase.plural else noun.singular
    text = f"{phrase.adjective} {word}" if phrase.adjective else word
    if phrase.plural:
        article = determiner.plural
    else:
        article = determiner.singular if noun.plural else determiner.mass
    if article == "a" and (text[0] in "aeiou" or text.startswith("honest")):
        article = "an"
    elif article == "some" and negated:
        article = "any"
    text = f"{article} {text}"
    if phrase.modifier:
        text = f"{text} {prepositional(phrase.modifier)}"
    if phrase.relative:
        text = f"{text} {relative(phrase.relative, phrase)}"
    return text


def nominal(phrase: Subject, case: str, negated: bool = False) -> str:
    """Any subject or object in its case: `she` or `her`, `Anna and I` or `Anna and me`."""
    if isinstance(phrase, NounPhrase):
        return noun_phrase(phrase, negated)
    if isinstance(phrase, Pair):
        return f"{noun_phrase(phrase.first)} and {nominal(phrase.second, case)}"
    return phrase.subject if case == "subject" else phrase.object


def prepositional(phrase: Prepositional) -> str:
    return f"{phrase.preposition} {noun_phrase(phrase.phrase)}"


# --- Clauses -----------------------------------------------------------------------------------------------


def after_verb(clause: Clause) -> list[str]:
    """Complements, then adjuncts in the order manner, place, time; a fronted one is left out."""
    negated = clause.negative
    spoken = [nominal(phrase, "object", negated) for phrase in clause.objects]
    if clause.gap:
        spoken.pop()
    if clause.dative:
        spoken = [spoken[1], f"to {spoken[0]}"] if len(spoken) == 2 else [f"to {spoken[0]}"]
    if clause.passive:
        spoken = spoken[1:]
    words = spoken
    if clause.predicate:
        words.append(predicative(clause))
    if clause.goal:
        words.append(prepositional(clause.goal))
    if clause.complement:
        reported = clause.frame.kind == "reported"
        words.append(f"that {statement(clause.complement)}" if reported else infinitive(clause.complement))
    if clause.passive and clause.subject:
        words.append(f"by {nominal(clause.subject, 'object')}")
    if clause.manner:
        words.append(clause.manner)
    front = fronted_part(clause)
    if clause.place and clause.place is not front:
        words.append(prepositional(clause.place))
    if clause.time and clause.time is not front:
        words.append(clause.time.phrase)
    if clause.subordinate and clause.subordinate is not front:
        words.append(f"{clause.conjunction} {statement(clause.subordinate)}")
    return words


def predicative(clause: Clause) -> str:
    """`very cold`; `a good teacher`, or `good teachers` after a plural subject (`you` counts as one)."""
    if not isinstance(clause.predicate, Noun):
        return f"{clause.degree} {clause.predicate}" if clause.degree else clause.predicate
    if clause.surface_subject.agreement == "plural" and clause.subject != YOU:
        return f"{clause.degree} {clause.predicate.plural}".strip()
    return noun_phrase(NounPhrase(clause.predicate, False, DETERMINER["a"], clause.degree))


def fronted_part(clause: Clause) -> Clause | Time | Prepositional | None:
    return (clause.subordinate or clause.time or clause.place) if clause.fronted else None


def inflected(clause: Clause, agreement: str, support: bool) -> tuple[str, str]:
    return verb_group(clause.verb, agreement, clause.tense, clause.modal, clause.aspect, clause.passive, support)


def statement(clause: Clause) -> str:
    """Subject first: `she did not open the door`; a fronted adverbial stands before it."""
    subject = clause.surface_subject
    words = [fronting(clause)] if clause.fronted else []
    words.append("there" if clause.frame.kind == "existential" else nominal(subject, "subject"))
    return " ".join(words + predicate(clause, subject.agreement))


def predicate(clause: Clause, agreement: str) -> list[str]:
    first, rest = inflected(clause, agreement, clause.negative)
    words = [first]
    if clause.negative:
        words = ["cannot"] if first == "can" else [first, "not"]
    if rest:
        words.append(rest)
    return words + after_verb(clause)


def fronting(clause: Clause) -> str:
    if clause.subordinate:
        return f"{clause.conjunction} {statement(clause.subordinate)} ,"
    if clause.time:
        return clause.time.phrase
    assert clause.place is not None, "a clause is fronted only if it has an adverbial"
    return prepositional(clause.place)


def question(clause: Clause) -> str:
    """Auxiliary first, after the word that asks: `why did she not open the door`."""
    if clause.subject is WHO and not clause.passive:
        return statement(clause)  # "who opened the door"
    subject = clause.surface_subject
    first, rest = inflected(clause, subject.agreement, True)
    spoken = "there" if clause.frame.kind == "existential" else nominal(subject, "subject")
    words = [clause.asked, first, spoken, "not" if clause.negative else "", rest, *after_verb(clause)]
    return " ".join(filter(None, words))


def command(clause: Clause) -> str:
    """The bare verb; `do not` even before `be`."""
    return " ".join(["do not"] * clause.negative + [clause.verb.base, *after_verb(clause)])


def request(clause: Clause) -> str:
    """`could you open the door`, or `please open the door`."""
    return question(clause) if clause.modal else f"please {command(clause)}"


def infinitive(clause: Clause) -> str:
    return " ".join(["to", clause.verb.base, *after_verb(clause)])


def relative(clause: Clause, head: NounPhrase) -> str:
    """`who live near the river` agrees with its head; `that she bought` has a subject of its own."""
    word = "who" if head.noun.kind in PEOPLE else "that"
    if clause.gap:
        return f"{word} {statement(clause)}"
    return " ".join([word, *predicate(clause, head.agreement)])


MOODS: dict[str, Callable[[Clause], str]] = {
    "statement": statement,
    "question": question,
    "command": command,
    "request": request,
}


def realise(clause: Clause) -> str:
    """The sentence as tokens between spaces, with a capital at its start and a mark at its end."""
    text = MOODS[clause.mood](clause)
    asks = clause.mood == "question" or (clause.mood == "request" and clause.modal)
    return f"{text[0].upper()}{text[1:]} {'?' if asks else '.'}"


# --- What goes together --------------------------------------------------------------------------------------

CONJUNCTIONS = {word: tuple(rule.split(", ")) for word, rule in lexicon.CONJUNCTIONS.items()}


def sound(clause: Clause) -> bool:
    """Whether the features of a clause go together: what every edit must leave true."""
    progressive = "progressive" in clause.aspect
    if progressive and clause.frame.tags & {"state", "point"}:
        return False  # "she is knowing him"
    if clause.passive and progressive and (clause.tense == "future" or "perfect" in clause.aspect):
        return False  # "it will be being eaten"
    if clause.tense == "future" and "perfect" in clause.aspect:
        return False
    if any(same_person(clause.subject, phrase) for phrase in clause.objects):
        return False  # "I helped us"
    if clause.fronted and clause.mood != "statement":
        return False
    if clause.conjunction and clause.tense not in CONJUNCTIONS[clause.conjunction][2]:
        return False  # "she left if it rains"
    key = "modal" if clause.modal else f"{clause.tense} {clause.aspect}"
    return clause.time is None or ("command" if clause.mood in ORDERING else key) in clause.time.fits


def same_person(subject: Subject | None, other: Subject) -> bool:
    """Whether both include the speaker, or both the hearer."""
    if isinstance(subject, Pair):
        return same_person(subject.second, other)
    return isinstance(subject, Pronoun) and isinstance(other, Pronoun) and subject.person == other.person < 3


# --- Drawing: noun phrases ---------------------------------------------------------------------------------

PERSONS = (I, YOU, HE, SHE, WE, THEY)
Item = TypeVar("Item")


def pick(rng: random.Random, items: Sequence[Item]) -> Item:
    return items[int(rng.random() * len(items))]  # three times as fast as rng.choice


def draw_phrase(rng: random.Random, pool: Sequence[Noun], modified: float = 0.0) -> NounPhrase:
    """A noun phrase from these nouns; `modified` is how often it has a prepositional phrase."""
    noun = pick(rng, pool)
    plural = bool(noun.plural) and rng.random() < 0.35
    determiner = pick(rng, lexicon.DETERMINERS_OF[noun][plural])
    adjective = pick(rng, lexicon.ADJECTIVES_OF[noun]) if rng.random() < 0.35 else ""
    modifier = None
    if modified and rng.random() < modified and noun in lexicon.MODIFIERS_OF:
        preposition, others = pick(rng, lexicon.MODIFIERS_OF[noun])
        modifier = draw_place(rng, preposition, others)
    return NounPhrase(noun, plural, determiner, adjective, modifier)


def draw_place(rng: random.Random, preposition: str, pool: Sequence[Noun]) -> Prepositional:
    """`on the table`; where the rule says `at`, the noun knows better (`in the garden`, `on the hill`)."""
    noun = pick(rng, pool)
    plural = noun.kind != "site" and rng.random() < 0.2
    adjective = pick(rng, lexicon.ADJECTIVES_OF[noun]) if rng.random() < 0.25 else ""
    if preposition == "at":
        preposition = noun.preposition
    return Prepositional(preposition, NounPhrase(noun, plural, DETERMINER["the"], adjective))


def draw_subject(rng: random.Random, frame: Frame) -> Subject:
    if frame.kind == "weather":
        return IT
    chance = rng.random()
    if frame.personal and chance < 0.45:
        return pick(rng, PERSONS) if chance < 0.35 else NounPhrase(pick(rng, lexicon.PROPER))
    if not frame.personal and chance < 0.08:
        return IT if chance < 0.04 else THEY
    phrase = draw_phrase(rng, frame.subjects, modified=0.2)
    if frame.kind == "quality":  # no "wet coat is dry"
        return replace(phrase, adjective="")
    return replace(phrase, modifier=None) if frame.kind == "location" else phrase


def draw_object(
    rng: random.Random, pool: Sequence[Noun], subject: Subject | None, modified: float
) -> NounPhrase | Pronoun:
    """A noun phrase, or a pronoun that cannot be the subject again (never `I helped us`)."""
    chance = rng.random()
    if pool[0].kind in PEOPLE and chance < 0.4:
        if chance < 0.1:
            return NounPhrase(pick(rng, lexicon.PROPER))
        pronoun = pick(rng, PERSONS)
        return THEY if same_person(subject, pronoun) or (subject is WHO and pronoun.person < 3) else pronoun
    if chance < 0.05:
        return IT
    return draw_phrase(rng, pool, modified)


def draw_indefinite(rng: random.Random, pool: Sequence[Noun]) -> NounPhrase:
    phrase = draw_phrase(rng, pool)
    determiner = DETERMINER["two" if phrase.plural and rng.random() < 0.4 else "a"]
    return NounPhrase(phrase.noun, phrase.plural, determiner, phrase.adjective)


# --- Drawing: clauses --------------------------------------------------------------------------------------

PAST, PRESENT, FUTURE = ("past", "simple"), ("present", "simple"), ("future", "simple")
STATES, BEINGS = (PAST, PRESENT), (PAST, PAST, PRESENT, PRESENT, FUTURE)
POINTS = (*[PAST] * 6, *[PRESENT] * 2, *[FUTURE] * 3, *[("present", "perfect")] * 2, ("past", "perfect"))
PROCESSES = (*POINTS, *[("past", "progressive")] * 3, *[("present", "progressive")] * 3, ("future", "progressive"))
HABITS = (*PROCESSES, PRESENT, ("present", "perfect progressive"), ("past", "perfect progressive"))

TIME_KEYS = ("modal", "command", *(f"{tense} {aspect}" for tense, aspect in HABITS))
TIMES_FOR = {key: tuple(time for time in TIME.values() if key in time.fits) for key in TIME_KEYS}
DEGREES, ABSOLUTE = tuple(lexicon.DEGREES.split()), frozenset(lexicon.ABSOLUTE.split())
ROLE_ADJECTIVES = tuple(lexicon.ROLE_ADJECTIVES.split())
OCCASIONS = TIMES_FOR | {"present simple": ()}  # for what is not done again and again
MANNERS = {tag: tuple(words.split(", ")) for tag, words in lexicon.MANNERS.items()}
ANYWHERE = tuple(noun for noun in lexicon.NOUN.values() if noun.kind == "site")
OUTDOORS = lexicon.nouns("outdoors")


def tenses(tags: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The tenses and aspects that suit an event of this sort."""
    if "state" in tags:
        return BEINGS if "being" in tags else STATES
    return POINTS if "point" in tags else HABITS if "daily" in tags else PROCESSES


def compose(
    rng: random.Random,
    construction: str,
    pool: Sequence[Entry],
    subject: Subject | None = None,
    when: tuple[str, str] | None = None,
    tense: str = "",
    modal: str = "",
    mood: str = "statement",
    bare: bool = False,
    negative: float = 0.15,
    **features: Any,
) -> Clause:
    """A clause of an entry of the pool; a `bare` one has no adjuncts, as in embedded clauses."""
    verb, frame = pick(rng, pool)
    tags, kind = frame.tags, frame.kind
    drawn, aspect = when or (PRESENT if modal or mood in ORDERING else pick(rng, tenses(tags)))
    tense = tense or drawn
    if subject is None and kind != "existential":
        subject = draw_subject(rng, frame)
    if bare and isinstance(subject, NounPhrase) and subject.determiner is DETERMINER["that"]:
        subject = replace(subject, determiner=DETERMINER["the"])  # not "she said that that man left"
    modified = 0.15 if kind == "transitive" and not bare and "bound" not in tags else 0.0
    if kind == "existential":
        objects: tuple[NounPhrase | Pronoun, ...] = (draw_indefinite(rng, frame.objects[0]),)
    else:
        objects = tuple([draw_object(rng, slot, subject, modified) for slot in frame.objects])
    predicate = pick(rng, frame.predicates) if frame.predicates else ""
    if predicate and rng.random() < 0.5 and predicate not in ABSOLUTE:
        features["degree"] = pick(rng, ROLE_ADJECTIVES if kind == "role" else DEGREES)
    if kind == "ditransitive":  # neither "gave him it" nor "gave her her book"
        thing = draw_phrase(rng, frame.objects[1])
        clash = objects[0] is SHE and thing.determiner is DETERMINER["her"]
        objects = (objects[0], replace(thing, determiner=DETERMINER["the"]) if clash else thing)
    if not bare and ("state" not in tags or "passing" in tags):
        manners = MANNERS.get(next((tag for tag in tags if tag in MANNERS), ""))
        if manners and rng.random() < 0.25:
            features["manner"] = pick(rng, manners)
        located = isinstance(subject, NounPhrase) and subject.modifier  # "the man in the garden sat in the barn"
        if rng.random() < 0.35 and not located and ("place" in tags or "outdoors" in tags):
            features["place"] = draw_place(rng, "at", ANYWHERE if "place" in tags else OUTDOORS)
        if rng.random() < 0.35:
            key = "command" if mood in ORDERING else "modal" if modal else f"{tense} {aspect}"
            times = (TIMES_FOR if "daily" in tags else OCCASIONS)[key]
            features["time"] = pick(rng, times) if times else None
    return Clause(
        frame,
        verb,
        subject,
        objects,
        draw_place(rng, frame.preposition, frame.goals) if frame.goals else None,
        predicate,
        tense=tense,
        aspect=aspect,
        modal=modal,
        mood=mood,
        negative=rng.random() < negative,
        construction=construction,
        **features,
    )


# --- Constructions -----------------------------------------------------------------------------------------


@cache
def entries(kinds: str, *tags: str, without: str = "-", personal: bool = False) -> tuple[Entry, ...]:
    """The verbs of these frames that have all the tags, lack another, and have persons for subjects if asked."""
    found = [entry for kind in kinds.split() for entry in ENTRIES[kind]]
    return tuple(
        (verb, frame)
        for verb, frame in found
        if frame.tags.issuperset(tags) and without not in frame.tags and (frame.personal or not personal)
    )


EVENTS = "intransitive transitive ditransitive placement motion"
PLAIN = entries(EVENTS)
ACTIONS = entries(EVENTS, "told", personal=True)
ORDERS = (*ACTIONS, *ENTRIES["order"] * 3)
ADJOINED = (*entries(EVENTS, without="state"), *ENTRIES["weather"])
TELLINGS = {
    "action": ACTIONS,
    "activity": (*entries("intransitive", "daily", "place", personal=True), *ENTRIES["weather"]),
    "state": (*entries("quality", personal=True), *ENTRIES["weather"] * 2),
    "event": (*entries("intransitive", "event"), *ENTRIES["weather"]),
}
MODALS = tuple(lexicon.MODALS.split())


@cache
def relatives_of(noun: Noun) -> tuple[tuple[Entry, bool], ...]:
    """What a relative clause can say of a noun: what it does or, of a thing, what is done to it (a gap)."""
    does = [(entry, False) for entry in entries("dwelling transitive motion") if noun in entry[1].subjects]
    done = [(entry, True) for entry in entries("transitive") if noun in entry[1].objects[0]]
    return tuple(does if noun.kind in PEOPLE else does + done)


def draw_relative(rng: random.Random, noun: Noun) -> Clause:
    entry, gap = pick(rng, relatives_of(noun))
    when = PRESENT if "state" in entry[1].tags else PAST
    subject = None if gap else WHO
    return compose(rng, "relative", (entry,), subject, when, bare=True, negative=0.0, gap=gap)


def draw_related(rng: random.Random, construction: str) -> Clause:
    entry = pick(rng, PLAIN)
    head = draw_phrase(rng, entry[1].subjects)
    while not relatives_of(head.noun):
        head = draw_phrase(rng, entry[1].subjects)
    head = replace(head, relative=draw_relative(rng, head.noun))
    return compose(rng, construction, (entry,), head)


def draw_coordinated(rng: random.Random, construction: str) -> Clause:
    first, second = NounPhrase(pick(rng, lexicon.PROPER)), draw_phrase(rng, lexicon.nouns("human"))
    if rng.random() < 0.5:
        first, second = second, first
    pair = Pair(first, I if rng.random() < 0.15 else second)
    return compose(rng, construction, entries(EVENTS, personal=True), pair)


def draw_ditransitive(rng: random.Random, construction: str) -> Clause:
    return compose(rng, construction, ENTRIES[construction], dative=rng.random() < 0.5)


def draw_modal(rng: random.Random, construction: str) -> Clause:
    return compose(rng, construction, ACTIONS, modal=pick(rng, MODALS))


def draw_asking(rng: random.Random, construction: str) -> Clause:
    """`Why did she wait ?`, `What did she buy ?`; `when` and `where` replace the adverbial that they ask for."""
    asked = pick(rng, ("why", "when", "where", "what"))
    if asked == "what":
        clause = compose(rng, construction, entries("transitive"), bare=True, mood="question", negative=0.0, gap=True)
        thing = clause.objects[0]
        person = thing.noun.kind in (*PEOPLE, "name") if isinstance(thing, NounPhrase) else thing is not IT
        return replace(clause, asked="who" if person else "what")
    if asked == "why":
        return compose(rng, construction, PLAIN, mood="question", asked=asked)
    when = pick(rng, (PAST, PAST, FUTURE))
    pool = ACTIONS if asked == "when" else entries("transitive intransitive", "told", "place")
    clause = compose(rng, construction, pool, when=when, mood="question", negative=0.0, asked=asked)
    return replace(clause, time=None) if asked == "when" else replace(clause, place=None)


def draw_request(rng: random.Random, construction: str) -> Clause:
    modal = pick(rng, ("", "", "could", "would", "can", "will"))
    return compose(rng, construction, ACTIONS, YOU, modal=modal, mood="request", negative=0.0 if modal else 0.3)


def draw_passive(rng: random.Random, construction: str) -> Clause:
    """With a doer (`by the girls`) or without."""
    clause = compose(rng, construction, entries("transitive ditransitive", without="active"), passive=True)
    if len(clause.objects) == 2:
        clause = replace(clause, dative=True)  # "it was sold to him" rather than "he was sold it"
    if isinstance(clause.subject, Pronoun) or rng.random() < 0.4:
        clause = replace(clause, subject=None)
    return clause if sound(clause) else draw_passive(rng, construction)


def draw_reported(rng: random.Random, construction: str) -> Clause:
    tense = pick(rng, ("past", "past", "present"))
    pool = (*PLAIN, *entries("quality location role weather"))
    told = compose(rng, construction, pool, tense=tense, bare=True)
    return compose(rng, construction, ENTRIES["reported"], when=(tense, "simple"), bare=True, complement=told)


def draw_infinitive(rng: random.Random, construction: str) -> Clause:
    intended = compose(rng, construction, ACTIONS, WHO, bare=True, negative=0.0)
    return compose(rng, construction, ENTRIES[construction], bare=True, complement=intended)


def draw_subordinate(rng: random.Random, construction: str) -> Clause:
    word = pick(rng, tuple(CONJUNCTIONS))
    main, circumstance, allowed = CONJUNCTIONS[word]
    tense = pick(rng, allowed.split())
    clause = compose(rng, construction, TELLINGS[main], when=(tense, "simple"), bare=True)
    when = (below(tense), "progressive" if circumstance == "activity" else "simple")
    subordinate = compose(rng, construction, TELLINGS[circumstance], when=when, bare=True, negative=0.0)
    if circumstance == "state" and subordinate.verb is BE:  # "she left because she was tired"
        subordinate = replace(subordinate, subject=pronoun_for(clause.subject) or subordinate.subject)
    elif clause.subject == subordinate.subject:  # "she left when she left"
        return draw_subordinate(rng, construction)
    return replace(clause, conjunction=word, subordinate=subordinate, fronted=rng.random() < 0.5)


def pronoun_for(subject: Subject | None) -> Pronoun | None:
    """The pronoun that takes up a subject again, where its number tells which."""
    if isinstance(subject, Pair):
        return WE if isinstance(subject.second, Pronoun) else THEY
    if isinstance(subject, NounPhrase):
        return THEY if subject.plural else None
    return subject


def below(tense: str) -> str:
    """The tense of a clause below another: `she will leave when it rains`."""
    return "present" if tense == "future" else tense


def draw_fronted(rng: random.Random, construction: str) -> Clause:
    clause = compose(rng, construction, ADJOINED)
    while not (clause.time or clause.place):
        clause = compose(rng, construction, ADJOINED)
    return replace(clause, fronted=True)


def drawing(kinds: str, **features: Any) -> Callable[[random.Random, str], Clause]:
    """Statements, or another mood, of the verbs of these frames."""
    pool = entries(kinds, personal=features.get("subject") is WHO)
    return lambda rng, construction: compose(rng, construction, pool, **features)


@dataclass(frozen=True)
class Construction:
    """A sort of sentence: `draw(rng)` gives a clause of it."""

    name: str
    description: str
    rule: Callable[[random.Random, str], Clause]

    def draw(self, rng: random.Random) -> Clause:
        return self.rule(rng, self.name)


CONSTRUCTIONS: dict[str, Construction] = {
    name: Construction(name, description, rule)
    for name, description, rule in (
        ("intransitive", "The old dog barked in the garden .", drawing("intransitive")),
        ("transitive", "She has not opened the door .", drawing("transitive")),
        ("ditransitive", "Anna gave the boy a book .", draw_ditransitive),
        ("placement", "He put the lamp on the table .", drawing("placement")),
        ("motion", "They walked slowly to the market .", drawing("motion")),
        ("quality", "The soup was cold .", drawing("quality")),
        ("role", "My sister is a famous singer .", drawing("role")),
        ("location", "The keys are in the drawer .", drawing("location")),
        ("existential", "There were two keys in the drawer .", drawing("existential")),
        ("coordination", "Anna and I repaired the bicycle .", draw_coordinated),
        ("modal", "The children must close the window .", draw_modal),
        ("question", "Did they open the old door ?", drawing(EVENTS + " quality role", mood="question")),
        ("wh-question", "Why did the girls leave ?", draw_asking),
        ("subject-question", "Who is singing in the garden ?", drawing(EVENTS, subject=WHO, mood="question")),
        ("command", "Do not close the window .", lambda rng, name: compose(rng, name, ORDERS, YOU, mood="command")),
        ("request", "Could you bring the lamp ?", draw_request),
        ("passive", "The letter was written by the captain .", draw_passive),
        ("reported", "She said that the train had left .", draw_reported),
        ("infinitive", "He tried to open the box .", draw_infinitive),
        ("control", "She asked him to close the window .", draw_infinitive),
        ("subordinate", "Although she was tired , she wrote the letter .", draw_subordinate),
        ("relative", "The girls who live near the river were singing .", draw_related),
        ("fronted", "Yesterday the farmer sold the horse .", draw_fronted),
    )
}


# --- Held-out combinations of a word and a construction ----------------------------------------------------


SPLITS = ("train", "test")


def head_word(clause: Clause) -> str:
    """The word that says most: the verb, with `be` the predicate, in `she tried to open it` the verb `open`."""
    if clause.complement:
        return head_word(clause.complement)
    if clause.verb is not BE:
        return clause.verb.base
    if isinstance(clause.predicate, Noun):
        return clause.predicate.singular
    return clause.predicate or (clause.goal.phrase.noun.singular if clause.goal else "be")


@cache
def held_out(trait: str, word: str) -> bool:
    return crc32(f"{trait}+{word}".encode()) % 10 == 0  # leaves two words or more of each construction to test


def split_of(clause: Clause) -> str:
    """Which split a clause belongs to: "test" if its head word is held out with one of its traits, else "train".

    Traits are the construction, the mood, negation and the passive. So the training split has every word and every
    construction, but never a negative `buy` or a passive `warn`. Words of other embedded clauses do not count.
    """
    traits = [clause.construction]
    if clause.mood != "statement":
        traits.append(clause.mood)
    if clause.negative:
        traits.append("negative")
    if clause.passive:
        traits.append("passive")
    word = head_word(clause)
    return "test" if any(held_out(trait, word) for trait in traits) else "train"


# --- The corpus --------------------------------------------------------------------------------------------


def known(kind: str, name: str, names: Iterable[str]) -> str:
    if name in names:
        return name
    raise UsageError(f"The grammar has no {kind} {name!r}. Choose from: {', '.join(names)}.")


def stream(seed: int, constructions: Sequence[str] | None = None, split: str | None = None) -> Iterator[Clause]:
    rng = random.Random(seed)
    chosen = [CONSTRUCTIONS[known("construction", name, CONSTRUCTIONS)] for name in constructions or CONSTRUCTIONS]
    known("split", split or "train", SPLITS)
    while True:
        clause = pick(rng, chosen).draw(rng)
        if split is None or split_of(clause) == split:
            yield clause


def clauses(
    count: int, seed: int = 0, constructions: Sequence[str] | None = None, split: str | None = None
) -> Iterator[Clause]:
    """`count` clauses, the same for the same seed, from all constructions or from the named ones."""
    return islice(stream(seed, constructions, split), count)


def sentences(
    count: int, seed: int = 0, constructions: Sequence[str] | None = None, split: str | None = None
) -> Iterator[str]:
    """`count` sentences, the same for the same seed; `split` is "train", "test" or None for both."""
    return map(realise, clauses(count, seed, constructions, split))


def count_distinct(construction: str, draws: int = 5000, seed: int = 0) -> int:
    """At least how many different sentences a construction has, estimated from repetitions in a sample.

    Two draws agree with probability P = sum p_i^2 over the N possible sentences, and N >= 1 / P (Cauchy-Schwarz).
    P is estimated by the fraction of agreeing pairs, raised by three standard deviations and one, so as to stay
    below N. Only the longer half of the sample counts: short sentences are few and come often.
    """
    sample = sorted(sentences(draws, seed, [construction]), key=lambda text: text.count(" "))
    middle = sample[draws // 2].count(" ")
    seen = Counter(text for text in sample if text.count(" ") >= middle)
    agreeing = sum(n * (n - 1) // 2 for n in seen.values())
    size = seen.total()
    return int(size * (size - 1) / 2 / (agreeing + 3 * agreeing**0.5 + 1))


# --- Edits: the same clause with another feature, or None where English does not allow it -------------------


def changed(clause: Clause, **features: Any) -> Clause | None:
    """The clause with these features, if they go together."""
    result = replace(clause, **features)
    return result if sound(result) else None


def with_subject(clause: Clause, pronoun: Pronoun) -> Clause | None:
    """Another subject; only where a person can be the doer, and one is named."""
    named = clause.subject not in (None, WHO, IT) and not clause.passive and clause.mood in TELLING
    return with_doer(clause, pronoun) if named and clause.frame.personal else None


def with_doer(clause: Clause, subject: Subject) -> Clause | None:
    """Another subject, and with it the pronoun that takes it up again (`he left because he was tired`)."""
    again = clause.subordinate.subject if clause.subordinate else None
    if clause.subordinate and again == pronoun_for(clause.subject):
        pronoun = pronoun_for(subject)
        follows = pronoun and replace(clause.subordinate, subject=pronoun)
        return changed(clause, subject=subject, subordinate=follows) if follows else None
    return changed(clause, subject=subject) if again is None or again != pronoun_for(subject) else None


def with_number(clause: Clause, plural: bool) -> Clause | None:
    """The subject in another number; not for pronouns, names and mass nouns."""
    subject = clause.surface_subject
    if not isinstance(subject, NounPhrase) or not subject.noun.plural:
        return None
    other = replace(subject, plural=plural)
    if subject is clause.subject:
        return with_doer(clause, other)
    return changed(clause, objects=tuple(other if phrase is subject else phrase for phrase in clause.objects))


def with_tense(clause: Clause, tense: str) -> Clause | None:
    """Another tense, also in the clauses below; not with a modal, and only where the time adverbial fits."""
    if clause.modal or clause.mood not in TELLING:
        return None
    part = "complement" if clause.frame.kind == "reported" else "subordinate" if clause.subordinate else ""
    if not part:
        return changed(clause, tense=tense)
    embedded = changed(getattr(clause, part), tense=below(tense))
    return changed(clause, tense=tense, **{part: embedded}) if embedded else None


def with_aspect(clause: Clause, aspect: str) -> Clause | None:
    """Another aspect, of a clause that has a tense and no clause below it."""
    free = not (clause.modal or clause.subordinate or clause.asked) and clause.mood in TELLING
    return changed(clause, aspect=aspect) if free and clause.tense != "future" else None


def has_auxiliary(clause: Clause) -> bool:
    """Whether negation and questions need no `do`."""
    compound = clause.modal or clause.tense == "future" or clause.aspect != "simple"
    return bool(compound or clause.passive or clause.verb is BE)


def with_polarity(clause: Clause, negative: bool, auxiliary: bool) -> Clause | None:
    fits = clause.mood in TELLING and has_auxiliary(clause) == auxiliary
    return changed(clause, negative=negative) if fits else None


def with_mood(clause: Clause, mood: str, auxiliary: bool) -> Clause | None:
    """Statement or yes-no question; not of a clause that asks for a word already."""
    fits = clause.mood in TELLING and has_auxiliary(clause) == auxiliary
    return None if not fits or clause.asked or clause.subject is WHO else changed(clause, mood=mood)


def with_order(clause: Clause, mood: str, modal: str = "", negative: bool = False) -> Clause | None:
    """A command or request that is made to `you`."""
    fits = clause.mood in ORDERING
    return changed(clause, mood=mood, modal=modal, negative=negative) if fits else None


def with_modal(clause: Clause, modal: str) -> Clause | None:
    """A modal verb in place of the simple present of something that one can choose to do."""
    chosen = "told" in clause.frame.tags and clause.frame.personal and not clause.asked and not clause.subordinate
    plain = clause.tense == "present" and clause.aspect == "simple" and clause.mood in TELLING
    return changed(clause, modal=modal) if plain and chosen and not clause.passive else None


def with_fronting(clause: Clause, fronted: bool) -> Clause | None:
    """The adverbial or the subordinate clause in front or behind."""
    return changed(clause, fronted=fronted) if clause.time or clause.place or clause.subordinate else None


def with_voice(clause: Clause, passive: bool) -> Clause | None:
    """Active or passive; the doer must be named."""
    fits = clause.frame.kind == "transitive" and "active" not in clause.frame.tags and clause.mood in TELLING
    named = clause.subject not in (None, WHO) and not clause.asked
    return changed(clause, passive=passive) if fits and named else None


def with_dative(clause: Clause, dative: bool) -> Clause | None:
    """`gave the boy a book` or `gave a book to the boy`."""
    fits = clause.frame.kind == "ditransitive" and not clause.passive
    return changed(clause, dative=dative) if fits else None


@dataclass(frozen=True)
class Edit:
    """A change of one feature: calling it makes the change, `undo` takes it back.

    Both give None for a clause that is not in the state to start from, or where the result would not be English:
    a time adverbial that does not fit the new tense, a progressive of `know`, a passive of `sleep`.
    """

    name: str
    description: str
    before: Callable[[Clause], Clause | None]
    after: Callable[[Clause], Clause | None]

    def __call__(self, clause: Clause) -> Clause | None:
        return self.after(clause) if self.before(clause) == clause else None

    def undo(self, clause: Clause) -> Clause | None:
        return self.before(clause) if self.after(clause) == clause else None


NEGATING = ({"negative": False}, {"negative": True})
COULD_YOU = {"mood": "request", "modal": "could"}
ASKING = ({"mood": "statement"}, {"mood": "question"})

EDITS: dict[str, Edit] = {
    name: Edit(name, description, partial(setter, **before), partial(setter, **after))
    for name, description, setter, before, after in (
        ("he-she", "He laughed . She laughed .", with_subject, {"pronoun": HE}, {"pronoun": SHE}),
        ("he-they", "He sings . They sing .", with_subject, {"pronoun": HE}, {"pronoun": THEY}),
        ("i-we", "I am waiting . We are waiting .", with_subject, {"pronoun": I}, {"pronoun": WE}),
        ("she-i", "She is tired . I am tired .", with_subject, {"pronoun": SHE}, {"pronoun": I}),
        ("they-you", "They left . You left .", with_subject, {"pronoun": THEY}, {"pronoun": YOU}),
        ("plural", "The key is old . The keys are old .", with_number, {"plural": False}, {"plural": True}),
        ("present-past", "She sings . She sang .", with_tense, {"tense": "present"}, {"tense": "past"}),
        ("past-future", "She sang . She will sing .", with_tense, {"tense": "past"}, {"tense": "future"}),
        ("present-future", "She sings . She will sing .", with_tense, {"tense": "present"}, {"tense": "future"}),
        ("progressive", "He ate . He was eating .", with_aspect, {"aspect": "simple"}, {"aspect": "progressive"}),
        ("perfect", "He ate . He had eaten .", with_aspect, {"aspect": "simple"}, {"aspect": "perfect"}),
        ("can", "She sings . She can sing .", with_modal, {"modal": ""}, {"modal": "can"}),
        ("must", "She sings . She must sing .", with_modal, {"modal": ""}, {"modal": "must"}),
        ("not-auxiliary", "He is here . He is not here .", partial(with_polarity, auxiliary=True), *NEGATING),
        ("not-do", "He sang . He did not sing .", partial(with_polarity, auxiliary=False), *NEGATING),
        ("ask-auxiliary", "He is here . Is he here ?", partial(with_mood, auxiliary=True), *ASKING),
        ("ask-do", "He sang . Did he sing ?", partial(with_mood, auxiliary=False), *ASKING),
        ("please", "Sit . Please sit .", with_order, {"mood": "command"}, {"mood": "request"}),
        ("could-you", "Sit . Could you sit ?", with_order, {"mood": "command"}, COULD_YOU),
        ("do-not", "Sit . Do not sit .", with_order, {"mood": "command"}, {"mood": "command", "negative": True}),
        ("fronting", "She sang today . Today she sang .", with_fronting, {"fronted": False}, {"fronted": True}),
        ("passive", "He ate it . It was eaten by him .", with_voice, {"passive": False}, {"passive": True}),
        ("dative", "She gave me it . She gave it to me .", with_dative, {"dative": False}, {"dative": True}),
    )
}


def edited(family: str, seed: int, split: str | None) -> Iterator[tuple[str, str]]:
    """Endless pairs; a pair is of "train" only if both its clauses are."""
    edit = EDITS[known("edit", family, EDITS)]
    known("split", split or "train", SPLITS)
    for clause in stream(seed):
        before = edit.before(clause)
        after = before and edit.after(before)
        if not before or not after:
            continue
        if split is None or split == ("train" if split_of(before) == split_of(after) == "train" else "test"):
            yield realise(before), realise(after)


def edit_pairs(family: str, count: int, seed: int = 0, split: str | None = None) -> Iterator[tuple[str, str]]:
    """`count` sentences before and after an edit of EDITS; with `split`, see `split_of`."""
    return islice(edited(family, seed, split), count)


def edit_quadruples(
    family: str, count: int, seed: int = 0, split: str | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """`count` times the same edit of two different sentences x and y: (a(x), b(x), a(y), b(y))."""
    pairs = edited(family, seed, split)
    different = (first + second for first, second in zip(pairs, pairs, strict=False) if first != second)
    return islice(different, count)


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
    rng = random.Random(seed)
    heads = [noun for noun in lexicon.MODIFIERS_OF if noun.plural and noun.kind != "site"]
    for _ in range(count):
        subject = draw_nested(rng, heads, pick(rng, (0, 1, 1, 2, 2, 3)))
        other = "third" if subject.plural else "plural"
        verb, tense = pick(rng, ((BE, "present"), (BE, "past"), (HAVE, "present"), *doings(subject.noun)))
        text = noun_phrase(subject)
        between = list(intervening(subject))
        yield AgreementItem(
            text[0].upper() + text[1:],
            finite(verb, tense, subject.agreement),
            finite(verb, tense, other),
            len(between),
            any(phrase.plural != subject.plural for phrase in between),
        )


@cache
def doings(noun: Noun) -> tuple[tuple[Verb, str], ...]:
    return tuple((verb, "present") for verb, frame in ENTRIES["intransitive"] if noun in frame.subjects)[:5]


def draw_nested(rng: random.Random, pool: Sequence[Noun], depth: int) -> NounPhrase:
    """A noun phrase with `depth` nouns behind its own: `the key to the cabinets near the doors`."""
    noun, plural = pick(rng, pool), rng.random() < 0.5
    phrase = NounPhrase(noun, plural, pick(rng, lexicon.DETERMINERS_OF[noun][plural]))
    if rng.random() < 0.25:
        phrase = replace(phrase, adjective=pick(rng, lexicon.ADJECTIVES_OF[noun]))
    if depth == 0:
        return phrase
    if depth == 1 and rng.random() < 0.3 and relatives_of(noun):
        return replace(phrase, relative=draw_relative(rng, noun))
    options = lexicon.MODIFIERS_OF[noun]
    if depth > 1:  # what stands behind must bear a modifier itself
        options = tuple((word, tuple(n for n in others if n in lexicon.MODIFIERS_OF)) for word, others in options)
    preposition, others = pick(rng, [option for option in options if option[1]])
    return replace(phrase, modifier=Prepositional(preposition, draw_nested(rng, others, depth - 1)))


def intervening(phrase: NounPhrase) -> Iterator[NounPhrase]:
    """The noun phrases inside a noun phrase, behind its own noun."""
    if phrase.modifier:
        yield phrase.modifier.phrase
        yield from intervening(phrase.modifier.phrase)
    if phrase.relative:
        clause = phrase.relative
        spoken = [clause.subject, clause.goal and clause.goal.phrase, *clause.objects[: -1 if clause.gap else None]]
        for part in spoken:
            if isinstance(part, NounPhrase):
                yield part
                yield from intervening(part)
