"""Everything before the first step: vocabularies are learned, text is encoded, and a rehearsal meets wrong settings.

A run folder appears only when all of that is done, and whole.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from lexigraph import __version__, checksums
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.task import Task
from lexigraph.nn.network import Network, build, columns_of, skeleton
from lexigraph.nn.size import copies_in_training
from lexigraph.recipe import Recipe
from lexigraph.registry import nearest, system
from lexigraph.run import FORMAT, Run, creating
from lexigraph.starting import Start
from lexigraph.text import corpus
from lexigraph.text.batches import first_rows
from lexigraph.text.columns import MAIN, tables_of
from lexigraph.text.learning import learn_vocabularies
from lexigraph.text.planning import training_plan
from lexigraph.text.remarks import remarks
from lexigraph.text.splits import taken
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Table
from lexigraph.text.tables import tables as read_tables
from lexigraph.text.vocabularies import FINGERPRINTS, Vocabularies
from lexigraph.training.distribution import processes
from lexigraph.training.pipeline import check_pipeline
from lexigraph.training.progress import Reporter
from lexigraph.training.resident import fetcher
from lexigraph.training.schedules import optimizer
from lexigraph.training.step import check_batches, seed_everything
from lexigraph.weights import write_tensors

TABLES = "tables"  # the folder of the encoded text, until the run is finished
UNIGRAMS = "unigrams.npy"  # how often each token stands in the training text or, of pairs, its targets: the baseline
FILES = "files"  # the key of config.json with the checksums of files that never change
SHOWN = 3  # labels in a message
START = "start.safetensors"  # the weights that fine-tuning starts from


def prepared(folder: Path, recipe: Recipe, start: Start | None, reporter: Reporter) -> Network:
    """Everything before step 0, in a folder that appears only when it is complete; and the network, as it is born."""
    with creating(folder) as temporary:
        run = Run(temporary)
        for remark in remarks(recipe.data, system(recipe.system).fields, recipe.tokenizer.kind):
            reporter.say(f"! {remark}")
        for sentence in taken(recipe.data):
            reporter.say(sentence)
        known = None if start is None else start.vocabularies(recipe)
        vocabularies = write_encoded(recipe, known, temporary, reporter)
        tables = tables_in(temporary, recipe)
        np.save(temporary / UNIGRAMS, task_of(recipe).frequencies(tables["train"][MAIN]))
        network = born(recipe, vocabularies)
        if start is not None:
            if said := start.fill(network, vocabularies):
                reporter.say(said)
            write_tensors(network.state_dict(), temporary / START)
        _rehearse(network, tables, recipe, reporter)
        checksums.write(temporary / TABLES)
        run.write("recipe.toml", recipe.toml())
        run.write(
            "config.json", config_of(recipe.system, "" if start is None else start.path, vocabularies, temporary)
        )
    return network


def config_of(name: str, origin: str | Path, vocabularies: Vocabularies, folder: Path) -> dict[str, object]:
    """The config.json of a run: what it is, and what its files are known by."""
    config = {"format": FORMAT, "lexigraph": __version__, "system": name, "from": str(origin)}
    known = {FINGERPRINTS: vocabularies.fingerprints(), FILES: checksums.checksums([folder / UNIGRAMS])}
    return config | {"abilities": list(system(name).abilities)} | known


def write_encoded(recipe: Recipe, known: Vocabularies | None, folder: Path, reporter: Reporter) -> Vocabularies:
    """Encode all that the recipe names, by the vocabularies known or learned from it."""
    learned = {column.vocabulary for column in columns_of(recipe).values() if column.kind == "tokens"} - {
        *(known or ())
    }
    if learned:
        each = " for each side" if recipe.tokenizer.separate else ""
        reporter.say(f"Training a {recipe.tokenizer.kind} tokenizer{each}.")
    vocabularies = known or Vocabularies({})
    sources, tables = [], tables_of(columns_of(recipe))
    if unused := [name for name in recipe.tables if name not in tables]:
        has = f"has the tables {', '.join(filter(None, tables))}" if len(tables) > 1 else "learns from [data] alone"
        raise UsageError(f"[data.{unused[0]}] is of no use to this {recipe.system} model, which {has}.")
    for name, columns in tables.items():
        if name and name not in recipe.tables:
            raise UsageError(
                f"This {recipe.system} model learns from a further table: add a section [data.{name}], or "
                f"--set data.{name}.train=FILE."
            )
        data = recipe.tables[name] if name else recipe.data
        cleaner = corpus.make_cleaner(data, columns)
        vocabularies = learn_vocabularies(recipe, data, columns, cleaner, vocabularies)
        sources.append((name, columns, data, cleaner))
    shape = skeleton(recipe, vocabularies, copies_in_training(recipe))  # refused before the whole text is encoded
    check_pipeline(shape, recipe.train, processes())
    vocabularies.save(folder)
    for name, columns, data, cleaner in sources:
        found = corpus.examples(data, columns, cleaner)
        written = write_tables(found, columns, vocabularies, folder / TABLES, table=name, report=reporter.count)
        for sentence in written.encoder.unlearned():
            reporter.say(sentence)
        for column, once in written.seen_once().items():
            if once:
                reporter.say(
                    f"A single training example has the {column} {', '.join(map(repr, once[:SHOWN]))}"
                    f"{f' or one of {len(once) - SHOWN} others' if len(once) > SHOWN else ''}: too few to learn it."
                )
    return vocabularies


def tables_in(folder: Path, recipe: Recipe) -> dict[str, dict[str, Table]]:
    """The tables in a run folder: by split, then by name."""
    found: dict[str, dict[str, Table]] = {}
    for name, columns in tables_of(columns_of(recipe)).items():
        for split, table in read_tables(folder / TABLES, columns, name).items():
            found.setdefault(split, {})[name] = table
    return found


def born(recipe: Recipe, vocabularies: Vocabularies) -> Network:
    """The network with its first weights, the same in every process."""
    seed_everything(recipe.train.seed, 0, recipe.train.deterministic)
    return build(recipe, vocabularies)


def task_of(recipe: Recipe) -> Task:
    """How the recipe's system is measured: METRICS, frequencies, validate, scores, headline."""
    return system(recipe.system).task_module()


def _rehearse(network: Network, tables: dict[str, dict[str, Table]], recipe: Recipe, reporter: Reporter) -> None:
    """Meet now, before there is a run folder, what a wrong setting would do at the first step or validation."""
    traits, train = network.traits, tables["train"]
    check_batches(traits, recipe.train)
    plan = training_plan(train, traits, recipe)
    first = fetcher(train, traits, torch.device("cpu"))({name: rows[:1] for name, rows in plan.batch(0).items()}, {})
    optimizer(network, recipe.train, fused=False)
    with torch.no_grad():
        network.eval()
        network.loss(network.prepare(first))
        network.train()
    if remark := network.remark(train[MAIN].fetch(first_rows(plan, 1000), traits)):
        reporter.say(remark)
    if recipe.data.unit == "line" and "valid" in tables and not len(tables["valid"][MAIN].cut(traits)[0]):
        raise LexigraphError(f"No sentence of the validation text fits into the model's {traits.context} tokens.")
    if "valid" not in tables and recipe.train.patience:
        raise UsageError("train.patience needs a validation text: give --valid, or a share of data.split.")
    metrics = task_of(recipe).METRICS
    if recipe.train.metric not in metrics:
        raise UsageError(f"train.metric = {recipe.train.metric!r} is not measured{nearest('', metrics)}")
