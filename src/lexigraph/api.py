"""Train, load and evaluate networks: what `lexigraph.train` and `lexigraph.load` (entry.py) do but for word vectors.

model = train("gpt", data="my.txt", out="runs/gpt", set={"train.steps": 500})
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexigraph import checksums
from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.locks import locked
from lexigraph.nn.network import LanguageNetwork, Network, columns_of
from lexigraph.outputs import not_finite, reason
from lexigraph.preparation import FILES, START, TABLES, UNIGRAMS, born, prepared, tables_in, task_of
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.resuming import take_changes
from lexigraph.run import FORMAT, Run, folder_for, remove, terminable, word_vectors_asked
from lexigraph.starting import Start, start_from
from lexigraph.stored import array_in
from lexigraph.text import corpus
from lexigraph.text.columns import MAIN
from lexigraph.text.files import Given, Names, named, same, shown
from lexigraph.text.planning import training_plan
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Table
from lexigraph.text.tables import tables as read_tables
from lexigraph.text.vocabularies import Vocabularies
from lexigraph.training.checkpoint import latest
from lexigraph.training.distribution import World, join
from lexigraph.training.loop import Validate, fit
from lexigraph.training.progress import Reporter, peak_memory
from lexigraph.training.resident import fetcher
from lexigraph.training.step import Training, check_cuda_graphs, precision, seed_everything
from lexigraph.weights import load_weights


def load(folder: str | Path, device: str = "auto", *, int8: bool = False) -> TextModel:
    """A trained model from its run folder; `int8`: on the CPU, with products in 8 bits."""
    return TextModel.load(folder, device, int8)


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
) -> TextModel:
    """Train a network, as `lexigraph.train` says (entry.py)."""
    folder = folder_for(out)
    if recipe is None and not resume:
        raise UsageError("Say which recipe to train; `lexigraph recipes` lists them.")
    if recipe is None and not folder.exists():
        raise LexigraphError(f"There is no run in {folder} to resume.")
    if recipe is None:  # as it was started, but for `changes`, which are then refused by name
        recipe, start, tiny = resumable(Run.open(folder)).path / "recipe.toml", None, False
    asked, begin = _asked(recipe, data, valid, test, start, set, tiny)
    device = asked.train.device
    with join(device) as world, ExitStack() as locks:
        reporter = Reporter(0, quiet=quiet or not world.first)
        precision(asked.train.precision, world.device)  # refused before there is a folder
        check_cuda_graphs(asked.train, world)
        network = None
        if world.agreed(resume and folder.exists()):
            run = resumable(Run.open(folder))

            def going_on() -> bool:
                locks.enter_context(locked(folder))
                return take_changes(run, asked, reporter)

            if not world.decided(going_on):
                reporter.say(f"{folder} is finished: there is nothing to resume.")
                if world.first:  # what a kill at the very end has left
                    remove(run.path / TABLES)
                    remove(run.path / START)
                return TextModel.load(folder, device)
            checksums.verify(folder / TABLES)
        else:

            def beginning() -> None:
                nonlocal network
                network = prepared(folder, asked, begin, reporter)
                locks.enter_context(locked(folder))

            world.decided(beginning)
        return _train(Run.open(folder), world, reporter, network)


def prepare(
    recipe: str | Path,
    data: Given | None = None,
    out: str | Path | None = None,
    *,
    valid: Given | None = None,
    test: Given | None = None,
    start: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    tiny: bool = False,
    quiet: bool = False,
) -> Path:
    """Everything before the first step: the run folder with its tokenizer and tokens.

    `train(out=…, resume=True)` then trains it, on this machine or on another that has no text and no time to read it.
    """
    folder = folder_for(out)
    if word_vectors_asked(recipe, None):
        raise UsageError("Word vectors are trained as soon as the text is read: leave out --prepare.")
    prepared(folder, *_asked(recipe, data, valid, test, start, set, tiny), Reporter(0, quiet=quiet))
    return folder


def _asked(
    recipe: str | Path,
    data: Given | None,
    valid: Given | None,
    test: Given | None,
    start: str | Path | None,
    set: Mapping[str, Any] | None,
    tiny: bool,
) -> tuple[Recipe, Start | None]:
    """The recipe with all that was asked for, and what it starts from."""
    given = {"data.train": data, "data.valid": valid, "data.test": test}
    changes = {key: named(each) for key, each in given.items() if each is not None} | dict(set or {})
    asked = recipes.read(recipe, changes, tiny=tiny)
    if start is None:
        return asked, None
    begin = start_from(start, asked)
    return begin.recipe(asked, changes), begin


def resumable(run: Run) -> Run:
    """The run, if its format is this version's."""
    if run.config()["format"] < FORMAT:
        state = "is finished, and there is nothing to resume" if run.finished else "is not finished: train it anew"
        raise LexigraphError(f"{run.path} was begun by an older Lexigraph and {state}; another --out is free.")
    return run


