"""Languages made by code, to measure what a network remembers, and for how long.

A name with its lengths stands wherever a file does: `anbn:100` has lengths 1 to 100, `anbn:101-150` those from 101.

    anbn        a a a b b b                       length: how often each letter (Gers & Schmidhuber 2001)
    anbncn      a a b b c c
    dyck1       ( ( ) ( ) )                       length: pairs of brackets, all balanced strings alike probable
    dyck2       ( [ ] ( ) )                       the same with two kinds of brackets
    copying     x y y # x y y                     length: symbols before the #
    agreement   The cats , which already ate the old fish , were hungry .      length: words between noun and verb
    adding      numbers with marks on two of them, and the sum of those two (Hochreiter & Schmidhuber 1997)
    listops     [MAX 2 9 [MIN 4 7 ] 0 ] and its value     length: tokens (Nangia & Bowman 2018; Tay et al. 2021)

`copying` also has the word as a source and the same as its target, for those that read one text and write another.

`may_follow` says which symbols are possible after each prefix, so that a network can be called right or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np

from lexigraph.errors import UsageError

SUM = ("vectors", "number")  # the fields of a record of the adding problem
END = ""  # the end of a string, among the symbols that may follow
BRACKETS = {"(": ")", "[": "]"}
NAME = re.compile(r"(anbn|anbncn|dyck1|dyck2|copying|agreement|adding|listops):(\d+)(?:-(\d+))?")
SHORTEST = {"adding": 2, "agreement": 0, "listops": 4}  # others: 1


@dataclass(frozen=True)
class Lengths:
    """A language, and the lengths of its strings."""

    language: str
    low: int
    high: int


def named(name: str) -> Lengths | None:
    """The language and lengths that a name stands for, None if it is none of theirs."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    language, one, other = found.groups()
    least = SHORTEST.get(language, 1)
    low, high = (least, int(one)) if other is None else (int(one), int(other))
    if not least <= low <= high <= 100_000:
        raise UsageError(f"{name}: lengths go from {least} to 100000, as in {language}:100 or {language}:101-150.")
    return Lengths(language, low, high)


def unnamed(name: str) -> str:
    """What a language lacks whose name is there without lengths; nothing for other names."""
    language = name.partition(":")[0]
    known = NAME.fullmatch(f"{language}:10") and not NAME.fullmatch(name)
    return (
        f"A language made by code is named with its lengths: {language}:100, or {language}:101-150." if known else ""
    )


def strings(lengths: Lengths, count: int, seed: int = 0) -> Iterator[str]:
    """At most `count` strings, symbols apart. A language with one string of each length has each once."""
    language, low, high = lengths.language, lengths.low, lengths.high
    if language in COUNTED:
        yield from (COUNTED[language](n) for n in range(low, min(high, low + count - 1) + 1))
        return
    if language == "listops":
        yield from (text for text, _ in list_operations(lengths, count, seed))
        return
    if language not in DRAWN:
        raise UsageError(
            f"{language}:{low}-{high} has no text, it has {fields_of(lengths)}: train the regressor on it."
        )
    rng = Random(seed)
    yield from (DRAWN[language](rng, low, high) for _ in range(count))


def fields_of(lengths: Lengths) -> str:
    """What a record of a language holds, for messages."""
    known = {"adding": " and ".join(SUM), "listops": "text and label", "copying": "text, or source and target"}
    return known.get(lengths.language, "text")


def records(lengths: Lengths, fields: Sequence[str], count: int, seed: int = 0) -> Iterator[dict[str, Any]] | None:
    """At most `count` records with these fields; None, if the language has no such records."""
    wanted = set(fields)
    if lengths.language == "adding" and wanted == set(SUM):
        return (dict(zip(SUM, values, strict=True)) for values in sums(lengths, count, seed))
    if lengths.language == "listops" and wanted <= {"text", "label"}:
        return ({"text": text, "label": str(value)} for text, value in list_operations(lengths, count, seed))
    if lengths.language == "copying" and wanted == {"source", "target"}:
        rng = Random(seed)
        words = (copying(rng, lengths.low, lengths.high).partition(" #")[0] for _ in range(count))
        return ({"source": word, "target": word} for word in words)
    return None


# ---- one string of each length, or one at random ---------------------------------------------------------------


def counted(letters: str, n: int) -> str:
    """So many of each letter, one letter after the other."""
    return " ".join(letter for letter in letters for _ in range(n))


