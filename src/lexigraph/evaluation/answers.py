"""Answers as SQuAD's script compares them (Rajpurkar et al. 2016): without case, punctuation, articles, extra space.

    exact    1 where an answer is one of the right ones
    F1       2 P R / (P + R) of the words that an answer shares with a right one; of several right ones, the best

Where there is no right answer, nothing is the right one.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence


def normalised(text: str) -> str:
    """An answer as it is compared.

    >>> normalised("The  Eiffel Tower's"), normalised("(a) an")
    ('eiffel towers', '')
    """
    bare = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def exact(answer: str, right: Sequence[str]) -> float:
    """1 if an answer is one of the right ones."""
    return max(float(normalised(answer) == normalised(each)) for each in right or [""])


def f1(answer: str, right: Sequence[str]) -> float:
    """How many words an answer shares with a right one, at best.

    >>> f1("in 1994", ["1994", "the year 1994"]), f1("", []), f1("x", [])
    (0.6666666666666666, 1.0, 0.0)
    """
    return max(_f1(normalised(answer).split(), normalised(each).split()) for each in right or [""])


def _f1(words: list[str], right: list[str]) -> float:
    common = (Counter(words) & Counter(right)).total()
    return 2 * common / (len(words) + len(right)) if words and right else float(words == right)