def training_of(run: Run, world: World, network: Network | None = None) -> tuple[Training, dict[str, Table]]:
    """A prepared run, ready for its first step, and its main table by split. `network`: as `_prepare` left it."""
    recipe = run.recipe()
    tables = tables_in(run.path, recipe)
    if "train" not in tables:
        raise LexigraphError(f"The run folder {run.path} is incomplete: its {TABLES} are missing.")
    task, settings = task_of(recipe), recipe.train
    main = {split: named[MAIN] for split, named in tables.items() if MAIN in named}
    metric, _ = task.choosing(settings.metric, main.get("valid"))
    settings = dataclasses.replace(settings, metric=metric)
    if network is None:
        network = born(recipe, Vocabularies.load(run, columns_of(recipe)))
        if (run.path / START).exists():
            load_weights(network, run.path / START)
    seed_everything(settings.seed, world.rank, settings.deterministic)
    plan = training_plan(tables["train"], network.traits, recipe)
    mean_batches = (1 + settings.batch_growth) / 2  # of a step
    steps = math.ceil(settings.epochs * plan.epoch_steps / mean_batches) if settings.epochs else settings.steps
    fetch = fetcher(tables["train"], network.traits, world.device)
    greater = task.METRICS[settings.metric]
    return Training(network, plan, fetch, settings, steps, world, greater_is_better=greater), main


def _train(run: Run, world: World, reporter: Reporter, network: Network | None = None) -> TextModel:
    """Fit, measure and write the results."""
    recipe = run.recipe()
    task = task_of(recipe)
    training, tables = training_of(run, world, network)
    train, valid, traits = tables["train"], tables.get("valid"), training.network.traits
    reporter.total = training.steps
    reporter.say(_overview(recipe, training, train))
    if training.pipeline:
        reporter.say(training.pipeline.described(recipe.train.accumulate))
    if long := train.too_long(traits) if recipe.data.unit == "line" else 0:
        reporter.say(
            f"{long:,} of {len(train):,} examples are longer than the model's {traits.context} tokens and are left "
            "out: a larger model.context would hold them."
        )
    if why := task.choosing(recipe.train.metric, valid)[1]:
        reporter.say(why)
    if valid is None:
        reporter.say("There is no validation text: the last weights are kept, not the best.")
    progress = fit(training, run, _validator(recipe, valid, world.device), reporter)
    model = TextModel.load(run.path, str(world.device))
    if world.first:
        if done := model.finish(run, train):
            reporter.say(done)
        held_out = {name: table for name, table in tables.items() if name != "train" and len(table)}
        results: dict[str, Any] = {"system": recipe.system, "steps": progress.step, "seed": recipe.train.seed}
        baseline = task.baseline(train) if held_out else None
        best = progress.best_step or progress.step
        results["scores"] = {name: _scores(model, run, table, best, baseline) for name, table in held_out.items()}
        if long:
            results["too_long_for_training"] = long
        results |= {"best_step": best, "seconds": round(progress.seconds, 2)}
        results["peak_memory_gb"] = round(peak_memory(world.device), 3)
        _warn_not_finite(results["scores"])
        run.write("results.json", results)
        remove(run.path / TABLES)  # the text made anew from the same files gives the same tables
        remove(run.path / START)
        for name, scores in results["scores"].items():
            reporter.say(f"{name}: {task.headline(scores)}")
    world.barrier()
    return model


def _overview(recipe: Recipe, training: Training, train: Table) -> str:
    parameters = sum(p.numel() for p in training.network.parameters())
    epochs, world = training.batches_before(training.steps) / training.plan.epoch_steps, training.world
    where = f"{world.size} × {world.device.type}" if world.size > 1 else world.device.type
    sizes = {name: len(train.columns[name].counts) for name in train.vocabularies}
    held = f"{training.plan.tokens:,} {'in the text' if sizes else 'tokens in the data'}"
    if len(sizes) > 1:
        held = f"vocabularies of {' and '.join(f'{n:,} ({name})' for name, n in sizes.items())} tokens, {held}"
    elif sizes:
        held = f"{sum(sizes.values()):,} tokens in the vocabulary, {held}"
    length = f"{training.steps:,} steps, {epochs:.1f} epochs"
    return f"{recipe.system}: {parameters:,} parameters, {held}; {length}, on {where}."


def _validator(recipe: Recipe, table: Table | None, device: torch.device) -> Validate | None:
    if table is None:
        return None
    validate = task_of(recipe).validate
    return lambda network: validate(network, table, recipe, device)


