"""What a training of word vectors is asked for: every setting with its default, checked.

Training.py says what the methods are; recipe.py reads settings from TOML files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from lexigraph.errors import UsageError
from lexigraph.recipe import typed
from lexigraph.registry import nearest

SPLITS = ("words", "space")  # how text is cut into words: see scan.py
METHODS = ("skipgram", "cbow", "fasttext", "fasttext-cbow", "glove", "ppmi-svd", "hellinger", "lsa")
LOSSES = ("negative", "hierarchical", "softmax")
COMBINE = ("sum", "mean")
SIDES = ("both", "left", "right")


@dataclass(frozen=True)
class Settings:
    """What a training is asked for; where 0, or else -1, is no value, it means the method's own default."""

    method: str = "skipgram"
    dim: int = 100
    window: int = 0  # words on each side: 5, for GloVe 10
    side: str = "both"  # where contexts stand; also "left" or "right", for GloVe, ppmi-svd and hellinger
    min_count: int = 5  # rarer words are left out
    max_words: int = 0  # at most so many words, the most frequent; 0: all
    epochs: int = 0  # times the text is read: 5, for GloVe 25
    threads: int = 0  # 0: as many as there are cores
    seed: int = 0
    split: str = "words"  # or "space": how text is cut into words
    loss: str = "negative"
    negative: int = 5  # words drawn for each prediction
    ns_exponent: float = -1.0  # they are drawn with P(w) ∝ count^ns_exponent: 0.75, for fastText 0.5
    sample: float = -1.0  # words above this share of the text are skipped at times: 1e-3, fastText 1e-4; 0: never
    alpha: float = 0.0  # the first rate: 0.05, for skip-gram with another loss than negative 0.025
    shared: bool = False  # one table for words and contexts
    start: Any = None  # vectors to go on from: words, vectors, counts
    minn: int = 3  # characters of the shortest and the longest n-gram
    maxn: int = 6
    buckets: int = 2_000_000  # rows for n-grams
    x_max: float = 100.0  # pairs seen so often or more weigh 1
    combine: str = "sum"  # of the two vectors that GloVe has for a word

    def resolved(self) -> Settings:
        """All values filled in and checked."""
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
            threads=self.threads or _cores(),
        )
        least = {"dim": 1, "window": 1, "min_count": 1, "max_words": 0, "epochs": 1, "threads": 0, "seed": 0}
        least |= {"negative": 1, "ns_exponent": 0, "sample": 0, "minn": 1, "maxn": full.minn, "buckets": 1}
        for name, bound in least.items():
            if getattr(full, name) < bound:
                raise UsageError(f"{name} is {getattr(full, name)}; it must be at least {bound}.")
        for name in ("alpha", "x_max"):
            if not 0 < getattr(full, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(full, name)}; it must be above 0.")
        choices_of = {"method": METHODS, "loss": LOSSES, "split": SPLITS, "combine": COMBINE, "side": SIDES}
        for name, choices in choices_of.items():
            if getattr(full, name) not in choices:
                raise UsageError(
                    f"There is no {name} {getattr(full, name)!r}{nearest(str(getattr(full, name)), choices)}"
                )
        if full.shared and (full.loss == "hierarchical" or full.method not in ("skipgram", "cbow")):
            raise UsageError("shared = True is for skipgram and cbow with the loss negative or softmax.")
        if full.side != "both" and full.method not in ("glove", "ppmi-svd", "hellinger"):
            raise UsageError(f"{full.method} takes contexts on both sides: leave out side.")
        if full.start is not None and full.method not in ("skipgram", "cbow"):
            raise UsageError("Only skipgram and cbow go on from other vectors (start).")
        return full


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settings_of(method: Any, dim: Any, given: dict[str, Any]) -> Settings:
    """Settings by name; an unknown one gives an error that names the nearest."""
    kinds = get_type_hints(Settings)
    values = {"method": method, "dim": dim, **given}
    for name, value in values.items():
        if name not in kinds:
            raise UsageError(f"There is no setting {name!r}{nearest(name, kinds)}")
        if name != "start":
            values[name] = typed(value, kinds[name], name, "")
    return Settings(**values).resolved()
