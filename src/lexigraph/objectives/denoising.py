"""Corrupt a text, to write it anew from the start (BART: Lewis et al. 2020).

                            A B C . D E .   becomes
    token masking           A _ C . _ E .   some tokens are <mask>
    token deletion          A C . E .       some are gone, and nothing says where
    text infilling          A _ . D _ E .   spans of Poisson(3) tokens are one <mask> each; where the length is 0, a
                                            <mask> is added
    sentence permutation    D E . A B C .   sentences in another order
    document rotation       C . D E . A B   another token is the first

Every function takes a row and gives a row, so that they can follow one another (BART itself: sentences permuted, then
30 % of the tokens in spans); what is to be written is always the row that came first.

Rows are texts without boundaries. Ids below `special`, with <mask> among them, are never masked or deleted.

Shapes: n tokens of a row, k spans.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, Integer

from lexigraph.objectives.masking import choose, count, runs

Row = Integer[np.ndarray, " n"]
Corrupted = Integer[np.ndarray, " other"]


def token_masking(row: Row, random: np.random.Generator, *, mask: int, special: int, mask_rate: float = 0.15) -> Row:
    """The row with `mask` at positions at random."""
    return np.where(choose(row, random, special=special, mask_rate=mask_rate), mask, row)


def token_deletion(row: Row, random: np.random.Generator, *, special: int, mask_rate: float = 0.15) -> Corrupted:
    """The row without the tokens at positions at random."""
    return row[~choose(row, random, special=special, mask_rate=mask_rate)]


def text_infilling(
    row: Row,
    random: np.random.Generator,
    *,
    mask: int,
    special: int,
    mask_rate: float = 0.3,
    mean_span: float = 3.0,
) -> Corrupted:
    """The row with one `mask` in place of each span."""
    hidden, starts = infilling_spans(row, random, special=special, mask_rate=mask_rate, mean_span=mean_span)
    return infilled(row, hidden, starts, mask)


def sentence_permutation(
    row: Row,
    random: np.random.Generator,
    *,
    ends: Bool[np.ndarray, " n"],
    documents: Int[np.ndarray, " n"] | None = None,
) -> Row:
    """The sentences of each document in an order at random; `ends` says which tokens are the last of a sentence,
    `documents` the number of each token's document, in rising order (None: all are of one)."""
    documents = np.zeros(len(row), np.int64) if documents is None else documents
    starts = sentence_starts(ends, documents)
    within = documents[starts]
    order = np.lexsort((random.permutation(len(within)), within))
    return permuted(row, np.append(starts[1:], True)[: len(row)], order)


def document_rotation(row: Row, random: np.random.Generator) -> Row:
    """The row from a token at random on, and what was before it behind."""
    return rotated(row, int(random.integers(len(row)))) if len(row) else row


# ---- what is corrupted -----------------------------------------------------------------------------------------


def infilling_spans(
    row: Row, random: np.random.Generator, *, special: int, mask_rate: float = 0.3, mean_span: float = 3.0
) -> tuple[Bool[np.ndarray, " n"], Int[np.ndarray, " k"]]:
    """Which tokens are masked, max(1, round(mask_rate n)) of them; and where spans start, the empty ones included.

    Lengths are drawn until there is enough to mask, and the last is cut to fit. No two spans touch, unless the tokens
    that stay are too few to stand between them. What is special is stepped over."""
    positions = np.flatnonzero(row >= special)
    total = count(len(positions), mask_rate)
    hidden = np.zeros(len(row), bool)
    if not total:
        return hidden, np.zeros(0, np.int64)
    lengths = random.poisson(mean_span, total)
    while lengths.sum() < total:
        lengths = np.append(lengths, random.poisson(mean_span, total))
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), total)) + 1]
    lengths[-1] -= lengths.sum() - total
    gaps = len(positions) - total + 1  # between the tokens that stay, and at both ends
    gap = random.choice(gaps, len(lengths), replace=len(lengths) > gaps)
    order = np.argsort(gap)
    lengths = lengths[order]
    starts = gap[order] + np.cumsum(lengths) - lengths
    hidden[positions[runs(starts, lengths)]] = True
    return hidden, np.append(positions, len(row))[starts]


def sentence_starts(ends: Bool[np.ndarray, " n"], documents: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which tokens are the first of a sentence: those after the end of one, or of a document."""
    starts = np.ones(len(ends), bool)
    starts[1:] = ends[:-1] | (documents[1:] != documents[:-1])
    return starts


# ---- what is made of it --------------------------------------------------------------------------------------


def infilled(row: Row, hidden: Bool[np.ndarray, " n"], starts: Int[np.ndarray, " k"], mask: int) -> Corrupted:
    """The row without what is hidden, and a `mask` before each of the positions where spans start.

    >>> hidden = np.array([False, True, True, False, False, False])
    >>> infilled(np.arange(10, 16), hidden, np.array([1, 5]), mask=3).tolist()
    [10, 3, 13, 14, 3, 15]
    """
    return np.insert(row, starts, mask)[np.insert(~hidden, starts, True)]


def permuted(row: Row, ends: Bool[np.ndarray, " n"], order: Int[np.ndarray, " sentences"]) -> Row:
    """The sentences in this order. Words behind the last end are a sentence, too."""
    sentence = np.cumsum(ends) - ends
    return row[np.argsort(np.argsort(order)[sentence], kind="stable")]


def rotated(row: Row, start: int) -> Row:
    """The row from `start` on, and what was before it behind."""
    return np.roll(row, -start)
