"""Random clauses of the built-in corpus: what each construction draws, and the sentences of all of them.

Everything is drawn from the lexicon's frames, so that what is said makes sense: people eat cakes, and dogs bark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice, repeat
from random import Random
from typing import TypedDict, TypeVar, Unpack
from zlib import crc32

from lexigraph.errors import UsageError
from lexigraph.text import grammar, lexicon
from lexigraph.text.grammar import BE, IT, PERSONS, THEY, WHO, YOU, Clause, I, NounPhrase, Pair, Pronoun, Subject
from lexigraph.text.lexicon import CONJUNCTION, DETERMINER, ENTRIES, PEOPLE, TIME, Entry, Frame, Noun, Time

# --- Noun phrases ------------------------------------------------------------------------------------------

THE, A, THAT, TWO = (DETERMINER[word] for word in ("the", "a", "that", "two"))
Item = TypeVar("Item")


def pick(rng: Random, items: Sequence[Item]) -> Item:
    return items[int(rng.random() * len(items))]  # three times as fast as rng.choice


def draw_phrase(rng: Random, pool: Sequence[Noun], modified: float = 0.0) -> NounPhrase:
    """A noun phrase from these nouns; `modified` is how often it has a prepositional phrase."""
    noun = pick(rng, pool)
    plural = bool(noun.plural) and rng.random() < 0.35
    determiner = pick(rng, lexicon.DETERMINERS_OF[noun][plural])
    adjective = pick(rng, lexicon.ADJECTIVES_OF[noun]) if rng.random() < 0.35 else ""
    modifier = None
    if modified and rng.random() < modified and noun in lexicon.MODIFIERS_OF:
        modifier = draw_place(rng, *pick(rng, lexicon.MODIFIERS_OF[noun]), besides=(noun,))
    return NounPhrase(noun, plural, determiner, adjective, modifier)


def draw_place(rng: Random, preposition: str, pool: Sequence[Noun], besides: Sequence[Noun] = ()) -> NounPhrase:
    """`on the table`; where the rule says `at`, the noun knows better (`in the garden`, `on the hill`)."""
    noun = pick(rng, [noun for noun in pool if noun not in besides])  # no "sofa near the sofa"
    plural = noun.kind != "site" and rng.random() < 0.2
    adjective = pick(rng, lexicon.ADJECTIVES_OF[noun]) if rng.random() < 0.25 else ""
    preposition = noun.preposition if preposition == "at" else preposition
    return NounPhrase(noun, plural, THE, adjective, preposition=preposition)


def draw_subject(rng: Random, frame: Frame) -> Subject | None:
    """Whoever does it; nobody, where the clause begins with `there`."""
    if frame.kind in ("weather", "existential"):
        return IT if frame.kind == "weather" else None
    uniform = rng.random()
    if frame.personal and uniform < 0.45:
        return pick(rng, PERSONS) if uniform < 0.35 else NounPhrase(pick(rng, lexicon.PROPER))
    if not frame.personal and uniform < 0.08:
        return IT if uniform < 0.04 else THEY
    phrase = draw_phrase(rng, frame.subjects, modified=0.2)
    if "being" in frame.tags and phrase.determiner is A:  # no "a carpet is near the table"
        phrase = replace(phrase, determiner=THE)
    if frame.kind == "quality":  # no "wet coat is dry"
        return replace(phrase, adjective="")
    return replace(phrase, modifier=None) if frame.kind == "location" else phrase


def draw_object(
    rng: Random, frame: Frame, pool: Sequence[Noun], subject: Subject | None, modified: float
) -> NounPhrase | Pronoun:
    """A noun phrase, or a pronoun that cannot be the subject again (never `I helped us`)."""
    if frame.kind == "existential":  # "there is a key", not "there is the key"
        phrase = draw_phrase(rng, pool)
        return replace(phrase, determiner=TWO if phrase.plural and rng.random() < 0.4 else A)
    uniform = rng.random()
    if pool[0].kind in PEOPLE and uniform < 0.4:
        if uniform < 0.1:
            return NounPhrase(pick(rng, lexicon.PROPER))
        pronoun = pick(rng, PERSONS)
        return THEY if grammar.same_person(subject, pronoun) or (subject is WHO and pronoun.person < 3) else pronoun
    return IT if uniform < 0.05 and frame.kind != "ditransitive" else draw_phrase(rng, pool, modified)


# --- Clauses -----------------------------------------------------------------------------------------------

PAST, PRESENT, FUTURE = ("past", "simple"), ("present", "simple"), ("future", "simple")
STATES, BEINGS = (PAST, PRESENT), (PAST, PAST, PRESENT, PRESENT, FUTURE)
POINTS = (*[PAST] * 6, *[PRESENT] * 2, *[FUTURE] * 3, *[("present", "perfect")] * 2, ("past", "perfect"))
PROCESSES = (*POINTS, *[("past", "progressive")] * 3, *[("present", "progressive")] * 3, ("future", "progressive"))
HABITS = (*PROCESSES, PRESENT, ("present", "perfect progressive"), ("past", "perfect progressive"))

TIME_KEYS = ("modal", "command", *map(" ".join, HABITS))
TIMES_FOR = {key: tuple(time for time in TIME.values() if key in time.fits) for key in TIME_KEYS}
OCCASIONS = TIMES_FOR | {"present simple": ()}  # for what is not done again and again
ANYWHERE, OUTDOORS = lexicon.nouns("site"), lexicon.nouns("outdoors")


def tenses(tags: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The tenses and aspects that suit an event of this sort."""
    if "state" in tags:
        return BEINGS if "being" in tags else STATES
    return POINTS if "point" in tags else HABITS if "daily" in tags else PROCESSES


