"""GloVe: vectors whose products are the logarithms of how often words meet (Pennington, Socher & Manning 2014).

    J = Σ_ij f(X_ij) (w_iᵀ w̃_j + b_i + b̃_j − log X_ij)²        f(x) = min(1, (x / x_max)^0.75)

X counts the words that stand within the window of each other, a pair at distance d as 1/d (cooccurrence.py). Every
number has its own AdaGrad rate: with g its gradient and G = 1 + Σ g² over earlier steps, it moves by −rate · g / √G.
A word's vector is w + w̃, or their mean.

Threads share the tables without locks; with one thread, the same seed gives the same bits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from lexigraph.compiled import kernel
from lexigraph.words.checkpoint import NO_CHECKPOINT, Checkpoint
from lexigraph.words.cooccurrence import Cooccurrence
from lexigraph.words.settings import Settings
from lexigraph.words.simd import SIMD_WIDTH, fma, load, over_root, splat, store, times, total
from lexigraph.words.word2vec import Report, in_turn, table

POWER = 0.75  # of f
JOB = 50_000  # pairs that a thread takes at a time
IN_MEMORY = 1 << 22  # pairs shuffled at a time: 64 MiB
PAIR = np.dtype([("row", np.int32), ("column", np.int32), ("logarithm", np.float32), ("weight", np.float32)])


def fit(
    counts: Cooccurrence,
    words: int,
    settings: Settings,
    report: Report = lambda pairs, loss: None,
    checkpoint: Checkpoint = NO_CHECKPOINT,
) -> tuple[np.ndarray, list[float]]:
    """The vectors of the words, and the mean of f·(…)² of each epoch."""
    dim, threads = settings.dim, settings.threads
    random = np.random.default_rng(settings.seed)
    w = [table(words, dim) for _ in range(2)]
    for side in w:
        side[:, :dim] = (random.random((words, dim), np.float32) - np.float32(0.5)) / np.float32(dim + 1)
    squares = [np.ones_like(side) for side in w]
    biases = [((random.random(words) - 0.5) / (dim + 1)).astype(np.float32) for _ in range(2)]
    bias_squares = [np.ones(words, np.float32) for _ in range(2)]
    flat = [side.reshape(-1) for side in (*w, *squares)]

    def train(pairs: np.ndarray) -> float:
        columns = (np.ascontiguousarray(pairs[name]) for name in PAIR.names or ())
        return float(_train(*flat, *biases, *bias_squares, w[0].shape[1], *columns, np.float32(settings.alpha)))

    kept = dict(
        zip(("w", "u", "w2", "u2", "b", "c", "b2", "c2"), (*w, *squares, *biases, *bias_squares), strict=True)
    )
    losses = checkpoint.load(kept)
    with Shuffled(counts, settings.x_max, settings.seed) as shuffled, ThreadPoolExecutor(threads) as pool:
        for epoch in range(len(losses), settings.epochs):
            loss, done = 0.0, epoch * counts.nonzeros
            for part, size in in_turn(pool, train, shuffled.jobs(epoch), 2 * threads):
                loss += part
                done += size
                report(done, part / size)
            losses.append(loss / counts.nonzeros)
            checkpoint.save(kept, losses)
    both = w[0][:, :dim] + w[1][:, :dim]
    return both if settings.combine == "sum" else both / 2, losses


class Shuffled:
    """The pairs in random order, another in each epoch: dealt at random into files, each shuffled in memory."""

    def __init__(self, counts: Cooccurrence, x_max: float, seed: int, in_memory: int = IN_MEMORY) -> None:
        self.seed = seed
        self._folder = tempfile.TemporaryDirectory(prefix="lexigraph-")
        self._files = [Path(self._folder.name) / str(n) for n in range(-(-counts.nonzeros // in_memory))]
        self._only: np.ndarray | None = None
        random = np.random.default_rng((seed, 0))
        for rows, columns, values in counts.triples():
            pairs = np.empty(len(rows), PAIR)
            pairs["row"], pairs["column"], pairs["logarithm"] = rows, columns, np.log(values)
            pairs["weight"] = np.minimum((values / x_max) ** POWER, 1)
            dealt = random.integers(len(self._files), size=len(pairs))
            for number, file in enumerate(self._files):
                with open(file, "ab") as stream:
                    pairs[dealt == number].tofile(stream)
        if len(self._files) == 1:
            self._only = np.fromfile(self._files[0], PAIR)

    def jobs(self, epoch: int) -> Iterator[tuple[np.ndarray]]:
        random = np.random.default_rng((self.seed, 1, epoch))
        for number in random.permutation(len(self._files)):
            pairs = np.fromfile(self._files[number], PAIR) if self._only is None else self._only
            order = random.permutation(len(pairs)).astype(np.uint32)
            for begin in range(0, len(pairs), JOB):
                yield (pairs[order[begin : begin + JOB]],)

    def __enter__(self) -> Shuffled:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


@kernel(
    "float64(float32[::1], float32[::1], float32[::1], float32[::1], float32[::1], float32[::1], float32[::1],"
    " float32[::1], int64, int32[::1], int32[::1], float32[::1], float32[::1], float32)"
)
def _train(v, u, v_squares, u_squares, b, c, b_squares, c_squares, width, rows, columns, logarithms, weights, rate):
    """One step for each pair; returns Σ f·(…)²."""
    loss = 0.0
    for n in range(len(rows)):
        i, j = np.int64(rows[n]), np.int64(columns[n])
        products = splat(np.float32(0))
        for k in range(0, width, SIMD_WIDTH):
            products = fma(load(v, i * width + k), load(u, j * width + k), products)
        error = total(products) + b[i] + c[j] - logarithms[n]
        g = weights[n] * error  # ½ ∂J / ∂(wᵀw̃)
        loss += g * error
        each, back = splat(g), splat(-rate)
        for k in range(0, width, SIMD_WIDTH):
            here, there = i * width + k, j * width + k
            x, y = load(v, here), load(u, there)
            gx, gy = times(each, y), times(each, x)
            sx, sy = load(v_squares, here), load(u_squares, there)
            store(v, here, fma(back, over_root(gx, sx), x))
            store(u, there, fma(back, over_root(gy, sy), y))
            store(v_squares, here, fma(gx, gx, sx))
            store(u_squares, there, fma(gy, gy, sy))
        b[i] -= rate * g / np.sqrt(b_squares[i])
        c[j] -= rate * g / np.sqrt(c_squares[j])
        b_squares[i] += g * g
        c_squares[j] += g * g
    return loss
