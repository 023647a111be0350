"""Byte-level byte-pair encoding: GPT-2's alphabet of bytes, and merges that are dropped at random.

Printable bytes stand for themselves, the other ones for the characters from U+0100 on, so that a piece of any bytes
can be written down: " naïve" is stored as "ĠnaÃ¯ve".
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise

_PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_CHARACTER_OF = {byte: chr(byte) if byte in _PRINTABLE else chr(256 + _OTHERS.index(byte)) for byte in range(256)}
_BYTE_OF = {character: byte for byte, character in _CHARACTER_OF.items()}


def stored(text: str) -> str:
    """A text in the alphabet of bytes.

    >>> stored(" naïve")
    'ĠnaÃ¯ve'
    """
    return "".join(_CHARACTER_OF[byte] for byte in text.encode())


def readable(piece: str) -> str:
    r"""A piece as a person reads it; bytes that are no character alone as \xe2, what is not of the alphabet as it is.

    >>> readable("ĠnaÃ¯ve"), readable("Ã")
    (' naïve', '\\xc3')
    """
    if not _BYTE_OF.keys() >= set(piece):
        return piece
    return bytes(map(_BYTE_OF.__getitem__, piece)).decode(errors="backslashreplace")


def drop_merges(word: str, ranks: Mapping[tuple[str, str], int], dropout: float, rng: random.Random) -> list[str]:
    """Provilkov et al. 2020, algorithm 1: before each merge, every possible one is dropped with this probability."""
    symbols = list(word)
    while True:
        possible = [(ranks[pair], i) for i, pair in enumerate(pairwise(symbols)) if pair in ranks]
        possible = [merge for merge in possible if rng.random() >= dropout]
        if not possible:
            return symbols
        _, i = min(possible)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
