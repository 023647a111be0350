"""Tests run with types and shapes checked: what was not promised is refused, and sizes agree within a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.nn.pooling import AttentionPooling
from lexigraph.text.batches import Rows
from tests.checked import check, checked

if TYPE_CHECKING:
    from nowhere import Unknown

typed = checked(typechecker=check)


@typed
def product(
    left: Float[Tensor, "rows inner"], right: Float[Tensor, "inner columns"]
) -> Float[Tensor, "rows columns"]:
    return left @ right if left.sum() >= 0 else right.T @ left.T


@typed
def total(arrays: Sequence[Int[np.ndarray, " length"]]) -> float:
    return float(sum(array.sum() for array in arrays))


@typed
def twice(number: float, of: Callable[[float], float] | None = None) -> str:
    return str(of(number) if of else number) if number else number


@typed
def both(one: Float[Tensor, " n"], other: Float[Tensor, " m"]) -> tuple[Tensor, Tensor]:
    return product(one[None], one[:, None]), product(other[None], other[:, None])


@typed
def counted(upto: int, unknown: Unknown = None) -> Iterator[int]:
    yield from range(upto)


@typed
@dataclass(frozen=True)
class Point:
    at: Float[np.ndarray, " dim"]
    name: str = ""


def test_sizes_of_one_name_are_the_same_within_a_call():
    assert product(torch.ones(2, 3), torch.ones(3, 4)).shape == (2, 4)
    with pytest.raises(BeartypeCallHintViolation, match="right"):
        product(torch.ones(2, 3), torch.ones(2, 4))
    with pytest.raises(BeartypeCallHintViolation, match="left"):
        product(torch.ones(3), torch.ones(3, 4))


def test_what_is_returned_has_the_promised_size_and_type():
    with pytest.raises(BeartypeCallHintViolation, match="return"):
        product(-torch.ones(2, 3), torch.ones(3, 4))
    with pytest.raises(BeartypeCallHintViolation, match="return"):
        twice(0)


def test_a_name_of_a_size_means_nothing_in_another_call():
    one, other = both(torch.ones(2), torch.ones(5))  # `inner` is 2, then 5
    assert [float(one), float(other)] == [2.0, 5.0]


def test_arguments_have_the_promised_types():
    assert twice(1) == "1"  # a whole number where a float is asked for
    assert total([np.arange(3), np.arange(3)]) == 6
    for wrong in (lambda: twice("1"), lambda: twice(1, of=2), lambda: total([np.ones(3)])):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()


def test_fields_of_a_dataclass_and_arguments_of_a_generator_are_checked():
    assert Point(np.ones(2)).name == ""
    with pytest.raises(BeartypeCallHintViolation):
        Point(np.ones((2, 2)))
    assert list(counted(2, unknown="whatever")) == [0, 1]
    with pytest.raises(TypeError, match="upto"):  # jaxtyping's own error
        counted("2")


def test_the_package_is_checked():
    with pytest.raises(BeartypeCallHintViolation):
        AttentionPooling(dim=4)(torch.ones(2, 4))  # no batch of positions
    with pytest.raises(BeartypeCallHintViolation):
        Rows(np.zeros(2, int), np.ones(3, int))  # two starts, three lengths
