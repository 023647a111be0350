"""Types and shapes are checked while tests run: jaxtyping's import hook (pyproject.toml) puts `checked` on functions.

jaxtyping's own decorator, in whose place this one stands, checks every argument twice and binds every call to its
signature, which was more than half of the time of all tests. Here an argument is checked once, by beartype; and sizes
are compared with one another (`Float[Tensor, "rows dim"]` beside `Float[Tensor, "dim"]`) where a function names some.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped
from jaxtyping._storage import pop_shape_memo, push_shape_memo

check = beartype(conf=BeartypeConf(is_pep484_tower=True))  # whole numbers are accepted where floats are


def checked(given: Any = None, *, typechecker: Callable[..., Any]) -> Any:
    """A function that checks its arguments and what it returns; a dataclass that checks its fields."""
    if given is None:
        return partial(checked, typechecker=typechecker)
    if inspect.isclass(given):
        if dataclasses.is_dataclass(given) and "__init__" in vars(given):
            given.__init__ = checked(given.__init__, typechecker=typechecker)  # type: ignore[misc]
        return given
    if inspect.isgeneratorfunction(given):  # what is promised is an iterator, not what comes out of it
        return jaxtyped(given, typechecker=typechecker)
    given.__annotations__ = {name: resolved(hint, given) for name, hint in given.__annotations__.items()}
    try:
        function = check(given)
    except Exception:  # a type that means itself (Json): beartype takes it from jaxtyping's hands alone
        return jaxtyped(given, typechecker=typechecker)
    return in_context(function) if any(map(names_sizes, given.__annotations__.values())) else function


def in_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """The names of sizes mean the same within one call, and have no meaning outside of it."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        push_shape_memo({})
        try:
            return function(*arguments, **named)
        finally:
            pop_shape_memo()

    return call


def resolved(hint: Any, function: Any) -> Any:
    """What a string among the annotations means; anything, if it was imported for type checkers alone."""
    try:
        return get_type_hints(_Annotated(hint), function.__globals__, include_extras=True)["hint"]
    except Exception:  # as jaxtyping does: a name may be unknown, a shape be beyond checking
        return Any


class _Annotated:
    """Something with one annotation."""

    def __init__(self, hint: Any) -> None:
        self.__annotations__ = {"hint": hint}


def names_sizes(hint: Any) -> bool:
    """Whether a type is, or holds, arrays with a shape."""
    if isinstance(hint, list):  # the arguments of a Callable
        return any(map(names_sizes, hint))
    return (inspect.isclass(hint) and issubclass(hint, AbstractArray)) or any(map(names_sizes, get_args(hint)))


jaxtyping.jaxtyped = checked  # the hook looks it up for every function that it meets
