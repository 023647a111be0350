"""The inner loops of word2vec and fastText: one pass over a piece of text (see word2vec.py for what they learn).

Tables are flat arrays of rows of `width` numbers, a multiple of SIMD_WIDTH. Every random number is one step of a
64-bit xorshift, whose state is the kernel's own, so that a pass depends on nothing but its arguments. Threads that
run on the same tables at the same time may lose a step now and then; that is how word2vec has always been trained.

The three ways to tell a word stand in both kernels: as one shared part they were a tenth slower.
"""

from __future__ import annotations

import numpy as np

from lexigraph.compiled import kernel, part
from lexigraph.words.simd import SIMD_WIDTH, fetch, fma, load, splat, store, total

LONGEST = 10_000  # words of a line that are taken at once
REACH = 6.0  # a score beyond it is taken for ±REACH, as in word2vec's own program
CELLS = 1024  # of the tables of σ and −log σ
DEEPEST = 64  # steps of a Huffman path: it would take more than 10^13 words to have a longer one
LIMIT = np.float32(REACH - 1e-3)
SCALE = np.float32(CELLS / (2 * REACH))
ZERO, ONE = np.float32(0), np.float32(1)


def logistic_tables() -> tuple[np.ndarray, np.ndarray]:
    """σ(x) and −log σ(x) in the middle of each cell between −REACH and REACH."""
    x = (np.arange(CELLS) + 0.5) / CELLS * 2 * REACH - REACH
    return (1 / (1 + np.exp(-x))).astype(np.float32), np.log1p(np.exp(-x)).astype(np.float32)


