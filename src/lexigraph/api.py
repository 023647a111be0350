"""The verbs behind the command line and `import lexigraph`: train, load, evaluate.

model = train("gpt", data="my.txt", out="runs/gpt", set={"train.steps": 500})
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexigraph import __version__
from lexigraph import recipe as recipes
from lexigraph.abilities.spaces import MIXTURE
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation import language
from lexigraph.evaluation.tasks import task_of
from lexigraph.latent.mixture import Mixture
from lexigraph.recipe import Recipe
from lexigraph.registry import nearest, system
from lexigraph.run import FORMAT, Run, remove, replacing
from lexigraph.text import corpus
from lexigraph.text.batches import Buckets, Plan, Streams, Windows, first_rows, require_a_batch
from lexigraph.text.corpus import Shard
from lexigraph.textmodel import SOURCE_TOKENIZER, TOKENIZER, TextModel, build, load_tokenizers
from lexigraph.training.checkpoint import latest, load_weights
from lexigraph.training.distribution import World, join
from lexigraph.training.loop import Fetch, Training, Validate, check_graphs, fit, precision, seed_everything
from lexigraph.training.progress import Reporter, peak_memory
from lexigraph.training.resident import Resident
from lexigraph.training.schedules import optimizer

UNIGRAMS = "unigrams.npy"  # how often each token stands in the training text or, of pairs, its targets: the baseline
START = "start.safetensors"  # the weights that fine-tuning starts from


def load(folder: str | Path, device: str = "auto", *, int8: bool = False) -> TextModel:
    """A trained model from its run folder; `int8`: on the CPU, with products in 8 bits."""
    return TextModel.load(folder, device, int8)


def train(
    recipe: str | Path | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
    *,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    start: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    resume: bool = False,
    tiny: bool = False,
    quiet: bool = False,
) -> TextModel:
    """Raw text in, model out: trains a recipe on a file and leaves a complete run folder.

    recipe: a name from `lexigraph recipes`, or a .toml file.
    start: a finished run to fine-tune: its tokenizer, model and weights are taken over.
    set: recipe keys to change, as {"train.steps": 500}.
    resume: go on with the run in `out` from its last checkpoint.
    """
    folder = _folder(out)
    if recipe is None and not resume:
        raise UsageError("Say which recipe to train; `lexigraph recipes` lists them.")
    if recipe is None and not folder.exists():
        raise LexigraphError(f"There is no run in {folder} to resume.")
    if recipe is None:  # as it was started, but for `changes`, which are then refused by name
        recipe, start, tiny = Run.open(folder).path / "recipe.toml", None, False
    asked = _asked(recipe, data, valid, test, start, set, tiny)
    device = asked.train.device
    with join(device) as world:
        reporter = Reporter(0, quiet=quiet or not world.first)
        precision(asked.train.precision, world.device)  # refused before there is a folder
        check_graphs(asked.train, world)
        if world.agreed(resume and folder.exists()):
            run = Run.open(folder)
            _refuse_changes(run, asked)
            if run.finished:
                reporter.say(f"{folder} is finished: there is nothing to resume.")
                return load(folder, device)
        else:
            if world.first:
                _prepare(folder, asked, start, reporter)
            world.barrier()
            run = Run.open(folder)
        return _train(run, world, reporter)


def prepare(
    recipe: str | Path,
    data: str | Path | None = None,
    out: str | Path | None = None,
    *,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    start: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    tiny: bool = False,
    quiet: bool = False,
) -> Path:
    """Everything before the first step: the run folder with its tokenizer and tokens.

    `train(out=…, resume=True)` then trains it, on this machine or on another that has no text and no time to read it.
    """
    folder = _folder(out)
    _prepare(folder, _asked(recipe, data, valid, test, start, set, tiny), start, Reporter(0, quiet=quiet))
    return folder


def _folder(out: str | Path | None) -> Path:
    if out is None:
        raise UsageError("Say where the run folder goes: out=… (--out DIR).")
    folder = Path(out)
    if folder.name in ("", ".."):
        raise UsageError(f"{out} has no name of its own: choose a folder that a run can be renamed to.")
    return folder


def _asked(
    recipe: str | Path,
    data: str | Path | None,
    valid: str | Path | None,
    test: str | Path | None,
    start: str | Path | None,
    set: Mapping[str, Any] | None,
    tiny: bool,
) -> Recipe:
    """The recipe with all that was asked for."""
    files = {"data.train": data, "data.valid": valid, "data.test": test}
    changes = {key: str(file) for key, file in files.items() if file is not None} | dict(set or {})
    asked = recipes.read(recipe, changes, tiny=tiny)
    return asked if start is None else _inherit(asked, start, changes)


def _inherit(recipe: Recipe, start: str | Path, changes: Mapping[str, Any]) -> Recipe:
    """Fine-tuning keeps the tokenizer and the model that it starts from, but for model keys changed by name."""
    old = Run.open(start).recipe()
    if old.system != recipe.system:
        raise UsageError(f"{start} is a {old.system} model and cannot be the start of a {recipe.system} one.")
    if fixed := [key for key in changes if key.startswith("tokenizer.")]:
        raise UsageError(
            f"The tokenizer of {start} is taken over and cannot be changed: leave out {', '.join(fixed)}."
        )
    named = [key.removeprefix("model.") for key in changes if key.startswith("model.")]
    model = dataclasses.replace(old.model, **{key: getattr(recipe.model, key) for key in named})
    return dataclasses.replace(recipe, model=model, tokenizer=old.tokenizer)


def _refuse_changes(run: Run, asked: Recipe) -> None:
    if changed := list(recipes.differences(run.recipe(), asked)):
        raise LexigraphError(f"{run.path} was started with another recipe, which differs: {'; '.join(changed)}.")


def _prepare(folder: Path, recipe: Recipe, start: str | Path | None, reporter: Reporter) -> None:
    """Everything before step 0, in a folder that appears only when it is complete."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "holds a run already" if (folder / "config.json").exists() else "exists and is not empty"
        raise LexigraphError(f"{folder} {what}: choose another --out, or --resume to go on with it.")
    with _parents(folder), replacing(folder) as temporary:
        temporary.mkdir()
        run = Run(temporary)
        tidy = corpus.make_cleaner(recipe.data)
        if start is None:
            each = " for each side" if recipe.tokenizer.separate else ""
            reporter.say(f"Training a {recipe.tokenizer.kind} tokenizer{each}.")
            tokenizer, source_tokenizer = corpus.train_tokenizers(recipe, tidy)
        else:
            tokenizer, source_tokenizer = load_tokenizers(Run.open(start).path, recipe)
        tokenizer.save(temporary / TOKENIZER)
        if recipe.tokenizer.separate:
            source_tokenizer.save(temporary / SOURCE_TOKENIZER)
        pieces = corpus.pieces(recipe.data, tidy)
        paired = recipe.data.unit == "pair"
        how: dict[str, Any] = {"told": reporter.count, "paired": paired, "source_tokenizer": source_tokenizer}
        corpus.write_shards(pieces, tokenizer, temporary / "tokens", **how)
        shards = corpus.shards(temporary / "tokens")
        np.save(temporary / UNIGRAMS, shards["train"].counts)
        network = build(recipe, tokenizer, source_tokenizer)
        if start is not None:
            load_weights(network, Run.open(start).path / "model.safetensors")
            shutil.copy(Run.open(start).path / "model.safetensors", temporary / START)
        _rehearse(network, shards, recipe, reporter)
        run.write("recipe.toml", recipe.toml())
        config = {"format": FORMAT, "lexigraph": __version__, "system": recipe.system, "from": str(start or "")}
        run.write("config.json", config | {"abilities": list(system(recipe.system).abilities)})


