"""The kernel of nn/cache.py: every row writes its key and value, and its query looks along its line.

write     queries and keys are turned to their position, where there is a rotation; key and value are stored there
attend    after that, w = softmax over t of (scale q · k(lines[t], t) + bias[t]),    out = Σ_t w_t v(lines[t], t)

New queries, keys and values stand side by side, (R, 3, H, D); of a memory there are queries alone, (R, 1, H, D), and
no `writers`: nothing is written. The storage is (W, L, 2, C, H, D), lines are (R, T or more). Row r sees positions
from begins[r] to ends[r], the last of them its own. `angles` (2, 1 or R, D) are those of nn/positions.py; (2, 0, D):
nothing is turned; `bias` is (H, T), (H, 0): nothing is added. One thread does it all: others would have to wait for
torch's own, which go on spinning for a while after each of its operations.
"""

from __future__ import annotations

import numpy as np

from lexigraph.compiled import kernel, part

LEAST = np.float32(-87)  # e to the power of less is 0
TO_BINARY = np.float32(1 / np.log(2))
POWERS = tuple(np.float32(np.log(2) ** n / np.prod(np.arange(1.0, n + 1))) for n in range(7))  # of 2ᶠ: error 2e-7


@part
def write(new, angles, storage, layer, writer, position, r):
    (heads, width), turned = new.shape[2:], angles.shape[1]
    half = width // 2
    if turned:
        cos, sin = angles[0, min(r, turned - 1)], angles[1, min(r, turned - 1)]
        for which in range(2):
            for h in range(heads):
                for d in range(half):
                    left, right = new[r, which, h, d], new[r, which, h, d + half]
                    new[r, which, h, d] = left * cos[d] + right * sin[d]
                    new[r, which, h, d + half] = right * cos[d + half] + left * sin[d + half]
    for which in range(2):
        for h in range(heads):
            for d in range(width):
                storage[writer, layer, which, position, h, d] = new[r, 1 + which, h, d]


@part
def softmax(w, exponents, powers):
    """In place. eˣ = 2ⁿ 2ᶠ with n whole and |f| ≤ ½, 2ⁿ by its bits: many at once, where exp is one after another."""
    highest = w[0]
    for t in range(1, len(w)):
        highest = max(highest, w[t])
    for t in range(len(w)):
        x = max(w[t] - highest, LEAST) * TO_BINARY
        n = np.rint(x)
        f = x - n
        found = POWERS[6]
        found = found * f + POWERS[5]
        found = found * f + POWERS[4]
        found = found * f + POWERS[3]
        found = found * f + POWERS[2]
        found = found * f + POWERS[1]
        w[t] = found * f + POWERS[0]
        exponents[t] = (np.int32(n) + np.int32(127)) << np.int32(23)
    total = np.float32(0)
    for t in range(len(w)):
        w[t] *= powers[t]
        total += w[t]
    share = np.float32(1) / total
    for t in range(len(w)):
        w[t] *= share


@kernel(
    "void(float32[:, :, :, ::1], float32[:, :, ::1], int64[::1], float32[:, :, :, :, :, ::1], int64, int64[:, ::1], "
    "int64[::1], int64[::1], float32, float32[:, ::1], float32[:, :, ::1])"
)
def attend(new, angles, writers, storage, layer, lines, begins, ends, scale, bias, out):
    (heads, width), positions, biased = new.shape[2:], lines.shape[1], bias.shape[1] > 0
    w, exponents = np.empty((heads, positions), np.float32), np.empty(positions, np.int32)
    powers = exponents.view(np.float32)
    for r in range(len(lines)):
        begin, end = begins[r], ends[r]
        if len(writers):
            write(new, angles, storage, layer, writers[r], end - 1, r)
        for t in range(begin, end):
            keys = storage[lines[r, t], layer, 0, t]
            for h in range(heads):
                total = np.float32(0)
                for d in range(width):
                    total += new[r, 0, h, d] * keys[h, d]
                w[h, t] = scale * total
        for h in range(heads):
            if biased:
                for t in range(begin, end):
                    w[h, t] += bias[h, t]
            softmax(w[h, begin:end], exponents, powers)
        out[r] = 0
        for t in range(begin, end):
            values = storage[lines[r, t], layer, 1, t]
            for h in range(heads):
                weight = w[h, t]
                for d in range(width):
                    out[r, h, d] += weight * values[h, d]
