"""The grammar of the built-in corpus: English clauses as features, and the rules that spell them out.

A sentence is a `Clause`: subject, verb frame, objects, tense, aspect, polarity, mood, adverbials and subordinate
clauses. `realise` spells it out; agreement, case, do-support and word order are decided here and nowhere else:

    sentence   ->  [adverbial] clause [adverbial] .          clause  ->  subject verb-group complements adjuncts
    verb group ->  [modal | will] [have] [be] [be] verb      each auxiliary decides the form of the next word

The words are in `lexicon`, random clauses in `constructions`, and clauses with one feature changed in `edits`.

>>> from dataclasses import replace
>>> from lexigraph.text.lexicon import frame_of
>>> she_waits = Clause(frame_of("intransitive", "wait"), VERB["wait"], SHE, aspect="progressive")
>>> realise(she_waits)
'She is waiting .'
>>> realise(replace(she_waits, negative=True, mood="question"))
'Is she not waiting ?'
"""

from __future__ import annotations

from dataclasses import dataclass

from lexigraph.text.lexicon import CONJUNCTION, DETERMINER, PEOPLE, VERB, Determiner, Frame, Noun, Time, Verb

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
PERSONS = (I, YOU, HE, SHE, WE, THEY)
WHO = Pronoun("who", "whom", "third")  # also the understood subject of infinitives and relative clauses


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands around it: *to an old* key *in the drawer that she opened*; a name stands alone."""

    noun: Noun
    plural: bool = False
    determiner: Determiner | None = None
    adjective: str = ""
    modifier: NounPhrase | None = None
    relative: Clause | None = None
    preposition: str = ""

    @property
    def agreement(self) -> str:
        return "plural" if self.plural else "third"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two subjects joined by `and`."""

    first: NounPhrase
    second: NounPhrase | Pronoun
    agreement: str = "plural"


Subject = Pronoun | NounPhrase | Pair
TELLING, ORDERING = ("statement", "question"), ("command", "request")  # the moods


@dataclass(frozen=True, slots=True)
class Clause:
    """The features of a clause; every one of them can be changed with `dataclasses.replace`."""

    frame: Frame
    verb: Verb
    subject: Subject | None  # the doer, also in the passive; None for a passive that names no doer
    objects: tuple[NounPhrase | Pronoun, ...] = ()  # of two, the receiver stands first
    goal: NounPhrase | None = None  # put it *on the table*, walk *to the market*
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
    place: NounPhrase | None = None
    time: Time | None = None
    conjunction: str = ""
    subordinate: Clause | None = None
    fronted: bool = False  # the subordinate clause, or else the time, or else the place stands first
    construction: str = ""  # the name of what drew it

    @property
    def surface_subject(self) -> Subject:
        """What the verb agrees with: in the passive an object, in `there is a key` the key."""
        if self.passive:
            return self.objects[-1] if self.dative else self.objects[0]
        subject = self.objects[0] if self.frame.kind == "existential" else self.subject
        assert subject is not None, "only a passive clause may leave the doer out"
        return subject


# --- Verbs: agreement and auxiliaries ----------------------------------------------------------------------

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


def verb_group(clause: Clause, agreement: str, support: bool) -> tuple[str, str]:
    """The first word of the verb group, and the rest; `support` asks for an auxiliary (`did open`)."""
    perfect, progressive = "perfect" in clause.aspect, "progressive" in clause.aspect
    verbs = [HAVE] * perfect + [BE] * progressive + [BE] * clause.passive + [clause.verb]
    forms = ["participle"] * perfect + ["ing"] * progressive + ["participle"] * clause.passive  # of the next verb
    if clause.modal or clause.tense == "future":
        first, forms = clause.modal or "will", ["base", *forms]
    elif support and len(verbs) == 1 and clause.verb is not BE:
        first, forms = finite(DO, clause.tense, agreement), ["base"]
    else:
        first = finite(verbs.pop(0), clause.tense, agreement)
    return first, " ".join([getattr(verb, form) for verb, form in zip(verbs, forms, strict=True)])


# --- Phrases: articles and case ----------------------------------------------------------------------------


def joined(*parts: str) -> str:
    """With a space between; what is absent is empty."""
    return " ".join(filter(None, parts))


def spoken(phrase: Subject | None, case: str = "subject", negated: bool = False) -> str:
    """Any phrase in its case: `she` or `her`, `Anna and I` or `Anna and me`; nothing for none."""
    if isinstance(phrase, Pronoun):
        return phrase.subject if case == "subject" else phrase.object
    if isinstance(phrase, Pair):
        return f"{spoken(phrase.first)} and {spoken(phrase.second, case)}"
    return noun_phrase(phrase, negated) if phrase else ""


def noun_phrase(phrase: NounPhrase, negated: bool) -> str:
    """Determiner, adjective, noun and modifiers: `an old key to the cabinets that she lost`."""
    noun, determiner = phrase.noun, phrase.determiner
    if determiner is None:
        return noun.singular
    text = joined(phrase.adjective, noun.plural if phrase.plural else noun.singular)
    article = determiner.plural if phrase.plural else determiner.singular if noun.plural else determiner.mass
    if article == "a" and (text[0] in "aeiou" or text.startswith("honest")):
        article = "an"
    elif article == "some" and negated:
        article = "any"
    restriction = relative(phrase.relative, phrase) if phrase.relative else ""
    return joined(phrase.preposition, article, text, spoken(phrase.modifier), restriction)


