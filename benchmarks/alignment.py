"""How well attention tells which word comes from which, on a language whose alignment is known; IBM models beside it.

    python benchmarks/alignment.py                                        three seeds of additive attention
    python benchmarks/alignment.py --set model.attention=dot --seeds 1    another score

Pairs of the built-in corpus `coded`; no sentence of the test, and none of those that choose the weights, is among
those that are learned. Words are tokens. A word of a translation is linked to the one of the source that is looked
at most while it is written; IBM models link it to the most probable one. Neither has seen a link.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import lexigraph
from lexigraph.abilities.translating import Translator
from lexigraph.evaluation.alignment import AlignmentScores, alignment_scores
from lexigraph.statistical.ibm import IBMModel
from lexigraph.text import coded

Pair = tuple[list[str], list[str], coded.Links]
SETTINGS: dict[str, Any] = {"tokenizer.kind": "word", "tokenizer.separate": True, "train.tensorboard": False}


def drawn(learned: int, held: int) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Different pairs: to learn from, to choose weights by, to test."""
    found: dict[str, Pair] = {}
    for pair in coded.pairs():
        found.setdefault(" ".join(pair[0]), pair)
        if len(found) == learned + 2 * held:
            break
    every = list(found.values())
    return every[: -2 * held], every[-2 * held : -held], every[-held:]


def write(pairs: Sequence[Pair], file: Path) -> str:
    """Pairs as a file."""
    file.write_text("".join(f"{' '.join(source)}\t{' '.join(target)}\n" for source, target, _ in pairs), "utf-8")
    return str(file)


def of_network(files: dict[str, str], test: Sequence[Pair], changes: dict[str, Any], out: Path) -> AlignmentScores:
    """The error of a translator that is trained on the files."""
    model = lexigraph.train("seq2seq", files["train"], out, valid=files["valid"], set=changes, quiet=True)
    assert isinstance(model, Translator)
    found = model.align([" ".join(pair[1]) for pair in test], sources=[" ".join(pair[0]) for pair in test])
    return alignment_scores(found, [pair[2] for pair in test])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--held", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    train, valid, test = drawn(asked.pairs, asked.held)
    true = [pair[2] for pair in test]
    print(f"{len(train):,} pairs, {len(test):,} of test with {sum(map(len, true)):,} links", flush=True)
    for kind in (1, 2):
        ibm = IBMModel.train([pair[:2] for pair in train], model=kind)
        show(f"IBM model {kind}", [alignment_scores([ibm.align(*pair[:2]) for pair in test], true)])
    changes = {**SETTINGS, "data.split": [1.0], **lexigraph.recipe.settings(asked.set)}
    with tempfile.TemporaryDirectory() as folder:
        files = {
            name: write(some, Path(folder) / f"{name}.tsv") for name, some in (("train", train), ("valid", valid))
        }
        runs = [
            of_network(files, test, {**changes, "train.seed": seed}, Path(folder) / str(seed))
            for seed in range(asked.seeds)
        ]
    show("attention", runs)


def show(name: str, runs: Sequence[AlignmentScores]) -> None:
    """A line of the table."""
    each = ", ".join(f"{run.aer:.2%}" for run in runs)
    precision, recall = (mean(getattr(run, score) for run in runs) for score in ("precision", "recall"))
    print(
        f"{name:12} error {mean(run.aer for run in runs):.2%} ({each})  precision {precision:.2%}  "
        f"recall {recall:.2%}",
        flush=True,
    )


if __name__ == "__main__":
    main()
