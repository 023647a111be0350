"""Sentence encoders that learn from the sentences around: skip-thought, and the universal sentence encoder.

    z = encoder(w_1 … w_n <eos>)

    gru, lstm       the last state of one direction, or of both side by side     (skip-thought: Kiros et al. 2015)
    transformer     Σ_t h_t, or that over √T                                  (universal encoder: Cer et al. 2018)
    average         Σ_t e_t / √T through layers of tanh                    (deep averaging network: Iyyer et al. 2015)
                    no layers: the sum of the tokens' vectors itself                            (Wieting et al. 2016)

T is n + 1, as the end is one of the tokens.

What is learned, each with its weight, from one encoder:

    written         - log p(sentence before | z) - log p(sentence after | z), nats per token, by two GRUs
                    h_t = GRU([e_{t-1}; z], h_{t-1}),   h_0 = tanh(V z),   p = softmax(E P h_t + b)
    ranked          - log softmax_j(s z_i · y_j) at j = i, y_i the next sentence's vector by a tower of its own above
                    the same encoder; those of the batch's other rows are the wrong ones    (Henderson et al. 2017);
                    without the tower y_i is z of the next sentence
    labelled        - log p(class | z), of other examples ([data.labelled])

Vectors are compared by their cosine: z and y are divided by their norms, and s is learned. If `objective.samples` is
not 0, training compares a written token with so many drawn ones (objectives/sampled.py).

Shapes: B sentences, T tokens, e width of a token's vector, d width of z, V vocabulary, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.attention import within
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, Network, Outputs, Seeds, ragged
from lexigraph.nn.positions import sinusoidal
from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.objectives import sampled
from lexigraph.objectives.next_token import IGNORE, next_token_terms, shifted
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

BEFORE, AFTER, LABELLED, LABEL = "before", "after", "labelled", "label"
SIDES = (BEFORE, AFTER)


@dataclass(frozen=True)
class Config:
    encoder: Literal["gru", "lstm", "transformer", "average"] = key("gru", about="what reads a sentence")
    pooling: Literal["last", "sum", "root", "max"] = key(
        "last", about="how states become z: the last one, their sum, that over √n (root), or their largest numbers"
    )
    dim: int = ranged(512, 1, about="numbers in z")
    embedding: int = ranged(0, 0, about="numbers in the vector of a token; 0: as many as in z")
    bidirectional: bool = key(False, about="gru and lstm: one reads from the end, too; they share dim")
    layers: int = ranged(1, 0, about="layers of the encoder; 0 (average only): z is what is pooled")
    heads: int = ranged(4, 1, about="transformer: attention heads")
    context: int = ranged(64, 2, about="the longest sentence in tokens, its end included; longer ones are left out")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")


@dataclass(frozen=True)
class Objective:
    written: float = ranged(1.0, 0, about="weight of writing the sentences before and after")
    ranked: float = ranged(0.0, 0, about="weight of telling the next sentence from others of the batch")
    tower: bool = key(
        True, about="ranked: the next sentence has layers of its own; false: its z, as where both say the same"
    )
    samples: int = ranged(0, 0, about="written: tokens that the right one is compared with in training; 0: all")
    labelled: float = ranged(0.0, 0, about="weight of naming the classes of [data.labelled]")


class SentenceEncoder(Network):
    """The network; `network.encode(ids, lengths)` gives z."""

    table: Tensor  # of positions

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        _check(config, objective)
        tokens = vocabularies.tokens()
        self.config, self.objective = config, objective
        self.pad, self.end, self.width = tokens.pad, tokens.eos, config.dim
        self.weights = {"written": objective.written, "ranked": objective.ranked, LABELLED: objective.labelled}
        self.traits = Traits(
            context=config.context,
            reads_whole=True,
            corrupts_on_host=True,
            batch_coupled=objective.ranked > 0,
            terms=tuple(name for name, weight in self.weights.items() if weight),
        )
        e, d = config.embedding or config.dim, config.dim
        self.embedding = TokenTable(len(tokens), e)
        nn.init.normal_(self.embedding.weight, std=e**-0.5)
        if config.encoder == "transformer":
            shape = Shape(d, config.heads, 4 * d, dropout=config.dropout)
            self.widen = nn.Linear(e, d) if e != d else nn.Identity()
            self.layers = nn.ModuleList(Layer(shape) for _ in range(config.layers))
            self.norm = nn.LayerNorm(d)
            self.register_buffer("table", sinusoidal(config.context, d), persistent=False)
        elif config.encoder == "average":
            sizes = [e, *[d] * config.layers]
            self.layers = nn.ModuleList(nn.Linear(*each) for each in pairwise(sizes))
        else:
            both = config.bidirectional
            self.recurrent = Recurrent(
                config.encoder, e, d // (1 + both), config.layers, bidirectional=both, dropout=config.dropout
            )
        if objective.written:
            self.first = nn.ModuleDict({side: nn.Linear(d, d) for side in SIDES})
            self.writers = nn.ModuleDict({side: Recurrent("gru", e, d, given=d) for side in SIDES})
            self.out = nn.Linear(d, e)
            self.bias = nn.Parameter(torch.zeros(len(tokens)))
        if objective.ranked:
            own = (nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)) if objective.tower else ()
            self.tower = nn.Sequential(*own)
            self.sharpness = nn.Parameter(torch.tensor([math.log(10.0)]))  # log s
        if objective.labelled:
            self.classes = nn.Linear(d, len(vocabularies.labels(LABEL)))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        objective = cast(Objective, recipe.objective)
        found = {"text": Column("tokens")}
        if objective.written or objective.ranked:
            found[AFTER] = Column("tokens", field="text", at="after", optional=True)
        if objective.written:
            found[BEFORE] = Column("tokens", field="text", at="before", optional=True)
        if objective.labelled:
            if LABELLED not in recipe.tables:
                raise UsageError(
                    "objective.labelled learns classes from a table of its own: give data.labelled.train."
                )
            found[LABELLED] = Column("tokens", field="text", table=LABELLED)
            found[LABEL] = Column("class", vocabulary=LABEL, table=LABELLED)
        return found

    # ---- sentence → z --------------------------------------------------------------------------------------

    def encode(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B d"]:
        """The vectors of sentences w_1 … w_n <eos>, padded on the right."""
        config, e = self.config, self._dropped(self.embedding(ids))
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        if config.encoder == "average":
            z = self._pooled(e, inside, lengths)
            for layer in self.layers:
                z = layer(z).tanh()
            return z
        if config.encoder == "transformer":
            h = self.widen(e) * math.sqrt(config.dim) + self.table[: ids.shape[1]]
            mask = within(lengths, ids.shape[1])
            for layer in self.layers:
                h = layer(h, mask=mask)
            h = self.norm(h)
        else:
            h, state = self.recurrent(e, lengths)
            if config.pooling == "last":
                return state["h"][:, -self.recurrent.directions :].flatten(1)
        return self._pooled(h, inside, lengths)

    def _pooled(
        self, h: Float[Tensor, "B T w"], inside: Bool[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B w"]:
        if self.config.pooling == "max":
            return h.masked_fill(~inside[:, :, None], -torch.inf).amax(1)
        summed = (h * inside[:, :, None]).sum(1)
        return summed / lengths[:, None].sqrt() if self.config.pooling == "root" else summed

    def _dropped(self, x: Float[Tensor, "*shape e"]) -> Float[Tensor, "*shape e"]:
        return F.dropout(x, self.config.dropout, self.training)

    # ---- training ------------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Sentences, those around them as far as there are any, and the labelled ones."""
        tensors, counts = self._read("text", [row[1:] for row in ragged(examples["text"])]), dict[str, float]()
        for side in SIDES if self.objective.written else ():
            rows = [row[: self.config.context + 1] for row in ragged(examples[side])]  # a neighbour may be too long
            near = [number for number, row in enumerate(rows) if len(row) > 2]
            batch = shifted([rows[number] for number in near] or [np.array([self.end, self.end])], self.pad)
            if not near:  # nothing is asked of a batch without any neighbour
                batch["targets"].fill_(IGNORE)
            tensors |= {f"{side}_{name}": tensor for name, tensor in batch.tensors.items()}
            tensors[f"{side}_of"] = torch.tensor(near or [0])
            counts["written"] = counts.get("written", 0.0) + (batch.counts["loss"] if near else 0.0)
        if self.objective.written and seeds is not None and 0 < self.objective.samples < len(self.bias):
            tensors["drawn"] = torch.from_numpy(sampled.draws(len(self.bias), self.objective.samples, step or 0))
        if self.objective.ranked:
            rows = [row[1 : self.config.context + 1] for row in ragged(examples[AFTER])]
            near = [number for number, row in enumerate(rows) if len(row) > 1]
            tensors |= self._read("next", [rows[number] for number in near] or [np.array([self.end])])
            tensors["next_of"] = torch.tensor(near or [0])
            counts["ranked"] = float(len(near))
        if LABELLED in examples:  # in training alone
            tensors |= self._read(LABELLED, [row[1 : self.config.context + 1] for row in ragged(examples[LABELLED])])
            tensors[LABEL] = torch.from_numpy(np.asarray(examples[LABEL], np.int64))
            counts[LABELLED] = float(len(tensors[LABEL]))
        return Batch(tensors, counts)

    def _read(self, name: str, rows: Sequence[np.ndarray]) -> dict[str, Tensor]:
        lengths = torch.tensor([len(row) for row in rows])
        return {f"{name}_ids": torch.from_numpy(padded(rows, self.pad)), f"{name}_lengths": lengths}

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        terms: Terms = {}
        z = self.encode(batch["text_ids"], batch["text_lengths"])
        if self.objective.written:
            total = torch.stack([self._written(z, side, batch).total for side in SIDES]).sum()
            terms["written"] = Term(total, batch.counts["written"], self.weights["written"])
        if self.objective.ranked:
            scores = self.ranking(z, batch)
            targets = torch.arange(len(scores), device=z.device)
            total = F.cross_entropy(scores, targets, reduction="sum") * (batch.counts["ranked"] > 0)
            terms["ranked"] = Term(total, batch.counts["ranked"], self.weights["ranked"])
        if LABEL in batch.tensors:
            scores = self.classes(self.encode(batch[f"{LABELLED}_ids"], batch[f"{LABELLED}_lengths"]))
            total = F.cross_entropy(scores, batch[LABEL], reduction="sum")
            terms[LABELLED] = Term(total, batch.counts[LABELLED], self.weights[LABELLED])
        return terms, None

    def _written(self, z: Float[Tensor, "B d"], side: str, batch: Batch) -> Term:
        """- log p of the sentences on one side."""
        given = z[batch[f"{side}_of"]]
        start = {"h": self.first[side](given).tanh()[:, None]}
        words = self._dropped(self.embedding(batch[f"{side}_inputs"]))
        h, _ = self.writers[side](words, state=start, given=given)
        hidden, targets = self.out(h), batch[f"{side}_targets"]
        if "drawn" in batch.tensors:
            total = sampled.sampled_cross_entropy(
                hidden.flatten(0, 1), self.embedding.weight, self.bias, targets.flatten(), batch["drawn"]
            )
            return Term(total, batch.counts["written"])
        own = Batch({"targets": targets}, {"loss": batch.counts["written"]})
        return next_token_terms(hidden, self.embedding.weight, own, bias=self.bias, pad=self.pad)["loss"]

    def written(self, batch: Batch) -> tuple[Float[Tensor, " B"], Int[Tensor, " B"]]:
        """- log p of the sentences around each, and how many tokens those have."""
        z = self.encode(batch["text_ids"], batch["text_lengths"])
        totals, counts = z.new_zeros(len(z)), torch.zeros(len(z), dtype=torch.long, device=z.device)
        for side in SIDES:
            items = self._written(z, side, batch).items
            assert items is not None, "drawn tokens are for training"
            rows, tokens = batch[f"{side}_of"], (batch[f"{side}_targets"] != IGNORE).sum(1)
            totals, counts = totals.index_add(0, rows, items.sum(1)), counts.index_add(0, rows, tokens)
        return totals, counts

    def ranking(self, z: Float[Tensor, "B d"], batch: Batch) -> Float[Tensor, "N N"]:
        """How near each sentence that has a next one is to the next ones of all."""
        y = self.tower(self.encode(batch["next_ids"], batch["next_lengths"]))
        return self.sharpness.exp() * F.normalize(z[batch["next_of"]], dim=1) @ F.normalize(y, dim=1).T

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {"text": list(self.encode(batch["text_ids"], batch["text_lengths"]))}


def _check(config: Config, objective: Objective) -> None:
    if not (objective.written or objective.ranked or objective.labelled):
        raise UsageError("There is nothing to learn: give one of objective.written, ranked and labelled a weight.")
    if config.pooling == "last" and config.encoder not in ("gru", "lstm"):
        raise UsageError(f'model.pooling = "last" is for gru and lstm; "{config.encoder}" has none: take "root".')
    if not config.layers and config.encoder != "average":
        raise UsageError(
            f'model.layers is 0, and model.encoder "{config.encoder}" needs one: only "average" has none.'
        )
    if not config.layers and config.embedding not in (0, config.dim):
        raise UsageError(
            f"Without layers z is a sum of tokens' vectors: model.embedding is {config.embedding} and model.dim "
            f"{config.dim}; give both the same number."
        )
    if config.bidirectional and config.dim % 2:
        raise UsageError(f"model.dim is {config.dim}: two directions share it, so that it must be even.")
