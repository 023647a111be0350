"""Which texts count as equal where an answer is compared with what was expected of it.

    case            I am there.     i am there.
    spacing         I am there.     I am there .           before and after every mark
    apostrophes     don’t           don't
    contractions    I'll, i ll      I will                 as people and as cleaned texts (text/clean.py) write them

Marks themselves count: a question is no statement. 's is read as `is` after a pronoun or a word such as there and
who (and as `us` after let), elsewhere as the possessive; 'd is read as `would`. So "she's gone" equals "she is gone"
and not "she has gone".
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\S")
_SAME_MARKS = str.maketrans("’‘ʼ“”„«»−–—", '\'\'\'"""""---')
_IS = "he|she|it|that|this|there|here|who|what|where|how|when|why"
_WOULD = "i|you|he|she|it|we|they|there|who|that"
_NOT = "(?: ?n't| nt)\\b"  # don't, do n't, do nt
_AFTER = "(?<=[^\\W_])(?: ?'| )"  # I'm, I 'm, i m
_WRITTEN_OUT = [
    (re.compile(pattern), written)
    for pattern, written in {
        rf"\bcannot\b|\bca{_NOT}": "can not",
        rf"\bwo{_NOT}": "will not",
        rf"\bsha{_NOT}": "shall not",
        rf"(?<=[^\W_]){_NOT}": " not",
        rf"\blet{_AFTER}s\b": "let us",
        rf"\b({_IS}){_AFTER}s\b": r"\1 is",
        rf"\b({_WOULD}){_AFTER}d\b": r"\1 would",
        rf"{_AFTER}m\b": " am",
        rf"{_AFTER}re\b": " are",
        rf"{_AFTER}ve\b": " have",
        rf"{_AFTER}ll\b": " will",
    }.items()
]


def normal_form(text: str) -> str:
    """The text in lower case, its pieces a space apart, contractions written out.

    >>> normal_form("I’ll go, but DON'T wait!"), normal_form("i ll go , but do nt wait !")
    ('i will go , but do not wait !', 'i will go , but do not wait !')
    >>> normal_form("She's Anna's friend."), normal_form("We cannot, can't we?")
    ("she is anna's friend .", 'we can not , can not we ?')
    """
    text = " ".join(text.translate(_SAME_MARKS).casefold().split())
    for contraction, written in _WRITTEN_OUT:
        text = contraction.sub(written, text)
    return " ".join(_PIECE.findall(text))
