"""Longformer: an encoder of long texts, whose attention slides along them (Beltagy et al. 2020).

    x_0 = Norm(E[token] + P[position] + S[segment])
    a position attends to      w / 2 positions on each side, and to the class token
    the class token attends    to all, by projections of its own, and all attend to it
    then as BERT (models/bert.py): post-norm x = Norm(x + Attention(x)); x = Norm(x + FFN(x)), masked tokens guessed

w may differ by layer (small below, large above), and so may the dilation: then a head sees every δ-th position, and
the window reaches δ times as far. As in the paper, dilation and global positions do not go together.

Time and memory grow with the length (nn/window.py). All tokens of a question, or any others, can be global instead of
the class token: `network(ids, lengths, everywhere=mask)`.

It goes on from a BERT (`--from runs/bert`): layers are copied, the table of positions is repeated until it is long
enough, and the projections of the class token begin as copies of those of all tokens.

Shapes: B batch, T time, K masked positions of a text, d width, H heads, L layers, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.attention import within
from lexigraph.nn.bidirectional import Embedding, MaskedHead, at, initialise
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.network import Examples, MaskFiller, Outputs, Seeds, States, ragged
from lexigraph.nn.transformer import Shape
from lexigraph.nn.window import Globals, WindowLayer, windows
from lexigraph.objectives import masking
from lexigraph.objectives.masked import Frame, Words, beginnings, check_rate, contents, framed, seeds_for
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(1024, 2, about="the longest text in tokens, the two at its boundaries included")
    window: tuple[int, ...] = ranged(
        (128,),
        2,
        1 << 16,
        about="positions that each attends to, half of them on each side: of every layer, or one for all",
    )
    dilation: tuple[int, ...] = ranged(
        (1,), 1, 1 << 10, about="the window holds every so many-th position: of every layer, or one for all"
    )
    dilated_heads: int = ranged(0, 0, about="how many heads of a layer are dilated; 0: all")
    globals: Literal["class", "none"] = key(
        "class", about="what attends to all, and all to it: the class token at the beginning, or nothing"
    )
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    segments: int = ranged(1, 1, about="kinds of text that it can tell apart")
    norm: Literal["pre", "post"] = key("post", about="norms before each part of a layer (pre) or after it (post)")
    eps: float = ranged(1e-12, 0, about="small number added to the variance in norms")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(
        0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random; attention weights stay"
    )


@dataclass(frozen=True)
class Objective:
    mask_rate: float = ranged(0.15, 0, 1, about="share of the tokens that are masked and predicted")
    dynamic: bool = key(True, about="mask other tokens in every epoch")
    whole_word: bool = key(False, about="mask all pieces of a word, or none")


class Encoder(nn.Module):
    """The layers; a last norm where norms come first."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        inner = config.inner or 4 * config.dim
        shape = Shape(config.dim, config.heads, inner, config.activation, config.dropout, config.norm, eps=config.eps)
        found = windows(
            config.layers, config.heads, config.window, config.dilation, config.dilated_heads, causal=False
        )
        if config.globals != "none" and max(config.dilation) > 1:
            raise UsageError(
                'model.dilation is for models without global positions, as in the paper: set model.globals = "none", '
                "or leave it at 1."
            )
        self.layers = nn.ModuleList(WindowLayer(shape, each, globals=config.globals != "none") for each in found)
        self.norm = shape.make_norm() if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        inside: Bool[Tensor, "B T"] | None,
        far: Globals | None,
        weights: list[Tensor] | None = None,
    ) -> list[Float[Tensor, "B T d"]]:
        """What goes into the first layer, and what comes out of each."""
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], inside=inside, far=far, weights=weights))
        return [*states[:-1], self.norm(states[-1])]


