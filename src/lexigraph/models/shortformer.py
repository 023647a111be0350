"""Shortformer: cached states without positions, and short windows first (Press et al. 2021).

    n = Norm([m ; h])                            m: the last M vectors that went into this layer in earlier windows
    q_i = (n_i + p_i) W_q     k_j = (n_j + p_j) W_k     v_j = n_j W_v          position-infused attention
    h = h + W_o softmax(q kᵀ / √D) v;   h = h + FFN(Norm(h))                  j ≤ i
    p(next) = softmax(Norm(h) Eᵀ + b)

p are the fixed sines and cosines, p_0 that of the oldest position in view. They are added to what makes queries
and keys, in every layer, and never to a value or to the residual stream: what is remembered of a window says
nothing about where it stood, and is used again at another position. (n_j + p_j) W_k = n_j W_k + p_j W_k, so that
writing keeps keys without positions, and adds those of now.

Short windows learn faster than long ones: train.short_steps steps of train.short_window tokens come first, the same
number of tokens in each step and a memory as much shorter, and then windows of `context` tokens.

Shapes: B batch, T time, M positions of memory, S = M + T, L layers, d width, H heads, D = d / H, V vocabulary, R rows
of a search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.attention import Mask, attend
from lexigraph.nn.feedforward import Activation, FeedForward
from lexigraph.nn.linear import Linear, linear
from lexigraph.nn.positions import sinusoidal
from lexigraph.nn.segment_memory import MemoryNetwork, back, left_padded, sliding
from lexigraph.nn.stepper import State, Step
from lexigraph.nn.transformer import Shape
from lexigraph.sections import key, ranged
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(128, 2, about="tokens of a window; a longer text is read in windows")
    memory: int = ranged(
        128,
        0,
        about="positions of earlier windows that it remembers (short windows: fewer); 0: each is by itself",
    )
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class InfusedAttention(nn.Module):
    """Queries and keys are made of contents and positions, values of contents alone."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.dropout = shape.heads, shape.dropout
        self.query = Linear(shape.dim, shape.dim, bias=False)
        self.key = Linear(shape.dim, shape.dim, bias=False)
        self.value = Linear(shape.dim, shape.dim, bias=False)
        self.out = Linear(shape.dim, shape.dim, bias=False)

    def split(self, x: Float[Tensor, "*B d"]) -> Float[Tensor, "*B H D"]:
        return x.unflatten(-1, (self.heads, -1))

    def forward(
        self,
        q: Float[Tensor, "B T H D"],
        k: Float[Tensor, "B S H D"],
        v: Float[Tensor, "B S H D"],
        mask: Mask | None,
    ) -> Float[Tensor, "B T d"]:
        """What the queries see; without a mask, as many keys, and those before."""
        dropout = self.dropout if self.training else 0.0
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        mixed = attend(q, k, v, causal=mask is None, mask=mask, dropout=dropout)
        return self.out(mixed.transpose(1, 2).flatten(2))


class InfusedLayer(nn.Module):
    """h = h + Attention(Norm(h), positions);  h = h + FFN(Norm(h))"""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.dropout = shape.dropout
        self.norm_attention = shape.make_norm()
        self.attention = InfusedAttention(shape)
        self.norm_feed_forward = shape.make_norm()
        self.feed_forward = FeedForward(shape.dim, shape.inner, shape.activation)

    def forward(
        self,
        h: Float[Tensor, "B T d"],
        memory: Float[Tensor, "B M d"] | None,
        positions: Float[Tensor, "S d"],
        mask: Mask | None,
    ) -> Float[Tensor, "B T d"]:
        near, attention = self.norm_attention(h), self.attention
        seen = near if memory is None else torch.cat([self.norm_attention(memory), near], 1)
        q = attention.split(attention.query(near + positions[-h.shape[1] :]))
        k, v = attention.split(attention.key(seen + positions)), attention.split(attention.value(seen))
        return self.changed(h, attention(q, k, v, mask))

    def changed(self, h: Float[Tensor, "B T d"], seen: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """The residual stream after what was seen."""
        h = h + self._drop(seen)
        return h + self._drop(self.feed_forward(self.norm_feed_forward(h)))

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout) if self.training and self.dropout else x  # decoding feels each call


