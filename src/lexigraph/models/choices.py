"""Which of several candidates goes with a text: each is scored by itself, and the scores compete.

    v_i = the vector of the pair (text, candidate i)             nn/text_vectors.py: read together, apart
    v_i = ReLU(W v_i + b)                                        for each of the `hidden` layers
    p(i) = softmax_i(w · v_i)                                    over the candidates of this example
    loss = - log p(label)  +  λ · NLL of the texts' own tokens   λ: `auxiliary`

So multiple-choice questions, endings of stories and forms of a verb are answered (Radford et al. 2018; Devlin et al.
2019 on SWAG). Every example may have another number of candidates. A candidate does not see the others, and in which
order they are listed makes no difference. Records hold `text`, `choices` (a list) and `label` (text/choices.py).

Shapes: B batch, R candidates of all examples, N most candidates of one, w of v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.network import NO_PARTS, Examples, Outputs, Parts, Predictor, Seeds, ragged
from lexigraph.nn.text_config import TextConfig, TextObjective, summed, vocabulary_of
from lexigraph.nn.text_vectors import OTHER, TextNetwork
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.sections import key
from lexigraph.text.batches import padded
from lexigraph.text.choices import CHOICES, LABEL
from lexigraph.text.columns import MAIN, Column, Columns
from lexigraph.text.vocabularies import TEXT, Vocabularies

Scores = Float[Tensor, " N"]  # log p of the candidates of an example


@dataclass(frozen=True)
class Config(TextConfig):
    pairs: Literal["together", "apart"] = key(
        "together", about="a part reads a text and a candidate as one (without a part: apart), or each has a vector"
    )


@dataclass(frozen=True)
class Objective(TextObjective):
    pass


class Choices(TextNetwork, Predictor[Scores]):
    """The network; `network.scores(batch)` gives log p of the candidates of each example."""

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__(config, vocabularies, parts, objective.auxiliary)
        self.objective = objective
        self.output = nn.Linear(self.width, 1, bias=False)  # what is added to all candidates changes nothing

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        part = recipe.parts.get("reader")
        if summed(recipe.model) or (part and getattr(system(part.system).network_class(), "reads_words", False)):
            raise UsageError(
                'Candidates are read token by token: leave model.joined at "instead", and take a part that reads '
                "tokens (bert, gpt …)."
            )
        text = {TEXT: super().columns(recipe)[TEXT]}
        cut: Literal["", "word"] = "word" if recipe.model.vectors else ""
        listed = Column("tokens", vocabulary_of(recipe.model), by_word=True, texts=True, cut=cut)
        return {**text, CHOICES: listed, LABEL: Column("number", vocabulary=LABEL, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Every text with each of its candidates, and where the candidates of an example are."""
        listed = cast("Sequence[list[np.ndarray]]", examples[CHOICES])
        counts = [len(row) for row in listed]
        texts = [text for text, count in zip(ragged(examples[TEXT]), counts, strict=True) for _ in range(count)]
        others = [np.array([self.end, *choice, self.end]) for row in listed for choice in row]
        own = None if seeds is None else {MAIN: np.repeat(seeds[MAIN], counts)}
        tensors = self.read({TEXT: texts, OTHER: others}, own)
        ends = np.cumsum(counts)
        rows = [np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)]
        tensors["candidates"] = torch.from_numpy(padded(rows, -1))
        if LABEL not in examples:
            return self.counted(Batch(tensors, {"loss": 0.0}))
        labels = torch.tensor([int(label) for label in ragged(examples[LABEL])])
        return self.counted(Batch(tensors | {LABEL: labels}, {"loss": float(len(labels))}))

    def _log_p(self, v: Float[Tensor, "R w"], batch: Batch) -> Float[Tensor, "B N"]:
        """log p(i); -∞ where an example has no more candidates."""
        where = batch["candidates"]
        scores = self.output(v)[:, 0]
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))[where.clamp(min=0)]
        return scores.masked_fill(where < 0, -torch.inf).log_softmax(1)

    def scores(self, batch: Batch) -> Float[Tensor, "B N"]:
        return self._log_p(self.represented(batch).vectors, batch)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        read = self.represented(batch)
        nll = F.nll_loss(self._log_p(read.vectors, batch), batch[LABEL], reduction="none")
        term = Term(nll.sum(), batch.counts["loss"], items=nll.detach()[:, None])
        return {"loss": term} | self.language_terms(batch, read), None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {CHOICES: self.predict(batch)}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Scores]:
        counts = (batch["candidates"] >= 0).sum(1).tolist()
        return [row[:count] for row, count in zip(self.scores(batch), counts, strict=True)]

    def merge(self, windows: Sequence[Scores]) -> Scores:
        """The mean over the windows of a long text."""
        return torch.stack(list(windows)).mean(0)
