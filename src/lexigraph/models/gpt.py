"""GPT: a transformer that reads left to right and predicts the next token (Radford et al. 2018, 2019).

    x_0 = E[token] + P[position]                                    (rotary: no P, queries and keys are turned)
    pre-norm    x = x + Attention(Norm(x));  x = x + FFN(Norm(x));   a last Norm before the output
    post-norm   x = Norm(x + Attention(x));  x = Norm(x + FFN(x))
    p(next) = softmax(x Eᵀ)                                      (tied: the output table is the input's)

A text is fed as <eos> w_1 … w_n and the targets are w_1 … w_n <eos>: one boundary token starts and ends.

Shapes: B batch, T time, d model width, H heads, D = d / H, V vocabulary, L layers, R rows of a search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.attention import Mask, before
from lexigraph.nn.cache import CachedState, KeyValue, KeyValueCache
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import OutputTable, linear
from lexigraph.nn.network import Flow, LanguageNetwork, Segment, States
from lexigraph.nn.positions import rotary, sinusoidal
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.objectives.next_token import next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(128, 2, about="tokens that it sees at once; a longer text is read in windows")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    positions: Literal["learned", "sinusoidal", "rotary"] = key(
        "learned", about="how the network is told where a token stands"
    )
    norm: Literal["pre", "post"] = key("pre", about="norms before each part of a layer (pre) or after it (post)")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="one table for input and output")
    bias: bool = key(True, about="biases in linear layers and norms")
    gated: bool = key(False, about="a third matrix in the feed-forward part, whose output multiplies the activation")
    normed_by: Literal["layer", "rms"] = key(
        "layer", about="what norms divide by: the deviation (layer) or the root mean square (rms)"
    )


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class GPT(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    table: Tensor  # of fixed positions

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        inner = config.inner or 4 * config.dim
        shape = Shape(
            config.dim,
            config.heads,
            inner,
            config.activation,
            config.dropout,
            config.norm,
            config.normed_by,
            bias=config.bias,
            gated=config.gated,
        )
        if config.positions == "rotary" and config.dim // config.heads % 2:
            raise LexigraphError(
                f"Rotary positions turn pairs: model.dim / model.heads = {config.dim // config.heads} is odd."
            )
        self.config, self.objective, self.pad, self.context = config, objective, tokens.pad, config.context
        self.width = config.dim
        self.traits = Traits(context=config.context, causal="text")
        self.embedding = TokenTable(len(tokens), config.dim)
        if config.positions == "learned":
            self.positions = nn.Embedding(config.context, config.dim)
        elif config.positions == "sinusoidal":
            self.register_buffer("table", sinusoidal(config.context, config.dim), persistent=False)
        else:
            self.register_buffer("table", rotary(config.context, config.dim // config.heads), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Layer(shape) for _ in range(config.layers))
        self.norm = shape.make_norm() if config.norm == "pre" else nn.Identity()
        self.output = None if config.tied else OutputTable(config.dim, len(tokens), bias=False)
        self.heads = () if config.tied else ("output",)
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        """GPT-2's: 0.02 everywhere; what is added to the residual stream, smaller with depth."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
        if isinstance(module, Layer):
            for last in (module.attention.out, module.feed_forward.narrow):
                nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * self.config.layers))

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.output is None else self.output.weight

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. Padding on the right is never looked at, so that
        `lengths` is not needed."""
        return F.linear(self.hidden(ids), self.output_table)

    def hidden(self, ids: Int[Tensor, "B T"], mask: Mask | None = None) -> Float[Tensor, "B T d"]:
        """The last layer's output; with a mask, every position looks where that allows, and not just back."""
        if ids.shape[1] > self.context:
            raise LexigraphError(f"{ids.shape[1]} tokens are more than the model's context of {self.context}.")
        return self.norm(self.through(ids, _in_order(ids), mask=mask, causal=mask is None))

    def states(self, batch: Batch, mask: Mask | None = None) -> States:
        layers: list[Tensor] = []
        positions = _in_order(batch["inputs"])
        x = self.through(batch["inputs"], positions, states=layers, mask=mask, causal=mask is None)
        return States([*layers, self.norm(x)], batch["lengths"])

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        return self._terms(self.hidden(batch["inputs"]), batch), None

    def _terms(self, hidden: Float[Tensor, "B T d"], batch: Batch) -> Terms:
        return next_token_terms(
            hidden, self.output_table, batch, smoothing=self.objective.label_smoothing, pad=self.pad
        )

    def segments(self) -> list[Segment]:
        """The table of tokens, each layer, and what stands above them."""

        def embedded(batch: Batch, flow: Flow) -> Flow:
            return {"x": self._embedded(batch["inputs"], _in_order(batch["inputs"]))}

        def layer(block: nn.Module, batch: Batch, flow: Flow) -> Flow:
            return {"x": block(flow["x"], self._rotation(_in_order(batch["inputs"])), causal=True)}

        tables = [self.embedding, self.positions if self.config.positions == "learned" else None]
        layers = [Segment([block], ["x"], partial(layer, block)) for block in self.blocks]
        last = Segment(
            [self.norm, self.output_table], ["x"], lambda batch, flow: self._terms(self.norm(flow["x"]), batch)
        )
        return [Segment(tables, [], embedded), *layers, last]

    def through(
        self,
        ids: Int[Tensor, "B T"],
        positions: Int[Tensor, "#B T"],
        *,
        store: Sequence[KeyValue | KeyValueCache] = (),
        time: int = 0,
        states: list[Tensor] | None = None,
        **attention: Any,
    ) -> Float[Tensor, "B T d"]:
        """Embedding and all layers; `store`: where each layer keeps its keys and values, from `time` on; `states`
        collects what goes into each layer."""
        x, rotation = self._embedded(ids, positions), self._rotation(positions)
        stores: Sequence[KeyValue | KeyValueCache | None] = store or [None] * len(self.blocks)
        for block, cache in zip(self.blocks, stores, strict=True):
            if states is not None:
                states.append(x)
            x = block(x, rotation, cache=cache, time=time, **attention)
        return x

    def _embedded(self, ids: Int[Tensor, "B T"], positions: Int[Tensor, "#B T"]) -> Float[Tensor, "B T d"]:
        """What goes into the first layer."""
        x = self.embedding(ids)
        if self.config.positions == "learned":
            x = x + self.positions(positions)
        elif self.config.positions == "sinusoidal":
            x = x + self.table[positions]
        return self.dropout(x)

    def _rotation(self, positions: Int[Tensor, "#B T"]) -> Tensor | None:
        """How queries and keys are turned in every layer."""
        return self.table[:, positions].unsqueeze(2) if self.config.positions == "rotary" else None

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1, causal: bool = True) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`) into the cache; where they are not
        `causal`, in both directions."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        ids, lengths = _crop(ids, lengths, self.context)
        time = ids.shape[1]
        pads = time - lengths
        shift = (torch.arange(time, device=ids.device)[None] - pads[:, None]) % time
        return self._read(ids.gather(1, shift), pads, width, causal)

    def step(self, state: CachedState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. A full cache is read anew from its later half."""
        time, begins = state.time, state.cache.begins
        if time == self.context:
            half = self.context // 2
            ids = torch.cat([state.rows["ids"][:, time - half : time], tokens[:, None]], 1)
            return replace_width(self._read(ids, (begins - (time - half)).clamp(min=0), 1), state.width)
        cache, ids = state.with_capacity(self.context), state.rows["ids"]
        ids = F.pad(ids, (0, cache.capacity - ids.shape[1])) if cache.capacity > ids.shape[1] else ids
        ids[:, time] = tokens
        weights: list[Tensor] | None = [] if attention else None
        store = [cache.of(number) for number in range(len(self.blocks))]
        x = self.through(tokens[:, None], (time - begins)[:, None], store=store, time=time, weights=weights)
        seen = torch.stack(weights).mean((0, 2))[:, -1] if weights else None  # over layers and heads
        return Step(self._logits(x), replace(state, rows={"ids": ids}, cache=cache, time=time + 1), seen)

    def _read(self, ids: Int[Tensor, "B T"], pads: Int[Tensor, " B"], width: int, causal: bool = True) -> Step:
        """Fill a new cache from prompts that are padded on the left, so that all rows grow at one end."""
        batch, time = ids.shape
        config, table, rows = self.config, self.embedding.weight, batch * width
        capacity = min(self.context, time + 64)
        cache = KeyValueCache.start(rows, config.layers, config.heads, config.dim // config.heads, capacity, table)
        columns = torch.arange(time, device=ids.device)
        positions = (columns[None] - pads[:, None]).clamp(min=0)
        mask = None
        if bool((pads > 0).any()):  # an empty position sees itself, because softmax over nothing is not a number
            seen = (columns[None] >= pads[:, None])[:, None, None, :]
            own = torch.eye(time, dtype=torch.bool, device=ids.device)
            mask = (seen & before(time, ids.device)) | own if causal else seen
        x = self.through(ids, positions, store=cache.of_prompts(width), mask=mask, causal=causal and mask is None)
        cache = replace(cache, begins=pads.repeat_interleave(width), ragged=mask is not None)
        if width > 1:
            cache = cache.reorder(torch.arange(0, rows, width, device=ids.device).repeat_interleave(width))
        kept = F.pad(ids, (0, capacity - time)).repeat_interleave(width, 0)
        state = CachedState({"ids": kept}, width=width, cache=cache, time=time)
        return Step(self._logits(x[:, -1:]).repeat_interleave(width, 0), state)

    def _logits(self, x: Float[Tensor, "R 1 d"]) -> Float[Tensor, "R V"]:
        return linear(self.norm(x[:, 0]), self.output_table)

    # ---- looking inside ----------------------------------------------------------------------------------

    def attention_weights(self, ids: Int[Tensor, "B T"]) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "L B H T T"]]:
        """Logits and every attention weight, computed in the open."""
        weights: list[Tensor] = []
        positions = _in_order(ids)
        x = self.through(ids, positions, causal=True, weights=weights)
        return F.linear(self.norm(x), self.output_table), torch.stack(weights)


def _in_order(ids: Int[Tensor, "B T"]) -> Int[Tensor, "1 T"]:
    """The positions of texts that begin at the first."""
    return torch.arange(ids.shape[1], device=ids.device)[None]


def _crop(ids: Tensor, lengths: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    """Only the last `limit` tokens of each prompt."""
    if ids.shape[1] <= limit:
        return ids, lengths
    first = (lengths - limit).clamp(min=0)
    columns = (first[:, None] + torch.arange(limit, device=ids.device)).clamp(max=ids.shape[1] - 1)
    return ids.gather(1, columns), lengths.clamp(max=limit)


def replace_width(step: Step, width: int) -> Step:
    """The same step, its rows grouped `width` to a sentence."""
    return replace(step, state=replace(step.state, width=width))