class Longformer(MaskFiller):
    """The network; `network(ids)` gives the logits of every position's token."""

    heads = ("head",)
    continues: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {"bert": ("layers", "heads", "dim", "inner", "segments", "norm", "eps", "activation")}
    )

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        check_rate(objective.mask_rate)
        self.config, self.objective, self.vocabulary, self.width = config, objective, len(tokens), config.dim
        self.frame, self.words = Frame.of(tokens), Words.of(tokens)
        self.context = config.context - 2  # tokens of a text, without boundaries
        if self.context < 1:
            raise UsageError(f"model.context = {config.context} has no room for a token between the boundaries.")
        self.traits = Traits(context=self.context, corrupts_on_host=True)
        self.embedding = Embedding(
            self.vocabulary, config.dim, config.context, config.segments, config.eps, config.dropout
        )
        self.encoder = Encoder(config)
        self.head = MaskedHead(config.dim, config.dim, self.vocabulary, config.activation, config.eps)
        self.special = max(self.frame.first_word, self.words.first)  # ids below are no words
        self.apply(initialise)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens")}

    def inherited(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Those of a BERT, or of a Longformer with another context, as this network takes them."""
        table, size = weights["embedding.positions.weight"], self.config.context
        found = {
            name: weight for name, weight in weights.items() if name.split(".")[0] in ("embedding", "encoder", "head")
        }
        found["embedding.positions.weight"] = table.repeat(-(-size // len(table)), 1)[:size]
        for name in self.state_dict():
            if name not in found and ".global_" in name:  # encoder.layers.0.attention.global_query.weight
                start, kind = name.split("global_")[0], name.rpartition(".")[2]
                query, key_value = found[f"{start}qkv.{kind}"].split([self.width, 2 * self.width])
                found[name] = query if "global_query" in name else key_value
        return found

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        everywhere: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token at every position. Without `lengths`, there is no padding; `everywhere`: which
        positions are global, instead of the class token."""
        return self.head.logits(self.hidden(ids, lengths, segments, everywhere), self.embedding.tokens.weight)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        everywhere: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """The last layer's output."""
        return self._through(ids, lengths, segments, everywhere)[-1]

    def _through(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        everywhere: Bool[Tensor, "B T"] | None = None,
        weights: list[Tensor] | None = None,
    ) -> list[Float[Tensor, "B T d"]]:
        x = self.embedding(ids, segments)
        inside = None if lengths is None else within(lengths, ids.shape[1])[:, 0, 0]
        far = None
        if self.config.globals != "none":
            far = Globals.first(x) if everywhere is None else Globals.of(everywhere)
        return self.encoder(x, inside, far, weights)

    def states(self, batch: Batch) -> States:
        return States(self._through(batch["inputs"], batch["lengths"]), batch["lengths"])

    def masked_logits(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None, positions: Int[Tensor, "B K"]
    ) -> Float[Tensor, "B K V"]:
        """Logits of the tokens at some positions only."""
        return self.head.logits(at(self.hidden(ids, lengths), positions), self.embedding.tokens.weight)

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B K V"]:
        """Logits of the tokens that a batch has masked."""
        return self.masked_logits(batch["inputs"], batch["lengths"], batch["positions"])

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        logits = self(batch["inputs"], batch["lengths"])
        return {"text": [row[:length] for row, length in zip(logits, batch["lengths"].tolist(), strict=True)]}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences, boundaries included: some tokens masked, and where they stood."""
        objective, texts = self.objective, ragged(examples["text"])
        rows = []
        for text, seed in zip(
            texts, seeds_for(texts, None if seeds is None else seeds[MAIN], objective.dynamic).tolist(), strict=True
        ):
            row = contents(text, self.context, self.frame)
            rows.append(
                masking.masked(
                    row,
                    random_of(seed),
                    mask_rate=objective.mask_rate,
                    mask=self.frame.mask,
                    vocabulary=self.vocabulary,
                    special=self.special,
                    begins=beginnings(self.words, row) if objective.whole_word else None,
                )
            )
        tensors = framed(rows, [], self.frame)
        return Batch(tensors, {"loss": float((tensors["targets"] != IGNORE).sum())})

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        guessed = self.head(at(self.hidden(batch["inputs"], batch["lengths"]), batch["positions"]))
        table = self.embedding.tokens.weight
        return next_token_terms(guessed, table, batch, bias=self.head.bias, pad=self.frame.pad), None

    def attention_weights(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "L B H T T"]]:
        """Logits and every attention weight, computed in the open."""
        weights: list[Tensor] = []
        hidden = self._through(ids, lengths, weights=weights)[-1]
        return self.head.logits(hidden, self.embedding.tokens.weight), torch.stack(weights)
