"""What a person sees of a training, and what is kept of it: a bar, log.jsonl and TensorBoard curves."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch

from lexigraph.errors import LexigraphError
from lexigraph.outputs import json_text
from lexigraph.run import replacing


def peak_memory(device: torch.device) -> float:
    """Peak memory so far in GB: of the card on CUDA, else of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


class Reporter:
    """A live bar on a terminal, a line now and then elsewhere; silent when asked or not the first process."""

    def __init__(self, total: int, *, quiet: bool = False, every_seconds: float = 10.0) -> None:
        from rich.console import Console

        self.total, self.quiet, self.every = total, quiet, every_seconds
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.bar: Any = None
        self.spoke = time.monotonic()

    def say(self, sentence: str) -> None:
        self.console.print(sentence, markup=False, soft_wrap=True)

    def count(self, tokens: int) -> None:
        """Say now and then how far a long preparation has come."""
        if time.monotonic() - self.spoke > self.every:
            self.spoke = time.monotonic()
            self.say(f"{tokens:,} tokens so far.")

    def update(self, step: int, facts: dict[str, float]) -> None:
        """Show where the run stands."""
        text = f"loss {facts['loss']:.3f}  {facts['tokens_per_second']:,.0f} tokens/s"
        if self.quiet:
            return
        if self.console.is_terminal:
            if self.bar is None:
                self.bar = self._bar()
                self.task = self.bar.add_task("training", total=self.total, text="")
                self.bar.start()
            self.bar.update(self.task, completed=step, text=text)
        elif time.monotonic() - self.spoke > self.every or step == self.total:
            self.spoke = time.monotonic()
            left = (self.total - step) * facts["seconds_per_step"]
            self.say(f"step {step:,} of {self.total:,}  {text}  {left:,.0f} s left")

    def _bar(self) -> Any:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.fields[text]}")
        return Progress(*columns, TimeRemainingColumn(), console=self.console, transient=False)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


class Log:
    """log.jsonl, one line per event, and the same numbers as TensorBoard curves."""

    def __init__(self, folder: Path, step: int, *, tensorboard: bool) -> None:
        self.path, self.folder, self.step = folder / "log.jsonl", folder, step
        self.writer: Any = None
        self.wanted = tensorboard
        if self.path.exists():  # what a killed run wrote after its last checkpoint will be written again
            kept = [line for line in self.path.read_text().splitlines(keepends=True) if _within(line, step)]
            with replacing(self.path) as temporary:
                temporary.write_text("".join(kept))

    def write(self, kind: str, step: int, facts: dict[str, float]) -> None:
        try:
            with self.path.open("a") as file:
                file.write(json_text({"kind": kind, "step": step} | facts) + "\n")
            if self.wanted and self.writer is None:
                from torch.utils.tensorboard import SummaryWriter

                self.writer = SummaryWriter(str(self.folder / "tensorboard"), purge_step=self.step)
            if self.writer is not None:
                for name, value in facts.items():
                    self.writer.add_scalar(f"{kind}/{name}", value, step)
        except OSError as error:
            raise LexigraphError(
                f"{self.path} could not be written: {error}. The last checkpoint is kept: --resume goes on from it."
            ) from None

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _within(line: str, step: int) -> bool:
    try:
        return json.loads(line)["step"] <= step
    except (json.JSONDecodeError, KeyError):
        return False
