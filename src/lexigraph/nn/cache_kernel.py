"""The kernels of nn/cache.py: every row writes its key and value, and its query looks along its line.

write_and_score    w_t = q · k(beam_indices[t], t)
mix                out = Σ_t w_t v(beam_indices[t], t)            with w after its softmax

The new queries, keys and values are (R, 3, H, D) and stand at the last place of the beam_indices; the storage is
(W, L, 2, C, H, D), w is (R, H, T or more). Places before a row's beginning and behind the last have w = -inf.
"""

from __future__ import annotations

import numpy as np

from lexigraph.compiled import kernel

CACHE = "float32[:, :, :, :, :, ::1], int64, int64[:, ::1], int64[::1], float32[:, :, ::1]"


@kernel(f"void(float32[:, :, :, ::1], {CACHE})")
def write_and_score(new, storage, layer, beam_indices, begins, w):
    (rows, positions), (heads, width) = beam_indices.shape, new.shape[2:]
    for r in range(rows):
        for part in range(2):
            storage[beam_indices[r, positions - 1], layer, part, positions - 1] = new[r, 1 + part]
        w[r, :, : begins[r]] = -np.inf
        w[r, :, positions:] = -np.inf
        for t in range(begins[r], positions):
            keys = storage[beam_indices[r, t], layer, 0, t]
            for h in range(heads):
                total = np.float32(0)
                for d in range(width):
                    total += new[r, 0, h, d] * keys[h, d]
                w[r, h, t] = total


@kernel(f"void({CACHE}, float32[:, :, ::1])")
def mix(storage, layer, beam_indices, begins, w, out):
    (rows, positions), (heads, width) = beam_indices.shape, out.shape[1:]
    for r in range(rows):
        out[r] = 0
        for t in range(begins[r], positions):
            values = storage[beam_indices[r, t], layer, 1, t]
            for h in range(heads):
                for d in range(width):
                    out[r, h, d] += w[r, h, t] * values[h, d]