class Adjuncts(TypedDict, total=False):
    """What may stand beside verb and objects, as `Clause` names it."""

    manner: str
    place: NounPhrase
    time: Time


class Features(Adjuncts, total=False):
    """Other features of a `Clause` that a construction sets."""

    degree: str
    complement: Clause
    passive: bool
    dative: bool
    asked: str
    gap: bool


def draw_adjuncts(rng: Random, tags: frozenset[str], subject: Subject | None, key: str) -> Adjuncts:
    """Manner, place and time, each now and then and where it fits; `key` is of `time_key`."""
    adjuncts: Adjuncts = {}
    manners = next((words for tag, words in lexicon.MANNERS.items() if tag in tags), ())
    if manners and rng.random() < 0.25:
        adjuncts["manner"] = pick(rng, manners)
    located = isinstance(subject, NounPhrase) and subject.modifier  # "the man in the garden sat in the barn"
    if rng.random() < 0.35 and not located and ("place" in tags or "outdoors" in tags):
        adjuncts["place"] = draw_place(rng, "at", ANYWHERE if "place" in tags else OUTDOORS)
    times = (TIMES_FOR if "daily" in tags else OCCASIONS)[key]
    if rng.random() < 0.35 and times:
        adjuncts["time"] = pick(rng, times)
    return adjuncts


