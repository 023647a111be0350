"""The heads of a sentence's words: numbers that count its words from 1, and 0 for the root. They must be a tree.

words  She sings .      heads  2 0 2      She and the full stop hang on `sings`
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from lexigraph.errors import LexigraphError
from lexigraph.text.readers import Value


def read(value: Value, words: Sequence[str], where: str) -> Int[np.ndarray, " words"]:
    """The heads as numbers, if they are a tree with one root; else a sentence that says what is wrong, and where.

    >>> read("2 0 2", ["She", "sings", "."], "a.conllu, line 1").tolist()
    [2, 0, 2]
    """
    given = (
        value.split() if isinstance(value, str) else [str(each) for each in np.atleast_1d(np.asarray(value)).tolist()]
    )
    if len(given) != len(words):
        raise LexigraphError(f"{where}: there are {len(words)} words and {len(given)} heads; each has one.")
    for number, head in enumerate(given, 1):
        if not (head.isascii() and head.isdigit()):
            what = "none" if head == "_" else f"{head!r}"
            raise _wrong(where, words, number, f"has {what} for a head: it must be the number of a word, or 0")
        if len(head) > 9 or int(head) > len(given):
            raise _wrong(where, words, number, f"has the head {head[:20]}, but the sentence has {len(given)} words")
    heads = np.array(given, np.int64)
    roots = (np.flatnonzero(heads == 0) + 1).tolist()
    if len(roots) > 1:
        raise _wrong(where, words, roots[1], f"has the head 0, as word {roots[0]} has: a sentence has one root")
    if cycle := _cycle(heads.tolist()):
        way = " → ".join(map(str, [*cycle, cycle[0]]))
        lacks = "" if roots else ", and no word has the head 0, which makes it the root"
        raise _wrong(where, words, cycle[0], f"hangs on itself by way of its heads ({way}){lacks}")
    return heads


def _wrong(where: str, words: Sequence[str], number: int, why: str) -> LexigraphError:
    return LexigraphError(
        f"{where}: word {number} ({words[number - 1][:40]!r}) {why}. Correct the file, or leave the sentence out."
    )


def _cycle(heads: Sequence[int]) -> list[int]:
    """Words that hang on each other in a circle, if there are any."""
    seen = [0] * (len(heads) + 1)  # by which walk
    for start in range(1, len(heads) + 1):
        way, word = [], start
        while word and not seen[word]:
            seen[word] = start
            way.append(word)
            word = heads[word - 1]
        if word and seen[word] == start:
            return way[way.index(word) :]
    return []
