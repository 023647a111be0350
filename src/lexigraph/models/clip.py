"""Contrastive image-text model: a picture and its caption get vectors that are near (CLIP: Radford et al. 2021).

    x = encoder(picture)                      the mean of patches or of a convolutional map's positions (nn/vision.py)
    y = encoder(w_1 … w_n <eos>)              the mean of a transformer's states, learned positions, pre-norm
    E = Norm(W₂ GELU(Z) + Z),  Z = W₁ x       a head for each side: both vectors have as many numbers
    loss                                      both directions over the pairs of a batch (objectives/contrastive.py)

Shapes: B pairs, T tokens, d width of an encoder, v numbers of a vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.attention import within
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, Network, Outputs, Seeds, ragged
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.vision import ConvolutionalEncoder, Pictures, VisionEncoder
from lexigraph.objectives.augmentation import changed
from lexigraph.objectives.contrastive import symmetric_nll
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.images import IMAGE, same_shapes
from lexigraph.text.vocabularies import Vocabularies

CAPTION = "caption"
MOST_SHARP = math.log(100.0)  # of log s, as in the paper: sharper ones make training unstable


@dataclass(frozen=True)
class Config:
    encoder: Literal["vit", "cnn"] = key("vit", about="what reads a picture: a vision transformer, or convolutions")
    patch: int = ranged(4, 1, about="vit: dots on a side of a patch")
    layers: int = ranged(3, 1, about="vit: layers, one above the other")
    text_layers: int = ranged(2, 1, about="layers of the encoder of captions")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of both encoders")
    vector: int = ranged(128, 1, about="numbers in the vector of a picture or a text")
    context: int = ranged(64, 2, about="the longest caption in tokens, its end included; longer ones are left out")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    sharpness: float = ranged(14.3, 0.01, 100, about="s at the start: what cosines are multiplied by; it is learned")
    crop: int = ranged(0, 0, 64, about="pictures are shifted by up to so many dots, black coming in; 0: not")
    flip: bool = key(False, about="half of the pictures are mirrored: not where captions speak of left and right")


class Head(nn.Module):
    """E = Norm(W₂ GELU(Z) + Z),  Z = W₁ x."""

    def __init__(self, dim: int, vector: int, dropout: float) -> None:
        super().__init__()
        self.project, self.bend = nn.Linear(dim, vector), nn.Linear(vector, vector)
        self.dropout, self.norm = nn.Dropout(dropout), nn.LayerNorm(vector)

    def forward(self, x: Float[Tensor, "B d"]) -> Float[Tensor, "B v"]:
        z = self.project(x)
        return self.norm(self.dropout(self.bend(F.gelu(z))) + z)


class CLIP(Network):
    """The network; `network.pictures(images)` and `network.texts(ids, lengths)` give vectors."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        self.config, self.objective, self.numbers = config, objective, vocabularies.numbers(IMAGE)
        self.pad, self.end, self.width = tokens.pad, tokens.eos, config.vector
        shape = Shape(config.dim, config.heads, 4 * config.dim, dropout=config.dropout)
        if config.encoder == "vit":
            self.encoder: VisionEncoder | ConvolutionalEncoder = VisionEncoder(
                self.numbers, shape, config.layers, config.patch, token=False
            )
        else:
            self.encoder = ConvolutionalEncoder(self.numbers, config.dim)
        self.traits = Traits(
            context=config.context,
            windowed="",
            reads_whole=True,
            corrupts_on_host=True,
            batch_coupled=True,
            row_tokens=self.encoder.length,
        )
        self.embedding = TokenTable(len(tokens), config.dim)
        self.positions = nn.Embedding(config.context, config.dim)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(config.text_layers))
        self.norm = shape.make_norm()
        self.picture_head, self.text_head = (Head(config.dim, config.vector, config.dropout) for _ in range(2))
        self.sharpness = nn.Parameter(torch.tensor([math.log(objective.sharpness)]))  # log s

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {IMAGE: Column("image", vocabulary=IMAGE), CAPTION: Column("tokens", optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Pictures, and their captions without the boundary in front, where there are any."""
        rows, asked = same_shapes(ragged(examples[IMAGE]), self.numbers.shape), self.objective
        if seeds is not None:
            randoms = map(random_of, seeds[MAIN])
            rows = [changed(row, own, asked.crop, asked.flip) for row, own in zip(rows, randoms, strict=True)]
        tensors = {"images": torch.from_numpy(np.stack(rows))}
        if CAPTION not in examples:
            return Batch(tensors)
        captions = [row[1:] for row in ragged(examples[CAPTION])]
        tensors["ids"] = torch.from_numpy(padded(captions, self.pad))
        tensors["lengths"] = torch.tensor([len(row) for row in captions])
        return Batch(tensors, {"loss": float(len(captions))})

    def pictures(self, images: Pictures) -> Float[Tensor, "B v"]:
        """The vectors of pictures."""
        return self.picture_head(self.encoder(images).mean(1))

    def texts(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B v"]:
        """The vectors of texts w_1 … w_n <eos>, padded on the right."""
        inside = within(lengths, ids.shape[1])
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        x = F.dropout(x, self.config.dropout, self.training)
        for layer in self.layers:
            x = layer(x, mask=inside)
        mean = (self.norm(x) * inside[:, 0, 0, :, None]).sum(1) / lengths[:, None]
        return self.text_head(mean)

    def pair_nll(self, batch: Batch) -> tuple[Float[Tensor, " B"], Float[Tensor, "B v"], Float[Tensor, "B v"]]:
        """The loss of each pair, and the vectors of its picture and its text."""
        pictures, texts = self.pictures(batch["images"]), self.texts(batch["ids"], batch["lengths"])
        sharpness = self.sharpness.clamp(max=MOST_SHARP)
        return symmetric_nll(pictures, texts, sharpness, everywhere=self.training), pictures, texts

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        return {"loss": Term(self.pair_nll(batch)[0].sum(), batch.counts["loss"])}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        texts = self.texts(batch["ids"], batch["lengths"])
        return {IMAGE: list(self.pictures(batch["images"])), CAPTION: list(texts)}
