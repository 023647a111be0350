"""Vector arithmetic, written as a person would: They ran . - 0.5 He ran . + He sings .

    expression   [+|-] part, then ` + ` or ` - ` and the next part, and so on
    part         [weight [*]] sentence        a weight is a plain number, such as 2, 0.5 or -1
    sentence     words, or words in "…" or “…”

An operator stands alone between spaces, so that `well-known` and ` -- ` belong to the sentence. Quotes protect what
they hold: operators, spaces, a number that begins the sentence. Quotes around a whole sentence are not part of it;
inside them, \\" is a quote and \\\\ a backslash. Quotes around some of its words stay: `He said " go - now " .`
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError
from lexigraph.latent.geometry import blend

LARGEST = 1e6  # a weight beyond it is a slip of the finger

_QUOTED = r'"(?:[^"\\]|\\.)*"|“(?:[^”\\]|\\.)*”'
_WHOLE = re.compile(_QUOTED, re.DOTALL)
_LEADING = re.compile(r"\s*([-−+])(?![-−+])")
_OPERATOR = re.compile(r"(?<!\S)[-−+](?!\S)")
_PIECE = re.compile(rf'{_QUOTED}|(?P<open>["“])|(?P<operator>{_OPERATOR.pattern})', re.DOTALL)
_WEIGHT = re.compile(
    r"\s*(?P<number>[-−+]?(?:\d+(?:\.\d*)?|\.\d+)|(?i:nan|inf|infinity)(?=\s*[*×]))(?:\s*[*×]|(?=[\s\"“]|$))"
)
_ESCAPE = re.compile(r'\\(["“”\\])')


@dataclass(frozen=True)
class Part:
    """A sentence and how much of it is added."""

    weight: float
    text: str

    def __str__(self) -> str:
        """As it can be typed after another part.

        >>> str(Part(-0.5, "He ran ."))
        '- 0.5 "He ran ."'
        """
        sign = "-" if self.weight < 0 else "+"
        number = "" if abs(self.weight) == 1 else f"{Decimal(repr(abs(float(self.weight)))):f} "
        return f"{sign} {number}{quoted(self.text)}"


def quoted(text: str) -> str:
    """The text in quotes, so that nothing in it is taken for an operator, a weight or the end of a quote.

    >>> print(quoted('3 - 1 is "two"'))
    "3 - 1 is \\"two\\""
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse(expression: str) -> list[Part]:
    """The parts of an expression, in its order.

    >>> parse("They ran . - 0.5 He ran . + He sings .")
    [Part(weight=1.0, text='They ran .'), Part(weight=-0.5, text='He ran .'), Part(weight=1.0, text='He sings .')]
    """
    if not expression.strip():
        raise LexigraphError("The expression is empty. Write, for example: They ran . - He ran . + He sings .")
    return [_part(operator, body) for operator, body in _split(expression)]


def _split(expression: str) -> Iterator[tuple[str, str]]:
    """Each operator and what stands between it and the next; at the beginning it may be missing."""
    operator, start = "", 0
    if leading := _LEADING.match(expression):
        operator, start = leading[1], leading.end()
    for piece in _PIECE.finditer(expression, start):
        if piece["open"]:
            raise LexigraphError(
                f"The quote that opens at {_excerpt(expression[piece.start() :])} is never closed. "
                'Close it, or write \\" in a sentence that is in quotes as a whole.'
            )
        if piece["operator"]:
            yield operator, expression[start : piece.start()]
            operator, start = piece[0], piece.end()
    yield operator, expression[start:]


def _part(operator: str, body: str) -> Part:
    sign = -1.0 if operator in ("-", "−") else 1.0
    if not body.strip():
        raise LexigraphError(
            f"There is no sentence after {operator!r}. An operator that is meant as text needs quotes."
        )
    weight, rest = 1.0, body
    if match := _WEIGHT.match(body):
        rest = body[match.end() :]
        if not rest.strip():
            raise LexigraphError(
                f"The number {body.strip()} stands alone: a weight needs a sentence after it. "
                f"If it is the sentence, put it in quotes: {quoted(body.strip())}."
            )
        weight = float(match["number"].replace("−", "-"))
        if not math.isfinite(weight) or abs(weight) > LARGEST:
            raise LexigraphError(
                f"The weight {_excerpt(match['number'])} must be a number between -{LARGEST:.0f} and {LARGEST:.0f}. "
                "If it begins a sentence, put the sentence in quotes."
            )
    text = rest.strip()
    if _WHOLE.fullmatch(text):
        text = _ESCAPE.sub(r"\1", text[1:-1])
    return Part(sign * weight, text)


def _excerpt(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"


def combine(
    vectors: Float[np.ndarray, "n d"], weights: Sequence[float | int] | Float[np.ndarray, " n"]
) -> Float[np.ndarray, " d"]:
    """The weighted sum of the parts' vectors.

    >>> combine(np.array([[1.0, 2.0], [3.0, 4.0]]), [1, -0.5])
    array([-0.5,  0. ])
    """
    shares = np.asarray(weights, dtype=np.float64)
    if len(shares) != len(vectors):
        raise LexigraphError(f"There are {len(vectors)} vectors and {len(shares)} weights; each vector needs one.")
    return blend(vectors, shares[None])[0]
