"""The size of a network before it is built: it is made without memory first, and what it would hold is counted.

with measured(recipe):
    skeleton = …        # tensors have their shapes and nothing else (torch's device "meta")
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.overrides import TorchFunctionMode

from lexigraph.errors import LexigraphError
from lexigraph.memory import available, shown
from lexigraph.nn.devices import choose_device
from lexigraph.recipe import Recipe

MOST_TENSORS = 12_000  # some 1,000 layers; to make more takes long, even without memory
FILLING = (Tensor.normal_, Tensor.uniform_, Tensor.fill_, Tensor.zero_, Tensor.copy_)
SCALING = (Tensor.mul, Tensor.div)
USUAL = 512  # what a key that is 0 by default is compared with
TRAINED = {
    "sgd": 2,
    "rmsprop": 3,
    "muon": 3,
    "adam": 4,
    "adamw": 4,
}  # weights, gradients and what the optimizer keeps


class Unfilled(TorchFunctionMode):
    """Weights are neither initialised nor scaled: without memory there is nothing to fill, and torch would load its
    compiler for it, which takes a second."""

    def __torch_function__(
        self, function: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if getattr(function, "__module__", "") == "torch.nn.init" or function in FILLING:
            return args[0] if args else kwargs["tensor"]
        if function in SCALING and isinstance(args[1], int | float):
            return args[0]
        return function(*args, **(kwargs or {}))


@contextmanager
def measured(recipe: Recipe, copies: int = 1) -> Iterator[None]:
    """Make networks without memory, and refuse one that the memory cannot hold, as soon as that is known.

    copies: how often each number is held.
    """
    most, count, size = available(), 0, 0

    def add(module: nn.Module, name: str, tensor: Tensor | None) -> None:
        nonlocal count, size
        if tensor is not None:
            count, size = count + 1, size + copies * tensor.numel() * tensor.element_size()
        if size > most:
            raise _too_large(recipe, f"would take more than {shown(size)} of memory, and there is {shown(most)}")
        if count > MOST_TENSORS:
            raise _too_large(recipe, f"would have more than {MOST_TENSORS:,} tensors, which no machine can train")

    hooks = [
        register_module_parameter_registration_hook(add),
        register_module_buffer_registration_hook(add),
    ]
    try:
        with torch.device("meta"), Unfilled():
            yield
    except (RuntimeError, OverflowError, MemoryError) as error:  # one tensor is beyond what can be counted
        if isinstance(error, RuntimeError) and "overflow" not in str(error):
            raise
        raise _too_large(recipe, "would take more memory than any machine has") from None
    finally:
        for hook in hooks:
            hook.remove()


def copies_in_training(recipe: Recipe) -> int:
    """How often the machine's memory holds each weight in training: where there is a card, or the weights are shared
    out, only when they are born."""
    whole = choose_device(recipe.train.device).type == "cpu" and recipe.train.parallel == "ddp"
    return TRAINED[recipe.train.optimizer] if whole else 1


def _too_large(recipe: Recipe, why: str) -> LexigraphError:
    """An error that names the key that is furthest from what is usual."""
    sections = {"model": recipe.model, **{f"parts.{name}": part.model for name, part in recipe.parts.items()}}
    sizes = {"tokenizer.size": (recipe.tokenizer.size, 4096)}
    for name, section in sections.items():
        for field in dataclasses.fields(section):
            value, usual = getattr(section, field.name), field.default
            if isinstance(value, int) and isinstance(usual, int) and not isinstance(value, bool):
                sizes[f"{name}.{field.name}"] = (value, usual or USUAL)
    key = max(sizes, key=lambda name: sizes[name][0] / sizes[name][1])
    return LexigraphError(f"{key} = {sizes[key][0]} makes this {recipe.system} too large: it {why}.")
