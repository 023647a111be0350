"""What stands in a TOML file as the types that a dataclass asks for, and a dataclass as TOML again."""

from __future__ import annotations

import dataclasses
import math
import tomllib
import types
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from lexigraph import upgrades
from lexigraph.errors import UsageError
from lexigraph.registry import nearest

if TYPE_CHECKING:
    from lexigraph.recipe import Source

LARGEST = 10**18  # whole numbers are kept in 64 bits


@cache
def types_of(kind: type) -> Mapping[str, Any]:
    """The types of a dataclass's keys. They are strings at first, which takes longer to read than a whole recipe."""
    return get_type_hints(kind)


def section(origin: Source, name: str, kind: type, table: Any) -> Any:
    """A table of a recipe file as its dataclass, or an error that names key and line."""
    if not isinstance(table, dict):
        raise UsageError(f"{origin.where('', name)}: {name} must be a table, written [{name}].")
    hints, values = types_of(kind), {}
    for key, value in table.items():
        where = origin.where(name, key)
        upgrades.refuse_renamed(f"{name}.{key}", value, key in hints, f"{where}: ")
        if key not in hints:
            raise UsageError(f"{where}: unknown key {name}.{key}{nearest(key, hints)}")
        values[key] = typed(value, hints[key], f"{name}.{key}", f"{where}: ")
    return kind(**values)


def typed(value: Any, kind: Any, key: str, where: str) -> Any:
    """`value` as the type that the dataclass asks for, or an error that names key and line."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        several = [choice for choice in arguments if get_origin(choice) is tuple and isinstance(value, list | tuple)]
        kind = next(choice for choice in several or arguments if choice is not type(None))
        return typed(value, kind, key, where)
    if origin is Literal:
        if value not in arguments:
            raise UsageError(f"{where}{key} must be one of {', '.join(map(str, arguments))}, not {value!r}.")
        return value
    if origin is tuple:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
            value = [parsed(part) if arguments[0] is not str else part for part in value]
        items = value if isinstance(value, list | tuple) else [value]
        if arguments[-1] is not Ellipsis and len(items) != len(arguments):
            raise UsageError(f"{where}{key} must be {len(arguments)} values, not {value!r}.")
        return tuple(typed(item, arguments[0], key, where) for item in items)
    if origin is dict:
        if not isinstance(value, dict):
            raise UsageError(f"{where}{key} must be a table, not {value!r}.")
        return {str(name): typed(item, arguments[1], key, where) for name, item in value.items()}
    if kind is str and not where and not isinstance(value, str | list | dict):
        value = str(value)  # --set data.train=2024 names a file
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise UsageError(f"{where}{key} must be a number of at most 18 digits, not one of {len(str(abs(value)))}.")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        english = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        raise UsageError(f"{where}{key} must be {english.get(kind, kind.__name__)}, not {value!r}.")
    if kind is float and not math.isfinite(value):
        raise UsageError(f"{where}{key} must be a finite number, not {value!r}.")
    return value


def parsed(text: str) -> Any:
    """A value as TOML has it, or else the text as it is."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML; nested too deeply; a number of thousands of digits
        return text


def section_lines(name: str, part: Any) -> list[str]:
    """A section as lines of TOML."""
    return ["", f"[{name}]", *(f"{key.name} = {toml(getattr(part, key.name))}" for key in dataclasses.fields(part))]


def toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(name)} = {toml(item)}" for name, item in value.items()) + "}"
    return repr(value)
