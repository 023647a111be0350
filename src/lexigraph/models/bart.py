"""BART: a transformer that learns by restoring corrupted text (Lewis et al. 2020).

    x_0 = Norm(E[token] + P[position])                           learned positions, a table for each side
    post-norm layers, exact GELU; p(next) = softmax(x Eᵀ + b)

From plain text (data.unit = "line" or "stream") it learns to write what it reads corrupted (objectives/denoising.py):
spans of tokens behind one <mask> each, and the sentences of a document in another order. A sentence ends with a full
stop, ! or ?, or with its line; a document is a line, or what stands between boundaries in a window of a stream. Where
every line is one sentence, only a stream has anything to permute. From pairs (objective.noise = "none") it learns
to translate, best from a run that has seen plain text (--from RUN).

Where sources are of a language that such a run does not know, a small encoder of its own (model.extra_layers), with a
vocabulary and positions of its own, stands in the place of the table of tokens: it learns to write what BART can
restore. First it is trained alone with P, P' and the first layer's queries, keys and values, then everything for a
few steps (train.lr_scale says who learns; docs/families/bart.md has both commands).

    x_0 = Norm(extra(Norm(E'[token] + P'[position])) + P[position])

The special token <mask> (tokenizer.special) masks a span. A source is read as s_1 … s_m <eos>; a target is fed
as <eos> t_1 … t_n and must become t_1 … t_n <eos>.

Shapes: B batch, T time, d width, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.attention import Mask
from lexigraph.nn.encoder_decoder import EncoderDecoder
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.network import Examples, ragged
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.translation import pairs
from lexigraph.objectives import denoising
from lexigraph.objectives.masked import Words
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns
from lexigraph.text.vocabularies import Vocabularies, role


@dataclass(frozen=True)
class Config:
    layers: int = ranged(6, 1, about="layers of the encoder")
    decoder_layers: int = ranged(0, 0, about="layers of the decoder; 0: as many as the encoder")
    heads: int = ranged(12, 1, about="attention heads of the encoder, which share `dim` among them")
    decoder_heads: int = ranged(0, 0, about="attention heads of the decoder; 0: as many as the encoder")
    dim: int = ranged(768, 1, about="width of the network: numbers in the vector of a token")
    inner: int = ranged(0, 0, about="width inside the encoder's feed-forward part; 0: four times dim")
    decoder_inner: int = ranged(0, 0, about="width inside the decoder's feed-forward part; 0: as the encoder's")
    context: int = ranged(1024, 2, about="the longest source or target in tokens, its end included")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    scaled: bool = key(False, about="multiply embeddings by √dim")
    extra_layers: int = ranged(
        0, 0, about="layers of an encoder in front, for sources with a vocabulary of their own; 0: there is none"
    )


@dataclass(frozen=True)
class Objective:
    noise: Literal["infilling", "masking", "deletion", "rotation", "none"] = key(
        "infilling", about="how a plain text is corrupted; none: it learns from pairs of source and target"
    )
    mask_rate: float = ranged(0.3, 0, 1, about="share of the tokens that are masked or deleted")
    mean_span: float = key(3.0, about="mean length of a masked span, 0 included")
    permute: bool = key(True, about="shuffle the sentences of a document first; idle where a text is one sentence")
    label_smoothing: float = ranged(0.1, 0, 0.999, about="share of the target's probability spread over all tokens")


class BART(EncoderDecoder):
    """The network; `network(source_ids, target_ids)` gives logits."""

    bias: Tensor  # of the output; not learned, but some published models have one

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        tokens = vocabularies.tokens()
        inner = config.inner or 4 * config.dim
        widths = ((config.heads, inner), (config.decoder_heads or config.heads, config.decoder_inner or inner))
        reading, writing = (
            Shape(config.dim, heads, inner, config.activation, config.dropout, norm="post") for heads, inner in widths
        )
        super().__init__(
            (reading, writing),
            (config.layers, config.decoder_layers or config.layers),
            vocabularies,
            context=config.context,
            start=role(tokens, "start", tokens.eos),
            begins=True,
            smoothing=objective.label_smoothing,
            corrupts=objective.noise != "none",
        )
        self.config, self.objective = config, objective
        self.positions, self.decoder_positions = (nn.Embedding(config.context, config.dim) for _ in range(2))
        self.norm_embedding, self.norm_decoder_embedding = reading.make_norm(), writing.make_norm()
        self.mask = role(tokens, "mask", None if objective.noise != "none" else tokens.unk)
        self.words = Words.of(tokens)
        self.register_buffer("bias", torch.zeros(len(tokens)))
        if config.extra_layers:
            if objective.noise != "none":
                raise UsageError("model.extra_layers reads the sources of pairs: set objective.noise = none.")
            self.extra = nn.ModuleList(Layer(reading) for _ in range(config.extra_layers))
            self.extra_positions, self.norm_extra = nn.Embedding(config.context, config.dim), reading.make_norm()
            self.newborn = ("source_embedding", "extra", "extra_positions", "norm_extra")
        self.apply(_initialise)

    @property
    def output_bias(self) -> Float[Tensor, " V"]:
        return self.bias

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        if recipe.objective.noise != "none":
            return {"text": Column("tokens")}
        return pairs(recipe.model.extra_layers > 0, recipe.data)

    def embed(self, ids: Int[Tensor, "B T"], time: int, decoder: bool) -> Float[Tensor, "B T d"]:
        positions = self.decoder_positions if decoder else self.positions
        norm = self.norm_decoder_embedding if decoder else self.norm_embedding
        x = self.embedding(ids) * (math.sqrt(self.config.dim) if self.config.scaled else 1.0)
        x = norm(x + positions.weight[time : time + ids.shape[1]])
        return F.dropout(x, self.config.dropout, self.training)

    def embed_source(self, ids: Int[Tensor, "B S"], mask: Mask | None) -> Float[Tensor, "B S d"]:
        if self.source_embedding is None:
            return super().embed_source(ids, mask)
        x = self.norm_extra(self.source_embedding(ids) + self.extra_positions.weight[: ids.shape[1]])
        x = F.dropout(x, self.config.dropout, self.training)
        for layer in self.extra:
            x = layer(x, mask=mask)
        x = self.norm_embedding(x + self.positions.weight[: ids.shape[1]])
        return F.dropout(x, self.config.dropout, self.training)

    def _sentences(self, row: np.ndarray) -> tuple[Bool[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Where sentences end (of several stops in a row, with the last), and each token's document; a boundary
        between documents counts as one of its own, so that it stays where it is."""
        boundaries = row == self.end
        stops = self.words.stops[row]
        stops[:-1] &= ~stops[1:]
        return stops, 2 * np.cumsum(boundaries) - boundaries

    def remark(self, examples: Examples) -> str:
        """What a user should know before training on such examples: whether there is anything to permute."""
        if not self.objective.permute or "text" not in examples:
            return ""
        rows, several = ragged(examples["text"]), 0
        for row in rows:
            ends, documents = self._sentences(row[1:-1])
            sentences = documents[denoising.sentence_starts(ends, documents)]
            several += len(sentences) > len(set(sentences.tolist()))
        if several >= 0.05 * len(rows):
            return ""
        return (
            f"{several or 'None'} of the {len(rows):,} training texts looked at hold two sentences of a document: "
            f"objective.permute has {'little' if several else 'nothing'} to do. To learn the order of sentences, "
            'read the file as a stream: data.unit = "stream", and data.documents if it has any.'
        )

    def corrupted(self, row: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        objective, mask, special = self.objective, self.mask, self.words.first
        source = row
        if objective.permute:
            ends, documents = self._sentences(row)
            source = denoising.sentence_permutation(row, random, ends=ends, documents=documents)
        if objective.noise == "infilling":
            source = denoising.text_infilling(
                source,
                random,
                mask=mask,
                special=special,
                mask_rate=objective.mask_rate,
                mean_span=objective.mean_span,
            )
        elif objective.noise == "masking":
            source = denoising.token_masking(
                source, random, mask=mask, special=special, mask_rate=objective.mask_rate
            )
        elif objective.noise == "deletion":
            source = denoising.token_deletion(source, random, special=special, mask_rate=objective.mask_rate)
        else:
            source = denoising.document_rotation(source, random)
        return source, row


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
