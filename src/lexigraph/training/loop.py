"""The loop: take a step, now and then look up, write down where we are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext

import torch

from lexigraph.errors import Interrupted, LexigraphError
from lexigraph.nn.network import Network
from lexigraph.recipe import Train
from lexigraph.run import Run
from lexigraph.training import checkpoint
from lexigraph.training.checkpoint import Progress
from lexigraph.training.progress import Log, Recent, Reporter, peak_memory
from lexigraph.training.schedules import rate, step_of
from lexigraph.training.signals import Stopped, caught_signals
from lexigraph.training.step import Training
from lexigraph.weights import snapshot

Validate = Callable[[Network], dict[str, float]]


TOO_SHORT = "Validations count from step {:,} on, which is after the end: the last weights are kept."


def fit(training: Training, run: Run, validate: Validate | None, reporter: Reporter) -> Progress:
    """Train until the last step, patience or a signal ends it. The best weights are in model.safetensors.

    A network whose loss changes over its first steps says from which step on validations count (`Traits.settled`):
    before it, the latest weights are kept and patience does not begin.
    """
    settings, world = training.settings, training.world
    if training.restore(run):
        reporter.say(f"Going on from step {training.progress.step:,}.")
    progress, settled = training.progress, training.network.traits.settled
    if validate is not None and training.steps < settled:
        reporter.say(TOO_SHORT.format(settled))
    log = Log(run.path, progress.step, tensorboard=settings.tensorboard) if world.first else None
    if log and log.remark:
        reporter.say(log.remark)
    validate_every = settings.validate_every or max(1, training.steps // 10)
    checkpoint_every = settings.checkpoint_every or validate_every
    recent = Recent()
    before = progress.seconds - time.monotonic()

    def look() -> None:
        """Validate, and keep the weights if they are the best."""
        with training.kept():
            scores = _validated(training, validate)
            progress.seconds = before + time.monotonic()
            if log and scores:
                log.write("valid", progress.step, scores)
            if _better(training, scores.get(settings.metric)):
                checkpoint.save_weights(training.network, run.path / "model.safetensors", world)

    epoch_steps, growth = training.plan.epoch_steps, settings.batch_growth
    snapshots = {
        step_of(max(1, round(epoch * epoch_steps)), training.steps, growth): epoch for epoch in settings.snapshots
    }

    with ExitStack() as closing:
        closing.callback(reporter.close)
        if log:
            closing.callback(log.close)
        training.signals = closing.enter_context(caught_signals())
        try:
            if progress.unvalidated:
                look()
            while progress.step < training.steps and not _out_of_patience(progress, settings):
                with _memory_explained(training):
                    recent.add(progress.step + 1, training.step())
                step, last = progress.step, progress.step == training.steps
                progress.seconds = before + time.monotonic()
                stop = bool(world.summed([float(training.signals.caught)])[0]) and not last
                due, keep = last or step % validate_every == 0, last or stop or step % checkpoint_every == 0
                if due or keep or step % settings.log_every == 0 or step == 1:
                    facts = recent.flush(rate(step, training.steps, settings), world)
                    _announce(training, reporter, facts)
                    reporter.update(step, facts)
                    if log:
                        log.write("train", step, facts)
                if due:
                    look()
                if step in snapshots:
                    _keep_snapshot(training, run, snapshots[step])
                if keep:
                    training.save(run)
                if due or keep:
                    recent.since = time.monotonic()  # that was no training
                if stop:
                    raise _interrupted(training, run)
        except Stopped:  # in a validation, or between micro-batches
            if recent.steps:
                recent.flush(0.0, world)  # refuses to save what is no number
            training.save(run)
            raise _interrupted(training, run) from None
    return progress


def _keep_snapshot(training: Training, run: Run, epoch: float) -> None:
    """The weights after so many epochs, beside the best ones."""
    with training.kept():
        checkpoint.save_weights(training.network, snapshot(run.path, epoch), training.world)


def _interrupted(training: Training, run: Run) -> Interrupted:
    return Interrupted(
        f"Stopped at step {training.progress.step:,} of {training.steps:,}; all of it is saved. "
        f"Go on with: lexigraph train --out {run.path} --resume"
    )


def _announce(training: Training, reporter: Reporter, facts: dict[str, float]) -> None:
    """After the first steps, which ran the longest batch: how much memory and time it all takes."""
    if training.progress.step == min(training.settings.log_every, training.steps):
        left = (training.steps - training.progress.step) * facts["seconds_per_step"]
        reporter.say(
            f"Peak memory {peak_memory(training.world.device):.1f} GB with the longest batch; "
            f"about {_duration(left)} for the remaining steps."
        )


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def _validated(training: Training, validate: Validate | None) -> dict[str, float]:
    if validate is None:
        return {}
    random = checkpoint.random_states(training.world.device)
    training.network.eval()
    eager = torch.compiler.set_stance("force_eager") if training.settings.compile else nullcontext()
    training.progress.unvalidated = True
    try:
        interrupting = training.signals.interrupting(training.world.size == 1)
        with torch.no_grad(), training._autocast(), eager, interrupting:  # to compile it would take longer
            scores = validate(training.network)
    except Stopped:  # it is done again when the run goes on
        checkpoint.set_random_states(random, training.world.device)
        raise
    training.progress.unvalidated = False
    training.network.train()
    return {name: training.world.agreed(score) for name, score in scores.items()}


def _better(training: Training, score: float | None) -> bool:
    """Whether these weights are the best so far; without validation, or before validations count, the latest are."""
    progress = training.progress
    if score is None or progress.step < training.network.traits.settled:
        progress.best_step = progress.step
        return True
    sign = 1 if training.greater_is_better else -1
    if math.isfinite(score) and (progress.best is None or sign * score > sign * progress.best):
        progress.best, progress.best_step, progress.worse = score, progress.step, 0
        return True
    progress.worse += 1
    return progress.best is None  # as long as every score was NaN, the latest are kept


def _out_of_patience(progress: Progress, settings: Train) -> bool:
    return 0 < settings.patience <= progress.worse


@contextmanager
def _memory_explained(training: Training) -> Iterator[None]:
    """Running out of memory says which batch, and what to set."""
    try:
        yield
    except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
        if not isinstance(error, torch.OutOfMemoryError | MemoryError) and "DefaultCPUAllocator" not in str(error):
            raise
        tables = training.plan.batch(training.batches_before(training.progress.step))
        rows = max(tables.values(), key=lambda rows: int(rows.lengths.sum()))
        accumulate = training.settings.accumulate
        also = " and train.cuda_graphs=false" if training.settings.cuda_graphs else ""
        raise LexigraphError(
            f"Out of memory at step {training.progress.step + 1}: a batch of {len(rows)} rows of up to "
            f"{int(rows.lengths.max())} tokens in {accumulate} part(s). Set train.accumulate={2 * accumulate}{also} "
            "for the same result in less memory, or a lower train.batch_tokens."
        ) from error
