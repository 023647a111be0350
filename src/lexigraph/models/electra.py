"""ELECTRA: a small generator guesses masked tokens, and a discriminator tells which tokens are its guesses
(Clark et al. 2020).

    m      some positions of the text, all replaced by <mask>
    p_G    = generator(text with m masked)                       a small BERT
    x̂_t    ~ p_G(t) for t in m,  x̂_t = x_t elsewhere             no gradient goes through the drawing
    D_t    = discriminator(x̂)                                    the logit of "replaced": x̂_t ≠ x_t
    loss   = Σ_{t in m} -log p_G(x_t) / |m|  +  λ Σ_t BCE(D_t, x̂_t ≠ x_t) / T              λ = 50

A guess that hits the true token counts as original. Every position teaches the discriminator something, not 15 % of
them, so that it learns more from the same text; it is what is kept. Both read with one table of embeddings (tokens,
positions and segments), which may be narrower than they are; the generator is as deep as the discriminator and a
quarter as wide.

Guesses are drawn by the inverse of the distribution function, from one number a position that belongs to the example
(objectives/rng.py): the same text is replaced in the same way in any batch.

Shapes: B batch, T time, K chosen positions of a text, d width, V vocabulary, e width of embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.bidirectional import Embedding, Encoder, MaskedHead, at, initialise
from lexigraph.nn.feedforward import ACTIVATIONS, Activation
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Detector, Examples, Outputs, Seeds, States, ragged
from lexigraph.nn.transformer import Shape
from lexigraph.objectives import masking, rng
from lexigraph.objectives.masked import Frame, Words, beginnings, check_rate, contents, framed, seeds_for
from lexigraph.objectives.next_token import IGNORE, SLICE, WIDE_SLICE, linear_cross_entropy
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

GUESS = 6  # the stream of random numbers that guesses are drawn from


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the discriminator")
    embedding: int = ranged(128, 1, about="width of the table of tokens that both networks read with")
    context: int = ranged(128, 2, about="the longest text in tokens, the two at its boundaries included")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    generator_share: float = key(
        0.25, about="the generator's width, heads and inner width, as a share of the discriminator's"
    )
    part: Literal["both", "discriminator", "generator"] = key(
        "both", about="which of the two networks it has; models from elsewhere come as one of them"
    )
    segments: int = ranged(2, 1, about="kinds of text that it can tell apart")
    norm: Literal["pre", "post"] = key("post", about="norms before each part of a layer (pre) or after it (post)")
    eps: float = ranged(1e-12, 0, about="small number added to the variance in norms")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    mask_rate: float = ranged(0.15, 0, 1, about="share of the tokens that are masked and predicted")
    dynamic: bool = key(True, about="mask other tokens in every epoch")
    whole_word: bool = key(False, about="mask all pieces of a word, or none")
    discriminator_weight: float = ranged(
        50.0, 0, about="weight of the discriminator's loss, which is far smaller than the generator's"
    )


class ELECTRA(Detector):
    """The network; `network(ids)` gives the discriminator's logits at all positions (a lone generator's)."""

    layer_names = r"^(?:discriminator|generator)\.layers\.(\d+)\."

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary = len(tokens)
        check_rate(objective.mask_rate)
        if config.activation not in ACTIVATIONS:
            raise UsageError(f"model.activation = {config.activation!r} must be one of {', '.join(ACTIVATIONS)}.")
        self.config, self.objective, self.vocabulary = config, objective, vocabulary
        self.frame, self.words = Frame.of(tokens), Words.of(tokens)
        self.context = config.context - 2  # tokens of a text, without boundaries
        if self.context < 1:
            raise UsageError(f"model.context = {config.context} has no room for a token between the boundaries.")
        self.traits = Traits(context=self.context, corrupts_on_host=True, terms=("loss", "generator"))
        self.embedding = Embedding(
            vocabulary, config.embedding, config.context, config.segments, config.eps, config.dropout
        )
        if config.part != "discriminator":
            small = generator_shape(config)
            self.generator = Encoder(small, config.layers, config.embedding)
            self.head = MaskedHead(small.dim, config.embedding, vocabulary, "gelu", config.eps)
        if config.part != "generator":
            self.discriminator = Encoder(_shape(config, 1.0), config.layers, config.embedding)
            self.dense, self.replaced = nn.Linear(config.dim, config.dim), OutputTable(config.dim, 1)
        self.width = generator_shape(config).dim if config.part == "generator" else config.dim
        all_heads = {"generator": ("head",), "discriminator": ("dense", "replaced")}
        self.heads = all_heads.get(config.part, ("generator", "head", "dense", "replaced"))
        self.special = max(self.frame.first_word, self.words.first)  # ids below are no words
        self.apply(initialise)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens")}

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T"] | Float[Tensor, "B T V"]:
        """Logits that each token was put in for another. Without `lengths`, there is no padding."""
        if self.config.part == "generator":
            return self.head.logits(self._guess(ids, lengths, segments), self.embedding.tokens.weight)
        return self._judge(self.hidden(ids, lengths, segments))

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """The discriminator's last layer."""
        if self.config.part == "generator":
            return self._guess(ids, lengths, segments)
        return self.discriminator(self.embedding(ids, segments), lengths)

    def states(self, batch: Batch) -> States:
        encoder = self.generator if self.config.part == "generator" else self.discriminator
        segments = batch.tensors.get("segments") if self.config.segments > 1 else None
        x = self.embedding(batch["inputs"], segments)
        return States(encoder.states(x, batch["lengths"]), batch["lengths"])

    def _judge(self, hidden: Float[Tensor, "B T d"]) -> Float[Tensor, "B T"]:
        bent = ACTIVATIONS[self.config.activation](self.dense(hidden))
        return self.replaced(bent).squeeze(2)

    def _guess(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T g"]:
        """The generator's last layer."""
        if self.config.part == "discriminator":
            raise LexigraphError("This model is a discriminator alone: it has no generator that guesses tokens.")
        return self.generator(self.embedding(ids, segments), lengths)

    def masked_logits(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None,
        positions: Int[Tensor, "B K"],
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B K V"]:
        """The generator's logits of the tokens at some positions only."""
        hidden = at(self._guess(ids, lengths, segments), positions)
        return self.head.logits(hidden, self.embedding.tokens.weight)

    # ---- training ----------------------------------------------------------------------------------------

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B K V"]:
        """The generator's logits of the tokens that a batch has masked."""
        return self.masked_logits(batch["inputs"], batch["lengths"], batch["positions"])

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """The discriminator's logits of the text as it is given; a lone generator's of all tokens."""
        logits = self(batch["inputs"], batch["lengths"])
        return {"text": [row[:length] for row, length in zip(logits, batch["lengths"].tolist(), strict=True)]}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences, boundaries included: some tokens hidden, and where they stood."""
        texts, rows = ragged(examples["text"]), []
        own = seeds_for(texts, None if seeds is None else seeds[MAIN], self.objective.dynamic)
        for text, seed in zip(texts, own.tolist(), strict=True):
            random, row = random_of(seed), contents(text, self.context, self.frame)
            begins = beginnings(self.words, row) if self.objective.whole_word else None
            chosen = masking.choose(
                row, random, special=self.special, mask_rate=self.objective.mask_rate, begins=begins
            )
            hidden = row.copy()
            hidden[chosen] = self.frame.mask
            rows.append((hidden, masking.targets_at(row, chosen)))
        tensors = framed(rows, [], self.frame)
        tensors["seeds"] = torch.as_tensor(own)
        counts = {
            "loss": float(tensors["lengths"].sum()),
            "generator": float((tensors["targets"] != IGNORE).sum()),
        }
        return Batch(tensors, counts)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        if self.config.part != "both":
            raise LexigraphError(f"A {self.config.part} alone cannot be trained: ELECTRA learns with both parts.")
        guesses = self.head(at(self._guess(batch["inputs"], batch["lengths"]), batch["positions"]))
        wanted, table = batch["targets"], self.embedding.tokens.weight
        nll, items = linear_cross_entropy(guesses.flatten(0, 1), table, self.head.bias, wanted.flatten())
        ids, replaced = self._replaced(batch, guesses.detach())
        logits = self._judge(self.hidden(ids, batch["lengths"]))
        seen = torch.arange(ids.shape[1], device=ids.device) < batch["lengths"][:, None]
        errors = F.binary_cross_entropy_with_logits(logits, replaced.to(logits.dtype), reduction="none") * seen
        return {
            "loss": Term(errors.sum(), batch.counts["loss"], self.objective.discriminator_weight, errors.detach()),
            "generator": Term(nll, batch.counts["generator"], items=items.view_as(wanted)),
        }, None

    @torch.no_grad()
    def replace(self, batch: Batch) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        """What the discriminator reads, and 1 where that is not the true token."""
        guesses = self.head(at(self._guess(batch["inputs"], batch["lengths"]), batch["positions"]))
        return self._replaced(batch, guesses)

    @torch.no_grad()
    def _replaced(
        self, batch: Batch, guesses: Float[Tensor, "B K e"]
    ) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        """The text with drawn tokens at the chosen positions, and 1 where they are not the true ones."""
        positions, wanted = batch["positions"], batch["targets"]
        numbers = rng.uniform(batch["seeds"], positions.shape[1], GUESS)
        drawn = self._draw(guesses.flatten(0, 1), numbers.flatten()).view_as(positions)
        chosen = wanted != IGNORE
        drawn = torch.where(
            chosen, drawn, batch["inputs"].gather(1, positions)
        )  # rows with fewer positions: as it was
        ids = batch["inputs"].scatter(1, positions, drawn)
        return ids, torch.zeros_like(ids).scatter(1, positions, (chosen & (drawn != wanted)).long())

    def _draw(self, guesses: Float[Tensor, "N e"], numbers: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
        """The token at which the summed probabilities reach each number; a slice of positions at a time."""
        rows = max(1, (SLICE if guesses.device.type == "cpu" else WIDE_SLICE) // self.vocabulary)
        drawn = []
        for part, number in zip(guesses.split(rows), numbers.split(rows), strict=True):
            logits = F.linear(part, self.embedding.tokens.weight, self.head.bias)
            summed = logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(1).cumsum(1)
            drawn.append(torch.searchsorted(summed, number[:, None] * summed[:, -1:]))
        return torch.cat(drawn).squeeze(1)


def generator_shape(config: Config) -> Shape:
    """Of the generator's layers."""
    return _shape(config, 1.0 if config.part == "generator" else config.generator_share)


def _shape(config: Config, share: float) -> Shape:
    dim, heads = round(share * config.dim), max(1, round(share * config.heads))
    if dim < 1 or dim % heads:
        raise UsageError(
            f"{share:g} of model.dim = {config.dim} must be a multiple of {share:g} of model.heads = {config.heads}: "
            "change these, or model.generator_share."
        )
    inner = max(1, round(share * (config.inner or 4 * config.dim)))
    return Shape(dim, heads, inner, config.activation, config.dropout, config.norm, eps=config.eps)
