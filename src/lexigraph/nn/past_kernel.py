"""The kernels of nn/past.py: every row writes its key and value, and its query looks along its line.

write_and_score    w_t = q · k(lines[t], t)
mix                out = Σ_t w_t v(lines[t], t)            with w after its softmax

The new queries, keys and values are (R, 3, H, D) and stand at the last place of the lines; the room is
(W, L, 2, C, H, D), w is (R, H, T or more). Places before a row's beginning and behind the last have w = -inf.
"""

from __future__ import annotations

import numpy as np

from lexigraph.compiled import kernel

PAST = "float32[:, :, :, :, :, ::1], int64, int64[:, ::1], int64[::1], float32[:, :, ::1]"


@kernel(f"void(float32[:, :, :, ::1], {PAST})")
def write_and_score(new, room, layer, lines, begins, w):
    (rows, places), (heads, width) = lines.shape, new.shape[2:]
    for r in range(rows):
        for part in range(2):
            room[lines[r, places - 1], layer, part, places - 1] = new[r, 1 + part]
        w[r, :, : begins[r]] = -np.inf
        w[r, :, places:] = -np.inf
        for t in range(begins[r], places):
            keys = room[lines[r, t], layer, 0, t]
            for h in range(heads):
                total = np.float32(0)
                for d in range(width):
                    total += new[r, 0, h, d] * keys[h, d]
                w[r, h, t] = total


@kernel(f"void({PAST}, float32[:, :, ::1])")
def mix(room, layer, lines, begins, w, out):
    (rows, places), (heads, width) = lines.shape, out.shape[1:]
    for r in range(rows):
        out[r] = 0
        for t in range(begins[r], places):
            values = room[lines[r, t], layer, 1, t]
            for h in range(heads):
                for d in range(width):
                    out[r, h, d] += w[r, h, t] * values[h, d]
