"""Sixteen numbers at a time, in kernels that Numba compiles.

    x = load(h, place)                    # h[place : place + 16]
    store(u, place, fma(splat(g), x, load(u, place)))       # u[place : place + 16] += g · x

The compiler turns plain loops into such steps by itself, but it cannot know that two tables do not overlap, and then
writes every sum to memory and reads it back. Said like this, sums stay in registers. On processors with shorter
registers a step becomes two or four of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

SIMD_WIDTH = 16
VECTOR = ir.VectorType(ir.FloatType(), SIMD_WIDTH)


class VectorType(types.Type):
    """Sixteen float32 in a register."""

    def __init__(self) -> None:
        super().__init__(name="simd_vector")


simd_vector = VectorType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def _step(function: Callable[..., Any]) -> Any:
    """An operation that a kernel may call; `function` types its arguments and builds its code."""
    return intrinsic(unwrap(function))


def _pointer(builder: Any, array: Any, place: Any) -> Any:
    """Where array[place] lies, as the address of a vector."""
    return builder.bitcast(builder.gep(array, [place]), VECTOR.as_pointer())


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


@_step
def load(typing, array, place):
    """array[place : place + 16], of a float32 array without gaps."""

    def build(context, builder, signature, values):
        pointer = _pointer(builder, _data(context, builder, signature.args[0], values[0]), values[1])
        return builder.load(pointer, align=4)

    return simd_vector(array, types.int64), build


@_step
def store(typing, array, place, value):
    """array[place : place + 16] = value."""

    def build(context, builder, signature, values):
        pointer = _pointer(builder, _data(context, builder, signature.args[0], values[0]), values[1])
        builder.store(values[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, simd_vector), build


@_step
def fetch(typing, array, place):
    """Send for array[place : place + 16], which is going to be written to, and go on."""

    def build(context, builder, signature, values):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        pointer = builder.gep(_data(context, builder, signature.args[0], values[0]), [values[1]])
        to_write, soon, data = (ir.Constant(number, value) for value in (1, 3, 1))
        builder.call(function, [builder.bitcast(pointer, byte), to_write, soon, data])
        return context.get_dummy_value()

    return types.void(array, types.int64), build


@_step
def splat(typing, number):
    """The same number sixteen times."""

    def build(context, builder, signature, values):
        first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), values[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), SIMD_WIDTH), [0] * SIMD_WIDTH)
        return builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), zeros)

    return simd_vector(types.float32), build


@_step
def fma(typing, a, b, c):
    """a · b + c."""

    def build(context, builder, signature, values):
        a, b, c = values
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    return simd_vector(simd_vector, simd_vector, simd_vector), build


@_step
def times(typing, a, b):
    """a · b."""

    def build(context, builder, signature, values):
        return builder.fmul(*values)

    return simd_vector(simd_vector, simd_vector), build


@_step
def over_root(typing, a, b):
    """a / √b."""

    def build(context, builder, signature, values):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        root = get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{SIMD_WIDTH}f32")
        return builder.fdiv(values[0], builder.call(root, [values[1]]))

    return simd_vector(simd_vector, simd_vector), build


@_step
def total(typing, value):
    """The sum of the sixteen."""

    def build(context, builder, signature, values):
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), VECTOR])
        function = get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{SIMD_WIDTH}f32")
        return builder.call(function, [ir.Constant(ir.FloatType(), -0.0), values[0]], fastmath=("reassoc",))

    return types.float32(simd_vector), build
