"""What pre-training is worth with few labels: a small BERT fine-tuned on 100 sentences, pre-trained and untrained.

    python benchmarks/finetuning.py --out FOLDER [--bert RUN] [--labels 100] [--seeds 3]

The task is to name the construction of a sentence (`passive`, `wh-question` …). Its sentences are drawn by another
seed than those that BERT has read, equal ones left out; BERT has never seen a label. The untrained BERT has the same
tokenizer and the same recipe. Beside them stand a recurrent network and counted words, both from nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from lexigraph import api
from lexigraph.run import Run
from lexigraph.text import constructions, grammar

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
WAYS: dict[str, tuple[str, str, dict[str, object]]] = {  # recipe, what it starts from, and what is changed
    "BERT, pre-trained": ("classifier-tuned", "bert", {"train.epochs": 30.0, "train.lr": 1e-3}),
    "the same, untrained": ("classifier-tuned", "untrained", {"train.epochs": 30.0, "train.lr": 1e-3}),
    "the same, pre-trained and frozen": (
        "classifier-tuned",
        "bert",
        {"train.epochs": 30.0, "train.lr": 1e-2, "train.lr_scale": {"reader": 0.0}},
    ),
    "LSTM": ("classifier", "", {"train.steps": 120, "train.batch_tokens": 512, "tokenizer.min_count": 1}),
    "counted words": ("bow", "", {"train.steps": 120, "train.batch_tokens": 512, "tokenizer.min_count": 1}),
}


def write(folder: Path, labels: int) -> dict[str, Path]:
    """Labelled sentences for training, validation and test, no two alike and none that BERT has read."""
    seen = set(constructions.sentences(BERT["data.sentences"]))
    rows = []
    for clause in constructions.clauses(None, seed=1):
        text = grammar.realise(clause)
        if text not in seen:
            seen.add(text)
            rows.append(f"{text}\t{clause.construction}\n")
        if len(rows) == 2 * labels + 1000:
            break
    parts = {"train": rows[:labels], "valid": rows[labels : 2 * labels], "test": rows[2 * labels :]}
    for name, part in parts.items():
        (folder / f"{name}.tsv").write_text("".join(part), encoding="utf-8")
    return {name: folder / f"{name}.tsv" for name in parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bert", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    files, bert, untrained = write(asked.out, asked.labels), asked.bert or asked.out / "bert", asked.out / "untrained"
    if not bert.exists():
        api.train("bert", "grammar", bert, set=BERT, quiet=True)
    if not untrained.exists():  # one step at no rate: the weights stay as they are born
        api.train("bert", "grammar", untrained, set=BERT | {"train.steps": 1, "train.lr": 0.0}, quiet=True)
    for way, (recipe, start, changes) in WAYS.items():
        found = []
        for seed in range(asked.seeds):
            out = asked.out / f"{recipe}-{start}-{len(changes)}-{seed}"
            if not out.exists():
                starts = {"bert": bert, "untrained": untrained}
                api.train(
                    recipe, files["train"], out, valid=files["valid"], test=files["test"], start=starts.get(start),
                    set=QUIET | changes | {"train.seed": seed}, quiet=True,
                )  # fmt: skip
            found.append(Run.open(out).json("results.json")["scores"]["test"]["accuracy"]["value"])
        print(f"{way:34} {mean(found):.3f}   ({min(found):.3f} to {max(found):.3f})", flush=True)


if __name__ == "__main__":
    main()
