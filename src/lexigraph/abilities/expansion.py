"""Words that an encoder has not learned, from own word vectors (Kiros et al. 2015, section 2.2).

    W = argmin Σ_w |x_w W - e_w|²        over the words w that have both: x_w an own vector, e_w a row of the encoder
    e_v = x_v W                            of each word v that the encoder lacks

Shapes: n shared words, i numbers in an own vector, e in a token's.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.network import build
from lexigraph.text.vocabularies import TEXT, Vocabularies
from lexigraph.words.vectors import WordVectors

if TYPE_CHECKING:
    from lexigraph.abilities.sentences import Sentences

    Model = TypeVar("Model", bound=Sentences)

TABLE, BIAS = "embedding.weight", "bias"  # what grows with the vocabulary


def linear_map(own: Float[np.ndarray, "n i"], known: Float[np.ndarray, "n e"]) -> Float[np.ndarray, "i e"]:
    """W by least squares.

    >>> linear_map(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[3.],
           [2.]])
    """
    return np.linalg.lstsq(own.astype(np.float64), known.astype(np.float64), rcond=None)[0]


def expanded(model: Model, vectors: WordVectors) -> Model:
    """The same model with every word of `vectors` in its vocabulary."""
    old = model.tokenizer
    if old.kind != "word":
        raise UsageError(
            f"This model cuts words into pieces (tokenizer.kind = {old.kind!r}) and reads all of them: there is "
            "nothing to expand."
        )
    lower = model.recipe.tokenizer.lower
    wanted = (word for word in vectors.words if not lower or word == word.lower())
    tokenizer = old.with_words(wanted)
    if len(tokenizer) == len(old):
        raise LexigraphError("The model knows all these words: there is nothing to expand.")
    shared = _rows(old.tokens(range(len(old.special), len(old))), vectors)
    met = np.flatnonzero(shared >= 0)
    if len(met) < vectors.dim:
        raise LexigraphError(
            f"The model and the vectors share {len(met):,} words, and a map of {vectors.dim} numbers needs at least "
            "as many: words of the same language and letter case are needed."
        )
    table = model.network.state_dict()[TABLE].cpu()
    known = table[len(old.special) :][torch.from_numpy(met)].numpy()
    W = linear_map(vectors.vectors[shared[met]], known)
    new = vectors.vectors[_rows(tokenizer.tokens(range(len(old), len(tokenizer))), vectors)] @ W
    vocabularies = Vocabularies({**model.vocabularies, TEXT: tokenizer})
    recipe = dataclasses.replace(
        model.recipe, tokenizer=dataclasses.replace(model.recipe.tokenizer, size=len(tokenizer))
    )
    network = build(recipe, vocabularies)
    grown = model.network.state_dict() | {TABLE: torch.cat([table, torch.from_numpy(new.astype(np.float32))])}
    if BIAS in grown:  # of what is written: a word that was never seen is as rare as the rarest
        bias = grown[BIAS].cpu()
        grown[BIAS] = torch.cat([bias, bias.min().expand(len(new))])
    network.load_state_dict(grown)
    return type(model)(network.to(model.device), vocabularies, recipe)


def _rows(words: list[str], vectors: WordVectors) -> np.ndarray:
    """The row of each word in the own vectors; -1: it has none."""
    return np.array([vectors.index.get(word, -1) for word in words])
