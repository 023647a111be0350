"""What captioners can do: say in a sentence what is to be seen in a picture, and where they looked meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8

from lexigraph.abilities.asking import many, number, whole
from lexigraph.abilities.textmodel import BATCH_SIZE, Input, Scored, TextModel
from lexigraph.abilities.token_translating import Drawn
from lexigraph.decoding.choices import seed_of
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.sampling import generate
from lexigraph.errors import UsageError
from lexigraph.models.captioner import Captioner as Network

LENGTH_PENALTY = 0.7


@dataclass(frozen=True)
class Caption(Scored):
    """A caption and, if it was asked for, where the model looked: `attention[t, y, x]` is how much at a position of
    the picture while it wrote piece t; each piece's adds up to 1."""

    pieces: tuple[str, ...] = ()
    attention: Float[np.ndarray, "pieces rows columns"] | None = field(default=None, compare=False, repr=False)


class Captioner(TextModel):
    """A picture in, a sentence out."""

    network: Network

    def caption(
        self,
        pictures: object,
        *,
        beam: int = 5,
        alpha: float = LENGTH_PENALTY,
        n_best: int = 1,
        attention: bool = False,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> Any:
        """What is to be seen in a picture, a text; with n_best > 1 or attention, the best few as `Caption`. Of many
        pictures, a list of these.

        pictures: files, arrays of 8 bits a channel, or records with the field `image`.
        temperature: above 0, captions are drawn in place of a search, n_best of each picture, from the most probable
            tokens of mass top_p (decoding/sampling.py). The same seed gives the same captions.

            >>> model.caption("beach.jpg")        # doctest: +SKIP
            'A dog runs along the beach .'
        """
        whole(beam=beam, n_best=n_best)
        number(alpha=alpha, seed=seed)
        number(0, temperature=temperature)
        number(0, 1, top_p=top_p)
        if attention and not self.network.aligned:
            raise UsageError('This model was trained without attention (model.attention = "none"): it looks nowhere.')
        every, one = self.pictures_in(pictures)
        found = self.captions(
            every,
            beam=max(beam, n_best),
            alpha=alpha,
            n_best=n_best,
            attention=attention,
            drawn=Drawn(temperature, top_p, seed) if temperature else None,
        )
        if n_best == 1 and not attention:
            texts = [self.tokenizer.decode(best[0].tokens) for best in found]
            return texts[0] if one else texts
        several = [[self._caption(each) for each in best] for best in found]
        return several[0] if one else several

    @staticmethod
    def pictures_in(given: object) -> tuple[list[Input], bool]:
        """Pictures as a list, and whether it was one."""
        listed = list(given) if isinstance(given, np.ndarray) and given.ndim == 4 else given
        return many(listed, (str, Path, np.ndarray, Mapping), "picture")

    def captions(
        self,
        pictures: list[Input],
        *,
        beam: int = 5,
        alpha: float = LENGTH_PENALTY,
        n_best: int = 1,
        attention: bool = False,
        drawn: Drawn | None = None,
    ) -> list[list[Hypothesis]]:
        """The best captions of each picture as tokens."""
        found: list[list[Hypothesis]] = []
        for batch in self._batches(pictures, BATCH_SIZE):
            beginning = self.network.beginning(batch, [1] * len(batch["images"])).tensors
            longest = self.network.config.context
            if drawn is None:
                with torch.inference_mode():
                    found += self._search(beginning, beam, longest, alpha, n_best, attention=attention)
                continue
            keys = [str(image.tolist()) for image in batch["images"]]
            texts = generate(
                self.network,
                {name: value.repeat_interleave(n_best, 0) for name, value in beginning.items()},
                eos=self.tokenizer.eos,
                max_new=longest,
                temperature=drawn.temperature,
                top_p=drawn.top_p,
                seeds=[seed_of(drawn.seed, place, key) for key in keys for place in range(n_best)],
                banned=self._banned,
                attention=attention,
            )
            each = [texts[first : first + n_best] for first in range(0, len(texts), n_best)]
            found += [sorted(those, key=lambda hypothesis: -hypothesis.log_probability) for those in each]
        return found

    def picture(self, given: Input) -> UInt8[np.ndarray, "height width channels"]:
        """A picture as the model reads it."""
        (batch,) = self._batches([given])
        return np.asarray(batch["images"][0].cpu())

    def _caption(self, found: Hypothesis) -> Caption:
        """A hypothesis as text, with the pieces that its attention speaks of."""
        encoder, end = self.network.encoder, [self.tokenizer.eos] * found.finished
        text = self.tokenizer.decode(found.tokens)
        scored = text, found.log_probability, found.produced, found.score
        if found.attention is None:
            return Caption(*scored)
        pieces = self.tokenizer.tokens([*found.tokens, *end])
        where = found.attention.numpy().reshape(-1, encoder.rows, encoder.columns)
        return Caption(*scored, tuple(pieces), where)