def _scores(model: TextModel, run: Run, table: Table, steps: int, baseline: Any = None) -> dict[str, Any]:
    """Scores of a held-out text with their signature, the baselines beside them."""
    return task_of(model.recipe).scores(model, table, steps, _unigrams(run), baseline)


def _unigrams(run: Run) -> np.ndarray:
    """How often each token or label occurs in the training text."""
    known = run.config().get(FILES, {}).get(UNIGRAMS)
    if known:
        checksums.refuse_changed(run.path / UNIGRAMS, tuple(known))
    return array_in(run.path / UNIGRAMS)


def evaluate(
    folder: str | Path,
    data: Given,
    *,
    train: Given | None = None,
    device: str = "auto",
    int8: bool = False,
    window: int = 0,
    stride: int = 0,
    by_position: bool = False,
) -> dict[str, Any]:
    """Scores of a trained model on a file, with their signature; they are added to the run's results.json.

    train: the training text; with it, the n-gram baseline of a language model is measured on the file as well.
    int8: also the scores of the same model with products in 8 bits, under "int8".
    window, stride, by_position: of language models, how the text is read, and scores by how much stands before a
        token (evaluation/context.py).
    """
    from lexigraph.evaluation import context  # with n-gram models, which only this needs

    model = TextModel.load(folder, "cpu" if int8 and device == "auto" else device)
    run = Run.open(folder)
    windows = context.Windows(window, stride)
    if asked := by_position or windows != context.Windows():
        if not isinstance(model.network, LanguageNetwork) or system(model.recipe.system).task != "language":
            raise UsageError(
                f"This {model.recipe.system} model is no language model: it has no windows (--window, --stride) "
                "and no scores by position (--by-position)."
            )
        windows.check(model.network)
    names = named(data)
    if same(names, model.recipe.data.train):
        warnings.warn(
            f"{shown(names)} is what {folder} was trained on: the scores say little about other text.", stacklevel=2
        )
    with _temporary_folder() as temporary:
        task, steps = task_of(model.recipe), _scored_step(run)
        baseline = task.baseline(_table(model, named(train), temporary, "train")) if train else None
        table = _table(model, names, temporary, "test")

        def scored(model: TextModel, baseline: Any = None) -> dict[str, Any]:
            if not asked:
                return _scores(model, run, table, steps, baseline)
            return context.scores(
                model, table, steps, _unigrams(run), windows, by_position=by_position, baseline=baseline
            )

        scores = scored(model, baseline)
        if int8:
            scores["int8"] = scored(model.quantise())
    _warn_not_finite(scores)
    if run.finished and not run.bundled:
        try:
            with locked(run.path, wait=True):  # another process may measure it, too
                results = run.json("results.json")
                read_as = f" (window {window}, stride {stride or window})" if window else ""
                results.setdefault("files", {})[shown(names) + read_as] = scores
                run.write("results.json", results)
        except LexigraphError as error:  # a read-only folder is no reason to lose the scores
            warnings.warn(str(error), stacklevel=2)
    return scores


def _warn_not_finite(scores: Mapping[str, Any]) -> None:
    if absent := not_finite(scores):
        names = ", ".join(absent)
        warnings.warn(f"No number: {names}. The weights or the text may be extreme; they are left out.", stacklevel=3)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for tokens, which goes again; if there is no room for it, a sentence says where room is needed."""
    with terminable(), tempfile.TemporaryDirectory() as folder:
        try:
            yield Path(folder)
        except OSError as error:
            where = tempfile.gettempdir()
            raise LexigraphError(
                f"The text could not be kept in {where} while it is scored: {reason(error)}. TMPDIR can name another "
                "folder."
            ) from None


def _table(model: TextModel, data: Names, temporary: Path, split: str) -> Table:
    """A file as the model reads text, in a temporary folder."""
    folder, columns = temporary / split, columns_of(model.recipe)
    source = dataclasses.replace(model.recipe.data, train=data, valid="", test="", split=(1.0,))
    cleaner = corpus.trained_cleaner(source, *model.vocabularies.tokenizers().values())
    source = dataclasses.replace(source, clean=(), rare=(), max_words=(), dictionary="")  # all in `cleaner`
    found = (dataclasses.replace(each, split=split) for each in corpus.examples(source, columns, cleaner))
    for sentence in write_tables(found, columns, model.vocabularies, folder, needed=split).encoder.unlearned():
        warnings.warn(sentence, stacklevel=3)
    return read_tables(folder, columns)[split]


def _scored_step(run: Run) -> int:
    """The step whose weights the run folder holds: the best or, without validation, the last."""
    if run.finished:
        results = run.json("results.json")
        return results.get("best_step") or results["steps"]
    newest = latest(run.checkpoints)
    state = run.json(str(newest.relative_to(run.path) / "state.json")) if newest else {"best_step": 0, "step": 0}
    return state["best_step"] or state["step"]
