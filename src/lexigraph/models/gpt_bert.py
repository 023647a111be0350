"""GPT-BERT: one network that fills masked tokens and goes on with a text (Charpentier & Samuel 2024).

The network is a GPT (models/gpt.py), read in two ways; the output table and all weights are the same in both.

    causal     <eos> w_1 … w_n          every position looks back:          x_t predicts w_{t+1}
    masked     <eos> w_1 _ … w_n <eos>  every position sees every other:    x_{t-1} predicts the token masked at t
    p = softmax(Norm(x) Eᵀ)
    loss       (1 - c) · mean NLL of masked tokens + c · mean NLL of next tokens          c = causal_share

A masked token is predicted where the token before it stands (masked next-token prediction), so that in both ways a
state stands for what comes next, and what is learned in one serves the other. A share c of the rows, each at random
of its own, is read causally (1/16: one causal row to 15 masked ones); the others are masked as BERT's are
(objectives/masking.py). In evaluation every text is read both ways.

Shapes: B batch, T time, K masked positions of a text, d width, V vocabulary, R rows of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.models import bert, gpt
from lexigraph.models.gpt import Config as Config
from lexigraph.nn.attention import within
from lexigraph.nn.bidirectional import at, initialise
from lexigraph.nn.network import (
    Examples,
    FillingLanguageNetwork,
    MaskFiller,
    Outputs,
    Seeds,
    States,
    ragged,
    unpadded,
)
from lexigraph.nn.stepper import Step
from lexigraph.objectives import masking
from lexigraph.objectives.masked import Frame, Words, beginnings, check_rates, contents, framed, rate_at, seeds_for
from lexigraph.objectives.next_token import IGNORE, next_token_terms, shifted
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import ranged, same
from lexigraph.text.columns import MAIN, Traits
from lexigraph.text.vocabularies import Vocabularies

CAUSAL = "causal_"  # before the names of the tensors of rows that are read causally


@dataclass(frozen=True)
class Objective:
    causal_share: float = ranged(
        1 / 16, 0, 1, about="share of the rows that are read left to right, and of their loss"
    )
    mask_rate: float = same(bert.Objective, "mask_rate")
    final_mask_rate: float = same(bert.Objective, "final_mask_rate")
    mask_steps: int = same(bert.Objective, "mask_steps")
    dynamic: bool = same(bert.Objective, "dynamic")
    whole_word: bool = same(bert.Objective, "whole_word")
    spans: bool = same(bert.Objective, "spans")


class GPTBERT(FillingLanguageNetwork):
    """The network; `network(ids)` gives logits of the next token, `network.masked_logits` those of masked ones."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        check_rates(objective)
        self.config, self.objective, self.vocabulary = config, objective, len(tokens)
        self.frame, self.words = Frame.of(tokens), Words.of(tokens)
        self.context = config.context - 2  # tokens of a text, without boundaries
        if self.context < 1:
            raise UsageError(f"model.context = {config.context} has no room for a token between the boundaries.")
        self.traits = Traits(context=self.context, causal="text", corrupts_on_host=True, terms=("loss", "causal"))
        self.gpt = gpt.GPT(config, gpt.Objective(), vocabularies)
        self.gpt.apply(partial(initialise, deviation=0.0))  # as LTG-BERT, from which GPT-BERT comes
        self.pad, self.width = tokens.pad, config.dim
        self.special = max(self.frame.first_word, self.words.first)  # ids below are no words

    # ---- both ways ---------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position, seen from those before it."""
        return self.gpt(ids)

    def hidden(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T d"]:
        """The last layer's output where every position sees every other."""
        lengths = torch.full_like(ids[:, 0], ids.shape[1]) if lengths is None else lengths
        return self.gpt.hidden(ids, within(lengths, ids.shape[1]))

    pair_context = MaskFiller.pair_context

    def reading(
        self, rows: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None, *, closed: bool = False
    ) -> Batch:
        return MaskFiller.reading(self, rows, others, closed=closed)

    def states(self, batch: Batch) -> States:
        return self.gpt.states(batch, within(batch["lengths"], batch["inputs"].shape[1]))

    def masked_logits(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None, positions: Int[Tensor, "B K"]
    ) -> Float[Tensor, "B K V"]:
        """Logits of the tokens at some positions, each from the state before it."""
        return F.linear(self._before(ids, lengths, positions), self.gpt.output_table)

    def _before(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None, positions: Int[Tensor, "B K"]
    ) -> Float[Tensor, "B K d"]:
        return at(self.hidden(ids, lengths), (positions - 1).clamp(min=0))  # at 0: padding

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences: in training, some rows to go on with, the others masked; else all masked."""
        objective, texts = self.objective, ragged(examples["text"])
        own = seeds_for(texts, None if seeds is None else seeds[MAIN], objective.dynamic)
        share, rate = 0.0 if seeds is None else objective.causal_share, rate_at(objective, step)
        causal, masked = list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]]()
        for text, seed in zip(texts, own.tolist(), strict=True):
            random = random_of(seed)
            if random.random() < share:
                causal.append(text)
                continue
            row = contents(text, self.context, self.frame)
            by_word = objective.whole_word or objective.spans
            masked.append(
                masking.masked(
                    row,
                    random,
                    mask_rate=rate,
                    mask=self.frame.mask,
                    vocabulary=self.vocabulary,
                    special=self.special,
                    begins=beginnings(self.words, row) if by_word else None,
                    spans=objective.spans,
                )
            )
        tensors, counts = dict[str, Tensor](), dict[str, float]()
        if masked:
            tensors = framed(masked, [], self.frame)
            counts["loss"] = float((tensors["targets"] != IGNORE).sum())
        if causal:
            read = shifted(causal, self.pad)
            tensors |= {CAUSAL + name: tensor for name, tensor in read.tensors.items()}
            counts["causal"] = read.counts["loss"]
        return Batch(tensors, counts)

    def prepare_in_order(self, examples: Examples) -> Batch:
        """A batch in which every token but the first is predicted from those before it: what a text is scored by."""
        return shifted(ragged(examples["text"]), self.pad)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        tensors, table, terms = batch.tensors, self.gpt.output_table, Terms()
        if "positions" in tensors:
            before = self._before(batch["inputs"], batch["lengths"], batch["positions"])
            (term,) = next_token_terms(before, table, batch, pad=self.pad).values()
            terms["loss"] = replace(term, weight=1 - self.objective.causal_share)
        elif "inputs" in tensors:  # in order
            return self.gpt.loss(batch)
        if CAUSAL + "inputs" in tensors:
            own = {name.removeprefix(CAUSAL): tensor for name, tensor in tensors.items() if name.startswith(CAUSAL)}
            (term,) = self.gpt.loss(Batch(own, {"loss": batch.counts["causal"]}))[0].values()
            terms["causal"] = replace(term, weight=self.objective.causal_share)
        return terms, None

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B K V"]:
        return self.masked_logits(batch["inputs"], batch["lengths"], batch["positions"])

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """Logits of the next token of the text as it is given, and those of a reader that sees all of it."""
        if "lengths" not in batch.tensors:
            return {"text": unpadded(self(batch["inputs"]), batch)}
        both = {
            "text": self(batch["inputs"]),
            "masked": F.linear(self.hidden(batch["inputs"], batch["lengths"]), self.gpt.output_table),
        }
        lengths = batch["lengths"].tolist()
        return {name: [row[:n] for row, n in zip(logits, lengths, strict=True)] for name, logits in both.items()}

    # ---- decoding, as GPT --------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        return self.gpt.start(beginning, width)

    def step(self, state: Any, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        return self.gpt.step(state, tokens, attention)
