"""What translators can do beside translating: summarise a text."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from lexigraph.abilities.asking import TextError, number, one_or_many, whole
from lexigraph.abilities.directions import To
from lexigraph.abilities.translating import Translator


class Writer(Translator):
    """A source in, a text about it out."""

    @one_or_many
    def summarise(
        self,
        texts: Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 1.0,
        shortest: int = 0,
        longest: int = 0,
        no_repeat: int = 3,
        to: To = None,
    ) -> list[str]:
        """A summary of each text, as the model learned to write them from pairs of a text and its summary.

        Of a text that is longer than the model reads, its beginning is summarised; a warning says so.

        shortest, longest: of a summary, in tokens; 0: as short as it likes, as long as the model can write.
        no_repeat: no sequence of so many tokens comes twice in a summary; 0: it may.
        to: the task that is wanted, if the model was taught several.

            >>> model.summarise([article], longest=60)        # doctest: +SKIP
            ['Ada Lovelace was an English mathematician.']
        """
        whole(beam=beam)
        whole(0, shortest=shortest, longest=longest, no_repeat=no_repeat)
        number(alpha=alpha)
        with self._towards(to) as lead:
            found = self.translations(
                [np.concatenate([np.array(lead, np.int64), row]) for row in self._beginnings(texts, len(lead))],
                beam=beam,
                alpha=alpha,
                shortest=shortest,
                longest=min(longest or self._longest, self._longest),
                no_repeat=no_repeat,
            )
        return list(self.tokenizer.decode_batch([best[0].tokens for best in found]))

    def _beginnings(self, texts: Sequence[str], lead: int) -> list[np.ndarray]:
        """As many tokens of each text as the model can read behind so many others."""
        rows, most = self.rows(texts, self.reading_tokenizer)[0], self._longest - lead
        if empty := next((place for place, row in enumerate(rows, 1) if not len(row)), 0):
            raise TextError(empty, len(rows), "is empty, or nothing is left of it: there is nothing to summarise.")
        if cut := sum(len(row) > most for row in rows):
            warnings.warn(
                f"{cut} of {len(rows)} texts are longer than the {most} tokens that this model reads: of these the "
                "beginning is summarised.",
                stacklevel=4,
            )
        return [row[:most].astype(np.int64) for row in rows]
