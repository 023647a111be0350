"""Where something may be written, asked before the work begins; and JSON that every reader of JSON can read.

    free_file("map.html", "a map", (".png", ".svg", ".html"), force=False)

Nothing that is there is replaced unless the caller was told to (`force`, `--force`). Files that belong to a run are
the exception: what trains or measures it keeps them up to date (results.json, log.jsonl, checkpoints).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lexigraph.errors import LexigraphError, UsageError

INSTEAD = "choose another name, or replace it with --force (force=True)"
ABSENT = "not_finite"  # the key under which a JSON file names the figures that it lacks


def free_file(path: str | Path, what: str, suffixes: Sequence[str] = (), force: bool = False) -> Path:
    """The path of a file that may be written, or a sentence that says why not. `what` it will hold: "a map"."""
    path = Path(path)
    if path.is_dir():
        raise LexigraphError(f"{path} is a folder: name a file for {what}.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise UsageError(f"{path.name!r} cannot name {what}: its name has to end with {' or '.join(suffixes)}.")
    _refuse_no_parent(path)
    if os.path.lexists(path):
        if not force:
            raise LexigraphError(f"{path} exists already: {INSTEAD}.")
        if not path.is_file():
            raise LexigraphError(f"{path} is no plain file and is never replaced: choose another name for {what}.")
    return path


def free_folder(
    path: str | Path, what: str, force: bool = False, alike: Callable[[Path], bool] = lambda path: False
) -> Path:
    """The path of a folder that may be written. `force` replaces one that is `alike`, never one with other things."""
    path = Path(path)
    if path.name in ("", ".."):
        raise UsageError(f"{path} has no name of its own: choose a folder for {what}.")
    _refuse_no_parent(path)
    if os.path.lexists(path):
        if not force:
            raise LexigraphError(f"{path} exists already: {INSTEAD}.")
        if path.is_symlink() or not path.is_dir():
            raise LexigraphError(f"{path} is no folder and is not replaced by one: choose another name for {what}.")
        if any(path.iterdir()) and not alike(path):
            raise LexigraphError(f"{path} holds other things than {what}, and --force replaces only such a folder.")
    return path


def _refuse_no_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise LexigraphError(f"There is no folder {path.parent} for {path.name}.")
    if not os.access(path.parent, os.W_OK):
        raise LexigraphError(f"{path} cannot be written: the folder {path.parent} may not be written to.")


def reason(error: OSError) -> str:
    """What the disk says; NumPy's own error tells only how much of an array was written."""
    numpy_short = error.errno is None and "requested and" in str(error)
    return f"the disk is full ({error})" if numpy_short else str(error)


# ---- JSON, which has no NaN and no Infinity ----


def json_text(value: object, indent: int | None = None) -> str:
    """`value` as JSON; a number that is not finite is null, and a table names those that it lacks.

    >>> json_text({"loss": float("nan"), "steps": 2})
    '{"loss": null, "steps": 2, "not_finite": ["loss"]}'
    """
    absent: list[str] = []
    finite = _finite(value, "", absent)
    if absent and isinstance(finite, dict):
        finite[ABSENT] = absent
    return json.dumps(finite, indent=indent, ensure_ascii=False, allow_nan=False)


def not_finite(value: object) -> list[str]:
    """The names of numbers in `value` that are not finite, as `scores.test.nll`."""
    absent: list[str] = []
    _finite(value, "", absent)
    return absent


def _finite(value: object, name: str, absent: list[str]) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        absent.append(name)
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each, f"{name}.{key}".lstrip("."), absent) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each, f"{name}.{place}".lstrip("."), absent) for place, each in enumerate(value)]
    return value
