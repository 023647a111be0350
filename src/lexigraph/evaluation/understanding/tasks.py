"""The tasks of the suite, each an entry: its files, what they hold, what is cut, what chooses and what is reported.

A part that a set does not have for the public is replaced, and `note` says how: it goes into the signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.understanding import metrics, sets
from lexigraph.evaluation.understanding.metrics import Metric
from lexigraph.evaluation.understanding.sets import Cut, Loaded, Read
from lexigraph.registry import nearest

BUILT_IN = "grammar"  # what is named in the place of a folder: the tasks that need no files


@dataclass(frozen=True)
class Task:
    """A set and how it is measured."""

    about: str
    kind: Literal["text", "pair", "similarity", "tags"]
    metrics: Mapping[str, Metric]  # by name, the one that stands for the task first
    read: Read
    folder: str = ""  # of its files, below that of all data; "": it is made by code
    files: Mapping[str, str] = field(default_factory=dict)  # by part
    cut: Cut | None = None  # parts that have no file
    chooses: str = "accuracy"  # train.metric: the weights of a fine-tuning that are kept
    note: str = ""
    default: bool = True  # part of the suite without being named

    @property
    def metric(self) -> Metric:
        """The one that stands for the task, and chooses between settings."""
        return next(iter(self.metrics.values()))

    def load(self, root: Path | None) -> Loaded:
        """Its examples."""
        return sets.load((root or Path()) / self.folder, self.files, self.read, self.cut)

    def missing(self, root: Path | None) -> Path | None:
        """The first of its files that is not there."""
        if root is None:
            return Path(self.folder) if self.files else None
        folder = root / self.folder
        return next((folder / name for name in self.files.values() if sets.find_file(folder, name) is None), None)


ACCURACY = {"accuracy": metrics.accuracy}
CORRELATIONS = {"Pearson": metrics.pearson, "Spearman": metrics.spearman}
TENTH = {"dev": 0.1}
IN_TEN = Cut("train", {"dev": 0.1, "test": 0.1})
UD = "en_ewt-ud-{}.conllu"

TASKS: dict[str, Task] = {
    "sst-2": Task(
        "praise or blame, of film reviews",
        "text",
        ACCURACY,
        sets.sentiment_trees,
        "sst/trees",
        {"train": "train.txt", "dev": "dev.txt", "test": "test.txt"},
        note="phrase labels in training",
    ),
    "cola": Task(
        "is the sentence acceptable?",
        "text",
        {"Matthews": metrics.matthews, **ACCURACY},
        sets.table("4", "2", names={"1": "acceptable", "0": "unacceptable"}),
        "cola",
        {"train": "in_domain_train.tsv", "dev": "in_domain_dev.tsv", "test": "out_of_domain_dev.tsv"},
        chooses="macro_f1",
        note="chosen in domain, reported out of domain",
    ),
    "trec": Task(
        "what does the question ask for?",
        "text",
        ACCURACY,
        sets.label_first(lambda label: label.partition(":")[0]),
        "trec",
        {"train": "TREC.train.txt", "test": "TREC.test.txt"},
        Cut("train", TENTH),
        note="chosen on a tenth of the training questions",
    ),
    "mr": Task(
        "praise or blame, of film reviews, a sentence each",
        "text",
        ACCURACY,
        sets.label_first({"0": "negative", "1": "positive"}.__getitem__),
        "sentence-polarity",
        {"train": "mr.txt"},
        IN_TEN,
        note="a tenth to choose, a tenth to report, by a hash of the text",
    ),
    "subj": Task(
        "a judgement or a description?",
        "text",
        ACCURACY,
        sets.label_first({"0": "subjective", "1": "objective"}.__getitem__),
        "sentence-polarity",
        {"train": "subj.txt"},
        IN_TEN,
        note="a tenth to choose, a tenth to report, by a hash of the text",
    ),
    "mrpc": Task(
        "do two sentences say the same?",
        "pair",
        {"F1": metrics.f1("same"), **ACCURACY},
        sets.table("#1 String", "Quality", "#2 String", names={"1": "same", "0": "different"}),
        "mrpc",
        {"train": "msr-para-train.tsv", "dev": "msr-para-val.tsv", "test": "msr-para-test.tsv"},
    ),
    "rte": Task(
        "does the second text follow from the first?",
        "pair",
        ACCURACY,
        sets.table("sentence1", "label", "sentence2", group="sentence1"),
        "rte",
        {"train": "train.tsv", "test": "dev.tsv"},
        Cut("train", TENTH),
        note="chosen on a tenth of the training premises, reported on dev",
    ),
    "snli": Task(
        "does it follow, contradict, or neither?",
        "pair",
        ACCURACY,
        sets.table("2", "1", "3", group="2"),
        "snli",
        {"train": "dev.tsv", "test": "test.tsv"},
        Cut("train", TENTH),
        note="learned from dev, not train; chosen on a tenth of its premises",
    ),
    "qnli": Task(
        "does the sentence answer the question? made from SQuAD",
        "pair",
        ACCURACY,
        sets.answering_sentences,
        "squad",
        {"train": "dev-v1.1.json"},
        Cut("train", {"dev": 0.2, "test": 0.2}),
        note="made from SQuAD's dev-v1.1, split by article",
    ),
    "sick-e": Task(
        "does it follow, contradict, or neither? of captions",
        "pair",
        ACCURACY,
        sets.table("sentence_A", "entailment_judgment", "sentence_B"),
        "sick",
        {"train": "SICK_train.tsv", "dev": "SICK_trial.tsv", "test": "SICK_test.tsv"},
    ),
    "pronouns": Task(
        "who is meant? made by the built-in grammar",
        "pair",
        ACCURACY,
        sets.who_is_meant,
        note="no noun or name in two parts",
    ),
    "sts-b": Task(
        "how alike are two sentences?",
        "similarity",
        CORRELATIONS,
        sets.table("6", "5", "7", number=True),
        "sts-b",
        {"train": "sts-train.tsv", "dev": "sts-dev.tsv", "test": "sts-test.tsv"},
        chooses="pearson",
    ),
    "sick-r": Task(
        "how related are two sentences?",
        "similarity",
        CORRELATIONS,
        sets.table("sentence_A", "relatedness_score", "sentence_B", number=True),
        "sick",
        {"train": "SICK_train.tsv", "dev": "SICK_trial.tsv", "test": "SICK_test.tsv"},
        chooses="pearson",
    ),
    "conll-2003": Task(
        "names of persons, places, organisations and the rest",
        "tags",
        {"F1": metrics.span_f1, "accuracy": metrics.word_accuracy},
        sets.entities,
        "conll2003-ner",
        {"train": "eng.train", "test": "eng.testa"},
        Cut("train", TENTH),
        chooses="f1",
        note="chosen on a tenth of the training documents, reported on testa",
    ),
    "ewt": Task(
        "parts of speech",
        "tags",
        {"accuracy": metrics.word_accuracy},
        sets.parts_of_speech,
        "ud-english-ewt",
        {"train": UD.format("train"), "dev": UD.format("dev"), "test": UD.format("test")},
    ),
    "sentiment": Task(
        "praise, blame or neither, made by the built-in grammar",
        "text",
        ACCURACY,
        sets.built_in(("text", "label"), "sentiment"),
        default=False,
    ),
    "phrases": Task(
        "subject, objects and place of a clause, made by the built-in grammar",
        "tags",
        {"F1": metrics.span_f1, "accuracy": metrics.word_accuracy},
        sets.built_in(("tokens", "tags")),
        chooses="f1",
        default=False,
    ),
}


def chosen(names: Sequence[str], root: Path | None) -> tuple[dict[str, Task], list[str]]:
    """The tasks of these names, or all that the folder has the files of; and those that it has not.

    root: the folder of all data; None: tasks that need none.
    """
    for name in names:
        if name not in TASKS:
            raise UsageError(f"There is no task {name!r}{nearest(name, TASKS)}")
        if missing := TASKS[name].missing(root):
            if root is None:
                raise UsageError(f"{name} needs files: name the folder that holds {missing} with --data.")
            raise LexigraphError(f"{name} needs {missing}, plain or compressed, and it is not there.")
    if names:
        return {name: TASKS[name] for name in dict.fromkeys(names)}, []
    default = {name: task for name, task in TASKS.items() if task.default or (root is None and not task.files)}
    found = {name: task for name, task in default.items() if not task.missing(root)}
    return found, [name for name in default if name not in found] if root else []
