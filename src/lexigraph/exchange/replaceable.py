"""Which folders `convert --force` may replace: such as it makes itself, and no run that somebody trained."""

from __future__ import annotations

import json
from pathlib import Path

from lexigraph.errors import LexigraphError
from lexigraph.run import Run


def was_imported(folder: Path) -> bool:
    """Whether it is a run that was made from a Hugging Face folder, and not trained."""
    try:
        return Run.open(folder).json("results.json")["steps"] == 0
    except (LexigraphError, KeyError, TypeError):
        return False


def was_exported(folder: Path) -> bool:
    """Whether it is a Hugging Face folder, which a run is not."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "model_type" in config and not (folder / "recipe.toml").exists()
