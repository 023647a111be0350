"""BERT: a transformer that reads in both directions and guesses masked tokens (Devlin et al. 2019).

    x_0 = Norm(E[token] + P[position] + S[segment])
    post-norm   x = Norm(x + Attention(x));  x = Norm(x + FFN(x))      every position sees every other
    pre-norm    x = x + Attention(Norm(x));  x = x + FFN(Norm(x));     a last Norm before the heads
    p(token at t) = softmax(Norm(f(x_t W + b)) Eᵀ + c)                 the output table is the input's

A text is read as <begin> w_1 … w_n <end>. Of its tokens, 15 % are chosen to be guessed: most of them are replaced
by <mask>, some become another token and some stay (objectives/masking.py); only they have a loss. With `dynamic`
every epoch masks others (Liu et al. 2019), without it a text is masked in one way for ever; `whole_word` masks all
pieces of a word together.

Two segments (`objective.next_sentence`): sentence order (ALBERT's), not the paper's next sentence. The paper asks
whether text B followed text A or came from elsewhere in the corpus. Here an example knows of no other one, so that
batches may be cut in any way; therefore B comes from nearby: a text is cut in two, after the end of a sentence if
there is one inside, else before a word; half of the texts have their parts exchanged, and the model tells which:
<begin> A <end> B <end>. This is the task of Lan et al. (2020) in BERT's form. It means most where lines or windows
hold several sentences: a line's first word gives itself away.

Shapes: B batch, T time, K chosen positions of a text, d width, H heads, L layers, V vocabulary, e width of
embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.bidirectional import Embedding, Encoder, MaskedHead, at, initialise
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, MaskFiller, Outputs, Seeds, States, ragged
from lexigraph.nn.transformer import Shape
from lexigraph.objectives import masking
from lexigraph.objectives.masked import Frame, Words, beginnings, check_rate, contents, framed, seeds_for
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(128, 2, about="the longest text in tokens, the two at its boundaries included")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    segments: int = ranged(2, 1, about="kinds of text that it can tell apart")
    norm: Literal["pre", "post"] = key("post", about="norms before each part of a layer (pre) or after it (post)")
    eps: float = ranged(1e-12, 0, about="small number added to the variance in norms")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.1, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    pooler: bool = key(False, about="whether it has the head that tells the order of two segments")


@dataclass(frozen=True)
class Objective:
    mask_rate: float = ranged(0.15, 0, 1, about="share of the tokens that are masked and predicted")
    dynamic: bool = key(True, about="mask other tokens in every epoch")
    whole_word: bool = key(False, about="mask all pieces of a word, or none")
    next_sentence: bool = key(
        False,
        about="also tell whether the two parts of a text are exchanged (ALBERT's sentence order); needs model.pooler",
    )


class BERT(MaskFiller):
    """The network; `network(ids)` gives the logits of every position's token."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary = len(tokens)
        check_rate(objective.mask_rate)
        if objective.next_sentence and not (config.pooler and config.segments > 1):
            raise UsageError("objective.next_sentence needs model.pooler = true and two model.segments.")
        inner = config.inner or 4 * config.dim
        shape = Shape(config.dim, config.heads, inner, config.activation, config.dropout, config.norm, eps=config.eps)
        self.config, self.objective, self.vocabulary, self.width = config, objective, vocabulary, config.dim
        self.frame, self.words = Frame.of(tokens), Words.of(tokens)
        self.context = config.context - 2 - objective.next_sentence  # tokens of a text, without boundaries
        if self.context < 1:
            raise UsageError(f"model.context = {config.context} has no room for a token between the boundaries.")
        terms = ("loss", "next_sentence") if objective.next_sentence else ("loss",)
        self.traits = Traits(context=self.context, corrupts_on_host=True, terms=terms)
        self.embedding = Embedding(
            vocabulary, config.dim, config.context, config.segments, config.eps, config.dropout
        )
        self.encoder = Encoder(shape, config.layers, config.dim)
        self.head = MaskedHead(config.dim, config.dim, vocabulary, config.activation, config.eps)
        self.heads = ("head", "pool", "order") if config.pooler else ("head",)
        if config.pooler:
            self.pool, self.order = nn.Linear(config.dim, config.dim), OutputTable(config.dim, 2)
            for parameter in (*self.pool.parameters(), *self.order.parameters()):
                parameter.requires_grad_(objective.next_sentence)  # else nothing is asked of them
        self.special = max(self.frame.first_word, self.words.first)  # ids below are no words
        self.apply(initialise)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens")}

    def remark(self, examples: Examples) -> str:
        """What a user should know before training: which task the second segment serves."""
        if not self.objective.next_sentence:
            return ""
        return (
            "objective.next_sentence is sentence order (ALBERT's), not the paper's next sentence: both segments come "
            "from one text, half of the time exchanged, and none from elsewhere in the corpus."
        )

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token at every position, seen from all around it. Without `lengths`, there is no padding."""
        return self.head.logits(self.hidden(ids, lengths, segments), self.embedding.tokens.weight)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T d"]:
        """The last layer's output."""
        return self.encoder(self.embedding(ids, segments), lengths)

    def states(self, batch: Batch) -> States:
        segments = batch.tensors.get("segments") if self.config.segments > 1 else None
        x = self.embedding(batch["inputs"], segments)
        return States(self.encoder.states(x, batch["lengths"]), batch["lengths"])

    def pooled(self, hidden: Float[Tensor, "B T d"]) -> Float[Tensor, "B d"]:
        """What the first position says of the whole."""
        return self.pool(hidden[:, 0]).tanh()

    def masked_logits(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None,
        positions: Int[Tensor, "B K"],
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B K V"]:
        """Logits of the tokens at some positions only."""
        return self.head.logits(at(self.hidden(ids, lengths, segments), positions), self.embedding.tokens.weight)

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B K V"]:
        """Logits of the tokens that a batch has masked."""
        return self.masked_logits(
            batch["inputs"], batch["lengths"], batch["positions"], batch.tensors.get("segments")
        )

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        logits = self(batch["inputs"], batch["lengths"], batch.tensors.get("segments"))
        return {"text": [row[:length] for row, length in zip(logits, batch["lengths"].tolist(), strict=True)]}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences, boundaries included: some tokens hidden, and where they stood."""
        objective, texts = self.objective, ragged(examples["text"])
        own = seeds_for(texts, None if seeds is None else seeds[MAIN], objective.dynamic)
        rows: list[tuple[np.ndarray, np.ndarray]] = []
        cuts, exchanged = [], []
        for text, seed in zip(texts, own.tolist(), strict=True):
            random, row = random_of(seed), contents(text, self.context, self.frame)
            cut = 0
            if objective.next_sentence:
                row, cut, swapped = two_segments(row, random, self.words)
                cuts.append(cut)
                exchanged.append(swapped)
            begins = beginnings(self.words, row, cut) if objective.whole_word else None
            rows.append(
                masking.masked(
                    row,
                    random,
                    mask_rate=objective.mask_rate,
                    mask=self.frame.mask,
                    vocabulary=self.vocabulary,
                    special=self.special,
                    begins=begins,
                )
            )
        tensors = framed(rows, cuts, self.frame)
        counts = {"loss": float((tensors["targets"] != IGNORE).sum())}
        if objective.next_sentence:
            tensors["exchanged"] = torch.tensor(exchanged)
            counts["next_sentence"] = float(len(rows))
        return Batch(tensors, counts)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden = self.hidden(batch["inputs"], batch["lengths"], batch.tensors.get("segments"))
        guessed = self.head(at(hidden, batch["positions"]))
        terms = next_token_terms(
            guessed, self.embedding.tokens.weight, batch, bias=self.head.bias, pad=self.frame.pad
        )
        if self.objective.next_sentence:
            nll = F.cross_entropy(self.order(self.pooled(hidden)), batch["exchanged"], reduction="sum")
            terms["next_sentence"] = Term(nll, batch.counts["next_sentence"])
        return terms, None

    def attention_weights(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "L B H T T"]]:
        """Logits and every attention weight, computed in the open."""
        weights: list[Tensor] = []
        hidden = self.encoder(self.embedding(ids), lengths, weights)
        return self.head.logits(hidden, self.embedding.tokens.weight), torch.stack(weights)


def two_segments(
    row: Int[np.ndarray, " n"], random: np.random.Generator, words: Words
) -> tuple[Int[np.ndarray, " n"], int, int]:
    """A text cut in two, half of the time with its parts exchanged: the text, the length of its first part, and
    whether they are exchanged."""
    cut, swapped = len(row), 0
    if len(row) > 1:
        anywhere = np.arange(1, len(row))
        after_sentences = anywhere[words.stops[row[:-1]]]
        before_words = anywhere[words.begins[row[1:]]]
        choices = next(positions for positions in (after_sentences, before_words, anywhere) if len(positions))
        cut, swapped = int(random.choice(choices)), int(random.integers(2))
    if swapped:
        row, cut = np.concatenate([row[cut:], row[:cut]]), len(row) - cut
    return row, cut, swapped
