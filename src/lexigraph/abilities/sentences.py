"""What sentence encoders can do: a vector for a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from lexigraph.abilities.asking import one_or_many
from lexigraph.abilities.expansion import expanded
from lexigraph.abilities.textmodel import BATCH_SIZE
from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import UsageError
from lexigraph.models.sentence_encoder import SentenceEncoder
from lexigraph.words.vectors import WordVectors


class Sentences(Vectors):
    """A vector for every sentence."""

    network: SentenceEncoder
    of_unknown_words = ": they are read as unknown, unless `lexigraph expand` gives the model vectors of theirs"

    @one_or_many
    def encode(
        self,
        texts: Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n dim"]:
        """The vector of each text, as the encoder gives it."""
        if lossless or unnormalised or pooling is not None:
            raise UsageError("A sentence encoder has one vector for a text: leave out other options.")
        rows, end = self._sentences(texts), self.network.end
        z = np.zeros((len(rows), self.network.width), np.float32)
        order = np.argsort([len(row) for row in rows], kind="stable")  # like lengths together
        for first in range(0, len(rows), BATCH_SIZE):
            chosen = order[first : first + BATCH_SIZE]
            batch = self._batch([[*rows[i].tolist(), end] for i in chosen])
            with torch.inference_mode():
                z[chosen] = self.network.encode(batch["ids"], batch["lengths"]).float().cpu().numpy()
        return z

    def expanded(self, vectors: str | Path | WordVectors) -> Sentences:
        """This model with the words of own vectors that it lacks, mapped into its table (Kiros et al. 2015).

        vectors: a file, a run of word vectors, or `WordVectors`. `lexigraph expand` makes a run folder of it.
        """
        return expanded(self, vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors))
