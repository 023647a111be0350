"""What a run folder holds, for a person: its size, its settings, its scores, its loss curve, and what to type next.

Nothing of a model is loaded: sizes come from the headers of its files.
"""

from __future__ import annotations

import json
import math
import shlex
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.run import Run
from lexigraph.stored import lines_in, shown_lines

WIDTH, HEIGHT = 60, 8  # of the curve, in characters
NOT_COMPARED = ("data.train", "data.valid", "data.test")
COMMANDS = {  # ability → what one types after the run
    "generate": '"The" --count 3',
    "complete": '"The" --n-best 3',
    "score": '"A sentence." "Another one."',
    "rank": '"is" "are" --prompt "The key to the cabinets " --prefix',
    "translate": '"A sentence."',
    "align": "$'A sentence.\\tEin Satz.'",
    "fill": '"She <mask> ."',
    "tag": '"She sings ."',
    "parse": '"She sings ."',
    "classify": '"A sentence."',
    "answer": '"Who wrote it?" --file FILE',
    "caption": "picture.png",
    "match": "picture.png --text 'a dog' --text 'a cat'",
    "estimate": '"[[0.3, 1], [0.9, 0], [0.4, 1]]"',
    "choose": '"The keys to the cabinet" "is" "are"',
    "encode": '"A sentence." --out vectors.npy',
    "decode": "vectors.npy",
    "pictures": '"A sentence." --out pictures',
    "read": "pictures/0000.png",
    "blend": '"A sentence." "Another one." --steps 5',
    "solve": '"They ran . - He ran . + He sings ."',
    "sample": "--count 3",
    "neighbours": '"A sentence." --among FILE',
    "nearest": "WORD -k 5",
    "similarity": "WORD WORD",
    "analogy": "WORD WORD WORD",
    "map": "--out map.html",
}
OF_FIELDS = {  # the same of systems that read something else than text
    ("classify", "tree"): '"(? (? not) (? bad))"',
    ("classify", "image"): "picture.png",
    ("tag", "frames"): "sequence.npy",
    ("estimate", "other"): "$'A sentence.\\tAnother one.'",
}


def facts(run: Run) -> dict[str, Any]:
    """All that is known of a run, as plain values."""
    config, recipe = run.config(), run.recipe()
    like, changed = settings(recipe)
    found = dict(config) | {"finished": run.finished, "parameters": parameters(run), "bytes": size(run.path)}
    found |= {"recipe_like": like, "settings": changed}
    if run.finished:
        found["results"] = run.json("results.json")
    return found | {"curve": curve(run), "commands": commands(run), "recipe": recipe.flat()}


def size(folder: Path) -> int:
    """The bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parameters(run: Run) -> int | None:
    """How many numbers a model has learned; None where there is none yet."""
    files = [
        path
        for path in (
            run.path / "model.safetensors",
            *(run.path / "vectors" / f"{name}.npy" for name in ("vectors", "ngrams")),
        )
        if path.exists()
    ]
    if not files:
        return None
    return sum(_numbers_in(path) for path in files)


def _numbers_in(path: Path) -> int:
    if path.suffix == ".npy":
        import numpy as np

        return int(np.load(path, mmap_mode="r", allow_pickle=False).size)
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > path.stat().st_size:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        hidden = {"__metadata__", *(name for name in header if name.endswith(":scale"))}  # of weights in 8 bits
        return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name not in hidden)
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError) as error:
        raise LexigraphError(f"{path} is damaged: {error}.") from None


def settings(recipe: Recipe) -> tuple[str, dict[str, Any]]:
    """The shipped recipe that this one is most like, and the keys that differ from it, with their values."""
    own, best = recipe.flat(), ("", recipe.flat())
    for name in recipes.names():
        if recipes.source(name).tables.get("system") != recipe.system:
            continue
        try:
            other = recipes.read(name).flat()
        except (LexigraphError, UsageError):
            continue
        changed = {key: value for key, value in own.items() if other.get(key) != value and key not in NOT_COMPARED}
        if len(changed) < len(best[1]):
            best = (name, changed)
    return best


def curve(run: Run) -> dict[str, list[tuple[float, float]]]:
    """The losses of log.jsonl by kind, "train" and "valid": (step or epoch, loss)."""
    points: dict[str, list[tuple[float, float]]] = {}
    file = run.path / "log.jsonl"
    events, damaged = lines_in(file) if file.exists() else ([], [])
    if damaged:
        warnings.warn(f"{file} is damaged in {shown_lines(damaged)}: the curve leaves that out.", stacklevel=2)
    for event in events:
        where, loss = event.get("step", event.get("epoch")), event.get("loss")
        if _number(where) and _number(loss):
            points.setdefault(str(event.get("kind", "train")), []).append((float(where), float(loss)))
    return points


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def drawn(points: Mapping[str, Sequence[tuple[float, float]]]) -> list[str]:
    """Curves as lines of text: the first with ·, the second with o; nothing where there are too few points."""
    every = [point for row in points.values() for point in row]
    if len(every) < 2:
        return []
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*every, strict=True))
    sheet = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark, row in zip("·o", points.values(), strict=False):
        for where, loss in row:
            column = round((where - left) / max(right - left, 1e-12) * (WIDTH - 1))
            line = round((high - loss) / max(high - low, 1e-12) * (HEIGHT - 1))
            sheet[line][column] = mark
    labels = [f"{high:.3f}", *[""] * (HEIGHT - 2), f"{low:.3f}"]
    marks = ", ".join(f"{mark} {name}" for mark, name in zip("·o", points, strict=False))
    lines = [f"{label:>8} │{''.join(row).rstrip()}" for label, row in zip(labels, sheet, strict=True)]
    return [*lines, f"{'':>8} └{'─' * WIDTH}", f"{'loss':>8}  {left:g} … {right:g}   {marks}"]


def commands(run: Run) -> list[str]:
    """Commands that fit what the run can do, ready to copy."""
    folder = shlex.quote(run.path.name if run.bundled else str(run.path))
    if not run.finished:
        return [f"lexigraph train --out {folder} --resume"]
    words = "words" in run.recipe().flat() or any(key.startswith("words.") for key in run.recipe().flat())
    group = "words " if words else ""
    abilities = [ability for ability in run.config().get("abilities", []) if ability in COMMANDS]
    fields = () if words else system(run.recipe().system).fields
    typed = COMMANDS | {ability: text for (ability, field), text in OF_FIELDS.items() if field in fields}
    asked = [f"lexigraph {group}{ability} {folder} {typed[ability]}" for ability in abilities]
    return asked + ([] if words else [f"lexigraph eval {folder} --data FILE"])


def rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a person wants to know first, as a table of two columns."""
    hidden = ("results", "curve", "commands", "recipe", "settings", "recipe_like", "parameters", "bytes")
    for key, value in found.items():
        if key not in hidden and value not in ("", {}):
            yield key, " ".join(map(str, value)) if isinstance(value, list) else str(value)
    if found["parameters"] is not None:
        yield "parameters", f"{found['parameters']:,}"
    yield "on disk", f"{found['bytes'] / 1e6:,.1f} MB"
    named = f"as recipe {found['recipe_like']}" if found["recipe_like"] else "of its own"
    changed = ", ".join(f"{key}={value}" for key, value in found["settings"].items())
    yield "settings", f"{named}, but {changed}" if changed else named
    known = found.get("results", {}).items()
    yield from ((key, str(value)) for key, value in known if key not in found and not isinstance(value, dict | list))
