"""The transformer: a translator made of attention alone (Vaswani et al. 2017).

    x_0 = √d E[token] + PE[position]                             sinusoidal positions, one table E for both sides,
                                                              or (tokenizer.separate) another one for sources
    encoder     x = Norm(x + Attention(x));  x = Norm(x + FFN(x))
    decoder     x = Norm(x + Attention(x));  x = Norm(x + Attention(x, M));  x = Norm(x + FFN(x))
    p(next) = softmax(x Eᵀ)                                   (tied: the output table is the input's)

That is the post-norm of the paper. With `norm = "pre"`, x = x + f(Norm(x)) and a last Norm behind each stack, which
bears a higher rate and less warm-up (Xiong et al. 2020). The loss is KL(smoothed target || p).

A source is read as s_1 … s_m <eos>; a target is fed as <eos> t_1 … t_n and must become t_1 … t_n <eos>.

Shapes: B batch, T time, d width, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.attention import within
from lexigraph.nn.encoder_decoder import EncoderDecoder
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.network import Flow, Segment
from lexigraph.nn.positions import sinusoidal
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.translation import pairs
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Columns
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(6, 1, about="layers of the encoder")
    decoder_layers: int = ranged(0, 0, about="layers of the decoder; 0: as many as the encoder")
    heads: int = ranged(8, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(512, 1, about="width of the network: numbers in the vector of a token")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    context: int = ranged(256, 2, about="the longest source or target in tokens, its end included")
    norm: Literal["pre", "post"] = key("post", about="norms before each part of a layer (pre) or after it (post)")
    activation: Activation = key("relu", about="function inside the feed-forward part")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(
        True, about="the output has the target's table (the source's, too, if they share one), not its own"
    )


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.1, 0, 0.999, about="share of the target's probability spread over all tokens")


class Transformer(EncoderDecoder):
    """The network; `network(source_ids, target_ids)` gives logits."""

    table: Tensor  # of positions

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        shape = Shape(
            config.dim, config.heads, config.inner or 4 * config.dim, config.activation, config.dropout, config.norm
        )
        super().__init__(
            (shape, shape),
            (config.layers, config.decoder_layers or config.layers),
            vocabularies,
            context=config.context,
            tied=config.tied,
            smoothing=objective.label_smoothing,
        )
        self.config, self.objective = config, objective
        self.register_buffer("table", sinusoidal(config.context, config.dim), persistent=False)
        self.apply(self._initialise)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return pairs(recipe.tokenizer.separate, recipe.data)

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.dim**-0.5)  # times √d: unit size
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        if isinstance(module, Layer) and self.config.norm == "pre":  # nothing else bounds what the layers add up to
            parts = [module.attention.out, module.feed_forward.narrow]
            for last in [*parts, module.memory.out] if hasattr(module, "memory") else parts:
                last.weight.data.mul_((2 * self.config.layers) ** -0.5)

    def embed(self, ids: Int[Tensor, "B T"], time: int, decoder: bool) -> Float[Tensor, "B T d"]:
        x = self.embedding_of(decoder)(ids) * math.sqrt(self.config.dim) + self.table[time : time + ids.shape[1]]
        return F.dropout(x, self.config.dropout, self.training)

    def segments(self) -> list[Segment]:
        """Each layer by itself, and the tables before and behind them."""

        def seen(batch: Batch) -> Tensor:
            return within(batch["source_lengths"], batch["source"].shape[1])

        def read(layer: nn.Module, batch: Batch, flow: Flow) -> Flow:
            return {"source": layer(flow["source"], mask=seen(batch))}

        def between(batch: Batch, flow: Flow) -> Flow:
            return {"memory": self.norm_encoder(flow["source"]), "x": self.embed(batch["inputs"], 0, decoder=True)}

        def write(layer: nn.Module, batch: Batch, flow: Flow) -> Flow:
            return {"x": layer(flow["x"], memory=flow["memory"], memory_mask=seen(batch), causal=True)}

        return [
            Segment(
                [self.embedding_of(False)], [], lambda batch, _: {"source": self.embed(batch["source"], 0, False)}
            ),
            *(Segment([layer], ["source"], partial(read, layer)) for layer in self.encoder),
            Segment([self.norm_encoder, self.embedding], ["source"], between),
            *(Segment([layer], ["x", "memory"], partial(write, layer)) for layer in self.decoder),
            Segment(
                [self.norm_decoder, self.output_table],
                ["x"],
                lambda batch, flow: self.terms(self.norm_decoder(flow["x"]), batch),
            ),
        ]
