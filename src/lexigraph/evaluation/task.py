"""What every task is to the rest of the house: a module of this room that the registry names for a system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from lexigraph.abilities.textmodel import TextModel
from lexigraph.evaluation.intervals import Figure
from lexigraph.nn.network import Network
from lexigraph.recipe import Recipe
from lexigraph.text.tables import Table

Baseline = Callable[[Table], dict[str, float]]  # what a simpler model, trained for comparison, achieves on a table
Score = Figure | int | float | str | Mapping[str, "Score"]  # also a baseline's, or all in 8 bits, by their names
Scores = dict[str, Score]


@runtime_checkable
class Task(Protocol):
    """A task as its callers see it; which networks, models and scores it takes, each module says more narrowly."""

    METRICS: Mapping[str, bool]  # for `train.metric`: is greater better?

    def choosing(self, metric: str, valid: Table | None) -> tuple[str, str]:
        """The metric that chooses the best weights, and why it is not the one asked for."""

    def frequencies(self, table: Table) -> np.ndarray:
        """How often each token or label occurs, for the baseline."""

    def baseline(self, train: Table) -> Baseline | None:
        """What a task trains to compare with, if it has something."""

    def validate(self, network: Network, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
        """What validation reports."""

    def scores(
        self, model: TextModel, table: Table, steps: int, counts: np.ndarray, baseline: Baseline | None = None
    ) -> Scores:
        """All scores of a held-out table."""

    def headline(self, scores: Scores) -> str:
        """The scores in one line."""
