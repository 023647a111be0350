"""Vision transformer: a picture is a sentence of patches (Dosovitskiy et al. 2021).

    x_p = E (patch p, flattened) + P[p],    p = 1 … n²           n patches on a side
    x_0 = c + P[0]                                               the class token
    pre-norm    x = x + Attention(Norm(x));  x = x + FFN(Norm(x))
    p(class) = softmax(W Norm(x_0) + b)

Numbers of a picture are brought to mean 0 and deviation 1 by what the training split's have.

Shapes: B batch, s side of the picture, k channels, n patches on a side, d width, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.classifier import LABEL, ClassifierNetwork, labelled
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

IMAGE = "image"


@dataclass(frozen=True)
class Config:
    patch: int = ranged(4, 1, about="dots on a side of a patch")
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a patch")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    pass


class VisionTransformer(ClassifierNetwork):
    """The network; `network(images)` gives the logits of the classes."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        self.config, self.objective = config, objective
        self.numbers = vocabularies.numbers(IMAGE)
        height, width, channels = self.numbers.shape
        if height % config.patch or width % config.patch:
            raise UsageError(
                f"model.patch = {config.patch} must divide the pictures' height and width, {height} and {width}."
            )
        patches = (height // config.patch) * (width // config.patch)
        self.traits = Traits(windowed="", row_tokens=patches + 1)
        shape = Shape(config.dim, config.heads, config.inner or 4 * config.dim, config.activation, config.dropout)
        self.embed = nn.Linear(config.patch**2 * channels, config.dim)
        self.token = nn.Parameter(torch.zeros(config.dim))
        self.positions = nn.Embedding(patches + 1, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(config.layers))
        self.norm = shape.make_norm()
        self.output = OutputTable(config.dim, len(vocabularies.labels(LABEL)))
        nn.init.normal_(self.positions.weight, std=0.02)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {IMAGE: Column("image", vocabulary=IMAGE), LABEL: Column("class", vocabulary=LABEL, optional=True)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """The pictures, and their labels."""
        rows = ragged(examples[IMAGE])
        if wrong := next((row.shape for row in rows if row.shape != self.numbers.shape), None):
            raise UsageError(f"This model reads pictures of shape {self.numbers.shape}, not {wrong}.")
        return labelled({"images": torch.from_numpy(np.stack(rows))}, examples)

    def forward(self, images: UInt8[Tensor, "B height width k"]) -> Float[Tensor, "B C"]:
        """Logits of the classes of pictures."""
        p, dtype = self.config.patch, self.token.dtype
        x = (images.to(dtype) - self.numbers.mean) / self.numbers.deviation
        patches = x.unfold(1, p, p).unfold(2, p, p).flatten(1, 2).flatten(2)  # (B, n², k p²)
        x = torch.cat([self.token.expand(len(x), 1, -1), self.embed(patches)], 1)
        x = self.dropout(x + self.positions.weight)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x[:, 0]))

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self(batch["images"])