@part
def _random(state):
    """xorshift64: the next of 2^64 − 1 states."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@part
def _below(state, n):
    """A number from 0 to n − 1, by the upper half of the state."""
    return np.int64((state >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@part
def _next_line(ids, position, keep, line, state):
    """The words of a line that are kept, into `line`: how many, where the next line begins, the random state."""
    n = 0
    while position < len(ids) and n < len(line):
        word = ids[position]
        position += 1
        if word < 0:
            break
        state = _random(state)
        if keep[word] >= state >> np.uint64(32):
            line[n] = word
            n += 1
    return n, position, state


@part
def _draw(alias, drawn, u, width, state):
    """The words for the next prediction; their rows are sent for now, so that memory has time to bring them."""
    for d in range(len(drawn)):
        state = _random(state)
        cell = _below(state, len(alias))
        drawn[d] = cell
        if state & np.uint64(0xFFFFFFFF) >= alias[cell] >> np.uint64(32):
            drawn[d] = np.int64(alias[cell] & np.uint64(0xFFFFFFFF))
        for k in range(0, width, SIMD_WIDTH):
            fetch(u, np.int64(drawn[d]) * width + k)
    return state


@part
def _others(word, drawn, rows):
    """rows[1:]: the drawn words that are not the right one, which is rows[0]; how many rows there are."""
    rows[0] = word
    m = 1
    for d in range(len(drawn)):
        if drawn[d] != word:
            rows[m] = drawn[d]
            m += 1
    return m


@part
def _learn(h, u, rows, labels, first, m, alpha, sigma, minus_log, gains, step):
    """m logistic regressions on h: rows of u move, `step` is what h has to move; returns −Σ log P."""
    width = len(h)
    loss = ZERO
    for d in range(m):
        begin = np.int64(rows[first + d]) * width
        products = splat(ZERO)
        for k in range(0, width, SIMD_WIDTH):
            products = fma(load(h, k), load(u, begin + k), products)
        score = min(max(total(products), -LIMIT), LIMIT)
        cell = np.int64((score + LIMIT) * SCALE)
        label = labels[first + d]
        loss += minus_log[cell] + (ONE - label) * score  # −log σ(−x) = −log σ(x) + x
        gains[d] = (label - sigma[cell]) * alpha
    k = 0
    while k + SIMD_WIDTH < width:  # two steps at a time: most of the work is finding the rows
        x, y, moved, other = load(h, k), load(h, k + SIMD_WIDTH), splat(ZERO), splat(ZERO)
        for d in range(m):
            place = np.int64(rows[first + d]) * width + k
            g, old, far = splat(gains[d]), load(u, place), load(u, place + SIMD_WIDTH)
            moved, other = fma(g, old, moved), fma(g, far, other)
            store(u, place, fma(g, x, old))
            store(u, place + SIMD_WIDTH, fma(g, y, far))
        store(step, k, moved)
        store(step, k + SIMD_WIDTH, other)
        k += 2 * SIMD_WIDTH
    if k < width:
        x, moved = load(h, k), splat(ZERO)
        for d in range(m):
            place = np.int64(rows[first + d]) * width + k
            g, old = splat(gains[d]), load(u, place)
            moved = fma(g, old, moved)
            store(u, place, fma(g, x, old))
        store(step, k, moved)
    return loss


@part
def _learn_softmax(h, u, word, alpha, scores, step):
    """All rows of u at once: g = observed − expected. Returns −log P(word)."""
    width = len(h)
    largest = np.float32(-np.inf)
    for row in range(len(scores)):
        products = splat(ZERO)
        for k in range(0, width, SIMD_WIDTH):
            products = fma(load(h, k), load(u, row * width + k), products)
        scores[row] = total(products)
        largest = max(largest, scores[row])
    norm = 0.0
    for row in range(len(scores)):
        norm += np.exp(scores[row] - largest)
    loss = np.float32(np.log(norm)) + largest - scores[word]
    step[:] = 0
    for row in range(len(scores)):
        expected = np.float32(np.exp(scores[row] - largest) / norm)
        g = splat(alpha * ((ONE if row == word else ZERO) - expected))
        for k in range(0, width, SIMD_WIDTH):
            old = load(u, row * width + k)
            store(step, k, fma(g, old, load(step, k)))
            store(u, row * width + k, fma(g, load(h, k), old))
    return loss


@part
def _add(table, begin, row, factor):
    """table[begin : begin + width] += factor · row."""
    for k in range(0, len(row), SIMD_WIDTH):
        store(table, begin + k, fma(splat(factor), load(row, k), load(table, begin + k)))


@part
def _mean(v, parts, first, last, factor, h):
    """h += factor · Σ rows of v that make up a word."""
    for p in range(first, last):
        begin = np.int64(parts[p]) * len(h)
        for k in range(0, len(h), SIMD_WIDTH):
            store(h, k, fma(splat(factor), load(v, begin + k), load(h, k)))


SIGNATURE = (
    "void(float32[::1], float32[::1], int64, int32[::1], int64[::1], int32[::1], int64, int64, float32, uint32[::1],"
    " uint64[::1], int64[::1], int32[::1], float32[::1], float32[::1], float32[::1], uint64, float64[::1])"
)


@kernel(SIGNATURE)
def skipgram(
    v, u, width, ids, of, parts, window, negative, alpha, keep, alias, path, nodes, labels, sigma, minus_log, state,
    sums,
):  # fmt: skip
    """One pass over `ids`: each word tells the words around it. Adds to `sums`: loss, predictions, words.

    v, u: the tables, their rows of `width` numbers one after the other.
    of, parts: word w is made up of the rows parts[of[w] : of[w + 1]] of v.
    negative: words drawn for each prediction; 0: hierarchical softmax, by path, nodes, labels; −1: full softmax.
    keep: a word stays where a random number of 32 bits is not above.
    """
    line = np.empty(LONGEST, np.int32)
    drawn, rows = np.empty(max(negative, 0), np.int32), np.empty(negative + 2, np.int32)
    right, gains = np.zeros(negative + 2, np.float32), np.empty(max(negative + 1, DEEPEST), np.float32)
    right[0] = ONE
    scores = np.empty(len(of) - 1 if negative < 0 else 0, np.float32)
    state = _draw(alias, drawn, u, width, state)
    h, step, moved = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    position = 0
    while position < len(ids):
        n, position, state = _next_line(ids, position, keep, line, state)
        sums[2] += n
        for i in range(n):
            state = _random(state)
            reach = 1 + _below(state, window)
            first, last = of[line[i]], of[line[i] + 1]
            h[:] = 0
            moved[:] = 0
            _mean(v, parts, first, last, ONE / np.float32(last - first), h)
            for j in range(max(0, i - reach), min(n, i + reach + 1)):
                if j == i:
                    continue
                o = line[j]
                if negative > 0:
                    m = _others(o, drawn, rows)
                    state = _draw(alias, drawn, u, width, state)
                    sums[0] += _learn(h, u, rows, right, 0, m, alpha, sigma, minus_log, gains, step)
                elif negative == 0:
                    m = path[o + 1] - path[o]
                    sums[0] += _learn(h, u, nodes, labels, path[o], m, alpha, sigma, minus_log, gains, step)
                else:
                    sums[0] += _learn_softmax(h, u, o, alpha, scores, step)
                sums[1] += 1
                _add(h, 0, step, ONE)  # all rows behind h are going to take this step, and so does their mean
                _add(moved, 0, step, ONE)
            for p in range(first, last):
                _add(v, np.int64(parts[p]) * width, moved, ONE)


@kernel(SIGNATURE)
def cbow(
    v, u, width, ids, of, parts, window, negative, alpha, keep, alias, path, nodes, labels, sigma, minus_log, state,
    sums,
):  # fmt: skip
    """One pass over `ids`: the words around each word, taken together, tell it. Arguments as of `skipgram`."""
    line = np.empty(LONGEST, np.int32)
    drawn, rows = np.empty(max(negative, 0), np.int32), np.empty(negative + 2, np.int32)
    right, gains = np.zeros(negative + 2, np.float32), np.empty(max(negative + 1, DEEPEST), np.float32)
    right[0] = ONE
    scores = np.empty(len(of) - 1 if negative < 0 else 0, np.float32)
    state = _draw(alias, drawn, u, width, state)
    h, step = np.empty(width, np.float32), np.empty(width, np.float32)
    position = 0
    while position < len(ids):
        n, position, state = _next_line(ids, position, keep, line, state)
        sums[2] += n
        for i in range(n):
            state = _random(state)
            reach = 1 + _below(state, window)
            begin, end = max(0, i - reach), min(n, i + reach + 1)
            if end - begin < 2:
                continue
            count = 0
            for j in range(begin, end):
                if j != i:
                    count += of[line[j] + 1] - of[line[j]]
            h[:] = 0
            for j in range(begin, end):
                if j != i:
                    _mean(v, parts, of[line[j]], of[line[j] + 1], ONE / np.float32(count), h)
            o = line[i]
            if negative > 0:
                m = _others(o, drawn, rows)
                state = _draw(alias, drawn, u, width, state)
                sums[0] += _learn(h, u, rows, right, 0, m, alpha, sigma, minus_log, gains, step)
            elif negative == 0:
                m = path[o + 1] - path[o]
                sums[0] += _learn(h, u, nodes, labels, path[o], m, alpha, sigma, minus_log, gains, step)
            else:
                sums[0] += _learn_softmax(h, u, o, alpha, scores, step)
            sums[1] += 1
            for j in range(begin, end):
                if j != i:
                    for p in range(of[line[j]], of[line[j] + 1]):
                        _add(v, np.int64(parts[p]) * width, step, ONE)
