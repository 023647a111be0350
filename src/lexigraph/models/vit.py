"""Vision transformer: a picture is a sentence of patches (Dosovitskiy et al. 2021).

    x_p = E (patch p, flattened) + P[p],    p = 1 … n            n patches; nn/vision.py: other positions, a stem
    x_0 = c + P[0]                                               the class token
    pre-norm    x = x + Attention(Norm(x));  x = x + FFN(Norm(x))
    token       p(class) = softmax(W Norm(x_0) + b)
    mean        p(class) = softmax(W mean_p Norm(x_p) + b)       … and no class token

Training may change pictures, each by its own seed (objectives/augmentation.py). Where two are mixed,

    loss = - λ log p(label) - (1 - λ) log p(label of the other)

Shapes: B batch, k channels, n patches, d width, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.classifier import LABEL, ClassifierNetwork, labelled
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.nn.transformer import Shape
from lexigraph.nn.vision import Pictures, Positions, VisionEncoder
from lexigraph.objectives.augmentation import changed, mixing_share
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.images import IMAGE, same_shapes
from lexigraph.text.vocabularies import Vocabularies

OTHER, OTHER_LABEL, SHARE = "other", "other_label", "share"  # another example, and how much of this one is left


@dataclass(frozen=True)
class Config:
    patch: int = ranged(4, 1, about="dots on a side of a patch")
    stem: bool = key(False, about="patches come of small strided convolutions, not of one large matrix")
    positions: Positions = key("1d", about="learned: a vector for each position; for each row and column; none")
    pooling: Literal["token", "mean"] = key("token", about="what is classified: a token of its own, or the mean")
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a patch")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    eps: float = ranged(1e-5, 0, 0.1, about="what norms add to a variance")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    crop: int = ranged(0, 0, 64, about="pictures are shifted by up to so many dots, black coming in; 0: not")
    flip: bool = key(False, about="half of the pictures are mirrored: not where left and right mean something")
    mixup: float = ranged(0.0, 0, 100, about="α: two pictures and labels are mixed by λ ~ Beta(α, α); 0: not")
    smoothing: float = ranged(0.0, 0, 0.999, about="label smoothing: the share that goes to all classes alike")


class VisionTransformer(ClassifierNetwork):
    """The network; `network(images)` gives the logits of the classes."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        self.config, self.objective, self.smoothing = config, objective, objective.smoothing
        self.numbers = vocabularies.numbers(IMAGE)
        inner = config.inner or 4 * config.dim
        shape = Shape(config.dim, config.heads, inner, config.activation, config.dropout, eps=config.eps)
        self.encoder = VisionEncoder(
            self.numbers,
            shape,
            config.layers,
            config.patch,
            stem=config.stem,
            positions=config.positions,
            token=config.pooling == "token",
        )
        self.traits = Traits(windowed="", row_tokens=self.encoder.length)
        self.output = OutputTable(config.dim, len(vocabularies.labels(LABEL)))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        found = {
            IMAGE: Column("image", vocabulary=IMAGE),
            LABEL: Column("class", vocabulary=LABEL, optional=True),
        }
        if cast(Objective, recipe.objective).mixup:
            found[OTHER] = Column("image", vocabulary=IMAGE, field=IMAGE, at="random", optional=True)
            found[OTHER_LABEL] = Column("class", vocabulary=LABEL, field=LABEL, at="random", optional=True)
        return found

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """The pictures, in training changed, and their labels."""
        rows = same_shapes(ragged(examples[IMAGE]), self.numbers.shape)
        if seeds is None:
            return labelled({"images": torch.from_numpy(np.stack(rows))}, examples)
        asked = self.objective
        randoms = [random_of(seed) for seed in seeds[MAIN]]
        own = [changed(row, random, asked.crop, asked.flip) for row, random in zip(rows, randoms, strict=True)]
        tensors = {"images": torch.from_numpy(np.stack(own))}
        if asked.mixup:
            others = zip(ragged(examples[OTHER]), randoms, strict=True)
            other = np.stack([changed(row, random, asked.crop, asked.flip) for row, random in others])
            share = torch.tensor([mixing_share(random, asked.mixup) for random in randoms])
            left = share[:, None, None, None]
            tensors["images"] = left * tensors["images"] + (1 - left) * torch.from_numpy(other)
            tensors[SHARE] = share
            tensors[OTHER_LABEL] = torch.tensor([int(label) for label in ragged(examples[OTHER_LABEL])])
        return labelled(tensors, examples)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        if SHARE not in batch.tensors:
            return super().loss(batch, carry)
        logits, share = self.logits(batch), batch[SHARE]
        one, other = (
            F.cross_entropy(logits, batch[name], reduction="none", label_smoothing=self.smoothing)
            for name in (LABEL, OTHER_LABEL)
        )
        nll = share * one + (1 - share) * other
        return {"loss": Term(nll.sum(), batch.counts["loss"], items=nll.detach()[:, None])}, None

    def forward(self, images: Pictures) -> Float[Tensor, "B C"]:
        """Logits of the classes of pictures."""
        x = self.encoder(images)
        return self.output(x[:, 0] if self.config.pooling == "token" else x.mean(1))

    def logits(self, batch: Batch) -> Float[Tensor, "B C"]:
        return self(batch["images"])
