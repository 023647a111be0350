"""Recipes for word vectors: a TOML file with one section, `[words]`, whose keys are the settings of training.py.

    settings, about = read("glove", {"dim": 200})          # a name that ships with Lexigraph, or a .toml file

They are read as strictly as the recipes of networks: an unknown key or a wrong type is refused with file and line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Expected, Source, section
from lexigraph.registry import nearest
from lexigraph.words.settings import Settings, settings_of


def names() -> list[str]:
    """The recipes for word vectors that ship with Lexigraph."""
    folder = resources.files("lexigraph") / "words" / "recipes"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def source(name_or_file: str | Path) -> Source:
    """The text of a shipped recipe, or of a .toml file."""
    name = str(name_or_file)
    if name in names():
        text = (resources.files("lexigraph") / "words" / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        return Source(f"recipe {name}", text)
    if Path(name).suffix != ".toml":
        raise UsageError(f"There is no recipe for word vectors named {name!r}{nearest(name, names())}")
    try:
        return Source(name, Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LexigraphError(f"The recipe {name} cannot be read: {error}.") from None


def read(name_or_file: str | Path, changes: Mapping[str, Any] | None = None) -> Settings:
    """A recipe by name or file, with some settings changed, checked and complete."""
    origin = source(name_or_file)
    for key in origin.tables:
        if key not in ("about", "words", "expected"):
            raise UsageError(f"{origin.where(key, '')}: unknown section [{key}]; there are: about, words, expected.")
    given = section(origin, "words", Settings, origin.tables.get("words", {}))
    section(origin, "expected", Expected, origin.tables.get("expected", {}))
    kept = {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}
    wanted = kept | dict(changes or {})
    return settings_of(wanted.pop("method"), wanted.pop("dim"), wanted)