def relative(clause: Clause, head: NounPhrase) -> str:
    """`who live near the river` agrees with its head; `that she bought` has a subject of its own."""
    said = statement(clause) if clause.gap else predicate(clause, head.agreement)
    return joined("who" if head.noun.kind in PEOPLE else "that", said)


# --- Clauses: word order -----------------------------------------------------------------------------------


def statement(clause: Clause) -> str:
    """Subject first: `she did not open the door`; a fronted adverbial stands before it."""
    front = adverbials(clause)[-1] if clause.fronted else ""
    comma = "," if clause.fronted and clause.subordinate else ""
    return joined(front, comma, opening(clause), predicate(clause, clause.surface_subject.agreement))


def opening(clause: Clause) -> str:
    return "there" if clause.frame.kind == "existential" else spoken(clause.surface_subject)


def predicate(clause: Clause, agreement: str) -> str:
    """All but the subject: `did not open the door`."""
    first, rest = verb_group(clause, agreement, support=clause.negative)
    if clause.negative:
        first = "cannot" if first == "can" else f"{first} not"
    return joined(first, rest, after_verb(clause))


def question(clause: Clause) -> str:
    """Auxiliary first, after the word that asks: `why did she not open the door`."""
    if clause.subject is WHO and not clause.passive:
        return statement(clause)  # "who opened the door"
    first, rest = verb_group(clause, clause.surface_subject.agreement, support=True)
    negation = "not" if clause.negative else ""
    return joined(clause.asked, first, opening(clause), negation, rest, after_verb(clause))


def command(clause: Clause) -> str:
    """The bare verb; `do not` even before `be`."""
    please, negation = "please" if clause.mood == "request" else "", "do not" if clause.negative else ""
    return joined(please, negation, clause.verb.base, after_verb(clause))


def after_verb(clause: Clause) -> str:
    """Complements, then adjuncts in the order manner, place, time."""
    objects = [spoken(phrase, "object", clause.negative) for phrase in clause.objects]
    if clause.gap:
        objects.pop()
    if clause.dative:
        receiver, *thing = objects
        objects = [*thing, f"to {receiver}"]
    if clause.passive:
        objects = objects[1:]
    doer = f"by {spoken(clause.subject, 'object')}" if clause.passive and clause.subject else ""
    behind = adverbials(clause)[:-1] if clause.fronted else adverbials(clause)
    return joined(
        *objects, predicative(clause), spoken(clause.goal), complement(clause), doer, clause.manner, *behind
    )


def predicative(clause: Clause) -> str:
    """`very cold`; `a good teacher`, or `good teachers` after a plural subject (`you` counts as one)."""
    if not isinstance(clause.predicate, Noun):
        return joined(clause.degree, clause.predicate)
    if clause.surface_subject.agreement == "plural" and clause.subject != YOU:
        return joined(clause.degree, clause.predicate.plural)
    return spoken(NounPhrase(clause.predicate, False, DETERMINER["a"], clause.degree))


def complement(clause: Clause) -> str:
    """`that she opened the door`, or `to open the door`."""
    below = clause.complement
    if below and clause.frame.kind == "reported":
        return f"that {statement(below)}"
    return f"to {command(below)}" if below else ""


def adverbials(clause: Clause) -> list[str]:
    """Place, time and subordinate clause, in this order; in a fronted clause the last of them stands first."""
    time = clause.time.phrase if clause.time else ""
    below = f"{clause.conjunction} {statement(clause.subordinate)}" if clause.subordinate else ""
    return [part for part in (spoken(clause.place), time, below) if part]


def realise(clause: Clause) -> str:
    """The sentence as tokens between spaces, with a capital at its start and a mark at its end."""
    if clause.mood == "question" or (clause.mood == "request" and clause.modal):
        text, mark = question(clause), "?"
    else:
        text, mark = statement(clause) if clause.mood == "statement" else command(clause), "."
    return f"{text[0].upper()}{text[1:]} {mark}"


# --- What goes together ------------------------------------------------------------------------------------


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
    if clause.conjunction and clause.tense not in CONJUNCTION[clause.conjunction].tenses:
        return False  # "she left if it rains"
    if not all(sound(below) for below in (clause.complement, clause.subordinate) if below):
        return False
    return clause.time is None or time_key(clause.mood, clause.modal, clause.tense, clause.aspect) in clause.time.fits


def time_key(mood: str, modal: str, tense: str, aspect: str) -> str:
    """What a time adverbial must fit."""
    return "command" if mood in ORDERING else "modal" if modal else f"{tense} {aspect}"


def same_person(subject: Subject | None, other: Subject) -> bool:
    """Whether both include the speaker, or both the hearer."""
    if isinstance(subject, Pair):
        return same_person(subject.second, other)
    return isinstance(subject, Pronoun) and isinstance(other, Pronoun) and subject.person == other.person < 3


def pronoun_for(subject: Subject | None) -> Pronoun | None:
    """The pronoun that takes up a subject again, where its number tells which."""
    if isinstance(subject, Pair):
        return WE if isinstance(subject.second, Pronoun) else THEY
    if isinstance(subject, NounPhrase):
        return THEY if subject.plural else None
    return subject


def tense_below(tense: str) -> str:
    """The tense of a clause below another: `she will leave when it rains`."""
    return "present" if tense == "future" else tense
