"""The rows of a kernel shared among as many threads as torch uses.

Torch's own operations share their work among its threads; a kernel between them that runs on one core alone would
make the others wait. Kernels hold no lock (compiled.py), so that plain Python threads serve.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch

WORTH = 1 << 17  # products; for fewer, to wake a thread takes longer than to do its work


def in_threads(work: Callable[[int, int], None], rows: int, products: int) -> None:
    """Do work(first, last) for all rows, a part of them in each thread if so many products are worth it."""
    threads = min(torch.get_num_threads(), rows, products // WORTH)
    if threads < 2:
        work(0, rows)
        return
    bounds = [rows * n // threads for n in range(threads + 1)]
    others = [_pool().submit(work, first, last) for first, last in pairwise(bounds[1:])]
    work(0, bounds[1])
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(torch.get_num_threads(), "kernels")
