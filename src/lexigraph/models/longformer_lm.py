"""Longformer that reads left to right: a language model with windows (Beltagy et al. 2020, sections 3.1 and 4).

    x_0 = E[token];  queries and keys are turned by their positions (rotary): their products know distances alone
    x = x + Attention(Norm(x));  x = x + FFN(Norm(x));  a last Norm before the output
    a position attends to itself and the w before it; with dilation δ to those at distances δ, 2δ … wδ
    p(next) = softmax(x Eᵀ)

w and δ may differ by layer: small windows below, which see what is near, larger ones above. Through all layers a
position sees as far as their reaches together. The paper measures distances as Transformer-XL does; turned queries
and keys serve the same end, and need nothing in a window but the keys.

While it writes, a layer keeps keys and values of the positions that its window holds, and no others: the memory of a
search does not grow with the text, and a prompt may be longer than the context that the model was trained with.

Shapes: B batch, T time, d width, H heads, D = d / H, V vocabulary, L layers, R rows of a search, C positions kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import linear
from lexigraph.nn.network import LanguageNetwork, States
from lexigraph.nn.positions import rotations
from lexigraph.nn.stepper import State, Step
from lexigraph.nn.transformer import Shape
from lexigraph.nn.window import WindowLayer, windows
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
    context: int = ranged(1024, 2, about="tokens of a text that it learns from at once; it may write on beyond them")
    window: tuple[int, ...] = ranged(
        (128,), 1, 1 << 16, about="positions before its own that each attends to: of every layer, or one for all"
    )
    dilation: tuple[int, ...] = ranged(
        (1,), 1, 1 << 10, about="the window holds every so many-th position: of every layer, or one for all"
    )
    dilated_heads: int = ranged(0, 0, about="how many heads of a layer are dilated; 0: all")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(
        0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random; attention weights stay"
    )


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class LongformerLM(LanguageNetwork):
    """The network; `network(ids)` gives logits."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        shape = Shape(
            config.dim, config.heads, config.inner or 4 * config.dim, config.activation, config.dropout, "pre"
        )
        if shape.width % 2:
            raise LexigraphError(f"Rotary positions turn pairs: model.dim / model.heads = {shape.width} is odd.")
        found = windows(
            config.layers, config.heads, config.window, config.dilation, config.dilated_heads, causal=True
        )
        self.config, self.objective, self.pad, self.width = config, objective, tokens.pad, config.dim
        self.head_width, self.dropout = shape.width, nn.Dropout(config.dropout)
        self.traits = Traits(context=config.context, causal="text")
        self.embedding = TokenTable(len(tokens), config.dim)
        self.blocks: Any = nn.ModuleList(WindowLayer(shape, each) for each in found)
        self.norm = shape.make_norm()
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        """GPT-2's: 0.02 everywhere; what is added to the residual stream, smaller with depth."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
        if isinstance(module, WindowLayer):
            for last in (module.attention.out, module.feed_forward.narrow):
                nn.init.normal_(last.weight, std=0.02 / math.sqrt(2 * self.config.layers))

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. Padding on the right is never looked at, so that
        `lengths` is not needed."""
        return F.linear(self._through(ids)[-1], self.embedding.weight)

    def states(self, batch: Batch) -> States:
        return States(self._through(batch["inputs"]), batch["lengths"])

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, smoothing = self._through(batch["inputs"])[-1], self.objective.label_smoothing
        return next_token_terms(hidden, self.embedding.weight, batch, smoothing=smoothing, pad=self.pad), None

    def _through(
        self, ids: Int[Tensor, "B T"], weights: list[Tensor] | None = None, kept: list[Tensor] | None = None
    ) -> list[Float[Tensor, "B T d"]]:
        """What goes into each layer, and the output; `kept` collects keys and values."""
        rotation = self._rotation(torch.arange(ids.shape[1], device=ids.device)[None])
        states = [self.dropout(self.embedding(ids))]
        for block in self.blocks:
            states.append(block(states[-1], rotation=rotation, weights=weights, kept=kept))
        return [*states[:-1], self.norm(states[-1])]

    def _rotation(self, positions: Int[Tensor, "rows T"]) -> Tensor:
        return rotations(positions, self.head_width).unsqueeze(2)

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`), and keep the end of each."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        kept: list[Tensor] = []
        hidden = self._through(ids, kept=kept)[-1]
        rows = {"positions": lengths}
        for number, (block, storage) in enumerate(zip(self.blocks, kept, strict=True)):
            capacity = block.attention.window.reach + 1
            slots = torch.arange(capacity, device=ids.device)
            last = lengths[:, None] - 1
            at = (last - (last - slots) % capacity).clamp(min=0)  # the last position that stands in each slot
            at = at[:, None, None, :, None].expand(-1, *storage.shape[1:3], -1, storage.shape[4])
            rows[f"ring{number}"] = storage.gather(3, at)
        logits = self._logits(hidden[torch.arange(len(ids), device=ids.device), lengths - 1])
        return Step(logits.repeat_interleave(width, 0), State(rows).expand(width))

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row."""
        positions = state.rows["positions"]
        x, rotation = self.embedding(tokens[:, None]), self._rotation(positions[:, None])
        for number, block in enumerate(self.blocks):
            x = block.step(x, state.rows[f"ring{number}"], positions, rotation)
        rows = state.rows | {"positions": positions + 1}
        return Step(self._logits(self.norm(x[:, 0])), replace(state, rows=rows))

    def _logits(self, hidden: Float[Tensor, "R d"]) -> Float[Tensor, "R V"]:
        return linear(hidden, self.embedding.weight)

    # ---- looking inside ----------------------------------------------------------------------------------

    def attention_weights(self, ids: Int[Tensor, "B T"]) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "L B H T T"]]:
        """Logits and every attention weight, computed in the open."""
        weights: list[Tensor] = []
        hidden = self._through(ids, weights)[-1]
        return F.linear(hidden, self.embedding.weight), torch.stack(weights)
