"""Go on with a run further than was planned: `lexigraph train --out RUN --resume --set train.steps=2000`.

Only keys that say how long a run is and when it looks up may change (`CHANGEABLE`): any other would make another run
of it. The learning rate of step i is always rate(i, steps) of the schedule (training/schedules.py), with the number
of steps that holds while the step is made. So `constant` and `inverse-sqrt` go on as if the longer run had been
planned from the start, to the bit; `cosine` and `linear` take the rate that a run of the new length has at that step,
which is higher than what the shorter run had come down to, and come down from there.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from lexigraph import checksums
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.network import columns_of
from lexigraph.preparation import TABLES, UNIGRAMS, tables_in, task_of, write_encoded
from lexigraph.recipe import Recipe
from lexigraph.run import Run, remove
from lexigraph.text.columns import MAIN
from lexigraph.text.vocabularies import Vocabularies
from lexigraph.training.checkpoint import latest, verify
from lexigraph.training.progress import Reporter

CHANGEABLE = (
    *("train.steps", "train.epochs", "train.patience"),
    *("train.validate_every", "train.checkpoint_every", "train.log_every", "train.tensorboard"),
)


def take_changes(run: Run, asked: Recipe, reporter: Reporter) -> bool:
    """Make the recipe of a run the one that is asked for, if that only differs in `CHANGEABLE` keys: anything else is
    refused by name. A finished run is opened again if it is to be longer. Whether there is anything left to train."""
    changed = run.changes(asked, CHANGEABLE)
    if not changed:
        return not run.finished
    _check_length(run, asked, changed)
    if newest := latest(run.checkpoints):  # before anything changes
        verify(newest)
    checksums.verify(run.path / TABLES)
    if run.finished:
        _encode_again(run, asked, reporter)
    (run.path / "results.json").unlink(missing_ok=True)  # first: killed here, the run is one to be resumed
    run.write("recipe.toml", asked.toml())
    reporter.say(f"Going on with {', '.join(f'{key} = {asked.flat()[key]}' for key in changed)}.")
    return True


def _check_length(run: Run, asked: Recipe, changed: list[str]) -> None:
    """Refuse a length that the run has already, or that has no say."""
    before, after, newest = run.recipe().train, asked.train, latest(run.checkpoints)
    done = int(newest.name.removeprefix("step-")) if newest else 0
    if bool(before.epochs) != bool(after.epochs) or ("train.steps" in changed and after.epochs):
        key, other = ("epochs", "steps") if before.epochs else ("steps", "epochs")
        raise UsageError(f"train.{key} decides how long this run is, not train.{other}: set train.{key}.")
    if run.finished and newest is None:
        raise LexigraphError(f"{run.path} is finished and its checkpoints are gone: it cannot be made longer.")
    if run.bundled:
        raise UsageError(f"{run.path} ships with Lexigraph and stays as it is: train another with --from.")
    if not after.epochs and (after.steps < done or (run.finished and after.steps == done)):
        raise UsageError(
            f"{run.path} has made {done:,} steps already: set train.steps higher, not to {after.steps:,}."
        )
    if after.epochs and (after.epochs < before.epochs or (run.finished and after.epochs == before.epochs)):
        raise UsageError(f"{run.path} has train.epochs = {before.epochs:g}: set it higher, not to {after.epochs:g}.")


def _encode_again(run: Run, recipe: Recipe, reporter: Reporter) -> None:
    """The tables of a finished run, from the same files, which must not have changed."""
    vocabularies = Vocabularies.load(run, columns_of(recipe))
    with tempfile.TemporaryDirectory(dir=run.path, prefix=".tables-") as made:
        write_encoded(recipe, vocabularies, Path(made), reporter)
        counts = task_of(recipe).frequencies(tables_in(Path(made), recipe)["train"][MAIN])
        if not np.array_equal(counts, np.load(run.path / UNIGRAMS, allow_pickle=False)):
            raise LexigraphError(
                f"{recipe.data.train} is not what {run.path} was trained on any more: it cannot be made longer. "
                f"Train a new run with --from {run.path}."
            )
        checksums.write(Path(made) / TABLES)
        remove(run.path / TABLES)
        os.rename(Path(made) / TABLES, run.path / TABLES)