def compose(
    rng: Random,
    pool: Sequence[Entry],
    subject: Subject | None = None,
    when: tuple[str, str] | None = None,
    modal: str = "",
    mood: str = "statement",
    bare: bool = False,
    negative: float = 0.15,
    **features: Unpack[Features],
) -> Clause:
    """A clause of an entry of the pool; a `bare` one has no adjuncts, as in embedded clauses."""
    verb, frame = pick(rng, pool)
    kind, tags = frame.kind, frame.tags
    tense, aspect = when or (PRESENT if modal or mood in grammar.ORDERING else pick(rng, tenses(tags)))
    subject = subject or draw_subject(rng, frame)
    if bare and isinstance(subject, NounPhrase) and subject.determiner is THAT:
        subject = replace(subject, determiner=THE)  # not "she said that that man left"
    modified = 0.15 if kind == "transitive" and not bare and "bound" not in tags else 0.0
    objects = tuple([draw_object(rng, frame, slot, subject, modified) for slot in frame.objects])
    predicate = pick(rng, frame.predicates) if frame.predicates else ""
    if predicate and rng.random() < 0.5 and predicate not in lexicon.ABSOLUTE:
        features["degree"] = pick(rng, lexicon.ROLE_ADJECTIVES if kind == "role" else lexicon.DEGREES)
    if not bare and ("state" not in tags or "passing" in tags):
        features |= draw_adjuncts(rng, tags, subject, grammar.time_key(mood, modal, tense, aspect))
    goal = None
    if frame.goals:
        named = [phrase.noun for phrase in (subject, *objects) if isinstance(phrase, NounPhrase)]
        goal = draw_place(rng, frame.preposition, frame.goals, besides=named)
        if goal.preposition in ("in", "on"):  # nothing is in two boxes at once
            goal = replace(goal, plural=False)
    return Clause(
        frame,
        verb,
        subject,
        objects,
        goal,
        predicate,
        tense=tense,
        aspect=aspect,
        modal=modal,
        mood=mood,
        negative=rng.random() < negative,
        **features,
    )


# --- Constructions -----------------------------------------------------------------------------------------


@cache
def entries(kinds: str, *tags: str, without: str = "-", personal: bool = False) -> tuple[Entry, ...]:
    """The verbs of these frames that have all the tags, lack another, and have persons for subjects if asked."""
    return tuple(
        (verb, frame)
        for kind in kinds.split()
        for verb, frame in ENTRIES[kind]
        if frame.tags.issuperset(tags) and without not in frame.tags and (frame.personal or not personal)
    )


EVENTS = "intransitive transitive ditransitive placement motion"
PLAIN, PERSONAL, ASKABLE = entries(EVENTS), entries(EVENTS, personal=True), entries(EVENTS + " quality role")
ACTIONS = entries(EVENTS, "told", personal=True)
ORDERS = (*ACTIONS, *ENTRIES["order"] * 3)
ADJOINED = (*entries(EVENTS, without="state"), *ENTRIES["weather"])
REPORTS = entries(EVENTS + " quality location role weather")
TELLINGS = {
    "action": ACTIONS,
    "activity": (*entries("intransitive", "daily", "place", personal=True), *ENTRIES["weather"]),
    "state": (*entries("quality", personal=True), *ENTRIES["weather"] * 2),
    "event": (*entries("intransitive", "event"), *ENTRIES["weather"]),
}


@cache
def relatives_of(noun: Noun) -> tuple[tuple[Entry, bool], ...]:
    """What a relative clause can say of a noun: what it does or, of a thing, what is done to it (a gap)."""
    does = [(entry, False) for entry in entries("dwelling transitive motion") if noun in entry[1].subjects]
    done = [(entry, True) for entry in entries("transitive") if noun in entry[1].objects[0]]
    return tuple(does if noun.kind in PEOPLE else does + done)


def draw_relative(rng: Random, noun: Noun) -> Clause:
    """`who lives near the river`, `that she bought`: a clause to stand behind a noun."""
    entry, gap = pick(rng, relatives_of(noun))
    when = PRESENT if "state" in entry[1].tags else PAST
    return compose(rng, (entry,), None if gap else WHO, when, bare=True, negative=0.0, gap=gap)


def draw_related(rng: Random) -> Clause:
    entry = pick(rng, PLAIN)
    head = draw_phrase(rng, [noun for noun in entry[1].subjects if relatives_of(noun)])
    return compose(rng, (entry,), replace(head, relative=draw_relative(rng, head.noun)))


def draw_coordinated(rng: Random) -> Clause:
    first, second = NounPhrase(pick(rng, lexicon.PROPER)), draw_phrase(rng, lexicon.nouns("human"))
    if rng.random() < 0.5:
        first, second = second, first
    pair = Pair(first, I if rng.random() < 0.15 else second)
    return compose(rng, PERSONAL, pair)