@dataclass(frozen=True)
class CachedState(State):
    """Keys without positions, and values, of contents so far. Rows are padded on the left.

    rows: `cache` (R, L, 2, time, H, D), `pads` (R): empty positions on the left
    """

    keys: Float[Tensor, "L N H D"] = field(default_factory=lambda: torch.empty(0, 0, 0, 0))  # p W_k of every layer


class Shortformer(MemoryNetwork):
    """The network; `network(ids)` gives logits of a window that remembers nothing."""

    table: Tensor  # of fixed positions

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__(
            config.dim, config.context, config.memory, config.dropout, objective.label_smoothing, vocabularies
        )
        shape = Shape(config.dim, config.heads, config.inner or 4 * config.dim, config.activation, config.dropout)
        self.config, self.objective = config, objective
        self.register_buffer("table", sinusoidal(self.span, config.dim), persistent=False)
        self.blocks: Any = nn.ModuleList(InfusedLayer(shape) for _ in range(config.layers))
        self.norm = shape.make_norm()
        for name, parameter in self.named_parameters():  # as GPT-2: what is added to the residual stream, smaller
            if parameter.dim() > 1:
                added = name.endswith(("attention.out.weight", "feed_forward.narrow.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.layers if added else 1))

    def positions(self, count: int) -> Float[Tensor, "N d"]:
        """p_0 …; in use there may be more than in training."""
        if count > len(self.table):
            self.table = sinusoidal(count, self.width).to(self.table)
        return self.table[:count]

    def layers(
        self, ids: Int[Tensor, "B T"], memory: Float[Tensor, "B L M d"] | None = None
    ) -> list[Float[Tensor, "B T d"]]:
        h, time = self._drop(self.embedding(ids)), ids.shape[1]
        keys = time + (0 if memory is None else memory.shape[2])
        positions = self.positions(keys)
        mask = None if keys == time else back(time, keys, ids.device)  # without one, the fastest kernels serve
        found = [h]
        for number, layer in enumerate(self.blocks):
            h = layer(h, None if memory is None else memory[:, number], positions, mask)
            found.append(h)
        return [*found[:-1], self.norm(h)]

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`), of each no more than can be seen."""
        ids, pads = left_padded(beginning["ids"], beginning["lengths"])
        pads = (pads - max(0, ids.shape[1] - self.span)).clamp(min=0)
        config, positions = self.config, self.positions(self.span)
        empty = positions.new_empty(len(ids), config.layers, 2, 0, config.heads, config.dim // config.heads)
        keys = torch.stack([layer.attention.split(layer.attention.key(positions)) for layer in self.blocks])
        step = self._read(CachedState({"cache": empty, "pads": pads}, keys=keys), ids[:, -self.span :])
        return Step(step.logits.repeat_interleave(width, 0), step.state.expand(width))

    def step(self, state: CachedState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. From `span` tokens on the oldest is forgotten, and all others move by one."""
        return self._read(state, tokens[:, None])

    def _read(self, state: CachedState, ids: Int[Tensor, "R T"]) -> Step:
        """Some tokens more, of which all are seen."""
        old, pads = state.rows["cache"], state.rows["pads"]
        time = ids.shape[1]
        keys, forgotten = old.shape[3] + time, max(0, old.shape[3] + time + 1 - self.span)
        columns = torch.arange(keys, device=ids.device)
        positions = (columns - pads[:, None]).clamp(min=0)
        mask = sliding(time, keys, self.span, pads, ids.device)
        h, asked = self.embedding(ids), self.table[positions[:, -time:]]
        cache = torch.cat([old, old.new_empty(*old.shape[:3], time, *old.shape[4:])], 3)
        for number, layer in enumerate(self.blocks):
            near, attention = layer.norm_attention(h), layer.attention
            k, v = cache[:, number].unbind(1)
            k[:, -time:], v[:, -time:] = (attention.split(part(near)) for part in (attention.key, attention.value))
            q = attention.split(attention.query(near + asked))
            h = layer.changed(h, attention(q, k + state.keys[number][positions], v, mask))
        logits = linear(self.norm(h[:, -1]), self.embedding.weight, self.bias)
        rows = {"cache": cache[:, :, :, forgotten:], "pads": (pads - forgotten).clamp(min=0)}
        return Step(logits, replace(state, rows=rows))
