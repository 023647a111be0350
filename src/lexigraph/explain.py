"""What the keys of recipes mean: the phrases beside them in the dataclasses, and why shipped recipes set them.

    explain("train.warmup")        # what it is, what it may be, which systems have it, which recipes set it and why
    explain("warmup")              # the same; a name that stands in several sections is explained for each of them

Keys of [model] and [objective] belong to systems, whose modules need torch: it is loaded for these only, and for
names without a section.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from lexigraph import recipe as recipes
from lexigraph import upgrades
from lexigraph.errors import UsageError
from lexigraph.recipe import SYSTEM_SECTIONS, Part, Recipe
from lexigraph.registry import SYSTEMS, WORD_SYSTEMS, system
from lexigraph.sections import SECTIONS, Data, Expected
from lexigraph.toml import toml, types_of

NAMES = ("data", "tokenizer", "model", "objective", "train", "eval", "words", "expected")  # of sections, as in a file
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
PLURALS = {int: "whole numbers", float: "numbers", bool: "true or false", str: "texts"}


@dataclass(frozen=True)
class Key:
    """A key with one meaning; systems may differ in its default."""

    name: str  # section.key
    about: str
    allowed: str  # its type, choices and range
    defaults: Mapping[str, tuple[str, ...]]  # as TOML → the systems that have it

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({name for names in self.defaults.values() for name in names}))

    @property
    def default(self) -> str:
        """The default; where systems differ, each with those that have it."""
        if len(self.defaults) == 1:
            return next(iter(self.defaults))
        return "; ".join(f"{value} ({', '.join(names)})" for value, names in self.defaults.items())


@dataclass(frozen=True)
class Use:
    """A recipe that sets a key, and why."""

    recipe: str
    value: str  # as TOML
    reason: str  # the comment on its line


@dataclass(frozen=True)
class Explanation:
    """A key, and the recipes that set it."""

    key: Key
    uses: tuple[Use, ...]


def explain(asked: str, recipe: str | None = None) -> list[Explanation]:
    """What a key means, by section and name or by name alone; `recipe`: in that recipe only.

    There is one answer for each section and meaning that a name has.
    """
    names = _found(asked, recipe)
    return [Explanation(key, _uses(key, recipe)) for name in names for key in _meanings(name, _systems(recipe))]


def section_keys(section: str, recipe: str | None = None) -> list[Key]:
    """All keys of a section."""
    if section in SYSTEM_SECTIONS and recipe is None:
        raise UsageError(
            f"The keys of [{section}] belong to systems: name a recipe, as in "
            f"`lexigraph explain {section} --recipe gpt`, or ask for one key, as in {section}."
            f"{'layers' if section == 'model' else 'label_smoothing'}."
        )
    names = [name for name in _names(_systems(recipe), section) if name.startswith(f"{section}.")]
    if not names:
        raise UsageError(f"The recipe {recipe} has no section [{section}]{_other_sections(recipe)}")
    return [key for name in names for key in _meanings(name, _systems(recipe))]


def recipe_keys(recipe: Recipe) -> Iterator[tuple[Key, str]]:
    """Every key of a resolved recipe with its value as TOML, further tables and parts included."""
    for dotted, value in recipe.flat().items():
        section, _, name = dotted.rpartition(".")
        if not section:
            continue  # the system itself
        if section.startswith("data."):
            kind: type = Data
        elif section.startswith("parts."):
            own = name in ("system", "vocabulary")
            kind = Part if own else system(recipe.parts[section.removeprefix("parts.")].system).module().Config
        else:
            kind = recipes.sections_of(recipe.system)[section]
        yield _key(section, kind, name, recipe.system), toml(value)


def allowed(kind: Any, low: float = -math.inf, high: float = math.inf) -> str:
    """What values a key may have, in words.

    >>> allowed(int, 1), allowed(Literal["pre", "post"]), allowed(tuple[float, ...], 0, 1)
    ('a whole number, at least 1', 'pre or post', 'a list of numbers, from 0 to 1')
    >>> allowed(tuple[Literal["rouge", "answers"], ...])
    'a list of rouge or answers'
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        *most, last = map(str, arguments)
        return f"{', '.join(most)} or {last}" if most else last
    if origin is tuple:
        count = "a list of " if arguments[-1] is Ellipsis else f"{len(arguments)} "
        words = count + (allowed(arguments[0]) if get_origin(arguments[0]) is Literal else PLURALS[arguments[0]])
    elif origin is dict:
        words = f"a table of {PLURALS[arguments[1]]}"
    elif origin is not None:  # a union with None
        words = KINDS[next(each for each in arguments if each is not NoneType)]
    else:
        words = KINDS[kind]
    if high < math.inf:
        return f"{words}, from {low:,} to {high:,}"
    return f"{words}, at least {low:,}" if low > -math.inf else words


def described(systems: tuple[str, ...]) -> str:
    """Which systems these are, in words."""
    if set(systems) >= SYSTEMS.keys():
        return "all systems" if set(systems) >= WORD_SYSTEMS.keys() else "all networks"
    return ", ".join(systems)


