"""T5: every task is text in, text out (Raffel et al. 2020; with `gated` and without `tied`, its version 1.1).

    x_0 = E[token]                                            no table of positions
    pre-norm    x = x + f(x / rms(x) ⊙ w);   no biases anywhere
    scores      q · k + b[bucket(distance)], not divided by √D; one b for all layers of a stack (nn/relative_bias.py)
    p(next) = softmax(x Eᵀ / √d)                              (not tied: softmax(x Oᵀ))

From plain text (data.unit = "line" or "stream") it learns to write what is missing from what it reads, as one of the
ways of objectives/spans.py: each span that is gone is a sentinel in the source, and the target is every sentinel with
its span. From pairs (objective.noise = "none") it learns to translate, best from a run that has seen plain text
(--from RUN).

The sentinels are the special tokens <0>, <1> … (tokenizer.special). A source is read as s_1 … s_m <eos>; a target
is fed as <pad> t_1 … t_n and must become t_1 … t_n <eos>.

Shapes: B batch, T time, S keys, d width, H heads, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.encoder_decoder import EncoderDecoder
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.relative_bias import RelativeBias
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.translation import pairs
from lexigraph.objectives import spans
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns
from lexigraph.text.vocabularies import Vocabularies, first_word, role, sentinels


@dataclass(frozen=True)
class Config:
    layers: int = ranged(6, 1, about="layers of the encoder")
    decoder_layers: int = ranged(0, 0, about="layers of the decoder; 0: as many as the encoder")
    heads: int = ranged(8, 1, about="attention heads")
    head: int = ranged(0, 0, about="width of a head; 0: dim / heads")
    dim: int = ranged(512, 1, about="width of the network: numbers in the vector of a token")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    context: int = ranged(512, 2, about="the longest source or target in tokens, its end included")
    activation: Activation = key("relu", about="function inside the feed-forward part")
    gated: bool = key(False, about="version 1.1: a gated feed-forward part, (f(x W) * x V) U")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="one table for input and output, which is then divided by √dim")
    buckets: int = ranged(32, 1, about="kinds of distance between tokens that attention tells apart")
    farthest: int = ranged(128, 1, about="from this distance on, all are alike")
    eps: float = ranged(1e-6, 0, about="small number added to the variance in norms")


@dataclass(frozen=True)
class Objective:
    noise: Literal["spans", "replaced", "dropped", "prefix", "bert", "mass", "deshuffle", "none"] = key(
        "spans", about="how a plain text is corrupted; none: it learns from pairs of source and target"
    )
    mask_rate: float = ranged(0.15, 0, 1, about="share of the tokens that are missing")
    mean_span: float = key(3.0, about="mean length of a missing span")
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class T5(EncoderDecoder):
    """The network; `network(source_ids, target_ids)` gives logits."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        tokens = vocabularies.tokens()
        shape = Shape(
            config.dim, config.heads, config.inner or 4 * config.dim, config.activation, config.dropout,
            normed_by="rms", eps=config.eps, bias=False, gated=config.gated, head=config.head, scaled=False,
        )  # fmt: skip
        super().__init__(
            (shape, shape),
            (config.layers, config.decoder_layers or config.layers),
            vocabularies,
            context=config.context,
            start=role(tokens, "start", tokens.pad),
            tied=config.tied,
            smoothing=objective.label_smoothing,
            corrupts=objective.noise != "none",
        )
        self.config, self.objective = config, objective
        self.sentinels = sentinels(tokens)
        if len(self.sentinels) < 2 and objective.noise != "none":
            raise LexigraphError(
                "T5 marks what is missing by sentinels, and this vocabulary has fewer than two: list them in "
                'tokenizer.special, as ["<0>", "<1>", "<2>"].'
            )
        self.special = first_word(tokens)  # ids below are never missing
        behind = [token for token in self.sentinels if token > self.special]  # the words, as in published models
        self.words = min(behind, default=len(tokens))  # ids below are words, or special
        self.distances, self.decoder_distances = (
            RelativeBias(config.heads, bidirectional=both, buckets=config.buckets, farthest=config.farthest)
            for both in (True, False)
        )
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        """As published: scores are not divided by √D, so queries are born smaller by it."""
        dim, all_heads = self.config.dim, self.shape.heads * self.shape.width
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        if isinstance(module, Layer):
            nn.init.normal_(module.attention.qkv.weight[:all_heads], std=(dim * self.shape.width) ** -0.5)
            if hasattr(module, "memory"):
                nn.init.normal_(module.memory.query.weight, std=(dim * self.shape.width) ** -0.5)
        if isinstance(module, RelativeBias):
            nn.init.normal_(module.table.weight, std=dim**-0.5)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return pairs(data=recipe.data) if recipe.objective.noise == "none" else {"text": Column("tokens")}

    def embed(self, ids: Int[Tensor, "B T"], time: int, decoder: bool) -> Float[Tensor, "B T d"]:
        return F.dropout(self.embedding(ids), self.config.dropout, self.training)

    def position_bias(self, queries: int, keys: int, time: int, decoder: bool) -> Float[Tensor, "1 H T S"]:
        return (self.decoder_distances if decoder else self.distances)(queries, keys, time)

    def finish(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        x = F.dropout(x, self.config.dropout, self.training)
        return x * self.config.dim**-0.5 if self.config.tied else x

    def corrupted(self, row: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        self._check_sentinels()
        objective, mask = self.objective, self.sentinels[0]
        common: dict[str, Any] = {"special": self.special, "mask_rate": objective.mask_rate}
        match objective.noise:
            case "spans":
                return spans.random_spans(
                    row, random, sentinels=self.sentinels, mean_span=objective.mean_span, **common
                )
            case "replaced":
                return spans.replaced_spans(row, random, sentinels=self.sentinels, **common)
            case "dropped":
                return spans.dropped_tokens(row, random, **common)
            case "bert":
                return spans.bert_style(row, random, mask=mask, vocabulary=self.words, **common)
            case "mass":
                return spans.mass_style(row, random, mask=mask, **common)
            case "prefix":
                return spans.prefix_language_model(row, random)
            case _:
                return spans.deshuffling(row, random)

    def _check_sentinels(self) -> None:
        """Refuse too few for the longest texts, of which less than `mask_rate` would be missing."""
        objective, longest = self.objective, self.context - 1
        if objective.noise == "spans":
            needed = 1 + spans.span_count(longest, mask_rate=objective.mask_rate, mean_span=objective.mean_span)[1]
        elif objective.noise == "replaced":
            needed = 1 + spans.likely_spans(longest, mask_rate=objective.mask_rate)
        else:
            return
        if needed > len(self.sentinels):
            raise UsageError(
                f"{len(self.sentinels)} sentinels are too few to have {objective.mask_rate:.0%} of the longest texts "
                f"missing: list {needed} in tokenizer.special, as <0> to <{needed - 1}> (every missing span has "
                f"one, and one ends the target), or set a model.context of less than {self.context}."
            )
