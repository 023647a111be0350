"""Spans written as tags, one for each word: which span begins, goes on and ends where.

    IOB1    I-X … I-X, the first B-X only where a span of the same type stands right before      (CoNLL-2003)
    BIO     B-X I-X … I-X                                                                        (CoNLL-2000)
    BIOES   B-X I-X … E-X, and S-X for a span of one word
    all     O for a word outside of all spans

Spans are read as conlleval reads them, whatever the scheme; a scheme is what tags are checked by and written in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lexigraph.errors import LexigraphError

Span = tuple[int, int, str]  # first word, last word, type
OUTSIDE = "O"
BIO, BIOES, IOB1 = SCHEMES = ("BIO", "BIOES", "IOB1")
PREFIXES = {BIO: "BI", BIOES: "BIES", IOB1: "BI"}


def spans_of(tags: Sequence[str]) -> set[Span]:
    """First word, last word and type of each span.

    >>> sorted(spans_of(["B-NP", "I-NP", "O", "I-VP", "B-NP", "B-NP"]))
    [(0, 1, 'NP'), (3, 3, 'VP'), (4, 4, 'NP'), (5, 5, 'NP')]
    """
    found, first, kind = set(), 0, ""  # the span that is open
    for position, tag in enumerate([*tags, OUTSIDE]):
        prefix, _, name = tag.partition("-")
        if kind and (prefix not in ("I", "E") or name != kind):
            found.add((first, position - 1, kind))
            kind = ""
        if prefix in ("B", "I", "E", "S") and name and not kind:
            first, kind = position, name
        if prefix in ("E", "S") and kind:
            found.add((first, position, kind))
            kind = ""
    return found


def tags_of(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """The tags of so many words, in BIO or BIOES.

    >>> tags_of([(0, 2, "NP"), (4, 4, "VP")], 5, "BIOES")
    ['B-NP', 'I-NP', 'E-NP', 'O', 'S-VP']
    """
    tags = [OUTSIDE] * length
    for first, last, kind in spans:
        tags[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
        if scheme == BIOES:
            tags[last] = f"S-{kind}" if first == last else f"E-{kind}"
    return tags


def converted(tags: Sequence[str], scheme: str) -> list[str]:
    """The same spans in another scheme; an empty one: the tags as they are."""
    return tags_of(spans_of(tags), len(tags), scheme) if scheme else list(tags)


def completed(tags: Iterable[str], scheme: str) -> set[str]:
    """Tags, and beside them those that the scheme has for their types: a longer span of a type may come.

    >>> sorted(completed(["O", "B-NP"], "BIO"))
    ['B-NP', 'I-NP', 'O']
    """
    found = set(tags)
    kinds = {tag.partition("-")[2] for tag in found} - {""}
    return found | {f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in kinds}


def follows(before: str, tag: str, scheme: str) -> bool:
    """Whether a tag may stand after another one; "": the beginning of a sentence, or its end.

    >>> follows("O", "I-NP", "BIO"), follows("O", "I-NP", "IOB1"), follows("B-NP", "", "BIOES")
    (False, True, False)
    """
    (last, _, old), (prefix, _, name) = before.partition("-"), tag.partition("-")
    inside = name == old and name != ""
    if scheme == IOB1:
        return prefix != "B" or (inside and last in "BI")
    going_on = prefix in ("I", "E")
    if scheme == BIOES and last in ("B", "I"):
        return going_on and inside
    return not going_on or (inside and scheme == BIO and last in ("B", "I"))


class SchemeCheck:
    """Which schemes the tags of a data set can be in, as far as they were read."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}  # by scheme, where the first tag stands that is not allowed

    def read(self, tags: Sequence[str], where: str) -> None:
        """Refuse tags that leave no scheme, or that are none of spans."""
        for word, tag in enumerate(tags, 1):
            prefix, _, name = tag.partition("-")
            if tag != OUTSIDE and (len(prefix) != 1 or prefix not in PREFIXES[BIOES] or not name):
                raise LexigraphError(
                    f"{where}, word {word}: {tag!r} is no tag of a span. They are O, B-X and I-X, in BIOES also "
                    'E-X and S-X; for any other tags set model.scheme = "given".'
                )
        for scheme in SCHEMES:
            if scheme not in self.broken and (fault := _fault(tags, scheme, where)):
                self.broken[scheme] = fault
        if len(self.broken) == len(SCHEMES):
            raise LexigraphError(
                f"{where}: the tags are inconsistent: {'; '.join(self.broken.values())}. "
                'Correct them, or set model.scheme = "given", which takes any tags.'
            )


def _fault(tags: Sequence[str], scheme: str, where: str) -> str:
    """The first tag of a sentence that a scheme does not have, or not after the one before it."""
    for word, (before, tag) in enumerate(zip(["", *tags], [*tags, ""], strict=True), 1):
        if tag not in ("", OUTSIDE) and tag[0] not in PREFIXES[scheme]:
            return f"{scheme} has no {tag} ({where}, word {word})"
        if not follows(before, tag, scheme):
            shown = f"{tag or 'end'} after {before or 'the beginning'}"
            return f"{scheme} has no {shown} ({where}, word {min(word, len(tags))})"
    return ""
