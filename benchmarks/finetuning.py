"""What pre-training is worth with few labels: a small BERT fine-tuned on 100 sentences, pre-trained and untrained.

    python benchmarks/finetuning.py --out FOLDER [--bert RUN] [--labels 100] [--seeds 3]

Two tasks: to name the construction of a sentence (`passive`, `wh-question` …), and to choose the form of a verb that
agrees with its subject. Their texts are drawn by another seed than those that BERT has read, equal ones left out, and
BERT has never seen a label. The untrained BERT has the same tokenizer and the same recipe. Beside them stand a
recurrent network and counted words, both from nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import mean

from lexigraph import api
from lexigraph.run import Run
from lexigraph.text import constructions, edits, grammar

BERT = {
    "data.sentences": 40_000,
    "model.layers": 2,
    "model.dim": 96,
    "model.context": 64,
    "tokenizer.size": 2048,
    "train.steps": 1000,
    "train.tensorboard": False,
}
QUIET = {"train.tensorboard": False, "train.validate_every": 15}
LONG = {"train.epochs": 30.0, "train.lr": 1e-3}
FROZEN = LONG | {"train.lr": 1e-2, "train.lr_scale": {"reader": 0.0}}
MEAN = LONG | {"model.pooling": "mean"}
FROM_NOTHING = {"train.steps": 120, "train.batch_tokens": 512, "tokenizer.min_count": 1}
WAYS: dict[str, tuple[str, str, dict[str, object]]] = {  # recipe, what it starts from, and what is changed
    "constructions: BERT, pre-trained": ("classifier-tuned", "bert", LONG),
    "the same, untrained": ("classifier-tuned", "untrained", LONG),
    "pre-trained, the mean of its states": ("classifier-tuned", "bert", MEAN),
    "untrained, the mean of its states": ("classifier-tuned", "untrained", MEAN),
    "pre-trained and frozen": ("classifier-tuned", "bert", FROZEN),
    "LSTM": ("classifier", "", FROM_NOTHING),
    "counted words": ("bow", "", FROM_NOTHING),
    "agreement: BERT, pre-trained": ("choices", "bert", LONG),
    "the same, not trained before": ("choices", "untrained", LONG),
}


def write(folder: Path, labels: int) -> None:
    """Sentences with their constructions, and subjects with two forms of a verb, for training, validation and test.
    No two are alike, and none that BERT has read is among them."""
    seen = set(constructions.sentences(BERT["data.sentences"]))
    sentences = ((grammar.realise(clause), clause.construction) for clause in constructions.clauses(None, seed=1))
    _split(folder, "tsv", labels, (f"{text}\t{label}" for text, label in sentences if not _known(text, seen)))
    questions = (
        json.dumps({"text": each.prefix, "choices": sorted([each.right, each.wrong]), "label": each.right})
        for each in edits.agreement_items(1 << 40, seed=1)
        if not _known(each.prefix, seen)
    )
    _split(folder, "jsonl", labels, questions)


def _known(text: str, seen: set[str]) -> bool:
    """Whether a text was there before; now it is."""
    known = text in seen
    seen.add(text)
    return known


def _split(folder: Path, suffix: str, labels: int, rows: Iterator[str]) -> None:
    for name, count in (("train", labels), ("valid", labels), ("test", 1000)):
        lines = "".join(f"{row}\n" for row in islice(rows, count))
        (folder / f"{name}.{suffix}").write_text(lines, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bert", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    write(asked.out, asked.labels)
    bert, untrained = asked.bert or asked.out / "bert", asked.out / "untrained"
    if not bert.exists():
        api.train("bert", "grammar", bert, set=BERT, quiet=True)
    if not untrained.exists():  # one step at no rate: the weights stay as they are born
        api.train("bert", "grammar", untrained, set=BERT | {"train.steps": 1, "train.lr": 0.0}, quiet=True)
    for way, (recipe, start, changes) in WAYS.items():
        found, suffix = [], "jsonl" if recipe == "choices" else "tsv"
        train, valid, test = (asked.out / f"{name}.{suffix}" for name in ("train", "valid", "test"))
        for seed in range(asked.seeds):
            out = asked.out / "-".join([recipe, start, *(key.split(".")[1] for key in changes), str(seed)])
            if not out.exists():
                begin = {"bert": bert, "untrained": untrained}.get(start)
                keys = QUIET | changes | {"train.seed": seed}
                api.train(recipe, train, out, valid=valid, test=test, start=begin, set=keys, quiet=True)
            found.append(Run.open(out).json("results.json")["scores"]["test"]["accuracy"]["value"])
        print(f"{way:36} {mean(found):.3f}   ({min(found):.3f} to {max(found):.3f})", flush=True)


if __name__ == "__main__":
    main()
