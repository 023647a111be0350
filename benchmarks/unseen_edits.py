"""Arithmetic on sentences of the built-in grammar's training split: combinations that `books` has seen, and others.

    python benchmarks/unseen_edits.py RUN …

z(b, x) - z(a, x) + z(a, y) is decoded with several noises, and counts if the sentence is exactly b(y). *Unseen*: one
of the sentences has a combination of word and construction that benchmarks/books.py kept out of the training text;
*seen*: none has. Sentences of the test split take no part: settings may be chosen by this table.

miss   root mean square of the difference between a sum and the vector of the sentence that is meant, both of
       variance 1
"""

from __future__ import annotations

import sys
from unittest.mock import patch

import numpy as np
from books import kept_out

import lexigraph
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import edits
from lexigraph.text.constructions import split_of
from lexigraph.text.grammar import Clause

FAMILIES = {"not-auxiliary": 600, "ask-auxiliary": 200, "past-future": 200, "he-they": 200}
NOISE_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
SEED = 5


def split(clause: Clause) -> str:
    """A pair is of the least of its two sentences' splits: "other" < "test" < "train"."""
    return "other" if split_of(clause) == "test" else "test" if kept_out(clause) else "train"


def quadruples(family: str, count: int, unseen: bool) -> list[list[str]]:
    with patch.object(edits, "split_of", split):
        drawn = edits.edit_quadruples(family, count, SEED, "test" if unseen else "train", parallel=True)
        return [[spelled(text, spaced=False) for text in four] for four in drawn]


def unit(z: np.ndarray) -> np.ndarray:
    """Vectors as the network draws them: of mean 0 and variance 1."""
    z = z - z.mean(1, keepdims=True)
    return z / z.std(1, keepdims=True)


def main() -> None:
    print("| run | family | | " + " | ".join(f"noise {noise:g}" for noise in NOISE_LEVELS) + " | miss |")
    print("| --- " * (4 + len(NOISE_LEVELS)) + "|")
    for run in sys.argv[1:]:
        model = lexigraph.load(run)
        for family, count in FAMILIES.items():
            for unseen in (True, False):
                rows = quadruples(family, count, unseen)
                z = model.encode([text for row in rows for text in row], unnormalised=True).reshape(len(rows), 4, -1)
                sums = z[:, 1] - z[:, 0] + z[:, 2]
                right = [
                    np.mean([text == row[3] for text, row in zip(model.decode(sums, noise=noise), rows, strict=True)])
                    for noise in NOISE_LEVELS
                ]
                miss = float(np.sqrt(((unit(sums) - unit(z[:, 3])) ** 2).mean()))
                cells = " | ".join(f"{100 * share:.1f} %" for share in right)
                print(f"| {run} | {family} | {'unseen' if unseen else 'seen'} | {cells} | {miss:.3f} |", flush=True)


if __name__ == "__main__":
    main()