def draw_asking(rng: Random) -> Clause:
    """`Why did she wait ?`, `What did she buy ?`; `when` and `where` replace the adverbial that they ask for."""
    asked = pick(rng, ("why", "when", "where", "what"))
    if asked == "what":
        clause = compose(rng, entries("transitive"), mood="question", bare=True, negative=0.0, gap=True)
        thing = clause.objects[0]
        person = thing.noun.kind in (*PEOPLE, "name") if isinstance(thing, NounPhrase) else thing is not IT
        return replace(clause, asked="who" if person else "what")
    if asked == "why":
        return compose(rng, PLAIN, mood="question", asked=asked)
    when = pick(rng, (PAST, PAST, FUTURE))
    pool = ACTIONS if asked == "when" else entries("transitive intransitive", "told", "place")
    clause = compose(rng, pool, when=when, mood="question", negative=0.0, asked=asked)
    return replace(clause, time=None) if asked == "when" else replace(clause, place=None)


def draw_ditransitive(rng: Random) -> Clause:
    return compose(rng, ENTRIES["ditransitive"], dative=rng.random() < 0.5)


def draw_request(rng: Random) -> Clause:
    modal = pick(rng, ("", "", "could", "would", "can", "will"))
    return compose(rng, ACTIONS, YOU, modal=modal, mood="request", negative=0.0 if modal else 0.3)


def draw_passive(rng: Random) -> Clause:
    """With a doer (`by the girls`) or without."""
    clause = compose(rng, entries("transitive ditransitive", without="active"), passive=True)
    clause = replace(clause, dative=len(clause.objects) == 2)  # "it was sold to him" rather than "he was sold it"
    if isinstance(clause.subject, Pronoun) or rng.random() < 0.4:
        clause = replace(clause, subject=None)
    return clause if grammar.sound(clause) else draw_passive(rng)


def draw_reported(rng: Random) -> Clause:
    tense = pick(rng, ("past", "past", "present"))
    told = replace(compose(rng, REPORTS, bare=True), tense=tense)
    return compose(rng, ENTRIES["reported"], when=(tense, "simple"), bare=True, complement=told)


def draw_infinitive(rng: Random, kind: str) -> Clause:
    intended = compose(rng, ACTIONS, WHO, bare=True, negative=0.0)
    return compose(rng, ENTRIES[kind], bare=True, complement=intended)


def draw_subordinate(rng: Random) -> Clause:
    word = pick(rng, tuple(CONJUNCTION))
    rule = CONJUNCTION[word]
    tense = pick(rng, rule.tenses)
    clause = compose(rng, TELLINGS[rule.main], when=(tense, "simple"), bare=True)
    when = (grammar.tense_below(tense), "progressive" if rule.subordinate == "activity" else "simple")
    subordinate = compose(rng, TELLINGS[rule.subordinate], when=when, bare=True, negative=0.0)
    if rule.subordinate == "state" and subordinate.verb is BE:  # "she left because she was tired"
        subordinate = replace(subordinate, subject=grammar.pronoun_for(clause.subject) or subordinate.subject)
    elif rule.subordinate == "state":  # "she left because it was raining"
        subordinate = replace(subordinate, aspect="progressive")
    elif clause.subject == subordinate.subject:  # "she left when she left"
        return draw_subordinate(rng)
    return replace(clause, conjunction=word, subordinate=subordinate, fronted=rng.random() < 0.5)


def draw_fronted(rng: Random) -> Clause:
    clause = compose(rng, ADJOINED)
    return replace(clause, fronted=True) if clause.time or clause.place else draw_fronted(rng)


