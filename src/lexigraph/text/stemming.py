"""English words without their endings, by Porter's suffix stripping (1980), as scores of summaries count them.

    m      how often vowels are followed by consonants: [C](VC)^m[V];   y is a vowel behind a consonant
    *o     the stem ends consonant, vowel, consonant, and the last is not w, x or y
    *d     the stem ends in a double consonant

In each step the longest rule whose ending fits decides, whether or not its condition holds. With the departures that
are usual where ROUGE is computed: words of two letters stay, `ties` is `tie`, `enjoy` keeps its y, a few irregular
forms are listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "howe": "howe",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning",
    "canning": "canning", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip

Rules = Sequence[tuple[str, str]]  # an ending and what takes its place


def _rules(listed: str) -> Rules:
    pairs = (rule.partition(">") for rule in listed.split())
    return [(ending, instead) for ending, _, instead in pairs]


NOUNS = _rules("""
ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize ation>ate
ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble fulli>ful
""")  # where m > 0 before them, as those below
ADJECTIVES = _rules("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>")
ENDINGS = _rules("""
al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> ize>
""")  # where m > 1


@cache
def stem(word: str) -> str:
    """The stem of a word in small letters.

    >>> [stem(word) for word in ("relational", "hopping", "ponies", "agreed", "controlling", "happy")]
    ['relat', 'hop', 'poni', 'agre', 'control', 'happi']
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _with_y(_past(_plural(word)))
    word = _ending(_ending(_derived(word), ADJECTIVES, 0), ENDINGS, 1)
    if word.endswith("e") and (measure(word[:-1]) > 1 or (measure(word[:-1]) == 1 and not _short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word


def measure(word: str) -> int:
    """m: how often a vowel is followed by a consonant.

    >>> measure("tree"), measure("trouble"), measure("private")
    (0, 1, 2)
    """
    return _shape(word).count("vc")


def _shape(word: str) -> str:
    """`c` for each consonant, `v` for each vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _short(word: str) -> bool:
    """*o, or a vowel and a consonant alone."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if re.search("[^s]s$", word) or word == "s" else word


def _past(word: str) -> str:
    """Without -ed and -ing, and whole again."""
    if word.endswith("ied"):
        return word[: -1 if len(word) == 4 else -2]
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    found = next(
        (word[: -len(end)] for end in ("ed", "ing") if word.endswith(end) and "v" in _shape(word[: -len(end)])), ""
    )
    if not found:
        return word
    if found.endswith(("at", "bl", "iz")):
        return found + "e"
    if found[-2:-1] == found[-1] and _shape(found)[-1] == "c":
        return found if found[-1] in "lsz" else found[:-1]
    return found + "e" if measure(found) == 1 and _short(found) else found


def _with_y(word: str) -> str:
    """A y behind a consonant, which is not the only letter before it, is an i."""
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c" else word


def _derived(word: str) -> str:
    if word.endswith("alli") and measure(word[:-4]) > 0:
        return _derived(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    return _ending(word, NOUNS, 0)


def _ending(word: str, rules: Rules, least: int) -> str:
    """The word by the first rule that fits, if more than so many vowels are followed by consonants before it."""
    for end, instead in rules:
        if word.endswith(end):
            before = word[: -len(end)]
            kept = measure(before) <= least or (end == "ion" and before[-1] not in "st")
            return word if kept else before + instead
    return word
