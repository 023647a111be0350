"""Corrupt a text and say what is to be written, the ways that T5 compared (Raffel et al. 2020, table 3).

    Thank you for inviting me to your party last week .

                      input                                                to be written
    prefix            Thank you for inviting                               me to your party last week .
    BERT-style        Thank you <M> <M> me to your party apple week .      all of it
    deshuffling       week to . me inviting last your you party Thank for  all of it
    MASS-style        Thank you <M> <M> me to your party <M> week .        all of it
    replaced spans    Thank you <X> me to your party <Y> week .            <X> for inviting <Y> last <Z>
    dropped tokens    Thank you me to your party week .                    for inviting last
    random spans      Thank you <X> to <Y> week .                          <X> for inviting me <Y> your party last <Z>

Each is a choice (which positions are noise) and a rendering (noise → input and target), with a function for either.
The noise is every token with a probability of 15 % ("i.i.d."), or, in random spans, exactly round(0.15 n) tokens in
round(tokens / 3) spans: noise and the rest are cut into spans at positions at random, and take turns.

Rows are texts without boundaries. Ids below `special`, with <M> and the sentinels <X>, <Y>, <Z> among them, are never
noise. One sentinel more than there are spans is needed, to end the target (`span_count`, `likely_spans`); where there
are too few, some spans, at random, are no noise after all.

Shapes: n tokens of a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Integer

from lexigraph.objectives.masking import corrupt, count

Row = Integer[np.ndarray, " n"]
Noise = Bool[np.ndarray, " n"]
Pair = tuple[Integer[np.ndarray, " input"], Integer[np.ndarray, " target"]]


def prefix_language_model(row: Row, random: np.random.Generator) -> Pair:
    """Continue a beginning, whose length is at random."""
    return dropped(row, suffix_noise(row, random))


def bert_style(
    row: Row,
    random: np.random.Generator,
    *,
    mask: int,
    vocabulary: int,
    special: int,
    mask_rate: float = 0.15,
    swapped: float = 0.1,
) -> Pair:
    """Write the whole text, of which some tokens are `mask` and a few (`swapped`, of the noise) any word."""
    noise = independent_noise(row, random, special=special, mask_rate=mask_rate)
    inputs = corrupt(row, noise, random, mask=mask, vocabulary=vocabulary, special=special, kept=0.0, swapped=swapped)
    return inputs, row


def deshuffling(row: Row, random: np.random.Generator) -> Pair:
    """Put the tokens into their order."""
    return random.permutation(row), row


def mass_style(row: Row, random: np.random.Generator, *, mask: int, special: int, mask_rate: float = 0.15) -> Pair:
    """Write the whole text, of which some tokens are `mask`."""
    return np.where(independent_noise(row, random, special=special, mask_rate=mask_rate), mask, row), row


def replaced_spans(
    row: Row, random: np.random.Generator, *, sentinels: Sequence[int], special: int, mask_rate: float = 0.15
) -> Pair:
    """Write the noise; tokens of it that stand together share a sentinel."""
    noise = independent_noise(row, random, special=special, mask_rate=mask_rate)
    return replaced(row, at_most(len(sentinels) - 1, noise, random), sentinels)


def dropped_tokens(row: Row, random: np.random.Generator, *, special: int, mask_rate: float = 0.15) -> Pair:
    """Write the noise; nothing says where it was."""
    return dropped(row, independent_noise(row, random, special=special, mask_rate=mask_rate))


def random_spans(
    row: Row,
    random: np.random.Generator,
    *,
    sentinels: Sequence[int],
    special: int,
    mask_rate: float = 0.15,
    mean_span: float = 3.0,
) -> Pair:
    """Write the noise, which is spans of `mean_span` tokens on average with a sentinel each. T5's own objective."""
    noise = span_noise(row, random, special=special, mask_rate=mask_rate, mean_span=mean_span)
    return replaced(row, at_most(len(sentinels) - 1, noise, random), sentinels)


# ---- which positions are noise ----------------------------------------------------------------------------------


