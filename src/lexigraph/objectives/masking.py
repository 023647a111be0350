"""Hide words of a text, to predict them from the others: which positions, and what stands there instead.

    BERT (Devlin et al. 2019)   max(1, round(0.15 n)) positions; each becomes, at random of its own, <mask> (80 %),
                                any word (10 %) or what it was (10 %)
        my dog is hairy  →  my dog is <mask>  |  my dog is apple  |  my dog is hairy       predicted: hairy
    whole words                 the pieces of a word are masked together
    SpanBERT (Joshi et al.      runs of 1 to 10 whole words, of k words with probability ∝ 0.8^(k - 1), 3.8 on
    2020)                       average; what becomes of one, <mask>, any word or what it was, is one draw for it
    ELECTRA (Clark et al. 2020) the same positions, every one of them <mask>: kept = swapped = 0
    XLNet (Yang et al. 2019)    one position in six, in spans of 1 to 5, each somewhere in a stretch six times as long

Static and dynamic masking differ in the seed alone (objectives/rng.py). `seeds_of(positions, epoch, seed)` masks
other words in every epoch (dynamic: Liu et al. 2019); epoch 0 in all epochs masks the same (static), and epoch % 10
does what BERT did, whose text was written down in ten versions.

Rows are texts without boundaries. Ids below `special` are never chosen, and never put in for a word.

Shapes: n tokens of a row.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, Integer

from lexigraph.objectives.next_token import IGNORE


def masked(
    row: Integer[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    mask: int,
    vocabulary: int,
    special: int,
    mask_rate: float = 0.15,
    kept: float = 0.1,
    swapped: float = 0.1,
    begins: Bool[np.ndarray, " n"] | None = None,
    spans: bool = False,
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """What is seen and what is predicted (IGNORE: nothing) at each position; `begins`: whole words, see `choose`;
    `spans`: runs of them, see `choose_word_spans`.

    >>> row = np.arange(10, 20)
    >>> inputs, targets = masked(row, np.random.default_rng(1), mask=3, vocabulary=100, special=4)
    >>> int((targets != IGNORE).sum())
    2
    >>> np.where(targets == IGNORE, inputs, targets).tolist()
    [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
    """
    number = None
    if spans:
        assert begins is not None
        number = choose_word_spans(row, random, special=special, begins=begins, mask_rate=mask_rate)
        chosen = number > 0
    else:
        chosen = choose(row, random, special=special, mask_rate=mask_rate, begins=begins)
    inputs = corrupt(
        row,
        chosen,
        random,
        mask=mask,
        vocabulary=vocabulary,
        special=special,
        kept=kept,
        swapped=swapped,
        spans=number,
    )
    return inputs, targets_at(row, chosen)


# ---- which positions ------------------------------------------------------------------------------------------


def count(words: int, mask_rate: float) -> int:
    """How many of so many words: their share, rounded, but at least one where there is any."""
    return min(words, max(1, round(mask_rate * words)))


def choose(
    row: Integer[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    special: int,
    mask_rate: float = 0.15,
    begins: Bool[np.ndarray, " n"] | None = None,
) -> Bool[np.ndarray, " n"]:
    """Places, all equally likely. With `begins`, which says where words begin, a word is chosen whole or not at all:
    as many as fit, and one even if it does not."""
    free = row >= special
    total = count(int(free.sum()), mask_rate)
    if begins is not None:
        return _whole_words(free, begins, random, total)
    chosen = np.zeros(len(row), bool)
    chosen[random.choice(np.flatnonzero(free), total, replace=False)] = True
    return chosen


def choose_word_spans(
    row: Integer[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    special: int,
    begins: Bool[np.ndarray, " n"],
    mask_rate: float = 0.15,
    p: float = 0.2,
    longest: int = 10,
) -> Int[np.ndarray, " n"]:
    """The number of the span that each chosen position is in, from 1 on; 0 elsewhere.

    A span begins at any word that is left and has k words with probability ∝ (1 - p)^(k - 1), k ≤ longest; it is cut
    where it meets another span, what is special, the row's end, or a word that no longer fits.
    """
    free = row >= special
    total = count(int(free.sum()), mask_rate)
    word, pieces, whole = _words(free, begins)
    taken, number = np.zeros(len(pieces), np.int64), 0
    shares = (1 - p) ** np.arange(longest)
    starts = random.permutation(np.flatnonzero(whole)).tolist()
    lengths = random.choice(longest, len(starts), p=shares / shares.sum()) + 1
    for start, length in zip(starts, lengths.tolist(), strict=True):
        number += not taken[start] and pieces[start] <= total
        for candidate in range(start, min(start + length, len(pieces))):
            if taken[candidate] or not whole[candidate] or pieces[candidate] > total:
                break
            taken[candidate] = number
            total -= pieces[candidate]
        if not total:
            break
    if not taken.any():
        taken[starts[:1]] = 1
    return taken[word]


def _words(free: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The word of each position, how many pieces each word has, and whether all of them may be chosen."""
    word = np.cumsum(begins)  # 0: the rest of a word that began before the row
    pieces = np.bincount(word)
    return word, pieces, (pieces > 0) & (np.bincount(word, free) == pieces)


def _whole_words(free: np.ndarray, begins: np.ndarray, random: np.random.Generator, total: int) -> np.ndarray:
    word, pieces, whole = _words(free, begins)
    candidates = random.permutation(np.flatnonzero(whole))
    taken = np.zeros(len(pieces), bool)
    for candidate, size in zip(candidates.tolist(), pieces[candidates].tolist(), strict=True):
        if size <= total:
            taken[candidate] = True
            total -= size
        if not total:
            break
    if not taken.any():
        taken[candidates[:1]] = True
    return taken[word]


def choose_spans(
    row: Integer[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    special: int,
    mask_rate: float = 1 / 6,
    longest: int = 5,
) -> Bool[np.ndarray, " n"]:
    """Spans of 1 to `longest` positions (all lengths equally likely), each at a position at random within a stretch
    of the row that is 1 / mask_rate times as long. What is special is stepped over."""
    positions = np.flatnonzero(row >= special)
    total = count(len(positions), mask_rate)
    chosen = np.zeros(len(row), bool)
    if not total:
        return chosen
    lengths = random.integers(1, longest + 1, total)
    needed = int(np.searchsorted(np.cumsum(lengths), total)) + 1
    lengths = lengths[:needed]
    lengths[-1] -= lengths.sum() - total
    lengths = random.permutation(lengths)  # the shortened one is not always the last
    edges = np.cumsum(lengths) * len(positions) // total
    before = np.concatenate(([0], edges[:-1]))
    starts = random.integers(before, edges - lengths + 1)
    chosen[positions[runs(starts, lengths)]] = True
    return chosen


def runs(starts: Int[np.ndarray, " k"], lengths: Int[np.ndarray, " k"]) -> Int[np.ndarray, " covered"]:
    """All positions of spans, one span after the other."""
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + inside


# ---- what stands there ---------------------------------------------------------------------------------------


def corrupt(
    row: Integer[np.ndarray, " n"],
    chosen: Bool[np.ndarray, " n"],
    random: np.random.Generator,
    *,
    mask: int,
    vocabulary: int,
    special: int,
    kept: float = 0.1,
    swapped: float = 0.1,
    spans: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """The row with `mask` at the chosen positions, but for those shares that stay or become any word. Positions with
    one number in `spans` share their fate."""
    positions = np.flatnonzero(chosen)
    fate = (
        random.random(len(positions)) if spans is None else random.random(spans.max(initial=0) + 1)[spans[positions]]
    )
    words = random.integers(special, vocabulary, len(positions))
    inputs = row.astype(np.int64)
    inputs[positions] = np.where(fate < kept, row[positions], np.where(fate < kept + swapped, words, mask))
    return inputs


def targets_at(row: Integer[np.ndarray, " n"], chosen: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The words at the chosen positions, IGNORE elsewhere."""
    return np.where(chosen, row.astype(np.int64), IGNORE)
