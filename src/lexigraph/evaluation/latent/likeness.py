"""Do related sentences look related? How far the pictures of a sentence and of its edit are apart.

Of each family of the built-in grammar's edits ("the same, but in the past"), the distance between the pictures before
and after the edit (root mean square over all dots), as a share of the distance between the pictures of two sentences
that have nothing to do with each other: 0 would be the same picture, 1 no likeness at all. Beside it the same for the
vectors, since a picture can be no calmer than what it draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.latent.sentences import Kept, Mean, Results, mean, ordered, spelled, vectors, whole
from lexigraph.text.edits import EDITS, edit_pairs


def likeness(model: SentenceSpace, count: int, *, spaced: bool = True) -> Results:
    """For every family, the distances of `count` pairs of the grammar's test split."""
    found: dict[str, tuple[Kept, int]] = {}
    for family in EDITS:
        pairs = [(spelled(a, spaced), spelled(b, spaced)) for a, b in edit_pairs(family, count, split="test")]
        _, kept, skipped = whole(model, pairs)
        if kept.texts:
            found[family] = kept, skipped
    looks = {family: _seen(model, kept) for family, (kept, _) in found.items()}
    texts = [text for kept, _ in found.values() for text in kept.texts]
    apart = {name: _strangers(texts, [own[name] for own in looks.values()]) for name in ("pictures", "vectors")}
    families: dict[str, dict[str, Mean]] = {
        family: {name: mean(_distances(seen[::2], seen[1::2]) / apart[name]) for name, seen in own.items()}
        for family, own in looks.items()
    }
    means = {name: mean([float(own[name]["value"] or 0) for own in families.values()]) for name in apart}
    return {"families": families, "all_families": means, "skipped": sum(skipped for _, skipped in found.values())}


def _seen(model: SentenceSpace, kept: Kept) -> dict[str, Float[np.ndarray, "n k"]]:
    """Pictures and vectors of texts, as rows of numbers."""
    z = vectors(model, kept)
    return {"pictures": model.pictures(z).reshape(len(z), -1).astype(np.float32), "vectors": z}


def _distances(first: Float[np.ndarray, "n k"], second: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    return np.sqrt(((first - second) ** 2).mean(1))


def _strangers(texts: Sequence[str], rows: Sequence[Float[np.ndarray, "_ k"]]) -> float:
    """The mean distance between different texts, each beside one that has nothing to do with it."""
    known = dict(zip(texts, np.concatenate(rows), strict=True))
    mixed = np.stack([known[text] for text in ordered(texts)])
    return float(_distances(mixed[:-1], mixed[1:]).mean())
