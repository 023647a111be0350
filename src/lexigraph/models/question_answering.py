"""Extractive question answering: the answer to a question is a stretch of a text, copied letter for letter.

Two vectors over the states of a reader of pairs (Devlin et al. 2019), with the part `reader` (--from runs/bert):

    x = <begin> question <end> text <end>
    [s_i; e_i] = W h_i + b                           h_i the state of token i of the text, h_0 that of <begin>

Or, without a part, a bidirectional LSTM that knows the question (Chen et al. 2017, DrQA):

    x_i = E[token i],  y_j = E[token j of the question]
    a_ij = softmax_j(α(x_i) · α(y_j)),  α(x) = max(0, A x + a)         which word of the question is like this one
    p_i = [x_i; Σ_j a_ij y_j; token i is in the question]
    h = BiLSTM(p),  g = BiLSTM(y)                                      x_0 is the boundary before the text
    q = Σ_j b_j g_j,  b = softmax_j(w · g_j)                           the question as one vector
    s_i = h_i · (W_s q),  e_i = h_i · (W_e q)

What begins and ends mean, how an answer is chosen and when there is none: nn/answering.py.

Shapes: B batch, S positions (1 + tokens of a window), Q tokens of a question, e width of x, h of a state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.answering import (
    ANSWER,
    CONTEXT,
    OFFSETS,
    QUESTION,
    AnsweringNetwork,
    asked,
    going_on,
    windows,
)
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.mix import mix_of
from lexigraph.nn.network import NO_PARTS, READ, Examples, Parts, Seeds, given_to_part
from lexigraph.nn.recurrent import Recurrent
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Tokens, Vocabularies


@dataclass(frozen=True)
class Config:
    context: int = ranged(
        384, 2, about="most tokens of a window of the text; with a part, no more than it has room for"
    )
    overlap: int = ranged(128, 0, about="tokens that a window shares with the one before it, at most half of them")
    question: int = ranged(
        64, 1, about="most tokens of a question, the rest is not read; with a part, a third of its room at most"
    )
    answer: int = ranged(30, 1, about="most tokens of an answer")
    embedding: int = ranged(100, 1, about="numbers in the vector of a token, where no part reads for it")
    dim: int = ranged(128, 1, about="numbers in the state of each direction, where no part reads")
    layers: int = ranged(1, 1, about="recurrent layers in each direction, where no part reads")
    reader_layers: tuple[int, ...] = key(
        (),
        about="layers of a part that are mixed, by weights that are learned; 0: what goes in; none: the last alone",
    )
    dropout: float = ranged(0.3, 0, 0.999, about="share of the numbers set to 0 on embeddings and states")


@dataclass(frozen=True)
class Objective:
    pass


class AttentiveReader(nn.Module):
    """h_i of every position, and q."""

    def __init__(self, config: Config, tokens: Tokens) -> None:
        super().__init__()
        self.unk = tokens.unk  # two unknown words are not the same
        self.embedding = TokenTable(len(tokens), config.embedding)
        nn.init.normal_(self.embedding.weight, std=config.embedding**-0.5)
        self.likeness = nn.Linear(config.embedding, config.embedding)  # A, a
        self.text = self._lstm(2 * config.embedding + 1, config)
        self.question = self._lstm(config.embedding, config)
        self.width = self.text.width
        self.weight = nn.Linear(self.width, 1, bias=False)  # w
        self.dropout = nn.Dropout(config.dropout)

    @staticmethod
    def _lstm(inputs: int, config: Config) -> Recurrent:
        return Recurrent("lstm", inputs, config.dim, config.layers, bidirectional=True, dropout=config.dropout)

    def forward(self, batch: Batch) -> tuple[Float[Tensor, "B S h"], Float[Tensor, "B h"]]:
        ids, words, sizes = batch["inputs"], batch[QUESTION], batch["question_lengths"]
        inside = torch.arange(words.shape[1], device=words.device) < sizes[:, None]
        x, y = self.dropout(self.embedding(ids)), self.dropout(self.embedding(words))
        like = self.likeness(x).relu() @ self.likeness(y).relu().transpose(1, 2)
        a = like.masked_fill(~inside[:, None], -torch.inf).softmax(2)
        same = (ids[:, :, None] == words[:, None]) & (inside & (words != self.unk))[:, None]
        match = same.any(2, keepdim=True)
        h, _ = self.text(torch.cat([x, a @ y, match.to(x.dtype)], 2), batch["lengths"])
        g, _ = self.question(y, sizes)
        b = self.weight(g).masked_fill(~inside[:, :, None], -torch.inf).softmax(1)
        return self.dropout(h), self.dropout((b * g).sum(1))


class QuestionAnswering(AnsweringNetwork):
    """The network; `network(batch)` gives how well an answer begins and ends at every position."""

    part_names = ("reader",)

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        self.config, self.objective, self.longest = config, objective, config.answer
        self.pad, self.eos, self.goes_on = tokens.pad, tokens.eos, going_on(tokens)
        self.reader = parts.get("reader")
        self.mix = mix_of(config.reader_layers, self.reader)
        room = self._room_of_part()
        self.question_room = min(config.question, max(1, room // 3)) if room else config.question
        context = min(config.context, room - self.question_room) if room else config.context
        overlap = min(config.overlap, context // 2)
        self.traits = Traits(context=context, windowed=CONTEXT, overlap=overlap, corrupts_on_host=True)
        self.dropout = nn.Dropout(config.dropout)
        if self.reader is not None:
            self.output = OutputTable(self.reader.width, 2)  # W, b
        else:
            self.attentive = AttentiveReader(config, tokens)
            width = self.attentive.width
            self.begin, self.end = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def _room_of_part(self) -> int:
        """How many tokens a part has room for; 0: any number, or there is no part."""
        if self.reader is None:
            return 0
        if self.reader.reads_words:
            raise UsageError(
                "A part that reads words by their letters does not read pairs: take bert, electra or gpt."
            )
        room = self.reader.pair_context
        if room and room < 6:
            raise UsageError(f"The part has room for {room} tokens: too few for a question and a text.")
        return room

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        if recipe.data.clean or recipe.data.rare:
            raise UsageError(
                "Answers are copied from the text as it stands, so that it cannot be cleaned: leave out data.clean "
                "and data.rare."
            )
        return {
            CONTEXT: Column("tokens"),
            QUESTION: Column("tokens"),
            OFFSETS: Column("offsets", field=CONTEXT, aligned=CONTEXT),
            ANSWER: Column("answers", aligned=CONTEXT, optional=True),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Questions, windows of the text that they are asked of, and where the right answers are in them."""
        questions, contexts = windows(examples, self.eos, self.question_room)
        if self.reader is None:
            rows = [np.concatenate([[self.eos], row]) for row in contexts]
            tensors = {
                "inputs": torch.from_numpy(padded(rows, self.pad)),
                QUESTION: torch.from_numpy(padded(questions, self.pad)),
                "question_lengths": torch.tensor([len(row) for row in questions]),
            }
            return asked(tensors, examples, contexts, self.goes_on)
        pairs = ([np.concatenate([[self.eos], row, [self.eos]]) for row in rows] for rows in (questions, contexts))
        read = self.reader.reading(*pairs).tensors
        where = [
            np.concatenate([[0], len(question) + 2 + np.arange(len(row))])
            for question, row in zip(questions, contexts, strict=True)
        ]
        tensors = {f"{READ}{name}": tensor for name, tensor in read.items()}
        tensors["where"] = torch.from_numpy(padded(where, 0))
        return asked(tensors, examples, contexts, self.goes_on)

    def forward(self, batch: Batch) -> Float[Tensor, "B S 2"]:
        if self.reader is None:
            h, q = self.attentive(batch)
            both = torch.stack([self.begin(q), self.end(q)], 2)
            return h @ both
        layers = self.reader.states(given_to_part(batch)).layers
        h = layers[-1] if self.mix is None else self.mix(layers)
        h = h.gather(1, batch["where"][:, :, None].expand(-1, -1, h.shape[2]))
        return self.output(self.dropout(h.to(self.output.weight.dtype)))

    def logits(self, batch: Batch) -> Float[Tensor, "B S 2"]:
        found = self(batch)
        inside = torch.arange(found.shape[1], device=found.device) < batch["lengths"][:, None]
        return found.masked_fill(~inside[:, :, None], -torch.inf)