def suffix_noise(row: Row, random: np.random.Generator) -> Noise:
    """All from some position on; at least one token stays before it, if there are two."""
    cut = random.integers(1, len(row)) if len(row) > 1 else 0
    return np.arange(len(row)) >= cut


def independent_noise(row: Row, random: np.random.Generator, *, special: int, mask_rate: float = 0.15) -> Noise:
    """Each token with its own probability; where that spared all of them, one, so that something is learned."""
    free = row >= special
    noise = (random.random(len(row)) < mask_rate) & free
    if not noise.any() and free.any():
        noise[random.choice(np.flatnonzero(free))] = True
    return noise


def span_noise(
    row: Row, random: np.random.Generator, *, special: int, mask_rate: float = 0.15, mean_span: float = 3.0
) -> Noise:
    """round(mask_rate n) tokens in round(tokens / mean_span) spans, all such choices equally likely. The first token
    always stays; the last may be noise or not, as in the paper's example (its code ends every text with noise)."""
    positions = np.flatnonzero(row >= special)
    total, spans = span_count(len(positions), mask_rate=mask_rate, mean_span=mean_span)
    noise = np.zeros(len(row), bool)
    if not spans:
        return noise
    stay = len(positions) - total
    lengths = np.zeros(2 * spans + 1, np.int64)
    lengths[1::2] = _segments(total, spans, random)
    lengths[0::2] = _segments(stay + 1, spans + 1, random)
    lengths[-1] -= 1  # so that the last stretch may be empty
    noise[positions] = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    return noise


def span_count(tokens: int, *, mask_rate: float = 0.15, mean_span: float = 3.0) -> tuple[int, int]:
    """How many of so many tokens are noise in random spans, and how many spans that is.

    >>> span_count(512)
    (77, 26)
    """
    total = min(count(tokens, mask_rate), tokens - 1)
    return (total, min(max(1, round(total / mean_span)), tokens - total)) if total > 0 else (0, 0)


def likely_spans(tokens: int, *, mask_rate: float = 0.15) -> int:
    """How many spans the noise of single tokens seldom exceeds: their mean number and two standard deviations (a
    number of rare events varies by no more than the root of its mean_span)."""
    mean = mask_rate + (tokens - 1) * mask_rate * (1 - mask_rate)
    return math.ceil(mean + 2 * math.sqrt(mean))


def _segments(total: int, parts: int, random: np.random.Generator) -> np.ndarray:
    """`total` as a sum of so many numbers of at least 1, all such sums equally likely."""
    cuts = np.sort(random.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=total)


def at_most(spans: int, noise: Noise, random: np.random.Generator) -> Noise:
    """The noise of so many spans, at random; all of it, where there are no more."""
    number = np.cumsum(_starts(noise))
    found = int(number[-1]) if len(number) else 0
    if found <= spans:
        return noise
    kept = np.zeros(found + 1, bool)
    kept[1 + random.choice(found, spans, replace=False)] = True
    return noise & kept[number]


def _starts(noise: np.ndarray) -> np.ndarray:
    """Where spans of noise start."""
    starts = noise.copy()
    starts[1:] &= ~noise[:-1]
    return starts


# ---- what is made of it --------------------------------------------------------------------------------------


def dropped(row: Row, noise: Noise) -> Pair:
    """What is left, and the noise."""
    return row[~noise], row[noise]


def replaced(row: Row, noise: Noise, sentinels: Sequence[int]) -> Pair:
    """What is left, with a sentinel for each span of noise; and each sentinel with its span, ended by one more.

    >>> noise = np.array([False, True, True, False, True, False])
    >>> inputs, targets = replaced(np.arange(10, 16), noise, sentinels=(3, 4, 5))
    >>> inputs.tolist(), targets.tolist()
    ([10, 3, 13, 4, 15], [3, 11, 12, 4, 14, 5])
    """
    starts = _starts(noise)
    spans = int(starts.sum())
    used = np.asarray(sentinels[: spans + 1], np.int64)
    inputs = row.astype(np.int64)
    inputs[starts] = used[:spans]
    targets = np.insert(row[noise].astype(np.int64), np.flatnonzero(starts[noise]), used[:spans])
    return inputs[starts | ~noise], np.append(targets, used[spans])
