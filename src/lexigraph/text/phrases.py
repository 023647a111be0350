"""The trees of the built-in corpus: the constituents of a clause, in Penn Treebank labels.

A clause knows its parts, and the grammar spells out each of them: so a part is looked for among the words of what it
is part of.

>>> from lexigraph.text.constructions import clauses
>>> print(tree(next(clauses(1))))        # doctest: +SKIP
(S (NP (PRP We)) (VP (VBP want) (NP (DT that) (NN baker)) …) (. .))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from lexigraph.text import grammar, lexicon
from lexigraph.text.grammar import Clause, NounPhrase, Pair, Pronoun, Subject, joined
from lexigraph.text.trees import Span, Tree

TAGS = {  # of words that are few
    "DT": "a an the this that these those some any no every each another both all",
    "PRP": "i you he she it we they me him her us them there nobody",
    "PRP$": "my your his our their",
    "WP": "who what whom",
    "WRB": "why when where how",
    "MD": "will would can cannot could must should may might",
    "VBZ": "is has does",
    "VBP": "am are have do",
    "VBD": "was were had did",
    "VB": "be",
    "CC": "and but or",
    "TO": "to",
    "CD": "two three",
    "RB": "not never please very quite too really so",
    ".": ". ?",
    ",": ",",
}
WH = {"what": "WHNP", "who": "WHNP"}


class Part(NamedTuple):
    """A phrase: its label, its words, and the phrases in it."""

    label: str
    text: str
    parts: tuple[Part, ...] = ()


def tree(clause: Clause) -> Tree:
    """The sentence of a clause as a tree."""
    words = grammar.realise(clause).split()
    label = "SQ" if words[-1] == "?" else "S"
    found = [Span(0, len(words) - 1, label)]
    _place(_clause(clause), [word.lower() for word in words], 0, len(words), found)
    tags: list[str] = []
    for word in words:
        known = _tags().get(word.lower(), "")
        tags.append(known or ("NN" if tags and tags[-1] in ("DT", "JJ", "IN") else "RB"))
    return Tree.of(words, tags, found)


def _place(parts: Iterable[Part], words: Sequence[str], first: int, end: int, found: list[Span]) -> None:
    """Add the spans of phrases that stand between two places, none over another one."""
    taken: set[int] = set()
    for part in parts:
        wanted = part.text.lower().split()
        size = len(wanted)
        for start in range(first, end - size + 1) if wanted else ():
            if words[start : start + size] == wanted and taken.isdisjoint(range(start, start + size)):
                taken.update(range(start, start + size))
                found.append(Span(start, start + size - 1, part.label))
                _place(part.parts, words, start, start + size, found)
                break


def _clause(clause: Clause) -> list[Part]:
    """Subject, verb phrase and what stands in front."""
    ordered = clause.mood == "command" or (clause.mood == "request" and not clause.modal)
    if ordered:
        below = grammar.command(clause).removeprefix("please ")
        return [Part("VP", below, tuple(_complements(clause)))]
    agreement = clause.surface_subject.agreement
    if clause.frame.kind == "existential":
        subject = Part("NP", "there")
    else:
        subject = _phrase(clause.surface_subject, "subject")
    asking = clause.mood in ("question", "request") and (clause.subject is not grammar.WHO or clause.passive)
    if asking:
        said = joined(grammar.verb_group(clause, agreement, support=True)[1], grammar.after_verb(clause))
    else:
        said = grammar.predicate(clause, agreement)
    front = _adverbials(clause)[-1:] if clause.fronted else []
    asked = [Part(WH.get(clause.asked, "WHADVP"), clause.asked)] if clause.asked and asking else []
    return [*front, *asked, subject, Part("VP", said, tuple(_complements(clause)))]


def _complements(clause: Clause) -> list[Part]:
    """What stands in the verb phrase, as `grammar.after_verb` orders it."""
    objects = [_phrase(each, "object", clause.negative) for each in clause.objects]
    if clause.gap:
        objects.pop()
    if clause.dative:
        receiver, *thing = objects
        objects = [*thing, Part("PP", f"to {receiver.text}", (receiver,))]
    if clause.passive:
        objects = objects[1:]
    found = list(objects)
    if clause.predicate:
        label = "ADJP" if isinstance(clause.predicate, str) else "NP"
        found.append(Part(label, grammar.predicative(clause)))
    if clause.goal:
        found.append(_phrase(clause.goal, "object"))
    if below := clause.complement:
        if clause.frame.kind == "reported":
            found.append(_below("that", below))
        else:
            said = grammar.command(below)
            found.append(Part("S", f"to {said}", (Part("VP", said, tuple(_complements(below))),)))
    if clause.passive and clause.subject:
        doer = _phrase(clause.subject, "object")
        found.append(Part("PP", f"by {doer.text}", (doer,)))
    manner = [Part("ADVP", clause.manner)] if clause.manner else []
    behind = _adverbials(clause)
    return [*found, *manner, *(behind[:-1] if clause.fronted else behind)]


def _adverbials(clause: Clause) -> list[Part]:
    found = [_phrase(clause.place, "object")] if clause.place else []
    if clause.time:
        found.append(Part("ADVP", clause.time.phrase))
    if clause.subordinate:
        found.append(_below(clause.conjunction, clause.subordinate))
    return found


def _below(word: str, clause: Clause) -> Part:
    """A clause behind the word that joins it to another."""
    said = grammar.statement(clause)
    return Part("SBAR", f"{word} {said}", (Part("S", said, tuple(_clause(clause))),))


def _phrase(phrase: Subject, case: str, negated: bool = False) -> Part:
    """A noun phrase; behind a preposition, with it."""
    text = grammar.spoken(phrase, case, negated)
    if isinstance(phrase, Pair):
        return Part("NP", text, (_phrase(phrase.first, "subject"), _phrase(phrase.second, case)))
    if isinstance(phrase, Pronoun):
        return Part("NP", text)
    inner = [_phrase(phrase.modifier, "object")] if phrase.modifier else []
    if phrase.relative:
        inner.append(_relative(phrase, phrase.relative))
    if not phrase.preposition:
        return Part("NP", text, tuple(inner))
    return Part("PP", text, (Part("NP", text.removeprefix(f"{phrase.preposition} "), tuple(inner)),))


def _relative(head: NounPhrase, clause: Clause) -> Part:
    said = grammar.relative(clause, head)
    word, _, rest = said.partition(" ")
    below = _clause(clause) if clause.gap else [Part("VP", rest, tuple(_complements(clause)))]
    return Part("SBAR", said, (Part("WHNP", word), Part("S", rest, tuple(below))))


@cache
def _tags() -> dict[str, str]:
    """The tag of every word; of one with several, the first here."""
    found = {word: tag for tag, words in TAGS.items() for word in words.split()}
    for verb in lexicon.VERB.values():
        forms = {"VB": verb.base, "VBZ": verb.third, "VBD": verb.past, "VBN": verb.participle, "VBG": verb.ing}
        for tag, word in forms.items():
            found.setdefault(word, tag)
    for nouns in lexicon.KINDS.values():
        for noun in nouns:
            found.setdefault(noun.singular, "NN")
            found.setdefault(noun.plural or noun.singular, "NNS")
            for word in noun.preposition.split():
                found.setdefault(word, "IN")
    for noun in lexicon.PROPER:
        found[noun.singular.lower()] = "NNP"
    for words in lexicon.ADJECTIVES_OF.values():
        for word in words:
            found.setdefault(word, "JJ")
    for places in lexicon.MODIFIERS_OF.values():
        for preposition, _ in places:
            for word in preposition.split():
                found.setdefault(word, "IN")
    for word in (*lexicon.CONJUNCTION, "by", "in", "on", "at", "near", "with", "from", "of", "behind"):
        found[word] = "IN"
    return found
