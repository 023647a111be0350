"""What context buys a language model: its scores in blocks and in sliding windows, and by how much it has read.

    blocks    windows of N tokens side by side; the first tokens of each have little before them
    sliding   a window every S tokens, of which only the last S are scored: each with N - S tokens before them or more

(The first window is scored whole.) A sliding window costs N / S as much as blocks, stated as `processed`: tokens that
the network reads for each that is scored. A network that remembers reads windows of S tokens with a memory of N - S,
which may be longer than it was trained with, and so reads each token once; in blocks it remembers nothing.

A long stream is read in several parts at once (eval.streams), each with a lead of N - S tokens that are not scored
again. Bits per byte of some of the tokens are their bits per token over the bytes that a token of the whole text has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.evaluation import language
from lexigraph.evaluation.intervals import FEWEST, interval
from lexigraph.evaluation.task import Baseline
from lexigraph.nn.network import LanguageNetwork
from lexigraph.nn.segment_memory import MemoryNetwork
from lexigraph.objectives.next_token import token_nll
from lexigraph.objectives.terms import Carry
from lexigraph.text.planning import BLOCK, WINDOW
from lexigraph.text.tables import Stored, Table
from lexigraph.text.vocabularies import TEXT


@dataclass(frozen=True)
class Windows:
    """How a text is read: `window` tokens of context at most, and every so many (`stride`) a new window.

    0: as the model reads by itself, and as many as the window has.
    """

    window: int = 0
    stride: int = 0

    def check(self, network: LanguageNetwork) -> None:
        """Refuse windows that there cannot be."""
        if self.stride and not self.window:
            raise UsageError("A stride (--stride) is how far a window moves: say how long it is, with --window N.")
        if self.window < 0 or self.stride < 0 or self.stride > self.window:
            raise UsageError(
                f"The stride is from 1 to the window's {self.window} tokens, not {self.stride}: otherwise some "
                "tokens would not be scored."
            )
        limit = network.traits.context
        if limit and self.window > limit and not isinstance(network, MemoryNetwork):
            raise UsageError(f"The model sees {limit} tokens at once: --window is at most that, not {self.window}.")


class Read(NamedTuple):
    """Tokens that are read from `begin` to `end`; what comes after each from `first` on is scored."""

    begin: int
    first: int
    end: int


@dataclass(frozen=True)
class Reading:
    """What was found of every token but the first."""

    nll: Float[np.ndarray, " tokens"]
    context: Int[np.ndarray, " tokens"]  # in view when it was predicted, the one just before it included
    processed: int  # tokens that were read


def read(model: TextModel, table: Table, windows: Windows) -> Reading:
    """Every token of a table, scored once."""
    network, text, settings = model.network, table.columns[TEXT], model.recipe.eval
    assert isinstance(network, LanguageNetwork)
    windows.check(network)
    stream = model.recipe.data.unit == "stream"
    bounds = [(0, len(text.values) - 1)] if stream else [(a, b) for a, b in _pairs(text.offsets)]
    window, stride = windows.window, windows.stride or windows.window
    remembers = network if isinstance(network, MemoryNetwork) and network.traits.stateful else None
    lead = segment = 0  # tokens before a part of a stream; those of one pass, behind which the state goes on
    if remembers and (not window or stride < window):
        segment = stride or remembers.context
        lead = window - stride if window else remembers.memory
    elif network.traits.stateful and not window:
        segment = BLOCK
    else:
        window = window or model.recipe.data.window or network.traits.context or WINDOW
        stride = stride or window
    parts = settings.streams if stream and segment else 1
    reads = [
        each for a, b in bounds for each in (_parts(a, b, parts, lead) if segment else _windows(a, b, window, stride))
    ]
    with remembers.remembering(lead) if remembers else nullcontext():  # in blocks, nothing
        return _scored(model, text.values, reads, segment, lead if remembers else -1)


def _pairs(offsets: np.ndarray | None) -> Iterator[tuple[int, int]]:
    assert offsets is not None
    return zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)


def _parts(begin: int, end: int, count: int, lead: int) -> list[Read]:
    """Equal parts of a stream, each read from `lead` tokens before it; fewer, where the leads would be most of it."""
    count = max(1, min(count, (end - begin) // max(1, 4 * lead)))
    bounds = np.linspace(begin, end, count + 1).astype(int).tolist()
    return [Read(max(begin, a - lead), a, b) for a, b in pairwise(bounds)]


def _windows(begin: int, end: int, window: int, stride: int) -> list[Read]:
    """The first window whole, and of each further one the last `stride` tokens."""
    firsts = [begin, *range(begin + window, end, stride)]
    return [
        Read(max(begin, a - (window - stride)), a, min(b, end))
        for a, b in zip(firsts, [*firsts[1:], end], strict=True)
    ]


@torch.inference_mode()
def _scored(model: TextModel, values: np.ndarray, reads: Sequence[Read], segment: int, memory: int) -> Reading:
    """Reads of like length together, each in segments of so many tokens (0: in one); `memory`: what is seen of those
    before (-1: all)."""
    network, count = model.network, len(values) - 1
    assert isinstance(network, LanguageNetwork)
    nll, context, processed = np.zeros(count), np.zeros(count, np.int64), 0
    reads = sorted(reads, key=lambda each: each.begin - each.end)  # the longest first
    while reads:
        longest = reads[0].end - reads[0].begin
        step = segment or max(1, longest)
        rows = max(1, model.recipe.eval.batch_tokens // min(step, max(1, longest)))
        group, reads = reads[:rows], reads[rows:]
        carry: Carry | None = None
        for done in range(0, longest, step):
            here = [(min(r.begin + done, r.end), min(r.begin + done + step, r.end)) for r in group]
            batch = network.prepare_in_order({TEXT: [np.asarray(values[a : b + 1]) for a, b in here]})
            terms, carry = network.loss(batch.to(model.device), carry)
            before = done if memory < 0 else min(done, memory)
            for row, each, (a, b) in zip(token_nll(terms).cpu().double().numpy(), group, here, strict=True):
                a = max(a, min(each.first, b))
                skipped = a - each.begin - done
                nll[a:b] = row[skipped : skipped + b - a]
                context[a:b] = before + 1 + np.arange(skipped, skipped + b - a)
            processed += sum(b - a for a, b in here)
    return Reading(nll, context, processed)


def scores(
    model: TextModel,
    table: Table,
    steps: int,
    unigrams: np.ndarray,
    windows: Windows,
    *,
    by_position: bool = False,
    baseline: Baseline | None = None,
) -> dict[str, Any]:
    """All scores of a held-out table that is read so, what it cost, and if asked for by context and position."""
    found, text = read(model, table, windows), table.columns[TEXT]
    rows = np.arange(len(found.nll)) // (windows.stride or windows.window or BLOCK)
    totals, counts = np.bincount(rows, found.nll), np.bincount(rows).astype(float)
    read_as = {} if not windows.window else {"window": windows.window, "stride": windows.stride or windows.window}
    whole: dict[str, Any] = dict(
        language.scores_of(model, table, steps, unigrams, totals, counts, baseline, **read_as)
    )
    whole["processed"] = found.processed / max(1, len(found.nll))
    if by_position:
        whole["context"] = groups(found.nll, found.context, text)
        if table.examples >= FEWEST:
            whole["document"] = groups(found.nll, positions(text), text)
    return whole


def positions(text: Stored) -> Int[np.ndarray, " tokens"]:
    """Where each token but the first of all stands in its document, from 1."""
    assert text.offsets is not None
    tokens = np.arange(len(text.values) - 1)
    return tokens - text.offsets[np.searchsorted(text.offsets, tokens, side="right") - 1] + 1


def groups(nll: np.ndarray, position: np.ndarray, text: Stored) -> dict[str, dict[str, Any]]:
    """Scores of the tokens at positions 1, 2, 3 to 4, 5 to 8, …"""
    scale = len(nll) / (math.log(2) * max(1, text.bytes))
    kind = np.ceil(np.log2(np.maximum(position, 1))).astype(int)
    found: dict[str, dict[str, Any]] = {}
    for number in np.unique(kind).tolist():
        own = nll[kind == number]
        first, last = 2 ** (number - 1) + 1 if number else 1, 2**number
        group: dict[str, Any] = {"tokens": len(own), "nll": interval([own.mean()])}
        if not text.lost:
            group["bits_per_byte"] = interval([own.mean() * scale])
        found[str(last) if first >= last else f"{first}-{last}"] = group
    return found
