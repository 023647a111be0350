"""What encoders that see a whole text at once are made of: BERT, and both parts of ELECTRA.

Shapes: B batch, T time, K chosen positions of a text, d width, H heads, V vocabulary, e width of embeddings.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.attention import within
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.feedforward import ACTIVATIONS
from lexigraph.nn.transformer import Layer, Shape


class Embedding(nn.Module):
    """Token, position and segment, summed and normed."""

    def __init__(self, vocabulary: int, dim: int, context: int, segments: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.tokens = TokenTable(vocabulary, dim)
        self.positions = nn.Embedding(context, dim)
        self.segments = nn.Embedding(segments, dim)
        self.norm = nn.LayerNorm(dim, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"] | None = None) -> Float[Tensor, "B T e"]:
        length, context = ids.shape[1], self.positions.num_embeddings
        if length > context:
            raise LexigraphError(f"{length} tokens are more than the model's context of {context}.")
        kind = self.segments.weight[0] if segments is None else self.segments(segments)
        return self.dropout(self.norm(self.tokens(ids) + self.positions.weight[:length] + kind))


class Encoder(nn.Module):
    """Layers in which every position sees every other; a matrix before them where embeddings have their own width."""

    def __init__(self, shape: Shape, layers: int, embedding: int) -> None:
        super().__init__()
        self.widen = nn.Linear(embedding, shape.dim) if embedding != shape.dim else nn.Identity()
        self.layers = nn.ModuleList(Layer(shape) for _ in range(layers))
        self.norm = shape.make_norm() if shape.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "B T e"],
        lengths: Int[Tensor, " B"] | None = None,
        weights: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T d"]:
        return self.states(x, lengths, weights)[-1]

    def states(
        self,
        x: Float[Tensor, "B T e"],
        lengths: Int[Tensor, " B"] | None = None,
        weights: list[Tensor] | None = None,
    ) -> list[Float[Tensor, "B T d"]]:
        """What goes into the first layer, and what comes out of each."""
        mask = None if lengths is None else within(lengths, x.shape[1])
        states = [self.widen(x)]
        for layer in self.layers:
            states.append(layer(states[-1], mask=mask, weights=weights))
        return [*states[:-1], self.norm(states[-1])]


class MaskedHead(nn.Module):
    """From a hidden state to what is compared with the table of tokens."""

    def __init__(self, dim: int, embedding: int, vocabulary: int, activation: str, eps: float) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise UsageError(f"model.activation = {activation!r} must be one of {', '.join(ACTIVATIONS)}.")
        self.dense = nn.Linear(dim, embedding)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(embedding, eps)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape e"]:
        return self.norm(self.activation(self.dense(x)))

    def logits(self, x: Float[Tensor, "*shape d"], table: Float[Tensor, "V e"]) -> Float[Tensor, "*shape V"]:
        return F.linear(self(x), table, self.bias)


def initialise(module: nn.Module, deviation: float = 0.02) -> None:
    """The first weights. BERT's deviation is 0.02 everywhere; 0: √(2 / 5d), d the inputs of a matrix or the width of
    a table (LTG-BERT): about as much at BERT's 768, and more in narrow layers, whose sums have fewer terms."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=deviation or math.sqrt(2 / (5 * module.weight.shape[1])))
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def at(hidden: Float[Tensor, "B T d"], positions: Int[Tensor, "B K"]) -> Float[Tensor, "B K d"]:
    """The hidden states at some positions of each text."""
    return hidden[torch.arange(len(positions), device=positions.device)[:, None], positions]
