"""How kernels are compiled: by Numba, once per machine, kept in the user's cache folder.

    @kernel("float32(float32[::1], float32[::1])")
    def dot(a, b): …

Signatures are explicit, so that a kernel is compiled (or read from the cache) when its module is imported and never
while training. Kernels hold no lock (`nogil`): several Python threads run them at the same time on the same arrays,
which is how word2vec and GloVe have always been trained. Sums may be taken in another order than written (`reassoc`),
which is what lets a processor add eight or sixteen numbers at once; NaN and infinity keep their meaning.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any

import numba


def _cache_folder() -> Path:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "lexigraph"
    home = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path.home() / home / "lexigraph"


if not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = str(_cache_folder() / "numba")  # type: ignore[attr-defined]


def kernel(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for these types, without the interpreter's lock, and keep the result on disk."""
    compiler = numba.njit(
        signature, nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"}
    )
    return lambda function: compiler(unwrap(function))  # what tests wrap around functions is not to be compiled


def part(function: Callable[..., Any]) -> Any:
    """A piece of a kernel, written into it where it is called."""
    return numba.njit(unwrap(function), inline="always", error_model="numpy")
