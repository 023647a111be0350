"""A tag for every frame of a sequence of vectors: framewise classification (Graves & Schmidhuber 2005).

    x_t = (frame_t - mean) / deviation                        each number by its own, or all by the same
    h_t = [RNN(x_1 … x_t); RNN(x_n … x_t)]                    every frame sees the whole sequence
    E_t = W h_t + b
    p(tag of t) = softmax(E_t), or p(tags) by a CRF           as of words (models/tagger.py)

Means and deviations are those of the training split.

Shapes: B batch, T frames, k numbers of a frame, C tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.nn.crf import CRF
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds, ragged
from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.tagging import TAGS, TaggerNetwork, tagged
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

FRAMES = "frames"


@dataclass(frozen=True)
class Config:
    cell: Literal["lstm", "gru", "rnn"] = key("lstm", about="the recurrent cell that reads a sequence")
    layers: int = ranged(1, 1, about="recurrent layers in each direction")
    dim: int = ranged(64, 1, about="numbers in the state of each direction")
    scale: Literal["each", "all"] = key(
        "each", about="what brings numbers to mean 0 and deviation 1: those of each number of a frame, or of all"
    )
    output: Literal["softmax", "crf"] = key("softmax", about="each frame's tag by itself, or tags that fit together")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 between layers and on states")


@dataclass(frozen=True)
class Objective:
    pass


class FrameTagger(TaggerNetwork):
    """The network; `network(batch)` gives the logits of every frame's tags."""

    traits = Traits(windowed=FRAMES, reads_whole=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        numbers, tags = vocabularies.numbers(FRAMES), vocabularies.labels(TAGS)
        self.config, self.objective, self.tag_names = config, objective, tags.names
        each = config.scale == "each"
        self.mean = np.array(numbers.means if each else numbers.mean, np.float32)
        self.deviation = np.array(numbers.deviations if each else numbers.deviation, np.float32)
        self.layers = Recurrent(
            config.cell, len(numbers), config.dim, config.layers, bidirectional=True, dropout=config.dropout
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = OutputTable(self.layers.width, len(tags))
        self.crf = CRF(tags.names) if config.output == "crf" else None

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        tags = Column("tags", vocabulary=TAGS, aligned=FRAMES, optional=True)
        return {FRAMES: Column("vectors", vocabulary=FRAMES), TAGS: tags}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Scaled frames, and their tags."""
        rows = ragged(examples[FRAMES])
        lengths = np.array([len(row) for row in rows])
        frames = np.zeros((len(rows), lengths.max(), rows[0].shape[1]), np.float32)
        frames[np.arange(lengths.max()) < lengths[:, None]] = (np.concatenate(rows) - self.mean) / self.deviation
        return tagged({FRAMES: torch.from_numpy(frames), "lengths": torch.from_numpy(lengths)}, examples)

    def forward(self, batch: Batch) -> Float[Tensor, "B T C"]:
        """Logits of the tags of every frame."""
        x = batch[FRAMES].to(self.output.weight.dtype)
        h, _ = self.layers(x, batch["lengths"])
        return self.output(self.dropout(h))

    def logits(self, batch: Batch) -> Float[Tensor, "B T C"]:
        return self(batch)
