"""The kernel of nn/past.py: every row writes its key and value, and its query looks along its line.

w_t = q · k(lines[t], t) · scale + bias_t,      out = Σ_t softmax(w)_t v(lines[t], t)
"""

from __future__ import annotations

import math

import numpy as np

from lexigraph.compiled import kernel


@kernel(
    "void(float32[:, :, :, ::1], float32[:, :, :, :, :, ::1], int64, int64[:, ::1], int64[::1], "
    "float32[:, ::1], float64, float32[:, :, ::1], int64, int64)"
)
def follow(new, room, layer, lines, begins, bias, scale, out, first, last):
    """Rows `first` to `last` of the new queries, keys and values (3, R, H, D), which stand at the last of the places
    in `lines`; the room is (W, L, 2, C, H, D), the bias (H, T) or (H, 0)."""
    q, (heads, width), places = new[0], new.shape[2:], lines.shape[1]
    w = np.empty((heads, places), np.float32)
    for r in range(first, last):
        for part in range(2):
            room[lines[r, places - 1], layer, part, places - 1] = new[1 + part, r]
        begin = begins[r]
        for t in range(begin, places):
            keys = room[lines[r, t], layer, 0, t]
            for h in range(heads):
                total = np.float32(0)
                for d in range(width):
                    total += q[r, h, d] * keys[h, d]
                w[h, t] = total * scale
        for h in range(heads):
            most = -np.inf
            for t in range(begin, places):
                if bias.shape[1]:
                    w[h, t] += bias[h, t]
                most = max(most, w[h, t])
            total = np.float32(0)
            for t in range(begin, places):
                w[h, t] = math.exp(w[h, t] - most)
                total += w[h, t]
            for t in range(begin, places):
                w[h, t] /= total
            for d in range(width):
                out[r, h, d] = 0
        for t in range(begin, places):
            values = room[lines[r, t], layer, 1, t]
            for h in range(heads):
                for d in range(width):
                    out[r, h, d] += w[h, t] * values[h, d]
