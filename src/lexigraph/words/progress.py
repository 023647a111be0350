"""How far a training has come: a bar on a terminal, a sentence at the end of each phase, or silence."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

Report = Callable[[str], None]


def peak_memory() -> float:
    """Peak memory of the process so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


class Meter:
    """Counts words or pairs of one phase of a training, and shows their speed and the loss.

    report: takes a sentence at the end; with one, a bar is shown on a terminal as well. None: nothing is said.
    """

    def __init__(self, what: str, unit: str, total: int, report: Report | None) -> None:
        self.what, self.unit, self.report = what, unit, report
        self.begin = time.monotonic()
        self.done, self.loss, self.shown = 0, float("nan"), 0.0
        self.bar: Progress | None = None
        if report is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
                       TextColumn("{task.fields[text]}"), TimeRemainingColumn())  # fmt: skip
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(what, total=total or None, text="")

    def update(self, done: int, loss: float = float("nan")) -> None:
        """So many words or pairs are done; the loss of the last of them."""
        self.done = done
        self.loss = loss if self.loss != self.loss else 0.98 * self.loss + 0.02 * loss  # NaN at first
        if self.bar and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            self.bar.update(self.task, completed=done, text=self.text())

    def text(self) -> str:
        loss = f"  loss {self.loss:.3f}" if self.loss == self.loss else ""
        return f"{self.done / max(time.monotonic() - self.begin, 1e-9):,.0f} {self.unit}/s{loss}"

    def __enter__(self) -> Meter:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.bar:
            self.bar.stop()
        if kind is None and self.report is not None:
            seconds = time.monotonic() - self.begin
            self.report(f"{self.what}: {self.done:,} {self.unit} in {seconds:.1f} s, {self.text()}")
