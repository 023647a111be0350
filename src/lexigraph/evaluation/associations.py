"""WEAT on sentences: are those about X nearer to those about A, and those about Y to those about B?

Every word stands in every template, "This is {}.", and each sentence counts as one of its set; effect size and
p-value are those of words (words/bias.py). After May et al. 2019 (SEAT).

>>> spelled_out(["a pilot", "a nurse"], ["This is {}."])
['This is a pilot.', 'This is a nurse.']
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.bias import Weat, association, refuse_empty

TEMPLATES = ("This is {}.", "That is {}.", "There is {}.", "Here is {}.", "{} is here.", "{} is there.")


def spelled_out(words: Sequence[str], templates: Sequence[str]) -> list[str]:
    """Every word in every template, which begins with a capital."""
    found = [template.replace("{}", word) for word in words for template in templates]
    return [text[:1].upper() + text[1:] for text in found]


def associations(
    model: Vectors,
    X: Sequence[str],
    Y: Sequence[str],
    A: Sequence[str],
    B: Sequence[str],
    *,
    templates: Sequence[str] = TEMPLATES,
    pooling: str | None = None,
    permutations: int = 10_000,
    seed: int = 0,
) -> Weat:
    """Test whether sentences about the words X go with those about A, and sentences about Y with those about B."""
    refuse_empty(X, Y, A, B)
    if wrong := [template for template in templates if "{}" not in template]:
        raise UsageError(f"The template {wrong[0]!r} does not say where the word stands: write {{}} there.")
    sets = [spelled_out(words, templates or TEMPLATES) for words in (X, Y, A, B)]
    texts = [text for each in sets for text in each]
    if too_long := [text for text, fits in zip(texts, model.fits(texts), strict=True) if not fits]:
        raise LexigraphError(f"{too_long[0]!r} is empty or too long for the model.")
    z = model.encode(texts, pooling=pooling)
    ends = np.cumsum([len(each) for each in sets])
    x, y, a, b = np.split(z, ends[:-1])
    return association(x, y, a, b, permutations, seed)
