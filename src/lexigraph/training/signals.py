"""SIGINT and SIGTERM in a training: it stops as soon as nothing is lost by it, and a second one ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


class Stopped(BaseException):
    """A signal came where what is under way can be done again: no error, and nothing that catches errors sees it."""


@dataclass
class Signals:
    """What was caught so far."""

    caught: bool = False
    stops_at_once: bool = False  # in a validation: it is interrupted wherever it stands

    def check(self) -> None:
        """Stop here, if a signal came."""
        if self.caught:
            raise Stopped

    @contextmanager
    def interrupting(self, alone: bool) -> Iterator[None]:
        """What a signal may interrupt anywhere; of several processes none can stop by itself."""
        self.stops_at_once = alone
        try:
            if alone:
                self.check()
            yield
        finally:
            self.stops_at_once = False


@contextmanager
def caught_signals() -> Iterator[Signals]:
    """Catch the first signal; whoever handled signals before has the next one."""
    signals = Signals()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in numbers:
            signal.signal(number, old[number])

    def catch(number: int, frame: FrameType | None) -> None:
        restore()
        signals.caught = True
        if signals.stops_at_once:
            raise Stopped

    try:
        old = {number: signal.signal(number, catch) for number in numbers}
    except ValueError:  # not the main thread: the caller handles signals
        yield signals
        return
    try:
        yield signals
    finally:
        restore()
