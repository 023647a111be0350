"""The kernels of nn/linear.py for products in 8 bits: every row of x is rounded by its own range.

round_rows      q = round(x / s) + z,  s = (max - min) / top,  z = round(-min / s)        min ≤ 0 ≤ max
scale_rows      y = s (q W8ᵀ - z (W8 1)ᵀ) + b      from q W8ᵀ + b;  W8 1: the sums of its rows
round_evenly    the same with z = (top + 1) / 2 for all rows, so that z (W8 1)ᵀ is a constant, and y a multiple of
                what the product gives; s is negative where the furthest number is: every row ends at the top

The first two take the s and z that torch takes for a whole tensor, with its smallest s and its order of roundings, so
that a row that is alone may be left to torch (whose oneDNN decides otherwise for two in a million numbers, which lie
halfway between two steps). `grid` (n, 2) is s and z of every row.

Tensors x, q (n, d) and y (n, k) are given by their addresses: to make arrays of them takes longer than to round rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from lexigraph.compiled import kernel

FINEST = np.float32(6.1e-5)
SMALLEST = np.float32(1e-30)  # a row of zeros has a scale, too
SIGN = np.int32(-(2**31))  # positive numbers are in the order of their bits, and negative ones with this bit turned
BLOCK = 2048  # outputs, whose sums and biases a core keeps at hand for all rows


def _pointer(_: Any, address: Any) -> Any:
    def cast(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], cgutils.voidptr_t)

    return types.voidptr(address), cast


at: Any = intrinsic(_pointer)  # what stands at an address


@kernel("void(int64, int64, float32, int64, float32[:, ::1])")
def round_rows(x, d, top, q, grid):
    n, ends = len(grid), np.zeros(2, np.int32)
    values, bits = carray(at(x), (n, d), np.float32), carray(at(x), (n, d), np.int32)
    rounded, limits = carray(at(q), (n, d), np.float32), ends.view(np.float32)
    for r in range(n):
        low, high = np.int32(0), np.int32(0)
        for i in range(d):  # as integers, of which a processor compares many at once
            low = max(low, bits[r, i] ^ SIGN)
            high = max(high, bits[r, i])
        ends[0], ends[1] = low, high  # of -min and max
        span = np.float64(limits[0]) + np.float64(limits[1])
        zero = np.float32(np.rint(limits[0] * top / span) if span > 0 else 0.0)
        scale = max(np.float32(span / top), FINEST)
        inverse = np.float32(1) / scale
        for i in range(d):
            rounded[r, i] = np.int32(min(max(np.rint(values[r, i] * inverse + zero), np.float32(0)), top))
        if high > 0 and np.rint(limits[1] * inverse + zero) == top - 1:  # halfway: up, so that a row ends at the top
            for i in range(d):
                if bits[r, i] == high:
                    rounded[r, i] = top
        grid[r, 0], grid[r, 1] = scale, zero


@kernel("void(int64, int64, float32, int64, float32[::1])")
def round_evenly(x, d, top, q, scales):
    n, ends = len(scales), np.zeros(2, np.int32)
    values, bits = carray(at(x), (n, d), np.float32), carray(at(x), (n, d), np.int32)
    rounded, limits = carray(at(q), (n, d), np.float32), ends.view(np.float32)
    zero = (top + np.float32(1)) / np.float32(2)
    for r in range(n):
        low, high = np.int32(0), np.int32(0)
        for i in range(d):
            low = max(low, bits[r, i] ^ SIGN)
            high = max(high, bits[r, i])
        ends[0], ends[1] = low, high  # of -min and max
        scale = max(limits[0], limits[1], SMALLEST) / (top - zero)
        scales[r] = scale if limits[1] >= limits[0] else -scale
        inverse = np.float32(1) / scales[r]
        for i in range(d):
            rounded[r, i] = np.int32(min(np.rint(values[r, i] * inverse) + zero, top))


@kernel("void(int64, float32[:, ::1], float32[::1], float32[::1])")
def scale_rows(y, grid, sums, bias):
    outputs = carray(at(y), (len(grid), len(sums)), np.float32)
    for last in range(len(sums), 0, -BLOCK):  # from the end, which was written last and is still at hand
        first = max(0, last - BLOCK)
        some_sums, some_bias = sums[first:last], bias[first:last]
        for r in range(len(grid)):
            scale, zero, row = grid[r, 0], grid[r, 1], outputs[r, first:last]
            for k in range(len(row)):
                row[k] = scale * (row[k] - some_bias[k] - zero * some_sums[k]) + some_bias[k]
