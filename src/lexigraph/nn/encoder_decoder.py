"""What translating transformers share: an encoder reads a source, a decoder looks at it while it writes a target.

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

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.nn.attention import Mask, before, within
from lexigraph.nn.cache import CachedState, KeyValueCache, Memory
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.translation import SOURCE, TranslationNetwork
from lexigraph.objectives.rng import random_of, seeds_of_content
from lexigraph.objectives.terms import Batch
from lexigraph.text.columns import MAIN
from lexigraph.text.vocabularies import TEXT, Vocabularies

CAPACITY = 32  # positions that there is room for at first


class EncoderDecoder(TranslationNetwork):
    """The network without its embeddings; `network(source_ids, target_ids)` gives logits."""

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
        super().__init__(vocabularies, context=context, start=start, begins=begins, smoothing=smoothing)
        reading, writing = shapes
        tokens = vocabularies.tokens()
        windowed = TEXT if corrupts else SOURCE
        self.traits = replace(self.traits, windowed=windowed, compile_regions=(Layer,))  # each kind once
        self.shape = writing
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

    def embed_source(self, ids: Int[Tensor, "B S"], mask: Mask | None) -> Float[Tensor, "B S d"]:
        """The encoder's input; `mask`: what is a row's own."""
        return self.embed(ids, 0, decoder=False)

    def position_bias(self, queries: int, keys: int, time: int, decoder: bool) -> Float[Tensor, "1 H T S"] | None:
        """What is added to the scores of a stack's self-attention."""
        return None

    def finish(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        """What is done to the decoder's last states before they meet the output table."""
        return x

    def corrupted(self, row: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Source and target, without their ends, that a plain text is made into."""
        raise NotImplementedError

    # ---- both sides --------------------------------------------------------------------------------------

    def embedding_of(self, decoder: bool) -> nn.Embedding:
        """The table of a side."""
        return self.embedding if decoder else self.source_table

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.output is None else self.output.weight

    def read(self, ids: Int[Tensor, "B S"], lengths: Int[Tensor, " B"] | None) -> Float[Tensor, "B S d"]:
        """The encoder's last states; positions behind a row's length mean nothing."""
        self._fits(ids.shape[1])
        seen: Mask | None = None if lengths is None else within(lengths, ids.shape[1])
        bias = self.position_bias(ids.shape[1], ids.shape[1], 0, decoder=False)
        mask = seen if bias is None else _added(bias, seen)
        x = self.embed_source(ids, mask)
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

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from pairs of token sequences (`source`, `target`) or plain ones (`text`), boundaries included."""
        if SOURCE in examples:
            return super().prepare(examples, seeds, step)
        rows, most = ragged(examples[TEXT]), self.context - 1
        own = seeds_of_content(rows) if seeds is None else seeds[MAIN]
        both = [self.corrupted(row[1:-1], random_of(seed)) for row, seed in zip(rows, own, strict=True)]
        sources, targets = ([np.append(row[:most], self.end) for row in side] for side in zip(*both, strict=True))
        return self.paired(sources, targets)

    # ---- decoding ----------------------------------------------------------------------------------------

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


def _added(bias: Float[Tensor, "1 H T S"], seen: Mask | None) -> Float[Tensor, "_ H T S"]:
    """A bias of scores that hides what may not be seen."""
    return bias if seen is None else bias.masked_fill(~seen, -torch.inf)
