"""What translators share: an encoder that reads a source, and a decoder that looks at it while it writes a target.

    M = encoder(s_1 … s_m <eos>)                                  every position sees every other
    p(t_i | t_<i, s) = softmax(decoder(<start> t_1 … t_{i-1}; M) Oᵀ + b)

A system says how tokens are embedded (`embed`), what is added to the scores for positions (`position_bias`), and, if
it learns from plain text, how a text is corrupted and what is to be written then (`corrupted`). Padding of a source
is never looked at; padding of a target stands behind all that counts.

In a search the keys and values of M are computed once per sentence, and all its hypotheses share them.

Both sides share one table of embeddings E, unless sources have a vocabulary of their own (`source_vocabulary`).

Shapes: B batch, S source, T target, d width, H heads, D width of a head, L layers, V vocabulary (of targets), R rows
of a search, n sentences of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.errors import LexigraphError
from lexigraph.nn.attention import Mask, before, within
from lexigraph.nn.cache import CachedState, KeyValueCache, Memory
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable, linear
from lexigraph.nn.network import Beginning, Decoder, Examples, Outputs, Seeds, ragged, unpadded
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.rng import random_of, seeds_of_content
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.text.batches import padded
from lexigraph.text.columns import MAIN, Column, Traits
from lexigraph.text.vocabularies import Vocabularies, begin_or_nothing

CAPACITY = 32  # positions that there is room for at first
SOURCE, TARGET, TEXT = "source", "target", "text"  # columns


def pairs(separate: bool = False) -> dict[str, Column]:
    """The columns of a translator. With `separate`, sources have a vocabulary of their own; a record may name a
    special token that says which language or task is wanted."""
    source = Column("tokens", vocabulary=SOURCE if separate else TEXT, lead="direction")
    return {SOURCE: source, TARGET: Column("tokens", optional=True)}


class EncoderDecoder(Decoder):
    """The network without its embeddings; `network(source_ids, target_ids)` gives logits."""

    written = TARGET

    def __init__(
        self,
        shapes: tuple[Shape, Shape],  # of encoder and decoder
        layers: tuple[int, int],
        vocabularies: Vocabularies,
        *,
        context: int,  # the longest source or target, its end included
        start: int | None = None,  # what the decoder is given first; None: what ends a text
        begins: bool = False,  # whether sources and targets begin with the vocabulary's `begin`, if it has one
        tied: bool = True,  # one table for input and output
        smoothing: float | int = 0.0,
        corrupts: bool = False,  # whether it learns from plain text that it corrupts itself, not from pairs
    ) -> None:
        super().__init__()
        reading, writing = shapes
        tokens = vocabularies.tokens()
        self.lead = begin_or_nothing(tokens) if begins else []
        self.first = [tokens.eos if start is None else start, *self.lead]
        self.end, self.pad = tokens.eos, tokens.pad
        self.full_context, self.context = context, context - len(self.lead)
        self.traits = Traits(
            context=self.context,
            windowed=TEXT if corrupts else SOURCE,
            reads_whole=True,
            causal=TARGET,
            corrupts_on_host=True,
            compile_regions=(Layer,),  # each kind once
        )
        self.smoothing, self.shape = smoothing, writing
        self.embedding = TokenTable(len(tokens), reading.dim)  # of encoder and decoder alike, or the decoder's
        separate = SOURCE in vocabularies
        self.source_embedding = (
            TokenTable(len(vocabularies.tokens(SOURCE)), reading.dim, SOURCE) if separate else None
        )
        self.encoder = nn.ModuleList(Layer(reading) for _ in range(layers[0]))
        self.decoder: Any = nn.ModuleList(Layer(writing, memory=True) for _ in range(layers[1]))
        self.norm_encoder = reading.make_norm() if reading.norm == "pre" else nn.Identity()
        self.norm_decoder = writing.make_norm() if writing.norm == "pre" else nn.Identity()
        self.output = None if tied else OutputTable(writing.dim, len(tokens), bias=False)

    # ---- what a system decides ---------------------------------------------------------------------------

    def embed(self, ids: Int[Tensor, "B T"], time: int, decoder: bool) -> Float[Tensor, "B T d"]:
        """The first layer's input, for tokens that stand from position `time` on."""
        raise NotImplementedError

    def position_bias(self, queries: int, keys: int, time: int, decoder: bool) -> Float[Tensor, "1 H T S"] | None:
        """What is added to the scores of a stack's self-attention."""
        return None

    def finish(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        """What is done to the decoder's last states before they meet the output table."""
        return x

    @property
    def output_bias(self) -> Float[Tensor, " V"] | None:
        return None

    def corrupted(self, row: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Source and target, without their ends, that a plain text is made into."""
        raise NotImplementedError

    # ---- both sides --------------------------------------------------------------------------------------

    def embedding_of(self, decoder: bool) -> nn.Embedding:
        """The table of a side."""
        return self.embedding if decoder or self.source_embedding is None else self.source_embedding

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.output is None else self.output.weight

    def read(self, ids: Int[Tensor, "B S"], lengths: Int[Tensor, " B"] | None) -> Float[Tensor, "B S d"]:
        """The encoder's last states; positions behind a row's length mean nothing."""
        self._fits(ids.shape[1])
        seen: Mask | None = None if lengths is None else within(lengths, ids.shape[1])
        bias = self.position_bias(ids.shape[1], ids.shape[1], 0, decoder=False)
        x = self.embed(ids, 0, decoder=False)
        mask = seen if bias is None else _added(bias, seen)
        for layer in self.encoder:
            x = layer(x, mask=mask)
        return self.norm_encoder(x)

    def hidden(
        self, source: Int[Tensor, "B S"], inputs: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T d"]:
        """The states that predict the target, all positions at once; `lengths` are those of the sources."""
        memory, length = self.read(source, lengths), inputs.shape[1]
        self._fits(length)
        seen = None if lengths is None else within(lengths, source.shape[1])
        bias = self.position_bias(length, length, 0, decoder=True)
        mask = None if bias is None else _added(bias, before(length, inputs.device))
        x = self.embed(inputs, 0, decoder=True)
        for layer in self.decoder:
            x = layer(x, mask=mask, memory=memory, memory_mask=seen, causal=mask is None)
        return self.finish(self.norm_decoder(x))

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

    def _fits(self, length: int) -> None:
        if length > self.full_context:
            raise LexigraphError(f"{length} tokens are more than the model's context of {self.full_context}.")

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from pairs of token sequences (`source`, `target`) or plain ones (`text`), boundaries included."""
        if SOURCE in examples:
            sources, targets = ([row[1:] for row in ragged(examples[side])] for side in (SOURCE, TARGET))
        else:
            rows, most = ragged(examples[TEXT]), self.context - 1
            own = seeds_of_content(rows) if seeds is None else seeds[MAIN]
            pairs = [self.corrupted(row[1:-1], random_of(seed)) for row, seed in zip(rows, own, strict=True)]
            sources, targets = (
                [np.append(row[:most], self.end) for row in side] for side in zip(*pairs, strict=True)
            )
        lead = np.array(self.lead, np.int64)
        return paired([np.concatenate([lead, row]) for row in sources], targets, first=self.first, pad=self.pad)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden = self.hidden(batch["source"], batch["inputs"], batch["source_lengths"])
        terms = next_token_terms(
            hidden, self.output_table, batch, bias=self.output_bias, smoothing=self.smoothing, pad=self.pad
        )
        return terms, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        logits = self(batch["source"], batch["inputs"], batch["source_lengths"])
        return {TARGET: unpadded(logits, batch)}

    # ---- decoding ----------------------------------------------------------------------------------------

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """The sources; of the target, what every one is given."""
        tensors = {"ids": batch["source"], "lengths": batch["source_lengths"]}
        return Beginning(tensors, [len(self.first)] * len(given))

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the sources (`ids`, ends included, padded on the right, and their `lengths`)."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        ragged = bool((lengths < ids.shape[1]).any())
        memory = self.read(ids, lengths if ragged else None)
        pairs = [layer.memory.keys_values(memory) for layer in self.decoder]
        kept = Memory.start(pairs, width, lengths if ragged else None)
        rows, shape = len(ids) * width, self.shape
        cache = KeyValueCache.start(
            rows, len(self.decoder), shape.heads, shape.width, min(CAPACITY, self.full_context), memory
        )
        state = CachedState({}, width=width, cache=cache, memory=kept)
        for token in self.first:
            step = self.step(state, torch.full((rows,), token, device=ids.device), attention=True)
            assert isinstance(step.state, CachedState)
            state = step.state
        return step

    def step(self, state: CachedState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. `attention`: where it looked in the source, the mean over the heads of the
        upper half of the layers."""
        memory, time = state.memory, state.time
        assert memory is not None
        self._fits(time + 1)
        cache = state.with_capacity(self.full_context)
        bias = self.position_bias(1, time + 1, time, decoder=True)
        x = self.embed(tokens[:, None], time, decoder=True)
        looked: list[Tensor] = []
        for number, layer in enumerate(self.decoder):
            wanted = looked if attention and number >= len(self.decoder) // 2 else None
            own, known = cache.of(number), memory.of(number)
            x = layer(x, mask=bias, memory=known, cache=own, time=time, memory_weights=wanted)
        where = torch.stack(looked).mean((0, 2)).flatten(0, 1) if attention else None  # (n, rows of each, S)
        logits = self.logits(self.finish(self.norm_decoder(x[:, 0])))
        return Step(logits, replace(state, cache=cache, time=time + 1), where)


def paired(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], *, first: Sequence[int], pad: int) -> Batch:
    """A batch from sources and targets that end with a boundary; decoders are given `first`, then the target."""
    inputs = padded([np.concatenate([first, row[:-1]]) for row in targets], pad)
    wanted = padded(targets, IGNORE, first=len(first) - 1)
    arrays = {
        "source": padded(sources, pad),
        "source_lengths": np.array([len(row) for row in sources]),
        "inputs": inputs,
        "targets": wanted,
    }
    count = sum(len(row) for row in targets)
    return Batch({name: torch.from_numpy(array) for name, array in arrays.items()}, {"loss": count})


def _added(bias: Float[Tensor, "1 H T S"], seen: Mask | None) -> Float[Tensor, "_ H T S"]:
    """A bias of scores that hides what may not be seen."""
    return bias if seen is None else bias.masked_fill(~seen, -torch.inf)
