"""What a search may choose from: the tokens that are allowed, and the random numbers of each sentence.

Chance is batch invariant: a sentence draws from a counter-based generator (Philox) of its own seed, so it
gets the same numbers alone, in any batch, and on any device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.memory import refuse_beyond

LONGEST = 1_000_000  # new tokens of a text: days of work


def forbidden(vocabulary: int, eos: int, banned: Sequence[int], device: torch.device) -> Int[Tensor, " banned"]:
    """The banned ids as an index; ids outside the vocabulary are refused."""
    for token in (eos, *banned):
        if not 0 <= token < vocabulary:
            raise LexigraphError(
                f"Token {token} (end or banned) is outside the model's vocabulary of {vocabulary}: "
                "pass ids of the tokenizer that the model was trained with."
            )
    return torch.tensor(sorted(set(banned)), dtype=torch.long, device=device)


def log_probabilities(logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """log softmax, in float32 or better; a new tensor, which the search may write to."""
    return logits.log_softmax(1, dtype=torch.promote_types(logits.dtype, torch.float32))


CHUNK = 128  # columns that are looked at together


def highest(scores: Float[Tensor, "rows vocab"], k: int) -> tuple[Float[Tensor, "rows k"], Int[Tensor, "rows k"]]:
    """The k highest scores of each row, in order, and their columns.

    On a CPU in two steps, which are four times as fast for a large vocabulary: the k best of a row stand in the k
    chunks whose maxima are highest.
    """
    columns = scores.shape[1]
    if not scores.is_cpu or columns < 16 * CHUNK or k > 16:
        return scores.topk(k)
    even = columns // CHUNK * CHUNK
    chunks = scores[:, :even].unflatten(1, (-1, CHUNK))
    which = chunks.amax(2).topk(k)[1]
    near = chunks.gather(1, which[:, :, None].expand(-1, -1, CHUNK)).flatten(1)
    found, positions = torch.cat([near, scores[:, even:]], 1).topk(k)
    inside = which.gather(1, (positions // CHUNK).clamp(max=k - 1)) * CHUNK + positions % CHUNK
    return found, torch.where(positions < k * CHUNK, inside, positions - k * CHUNK + even)


def refuse_long(max_new: int, rows: int) -> None:
    """Refuse more new tokens than can be meant, or kept."""
    if not 1 <= max_new <= LONGEST:
        raise LexigraphError(f"max_new is {max_new}: ask for 1 to {LONGEST:,} new tokens.")
    refuse_beyond(16 * rows * max_new, f"max_new = {max_new}", f"the tokens of {rows:,} texts")


def seed_of(seed: int, number: int, what: str) -> int:
    """A seed for the so-and-so-manieth text that is made of the same beginning, whatever else is made."""
    text = f"{seed}:{number}:{what}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


class SentenceRng:
    """One random generator per sentence."""

    def __init__(self, seeds: Sequence[int] | None, sentences: int) -> None:
        if seeds is None or len(seeds) != sentences:
            given = "none" if seeds is None else str(len(seeds))
            raise LexigraphError(
                f"Sampling and noise need one seed per sentence: {sentences} wanted, {given} given. "
                "Pass seeds=[0, 1, …]."
            )
        if any(seed < 0 for seed in seeds):
            raise LexigraphError(f"A seed is negative in {list(seeds)}: pass seeds of 0 or more.")
        self._generators = [np.random.Generator(np.random.Philox(int(seed))) for seed in seeds]

    def uniforms(self, steps: int) -> Float64[Tensor, "sentences steps"]:
        """Numbers in [0, 1), one per step; a longer request begins with the same numbers."""
        return torch.from_numpy(np.stack([generator.random(steps) for generator in self._generators]))

    def gaussians(self, alive: Sequence[int], width: int, vocabulary: int) -> Float[Tensor, "rows vocab"]:
        """The next standard normal numbers, for `width` rows of each of these sentences."""
        shape = (width, vocabulary)
        drawn = [self._generators[i].standard_normal(shape, dtype=np.float32) for i in alive]
        return torch.from_numpy(np.concatenate(drawn))
