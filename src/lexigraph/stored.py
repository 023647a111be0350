"""JSON and NumPy files as they may be met: damaged, nested without end, or with a header that lies about the rest.

json_in(path), array_in(path)        # or a sentence that names the file
"""

from __future__ import annotations

import json
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
