"""What models of words in context can do: a vector for every word of a text, and one for the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float32

from lexigraph.abilities.asking import TextError, one_or_many
from lexigraph.abilities.textmodel import BATCH_SIZE
from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import UsageError
from lexigraph.models.elmo import ELMo


class ContextualWords(Vectors):
    """Words stand between white space, and are known by their letters: none is unknown."""

    network: ELMo

    @one_or_many
    def words(self, texts: Sequence[str], *, layer: int | None = None) -> list[Float32[np.ndarray, "words dim"]]:
        """A vector for every word of each text: the mean of all layers, or one (0: by its letters alone)."""
        depth = self.network.depth
        if layer is not None and not -depth <= layer < depth:
            raise UsageError(f"There is no layer {layer}: this model has 0 to {depth - 1}.")
        rows, found = self._by_letters(texts), list[np.ndarray]()
        for first in range(0, len(rows), BATCH_SIZE):
            batch = self.network.reading_words(rows[first : first + BATCH_SIZE]).to(self.device)
            with torch.inference_mode():
                layers = torch.stack(self.network.states(batch).layers).float()
            states = layers.mean(0) if layer is None else layers[layer]
            found += [row[1 : n + 1].cpu().numpy() for row, n in zip(states, batch["lengths"].tolist(), strict=True)]
        return found

    @one_or_many
    def encode(
        self,
        texts: Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n dim"]:
        """One vector for each text: the mean of those of its words."""
        if lossless or unnormalised or pooling not in (None, "mean"):
            raise UsageError("The vector of a text is the mean of those of its words: leave out other options.")
        return np.stack([words.mean(0) for words in self.words(texts)]).astype(np.float32)

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text has words, and not more of them than the model reads at once; letters do not count."""
        return [0 < len(text.split()) <= self.network.config.context for text in self.cleaned(texts)]

    def _by_letters(self, texts: Sequence[str]) -> list[list[np.ndarray]]:
        """The letters of every word of texts, none of which may be empty."""
        rows = []
        for number, text in enumerate(self.cleaned(texts), 1):
            words = text.split()
            if not words:
                raise TextError(number, len(texts), "has no words: there is nothing to read.")
            if len(words) > self.network.config.context:
                raise TextError(
                    number, len(texts), f"has {len(words)} words, and this model reads {self.network.config.context}."
                )
            rows.append(self.tokenizer.encode_words(words))
        return rows
