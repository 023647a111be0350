"""Whose fault is a wrong output: the search's or the model's?

    y* the reference, y the output, score = Σ log p / T^α by the same model
    score(y*) >  score(y)   the search missed a better text              → search error: widen the beam
    score(y*) ≤  score(y)   the model prefers a wrong text               → model error: train a better model

With α = 0 the scores are log P: of P(y) = 1.09e-7 and P(y*) = 7.21e-8 the model is to blame, which prefers its own
output; the other way round the search is, which the better text escaped.

`beam_table` is the other view of the same question: quality, score and time against beam width.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, get_args

from lexigraph.decoding.hypothesis import Hypothesis, normalised
from lexigraph.errors import LexigraphError

Verdict = Literal["correct", "search error", "model error"]


@dataclass(frozen=True)
class Reference:
    """A right answer with the model's own log-probability of it, the end token included."""

    tokens: tuple[int, ...]
    log_probability: float | int


@dataclass(frozen=True)
class Item:
    """One output against its reference, by normalised score."""

    output_score: float
    reference_score: float
    verdict: Verdict


@dataclass(frozen=True)
class Diagnosis:
    """Every item with its verdict, and how often each verdict was given."""

    items: tuple[Item, ...]
    left_out: int = 0  # texts that had nothing to compare: no item is theirs

    @property
    def counts(self) -> dict[Verdict, int]:
        verdicts = [item.verdict for item in self.items]
        return {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)}

    @property
    def shares(self) -> dict[Verdict, float]:
        """Of all items; all 0 when there are none."""
        return {verdict: count / max(1, len(self.items)) for verdict, count in self.counts.items()}


def diagnose(outputs: Sequence[Hypothesis], references: Sequence[Reference], alpha: float | int = 0.7) -> Diagnosis:
    """Say of each output whether it is correct, a search error or a model error.

    alpha: that of the search. An unfinished output is never correct, even if its tokens are the reference's.

    >>> found = [Hypothesis((5, 7), log_probability=-3.0, score=-3.0, finished=True)]
    >>> diagnose(found, [Reference((5, 8), log_probability=-2.0)], alpha=0).items[0].verdict
    'search error'
    """
    if len(outputs) != len(references):
        raise LexigraphError(f"{len(outputs)} outputs but {len(references)} references: give one for each.")
    return Diagnosis(tuple(_item(o, r, alpha) for o, r in zip(outputs, references, strict=True)))


def _item(output: Hypothesis, reference: Reference, alpha: float | int) -> Item:
    found = normalised(output.log_probability, output.produced, alpha)
    wanted = normalised(reference.log_probability, len(reference.tokens) + 1, alpha)
    verdict: Verdict = "search error" if wanted > found else "model error"
    if output.finished and tuple(output.tokens) == tuple(reference.tokens):
        verdict = "correct"
    return Item(found, wanted, verdict)


@dataclass(frozen=True)
class Trial:
    """What a search is tried on: texts of which the right ones are known."""

    search: Callable[[int], list[Hypothesis]]  # from a beam width to the best hypothesis of each
    references: list[Reference]
    texts: list[str]  # the references as they are written
    decode: Callable[[Sequence[int]], str]
    alpha: float | int = 0.7
    left_out: int = 0  # texts that have no reference that could be found

    def checked(self) -> Trial:
        """The same; what is left out is told, and a trial of nothing is refused."""
        every = len(self.texts) + self.left_out
        why = "cannot be held or written by this model: they are too long, empty, or have words that it does not know"
        if not self.texts:
            raise LexigraphError(f"There is nothing to diagnose: all of {every:,} texts {why}.")
        if self.left_out:
            warnings.warn(f"{self.left_out:,} of {every:,} texts {why}. They are left out.", stacklevel=3)
        return self

    def diagnosis(self, width: int) -> Diagnosis:
        """The verdicts on a search of this width."""
        return replace(diagnose(self.search(width), self.references, self.alpha), left_out=self.left_out)


@dataclass(frozen=True)
class BeamRow:
    """What one beam width gave, over all sentences."""

    width: int
    quality: float
    log_probability: float  # mean
    score: float  # mean
    length: float  # mean number of tokens, the end token not counted
    seconds: float


def beam_table(
    search: Callable[[int], Sequence[Hypothesis]],
    quality: Callable[[Sequence[Hypothesis]], float],
    widths: Sequence[int],
) -> list[BeamRow]:
    """Quality, log-probability, length and time against beam width.

    search: from a width to the best hypothesis of each sentence, always of the same sentences.
    quality: of all of them together, since BLEU is not a mean over sentences.
    """
    rows = []
    for width in widths:
        began = time.perf_counter()
        found = search(width)
        seconds = time.perf_counter() - began
        if not found:
            raise LexigraphError(f"The search of width {width} returned nothing: give it at least one sentence.")
        rows.append(
            BeamRow(
                width=width,
                quality=quality(found),
                log_probability=fmean(h.log_probability for h in found),
                score=fmean(h.score for h in found),
                length=fmean(len(h.tokens) for h in found),
                seconds=seconds,
            )
        )
    return rows
