"""What translators share, whatever they are made of: pairs of texts in, logits of the target's tokens out.

    p(t_i | t_<i, s) = softmax(h_i Oᵀ + b)           h_i: what the network makes of s and <start> t_1 … t_{i-1}

A source is read as s_1 … s_m <eos>; a target is written as t_1 … t_n <eos>. A network says what O and b are and how
h is computed (`hidden`); to be searched it is a stepper, too.

Shapes: B batch, S source, T target, d width, V vocabulary (of targets).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import linear
from lexigraph.nn.network import Beginning, Decoder, Examples, Outputs, Seeds, ragged, unpadded
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import Data
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Traits
from lexigraph.text.mixing import TASK, TASKS, mixed
from lexigraph.text.vocabularies import TEXT, Vocabularies, begin_or_nothing

DATA = Data()  # as it is by default: no task has a text
SOURCE, TARGET = "source", "target"  # columns


def pairs(separate: bool = False, data: Data = DATA) -> dict[str, Column]:
    """The columns of a translator. With `separate`, sources have a vocabulary of their own; a record may name the
    language or task that is wanted, which a special token says or, if `data.prefixes` has one, a text. Tasks that are
    mixed by their sizes, or have texts, are a column of their own."""
    prefixes = tuple(data.prefixes.items())
    source = Column("tokens", vocabulary=SOURCE if separate else TEXT, lead="direction", prefixes=prefixes)
    columns = {SOURCE: source, TARGET: Column("tokens", optional=True)}
    if prefixes or mixed(data):
        columns[TASK] = Column("class", vocabulary=TASKS, field="direction", optional=True)
    return columns


class TranslationNetwork(Decoder):
    """A network whose call, `network(source_ids, target_ids)`, gives logits."""

    embedding: TokenTable  # of targets, and of sources unless they have their own
    source_embedding: TokenTable | None
    written = TARGET
    aligned = True  # whether its steps can say where in the source they looked

    def __init__(
        self,
        vocabularies: Vocabularies,
        *,
        context: int,  # the longest source or target, its end included
        start: int | None = None,  # what the decoder is given first; None: what ends a text
        begins: bool = False,  # whether sources and targets begin with the vocabulary's `begin`, if it has one
        smoothing: float | int = 0.0,
    ) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        self.lead = begin_or_nothing(tokens) if begins else []
        self.first = [tokens.eos if start is None else start, *self.lead]
        self.end, self.pad, self.smoothing = tokens.eos, tokens.pad, smoothing
        self.full_context, self.context = context, context - len(self.lead)
        self.traits = Traits(
            context=self.context, windowed=SOURCE, reads_whole=True, causal=TARGET, corrupts_on_host=True
        )

    @property
    def source_table(self) -> TokenTable:
        """What sources are read by."""
        return self.embedding if self.source_embedding is None else self.source_embedding

    # ---- what a network decides --------------------------------------------------------------------------

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        raise NotImplementedError

    @property
    def output_bias(self) -> Float[Tensor, " V"] | None:
        return None

    def hidden(
        self, source: Int[Tensor, "B S"], inputs: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T d"]:
        """The states that predict the target, all positions at once; `lengths` are those of the sources."""
        raise NotImplementedError

    # ---- training ----------------------------------------------------------------------------------------

    def forward(
        self,
        source_ids: Int[Tensor, "B S"],
        target_ids: Int[Tensor, "B T"],
        source_lengths: Int[Tensor, " B"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each of `target_ids`, which begin with the start token."""
        return self.logits(self.hidden(source_ids, target_ids, source_lengths))

    def logits(self, hidden: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape V"]:
        return linear(hidden, self.output_table, self.output_bias)

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from pairs of token sequences, boundaries included."""
        sources, targets = ([row[1:] for row in ragged(examples[side])] for side in (SOURCE, TARGET))
        batch = self.paired(sources, targets)
        if TASK in examples:  # for scores of each
            batch.tensors[TASK] = torch.from_numpy(np.stack(ragged(examples[TASK])))
        return batch

    def paired(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
        """A batch from sources and targets that end with a boundary; decoders are given `first`, then the target."""
        lead = np.array(self.lead, np.int64)
        inputs = padded([np.concatenate([self.first, row[:-1]]) for row in targets], self.pad)
        arrays = {
            "source": padded([np.concatenate([lead, row]) for row in sources], self.pad),
            "source_lengths": np.array([len(lead) + len(row) for row in sources]),
            "inputs": inputs,
            "targets": padded(targets, IGNORE, first=len(self.first) - 1),
        }
        count = sum(len(row) for row in targets)
        return Batch({name: torch.from_numpy(array) for name, array in arrays.items()}, {"loss": count})

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden = self.hidden(batch["source"], batch["inputs"], batch["source_lengths"])
        return self.terms(hidden, batch), None

    def terms(self, hidden: Float[Tensor, "B T d"], batch: Batch) -> Terms:
        """The loss of states against the targets."""
        return next_token_terms(
            hidden, self.output_table, batch, bias=self.output_bias, smoothing=self.smoothing, pad=self.pad
        )

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        logits = self(batch["source"], batch["inputs"], batch["source_lengths"])
        return {TARGET: unpadded(logits, batch)}

    # ---- decoding ----------------------------------------------------------------------------------------

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """The sources; of the target, what every one is given."""
        tensors = {"ids": batch["source"], "lengths": batch["source_lengths"]}
        return Beginning(tensors, [len(self.first)] * len(given))

    def _fits(self, length: int) -> None:
        if length > self.full_context:
            raise LexigraphError(f"{length} tokens are more than the model's context of {self.full_context}.")
