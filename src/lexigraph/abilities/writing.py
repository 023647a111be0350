"""What translators can do beside translating: summarise a text, and answer a question.

What they can do well is what they were taught: by pairs of a text and its summary, or of a question and its answer. A
question and the text that is asked are one source, as T5 has them:

    question: Who sings? context: He slept. Anna sings.        with a context: the answer is in it
    question: Who wrote Hamlet?                                without: the answer is what the model has learned
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from lexigraph.abilities.asking import TextError, many, number, one_or_many, whole
from lexigraph.abilities.directions import To
from lexigraph.abilities.translating import Translator
from lexigraph.errors import UsageError


def asking(question: str, context: str | None = None) -> str:
    """The source that asks a question, of a text or of what a model has learned.

    >>> asking("Who sings?", "Anna sings.")
    'question: Who sings? context: Anna sings.'
    """
    return f"question: {question}" if context is None else f"question: {question} context: {context}"


class Writer(Translator):
    """A source in, a text about it out."""

    @one_or_many
    def answer(
        self,
        questions: Sequence[str],
        *,
        context: str | Sequence[str] | None = None,
        beam: int = 5,
        alpha: float = 0.7,
        to: To = None,
    ) -> list[str]:
        """An answer to each question, in the model's own words.

        context: what is asked: a text for all questions, or one for each; without, the model answers from what it has
            learned. to: the task that is wanted, if the model was taught several.

            >>> model.answer("Who sings?", context="He slept. Anna sings.")        # doctest: +SKIP
            'Anna'
        """
        if empty := next((place for place, question in enumerate(questions, 1) if not question.strip()), 0):
            raise TextError(empty, len(questions), "is empty: there is nothing to answer.")
        texts: Sequence[str | None] = [None] * len(questions)
        if context is not None:
            given, one = many(context, named="context")
            texts = given * len(questions) if one else given
        if len(texts) != len(questions):
            raise UsageError(f"There are {len(questions)} questions and {len(texts)} contexts: give one for each.")
        asked = [asking(question, text) for question, text in zip(questions, texts, strict=True)]
        return list(map(str, self.translate(asked, beam=beam, alpha=alpha, to=to)))

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
