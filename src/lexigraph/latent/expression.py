"""Sums of sentences, written as a person would: 0.5 (They ran. - He ran.) + "He sings."

    sum        [sign] term, then a sign and the next term, and so on           sign: + or - (or −)
    term       [factor] sentence     or     [factor] ( sum )
    sentence   words up to the next sign, or words in "…", “…”, '…' or ‘…’

Sign: it stands between spaces, so that `well-known` and ` -- ` belong to a sentence; at the beginning, and beside a
parenthesis or the quotes around a whole sentence, it needs none. A sign that is meant as text needs quotes.

Factor: a number, at will with a sign of its own (-0.5) and with * or × behind it.
- Before quotes, before a parenthesis and before * any number is a factor: 2 "He ran."
- Before plain words a decimal fraction is one (0.5 He ran.), and a whole number if a capital follows (2 He ran.);
  before a small letter a whole number is the sentence's own: 2 dogs ran.
- Quotes settle any doubt: "2 Romans ran." is a sentence, and 2 "dogs ran." has a factor.

Quotes around a whole sentence are not part of it; inside them, \\" is a quote and \\\\ a backslash. Quotes around
some of its words stay, and nothing inside them is a sign: He said "go - now". Parentheses inside a sentence are
likewise its own: He ran (and fell). A single quote that is not closed is an apostrophe: 'Tis late.

>>> for part in parse('0.5 (They ran. - He ran.) + "2 + 2 is four." + 2 dogs ran.'):
...     print(part)
+ 0.5 "They ran."
- 0.5 "He ran."
+ "2 + 2 is four."
+ "2 dogs ran."
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

from lexigraph.errors import LexigraphError

LARGEST = 1e6  # a factor beyond it is a slip of the finger
DEEPEST = 50  # parentheses in parentheses
SHOWN = 60  # characters of an expression that an error shows

_SIGN = "[-−+](?![-−+])"  # not the first of two: -- is a dash
_FIRST_SIGN = re.compile(_SIGN)
_LONE_SIGN = re.compile(rf'(?<!\S){_SIGN}(?=[\s("“]|\Z)')
_BEHIND_QUOTES = re.compile(rf"{_LONE_SIGN.pattern}|(?<=[\"”'’]){_SIGN}(?=[\s\"“'‘(\d.]|\Z)")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"|“(?:[^”\\]|\\.)*”', re.DOTALL)
_SINGLE = re.compile(  # inside, ' is an apostrophe unless it stands behind a space or before what ends a term
    r"'(?:[^'\\]|\\.|(?<!\s)'(?!\s*(?:\Z|\)|[-−+]\s)))*'|‘(?:[^’\\]|\\.|’(?=\w))*’", re.DOTALL
)
_ESCAPE = re.compile(r"""\\(["“”'‘’\\])""")
_IN_WORDS = re.compile(  # what matters in a sentence without quotes around it
    rf'{_DOUBLE.pattern}|(?P<quote>["“])|(?P<sign>{_LONE_SIGN.pattern})|(?P<open>\()|(?P<close>\))', re.DOTALL
)
_NUMBER = r"[-−+]?(?:\d+(?:\.\d*)?|\.\d+)"
_ALONE = re.compile(rf"{_NUMBER}\s*[*×]?(?=\s*(?:\Z|\)|{_LONE_SIGN.pattern}))")
_SURE = re.compile(rf"({_NUMBER}|(?i:nan|inf|infinity))\s*[*×]|({_NUMBER})(?=\s*[(\"“]|\s+['‘])")
_BEFORE_WORDS = re.compile(r"[-−+]?(?:\d*\.\d+|\d+(?=\s+[^\W\d_]))(?=\s+[^\s()])")
_NO_NUMBER = re.compile(r"([^\s*×(\"“]+)(?:\s+[*×](?=[\s(\"“])|[*×](?=\s*[(\"“])|(?<=[\d%])(?=\s*[(\"“]))")
_LIKE_A_NUMBER = re.compile(r"[\d.,/^%eE+−-]+")


class ExpressionError(LexigraphError):
    """An expression cannot be read: why, and where, counted from 0."""

    def __init__(self, why: str, expression: str, at: int) -> None:
        self.why, self.at = why, at
        super().__init__(f"{why}\n{_pointed(expression, at)}")


def _pointed(expression: str, at: int) -> str:
    """The part of an expression around a position, and a caret below it."""
    first = max(0, min(at - SHOWN // 2, len(expression) - SHOWN))
    shown = "".join(" " if each.isspace() else each for each in expression[first : first + SHOWN])
    before, after = "…" * (first > 0), "…" * (first + SHOWN < len(expression))
    return f"    {before}{shown}{after}\n    {' ' * (at - first + len(before))}^"


@dataclass(frozen=True)
class Part:
    """A sentence, how much of it is added, and where it stands in the expression."""

    weight: float
    text: str
    at: int = field(default=0, compare=False, repr=False)

    def __str__(self) -> str:
        """As it can be typed after another part.

        >>> str(Part(-0.5, "He ran."))
        '- 0.5 "He ran."'
        """
        sign = "-" if self.weight < 0 else "+"
        number = "" if abs(self.weight) == 1 else f"{Decimal(repr(abs(float(self.weight)))):f} "
        return f"{sign} {number}{quoted(self.text)}"


def quoted(text: str) -> str:
    """The text in quotes, so that nothing in it is taken for a sign, a factor or the end of a quote.

    >>> print(quoted('3 - 1 is "two"'))
    "3 - 1 is \\"two\\""
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse(expression: str) -> list[Part]:
    """The sentences of an expression with their factors, in its order; parentheses are multiplied out.

    >>> parse("They ran . - 0.5 (He ran . - He sings .)")
    [Part(weight=1.0, text='They ran .'), Part(weight=-0.5, text='He ran .'), Part(weight=0.5, text='He sings .')]
    """
    if not expression.strip():
        raise LexigraphError("The expression is empty. Write, for example: They ran. - He ran. + He sings.")
    return list(_Reader(expression).sum())


class _Reader:
    """Reads an expression from left to right; `at` is how far it has come."""

    def __init__(self, expression: str) -> None:
        self.text, self.at, self.opened = expression, 0, list[int]()  # where open parentheses stand

    def sum(self) -> Iterator[Part]:
        """Terms up to the end, or to the parenthesis that closes this sum."""
        self._skip_space()
        found, sign = _FIRST_SIGN.match(self.text, self.at), ""
        while True:
            if found:
                sign, self.at = found[0], found.end()
            yield from self._term(sign)
            self._skip_space()
            if self._here(")"):
                if not self.opened:
                    raise self._error(f"The parenthesis at {_place(self.at)} closes none: open it before.", self.at)
                return
            if self.at == len(self.text):
                if self.opened:
                    raise self._error(
                        f"The parenthesis at {_place(self.opened[-1])} is never closed.", self.opened[-1]
                    )
                return
            found = _FIRST_SIGN.match(self.text, self.at)
            if not found:  # only behind a parenthesis: a sentence goes on to the next sign
                raise self._error(
                    f"A + or - is wanted behind the parenthesis, at {_place(self.at)}. "
                    "A sentence that begins with a parenthesis needs quotes.",
                    self.at,
                )

    def _term(self, sign: str) -> Iterator[Part]:
        self._skip_space()
        begin = self.at
        weight = self._factor() * (-1.0 if sign in ("-", "−") else 1.0)
        self._skip_space()
        if self.at == len(self.text) or self._here(")") or _LONE_SIGN.match(self.text, self.at):
            after = f"after {sign!r}, " if sign else ""
            raise self._error(
                f"There is no sentence {after}at {_place(begin)}. A sign that is meant as text needs quotes.", begin
            )
        if self._here("("):
            yield from self._parenthesis(weight)
        else:
            begin = self.at
            yield Part(weight, self._in_quotes() or self._words(), begin)

    def _parenthesis(self, weight: float) -> Iterator[Part]:
        self.opened.append(self.at)
        if len(self.opened) > DEEPEST:
            raise self._error(f"More than {DEEPEST} parentheses stand in one another at {_place(self.at)}.", self.at)
        self.at += 1
        for part in self.sum():
            yield replace(part, weight=weight * part.weight)
        self.at += 1
        self.opened.pop()

    # ---- factors ----

    def _factor(self) -> float:
        """The number before a sentence or a parenthesis, or 1."""
        begin = self.at
        if found := _ALONE.match(self.text, begin):
            number = found[0].strip()
            raise self._error(
                f"The number {number} at {_place(begin)} stands alone: a factor needs a sentence after it. "
                f"If it is the sentence, put it in quotes: {quoted(number)}.",
                begin,
            )
        weight = 1.0
        while found := _SURE.match(self.text, self.at):
            weight *= self._number(found[1] or found[2])
            self.at = found.end()
            self._skip_space()
        if self.at > begin:
            return weight
        found = _BEFORE_WORDS.match(self.text, begin)
        if found and ("." in found[0] or self.text[found.end() :].lstrip()[0].isupper()):
            weight, self.at = self._number(found[0]), found.end()
            return weight
        wrong = _NO_NUMBER.match(self.text, begin)
        if wrong and (self.text[wrong.end() - 1] in "*×" or _LIKE_A_NUMBER.fullmatch(wrong[1])):
            raise self._no_number(wrong[1], begin)
        return 1.0

    def _number(self, number: str) -> float:
        value = float(number.replace("−", "-"))
        if math.isfinite(value) and abs(value) <= LARGEST:
            return value
        raise self._error(
            f"The factor {_excerpt(number)} at {_place(self.at)} must be a number between -{LARGEST:.0f} and "
            f"{LARGEST:.0f}. If it begins a sentence, put the sentence in quotes.",
            self.at,
        )

    def _no_number(self, word: str, at: int) -> ExpressionError:
        return self._error(
            f"The factor {_excerpt(word)!r} at {_place(at)} is no number: write one such as 0.5. "
            "If it belongs to a sentence, put the sentence in quotes.",
            at,
        )

    # ---- sentences ----

    def _in_quotes(self) -> str:
        """A sentence that has quotes around all of it; nothing, if there is none here."""
        for pattern in (_DOUBLE, _SINGLE):
            found = pattern.match(self.text, self.at)
            if found and self._ends_at(found.end()):
                text = _ESCAPE.sub(r"\1", found[0][1:-1])
                if not text.strip():
                    raise self._error(f"The quotes at {_place(self.at)} hold no sentence.", self.at)
                self.at = found.end()
                return text
        return ""

    def _ends_at(self, position: int) -> bool:
        """Whether a term can end here."""
        rest = len(self.text) - len(self.text[position:].lstrip())
        return rest == len(self.text) or self.text[rest] == ")" or bool(_BEHIND_QUOTES.match(self.text, rest))

    def _words(self) -> str:
        """A sentence up to the next sign, or to the parenthesis that closes the sum around it."""
        begin, own = self.at, list[int]()  # where the sentence's own parentheses stand
        signs, closed = 0, -1  # inside its last one
        end = len(self.text)
        for piece in _IN_WORDS.finditer(self.text, begin):
            if piece["quote"]:
                raise self._error(
                    f'The quote at {_place(piece.start())} is never closed. Close it, or write \\" in a sentence '
                    "that is in quotes as a whole.",
                    piece.start(),
                )
            if piece["open"]:
                own.append(piece.start())
                signs = signs if len(own) > 1 else 0
            elif piece["close"] and own:
                last = own.pop()
                closed = closed if own else piece.end()
            elif piece["sign"] and own:
                signs += 1
            elif piece["sign"] or piece["close"]:
                end = piece.start()
                break
        if own:
            raise self._error(f"The parenthesis at {_place(own[0])} is never closed.", own[0])
        self.at, text = end, self.text[begin:end].strip()
        if signs and self.text[begin:closed].strip() == text:  # half (a - b)
            raise self._no_number(self.text[begin:last].strip(), begin)
        return text

    # ---- where it stands ----

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _here(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _error(self, why: str, at: int) -> ExpressionError:
        return ExpressionError(why, self.text, at)


def _place(at: int) -> str:
    return f"character {at + 1}"


def _excerpt(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