def _rehearse(network: Any, shards: dict[str, Shard], recipe: Recipe, reporter: Reporter) -> None:
    """Meet now, before there is a run folder, what a wrong setting would do at the first step or validation."""
    if shards["train"].paired and "translate" not in system(recipe.system).abilities:
        raise UsageError(f'A {recipe.system} model learns from single texts: data.unit = "pair" is for translators.')
    first = first_rows(_plan(network, shards["train"], recipe), 1000)
    optimizer(network, recipe.train, fused=False)
    with torch.no_grad():
        network.loss(network.prepare(shards["train"].columns(first[:1])))
    if hasattr(network, "remark") and (remark := network.remark(shards["train"].columns(first))):
        reporter.say(remark)
    if _whole(recipe) and "valid" in shards and not len(_examples(network, shards["valid"], recipe)[0]):
        raise LexigraphError(f"No sentence of the validation text fits into the model's {network.context} tokens.")
    if "valid" not in shards and recipe.train.patience:
        raise UsageError("train.patience needs a validation text: give --valid, or a share of data.split.")
    metrics = task_of(recipe.system).METRICS
    if recipe.train.metric not in metrics:
        raise UsageError(f"train.metric = {recipe.train.metric!r} is not measured{nearest('', metrics)}")


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folders above `folder`; those that were not there go again if the block fails."""
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as error:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            raise LexigraphError(f"The run folder {folder} cannot be made: {error}.") from None
        raise


def _plan(network: Any, shard: Shard, recipe: Recipe) -> Plan:
    """Which tokens stand together at which step."""
    settings, total = recipe.train, len(shard.ids) - 1
    window = min(recipe.data.window or network.context or 64, max(1, total))
    plan: Plan
    if recipe.data.unit in ("line", "pair"):
        starts, lengths = _examples(network, shard, recipe)
        if not len(starts):
            raise LexigraphError(
                f"No {recipe.data.unit} of {recipe.data.train} fits into model.context = {network.context} tokens."
            )
        plan = Buckets(starts, lengths, settings.batch_tokens, settings.seed)
    elif network.remembers:
        streams = max(1, settings.batch_tokens // window)
        plan = Streams(total + 1, window, streams, settings.seed)
    else:
        plan = Windows(total + 1, window, settings.batch_tokens, settings.seed)
    require_a_batch(plan, recipe.data.train, settings.batch_tokens, total)
    return plan


def _examples(network: Any, shard: Shard, recipe: Recipe) -> tuple[np.ndarray, np.ndarray]:
    """Starts and lengths of lines or pairs; one that is read whole or not at all is left out if it is too long."""
    if shard.paired:
        return shard.pairs(network.context)
    return shard.sentences(network.context) if _whole(recipe) else shard.spans(network.context)


def _whole(recipe: Recipe) -> bool:
    """Whether a sentence is read whole or not at all."""
    abilities = system(recipe.system).abilities
    return "decode" in abilities or ("translate" in abilities and recipe.data.unit != "stream")


def training_of(run: Run, world: World) -> tuple[Training, dict[str, Shard]]:
    """A prepared run, ready for its first step, and its tokens."""
    recipe = run.recipe()
    tokenizers = load_tokenizers(run.path, recipe)
    shards = corpus.shards(run.path / "tokens")
    if "train" not in shards:
        raise LexigraphError(f"The run folder {run.path} is incomplete: its tokens are missing.")
    if any(shard.texts is None for name, shard in shards.items() if name != "train"):
        raise LexigraphError(
            f"{run.path} was begun by an older Lexigraph, which did not keep the held-out text that scores are taken "
            "against: train it anew in another folder."
        )
    settings = _measurable(recipe.train, shards.get("valid"))
    seed_everything(settings.seed, 0, settings.deterministic)  # the same first weights in every process
    network = build(recipe, *tokenizers)
    if (run.path / START).exists():
        load_weights(network, run.path / START)
    seed_everything(settings.seed, world.rank, settings.deterministic)
    plan = _plan(network, shards["train"], recipe)
    steps = math.ceil(settings.epochs * plan.epoch_steps) if settings.epochs else settings.steps
    ids = shards["train"].ids
    on_host = shards["train"].paired or getattr(network, "corrupts", False)
    resident = Resident.fits(ids, world.device) and not on_host
    fetch: Fetch = Resident(ids, world.device) if resident else shards["train"].columns
    return Training(network, plan, fetch, settings, steps, world), shards


def _measurable(settings: recipes.Train, valid: Shard | None) -> recipes.Train:
    """Where bits per byte are refused, the loss chooses the weights: within one run, both put them in one order."""
    if settings.metric == "bits_per_byte" and valid is not None and valid.lost:
        return dataclasses.replace(settings, metric="loss")
    return settings


def _train(run: Run, world: World, reporter: Reporter) -> TextModel:
    """Fit, measure and write the results."""
    recipe = run.recipe()
    training, shards = training_of(run, world)
    reporter.total = training.steps
    reporter.say(_overview(recipe, training, len(shards["train"].counts)))
    if long := _too_long(training.network, shards["train"], recipe):
        reporter.say(_left_out(long, shards["train"], training.network))
    if training.settings.metric != recipe.train.metric:
        why = language.refusal(shards["valid"])
        reporter.say(f"No bits per byte: {why}. Here the loss chooses the best weights, as they would.")
    if "valid" not in shards:
        reporter.say("There is no validation text: the last weights are kept, not the best.")
    validate = _validator(recipe, shards.get("valid"), world.device)
    progress = fit(training, run, validate, reporter)
    model = TextModel.load(run.path, str(world.device))
    if world.first:
        if "sample" in model.abilities and recipe.eval.mixture:
            reporter.say("Fitting a mixture of normal distributions to vectors of the training text.")
            _mixture(model, shards["train"]).save(run.path / MIXTURE)
        held_out = {name: shard for name, shard in shards.items() if name != "train" and len(shard.ids) > 1}
        results: dict[str, Any] = {"system": recipe.system, "steps": progress.step, "seed": recipe.train.seed}
        baseline = _baseline(recipe, shards["train"]) if held_out else None
        best = progress.best_step or progress.step
        results["scores"] = {name: _scores(model, run, shard, best, baseline) for name, shard in held_out.items()}
        if long:
            results["too_long_for_training"] = long
        results |= {"best_step": best, "seconds": round(progress.seconds, 2)}
        results["peak_memory_gb"] = round(peak_memory(world.device), 3)
        run.write("results.json", results)
        remove(run.path / "tokens")  # the text made anew from the same files gives the same tokens
        remove(run.path / START)
        for name, scores in results["scores"].items():
            reporter.say(f"{name}: {task_of(recipe.system).headline(scores)}")
    world.barrier()
    return model


def _too_long(network: Any, shard: Shard, recipe: Recipe) -> int:
    """How many lines or pairs the model cannot hold; none where longer ones are read in parts."""
    return shard.too_long(network.context) if _whole(recipe) else 0


def _left_out(long: int, shard: Shard, network: Any) -> str:
    """How much of the training text the model will never see."""
    unit = "pairs" if shard.paired else "lines"
    return (
        f"{long:,} of {shard.examples:,} {unit} are longer than the model's {network.context} tokens and are left "
        "out: a larger model.context would hold them."
    )


def _mixture(model: TextModel, shard: Shard) -> Mixture:
    """The mixture that samples are drawn from, fitted to evenly chosen sentences of the training text."""
    starts, lengths = shard.sentences(model.network.context)
    chosen = np.linspace(0, len(starts) - 1, min(len(starts), model.recipe.eval.mixture)).astype(int)
    return model.fit_mixture(model.space.encode(shard.contents(starts[chosen], lengths[chosen])))


def _overview(recipe: Recipe, training: Training, vocabulary: int) -> str:
    parameters = sum(p.numel() for p in training.network.parameters())
    epochs, world = training.steps / training.plan.epoch_steps, training.world
    where = f"{world.size} × {world.device.type}" if world.size > 1 else world.device.type
    whose = " of targets" if recipe.tokenizer.separate else ""
    return (
        f"{recipe.system}: {parameters:,} parameters, {vocabulary:,} tokens in the vocabulary{whose}, "
        f"{training.plan.tokens:,} in the text; {training.steps:,} steps, {epochs:.1f} epochs, on {where}."
    )


def _validator(recipe: Recipe, shard: Shard | None, device: torch.device) -> Validate | None:
    if shard is None:
        return None
    validate = task_of(recipe.system).validate
    return lambda network: validate(network, shard, recipe, device)


def _scores(model: TextModel, run: Run, shard: Shard, steps: int, baseline: Any = None) -> dict[str, Any]:
    """Scores of a held-out text with their signature, the baselines beside them."""
    unigrams = np.load(run.path / UNIGRAMS, allow_pickle=False)
    return task_of(model.recipe.system).scores(model, shard, steps, unigrams, baseline)


def _baseline(recipe: Recipe, train: Shard) -> Any:
    """What counting alone would achieve: n-grams of the training text, for language models."""
    return language.ngrams(train) if system(recipe.system).task == "language" else None


def evaluate(
    folder: str | Path,
    data: str | Path,
    *,
    train: str | Path | None = None,
    device: str = "auto",
    int8: bool = False,
) -> dict[str, Any]:
    """Scores of a trained model on a file, with their signature; they are added to the run's results.json.

    train: the training text; with it, the n-gram baseline of a language model is measured on the file as well.
    int8: also the scores of the same model with products in 8 bits, under "int8".
    """
    model = load(folder, "cpu" if int8 and device == "auto" else device)
    run = Run.open(folder)
    if corpus.find(str(data)) == corpus.find(model.recipe.data.train):
        warnings.warn(
            f"{data} is what {folder} was trained on: the scores say little about other text.", stacklevel=2
        )
    with tempfile.TemporaryDirectory() as temporary:
        baseline = _baseline(model.recipe, _tokenized(model, train, Path(temporary), "train")) if train else None
        steps = _scored_step(run)
        shard = _tokenized(model, data, Path(temporary), "test")
        scores = _scores(model, run, shard, steps, baseline)
        if int8:
            scores["int8"] = _scores(model.quantise(), run, shard, steps)
    if run.finished and not run.bundled:
        results = run.json("results.json")
        results.setdefault("files", {})[str(data)] = scores
        try:
            run.write("results.json", results)
        except LexigraphError as error:  # a read-only folder is no reason to lose the scores
            warnings.warn(str(error), stacklevel=2)
    return scores


def _tokenized(model: TextModel, data: str | Path, temporary: Path, split: str) -> Shard:
    """A file as the model reads text, in a temporary folder."""
    folder = temporary / split
    source = dataclasses.replace(model.recipe.data, train=str(data), valid="", test="", split=(1.0,))
    tokenizer, source_tokenizer = model.tokenizer, model.source_tokenizer
    tidy = corpus.trained_cleaner(source, tokenizer, source_tokenizer)
    source = dataclasses.replace(source, clean=(), rare=(), max_words=(), dictionary="")  # all in `tidy`
    pieces = (dataclasses.replace(piece, split=split) for piece in corpus.pieces(source, tidy))
    paired = source.unit == "pair"
    corpus.write_shards(pieces, tokenizer, folder, split, paired=paired, source_tokenizer=source_tokenizer)
    return corpus.shards(folder)[split]


def _scored_step(run: Run) -> int:
    """The step whose weights the run folder holds: the best or, without validation, the last."""
    if run.finished:
        results = run.json("results.json")
        return results.get("best_step") or results["steps"]
    newest = latest(run.checkpoints)
    state = run.json(str(newest.relative_to(run.path) / "state.json")) if newest else {"best_step": 0, "step": 0}
    return state["best_step"] or state["step"]
