"""What sentence vectors are worth: STS-B and SICK, by their cosine and through a trained regressor.

    python benchmarks/meaning.py DATA --vectors own.vec --counts words.txt                 the baselines, on dev pairs
    python benchmarks/meaning.py DATA --vectors own.vec --counts words.txt --split test --run runs/encoder

DATA holds the folders sts-b and sick; own.vec has vectors of the words of words.txt (own_vectors.py makes it, small
letters). Baselines, all of these vectors, text cut as theirs was:

    averaged        the mean of the words' vectors
    SIF             the mean weighted by a / (a + p(w)), without the first principal direction of training sentences
    random LSTM     a bidirectional LSTM with random weights, 2 × 512 numbers, the largest over time
    echo state      a sparse random recurrent network of 1,024 numbers, spectral radius 0.9, the largest over time

The regressor is ridge regression on |u - v| and u ⊙ v, its penalty by cross-validation on the training pairs; SIF's a
is chosen on dev pairs. Random encoders: means over seeds. Pearson's r; a text too long for a run is cut.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from own_vectors import treebank_words
from torch import Tensor, nn

import lexigraph
from lexigraph.evaluation.latent.sentences import cosines
from lexigraph.evaluation.latent.similarity import Scored, features, similarity_pairs
from lexigraph.words.vectors import WordVectors

Encoder = Callable[[Sequence[str]], np.ndarray]  # of all texts at once, the training pairs' first
CUTS = (40, 30, 20, 10)  # words that a text too long for a run is cut to
ROWS = 64  # sentences at once


class Words:
    """Word vectors by word, of length 1 on average; unknown words have none."""

    def __init__(self, path: Path, counts: Path | None) -> None:
        vectors = WordVectors.load(path)
        self.index = vectors.index
        table = np.asarray(vectors.vectors, np.float32)
        self.table = table / np.linalg.norm(table, axis=1).mean()
        self.counts: Counter[str] = Counter()
        if counts:
            with counts.open(encoding="utf-8") as file:
                for line in file:
                    self.counts.update(line.split())

    def of(self, text: str) -> list[int]:
        known = (self.index.get(word) for word in treebank_words(text).lower().split())
        return [row for row in known if row is not None] or [self.index["the"]]

    def averaged(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.table[self.of(text)].mean(0) for text in texts])

    def sif(self, a: float, train: int) -> Encoder:
        """`train`: so many texts, the first ones, show the direction that all share."""
        p = np.array([self.counts[word] for word in self.index]) / max(1, self.counts.total())
        weights = (a / (a + p)).astype(np.float32)

        def encode(texts: Sequence[str]) -> np.ndarray:
            rows = [self.of(text) for text in texts]
            z = np.stack([(weights[row, None] * self.table[row]).mean(0) for row in rows])
            direction = np.linalg.svd(z[:train], full_matrices=False)[2][0]
            return z - np.outer(z @ direction, direction)

        return encode

    def random_lstm(self, seed: int) -> Encoder:
        torch.manual_seed(seed)
        lstm = nn.LSTM(self.table.shape[1], 512, bidirectional=True, batch_first=True).eval()
        return lambda texts: self._largest(texts, lambda x: lstm(x)[0])

    def echo_state(self, seed: int) -> Encoder:
        random, size = np.random.default_rng(seed), 1024
        drawn = random.uniform(-0.5, 0.5, (size, size)) * (random.random((size, size)) < 0.05)
        radius = np.abs(np.linalg.eigvals(drawn)).max()
        recurrent = torch.from_numpy(drawn * (0.9 / radius)).float().to_sparse_csr()
        inputs = torch.from_numpy(random.uniform(-0.1, 0.1, (size, self.table.shape[1]))).float()

        def run(x: Tensor) -> Tensor:
            h, found = torch.zeros(size, len(x)), []
            for t in range(x.shape[1]):
                h = (inputs @ x[:, t].T + recurrent @ h).tanh()
                found.append(h.T)
            return torch.stack(found, 1)

        return lambda texts: self._largest(texts, run)

    @torch.no_grad()
    def _largest(self, texts: Sequence[str], run: Callable[[Tensor], Tensor]) -> np.ndarray:
        """The largest state over time; sentences of one length are run together, so that nothing is padded."""
        rows = [self.of(text) for text in texts]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        found: dict[int, np.ndarray] = {}
        while order:
            size = len(rows[order[0]])
            block = [number for number in order[:ROWS] if len(rows[number]) == size]
            order = order[len(block) :]
            states = run(torch.from_numpy(self.table[[rows[number] for number in block]]))
            found |= dict(zip(block, states.amax(1).numpy(), strict=True))
        return np.stack([found[number] for number in range(len(rows))])


def scores(encode: Encoder, train: Scored, held: Scored) -> tuple[float, float]:
    """Pearson's r of the cosine, and of the regressor."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pairs = [*train, *held]
    z = encode([text for a, b, _ in pairs for text in (a, b)])
    gold, wanted = (np.array([score for *_, score in rows]) for rows in (train, held))
    seen, asked = z[: 2 * len(train)], z[2 * len(train) :]
    fit = make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 6, 13)))
    fit.fit(features(seen), gold)
    made = (cosines(asked[::2], asked[1::2]), fit.predict(features(asked)))
    cosine, regressor = (float(np.corrcoef(values, wanted)[0, 1]) for values in made)
    return cosine, regressor


def of_run(folder: Path) -> Encoder:
    """What a trained model says; a text too long for it is cut."""
    model = lexigraph.load(folder)

    def encode(texts: Sequence[str]) -> np.ndarray:
        fitting = list(texts)
        for most in CUTS:
            short = model.fits(fitting)
            fitting = [t if fits else " ".join(t.split()[:most]) for t, fits in zip(fitting, short, strict=True)]
        return np.asarray(model.encode(fitting))

    return encode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, help="own word vectors, for the baselines")
    parser.add_argument("--counts", type=Path, help="a text to count words in, for SIF")
    parser.add_argument("--a", type=float, nargs="+", default=[1e-3], help="SIF's; several on dev pairs")
    parser.add_argument("--run", type=Path, action="append", default=[])
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="of the baselines, those whose names begin so")
    options = parser.parse_args()
    sets = similarity_pairs(options.data)
    print("encoder", *(f"{name} {how}" for name in sets for how in ("cosine", "regressor")), sep="\t")

    def show(name: str, made: Callable[[int, int], Encoder], seeds: int = 1) -> None:
        """A row; an encoder is made of a seed and the number of training texts."""
        if options.only and not name.startswith(tuple(options.only)):
            return
        found = [
            [r for split in sets.values() for r in scores(
                made(seed, 2 * len(split["train"])), split["train"], split[options.split])]
            for seed in range(seeds)
        ]  # fmt: skip
        means, deviations = np.mean(found, 0), np.std(found, 0)
        spread = [
            f"{mean:.3f}" + (f" ±{deviation:.3f}" if seeds > 1 else "")
            for mean, deviation in zip(means, deviations, strict=True)
        ]
        print(name, *spread, sep="\t", flush=True)

    for folder in options.run:
        encode = of_run(folder)
        show(folder.name, lambda seed, train, encode=encode: encode)
    if options.vectors:
        words = Words(options.vectors, options.counts)
        show("averaged", lambda seed, train: words.averaged)
        for a in options.a if options.counts else ():
            show(f"SIF, a = {a:g}", lambda seed, train, a=a: words.sif(a, train))
        show("random LSTM", lambda seed, train: words.random_lstm(seed), options.seeds)
        show("echo state", lambda seed, train: words.echo_state(seed), options.seeds)


if __name__ == "__main__":
    main()