def _systems(recipe: str | None) -> list[str]:
    if recipe is None:
        return [*SYSTEMS, *WORD_SYSTEMS]
    name = recipes.system_of(recipes.source(recipe).tables)
    return [name or recipes.read(recipe).system]  # reading refuses one that names no system


def _kind(system_name: str, section: str) -> type | None:
    """The dataclass that a system has for a section; torch is loaded for its own sections only."""
    if system_name in WORD_SYSTEMS or section in SYSTEM_SECTIONS:
        return recipes.sections_of(system_name).get(section)
    return (SECTIONS | {"expected": Expected}).get(section)


def _names(systems: list[str], *sections: str) -> list[str]:
    """`section.key` of every key in these sections, or in all of them."""
    kinds = [(section, _kind(name, section)) for section in sections or NAMES for name in systems]
    found = (f"{section}.{each.name}" for section, kind in kinds if kind for each in dataclasses.fields(kind))
    return list(dict.fromkeys(found))


def _key(section: str, kind: type, name: str, *systems: str) -> Key:
    field = next(each for each in dataclasses.fields(kind) if each.name == name)
    if field.default_factory is not dataclasses.MISSING:
        default = toml(field.default_factory())
    else:
        default = toml(field.default) if field.default is not dataclasses.MISSING else "none: it must be given"
    words = allowed(types_of(kind)[name], *field.metadata.get("range", ()))
    return Key(f"{section}.{name}", field.metadata["about"], words, {default: systems})


def _meanings(dotted: str, systems: list[str]) -> list[Key]:
    """A key as each of these systems has it; those that mean the same by it together."""
    section, _, name = dotted.rpartition(".")
    if section == "parts":
        return [_key(section, Part, name, "tagger")]
    found: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for each in systems:
        kind = _kind(each, section)
        if kind and name in types_of(kind):
            key = _key(section, kind, name, each)
            defaults = found.setdefault((key.about, key.allowed), {})
            defaults[key.default] = (*defaults.get(key.default, ()), each)
    return [Key(dotted, about, words, defaults) for (about, words), defaults in found.items()]


def _found(asked: str, recipe: str | None) -> list[str]:
    """The keys that are asked for, or an error that names the nearest."""
    section, _, name = _plain(asked).rpartition(".")
    if section == "parts":
        return [f"parts.{name}"]
    systems = _systems(recipe)
    known = _names(systems, section) if section in NAMES else _names(systems)
    found = [each for each in known if each == f"{section}.{name}" or (not section and each.endswith(f".{name}"))]
    if not found:
        upgrades.refuse_renamed(asked, None, False, "")
        raise UsageError(f"There is no key {asked!r}{_of(recipe)}{_hint(asked, section, known, recipe)}")
    return found


def _plain(asked: str) -> str:
    """The key as one of the sections that all recipes have: further tables and parts have the keys of these."""
    if "=" in asked:
        raise UsageError(f"Name the key alone, without a value: {asked.partition('=')[0].strip() or 'train.steps'}.")
    first, *between, name = asked.strip().split(".") if "." in asked.strip() else ("", asked.strip())
    if first == "parts" and len(between) == 1:
        return f"{'parts' if name in ('system', 'vocabulary') else 'model'}.{name}"
    return f"data.{name}" if first == "data" and between else asked.strip()


def _of(recipe: str | None) -> str:
    return f" in the recipe {recipe}" if recipe else ""


def _hint(asked: str, section: str, known: list[str], recipe: str | None) -> str:
    """What to ask for instead."""
    if asked in recipes.names():
        return f": it is a recipe, whose keys `lexigraph recipes {asked} --keys` lists."
    wanted = asked.rpartition(".")[2]
    inside = {name.rpartition(".")[2]: name for name in reversed(known)}
    anywhere = {name.rpartition(".")[2]: name for name in reversed(_names(_systems(recipe)))}
    near = difflib.get_close_matches(wanted, inside, n=1, cutoff=0.6)
    if section and (wanted in anywhere or not near):  # the right name in the wrong section
        near = difflib.get_close_matches(wanted, anywhere, n=1, cutoff=0.6)
        inside = anywhere
    if near:
        return f"; did you mean {(inside[near[0]] if section else near[0])!r}?"
    return _other_sections(recipe)


def _other_sections(recipe: str | None) -> str:
    if recipe:
        return f"; `lexigraph recipes {recipe} --keys` lists those that it has."
    sections = ", ".join(NAMES[:-1])
    return f". `lexigraph explain SECTION` lists the keys of one, and these are the sections: {sections}."


def _uses(key: Key, recipe: str | None) -> tuple[Use, ...]:
    """The recipes that set a key, of systems that mean this by it."""
    section, _, name = key.name.rpartition(".")
    found = []
    for each in [recipe] if recipe else recipes.names():
        source = recipes.source(each)
        table = source.tables.get(section, {})
        if recipes.system_of(source.tables) in key.systems and isinstance(table, dict) and name in table:
            found.append(Use(each, toml(table[name]), source.comment(section, name)))
    return tuple(found)
