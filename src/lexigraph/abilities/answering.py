"""What a model of question answering can do: find the answer to a question in a text, or say that it holds none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import numpy as np
import torch

from lexigraph.abilities.asking import TextError, many, number, whole
from lexigraph.abilities.textmodel import BATCH_SIZE, TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.answering import BEST, CONTEXT, OFFSETS, QUESTION, AnsweringNetwork, Found
from lexigraph.nn.network import columns_of
from lexigraph.text.encoding import ColumnEncoder, Example
from lexigraph.text.tables import Row

Record = Mapping[str, Any]  # a question and its context


@dataclass(frozen=True)
class Candidate:
    """A stretch of a text: which passage it is from, its first character there, and the one behind its last, both
    counted from 0; and how much better it is than no answer, in nats."""

    text: str
    score: float
    passage: int
    begin: int
    end: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Answer:
    """An answer, "" if there is none, and the best candidates for one."""

    text: str
    candidates: list[Candidate]

    @property
    def score(self) -> float:
        """How much better the best candidate is than no answer, in nats."""
        return self.candidates[0].score if self.candidates else -float("inf")

    def __str__(self) -> str:
        return self.text


class Answerer(TextModel):
    """A stretch of a text for each question."""

    network: AnsweringNetwork

    @overload
    def answer(  # type: ignore[overload-overlap]
        self,
        questions: str | Record,
        context: str | Iterable[str] | None = None,
        *,
        n_best: int = 1,
        threshold: float | None = None,
    ) -> Answer: ...
    @overload
    def answer(
        self,
        questions: Iterable[str] | Iterable[Record],
        context: str | Iterable[str] | None = None,
        *,
        n_best: int = 1,
        threshold: float | None = None,
    ) -> list[Answer]: ...
    def answer(
        self, questions: object, context: object = None, *, n_best: int = 1, threshold: float | None = None
    ) -> Answer | list[Answer]:
        """The answer to each question, cut from the text as it stands there.

        context: a text, or several passages: each question is asked of all of them, and the best answer of all is
            given. Without it, each question is a record, {"question": …, "context": …}, and asked of its own text.
        n_best: how many candidates come with an answer.
        threshold: how much better than none an answer must be; as validation chose it, unless given.

        >>> str(model.answer("Who sings?", "He slept. Anna sings."))        # doctest: +SKIP
        'Anna'
        """
        whole(1, BEST, n_best=n_best)
        if threshold is not None:
            number(threshold=threshold)
        least = float(self.network.threshold) if threshold is None else threshold
        asked, one = self._asked(questions, context)
        answers = []
        for passages, windows in zip((passages for _, passages in asked), self._found(asked), strict=True):
            found = self.network.merge([Found(each.none, []) for each in windows])
            every = [
                Candidate(
                    passages[place][span.begin : span.end], span.score - found.none, place, span.begin, span.end
                )
                for place, each in enumerate(windows)
                for span in each.spans
            ]
            best = sorted(every, key=lambda candidate: -candidate.score)[:n_best]
            text = best[0].text if best and best[0].score >= least else ""
            answers.append(Answer(text, best))
        return answers[0] if one else answers

    def _asked(self, questions: object, context: object) -> tuple[list[tuple[str, Sequence[str]]], bool]:
        """Each question with its passages, and whether one was asked."""
        asked: list[tuple[str, Sequence[str]]]
        if context is not None:
            texts, _ = many(context, named="passage")
            every, one = many(questions, named="question")
            asked = [(question, texts) for question in every]
        else:
            records, one = many(questions, (str, Mapping), "question")
            for place, record in enumerate(records, 1):
                if isinstance(record, str):
                    raise UsageError(
                        "A question is asked of a text: answer(question, context), or records with both, "
                        '{"question": …, "context": …}.'
                    )
                if missing := [field for field in (QUESTION, CONTEXT) if not isinstance(record.get(field), str)]:
                    raise UsageError(f"Record {place} of {len(records)} has no text {missing[0]!r}, which is read.")
            asked = [(record[QUESTION], [record[CONTEXT]]) for record in records]
        for place, (question, passages) in enumerate(asked, 1):
            if not question.strip():
                raise TextError(place, len(asked), "is empty: there is nothing to answer.")
            for other, passage in enumerate(passages, 1):
                if not passage.strip():
                    raise TextError(other, len(passages), "is empty: no answer can be found in it.")
        return asked, one

    def _found(self, asked: Sequence[tuple[str, Sequence[str]]]) -> Iterator[list[Found]]:
        """What is found in each passage of each question."""
        rows = self._windows(asked)
        windows: list[list[list[Found]]] = [[[] for _ in passages] for _, passages in asked]
        while block := list(islice(rows, BATCH_SIZE)):
            examples = {name: [row[name] for _, _, row in block] for name in block[0][2]}
            batch = self.network.prepare(examples).to(self.device)
            with torch.inference_mode():
                found = self.network.predict(batch)
            for (question, passage, _), each in zip(block, found, strict=True):
                windows[question][passage].append(each)
        return ([self.network.merge(each) for each in passages] for passages in windows)

    def _windows(self, asked: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tuple[int, int, dict[str, Row]]]:
        """Question and passage by their numbers, with the columns of every window, as a table would cut them."""
        columns = {name: column for name, column in columns_of(self.recipe).items() if not column.optional}
        of_question = ColumnEncoder({QUESTION: columns.pop(QUESTION)}, self.vocabularies)
        of_passage, traits = ColumnEncoder(columns, self.vocabularies), self.network.traits
        known: dict[str, dict[str, Row]] = {}  # passages that the question before was asked of, too
        for number_of_question, (question, passages) in enumerate(asked):
            if number_of_question and passages is not asked[number_of_question - 1][1]:
                known.clear()
            (row,) = of_question.rows([Example("", {QUESTION: question})])[QUESTION]
            for number_of_passage, passage in enumerate(passages):
                if passage not in known:
                    rows = of_passage.rows([Example("", {CONTEXT: passage})])
                    known[passage] = {name: own[0] for name, own in rows.items()}
                context, offsets = (np.asarray(known[passage][name]) for name in (CONTEXT, OFFSETS))
                step = traits.context - traits.overlap
                for start in range(0, max(1, len(offsets) - traits.overlap), step):
                    end = start + traits.context
                    cut = {CONTEXT: context[start : end + 1], OFFSETS: offsets[start:end], QUESTION: row}
                    yield number_of_question, number_of_passage, cut
