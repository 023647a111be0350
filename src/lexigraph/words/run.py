"""A training of word vectors as a run: `lexigraph train skipgram` leaves the folder that `train gpt` does.

    recipe.toml  config.json  vectors/ (formats.py)  results.json  log.jsonl (a line for each epoch)
    checkpoints/ and start/ (the vectors to go on from), until the run is finished

The text is read before the folder is there, so that a text that cannot be used leaves nothing. Pieces of text and
their random numbers follow from settings and epoch: stopped at any moment and resumed, a run with one thread ends
with the same bits. Counts have no epochs: they begin anew, and end with the same bits, too.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numba
import numpy as np

from lexigraph import __version__
from lexigraph import recipe as recipes
from lexigraph.errors import Interrupted, LexigraphError, UsageError
from lexigraph.locks import locked
from lexigraph.outputs import json_text, reason
from lexigraph.registry import WORD_SYSTEMS
from lexigraph.run import FORMAT, Run, creating, folder_for, remove, with_parents
from lexigraph.text.files import Given, named
from lexigraph.words import formats, training
from lexigraph.words.checkpoint import Checkpoint
from lexigraph.words.corpus import Corpus
from lexigraph.words.progress import Report, peak_memory
from lexigraph.words.recipe import WordRecipe
from lexigraph.words.vectors import WordVectors

START = "start"  # the vectors to go on from
CHECKPOINT = "epoch.safetensors"


def train(
    recipe: str | Path | None = None,
    data: Given | None = None,
    out: str | Path | None = None,
    *,
    valid: Given | None = None,
    test: Given | None = None,
    start: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    resume: bool = False,
    tiny: bool = False,
    quiet: bool = False,
) -> WordVectors:
    """Raw text in, vectors out, as `lexigraph.train` says; `start`: a run or a file of vectors to go on from."""
    folder, report = folder_for(out), None if quiet else _say
    if recipe is None and not resume:
        raise UsageError("Say which recipe to train; `lexigraph recipes` lists them.")
    if recipe is None:  # as it was started, but for `set`, which is then refused by name
        recipe, start, tiny = folder / "recipe.toml", None, False
    given = {"data.train": data, "data.valid": valid, "data.test": test}
    changes = {key: named(each) for key, each in given.items() if each is not None} | dict(set or {})
    known = None if start is None else WordVectors.load(start).table
    asked, begin = _asked(recipe, changes, known, tiny), time.monotonic()
    if resume and folder.exists():
        run = Run.open(folder)
        _take_changes(run, asked)
        if run.finished:
            _say_if(report, f"{folder} is finished: there is nothing to resume.")
            return WordVectors.load(folder)
        with locked(folder):
            if (folder / START).exists():
                known = formats.load(folder / START)
            with training.reading(asked.data, asked.words, report) as corpus:
                return _fit(run, asked, corpus, known, report, begin)
    was_there = folder.exists()
    with with_parents(folder), ExitStack() as kept:
        with creating(folder) as temporary:
            corpus = kept.enter_context(training.reading(asked.data, asked.words, report))
            _prepare(temporary, asked, known, start)
        kept.enter_context(locked(folder))
        try:
            return _fit(Run(folder), asked, corpus, known, report, begin)
        except LexigraphError:  # a setting that makes no sense for this text
            if not _checkpoint(folder).exists():
                remove(folder)
                if was_there:
                    folder.mkdir()
            raise


def load(folder: str | Path, device: str = "auto", int8: bool = False) -> WordVectors:
    """The vectors of a run; they are on no card, and have no products to round."""
    if int8 or device not in ("auto", "cpu"):
        raise UsageError(f"{folder} holds word vectors, which are used as they are: leave out device and int8.")
    return WordVectors.load(folder)


def _take_changes(run: Run, asked: WordRecipe) -> None:
    """Let a stopped run have more epochs or other threads than were planned; refuse any other change by its name.

    The learning rate falls in a line over all epochs that are planned while one is read.
    """
    changed = run.changes(asked, ("words.epochs", "words.threads"))
    if not changed:
        return
    if run.finished:
        raise LexigraphError(
            f"{run.path} is finished, and what it would go on from is gone: train a new run with --from {run.path}."
        )
    done = len(_Log(run, 0, 0.0).lines())
    if asked.words.resolved().epochs < done:
        raise UsageError(f"{run.path} has read the text {done} times already: set words.epochs to that or higher.")
    run.write("recipe.toml", asked.toml())


def _asked(recipe: str | Path, changes: Mapping[str, Any], known: formats.Table | None, tiny: bool) -> WordRecipe:
    """The recipe with all that was asked for; vectors to go on from say how many numbers a vector has."""
    asked = recipes.read(recipe, changes, tiny=tiny)
    assert isinstance(asked, WordRecipe)
    if not asked.data.train:
        raise UsageError("There is no training text: give --data FILE, or --data grammar for the built-in corpus.")
    if known is not None and "words.dim" not in changes:
        asked = replace(asked, words=replace(asked.words, dim=known.vectors.shape[1]))
    training.check_start(asked.words, known)
    return asked


def _prepare(folder: Path, recipe: WordRecipe, known: formats.Table | None, start: str | Path | None) -> None:
    """What the run folder holds before its first epoch."""
    run = Run(folder)
    if known is not None:
        formats.save(known, folder / START)
    run.write("recipe.toml", recipe.toml())
    config = {"format": FORMAT, "lexigraph": __version__, "system": recipe.system, "from": str(start or "")}
    run.write("config.json", config | {"abilities": list(WORD_SYSTEMS[recipe.system].abilities)})


def _fit(
    run: Run,
    recipe: WordRecipe,
    corpus: Corpus,
    known: formats.Table | None,
    report: Report | None,
    begin: float,
) -> WordVectors:
    """Learn, and write what was learned; the results come last, for they say that the run is finished.

    begin: when the reading of the text began, which is part of the time that a run takes.
    """
    log, settings = _Log(run, corpus.tokens, begin), recipe.words.with_threads()
    checkpoint = Checkpoint(_checkpoint(run.path), training.identity(corpus, settings), log.write)
    run.checkpoints.mkdir(exist_ok=True)
    with _stopping(run):
        table, losses = training.learn(corpus, settings, report, checkpoint, known)
        formats.save(table, run.path / formats.VECTORS, force=True)
        results = {"system": recipe.system, "method": settings.method, "seed": settings.seed}
        results |= {"words": len(table.words), "dim": settings.dim, "tokens": corpus.tokens}
        results |= {"epochs": len(losses), "losses": losses}
        results |= {"scores": {"train": _scores(corpus, recipe, losses)}}
        results |= {"seconds": round(log.seconds(), 2), "peak_memory_gb": round(peak_memory(), 3)}
        run.write("results.json", results)
    for name in (run.checkpoints, run.path / START):
        remove(name)
    vectors = WordVectors.load(run.path)
    vectors.losses = losses
    return vectors


def _scores(corpus: Corpus, recipe: WordRecipe, losses: list[float]) -> dict[str, Any]:
    """What is known without a benchmark: how well words are predicted, and how much of the text has vectors."""
    settings, positions = recipe.words, corpus.tokens + corpus.dropped
    figures = {"loss": losses[-1]} if losses else {}
    figures["coverage"] = corpus.tokens / positions
    parts = {
        "system": recipe.system,
        "method": settings.method,
        "dim": settings.dim,
        "cut": settings.split,
        "min_count": settings.min_count,
        "text": corpus.fingerprint,
        "seed": settings.seed,
        "epochs": len(losses),
        "threads": settings.with_threads().threads,
        "lexigraph": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
    scores: dict[str, Any] = {name: {"value": value, "interval": None} for name, value in figures.items()}
    return scores | {"signature": "|".join(f"{name}:{value}" for name, value in parts.items())}


def _checkpoint(folder: Path) -> Path:
    return Run(folder).checkpoints / CHECKPOINT


class _Log:
    """log.jsonl, a line for each epoch; one whose tables a killed run did not keep any more is written again."""

    def __init__(self, run: Run, tokens: int, begin: float) -> None:
        self.run, self.tokens, self.since = run, tokens, time.monotonic()
        self.reading = self.since - begin

    def lines(self) -> list[str]:
        file = self.run.path / "log.jsonl"
        return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []

    def _until(self, lines: list[str]) -> float:
        """The seconds that the last of these lines tells."""
        try:
            return float(json.loads(lines[-1])["seconds"]) if lines else 0.0
        except (ValueError, KeyError, TypeError, RecursionError):
            file = self.run.path / "log.jsonl"
            raise LexigraphError(
                f"{file}, line {len(lines)} is damaged: remove that line and those after it."
            ) from None

    def write(self, losses: list[float]) -> None:
        """The line of the epoch that is done."""
        kept = self.lines()[: len(losses) - 1]
        before = self._until(kept)
        spent, self.since = time.monotonic() - self.since, time.monotonic()
        facts = {"kind": "train", "epoch": len(losses), "loss": losses[-1]}
        facts |= {"tokens_per_second": self.tokens / spent, "seconds": before + self.reading + spent}
        self.reading = 0.0  # counted
        self.run.write("log.jsonl", "".join(f"{line}\n" for line in (*kept, json_text(facts))))

    def seconds(self) -> float:
        """How long the run has taken, over all its lives."""
        return self._until(self.lines()) + self.reading + time.monotonic() - self.since


@contextmanager
def _stopping(run: Run) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a full disk end a training in good order: what it made goes, the last whole epoch stays."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()  # signals come to no other
    before = signal.signal(signal.SIGTERM, stop) if here else None
    try:
        yield
    except KeyboardInterrupt:
        done = "its whole epochs are saved" if _checkpoint(run.path).exists() else "no epoch was whole"
        raise Interrupted(f"Stopped; {done}. Go on with: lexigraph train --out {run.path} --resume") from None
    except OSError as error:
        raise LexigraphError(
            f"{run.path} could not be trained: {reason(error)}. Whole epochs are kept. Is {gettempdir()} full, too?"
        ) from None
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _say_if(report: Report | None, sentence: str) -> None:
    if report:
        report(sentence)
