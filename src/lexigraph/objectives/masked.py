"""From rows of tokens to batches in which some are hidden: what BERT and ELECTRA are given to guess from.

masking.py says which tokens are masked; here texts are put between boundaries, and what is to be guessed is
gathered. Whole words and sentences are known from the tokenizer's pieces (`Words`).

Shapes: V vocabulary, n tokens of a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.rng import seeds_of_content
from lexigraph.text.vocabularies import Tokens, role


@runtime_checkable
class Rates(Protocol):
    """What an objective says of the share of tokens that are masked."""

    @property
    def mask_rate(self) -> float: ...
    @property
    def final_mask_rate(self) -> float: ...
    @property
    def mask_steps(self) -> int: ...


def rate_at(objective: Rates, step: int | None) -> float:
    """The share of tokens that are masked at a step of training; in evaluation, which has none, always the last."""
    first, last = objective.mask_rate, objective.final_mask_rate or objective.mask_rate
    return last if step is None or first == last else first + (last - first) * min(1.0, step / objective.mask_steps)


def check_rates(objective: Rates) -> None:
    """Refuse rates that mask nothing or all, and one that changes over no steps."""
    check_rate(objective.mask_rate)
    if not objective.final_mask_rate:
        return
    check_rate(objective.final_mask_rate, "final_mask_rate")
    if not objective.mask_steps:
        raise UsageError(
            "objective.final_mask_rate needs objective.mask_steps: over how many steps the masking rate goes there "
            "(all of train.steps, as a rule)."
        )


def check_rate(mask_rate: float, name: str = "mask_rate") -> None:
    if not 0 < mask_rate < 1:
        raise UsageError(
            f"objective.{name} = {mask_rate} must be a share of the tokens: more than 0 and less than 1."
        )


@dataclass(frozen=True)
class Frame:
    """The special tokens that stand around a text and in its gaps."""

    begin: int
    end: int
    mask: int
    pad: int

    @classmethod
    def of(cls, tokens: Tokens, mask: int | None = None) -> Frame:
        """As the vocabulary names them; `mask` serves where it names none."""
        begin, end = role(tokens, "cls", tokens.begin), role(tokens, "sep", tokens.eos)
        return cls(begin, end, role(tokens, "mask", mask), tokens.pad)

    @property
    def first_word(self) -> int:
        """Ids below are special."""
        return 1 + max(self.begin, self.end, self.mask, self.pad)


@dataclass(frozen=True)
class Words:
    """What a tokenizer knows about its tokens."""

    begins: Bool[np.ndarray, " V"]  # a word begins here: what does not goes on with the one before
    closes: Bool[np.ndarray, " V"]  # none goes on after this: a line's end, or the end of a text
    stops: Bool[np.ndarray, " V"]  # a sentence ends here
    first: int  # the first token that is not special

    @classmethod
    def of(cls, tokenizer: Tokens) -> Words:
        """Read from the pieces."""
        special = set(tokenizer.special.values())
        pieces = tokenizer.tokens(range(len(tokenizer)))
        marked = any(piece.startswith("##") for piece in pieces)  # what goes on, not what begins
        begins = [piece in tokenizer.special or _begins(piece, tokenizer.kind, marked) for piece in pieces]
        ends = special - {tokenizer.unk}  # which may stand inside a word
        closes = [token in ends or _closes(piece) for token, piece in enumerate(pieces)]
        stops = ["\n" in piece or piece.rstrip()[-1:] in tuple(".!?") for piece in pieces]
        return cls(np.array(begins), np.array(closes), np.array(stops), min(set(range(len(pieces))) - special))


def _begins(piece: str, kind: str, marked: bool) -> bool:
    """Whether a word begins with this piece: it is a word, a symbol, or has the white space before it."""
    if kind == "word":
        return True
    if kind == "wordpiece" or (marked and kind == "imported"):
        return not piece.startswith("##")
    lone_byte = r"\\x..|<0x..>"  # inside a character
    return not piece[:1].isalnum() and not re.match(lone_byte, piece)


def _closes(piece: str) -> bool:
    """Whether white space ends this piece; but a single space is the mark of the word behind it, as ▁ is."""
    return piece[-1:].isspace() and piece != " "


def beginnings(words: Words, row: Int[np.ndarray, " n"], cut: int = 0) -> Bool[np.ndarray, " n"]:
    """Where words begin in a text, whose second segment, if it has one, begins at `cut`."""
    begins = words.begins[row]
    begins[1:] |= words.closes[row[:-1]]
    if cut:  # the whole text may be the first segment
        begins[cut : cut + 1] = True
    return begins


def seeds_for(
    rows: Sequence[np.ndarray], seeds: Int[np.ndarray, " rows"] | None, dynamic: bool
) -> Int[np.ndarray, " rows"]:
    """A seed for each text: its own, or made of what it says where it has none or nothing may change."""
    return seeds if dynamic and seeds is not None else seeds_of_content(rows)


def contents(row: np.ndarray, longest: int, frame: Frame) -> Int[np.ndarray, " n"]:
    """The tokens between the boundaries of a text. A stretch of a longer text has none, and may end with the token
    that the next stretch begins with."""
    row = np.asarray(row, np.int64)
    first, last = int(row[0] in (frame.begin, frame.end)), len(row) - int(len(row) > 1 and row[-1] == frame.end)
    row = row[first:last]
    if len(row) > longest + 1:
        raise LexigraphError(f"{len(row)} tokens are more than the {longest} that fit into the model's context.")
    return row[:longest]


def framed(rows: Sequence[tuple[np.ndarray, np.ndarray]], cuts: Sequence[int], frame: Frame) -> dict[str, Tensor]:
    """Inputs and targets of texts between boundaries, as tensors: `inputs`, `lengths`, and the `positions` and
    `targets` of what is to be guessed. Where there are `cuts`, `segments` too, and a boundary more."""
    lengths = np.array([len(seen) for seen, _ in rows]) + (3 if cuts else 2)
    inputs, wanted = (np.full((len(rows), lengths.max()), fill, np.int64) for fill in (frame.pad, IGNORE))
    segments = np.zeros_like(inputs)
    for index, (seen, targets) in enumerate(rows):
        cut = cuts[index] if cuts else len(seen)
        for first, last, segment in ((0, cut, 0), (cut, len(seen), 1))[: 2 if cuts else 1]:
            shift = 1 + segment  # the boundaries so far
            inputs[index, first + shift : last + shift] = seen[first:last]
            wanted[index, first + shift : last + shift] = targets[first:last]
            segments[index, first + shift : last + shift + 1] = segment
            inputs[index, last + shift] = frame.end
    inputs[:, 0] = frame.begin
    empty = np.flatnonzero((wanted == IGNORE).all(1))  # masks its end, so that every text counts
    inputs[empty, lengths[empty] - 1], wanted[empty, lengths[empty] - 1] = frame.mask, frame.end
    chosen = wanted != IGNORE
    positions = np.argsort(~chosen, axis=1, kind="stable")[:, : chosen.sum(1).max()]  # the chosen ones first
    targets = np.take_along_axis(wanted, positions, 1)
    arrays = {"inputs": inputs, "lengths": lengths, "positions": positions * (targets != IGNORE), "targets": targets}
    return {
        name: torch.from_numpy(array) for name, array in (arrays | ({"segments": segments} if cuts else {})).items()
    }
