"""A recipe says everything about a training: six TOML sections, each read into a frozen dataclass (sections.py).

Reading is strict: an unknown key, a wrong type or a value outside its choices is refused with the file, the
line and the nearest valid key. `[model]` and `[objective]` belong to the system, which brings its own
dataclasses for them (`Config` and `Objective` in its module). Recipes for word vectors have `[data]` and `[words]`
(words/recipe.py).

    recipe = read("gpt", {"train.steps": 500})        # a name that ships with Lexigraph, or a .toml file
    recipe.train.steps
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from lexigraph import upgrades
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import WORD_SYSTEMS, WORD_VECTORS, nearest, system
from lexigraph.sections import SECTIONS, Data, Eval, Expected, Tokenizer, Train
from lexigraph.toml import parsed, section, section_lines, toml, typed, types_of


@dataclass(frozen=True)
class Part:
    """Another system inside a network: a section [parts.NAME], which also holds the keys of its model."""

    system: str = field(metadata={"about": "the system that reads: bert, electra, xlnet, gpt, gpt-bert …"})
    vocabulary: str = field(metadata={"about": "the vocabulary whose tokens it reads"})
    model: Any


SYSTEM_SECTIONS = {"model": "Config", "objective": "Objective"}  # section -> its dataclass in the system's module


@dataclass(frozen=True)
class Recipe:
    """A recipe, resolved: every key has its value."""

    system: str
    about: str
    data: Data
    tokenizer: Tokenizer
    model: Any
    objective: Any
    train: Train
    eval: Eval
    expected: Expected = field(default_factory=Expected)
    tables: dict[str, Data] = field(default_factory=dict)  # further ones, by name: [data.NAME]
    parts: dict[str, Part] = field(default_factory=dict)  # other systems inside the network, by name: [parts.NAME]

    def flat(self) -> dict[str, Any]:
        """`{"train.steps": 500, …}`: every key with its value."""
        parts = {name: getattr(self, name) for name in (*SECTIONS, *SYSTEM_SECTIONS)}
        parts |= {f"data.{name}": data for name, data in self.tables.items()}
        values = {
            f"{name}.{key.name}": getattr(part, key.name)
            for name, part in parts.items()
            for key in dataclasses.fields(part)
        }
        for name, part in self.parts.items():
            values |= {f"parts.{name}.{key}": value for key, value in _keys_of(part).items()}
        return {"system": self.system} | values

    def toml(self) -> str:
        """The recipe as TOML text that `read` takes back."""
        lines = [f"system = {toml(self.system)}", f"about = {toml(self.about)}"]
        parts = {name: getattr(self, name) for name in ("data", "tokenizer", "model", "objective", "train", "eval")}
        parts |= {"expected": self.expected} | {f"data.{name}": data for name, data in self.tables.items()}
        for name, part in parts.items():
            lines += section_lines(name, part)
        for name, part in self.parts.items():
            lines += ["", f"[parts.{name}]", *(f"{key} = {toml(value)}" for key, value in _keys_of(part).items())]
        return "\n".join(lines) + "\n"


def _keys_of(part: Part) -> dict[str, Any]:
    """All that a section [parts.NAME] says."""
    model = {key.name: getattr(part.model, key.name) for key in dataclasses.fields(part.model)}
    return {"system": part.system, "vocabulary": part.vocabulary, **model}


@dataclass(frozen=True)
class Source:
    """A recipe file as written: its text, and what TOML makes of it."""

    name: str
    text: str

    @cached_property
    def tables(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:  # not TOML; nested too deeply; a number of thousands of digits
            raise UsageError(f"{self.name} is not valid TOML: {error}.") from None

    def line(self, section: str, key: str) -> int:
        """The line on which `key` of `section` stands, for messages."""
        current = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                current = stripped.strip("[] ").split("]")[0]
                if not key and current == section:
                    return number
            elif current == section and stripped.split("=")[0].strip().strip('"') == key:
                return number
        return 0

    def comment(self, section: str, key: str) -> str:
        """What stands behind `#` on the line of a key: the reason for its value."""
        line = self.text.splitlines()[self.line(section, key) - 1]
        outside = re.sub(r'"[^"]*"', lambda quoted: "_" * len(quoted[0]), line)  # a text may hold a #
        return line[outside.index("#") + 1 :].strip() if "#" in outside else ""

    def where(self, section: str, key: str) -> str:
        line = self.line(section, key)
        return f"{self.name}, line {line}" if line else self.name


def names() -> list[str]:
    """The recipes that ship with Lexigraph."""
    folder = resources.files("lexigraph") / "recipes"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def source(name_or_file: str | Path) -> Source:
    """The text of a shipped recipe, or of a .toml file."""
    name = str(name_or_file)
    if name in names():
        text = (resources.files("lexigraph") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        return Source(f"recipe {name}", text)
    path = Path(name)
    if path.suffix != ".toml":
        raise UsageError(f"There is no recipe named {name!r}{nearest(name, names())}")
    try:
        return Source(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LexigraphError(f"The recipe {name} cannot be read: {error}.") from None


def system_of(tables: Mapping[str, Any]) -> str | None:
    """The system that a recipe names; one with a section [words] need not, it is for word vectors."""
    name = tables.get("system", WORD_VECTORS if "words" in tables else None)
    return name if isinstance(name, str) else None


def of_word_vectors(name_or_file: str | Path) -> bool:
    """Whether a recipe trains word vectors, not a network."""
    return system_of(source(name_or_file).tables) in WORD_SYSTEMS


def read(
    name_or_file: str | Path,
    changes: Mapping[str, Any] | None = None,
    *,
    tiny: bool = False,
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] = lambda tables: tables,
) -> Recipe:
    """A recipe by name or file, with `section.key` values changed; `tiny` applies its `[tiny]` table first.

    Steps that are asked for are made, also where the recipe counts epochs.
    upgrade: what makes today's tables of an older run's.
    """
    origin = source(name_or_file)
    tables = upgrade({name: value for name, value in origin.tables.items() if name != "tiny"})
    changes = (origin.tables.get("tiny", {}) if tiny else {}) | dict(changes or {})
    if "train.steps" in changes and isinstance(train := tables.get("train"), dict) and "epochs" in train:
        changes.setdefault("train.epochs", 0.0)
    return _resolve(origin, tables, changes)


def _resolve(origin: Source, tables: dict[str, Any], changes: dict[str, Any]) -> Recipe:
    name = system_of(tables)
    if name in WORD_SYSTEMS:
        return WORD_SYSTEMS[name].resolve(origin, tables, changes)
    if name is None:
        raise UsageError(f'{origin.name} does not say which system it trains: add a line system = "gpt".')
    try:
        kinds = sections_of(name)
    except UsageError as error:
        raise UsageError(f"{origin.where('', 'system')}: {error}") from None
    tables, further = _further_tables(tables, changes)
    kinds |= dict.fromkeys(further, Data)
    tables, changes, named = _parts(origin, tables, changes)
    kinds |= {f"parts.{part}": system(given["system"]).module().Config for part, given in named.items()}
    parts = sections(origin, kinds, tables, changes)
    more = {part.removeprefix("data."): parts.pop(part) for part in further}
    inside = {part: Part(model=parts.pop(f"parts.{part}"), **given) for part, given in named.items()}
    recipe = Recipe(system=name, about=str(tables.get("about", "")), tables=more, parts=inside, **parts)
    if recipe.tokenizer.separate:
        _check_separate(
            recipe, "" if "tokenizer.separate" in changes else f"{origin.where('tokenizer', 'separate')}: "
        )
    return recipe


def sections_of(name: str) -> dict[str, type]:
    """The sections that recipes of a system have, each with its dataclass."""
    if name in WORD_SYSTEMS:
        return WORD_SYSTEMS[name].sections()
    module = system(name).module()
    own = {part: getattr(module, attribute) for part, attribute in SYSTEM_SECTIONS.items()}
    return SECTIONS | own | {"expected": Expected}


def sections(
    origin: Source, kinds: Mapping[str, type], tables: Mapping[str, Any], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """The sections of a recipe, each as its dataclass, with the changed keys; all of it checked."""
    for key in tables:
        if key not in kinds and key not in ("system", "about"):
            raise UsageError(f"{origin.where(key, '')}: unknown section [{key}]{nearest(key, kinds)}")
    parts: dict[str, Any] = {}
    for part, kind in kinds.items():
        parts[part] = section(origin, part, kind, tables.get(part, {}))
    for dotted, value in changes.items():
        part, _, key = dotted.rpartition(".")
        upgrades.refuse_renamed(dotted, value, part in kinds and key in types_of(kinds[part]), "")
        if part not in kinds or key not in types_of(kinds[part]):
            valid = [f"{s}.{k}" for s, kind in kinds.items() for k in types_of(kind)]
            raise UsageError(f"Unknown key {dotted}{nearest(dotted, valid)}")
        value = typed(value, types_of(kinds[part])[key], dotted, "")
        parts[part] = dataclasses.replace(parts[part], **{key: value})
    for part, values in parts.items():
        _check_ranges(origin, part, values, changes)
    return parts


def _further_tables(tables: dict[str, Any], changes: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """The sections of a recipe with each [data.NAME] as one of its own, and their names; changes may add some."""
    data, keys = tables.get("data", {}), types_of(Data)
    asked = [key.split(".")[1] for key in changes if key.startswith("data.") and key.count(".") == 2]
    named = [key for key in data if isinstance(data[key], dict) and key not in keys]
    flat = {f"data.{name}": data.get(name, {}) for name in [*named, *asked] if name not in keys}
    own = {key: value for key, value in data.items() if key not in named}
    return (tables | {"data": own} | flat) if flat else tables, list(flat)


def _parts(
    origin: Source, tables: dict[str, Any], changes: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, str]]]:
    """The sections of a recipe with each [parts.NAME] as one of its own, the changes without those that say what a
    part is, and what that is: its system and vocabulary."""
    given = tables.get("parts", {})
    tables = {name: table for name, table in tables.items() if name != "parts"}
    named = dict.fromkeys([*given, *(key.split(".")[1] for key in changes if key.startswith("parts."))])
    facts: dict[str, dict[str, str]] = {}
    for name in named:
        table = {"vocabulary": "text", **given.get(name, {})}
        own = {key: changes.get(f"parts.{name}.{key}", table.pop(key, None)) for key in ("system", "vocabulary")}
        if not isinstance(own["system"], str):
            where = f"{origin.where(f'parts.{name}', '')}: " if name in given else ""
            raise UsageError(
                f'{where}parts.{name} does not say which system it is: add parts.{name}.system = "bert".'
            )
        facts[name], tables[f"parts.{name}"] = {key: str(value) for key, value in own.items()}, table
    said = {f"parts.{name}.{key}" for name, own in facts.items() for key in own}
    return tables, {key: value for key, value in changes.items() if key not in said}, facts


def _check_ranges(origin: Source, part: str, values: Any, changes: Mapping[str, Any]) -> None:
    """Refuse numbers that make no sense."""
    for key in dataclasses.fields(values):
        low, high = key.metadata.get("range", (-math.inf, math.inf))
        value = getattr(values, key.name)
        numbers = value if isinstance(value, tuple) else [value]
        if "range" in key.metadata and not all(low <= number <= high for number in numbers):
            dotted = f"{part}.{key.name}"
            where = "" if dotted in changes else f"{origin.where(part, key.name)}: "
            limits = f"at least {low}" if high == math.inf else f"from {low} to {high:.15g}"
            raise UsageError(f"{where}{dotted} must be {limits}, not {value}.")


def _check_separate(recipe: Recipe, where: str) -> None:
    """A vocabulary for each side is for systems that have two sides."""
    columns = system(recipe.system).network_class().columns(recipe)
    if len({column.vocabulary for column in columns.values() if column.kind == "tokens" and not column.cut}) < 2:
        raise UsageError(
            f"{where}This {recipe.system} model has one vocabulary for all that it reads and writes: leave out "
            "tokenizer.separate, which is for translators."
        )


def settings(assignments: list[str]) -> dict[str, Any]:
    """`["train.steps=500"]` from the command line as `{"train.steps": 500}`."""
    changes = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set takes section.key=value, as in --set train.steps=500, not {assignment!r}.")
        changes[key.strip()] = parsed(text.strip())
    return changes


def differences(old: Recipe, new: Recipe) -> Iterator[str]:
    """What changed between two recipes, a line each: `train.lr: 0.001 became 0.002`."""
    before, after = old.flat(), new.flat()
    for key in before | after:
        if before.get(key) != after.get(key):
            yield f"{key}: {before.get(key)!r} became {after.get(key)!r}"
