"""WordPiece's merges, against hand-worked scores and a slow, literal version."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

from lexigraph.text.wordpiece import learn_pieces


def test_first_merge_is_the_surest_pair_not_the_most_frequent():
    # n(q)=15 n(##u)=15 n(q,##u)=15: 15/(15·15) = 1/15.   n(a)=40 n(##n)=20 n(a,##n)=20: 20/(40·20) = 1/40.
    # n(a,##t)=20, n(##t)=40: 20/(40·40) = 1/80. BPE would begin with a pair seen 20 times.
    words = {"qu": 15, "an": 20, "at": 20, "nt": 20}
    characters = ["##n", "##t", "##u", "a", "n", "q"]
    assert learn_pieces(words, size=7) == [*characters, "qu"]


def test_continuations_are_joined_without_a_second_mark():
    # All pairs score 3/(3·3); equal counts too, so the text decides: "##b" + "##c" before "a" + "##b".
    assert learn_pieces({"abc": 3}, size=10) == ["##b", "##c", "a", "##bc", "abc"]


def test_pairs_seen_once_never_win():
    # x and y stand together once and nowhere else: ratio 1, the highest there is, but by chance.
    pieces = learn_pieces({"xy": 1, "ab": 8, "ac": 8}, size=20)
    assert "xy" not in pieces
    assert {"ab", "ac"} <= set(pieces)


def test_repeated_characters_are_joined_once_per_place():
    pieces = learn_pieces({"aaaaa": 4}, size=10, min_count=2)
    # a ##a ##a ##a ##a: (a,##a) is 4/(4·16) = 1/16, (##a,##a) is 12/(16·16) < 1/16, so the word grows from the left.
    assert pieces == ["##a", "a", "aa", "aaa", "aaaa", "aaaaa"]


def literal_pieces(words: dict[str, int], size: int, bar: int) -> list[str]:
    """The definition, recounting everything before each merge, with exact fractions."""
    texts = {word: [word[0], *("##" + c for c in word[1:])] for word in words}
    pieces = sorted({symbol for text in texts.values() for symbol in text})
    while len(pieces) < size:
        single, pairs = Counter(), Counter()
        for word, text in texts.items():
            for symbol in text:
                single[symbol] += words[word]
            for pair in pairwise(text):
                pairs[pair] += words[word]
        ranked = [(-Fraction(n, single[a] * single[b]), -n, a, b) for (a, b), n in pairs.items() if n >= bar]
        if not ranked:
            break
        _, _, a, b = min(ranked)
        joined = a + b.removeprefix("##")
        if joined not in pieces:
            pieces.append(joined)
        for text in texts.values():
            i = 0
            while i < len(text) - 1:
                if (text[i], text[i + 1]) == (a, b):
                    text[i : i + 2] = [joined]
                i += 1
    return pieces


def test_incremental_counts_equal_recounting():
    rng = random.Random(3)
    for _ in range(20):
        words = {"".join(rng.choices("aabc", k=rng.randint(1, 9))): rng.randint(1, 30) for _ in range(40)}
        for min_count in (1, 3, 20):
            size = 10**6  # so large that the bar starts at min_count
            assert learn_pieces(words, size, min_count) == literal_pieces(words, size, min_count)
