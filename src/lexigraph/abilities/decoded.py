"""A text that was decoded, with how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.textmodel import Scored
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.latent.confidence import Confidence, cosines, judged
from lexigraph.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from lexigraph.abilities.spaces import SentenceSpace


@dataclass(frozen=True)
class Decoded(Scored):
    """A text that was decoded, how far it is to be trusted, and if it was asked for, where the decoder looked in the
    picture: `attention[t]` is how much at each of the 4 × 4 patches while it wrote piece t; each adds up to 1."""

    confidence: Confidence = field(kw_only=True, compare=False)
    pieces: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    attention: Float[np.ndarray, "pieces 4 4"] | None = field(default=None, kw_only=True, compare=False, repr=False)


def with_confidence(
    model: SentenceSpace,
    found: list[list[Hypothesis]],
    asked: np.ndarray,
    noise: float | np.ndarray,
    again: Callable[[list[str]], np.ndarray],
    *,
    pictures: bool = False,
) -> list[list[Decoded]]:
    """Hypotheses with their confidence; `again` makes of texts what was `asked`, a row of numbers for each: of
    its vector or (`pictures`) its picture."""
    told = model.scored(found)
    texts = [one.text for row in told for one in row]
    fit = np.array(model.fits(texts) if texts else [], bool)
    back = np.zeros((len(texts), asked.shape[1]))  # of what cannot be encoded, nothing comes back
    if fit.any():
        back[fit] = again([text for text, fits in zip(texts, fit, strict=True) if fits])
    origins = np.repeat(np.arange(len(found)), [len(row) for row in found])
    near = iter(cosines(asked[origins], back).tolist())
    noises = np.broadcast_to(np.asarray(noise, np.float64), (len(found),)).tolist()
    answers: list[list[Decoded]] = []
    for hypotheses, row, level in zip(found, told, noises, strict=True):
        trusted = [judged(next(near), one.log_probability / max(1, one.tokens), level, pictures) for one in row]
        answers.append([_one(*each, model.tokenizer) for each in zip(hypotheses, row, trusted, strict=True)])
    return answers


def _one(found: Hypothesis, told: Scored, confidence: Confidence, tokenizer: Tokenizer) -> Decoded:
    scored = told.text, told.log_probability, told.tokens, told.score
    if found.attention is None:
        return Decoded(*scored, confidence=confidence)
    pieces = tokenizer.tokens([*found.tokens, *[tokenizer.eos] * found.finished])
    looked = found.attention.reshape(-1, 4, 4).numpy()
    return Decoded(*scored, confidence=confidence, pieces=tuple(pieces), attention=looked)
