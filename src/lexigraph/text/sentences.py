"""Cut running text into sentences: whole documents, hard-wrapped prose, one paragraph or many.

    split("Mr. Smith paid $3.50. He left.")        # ["Mr. Smith paid $3.50.", "He left."]

First lines become paragraphs: a blank line ends one, as do a bullet, and a line that ends early before a capital;
other line ends are spaces, and a word hyphenated there is whole again. Then each final mark followed by white space
is looked at with the word before and the word after it. Marks and capitals are those of Unicode; of English are only
the abbreviations and the words that often begin a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

HELD = 1 << 16  # characters of a paragraph that are looked at together


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


TITLES = _words("""
mr mrs ms mx dr prof rev hon gen col maj capt cmdr lt sgt cpl adm gov sen rep pres fr st ste mt messrs mme mlle supt
det insp brig no nos vol vols fig figs eq sec ch pp p art nr vs v cf viz al e.g i.e eg ie approx ca attn re dept univ
""")  # a name or number follows, never a new sentence
ABBREVIATIONS = _words("""
etc inc corp co ltd llc bros plc jr sr esq phd ph.d m.d b.a m.a b.sc m.sc d.c u.s u.s.a u.k u.n e.u a.m p.m pm b.c a.d
b.c.e c.e est ave blvd rd hwy apt bldg sq ft oz lb lbs kg km cm mm mins hr hrs tel ext fax jan feb apr jun jul aug sep
sept oct nov dec tue tues wed thu thur thurs fri ala ariz calif colo conn fla ga kan ky md mich minn mo mont neb nev
okla ore pa penn tenn tex va vt wis wyo ed eds intl natl govt mfg mgmt
""")  # may end a sentence, if what follows begins one
STARTERS = _words("""
the this that these those there here it he she we they i you my his her our their its your a an and but or so if when
while where what who why how as at in on for from with after before although however also then now please thanks thank
yes no not all some many most one each every both another such is are was were do does did can could will would should
may might have has had let just even once since because
""")
MARKS = ".!?…。！？।؟۔։።"
WIDE = "。！？"  # after these no white space need follow
CLOSING = "\"'”’»›)]}」』）】*_"
OPENING = "\"'“‘«‹([{「『（【¿¡*_"
EMOTICON = r"(?:[:;=8xX][-o^']?[()DPpO/\\|*]+|<3+|\^_*\^|[\U0001F300-\U0001FAFF☀-➿]\ufe0f?)"
END = re.compile(  # a place where a sentence may end: final marks, or what stands in the place of one
    rf"(?P<mark>[{MARKS}]+(?: [.!?])*)(?P<close>[{re.escape(CLOSING)}]*)"
    rf"(?:\s+(?P<smile>(?:{EMOTICON}(?:\s+|$))*)|(?<=[{WIDE}」』）】])(?=\S)|$)"
    rf"|(?:(?<=\s){EMOTICON}|(?<!\S)(?:https?://|www\.)\S+|(?<!\S)[-_=*~#]{{4,}})\s+(?=[\"“(]?[A-Z])"
)
BULLET = re.compile(r"\s*(?:[-*•‣◦–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|[ivxIVX]+[.)])\s+\S")
ENUMERATOR = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]+)$")
INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]$")


def split(text: str) -> list[str]:
    """The sentences of a text, white space between words single.

    >>> split("Is it 3.5 p.m. yet? asked J. R. Smith, i.e. the boss... He knew it.")
    ['Is it 3.5 p.m. yet?', 'asked J. R. Smith, i.e. the boss...', 'He knew it.']
    """
    return [sentence for sentence, _ in of_pieces([text])]


def of_pieces(pieces: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The sentences of a text that comes in pieces, each with the number of the part between blank lines it is in."""
    number = 0
    lines: list[str] = []  # of the part that has not ended
    held, rest = 0, ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            if line and not line.isspace():
                lines.append(line)
                held += len(line)
            elif lines:
                yield from ((sentence, number) for sentence in _of_lines(lines))
                lines, held, number = [], 0, number + 1
            if held > HELD:  # a part without end: its last sentence goes on
                *done, last = _of_lines(lines)
                yield from ((sentence, number) for sentence in done)
                lines, held = [last], len(last)
    if rest and not rest.isspace():
        lines.append(rest)
    if lines:
        yield from ((sentence, number) for sentence in _of_lines(lines))


def _of_lines(lines: list[str]) -> Iterator[str]:
    for paragraph in _paragraphs(lines):
        yield from _sentences(paragraph)


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Lines joined to what was one before it was wrapped."""
    lines = [" ".join(line.split()) for line in lines]
    width = max(map(len, lines))
    joined = [lines[0]]
    for before, line in pairwise(lines):
        first = line.split(" ", 1)[0]
        early = len(before) + 1 + len(first) < 0.8 * width and not line[0].islower()  # it would have had room
        if BULLET.match(line) or (early and not before.endswith((",", "-"))):
            yield " ".join(joined)
            joined = [line]
        elif (
            before.endswith("-") and before[-2:-1].isalpha() and line[0].islower()
        ):  # a word cut at the end of a line
            joined[-1] = joined[-1][:-1] + first
            joined += line.split(" ", 1)[1:]
        elif before.endswith("\u00ad"):
            joined[-1] = joined[-1][:-1] + line
        else:
            joined.append(line)
    yield " ".join(joined)


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for found in END.finditer(text):
        end = found.end()
        if end < len(text) and _ends(text, begin, found):
            yield text[begin:end].rstrip()
            begin = end
    if begin < len(text):
        yield text[begin:].rstrip()


def _ends(text: str, begin: int, found: re.Match[str]) -> bool:
    """Whether a sentence that begins at `begin` ends with these marks."""
    mark, close = found["mark"], found["close"]
    if mark is None or found["smile"]:
        return True
    after = text[found.end() : found.end() + 40].split(" ", 1)[0]
    following = after.lstrip(OPENING)
    lower = following[:1].islower()
    if mark[-1] in "!?！？。":
        return not (lower and close)  # "What?" he asked.
    if mark != ".":  # an ellipsis, or other scripts' full stops
        return not lower
    word = text[max(begin, text.rfind(" ", begin, found.start()) + 1) : found.start()].lstrip(OPENING)
    before = text[begin : found.start() - len(word)].rstrip()
    if ENUMERATOR.match(word) and (not before.strip(OPENING) or (word.isdigit() and before[-1] in ":;")):
        return False  # "1." begins the sentence or a part of it
    known = word.lower()
    if known in TITLES:
        return bool(following) and not following[0].isalnum()
    if known in ABBREVIATIONS or INITIALS.match(word):
        starts = following.rstrip(",;:!?'’").lower() in STARTERS  # with a full stop, "A." is an initial, too
        return not lower and (bool(close) or starts)
    return not lower or (len(word) > 3 and word.isalpha() and not close)  # a short one may be an abbreviation
