"""Which split a text belongs to: a function of the text alone, so that models of all seeds have one test set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import UsageError
from lexigraph.text.files import shown
from lexigraph.text.tables import SPLITS


def shares_of(data: recipes.Data, given: Iterable[str]) -> dict[str, float]:
    """How much of the training file goes to each split that has no file of its own."""
    split = data.split if len(data.split) > 1 else (data.split[0], 1 - data.split[0])
    if any(share < 0 for share in split) or not 0 < sum(split) <= 1 + 1e-9 or split[0] <= 0 or len(split) > 3:
        raise UsageError(
            f"data.split = {list(data.split)} must be shares of train, valid and test that add up to at most 1, "
            "as in [0.9, 0.05, 0.05]."
        )
    shares = dict(zip(SPLITS, split, strict=False))
    spared = sum(share for name, share in shares.items() if name != "train" and name in given)
    missing = {name: share for name, share in shares.items() if share and name != "train" and name not in given}
    return {"train": shares["train"] + spared, **missing}


def taken(data: recipes.Data) -> Iterator[str]:
    """A sentence for a split that takes a share of the training text while the other one has a file of its own."""
    given = [name for name in SPLITS if getattr(data, name)]
    for name, share in shares_of(data, given).items():
        if name != "train" and len(given) > 1:
            yield (
                f"Without --{name} FILE, {100 * share:.3g} % of {shown(data.train)} are kept for the "
                f"{'test' if name == 'test' else 'validation'} and not learned: --set data.split=[1.0] learns all."
            )


def cutter(shares: dict[str, float]) -> Callable[[str], str]:
    """A function that assigns a text to a split by its hash; to none ("") where shares add up to less than 1.

    Only letters and digits count, whatever their case, so that texts which cleaning makes equal stay together; and no
    seed moves them, so that models of all seeds have one test set.
    """
    bounds = np.cumsum(list(shares.values())).round(9)
    names = list(shares)

    def cut(text: str) -> str:
        key = re.sub(r"\W+", "", text.casefold()) or text
        digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()
        place = int.from_bytes(digest, "big") / 2**64
        return next((name for name, bound in zip(names, bounds, strict=True) if place < bound), "")

    return cut
