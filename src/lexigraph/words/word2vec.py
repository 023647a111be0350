"""word2vec and fastText: vectors of words that tell their neighbours (Mikolov et al. 2013; Bojanowski et al. 2017).

Every word w of the text is a centre; the b words on each side are its contexts, b drawn from 1 … window each time.

    skip-gram   h = v_w                          tells every context o
    CBOW        h = mean of v_c over contexts    tells the centre o

In fastText a word is several rows of the table v, its own and those of its n-grams, and h is the mean over all of
them (subwords.py). Telling o from h is learned in one of three ways:

    negative        − log σ(u_oᵀh) − Σ_k log σ(−u_kᵀh)       with k words drawn for it, P(w) ∝ count^a
    hierarchical    − Σ_n log σ(s_n u_nᵀh)                   nodes n of o's Huffman path, s_n = ±1 as it goes on
    softmax         − u_oᵀh + log Σ_w exp(u_wᵀh)             exact, for small vocabularies and as the reference

In word2vec a = 0.75, in fastText 0.5 (`ns_exponent`). The first two are logistic regressions on h, with labels y:
g = y − σ(uᵀh),  u += αgh,  h += αgu  (kernels.py). As in word2vec's own program, each row behind a mean takes the
step of the mean in full. A word of frequency f is skipped now and then: it stays with probability √(t/f) + t/f, with
t = 1e-3 in word2vec and 1e-4 in fastText (`sample`). The rate α falls linearly.

Threads share the tables without locks; with one thread, the same seed gives the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TypeVar, TypeVarTuple

import numpy as np

from lexigraph.words import kernels
from lexigraph.words.checkpoint import NO_CHECKPOINT, Checkpoint
from lexigraph.words.corpus import Corpus
from lexigraph.words.settings import Settings
from lexigraph.words.simd import SIMD_WIDTH

JOB = 10_000  # ids that a thread takes at a time, all at one rate
TOP = 256  # nodes near the root of the Huffman tree, which every path runs through: each thread has its own
LAST_RATE = 1e-4  # the share of the rate that is left at the end

Report = Callable[[int, float], None]
Rest = TypeVarTuple("Rest")  # of a job, after its ids or pairs
Done = TypeVar("Done")


@dataclass
class Tables:
    """What is learned: rows of v make up h, rows of u are what h is compared with.

    of, parts: word w is made up of the rows parts[of[w] : of[w + 1]] of v; without n-grams just row w.
    losses: mean −log P of each epoch, in nats for each prediction.
    """

    v: np.ndarray
    u: np.ndarray
    dim: int
    of: np.ndarray
    parts: np.ndarray
    losses: list[float] = field(default_factory=list)

    def vectors(self) -> np.ndarray:
        """The vector of each word: the mean of its rows."""
        count = len(self.of) - 1
        if len(self.parts) == count:
            return self.v[:count, : self.dim]
        found = np.empty((count, self.dim), np.float32)
        for word in range(count):
            found[word] = self.v[self.parts[self.of[word] : self.of[word + 1]], : self.dim].mean(0)
        return found


def fit(
    corpus: Corpus,
    settings: Settings,
    *,
    parts: tuple[np.ndarray, np.ndarray] | None = None,
    rows: int = 0,
    start: np.ndarray | None = None,
    report: Report = lambda words, loss: None,
    checkpoint: Checkpoint = NO_CHECKPOINT,
) -> Tables:
    """Train on a corpus.

    parts, rows: `of` and `parts` of Tables where words have n-grams, and how many rows v has; else every word is one.
    start: rows of v to begin with, of which those of NaN are drawn at random; else all are.
    report: called after each piece with the words read so far and its mean loss.
    """
    count, threads = len(corpus.words), settings.threads
    of, members = parts or (np.arange(count + 1), np.arange(count, dtype=np.int32))
    v = table(max(rows, count), settings.dim)
    _fill(v[:, : settings.dim], np.unique(members), np.random.default_rng(settings.seed), start)
    hierarchical = settings.loss == "hierarchical"
    paths, nodes, labels = huffman(corpus.counts) if hierarchical else NO_TREE
    own = TOP if hierarchical and threads > 1 and count > TOP else 0
    u = v if settings.shared else table(count + own * threads, settings.dim)
    roots = _Roots(u, nodes, count - 1, own, threads)
    kernel = kernels.cbow if settings.method.endswith("cbow") else kernels.skipgram
    draws = {"hierarchical": 0, "softmax": -1}.get(settings.loss, settings.negative)
    keep = _keep(corpus.counts, settings.sample)
    alias = (
        alias_table(corpus.counts**settings.ns_exponent) if settings.loss == "negative" else np.zeros(1, np.uint64)
    )
    logistic = kernels.logistic_tables()

    def train(ids: np.ndarray, rate: float, state: np.uint64) -> np.ndarray:
        """One piece of text; returns the sums of loss, predictions and words."""
        sums = np.zeros(3)
        with roots.lent() as nodes:
            kernel(
                v.reshape(-1), u.reshape(-1), v.shape[1], ids, of, members, settings.window, draws, np.float32(rate),
                keep, alias, paths, nodes, labels, *logistic, state, sums,
            )  # fmt: skip
        return sums

    learned = Tables(v, u, settings.dim, of, members)
    kept = {"v": v} if settings.shared else {"v": v, "u": u[:count]}
    learned.losses = checkpoint.load(kept)
    with ThreadPoolExecutor(threads) as pool:
        for epoch in range(len(learned.losses), settings.epochs):
            epoch_sums, read = np.zeros(3), epoch * corpus.tokens
            for sums, size in in_turn(pool, train, _jobs(corpus, settings, epoch), 4 * threads):
                epoch_sums += sums
                read += size
                report(read, sums[0] / max(sums[1], 1))
            learned.losses.append(float(epoch_sums[0] / max(epoch_sums[1], 1)))
            checkpoint.save(kept, learned.losses)
    return learned


class _Roots:
    """The uppermost nodes of the Huffman tree, of which every thread has rows of its own while it reads a piece.

    Every path runs through them, and threads that write to the same rows slow each other down. Afterwards the rows
    take the mean of what the threads changed. The heaviest inner nodes have the last numbers.
    """

    def __init__(self, u: np.ndarray, nodes: np.ndarray, inner: int, own: int, threads: int) -> None:
        self.u, self.own, self.threads = u, own, threads
        self.shared = slice(inner - own, inner)
        self.free: SimpleQueue[tuple[slice, np.ndarray]] = SimpleQueue()  # rows, and the paths that lead through them
        for begin in range(len(u) - own * threads, len(u), own) if own else [0] * threads:
            moved = np.where(nodes >= self.shared.start, nodes + np.int32(begin - self.shared.start), nodes)
            self.free.put((slice(begin, begin + own), moved if own else nodes))

    @contextmanager
    def lent(self) -> Iterator[np.ndarray]:
        """The nodes of all paths, for one thread."""
        mine, nodes = self.free.get()
        before = self.u[self.shared].copy()
        if self.own:
            self.u[mine] = before
        yield nodes
        if self.own:
            self.u[self.shared] += (self.u[mine] - before) / self.threads
        self.free.put((mine, nodes))


def _jobs(corpus: Corpus, settings: Settings, epoch: int) -> Iterator[tuple[np.ndarray, float, np.uint64]]:
    """The text in pieces, each with its rate and the state of its random numbers: a function of settings alone."""
    done, whole = 0, corpus.tokens + corpus.lines
    for number, ids in enumerate(corpus.blocks(JOB)):
        left = 1 - (epoch + done / whole) / settings.epochs
        state = np.random.SeedSequence((settings.seed, epoch, number)).generate_state(1, np.uint64)[0]
        yield ids, settings.alpha * max(left, LAST_RATE), state | np.uint64(1)  # a xorshift never leaves 0
        done += len(ids)


def in_turn(
    pool: ThreadPoolExecutor,
    work: Callable[[np.ndarray, *Rest], Done],
    jobs: Iterator[tuple[np.ndarray, *Rest]],
    waiting: int,
) -> Iterator[tuple[Done, int]]:
    """The results of the jobs in order with the size of each; at most so many wait at a time."""
    pending: deque[tuple[Future[Done], int]] = deque()
    for job in jobs:
        pending.append((pool.submit(work, *job), len(job[0])))
        if len(pending) == waiting:
            future, size = pending.popleft()
            yield future.result(), size
    for future, size in pending:
        yield future.result(), size


def table(rows: int, dim: int) -> np.ndarray:
    """A float32 table of zeros, its rows padded to whole steps of the kernels and aligned to cache lines."""
    width = -(-dim // SIMD_WIDTH) * SIMD_WIDTH
    room = np.zeros(rows * width + SIMD_WIDTH, np.float32)
    begin = -room.ctypes.data % 64 // 4
    return room[begin : begin + rows * width].reshape(rows, width)


def _fill(v: np.ndarray, used: np.ndarray, random: np.random.Generator, start: np.ndarray | None) -> None:
    """Begin with random numbers of at most 1 / dim, or with the rows of `start` that are numbers.

    That is gensim's range and twice that of word2vec's own program; at low rates vectors are a little better so.
    A row that no word has stays zero, so that n-grams never seen say nothing about the words that have them.
    """
    for block in np.array_split(used, len(used) // 4096 + 1):  # in blocks: a table may be large
        drawn = random.random((len(block), v.shape[1]), np.float32)
        v[block] = (2 * drawn - 1) / np.float32(v.shape[1])
    if start is not None:
        known = np.flatnonzero(~np.isnan(start[:, 0]))
        v[known] = start[known]


def _keep(counts: np.ndarray, sample: float) -> np.ndarray:
    """P(a word stays) = √(t/f) + t/f, as a bound for random numbers of 32 bits; sample = t, 0: all stay."""
    share = sample * counts.sum() / counts if sample else np.ones(len(counts))
    return (np.minimum(np.sqrt(share) + share, 1) * (2.0**32 - 1)).astype(np.uint32)


def alias_table(weights: np.ndarray) -> np.ndarray:
    """Walker's alias method: cell i is word i with probability p_i, else word a_i; p in the high bits, a in the low.

    Any distribution over n words is n equal cells of at most two words each: one random number draws both.
    """
    share = weights / weights.sum() * len(weights)
    other = np.arange(len(share))
    accept = np.ones(len(share))
    small = np.flatnonzero(share < 1).tolist()
    large = np.flatnonzero(share >= 1).tolist()
    share = share.tolist()
    while small and large:
        poor, rich = small.pop(), large[-1]
        accept[poor], other[poor] = share[poor], rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            small.append(large.pop())
    bound = np.minimum(accept * 2.0**32, 2.0**32 - 1).astype(np.uint64)
    return bound << np.uint64(32) | other.astype(np.uint64)


def huffman(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each word the nodes on its path from the root and the label of each step: starts, nodes, labels.

    counts: the most frequent first. Words are leaves 0 … n − 1, inner nodes 0 … n − 2; label 1 is a step to code 0.
    """
    n = len(counts)
    weight = np.concatenate([counts.astype(np.int64), np.full(max(n - 1, 0), np.iinfo(np.int64).max)]).tolist()
    parent, code = [0] * (2 * n - 1), [0] * (2 * n - 1)
    leaf, inner = n - 1, n  # the lightest leaf and inner node that have no parent yet; both run towards heavier ones
    for new in range(n, 2 * n - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and weight[leaf] < weight[inner]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(inner)
                inner += 1
        weight[new] = weight[pair[0]] + weight[pair[1]]
        parent[pair[0]] = parent[pair[1]] = new
        code[pair[1]] = 1
    starts, nodes, labels = [0], list[int](), list[int]()
    for word in range(n):
        path, place = [], word
        while place != 2 * n - 2:
            path.append((parent[place] - n, 1 - code[place]))
            place = parent[place]
        nodes += [node for node, _ in reversed(path)]
        labels += [label for _, label in reversed(path)]
        starts.append(len(nodes))
    return np.array(starts, np.int64), np.array(nodes, np.int32), np.array(labels, np.float32)


NO_TREE = (np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.float32))
