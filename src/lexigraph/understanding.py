"""What a pre-trained model is worth: fine-tuned on many tasks, with seeds, beside baselines that are tuned as much.

    results = run("runs/bert", data="data", tasks=["trec", "mr"], seeds=3)

Each task has a part to learn from, one to choose on and one to report (evaluation/understanding/tasks.py). Every
contender tries as many settings as any other (learning rates, penalties of a regression), each once; the one with
the best score on the part for choosing is reported, with all seeds. With `labels`, contenders see so many examples
and nothing else: settings are chosen by cross-validation within them, and so is whether the model is fine-tuned.

Every training that is done is kept as a file in `folder`, under a name that says what it depends on: whoever asks
again, or was interrupted, goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph import __version__
from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.understanding import frozen, metrics
from lexigraph.evaluation.understanding.contenders import (
    CommonestTag,
    Contender,
    Examples,
    Majority,
    OfVectors,
    TfIdf,
    cross_validated,
    score,
)
from lexigraph.evaluation.understanding.sets import DEV, PARTS, TEST, TRAIN, Example, sample
from lexigraph.evaluation.understanding.tasks import BUILT_IN, TASKS, Task, chosen
from lexigraph.finetuned import RECIPES, TRAINING, FineTuned, FrozenTagger
from lexigraph.locks import locked
from lexigraph.nn.network import Reader
from lexigraph.outputs import json_text
from lexigraph.registry import system
from lexigraph.run import Run, replacing, terminable
from lexigraph.stored import table_in
from lexigraph.text.files import find
from lexigraph.words.vectors import WordVectors

FINE_TUNED, FROZEN, CHOSEN = "fine-tuned", "frozen", "fine-tuned or frozen"
FEW_STEPS = 150  # with few labels: seven passes over a thousand sentences
CROSS_VALIDATED, FOLDS = 200, 5  # with more labels than that, one fifth is held out, not each in turn

Report = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """How much is learned, looked at and tried."""

    train: int = 0  # examples of each task; 0: all
    dev: int = 0
    test: int = 0
    seeds: int = 3
    draws: int = 10  # of so many labels
    rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3)  # of fine-tuning
    word_counts: tuple[float, ...] = (1.0, 10.0, 100.0)  # C of regression on tf-idf
    vectors: tuple[float, ...] = (0.01, 0.1, 1.0)  # C of regression on vectors, whose numbers have a variance of 1
    steps: int = 600  # of fine-tuning: some ten passes over a few thousand sentences


QUICK = Sizes(
    train=2000, dev=500, test=1000, seeds=1, draws=3, rates=(5e-4,), word_counts=(10.0,), vectors=(0.1,), steps=200
)


def run(
    folder: str | Path,
    data: str | Path = BUILT_IN,
    *,
    tasks: Sequence[str] = (),
    seeds: int | None = None,
    labels: Sequence[int] = (),
    beside: str | Path | None = None,
    vectors: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    quick: bool = False,
    sizes: Sizes | None = None,
    keep: str | Path | None = None,
    device: str = "auto",
    report: Report = lambda line: None,
) -> dict[str, Any]:
    """The suite, for the run in `folder`.

    data: the folder with the folders of all sets; `grammar`: tasks that need no files.
    labels: numbers of labels, in the place of all.
    beside: another run, to compare with; vectors: word vectors, for one baseline more.
    set: keys of the fine-tunings, as {"train.steps": 300}.
    keep: the folder for what is done; None: `understanding` in the run folder.
    """
    amounts = sizes or (QUICK if quick else Sizes())
    changes = dict(set or {})
    root = None if str(data) == BUILT_IN else Path(find(str(data)))
    if root is not None and not root.is_dir():
        raise UsageError(f"{data} is no folder: name the one that holds the folders of all sets, or `{BUILT_IN}`.")
    wanted, absent = chosen(tasks, root)
    if not wanted:
        raise UsageError(f"{data} has the files of none of: {', '.join(TASKS)}.")
    if absent:
        report(f"Left out, for {root} has not their files: {', '.join(absent)}.")
    opened = Run.open(folder)
    model = TextModel.load(folder, device)
    own = _of_model(model, opened, amounts, changes, "", device)
    wanted = _within_reach(wanted, own, model, bool(tasks), report)
    if beside is not None:
        other = TextModel.load(beside, device)
        own += _of_model(other, Run.open(beside), amounts, changes, f", {Path(beside).name}", device)
    contenders: list[Contender] = [
        Majority("majority"),
        CommonestTag("commonest"),
        TfIdf("tf-idf", amounts.word_counts),
        *([] if vectors is None else [_averaged(vectors, amounts)]),
        *own,
    ]
    if changes:
        for kind in {task.kind for task in wanted.values()}:
            recipes.read(RECIPES[kind], TRAINING | changes)  # unknown keys are refused now
    kept = Kept(Path(keep) if keep is not None else opened.path / "understanding", report)
    count, steps = amounts.seeds if seeds is None else seeds, changes.get("train.steps", amounts.steps)
    steps = min(steps, FEW_STEPS) if labels else steps
    began, found = time.monotonic(), dict[str, Any]()
    loaded = {name: task.load(root) for name, task in wanted.items()}
    drawn = _drawn({name: each.parts for name, each in loaded.items()}, amounts, max(labels, default=0))
    with terminable():
        for name, task in wanted.items():
            parts = drawn[name]
            depends = {"task": name, "examples": _digest(parts)}
            fitting = [each for each in contenders if task.kind in each.kinds]
            found[name] = _facts(task, loaded[name].files, parts, count, steps)
            if not labels:
                runs = {each.name: _tuned(task, parts, each, count, kept, depends) for each in fitting}
                found[name] |= _measured(task, parts[TEST], runs)
                continue
            found[name]["by_labels"] = {}
            for number in labels:
                runs = _with_labels(task, parts, fitting, number, amounts.draws, kept, depends)
                found[name]["by_labels"][str(number)] = _measured(task, parts[TEST], runs)
    return {
        "suite": "understanding",
        "tasks": found,
        "signature": _signature(model, data, count, labels, amounts, changes, beside, vectors),
        "seconds": round(time.monotonic() - began, 1),
    }


def _drawn(
    loaded: Mapping[str, Mapping[str, Examples]], amounts: Sizes, labels: int
) -> dict[str, dict[str, list[Example]]]:
    """The examples of each task that are looked at; refused if they are fewer than the labels asked for."""
    found = {
        name: {part: sample(parts[part], getattr(amounts, part)) for part in PARTS} for name, parts in loaded.items()
    }
    for name, parts in found.items():
        if labels > len(parts[TRAIN]):
            raise UsageError(
                f"{name} has {len(parts[TRAIN]):,} examples to learn from, and --labels asks for {labels:,}."
            )
    return found


def note(run: Run, results: Mapping[str, Any]) -> None:
    """Add what was found to the run's results.json, task by task; a bundled model's is left alone."""
    if not run.finished or run.bundled:
        return
    try:
        with locked(run.path, wait=True):
            noted = run.json("results.json")
            tasks = noted.setdefault("understanding", {})
            for name, found in results["tasks"].items():
                signature = results["signature"] | found["signature"]
                line = "|".join(f"{key}:{value}" for key, value in signature.items())
                tasks[name] = tasks.get(name, {}) | found | {"signature": line}
            run.write("results.json", noted)
    except LexigraphError as error:  # a read-only folder is no reason to lose the scores
        warnings.warn(str(error), stacklevel=2)


# ---- who takes part ----


def _within_reach(
    tasks: Mapping[str, Task], contenders: Sequence[Contender], model: TextModel, named: bool, report: Report
) -> dict[str, Task]:
    """The tasks that the model can take part in: one that only encodes texts has nothing for words."""
    kinds = {kind for each in contenders for kind in each.kinds}
    beyond = [name for name, task in tasks.items() if task.kind not in kinds]
    said = f"A {model.recipe.system} model has a vector for a text and none for its words"
    if beyond and (named or len(beyond) == len(tasks)):
        raise UsageError(f"{said}: leave out {', '.join(beyond)}.")
    if beyond:
        report(f"{said}: {', '.join(beyond)} {'are' if len(beyond) > 1 else 'is'} left out.")
    return {name: task for name, task in tasks.items() if name not in beyond}


def _averaged(file: str | Path, amounts: Sizes) -> Contender:
    found = WordVectors.load(Path(file))
    print_of = hashlib.blake2b(found.vectors.tobytes(), digest_size=8).hexdigest()
    return OfVectors("word vectors", amounts.vectors, partial(frozen.averaged, found), print_of)


def _of_model(
    model: TextModel, run: Run, amounts: Sizes, changes: Mapping[str, Any], name: str, device: str
) -> list[Contender]:
    """The model as it stays, and as it is fine-tuned."""
    found: list[Contender] = []
    if frozen.readable(model):
        maker = partial(frozen.vectors, model)
        found.append(OfVectors(FROZEN + name, amounts.vectors, maker, model.fingerprint))
    if issubclass(system(model.recipe.system).network_class(), Reader):
        rates = (float(changes["train.lr"]),) if "train.lr" in changes else amounts.rates
        training = TRAINING | {"train.steps": amounts.steps, "train.device": device} | dict(changes)
        found.append(FrozenTagger(FROZEN + name, rates, run, model.fingerprint, training))
        found.append(FineTuned(FINE_TUNED + name, rates, run, model.fingerprint, training))
    if not found:
        readers = "bert, electra, xlnet, gpt, rnn-lm, nplm or elmo"
        raise UsageError(
            f"A {model.recipe.system} model neither encodes texts nor can be a part of a classifier: the suite is "
            f"for {readers}, and for models that can encode."
        )
    return found


# ---- learning, choosing, measuring ----


def _tuned(
    task: Task,
    parts: Mapping[str, Examples],
    contender: Contender,
    seeds: int,
    kept: Kept,
    depends: Mapping[str, Any],
) -> dict[str, Any]:
    """Answers on the part to report, one for each seed, with the setting that is best on the part for choosing."""

    def once(setting: float, seed: int) -> dict[str, Any]:
        def learn() -> dict[str, Any]:
            asked = (parts[DEV], parts[TEST])
            dev, test = contender.answers(task, parts[TRAIN], parts[DEV], setting, seed, asked)
            return {"dev": score(task, parts[DEV], dev), "answers": test}

        return kept.made(contender, {**depends, "setting": setting, "seed": seed}, learn)

    tried = {setting: once(setting, 0) for setting in contender.settings}
    best = max(tried, key=lambda setting: tried[setting]["dev"])
    runs = [tried[best]] + [once(best, seed) for seed in range(1, seeds if contender.drawn else 1)]
    return {
        "answers": [each["answers"] for each in runs],
        "setting": best,
        "dev": {str(setting): found["dev"] for setting, found in tried.items()},
    }


def _with_labels(
    task: Task,
    parts: Mapping[str, Examples],
    contenders: Sequence[Contender],
    number: int,
    draws: int,
    kept: Kept,
    depends: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """The same with so many labels, drawn several times; of the model, fine-tuned or frozen, chosen within them."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for contender in contenders:
        for draw in range(draws):
            order = np.random.default_rng([draw, number]).permutation(len(parts[TRAIN]))[:number]
            learned = [parts[TRAIN][int(place)] for place in order]
            few = _Few(task, learned, parts[TEST], contender, draw)
            what = {**depends, "labels": number, "draw": draw, "settings": contender.settings}
            runs.setdefault(contender.name, []).append(kept.made(contender, what, few.learn))
    for name in [each for each in runs if each.startswith(FROZEN)]:
        if tuned := runs.get(name.replace(FROZEN, FINE_TUNED)):
            both = zip(runs[name], tuned, strict=True)
            runs[name.replace(FROZEN, CHOSEN)] = [max(pair, key=lambda each: each["inside"]) for pair in both]
    return {
        name: {"answers": [each["answers"] for each in found], "setting": [each["setting"] for each in found]}
        for name, found in runs.items()
    }


