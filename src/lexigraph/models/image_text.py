"""Image-text matching: one transformer reads a text and a picture, and says whether they belong together.

    c_t, c_i, w_1 … w_n <sep>, x_1 … x_m          class tokens of text and picture, the text, the picture's patches
    joint    every position sees every other, as in VisualBERT (Li et al. 2019) and ViLT (Kim et al. 2021)
    apart    c_t and the text see each other, c_i and the patches see each other: the baseline
    p(match) = σ(v · GELU(W Norm((c_t + c_i) / 2)))

A text has learned positions, patches those of nn/vision.py, and each side has a vector of its own added. Half of the
time the picture is exchanged for another example's, by the seed of the row. Hard negatives: of some pictures of the
batch the one that fits best, as the network has it now, is the wrong one.

Shapes: B pairs, T tokens, m patches, d width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, Network, Outputs, Seeds, ragged
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.vision import Pictures, VisionEncoder
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.images import IMAGE, same_shapes
from lexigraph.text.vocabularies import Vocabularies

CAPTION, OTHER = "caption", "other"
SWAP = 82  # stream of random numbers
TEXT_SIDE, PICTURE_SIDE = 0, 1


@dataclass(frozen=True)
class Config:
    fusion: Literal["joint", "apart"] = key("joint", about="text and picture see each other, or (the baseline) not")
    patch: int = ranged(4, 1, about="dots on a side of a patch")
    stem: bool = key(False, about="patches come of small strided convolutions, not of one large matrix")
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network")
    context: int = ranged(64, 2, about="the longest caption in tokens, its end included; longer ones are left out")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    hard: int = ranged(0, 0, 64, about="wrong pictures: of so many of the batch the hardest; 0: one at random")


class ImageTextMatcher(Network):
    """The network; `network(images, ids, lengths)` gives log p / (1 - p) of each pair."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens, d = vocabularies.tokens(), config.dim
        self.config, self.objective, self.numbers = config, objective, vocabularies.numbers(IMAGE)
        self.pad, self.end = tokens.pad, tokens.eos
        shape = Shape(d, config.heads, 4 * d, dropout=config.dropout)
        self.patches = VisionEncoder(self.numbers, shape, 0, config.patch, stem=config.stem, token=False)
        self.traits = Traits(
            context=config.context,
            windowed="",
            reads_whole=True,
            corrupts_on_host=True,
            batch_coupled=objective.hard > 0,
            row_tokens=self.patches.length + 2,
        )
        self.embedding = TokenTable(len(tokens), d)
        self.positions = nn.Embedding(config.context, d)
        self.sides = nn.Embedding(2, d)
        self.classes = nn.Parameter(torch.empty(2, d))  # c_t, c_i
        for table in (self.embedding.weight, self.positions.weight, self.sides.weight, self.classes):
            nn.init.normal_(table, std=0.02)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(config.layers))
        self.norm, self.widen, self.output = shape.make_norm(), nn.Linear(d, d), nn.Linear(d, 1)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {
            IMAGE: Column("image", vocabulary=IMAGE),
            CAPTION: Column("tokens"),
            OTHER: Column("image", vocabulary=IMAGE, field=IMAGE, at="random", optional=True),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Captions without the boundary in front, pictures, and other examples' pictures, where there are any.

        In training one of the two counts, by the seed; in evaluation both.
        """
        captions = [row[1:] for row in ragged(examples[CAPTION])]
        tensors = {
            "images": _stacked(examples, IMAGE, self.numbers.shape),
            "ids": torch.from_numpy(padded(captions, self.pad)),
            "lengths": torch.tensor([len(row) for row in captions]),
        }
        if OTHER not in examples:
            return Batch(tensors)
        tensors[OTHER] = _stacked(examples, OTHER, self.numbers.shape)
        if seeds is None:
            return Batch(tensors, {"loss": 2.0 * len(captions)})
        tensors["swap"] = uniform(torch.from_numpy(seeds[MAIN]), 1, SWAP)[:, 0] < 0.5
        return Batch(tensors, {"loss": float(len(captions))})

    def forward(self, images: Pictures, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        x, longest = self.patches(images) + self.sides.weight[PICTURE_SIDE], ids.shape[1]
        text = self.embedding(ids) + self.positions.weight[:longest] + self.sides.weight[TEXT_SIDE]
        x = torch.cat([self.classes.expand(len(x), -1, -1), text, x], 1)
        x = F.dropout(x, self.config.dropout, self.training)
        place = torch.arange(x.shape[1], device=x.device)
        of_text = (place >= 2) & (place < 2 + longest)
        seen = (~of_text | (place - 2 < lengths[:, None]))[:, None, None]  # all but padding
        if self.config.fusion == "apart":
            side = of_text | (place == 0)
            seen = seen & (side[:, None] == side)
        for layer in self.layers:
            x = layer(x, mask=seen)
        both = self.norm(x[:, :2].mean(1))
        return self.output(F.gelu(self.widen(both)))[:, 0]

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        nll = self.pair_nll(batch)[0]
        return {"loss": Term(nll.sum(), batch.counts["loss"])}, None

    def pair_nll(self, batch: Batch) -> tuple[Float[Tensor, "B two"], Float[Tensor, "B two"]]:
        """- log p of what is right, of every text with its picture and with another one (in training: with one of
        them), and the logits."""
        images, text = batch["images"], (batch["ids"], batch["lengths"])
        if "swap" not in batch.tensors:
            logits = torch.stack([self(images, *text), self(batch[OTHER], *text)], 1)
            return F.softplus(torch.stack([-logits[:, 0], logits[:, 1]], 1)), logits
        swap = batch["swap"]
        other = self.hardest(batch) if self.objective.hard else batch[OTHER]
        logits = self(torch.where(swap[:, None, None, None], other, images), *text)[:, None]
        return F.softplus(torch.where(swap[:, None], logits, -logits)), logits

    @torch.no_grad()
    def hardest(self, batch: Batch) -> Pictures:
        """For each text the picture that fits it best, of some of other rows that show something else."""
        images, text = batch["images"], (batch["ids"], batch["lengths"])
        best, chosen = self(batch[OTHER], *text), batch[OTHER]
        for shift in range(1, min(self.objective.hard, len(images))):
            moved = images.roll(shift, 0)
            found = self(moved, *text).masked_fill((moved == images).flatten(1).all(1), -torch.inf)
            chosen = torch.where((found > best)[:, None, None, None], moved, chosen)
            best = torch.maximum(best, found)
        return chosen

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        logits = self(batch["images"], batch["ids"], batch["lengths"])
        return {"match": list(logits[:, None])}


def _stacked(examples: Examples, name: str, shape: tuple[int, ...]) -> Tensor:
    return torch.from_numpy(np.stack(same_shapes(ragged(examples[name]), shape)))
