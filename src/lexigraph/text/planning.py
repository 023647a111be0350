"""From a table and the traits of a network to a plan: rows in random order for training, each once for evaluation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Recipe
from lexigraph.text.batches import (
    Buckets,
    InTurn,
    Plan,
    Rows,
    Staged,
    Streams,
    TablePlan,
    Together,
    Windows,
    require_a_batch,
)
from lexigraph.text.columns import Traits
from lexigraph.text.files import shown
from lexigraph.text.mixing import TASK, Mixed, mixed
from lexigraph.text.tables import Table

WINDOW = 64  # tokens of a stream's window, where neither recipe nor context says how many
BLOCK = 256  # tokens of a carried stream that are measured together


def training_plan(tables: Mapping[str, Table], traits: Traits, recipe: Recipe) -> Plan:
    """Which rows of which tables stand together at which step."""
    plans = {name: _table_plan(table, traits, recipe, name) for name, table in tables.items()}
    if recipe.data.mixing == "in turn" and len(plans) > 1:
        return InTurn(plans, {name: recipe.data.turns.get(name, 1) for name in plans}, recipe.train.seed)
    return Together(plans)


def _table_plan(table: Table, traits: Traits, recipe: Recipe, name: str) -> TablePlan:
    settings, data = recipe.train, recipe.tables.get(name, recipe.data)
    total, batch_tokens = _tokens(table, traits), data.batch_tokens or settings.batch_tokens
    plan: TablePlan
    if data.unit == "line":
        starts, lengths = _fitting(table, traits)
        if not len(starts):
            raise LexigraphError(f"No line of {shown(data.train)} fits into model.context = {traits.context} tokens.")
        if traits.windowed not in table.columns:  # a further table: as many rows in every step, whatever their length
            lengths = np.full_like(lengths, lengths.max())
        if mixed(data) and TASK in table.columns:
            tasks = table.columns[TASK].values[table.examples_of(Rows(starts, lengths), traits.windowed)]
            plan = Mixed(starts, lengths, tasks, data, batch_tokens, settings.seed)
        else:
            plan = Buckets(starts, lengths, batch_tokens, settings.seed)
    else:
        window = min(data.window or traits.context or WINDOW, max(1, total))
        plan = _windows(total, window, batch_tokens, traits, settings.seed)
        if settings.short_steps:
            if settings.short_window >= window:
                raise UsageError(
                    f"train.short_window = {settings.short_window} comes before windows of more tokens: set it below "
                    f"the window of {window} (data.window or model.context), or train.short_steps = 0."
                )
            short = _windows(total, settings.short_window, batch_tokens, traits, settings.seed)
            plan = Staged(short, settings.short_steps, plan)
    require_a_batch(plan, shown(data.train), batch_tokens, total)
    return plan


def _windows(total: int, window: int, batch_tokens: int, traits: Traits, seed: int) -> TablePlan:
    """A stream in windows: at random, or in order where what was read is remembered."""
    if traits.stateful:
        return Streams(total + 1, window, max(1, batch_tokens // window), seed)
    return Windows(total + 1, window, batch_tokens, seed)


def evaluation_plan(table: Table, traits: Traits, recipe: Recipe, limit: int = 0) -> TablePlan:
    """Every row once, or those of about the first `limit` tokens; of a stream, stateful ones read carried windows.

    How many streams those are, the recipe says (eval.streams): one is exact, several are faster.
    """
    settings, data = recipe.eval, recipe.data
    window = data.window or traits.context or WINDOW
    total = _tokens(table, traits)
    total = min(total, limit) if limit else total
    if data.unit == "stream" and traits.stateful:
        streams = max(1, min(settings.streams, total // window))
        longest = min(traits.context or BLOCK, settings.batch_tokens // streams)
        return Streams(total + 1, max(1, longest), streams, 0, tail=True)
    if data.unit == "stream":
        starts = np.arange(0, total, window)
        lengths = np.minimum(total - starts, window)
    else:
        starts, lengths = _fitting(table, traits)
        if not len(starts):
            raise LexigraphError(f"No sentence of this text fits into the model's {traits.context} tokens.")
        rows = max(1, int(np.searchsorted(_positions(table, traits, starts), total))) if limit else len(starts)
        starts, lengths = starts[:rows], lengths[:rows]
    return Buckets(starts, lengths, settings.batch_tokens, 0)


def _fitting(table: Table, traits: Traits) -> tuple[np.ndarray, np.ndarray]:
    """Starts of the rows that are read, and what each costs of a batch."""
    starts, lengths = table.cut(traits)
    return starts, lengths + traits.row_tokens


def _positions(table: Table, traits: Traits, starts: np.ndarray) -> np.ndarray:
    """How many tokens of all columns stand before each row."""
    if len(table.sequences) < 2:
        return starts
    examples = table.examples_of(Rows(starts, starts), traits.windowed)
    bounds = (table.columns[name].offsets for name in table.sequences)
    return np.sum([offsets[examples] for offsets in bounds if offsets is not None], axis=0)


def _tokens(table: Table, traits: Traits) -> int:
    """How many tokens are predicted in all: as many as the windowed column has, but for the first boundary."""
    if not table.sequences:
        return table.examples * max(1, traits.row_tokens)
    return sum(len(table.columns[name].values) - 1 for name in table.sequences)
