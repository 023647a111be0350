"""What the module of a family offers: settings and weights under the names of either side."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from torch import Tensor

from lexigraph.text.readers import Json
from lexigraph.text.vocabularies import Vocabularies, Vocabulary

Settings = dict[str, Json]  # their config.json, or the fields of our Config, whose types are checked when it is made
Tensors = dict[str, Tensor]


@runtime_checkable
class Config(Protocol):
    """What the Configs of all these systems have."""

    @property
    def layers(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def dim(self) -> int: ...


@runtime_checkable
class Exchange(Protocol):
    """A family's module; which settings it reads and whose Config it takes, each says more narrowly."""

    def config_from(self, theirs: Settings, **weights: Collection[str]) -> Settings:
        """Our Config's fields; `weights`: the names in the file, for a module that asks for them."""

    def config_to(self, config: Config, vocabulary: int, **pad: int) -> Settings:
        """Their config.json; `pad`: the id of padding, likewise."""

    def weights_from(self, theirs: Tensors, config: Config) -> Tensors:
        """Our weights."""

    def weights_to(self, ours: Tensors, config: Config, **pad: int) -> Tensors:
        """Their weights; `pad`: likewise."""


@runtime_checkable
class PictureExchange(Protocol):
    """The same of a family that reads pictures and no text."""

    def config_from(self, theirs: Settings) -> Settings: ...

    def vocabularies_from(self, theirs: Settings, processor: Settings) -> dict[str, Vocabulary]:
        """What dots and classes are; `processor`: their preprocessor_config.json."""

    def config_to(self, config: Config, vocabularies: Vocabularies) -> Settings: ...

    def processor_to(self, vocabularies: Vocabularies) -> Settings:
        """Their preprocessor_config.json."""

    def weights_from(self, theirs: Tensors, config: Config) -> Tensors: ...

    def weights_to(self, ours: Tensors, config: Config) -> Tensors: ...
