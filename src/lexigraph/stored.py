"""JSON and NumPy files as they may be met: damaged, nested without end, or with a header that lies about the rest.

json_in(path), array_in(path)        # or a sentence that names the file
lines_in(path)                       # what can be read, and the numbers of the other lines
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexigraph.errors import LexigraphError
from lexigraph.memory import refuse_beyond

if TYPE_CHECKING:
    import numpy as np

UNREADABLE = (OSError, ValueError, RecursionError, MemoryError)  # nested too deeply; a number of thousands of digits
OBJECTS = 8  # bytes of memory for a byte of JSON, at least


def json_in(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        refuse_beyond(OBJECTS * path.stat().st_size, str(path), "what it holds")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LexigraphError(f"There is no {path}: the folder is incomplete.") from None
    except UNREADABLE as error:
        raise LexigraphError(f"{path} is damaged or not JSON: {str(error) or 'it is too large'}.") from None


def table_in(path: Path) -> dict[str, Any]:
    """What a JSON file holds, if that is a table."""
    content = json_in(path)
    if not isinstance(content, dict):
        raise LexigraphError(f"{path} is damaged: it holds no table of settings.")
    return content


def lines_in(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """The tables of a file with one as JSON on each line, and the numbers of lines that cannot be read."""
    found, damaged = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if (table := line_as_table(line)) is not None:
            found.append(table)
        elif line.strip():
            damaged.append(number)
    return found, damaged


def shown_lines(numbers: Sequence[int]) -> str:
    """The numbers of lines for people.

    >>> shown_lines([3]), shown_lines([3, 5, 6, 9])
    ('line 3', 'line 3 and 3 others')
    """
    return f"line {numbers[0]}" + (f" and {len(numbers) - 1} others" if len(numbers) > 1 else "")


def line_as_table(line: bytes) -> dict[str, Any] | None:
    """The table that a line holds, if it holds one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def array_in(path: Path) -> np.ndarray:
    """The numbers in a .npy file; nothing is allocated that the file does not hold."""
    import numpy as np

    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
            raise ValueError("it holds no numbers")
        return np.array(found)
    except FileNotFoundError:
        raise LexigraphError(f"There is no {path}: the folder is incomplete.") from None
    except (*UNREADABLE, EOFError, TypeError, OverflowError) as error:
        reason = "" if "pickle" in str(error) else f" ({error})"  # numpy's advice would be to trust it
        raise LexigraphError(f"{path} is no .npy file of numbers, or damaged{reason}.") from None
