"""What a training of word vectors is asked for: the section [words] of recipes, every key with its default.

Training.py says what the methods are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lexigraph.errors import UsageError
from lexigraph.memory import refuse_beyond
from lexigraph.recipe import Source, sections
from lexigraph.sections import key, ranged

Split = Literal["words", "space", "elision", "characters"]  # how text is cut into words: see scan.py
SPLITS = get_args(Split)
UNSEEN = Source("", "")  # settings that stand in no file


@dataclass(frozen=True)
class Settings:
    """What a training is asked for; where 0, or else -1, is no value, it means the method's own default."""

    method: Literal["skipgram", "cbow", "fasttext", "fasttext-cbow", "glove", "ppmi-svd", "hellinger", "lsa"] = key(
        "skipgram", about="how words become vectors"
    )
    dim: int = ranged(100, 1, about="numbers in a vector")
    window: int = ranged(0, 0, 1_000_000, about="words on each side that are context; 0: 5, for GloVe 10")
    side: Literal["both", "left", "right"] = key(
        "both", about="where contexts stand; one side: GloVe, ppmi-svd and hellinger"
    )
    min_count: int = ranged(5, 1, about="words seen less often are left out")
    max_words: int = ranged(0, 0, about="at most so many words, the most frequent; 0: all")
    epochs: int = ranged(0, 0, 1_000_000, about="times that the text is read; 0: 5, for GloVe 25")
    threads: int = ranged(0, 0, 1024, about="threads to train with; 0: one a core; 1: the same bits every time")
    seed: int = ranged(0, 0, 2**48, about="seed of all that is drawn at random")
    split: Split = key(
        "words", about="how text is cut: at white space and signs, at white space alone, after l' too, or anywhere"
    )
    loss: Literal["negative", "hierarchical", "softmax"] = key(
        "negative", about="skip-gram and CBOW: learned by negative sampling, a tree of words, or over all words"
    )
    negative: int = ranged(5, 1, 10_000, about="negative sampling: words drawn for each prediction")
    ns_exponent: float = ranged(
        -1.0, -1, about="negative sampling: words are drawn with P(w) ∝ count^ns_exponent; -1: 0.75, for fastText 0.5"
    )
    sample: float = ranged(
        -1.0, -1, about="words above this share of the text are skipped at times; -1: 1e-3, for fastText 1e-4"
    )
    alpha: float = ranged(
        0.0, 0, 1000, about="the first learning rate; 0: 0.05, for skip-gram with another loss than negative 0.025"
    )
    shared: bool = key(False, about="skip-gram and CBOW: one table for words and contexts")
    minn: int = ranged(3, 1, 1000, about="fastText: characters of the shortest n-gram")
    maxn: int = ranged(6, 1, 1000, about="fastText: characters of the longest n-gram")
    buckets: int = ranged(2_000_000, 1, about="fastText: rows of the table for n-grams")
    x_max: float = ranged(100.0, 0, about="GloVe: pairs seen so often or more weigh 1")
    combine: Literal["sum", "mean"] = key(
        "sum", about="GloVe: what becomes of the two vectors that it has for a word"
    )

    def resolved(self) -> Settings:
        """All values filled in, but for the number of threads, and checked against each other."""
        glove = self.method == "glove"
        fasttext = self.method.startswith("fasttext")  # as Bojanowski et al. 2017 and their program have it
        slow = self.method == "skipgram" and self.loss != "negative"
        full = replace(
            self,
            window=self.window or (10 if glove else 5),
            epochs=self.epochs or (25 if glove else 5),
            ns_exponent=self.ns_exponent if self.ns_exponent != -1 else (0.5 if fasttext else 0.75),
            sample=self.sample if self.sample != -1 else (1e-4 if fasttext else 1e-3),
            alpha=self.alpha or (0.025 if slow else 0.05),
        )
        for name, least in {"ns_exponent": 0, "sample": 0, "maxn": full.minn}.items():
            if getattr(full, name) < least:
                raise UsageError(f"words.{name} must be at least {least}, not {getattr(full, name)}.")
        for name in ("alpha", "x_max"):
            if not 0 < getattr(full, name) < float("inf"):
                raise UsageError(f"words.{name} must be above 0, not {getattr(full, name)}.")
        if full.shared and (full.loss == "hierarchical" or full.method not in ("skipgram", "cbow")):
            raise UsageError("shared = True is for skipgram and cbow with the loss negative or softmax.")
        if full.side != "both" and full.method not in ("glove", "ppmi-svd", "hellinger"):
            raise UsageError(f"{full.method} takes contexts on both sides: leave out side.")
        return full

    @property
    def has_epochs(self) -> bool:
        """Whether the text is read several times; counts are counted once."""
        return self.method not in ("ppmi-svd", "hellinger", "lsa")

    def refuse_beyond_memory(self, words: int = 2) -> None:
        """Refuse tables that cannot fit, before any is made: for so many words, as far as their number is known."""
        ngrams = self.buckets if self.method.startswith("fasttext") else 0
        tables = 2 if self.has_epochs else 1  # of words and of their contexts
        key = "buckets" if ngrams > self.dim * words else "dim"
        needed = 4 * self.dim * (tables * words + ngrams)
        refuse_beyond(needed, f"words.{key} = {getattr(self, key)}", f"the vectors of {words + ngrams:,} rows")

    def with_threads(self) -> Settings:
        """With as many threads as this process has cores, unless their number is given."""
        return replace(self, threads=self.threads or _cores())


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Settings by name, as a recipe's section [words] has them, complete and checked."""
    changes = {f"words.{name}": value for name, value in given.items()}
    settings: Settings = sections(UNSEEN, {"words": Settings}, {}, changes)["words"]
    return settings.resolved()
