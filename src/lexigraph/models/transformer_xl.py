"""Transformer-XL: a language model whose windows remember the windows before (Dai et al. 2019).

    h~ = [stop-gradient(m) ; h]                  m: the last M vectors that went into this layer in earlier windows
    q = h W_q     k = h~ W_k     v = h~ W_v
    A(i, j) = (q_i + u)·k_j + (q_i + v)·W_R R[i - j]        j ≤ i; R: sines and cosines of the distance, not learned
    h = Norm(h + W_o softmax(A / √D) v);   h = Norm(h + FFN(h))          (norm = "pre": before each part, as in gpt)
    p(next) = softmax(h Eᵀ + b)

No position is ever added to a token: A depends on distances alone (nn/relative.py), so that what is remembered means
the same wherever a window begins, and a memory longer than in training is only more distances. Layer by layer the
memory reaches further back: over L windows in L layers. Writing keeps the keys and values of the last M + context
tokens, all that the last token of a window sees. The adaptive softmax of the paper is left out: subword vocabularies
are small.

Shapes: B batch, T time, M positions of memory, S = M + T, L layers, d width, H heads, D = d / H, V vocabulary, R rows
of a search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import linear
from lexigraph.nn.relative import RelativeLayer, RelativeState, Visibility, distances
from lexigraph.nn.segment_memory import MemoryNetwork, back, left_padded, sliding
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Shape
from lexigraph.sections import key, ranged
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(128, 2, about="tokens of a window; distances set no limit of their own")
    memory: int = ranged(
        128,
        0,
        about="positions of earlier windows that it remembers (short windows: fewer); 0: each is by itself",
    )
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    norm: Literal["pre", "post"] = key(
        "post", about="norms after each part of a layer (post, the paper's), or before it (pre)"
    )
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class TransformerXL(MemoryNetwork):
    """The network; `network(ids)` gives logits of a window that remembers nothing."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__(
            config.dim, config.context, config.memory, config.dropout, objective.label_smoothing, vocabularies
        )
        inner = config.inner or 4 * config.dim
        shape = Shape(config.dim, config.heads, inner, config.activation, config.dropout, config.norm)
        self.config, self.objective = config, objective
        self.blocks: Any = nn.ModuleList(RelativeLayer(shape) for _ in range(config.layers))
        self.norm = shape.make_norm() if config.norm == "pre" else nn.Identity()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def layers(
        self, ids: Int[Tensor, "B T"], memory: Float[Tensor, "B L M d"] | None = None
    ) -> list[Float[Tensor, "B T d"]]:
        x = self._drop(self.embedding(ids))
        keys = ids.shape[1] + (0 if memory is None else memory.shape[2])
        table, visibility = self._drop(self._distances(keys)), Visibility(back(ids.shape[1], keys, ids.device))
        found = [x]
        for number, layer in enumerate(self.blocks):
            (x,) = layer(x, None if memory is None else memory[:, number], table, [(x, visibility)])
            found.append(x)
        return [*found[:-1], self._drop(self.norm(x))]

    def _distances(self, keys: int) -> Float[Tensor, "N d"]:
        """R of the distances keys … 0: nobody sees what is behind."""
        weight = self.embedding.weight
        return distances(keys, keys + 1, self.width, weight.device).to(weight.dtype)

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`), window by window."""
        ids, pads = left_padded(beginning["ids"], beginning["lengths"])
        config, table = self.config, self._distances(self.span + self.context)
        empty = table.new_empty(len(ids), config.layers, 2, config.heads, 0, config.dim // config.heads)
        measured = torch.stack([layer.attention.measure(table) for layer in self.blocks])
        state: Any = RelativeState({"cache": empty, "pads": pads}, relative_positions=measured)
        for window in ids.split(self.context, 1):
            step = self._read(state, window)
            state = step.state
        return Step(step.logits.repeat_interleave(width, 0), state.expand(width))

    def step(self, state: RelativeState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row."""
        return self._read(state, tokens[:, None])

    def _read(self, state: RelativeState, ids: Int[Tensor, "R T"]) -> Step:
        """Some tokens more. Each sees `span` positions, itself included, however they are cut into windows."""
        old, pads = state.rows["cache"], state.rows["pads"]
        time = ids.shape[1]
        keys, forgotten = old.shape[4] + time, max(0, old.shape[4] + time - self.span + 1)
        visibility = Visibility(sliding(time, keys, self.span, pads, ids.device))
        x = self.embedding(ids)
        cache = torch.cat([old, old.new_empty(*old.shape[:4], time, old.shape[5])], 4)
        for number, layer in enumerate(self.blocks):
            k, v = cache[:, number].unbind(1)
            for storage, new in zip((k, v), layer.keys_values(x), strict=True):
                storage[:, :, -time:] = new
            x = layer.through(x, (k, v), state.relative_positions[number, :, -keys - 1 :], visibility)
        rows = {"cache": cache[..., forgotten:, :], "pads": (pads - forgotten).clamp(min=0)}
        return Step(linear(self.norm(x[:, -1]), self.embedding.weight, self.bias), replace(state, rows=rows))
