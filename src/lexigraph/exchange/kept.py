"""What other libraries have no place for, beside their files: a folder `lexigraph` in which it travels.

recipe.toml      how the text is cleaned, and how the model was trained
unigrams.npy     how often each token stood in the training text: the baseline
results.json     the scores, which hold as long as the weights are those that were written
weights.json     the hash of those
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Recipe
from lexigraph.run import Run
from lexigraph.stored import array_in, table_in

FOLDER = "lexigraph"
RECIPE, UNIGRAMS, RESULTS, HASH = "recipe.toml", "unigrams.npy", "results.json", "weights.json"


def write(run: Run, recipe: Recipe, folder: Path, weights: Path) -> None:
    """Keep what there is of a run beside the weights that were written of it."""
    kept = folder / FOLDER
    kept.mkdir()
    (kept / RECIPE).write_text(recipe.toml(), encoding="utf-8")
    (kept / HASH).write_text(json.dumps({"blake2b": _hash(weights)}) + "\n", encoding="utf-8")
    if (run.path / UNIGRAMS).exists():
        np.save(kept / UNIGRAMS, array_in(run.path / UNIGRAMS))
    if run.finished:
        text = json.dumps(run.json(RESULTS), indent=2, ensure_ascii=False)
        (kept / RESULTS).write_text(text + "\n", encoding="utf-8")


def recipe_of(folder: Path, usual: Recipe, config: object) -> Recipe:
    """The recipe that was kept, with the model as their config says; where none was, `usual`."""
    file = folder / FOLDER / RECIPE
    if not file.exists():
        return usual
    try:
        kept = recipes.read(file)
    except UsageError as error:
        raise LexigraphError(f"What was kept is damaged: {error}") from None
    return dataclasses.replace(kept, model=config) if kept.system == usual.system else usual


def unigrams_of(folder: Path, vocabulary: int) -> np.ndarray:
    """The counts that were kept, if they are of this vocabulary; else zeros: what it was trained on is not known."""
    file = folder / FOLDER / UNIGRAMS
    counts = array_in(file) if file.exists() else np.zeros(vocabulary, np.int64)
    if counts.shape != (vocabulary,) or counts.dtype != np.int64:
        raise LexigraphError(f"{file} has the shape {counts.shape}, and the vocabulary {vocabulary} tokens.")
    return counts


def results_of(folder: Path, weights: Path, otherwise: dict[str, object]) -> dict[str, object]:
    """The results that were kept, if the weights are those that they are of."""
    kept = folder / FOLDER
    if not (kept / RESULTS).exists() or not (kept / HASH).exists() or not weights.exists():
        return otherwise
    same = table_in(kept / HASH).get("blake2b") == _hash(weights)
    return table_in(kept / RESULTS) if same else otherwise


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()
