"""How much memory there is, and whether what is asked for fits: asked before anything is allocated.

refuse_beyond(4 * rows * dim, "words.dim = 1000000000", "the tables of word vectors")
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from lexigraph.errors import LexigraphError

CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, version 1


def available() -> int:
    """The bytes that this process can have at most: the machine's, or fewer where a limit is set (a container's,
    `ulimit -v`). Other programs may leave less, and swap space may add to it: only what cannot be is refused."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in CONTAINER:
        try:
            limits.append(int(Path(file).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY:
        limits.append(max(0, most - _taken()))
    return min(limits)


def _taken() -> int:
    """The address space that this process has already, where the system tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def refuse_beyond(needed: float, asked: str, what: str) -> None:
    """Refuse what takes more memory than there is.

    asked: the key, option or file that asks for it, with its value.
    what: what would take the memory.
    """
    if needed > (most := available()):
        raise LexigraphError(
            f"{asked} is too large: {what} would take {shown(needed)} of memory, and there is {shown(most)}."
        )


def shown(size: float) -> str:
    """A number of bytes for people.

    >>> shown(17_179_869_184), shown(4e21)
    ('17.2 GB', '4,000,000,000 TB')
    """
    if size < 1e9:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e12 else f"{size / 1e12:,.0f} TB"
