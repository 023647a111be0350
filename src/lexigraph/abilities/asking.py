"""What an ability is asked: one text or many, and numbers that make sense; checked here for all abilities alike.

@one_or_many
def score(self, texts, *, ended=True): …        # written for a list of texts, returns a list of answers

model.score("She sings .")                      # one text: one answer
model.score(["She sings .", "He slept ."])      # many: as many answers
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from lexigraph.errors import LexigraphError, UsageError

P = ParamSpec("P")
One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)
Answer = TypeVar("Answer")
LARGEST = 1_000_000  # of anything that is counted: more is a slip of the finger


class TextError(LexigraphError):
    """One of several texts cannot be used: its number, counted from 1, and why."""

    def __init__(self, number: int, of: int, why: str) -> None:
        self.number, self.of, self.why = number, of, why
        which = f"Text {number:,} of {of:,}" if of > 1 else f"Text {number:,}" if number > 1 else "The text"
        super().__init__(f"{which} {why}")

    def after(self, others: int) -> TextError:
        """The same where so many texts came before these."""
        return TextError(self.number + others, 0, self.why) if others else self


if TYPE_CHECKING:

    class Bound(Protocol[P, One, Many]):
        """An ability of a model: one answer for one text, many for many."""

        @overload
        def __call__(self, texts: str, *args: P.args, **kwargs: P.kwargs) -> One: ...
        @overload
        def __call__(self, texts: Iterable[str], *args: P.args, **kwargs: P.kwargs) -> Many: ...

    class OneOrMany(Protocol, Generic[P, One, Many]):
        """What `one_or_many` makes of a method, for the type checker."""

        def __get__(self, model: object, kind: type) -> Bound[P, One, Many]: ...


@overload
def one_or_many(
    method: Callable[Concatenate[Any, list[str], P], np.ndarray],
) -> OneOrMany[P, np.ndarray, np.ndarray]: ...
@overload
def one_or_many(
    method: Callable[Concatenate[Any, list[str], P], list[Answer]],
) -> OneOrMany[P, Answer, list[Answer]]: ...
def one_or_many(method: Callable[..., Any]) -> OneOrMany[..., Any, Any]:
    """A method on a list of texts that takes one text, too, and then returns its answer alone."""
    first, *others = list(inspect.signature(method).parameters.values())[1:]
    positions = 1 + sum(other.kind is other.POSITIONAL_OR_KEYWORD for other in others)

    @wraps(method)
    def ability(self: object, *texts: Any, **options: Any) -> Any:
        if not texts and first.name not in options and first.default is not first.empty:
            texts = (first.default,)
        given = texts[0] if texts else options.pop(first.name, None)
        if len(texts) > positions:
            raise UsageError(f"{method.__name__} takes one text or a list of texts: put several into a list.")
        every, one = many(given)
        answers = method(self, every, *texts[1:], **options)
        return answers[0] if one else answers

    return cast("OneOrMany[..., Any, Any]", ability)


def many(
    given: object, kinds: tuple[type, ...] = (str,), named: str = "text", alone: tuple[type, ...] | None = None
) -> tuple[list[Any], bool]:
    """What was given as a list, and whether it was one; anything but such things is refused with a sentence.

    alone: the kinds of a thing that may come by itself, if not all of them.
    """
    if isinstance(given, kinds if alone is None else alone):
        _check_unicode([given], kinds)
        return [given], True
    if isinstance(given, bytes | bytearray | Mapping | Set) or not isinstance(given, Iterable):
        raise UsageError(f"A {named} or a list of them is wanted, not {_kind(given)}{_hint(given)}.")
    every = list(given)
    if not every:
        raise UsageError(f"There is no {named}: the list is empty.")
    for number, each in enumerate(every, 1):
        if not isinstance(each, kinds):
            raise UsageError(f"Number {number} of {len(every)} is no {named} but {_kind(each)}{_hint(each)}.")
    _check_unicode(every, kinds)
    return every, False


def words_of_texts(given: object, purpose: str, longest: int = LARGEST) -> tuple[list[list[str]], bool]:
    """The words of each text, between white space or given as lists, and whether it was one text. None may be empty.

    purpose: what the words are wanted for: "tag", "parse". longest: most words of a text that a parser reads.
    """
    texts, one = many(given, (str, list, tuple), alone=(str,))
    rows = [text.split() if isinstance(text, str) else many(text, named="word")[0] for text in texts]
    if empty := [number for number, row in enumerate(rows, 1) if not row]:
        raise TextError(empty[0], len(rows), f"has no words to {purpose}.")
    for number, row in enumerate(rows, 1):
        if len(row) > longest:
            why = f"has {len(row):,} words, and this parser reads sentences of at most {longest:,}."
            raise TextError(number, len(rows), f"{why} Give it one sentence at a time.")
    return rows, one


def _check_unicode(every: Sequence[object], kinds: tuple[type, ...]) -> None:
    """Refuse half characters, which come from bytes that are not UTF-8 and which no tokenizer takes; a file may be
    named so."""
    texts = [] if Path in kinds else [(number, text) for number, text in enumerate(every, 1) if isinstance(text, str)]
    for number, text in texts:
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            why = f"holds half a character at position {error.start}: it is not Unicode."
            raise TextError(number, len(every), why) from None


def _kind(given: object) -> str:
    if given is None:
        return "None"
    shown = repr(given) if isinstance(given, bool | int | float) else ""
    return f"a {type(given).__name__}{' ' * bool(shown)}{shown}"


def _hint(given: object) -> str:
    if isinstance(given, bytes | bytearray):
        return ": decode it first, as in data.decode('utf-8')"
    return ": it has no order, make it a list" if isinstance(given, Set) else ""


def whole(low: int = 1, high: int = LARGEST, **named: object) -> None:
    """Refuse what is no whole number from `low` to `high`, by its name."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name} is a whole number, not {_kind(value)}.")
        if not low <= value <= high:
            raise UsageError(f"{name} is {value}: it must be from {low:,} to {high:,}.")


def number(low: float = -math.inf, high: float = math.inf, **named: object) -> None:
    """Refuse what is no finite number from `low` to `high`, by its name."""
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise UsageError(f"{name} is a number, not {_kind(value)}.")
        if not math.isfinite(value) or not low <= value <= high:
            most = "" if high == math.inf else f" and at most {high:g}"
            limits = "" if low == -math.inf else f", at least {low:g}{most}"
            raise UsageError(f"{name} is {value}: it must be a finite number{limits}.")