CONSTRUCTIONS: dict[str, Callable[[Random], Clause]] = {
    "intransitive": partial(compose, pool=ENTRIES["intransitive"]),  # The old dog barked in the garden .
    "transitive": partial(compose, pool=ENTRIES["transitive"]),  # She has not opened the door .
    "ditransitive": draw_ditransitive,  # Anna gave the boy a book .
    "placement": partial(compose, pool=ENTRIES["placement"]),  # He put the lamp on the table .
    "motion": partial(compose, pool=ENTRIES["motion"]),  # They walked slowly to the market .
    "quality": partial(compose, pool=ENTRIES["quality"]),  # The soup was cold .
    "role": partial(compose, pool=ENTRIES["role"]),  # My sister is a famous singer .
    "location": partial(compose, pool=ENTRIES["location"]),  # The keys are in the drawer .
    "existential": partial(compose, pool=ENTRIES["existential"]),  # There were two keys in the drawer .
    "coordination": draw_coordinated,  # Anna and I repaired the bicycle .
    "modal": lambda rng: compose(rng, ACTIONS, modal=pick(rng, lexicon.MODALS)),  # They must close the window .
    "question": partial(compose, pool=ASKABLE, mood="question"),  # Did they open the old door ?
    "wh-question": draw_asking,  # Why did the girls leave ?
    "subject-question": partial(compose, pool=PERSONAL, subject=WHO, mood="question"),  # Who is singing ?
    "command": partial(compose, pool=ORDERS, subject=YOU, mood="command"),  # Do not close the window .
    "request": draw_request,  # Could you bring the lamp ?
    "passive": draw_passive,  # The letter was written by the captain .
    "reported": draw_reported,  # She said that the train had left .
    "infinitive": partial(draw_infinitive, kind="infinitive"),  # He tried to open the box .
    "control": partial(draw_infinitive, kind="control"),  # She asked him to close the window .
    "subordinate": draw_subordinate,  # Although she was tired , she wrote the letter .
    "relative": draw_related,  # The girls who live near the river were singing .
    "fronted": draw_fronted,  # Yesterday the farmer sold the horse .
}

# --- The corpus, and its splits by held-out combinations of a word and a construction ----------------------


def head_word(clause: Clause) -> str:
    """The word that says most: the verb, with `be` the predicate, in `she tried to open it` the verb `open`."""
    if clause.complement:
        return head_word(clause.complement)
    if clause.verb is not BE:
        return clause.verb.base
    if isinstance(clause.predicate, Noun):
        return clause.predicate.singular
    return clause.predicate or (clause.goal.noun.singular if clause.goal else "be")


def split_of(clause: Clause) -> str:
    """Which split a clause belongs to: "test" if its head word is held out with one of its traits, else "train".

    Traits are the construction, the mood, negation and the passive. So the training split has every word and every
    construction, but never a negative `buy` or a passive `warn`. Words of other embedded clauses do not count.
    """
    word = head_word(clause)
    held_out = (crc32(f"{trait}+{word}".encode()) % 10 == 0 for trait in traits(clause))
    return "test" if any(held_out) else "train"


def traits(clause: Clause) -> list[str]:
    """What a clause's head word is combined with."""
    named = [clause.construction, clause.mood, "negative" * clause.negative, "passive" * clause.passive]
    return [trait for trait in named if trait not in ("", "statement")]


def known(kind: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of these."""
    if name in names:
        return name
    raise UsageError(f"The grammar has no {kind} {name!r}. Choose from: {', '.join(names)}.")


def clauses(
    count: int | None, seed: int = 0, constructions: Iterable[str] | None = None, split: str | None = None
) -> Iterator[Clause]:
    """`count` clauses (None: without end), the same for the same seed, of all constructions or of the named ones."""
    rng = Random(seed)
    names = [known("construction", name, CONSTRUCTIONS) for name in constructions or CONSTRUCTIONS]
    known("split", split or "train", ("train", "test"))
    chosen = map(pick, repeat(rng), repeat(names))
    drawn = (replace(CONSTRUCTIONS[name](rng), construction=name) for name in chosen)
    return islice((clause for clause in drawn if split is None or split_of(clause) == split), count)


def sentences(
    count: int, seed: int = 0, constructions: Iterable[str] | None = None, split: str | None = None
) -> Iterator[str]:
    """`count` sentences, the same for the same seed; `split` is "train", "test" or None for both."""
    return map(grammar.realise, clauses(count, seed, constructions, split))
