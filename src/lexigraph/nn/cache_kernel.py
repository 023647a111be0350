"""The kernels of nn/cache.py: every row writes its key and value, and its query looks along its line.

write    queries and keys are turned to their position, where there is a rotation; keys and values are stored
score    w_t = scale q · k(lines[t], t)
mix      out = Σ_t w_t v(lines[t], t)                     with w after its softmax

New queries, keys and values stand side by side, (R, 3, H, D); of a memory there are queries alone, (R, 1, H, D). The
storage is (W, L, C, 2, H, D), w is (R, H, T or more). Row r sees the positions from begins[r] to ends[r]; elsewhere w
is -inf. `angles` (2, 1 or R, D) are those of nn/positions.py; (2, 0, D): nothing is turned.
"""

from __future__ import annotations

import numpy as np

from lexigraph.compiled import kernel

STORAGE = "float32[:, :, :, :, :, ::1], int64"
LINES = f"{STORAGE}, int64[:, ::1], int64[::1], int64[::1]"


@kernel(f"void(float32[:, :, :, ::1], float32[:, :, ::1], {STORAGE}, int64[::1], int64)")
def write(new, angles, storage, layer, writers, position):
    (rows, _, heads, width), turned = new.shape, angles.shape[1]
    half = width // 2
    for r in range(rows):
        if turned:
            cos, sin = angles[0, min(r, turned - 1)], angles[1, min(r, turned - 1)]
            for part in range(2):
                for h in range(heads):
                    for d in range(half):
                        left, right = new[r, part, h, d], new[r, part, h, d + half]
                        new[r, part, h, d] = left * cos[d] + right * sin[d]
                        new[r, part, h, d + half] = right * cos[d + half] + left * sin[d + half]
        storage[writers[r], layer, position] = new[r, 1:]


@kernel(f"void(float32[:, :, :, ::1], {LINES}, float32, float32[:, :, ::1])")
def score(new, storage, layer, lines, begins, ends, scale, w):
    heads, width = new.shape[2:]
    for r in range(len(lines)):
        w[r, :, : begins[r]] = -np.inf
        w[r, :, ends[r] :] = -np.inf
        for t in range(begins[r], ends[r]):
            keys = storage[lines[r, t], layer, t, 0]
            for h in range(heads):
                total = np.float32(0)
                for d in range(width):
                    total += new[r, 0, h, d] * keys[h, d]
                w[r, h, t] = scale * total


@kernel(f"void({LINES}, float32[:, :, ::1], float32[:, :, ::1])")
def mix(storage, layer, lines, begins, ends, w, out):
    heads, width = out.shape[1:]
    for r in range(len(lines)):
        out[r] = 0
        for t in range(begins[r], ends[r]):
            values = storage[lines[r, t], layer, t, 1]
            for h in range(heads):
                for d in range(width):
                    out[r, h, d] += w[r, h, t] * values[h, d]