@dataclass(frozen=True)
class _Few:
    """A contender with few labels."""

    task: Task
    learned: Examples
    test: Examples
    contender: Contender
    draw: int

    def learn(self) -> dict[str, Any]:
        """Its answers, with the setting that is best within the labels, and how good that is there."""
        tried = FOLDS if len(self.learned) <= CROSS_VALIDATED else 1
        contender = self._shortened()
        inside = {
            setting: cross_validated(contender, self.task, self.learned, setting, self.draw, FOLDS, tried)
            for setting in contender.settings
        }
        best = max(inside, key=inside.__getitem__)
        (said,) = contender.answers(self.task, self.learned, (), best, self.draw, [self.test])
        return {"inside": inside[best], "setting": best, "answers": said}

    def _shortened(self) -> Contender:
        """Fewer labels, fewer steps."""
        contender = self.contender
        if not isinstance(contender, FineTuned):
            return contender
        steps = min(FEW_STEPS, contender.training["train.steps"])
        training = contender.training | {"train.steps": steps}
        return type(contender)(contender.name, contender.settings, contender.run, contender.fingerprint, training)


def _measured(task: Task, test: Examples, runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """All metrics of every contender, and by how much the model is better than each of the others."""
    true = [example.label for example in test]
    found: dict[str, Any] = {}
    for name, each in runs.items():
        figures = {metric: metrics.spread(of, true, each["answers"]) for metric, of in task.metrics.items()}
        found[name] = {**figures, **{key: value for key, value in each.items() if key != "answers"}}
    model = next((name for name in (CHOSEN, FINE_TUNED, FROZEN) if name in runs), None)
    if model is None:
        return {"contenders": found}
    better = {
        other: metrics.difference(task.metric, true, runs[model]["answers"], each["answers"])
        for other, each in runs.items()
        if other != model
    }
    return {"contenders": found, "model": model, "better_than": better}


# ---- what is kept, and what it depends on ----


@dataclass(frozen=True)
class Kept:
    """A folder with what is done: a file for each training, named after all that it depends on."""

    folder: Path
    report: Report

    def made(
        self, contender: Contender, depends: Mapping[str, Any], make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """What a contender has made once from the same, or makes now."""
        kind = contender.name.partition(", ")[0]  # whichever of two runs it is of, its key says
        text = json_text({**depends, "contender": kind, **contender.key(), "lexigraph": __version__})
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        file = self.folder / f"{depends['task']}-{name}.json"
        if file.exists():
            return table_in(file)["found"]
        told = [f"{key} {value}" for key, value in depends.items() if key in ("setting", "seed", "labels", "draw")]
        began = time.monotonic()
        found = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(file) as temporary:
            temporary.write_text(json_text({"depends": json.loads(text), "found": found}), encoding="utf-8")
        on_dev = f": {found['dev']:.3f} on dev" if "dev" in found else ""
        seconds = time.monotonic() - began
        self.report(f"{depends['task']}: {contender.name}, {', '.join(told)}{on_dev}, {seconds:.0f} s")
        return found


def _digest(parts: Mapping[str, Sequence[Example]]) -> str:
    """Twelve hexadecimal digits that name the examples of all parts."""
    digest = hashlib.blake2b(digest_size=6)
    for part in PARTS:
        digest.update(repr([each[:3] for each in parts[part]]).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _facts(
    task: Task,
    files: Mapping[str, str],
    parts: Mapping[str, Examples],
    seeds: int,
    steps: int,
) -> dict[str, Any]:
    """What a task's figures depend on, beside the model."""
    counts = {part: len(examples) for part, examples in parts.items()}
    facts = {"files": dict(files), "examples": _digest(parts), **counts, "seeds": seeds}
    facts |= {"steps": steps, "note": task.note}
    return {"about": task.about, "kind": task.kind, "metric": next(iter(task.metrics)), "signature": facts}


def _signature(
    model: TextModel,
    data: str | Path,
    seeds: int,
    labels: Sequence[int],
    amounts: Sizes,
    changes: Mapping[str, Any],
    beside: str | Path | None,
    vectors: str | Path | None,
) -> dict[str, Any]:
    """What all figures depend on."""
    import sklearn
    import torch

    tokenizer = model.tokenizer
    sizes = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(amounts).items()}
    return {
        "model": model.fingerprint,
        "system": model.recipe.system,
        "tokenizer": f"{tokenizer.kind}-{len(tokenizer)}-{tokenizer.fingerprint[:8]}",
        "beside": str(beside or ""),
        "word_vectors": str(vectors or ""),
        **sizes,
        "seeds": seeds,
        "labels": list(labels),
        "changed": {key: repr(value) for key, value in changes.items()},
        "device": model.device.type,
        "lexigraph": __version__,
        "torch": torch.__version__.split("+")[0],
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
