"""How each kind of system is measured: the module that a system's `task` names in the registry."""

from __future__ import annotations

from types import ModuleType

from lexigraph.evaluation import language, masked, reconstruction, translation
from lexigraph.registry import system

TASKS: dict[str, ModuleType] = {
    "language": language,
    "masked": masked,
    "reconstruction": reconstruction,
    "translation": translation,
}


def task_of(name: str) -> ModuleType:
    """METRICS, validate, scores, headline of a system."""
    return TASKS[system(name).task]
