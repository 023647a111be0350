"""What a person sees of a training, and what is kept of it: a bar, log.jsonl and TensorBoard curves."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.outputs import json_text
from lexigraph.run import replacing
from lexigraph.stored import line_as_table, shown_lines
from lexigraph.training.distribution import World


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


@dataclass
class Recent:
    """Steps since the last log line. Their losses stay on the device until then: reading one waits for it."""

    steps: list[tuple[int, dict[str, Tensor]]] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)

    def add(self, step: int, facts: dict[str, Tensor]) -> None:
        self.steps.append((step, facts))

    def flush(self, lr: float, world: World) -> dict[str, float]:
        losses = torch.stack([facts["loss"].float() for _, facts in self.steps]).tolist()
        losses = world.summed(losses)  # each process knows its own part
        for (step, _), loss in zip(self.steps, losses, strict=True):
            if not math.isfinite(loss):
                raise LexigraphError(
                    f"The loss of step {step} is {loss}. The last good checkpoint is kept; a lower train.lr, a "
                    "longer train.warmup or train.clip may help."
                )
        seconds = time.monotonic() - self.since
        tokens = sum(float(facts["tokens"]) for _, facts in self.steps)
        facts = {
            "loss": sum(losses) / len(losses),
            "gradient_norm": float(self.steps[-1][1]["gradient_norm"]),
            "lr": lr,
            "tokens_per_second": tokens / seconds,
            "seconds_per_step": seconds / len(self.steps),
        }
        self.steps, self.since = [], time.monotonic()
        return facts


class Log:
    """log.jsonl, one line per event, and the same numbers as TensorBoard curves."""

    def __init__(self, folder: Path, step: int, *, tensorboard: bool) -> None:
        self.path, self.folder, self.step = folder / "log.jsonl", folder, step
        self.writer: Any = None
        self.wanted = tensorboard
        self.remark = self._go_on() if self.path.exists() else ""

    def _go_on(self) -> str:
        """Take out half a line at the end, and what a killed run wrote after its last checkpoint: it will be written
        again. Whatever else cannot be read stays as it is; a sentence says so."""
        *lines, half = self.path.read_bytes().split(b"\n")
        read = [line_as_table(line) for line in lines]
        kept = [line for line, event in zip(lines, read, strict=True) if event is None or _within(event, self.step)]
        with replacing(self.path) as temporary:
            temporary.write_bytes(b"".join(line + b"\n" for line in kept))
        damaged = [number for number, line in enumerate(kept, 1) if line_as_table(line) is None]
        if damaged:
            return (
                f"! {self.path} is damaged in {shown_lines(damaged)}: what is there stays, and curves leave it out."
            )
        return f"! {self.path} ended within a line, which is taken out." if half else ""

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


def _within(event: Mapping[str, Any], step: int) -> bool:
    at = event.get("step")
    return not isinstance(at, int | float) or at <= step