def dyck(kinds: str, rng: Random, low: int, high: int) -> str:
    """A balanced string of n pairs, each with the same probability.

    By the cycle lemma: n + 1 downs and n ups in random order have exactly one rotation that comes below 0 only with
    its last step. Without that step it is a balanced string.
    """
    n = rng.randint(low, high)
    steps = [1] * n + [-1] * (n + 1)
    rng.shuffle(steps)
    heights = np.cumsum(steps)
    lowest = int(heights.argmin()) + 1
    symbols, opened = [], []
    for step in (steps[lowest:] + steps[:lowest])[:-1]:
        if step > 0:
            opened.append(rng.choice(kinds))
        symbols.append(opened[-1] if step > 0 else BRACKETS[opened.pop()])
    return " ".join(symbols)


def copying(rng: Random, low: int, high: int) -> str:
    """A word and, behind a mark, the same word."""
    word = rng.choices("xy", k=rng.randint(low, high))
    return " ".join([*word, "#", *word])


def agreement(rng: Random, low: int, high: int) -> str:
    """A sentence whose verb stands far from its subject."""
    item = distant_agreement(rng, low, high)
    return f"{item.before} {item.verb} {item.after} ."


COUNTED: dict[str, Callable[[int], str]] = {"anbn": partial(counted, "ab"), "anbncn": partial(counted, "abc")}
DRAWN: dict[str, Callable[[Random, int, int], str]] = {
    "dyck1": partial(dyck, "("),
    "dyck2": partial(dyck, "(["),
    "copying": copying,
    "agreement": agreement,
}


# ---- which symbols may follow -----------------------------------------------------------------------------------


def may_follow(language: str, symbols: Sequence[str]) -> list[set[str]]:
    """For each prefix of a string, from the empty one to the whole, the symbols that may stand next; END, to end.

    >>> may_follow("anbn", ["a", "b"]) == [{"a"}, {"a", "b"}, {END}]
    True
    """
    if language in COUNTED:
        return _after_counted(COUNTED[language](1).split(), symbols)
    if language == "copying":
        return _after_copied(symbols)
    if not language.startswith("dyck"):
        raise UsageError(f"{language} is no formal language: what may follow is not determined.")
    opening = set("(" if language == "dyck1" else "([")
    found, opened = [opening], list[str]()  # no string is empty
    for symbol in symbols:
        if symbol in BRACKETS:
            opened.append(symbol)
        else:
            opened.pop()
        found.append(opening | {BRACKETS[opened[-1]] if opened else END})
    return found


def _after_counted(letters: Sequence[str], symbols: Sequence[str]) -> list[set[str]]:
    following = dict(zip(letters, [*letters[1:], END], strict=True))
    first, found = letters[0], [{letters[0]}]
    n = run = 0
    for before, symbol in zip([END, *symbols[:-1]], symbols, strict=True):
        run = run + 1 if symbol == before else 1
        n += symbol == first
        ended = {following[symbol]}
        found.append(ended | {first} if symbol == first else ended if run == n else {symbol})
    return found


def _after_copied(symbols: Sequence[str]) -> list[set[str]]:
    middle = symbols.index("#")
    word = symbols[:middle]
    free = [{"x", "y"}, *({"x", "y", "#"} for _ in word)]
    return [*free[: middle + 1], *({each} for each in [*word, END])]


# ---- agreement far away -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distant:
    """`The cats , which already ate the fish ,` with the verb `were`, the wrong verb `was`, and `hungry`."""

    before: str
    verb: str
    wrong: str
    after: str
    noun: int  # which word of `before` the subject is
    gap: int  # words between the subject and its verb
    attractors: int  # nouns between them that have the other number


