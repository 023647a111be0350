"""A table through a network, row by row: what every task measures with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from lexigraph.nn.network import Examples, Network
from lexigraph.objectives.terms import Batch, Carry
from lexigraph.recipe import Recipe
from lexigraph.text.planning import evaluation_plan
from lexigraph.text.tables import Table

N = TypeVar("N", bound=Network)
Sums = Mapping[str, Tensor]  # for every row of a batch, what is to be added up
Rows = Callable[[N, Batch, Carry | None], tuple[Sums, Carry | None]]


def choosing(metric: str, valid: Table | None) -> tuple[str, str]:
    """The metric that chooses the best weights: the one asked for, unless a task knows better."""
    return metric, ""


def baseline(train: Table) -> None:
    """What a task trains to compare with: nothing, unless it has something."""


@torch.no_grad()
def measured(
    network: N,
    table: Table,
    recipe: Recipe,
    rows: Rows[N],
    device: torch.device,
    limit: int = 0,
    prepare: Callable[[Examples], Batch] | None = None,
) -> dict[str, np.ndarray]:
    """What `rows` finds in each row of the table (a line, or a window of a stream), up to about `limit` tokens.

    prepare: what makes batches of examples, where it is not the network's own.
    """
    plan = evaluation_plan(table, network.traits, recipe, limit)
    prepare = prepare or network.prepare
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    carry: Carry | None = None
    for step in range(plan.epoch_steps):
        batch = prepare(table.fetch(plan.batch(step), network.traits)).to(device)
        sums, carry = rows(network, batch, None if plan.fresh(step) else carry)
        for name, values in sums.items():
            found[name].append(values.cpu().double().numpy())
    return {name: np.concatenate(parts) for name, parts in found.items()}
