"""Which folders `convert --force` may replace: such as it makes itself, and no run that somebody trained."""

from __future__ import annotations

import json
from pathlib import Path

from lexigraph.errors import LexigraphError
from lexigraph.run import Run

IMPORTED = "imported"  # the key of config.json by which such a run is known
TRAINED = ("log.jsonl", "checkpoints")  # what training leaves in a run folder


def was_imported(folder: Path) -> bool:
    """Whether it is a run that was made from a Hugging Face folder, and not trained since."""
    if any((folder / name).exists() for name in TRAINED):
        return False
    try:
        run = Run.open(folder)
        # What was exported here before brings its results along, and the steps of its training with them.
        return bool(run.config().get(IMPORTED)) or run.json("results.json")["steps"] == 0
    except (LexigraphError, KeyError, TypeError):
        return False


def was_exported(folder: Path) -> bool:
    """Whether it is a Hugging Face folder, which a run is not."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "model_type" in config and not (folder / "recipe.toml").exists()