def distant_agreement(rng: Random, low: int, high: int) -> Distant:
    """A subject and its verb with `low` to `high` words between them: `, who already VERB …, VERB … and VERB … ,`

    The verbs between are in the past, which has one form for both numbers; their objects distract.
    """
    from lexigraph.text import constructions, grammar
    from lexigraph.text.grammar import BE, NounPhrase
    from lexigraph.text.lexicon import DETERMINERS_OF, PEOPLE

    for _ in range(1000):
        noun, does, qualities = constructions.pick(rng, _subjects())
        plural, gap = rng.random() < 0.5, rng.randint(low, high)
        subject = NounPhrase(noun, plural, constructions.pick(rng, DETERMINERS_OF[noun][plural]))
        told: list[str] = []
        objects: list[NounPhrase] = []
        for _ in range(1000):
            clause = constructions.compose(rng, does, subject, ("past", "simple"), bare=True, negative=0.0)
            longer = [*told, grammar.predicate(clause, subject.agreement)]
            if len(_aside(noun.kind in PEOPLE, longer).split()) > gap:
                break
            told = longer
            objects += [phrase for phrase in clause.objects if isinstance(phrase, NounPhrase)]
        aside = _aside(noun.kind in PEOPLE, told)
        if low <= len(aside.split()):
            break
    else:
        raise UsageError(f"There are no sentences with {low} to {high} words between subject and verb.")
    right, wrong = (grammar.finite(BE, "past", form) for form in ("plural", "third"))
    verb, wrong = (right, wrong) if plural else (wrong, right)
    begin = grammar.spoken(subject)
    begin = begin[0].upper() + begin[1:]
    return Distant(
        f"{begin} {aside}".strip(),
        verb,
        wrong,
        str(constructions.pick(rng, qualities)),
        len(begin.split()) - 1,
        len(aside.split()),
        sum(phrase.plural != plural for phrase in objects),
    )


def _aside(person: bool, told: Sequence[str]) -> str:
    """`, who already opened the door , saw the key and left it ,`; nothing, where nothing is told."""
    if not told:
        return ""
    *first, last = told
    listed = " , ".join(first) + " and " + last if first else last
    return f", {'who' if person else 'which'} already {listed} ,"


@cache
def _subjects() -> tuple:
    """Nouns that have a number, what they do, and what they can be."""
    from lexigraph.text import constructions
    from lexigraph.text.lexicon import ENTRIES, NOUN

    found = []
    for noun in NOUN.values():
        does = [entry for entry in constructions.entries("transitive", without="state") if noun in entry[1].subjects]
        qualities = [each for _, frame in ENTRIES["quality"] if noun in frame.subjects for each in frame.predicates]
        if noun.plural and does and qualities:
            found.append((noun, does, qualities))
    return tuple(found)


# ---- nested lists -----------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(np.median(values)),  # between two middle ones: their mean, rounded down
    "[SM": lambda values: sum(values) % 10,
}
DEEPEST, WIDEST, SHARE = 10, 10, 0.25  # levels, values of a list at most, and how often a value is a list: Tay et al.
TRIALS = 50_000  # without a new list: there are hardly any more


def list_operations(lengths: Lengths, count: int, seed: int = 0) -> Iterator[tuple[str, int]]:
    """Nested lists of digits and their values, each list once, drawn as published: at every level but the last a
    value is a list with probability 1/4, of 2 to 10 values; lists of other lengths are thrown away."""
    rng, seen = Random(seed), set[str]()
    while len(seen) < count:
        for _ in range(TRIALS):
            tokens: list[str] = []
            value = _list(rng, 1, tokens, lengths.high)
            text = " ".join(tokens)
            if value is not None and len(tokens) >= lengths.low and text not in seen:
                break
        else:
            if not seen:
                raise UsageError(
                    f"listops:{lengths.low}-{lengths.high}: lists of such lengths are too rare; give them room."
                )
            return  # there are no more of them
        seen.add(text)
        yield text, value


def _list(rng: Random, level: int, tokens: list[str], longest: int) -> int | None:
    """Add a list to the tokens; its value, or None if they become too many."""
    name = rng.choice(list(OPERATIONS))
    tokens.append(name)
    values = []
    for _ in range(rng.randint(2, WIDEST)):
        if level < DEEPEST - 1 and rng.random() < SHARE:
            value = _list(rng, level + 1, tokens, longest)
            if value is None:
                return None
        else:
            value = rng.randrange(10)
            tokens.append(str(value))
        if len(tokens) >= longest:
            return None
        values.append(value)
    tokens.append("]")
    return OPERATIONS[name](values)


# ---- numbers ----------------------------------------------------------------------------------------------------


def sums(lengths: Lengths, count: int, seed: int = 0) -> Iterator[tuple[np.ndarray, float]]:
    """The adding problem: rows (number, mark), numbers uniform in 0 … 1, and the sum of the two marked ones: one in
    each half. Whoever always says 1 has a mean squared error of 1/6."""
    random = np.random.default_rng([seed, lengths.low, lengths.high])
    for _ in range(count):
        steps = int(random.integers(lengths.low, lengths.high + 1))
        vectors = np.zeros((steps, 2), np.float32)
        vectors[:, 0] = random.random(steps)
        marked = [random.integers(steps // 2), random.integers(steps // 2, steps)]
        vectors[marked, 1] = 1
        yield vectors, float(vectors[marked, 0].sum())
