"""Where a training of word vectors can go on from: its tables after each epoch, in one file.

Pieces of text, their rates and random numbers are a function of settings and epoch alone, so that with one thread a
training that was killed and resumed ends with the same bits as one that was left in peace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.checksums import of_arrays
from lexigraph.errors import LexigraphError
from lexigraph.run import remove, replacing


class Checkpoint:
    """The file of one training; `about` says which: another text or other settings are refused.

    path: None keeps nothing.
    report: called with the losses so far when an epoch is done, before its tables are kept.
    """

    def __init__(
        self,
        path: Path | None,
        about: Mapping[str, Any],
        report: Callable[[list[float]], None] = lambda losses: None,
    ) -> None:
        self.path, self.about, self.report = path, json.dumps(about, sort_keys=True, default=str), report

    def load(self, tables: Mapping[str, np.ndarray]) -> list[float]:
        """Fill the tables with what was kept; returns the losses of the epochs that are done, none if nothing was."""
        if self.path is None or not self.path.exists():
            return []
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "numpy") as kept:
                facts = kept.metadata() or {}
                if facts.get("about") != self.about:
                    raise LexigraphError(
                        f"{self.path} is of a training with other text or settings: remove it to begin anew."
                    )
                for name, table in tables.items():
                    table[...] = kept.get_tensor(name)
                if facts.get("crc32", checksum := _checksum(tables)) != checksum:
                    raise ValueError("its tables are not those that were written")
                return [float(loss) for loss in json.loads(facts["losses"])]
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise LexigraphError(f"{self.path} is damaged: {error}. Remove it to begin anew.") from None

    def save(self, tables: Mapping[str, np.ndarray], losses: list[float]) -> None:
        """Keep the tables after an epoch."""
        self.report(losses)
        if self.path is None:
            return
        from safetensors import SafetensorError
        from safetensors.numpy import save_file

        facts = {"about": self.about, "losses": json.dumps(losses), "crc32": _checksum(tables)}
        with replacing(self.path) as temporary:
            try:
                save_file({name: np.ascontiguousarray(table) for name, table in tables.items()}, temporary, facts)
            except SafetensorError as error:  # the disk's own errors arrive in this wrapping
                raise OSError(str(error)) from None

    def remove(self) -> None:
        """The training is complete."""
        if self.path is not None:
            remove(self.path)


def _checksum(tables: Mapping[str, np.ndarray]) -> str:
    return of_arrays(
        (f"{name} {table.dtype} {table.shape}", np.ascontiguousarray(table).reshape(-1).view(np.uint8))
        for name, table in sorted(tables.items())
    )


NO_CHECKPOINT = Checkpoint(None, {})
