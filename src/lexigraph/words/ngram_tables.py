"""How n-grams are kept: one sorted table for each order, in which an n-gram is found from the one it continues."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

UNK, START, END = range(3)
SPECIAL = ("<unk>", "<s>", "</s>")
NEVER = -99.0  # the logarithm of 0, as ARPA files write it
BLOCK = 1 << 15  # sentences handled at once: many, since keys are found ten times as fast when sorted together


class Table(NamedTuple):
    """The n-grams of one order; an n-gram's row is its place in `keys`."""

    keys: np.ndarray  # int64, sorted: row of the n-gram without its last word · size of the vocabulary + last word
    log_p: np.ndarray  # float32: log10 p(last word | the others), in the unit and precision of ARPA files
    backoff: np.ndarray  # float32: log10 γ(n-gram) where it is a history, else 0


def find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The row of each wanted key, −1 where there is none."""
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(wanted)
    rows = np.empty(len(wanted), np.int64)
    rows[order] = np.searchsorted(keys, wanted[order], side="right") - 1
    return np.where(keys[rows] == wanted, rows, -1)
