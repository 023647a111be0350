"""What the parts of the suite share: which texts a model holds, their vectors, what is written back, and figures.

Every text is compared with what the model could at best write (`wanted`): cleaned as its training text was, and
through its tokenizer. Texts that the model cannot hold are counted by reason in `skipped`, never passed over.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.abilities.vectors import Vectors
from lexigraph.evaluation.intervals import Figure, metric
from lexigraph.latent.space import Search
from lexigraph.text import readers

WORD = re.compile(r"\w+(?:['’]\w+)*")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"“'(]?[A-Z])")
Item = TypeVar("Item")


class Mean(TypedDict):
    """A figure that tells how many rows it comes from; without any it has no value."""

    value: float | None
    interval: list[float]
    rows: int


Means = dict[str, Mean]
Listed = Sequence[float] | Sequence[str] | Sequence[list[str]]  # a share for each step, examples, paths
Result = Figure | Mean | int | float | str | Listed | Mapping[str, "Result"]
Results = dict[str, Result]  # what a part of the suite finds, in groups as deep as it needs; all of it goes into JSON


@dataclass(frozen=True)
class Kept:
    """The texts that a model can hold, in their order."""

    texts: list[str]  # as given
    wanted: list[str]  # as the model could at best write them
    rows: list[np.ndarray]  # their tokens
    positions: list[int]  # where they stood
    skipped: dict[str, int]  # reason → how many
    unknown: int  # words outside the vocabulary, which cannot come back


def fitting(model: Vectors, texts: Sequence[str]) -> Kept:
    """The texts that the model can hold, and how many it cannot, by reason."""
    rows, unknown = model.rows(texts) if texts else ([], 0)
    fits = model.fits(texts) if texts else []
    reasons = ["" if fit else "too_long" if len(row) else "empty" for fit, row in zip(fits, rows, strict=True)]
    positions = [position for position, reason in enumerate(reasons) if not reason]
    kept = [rows[position] for position in positions]
    return Kept(
        [texts[position] for position in positions],
        model.tokenizer.decode_batch(kept),
        kept,
        positions,
        {reason: reasons.count(reason) for reason in ("too_long", "empty")},
        unknown,
    )


def whole(model: Vectors, tuples: Sequence[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], Kept, int]:
    """The tuples whose texts all fit, their texts one after the other, and how many tuples were left out."""
    count = len(tuples[0]) if tuples else 1
    fit = fitting(model, [text for each in tuples for text in each])
    held = Counter(position // count for position in fit.positions)
    kept = [each for number, each in enumerate(tuples) if held[number] == count]
    return kept, fitting(model, [text for each in kept for text in each]), len(tuples) - len(kept)


def vectors(
    model: Vectors, kept: Kept, *, lossless: bool = False, unnormalised: bool = False
) -> Float[np.ndarray, "n latent"]:
    """The vectors of texts that fit."""
    if not kept.texts:
        return np.zeros((0, getattr(model.network, "latent", 1)), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.encode(kept.texts, lossless=lossless, unnormalised=unnormalised)


def written(model: SentenceSpace, z: Float[np.ndarray, "n latent"], **search: Unpack[Search]) -> list[str]:
    """The best sentence of each vector."""
    return [row[0].text for row in model.hypotheses(z, **search)] if len(z) else []


def same(written: Sequence[str], wanted: Sequence[str]) -> Float[np.ndarray, " n"]:
    """1 where a sentence is exactly the wanted one, else 0."""
    return np.array([a == b for a, b in zip(written, wanted, strict=True)], np.float64)


def mean(values: Sequence[float] | np.ndarray, counts: np.ndarray | None = None) -> Mean:
    """A mean (or Σ values / Σ counts) with its 95 % interval and the number of rows; no value without rows."""
    rows = np.asarray(values, np.float64)
    if not len(rows):
        return {"value": None, "interval": [], "rows": 0}
    figure = metric(rows, np.ones_like(rows) if counts is None else counts)
    return {"value": figure["value"], "interval": figure["interval"], "rows": len(rows)}


def cosines(first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """The cosine of each pair of rows; 0 where one of them is zero."""
    u, v = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    return (u * v).sum(1) / np.where(lengths == 0, 1, lengths)


# ---- words and order ----


def words(text: str) -> list[str]:
    """The words of a text, without case and punctuation.

    >>> words("Don't go, said Anna.")
    ["don't", 'go', 'said', 'anna']
    """
    return WORD.findall(text.casefold())


def overlap(first: str, second: str) -> float:
    """How many words two texts share: 2 |a ∩ b| / (|a| + |b|), repeated words counted.

    >>> overlap("the cat sat", "The dog sat .")
    0.6666666666666666
    """
    a, b = Counter(words(first)), Counter(words(second))
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def ordered(texts: Iterable[str], seed: int = 0) -> list[str]:
    """The different texts in the order of BLAKE2b("seed:text"): mixed, and the same whatever else the file holds."""

    def key(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}:{text}".encode(errors="surrogatepass"), digest_size=8).digest()

    return sorted(set(texts), key=key)


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """`count` items at even distances, or all if there are fewer.

    >>> spread(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(items) <= count:
        return list(items)
    return [items[int(position)] for position in np.linspace(0, len(items) - 1, count).round()]


# ---- files and spelling ----


def domain_sentences(path: str | Path) -> Iterable[str]:
    """The sentences of a file of another domain: what stands before the first tab of a line, cut after . ! and ?"""
    for line in readers.read_lines(path):
        yield from END_OF_SENTENCE.split(line.split("\t")[0].strip())


def spaced(texts: Sequence[str]) -> bool:
    """Whether these texts write a space before their last mark, as the built-in grammar does: `She sang .`"""
    ends = [text.rstrip()[-2:] for text in texts if text.rstrip()[-1:] in (".", "!", "?")]
    return 2 * sum(end[:1].isspace() for end in ends) > len(ends)


def spelled(text: str, spaced: bool) -> str:
    """A sentence of the grammar as the test text would write it.

    >>> spelled("Although she sang , he left .", spaced=False)
    'Although she sang, he left.'
    """
    return text if spaced else re.sub(r"\s+([.,!?])", r"\1", text)
