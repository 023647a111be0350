"""What autoencoders have in common: a sentence becomes a vector z, and z the sentence again.

A sentence is encoded as w_1 … w_n <eos> and decoded from <eos> w_1 … w_{n-1} on; the decoder sees z and nothing else
of the sentence.

Shapes: B batch, T time, V vocabulary, k entries of z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.errors import LexigraphError
from lexigraph.nn.network import Beginning, Decoder, Outputs, Seeds, unpadded
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.text.columns import Column, Columns, Traits

if TYPE_CHECKING:
    from lexigraph.recipe import Recipe


@runtime_checkable
class Settings(Protocol):
    """The keys of an objective that are read here."""

    @property
    def label_smoothing(self) -> float: ...
    @property
    def variational(self) -> bool: ...
    @property
    def anneal(self) -> int: ...


class Autoencoder(Decoder):
    """A network with a space of sentences."""

    latent: int  # k
    pad: int
    objective: Any  # of its system, with these `Settings` and others
    embedding: nn.Embedding  # of encoder and decoder, and of the output unless it has a table of its own
    draws = False  # whether z becomes a picture on its way to the decoder,
    side = 0  # of so many dots in height and width
    noise_level = 0.0  # the most noise on z that its decoder was trained with

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens")}

    def encode(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], unnormalised: bool = False
    ) -> Float[Tensor, "B k"]:
        """The vectors of sentences w_1 … w_n <eos>, padded on the right; `unnormalised`: with their own norms."""
        raise NotImplementedError

    def posterior(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B k"], Float[Tensor, "B k"]]:
        """Mean and log variance of z, of a variational one."""
        raise NotImplementedError

    def logits(self, z: Float[Tensor, "B k"], ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits of the tokens after each of <eos> w_1 … w_n, given vectors."""
        raise NotImplementedError

    def draw(self, z: Float[Tensor, "B k"]) -> Float[Tensor, "B 3 side side"]:
        """The pictures of vectors, in [-1, 1]."""
        raise LexigraphError("This model draws no pictures.")

    def logits_of_picture(
        self, picture: Float[Tensor, "B 3 side side"], ids: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """As `logits`, given pictures."""
        raise LexigraphError("This model reads no pictures.")

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        lengths = (batch["targets"] != IGNORE).sum(1)
        z = self.encode(batch["targets"].clamp(min=0), lengths)
        return {"z": list(z), "text": unpadded(self.logits(z, batch["inputs"]), batch)}

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """The vectors of the sentences; each is written from its first token on."""
        z = self.encode(batch["targets"].clamp(min=0), (batch["targets"] != IGNORE).sum(1))
        return Beginning({"z": z}, [1] * len(given))


class Output(nn.Module):
    """The loss over the vocabulary: a module, so that it can be compiled by itself."""

    def __init__(self, smoothing: float | int, pad: int) -> None:
        super().__init__()
        self.smoothing, self.pad = smoothing, pad

    def forward(
        self,
        hidden: Float[Tensor, "B T d"],
        table: Float[Tensor, "V d"],
        bias: Float[Tensor, " V"] | None,
        batch: Batch,
    ) -> Terms:
        return next_token_terms(hidden, table, batch, bias=bias, smoothing=self.smoothing, pad=self.pad)


def sentence_traits(
    context: int, objective: Settings, *, terms: tuple[str, ...] = (), compile_regions: tuple[type, ...] = ()
) -> Traits:
    """A sentence is read whole or not at all. Until the KL of a variational one has its full weight, no weights are
    the best."""
    variational = ("kl",) if objective.variational else ()
    return Traits(
        context=context,
        reads_whole=True,
        terms=("loss", *variational, *terms),
        settled=objective.anneal if objective.variational else 0,
        compile_regions=compile_regions,
    )


def seed_tensors(seeds: Seeds | None, step: int | None) -> dict[str, Tensor]:
    """What noise in training depends on, as tensors, so that a recorded pass may be replayed with others: `seeds` of
    the main table's rows, `seeds_NAME` of those of a further one."""
    named = {f"seeds_{table}" if table else "seeds": values for table, values in (seeds or {}).items()}
    given = named | ({} if step is None else {"step": step})
    return {name: torch.as_tensor(value) for name, value in given.items()}
