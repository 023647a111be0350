"""What a translator is to write: a language or task that it was taught, or a mixture (Johnson et al. 2017).

de                   the token <2de> stands in front of the source
de=0.6,fr=0.4        a token whose vector is 0.6 E[<2de>] + 0.4 E[<2fr>]; shares are divided by their sum
""                   nothing stands there
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lexigraph.errors import UsageError

To = str | Mapping[str, float] | None  # None: not said


def shares_of(to: To) -> dict[str, float]:
    """The directions asked for, each with its share; the shares add up to 1.

    >>> shares_of("de"), shares_of({"de": 3, "fr": 1}), shares_of("de=0.5,fr=0.5")
    ({'de': 1.0}, {'de': 0.75, 'fr': 0.25}, {'de': 0.5, 'fr': 0.5})
    """
    if not to:
        return {}
    if isinstance(to, str):
        given = _parsed(to) if "=" in to else {to: 1.0}
    elif isinstance(to, Mapping) and all(isinstance(name, str) for name in to):
        given = dict(to)
    else:
        raise UsageError(f"A direction is a name, as 'de', or names with their shares, not {to!r:.60}.")
    for name, share in given.items():
        number = isinstance(share, int | float) and not isinstance(share, bool) and math.isfinite(share)
        if not number or share < 0:
            raise UsageError(f"The share of {name!r} is {share!r:.40}: it must be a finite number, at least 0.")
    if not (total := math.fsum(given.values())) > 0:
        raise UsageError("The shares of all directions are 0: one at least must be more.")
    return {name: share / total for name, share in given.items() if share}


def _parsed(text: str) -> dict[str, float]:
    """`de=0.6,fr=0.4` as names and numbers."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.partition("="))
        try:
            number = float(share)
        except ValueError:
            raise UsageError(f"{part!r} is no direction with its share: write them as de=0.6,fr=0.4.") from None
        if not name or name in found:
            raise UsageError(f"{text!r} names {'a direction twice' if name else 'no direction'}: as de=0.6,fr=0.4.")
        found[name] = number
    return found


def refuse_none_said(known: Sequence[str]) -> None:
    """A model of several directions writes nothing well without one."""
    if known:
        raise UsageError(
            f"This model was taught {'several directions' if len(known) > 1 else 'a direction'}, {', '.join(known)}: "
            f"say which one, as in --to '{known[0]}' (to={known[0]!r}); with --to '' none stands before the source."
        )
