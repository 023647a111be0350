"""A pre-trained model as a contender of the understanding suite (understanding.py): it becomes the part of a
classifier, a measure of similarity or a tagger, which is trained for each task."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexigraph import api
from lexigraph.evaluation.understanding.contenders import Contender, Examples
from lexigraph.evaluation.understanding.sets import DEV, TRAIN
from lexigraph.evaluation.understanding.tasks import Task
from lexigraph.registry import system
from lexigraph.run import Run
from lexigraph.text.clean import without_dictionary

RECIPES = {"text": "classifier-tuned", "pair": "classifier-pairs", "similarity": "similarity", "tags": "tagger"}
FIELDS = {
    "text": ("text", "label"),
    "pair": ("text", "label", "other"),
    "similarity": ("text", "number", "other"),
    "tags": ("tokens", "tags"),
}
POOLING = "mean"  # as when it is frozen: a first state that pre-training never asked for anything sums up little
TRAINING: dict[str, Any] = {
    "train.batch_tokens": 2048,  # about a hundred sentences
    "train.schedule": "linear",  # down to nothing
    "train.final_lr": 0.0,
    "train.warmup": 60,  # a tenth
    "train.weight_decay": 0.01,  # BERT's
    "train.betas": (0.9, 0.98),  # a longer memory than 0.95: batches are small
    "train.tensorboard": False,
}


class FineTuned(Contender):
    """The model as a part of a classifier or tagger, trained on; its setting is the learning rate."""

    kinds = tuple(RECIPES)
    drawn = True

    def __init__(
        self, name: str, settings: Sequence[float], run: Run, fingerprint: str, training: Mapping[str, Any]
    ) -> None:
        super().__init__(name, settings)
        self.run, self.fingerprint, self.training = run, fingerprint, dict(training)

    def key(self) -> dict[str, Any]:
        return {"model": self.fingerprint, "training": {k: repr(v) for k, v in sorted(self.training.items())}}

    def answers(
        self, task: Task, train: Examples, dev: Examples, setting: float, seed: int, asked: Sequence[Examples]
    ) -> list[list[Any]]:
        changes = self._model(task.kind) | self.training | {"data.split": (1.0,)}
        changes |= {"train.lr": setting, "train.seed": seed}
        changes["train.batch_tokens"] = _batch(train, changes["train.batch_tokens"])
        changes["train.warmup"] = min(changes["train.warmup"], changes["train.steps"] // 10)
        changes["train.checkpoint_every"] = changes["train.steps"]  # none on the way: a training takes minutes
        if dev:
            changes["train.metric"] = task.chooses
        with tempfile.TemporaryDirectory(prefix="lexigraph-") as temporary, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that held-out examples alone have: they count as wrong
            place = Path(temporary)
            for part, examples in ((TRAIN, train), (DEV, dev)):
                (place / f"{part}.jsonl").write_text("".join(_lines(task, examples)), encoding="utf-8")
            model = api.train(
                RECIPES[task.kind],
                place / f"{TRAIN}.jsonl",
                place / "run",
                valid=place / f"{DEV}.jsonl" if dev else None,
                start=f"reader={self.run.path}",
                set=changes,
                quiet=True,
            )
            return [_asked(model, task, examples) for examples in asked]

    def _model(self, kind: str) -> dict[str, Any]:
        """What the recipe is changed in: texts are cleaned as the model's were; a part that reads word by word reads
        one text at a time."""
        if kind == "tags":
            return {}
        recipe = self.run.recipe()
        by_word = getattr(system(recipe.system).network_class(), "reads_words", False)
        changes: dict[str, Any] = {
            "model.pooling": POOLING,
            "data.clean": tuple(without_dictionary(recipe.data.clean)),
        }
        return changes | ({"model.pairs": "apart"} if by_word and kind in ("pair", "similarity") else {})


class FrozenTagger(FineTuned):
    """For tags, the same network with the part as it is."""

    kinds = ("tags",)

    def __init__(
        self, name: str, settings: Sequence[float], run: Run, fingerprint: str, training: Mapping[str, Any]
    ) -> None:
        frozen_part = {"train.lr_scale": {"reader": 0.0}}
        super().__init__(name, settings, run, fingerprint, frozen_part | dict(training))


def _batch(examples: Examples, most: int) -> int:
    """Tokens of a batch: of few examples a quarter, as far as their words tell."""
    words = [len(text.split() if isinstance(text, str) else text) for text, *_ in examples]
    return max(1, min(most, sum(words), max(sum(words) // 4, 2 * max(words))))


def _lines(task: Task, examples: Examples) -> Iterable[str]:
    """Examples as a file has them."""
    fields = FIELDS[task.kind]
    return (json.dumps(dict(zip(fields, each, strict=False))) + "\n" for each in examples)


def _asked(model: Any, task: Task, examples: Examples) -> list[Any]:
    """What a fine-tuned model answers."""
    if not examples:
        return []
    if task.kind == "tags":
        return [[word.tag for word in row] for row in model.tag([example.text for example in examples])]
    texts = [{"text": example.text, "other": example.second} for example in examples]
    if task.kind == "similarity":
        return model.estimate(texts)
    return [found.label for found in model.classify(texts)]
