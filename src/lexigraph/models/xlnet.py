"""XLNet: a language model of all orders at once (Yang et al. 2019), over Transformer-XL's memory (Dai et al. 2019).

    log p(w) = Σ_k log p(w_{z_k} | w_{z_1} … w_{z_{k-1}})          z: a random order of the positions

A prediction must know which position it is for, but not which token stands there. So there are two streams, with the
same weights; each position has a rank, the step of the order at which it becomes known (objectives/permutation.py):

    contents    h_i looks at the contents of positions with rank_j ≤ rank_i        h_i starts as E[w_i]
    queries     g_i looks at the contents of positions with rank_j < rank_i        g_i starts as one vector for all

    x = Norm(x + Attention(x, h));  x = Norm(x + FFN(x))           by distance, nn/relative.py
    p(w_i) = softmax(g_i Eᵀ + b)

Only the last positions of the order are predicted; those before have rank 0 and see each other both ways. Contents of
the windows before (`memory` positions of them, without gradient) are seen by all. Read in the order of the text, it
is a language model like others: rank i for position i, and a query one position behind the end for the next token.
And a gap is filled by a query that sees all other tokens.

Shapes: B batch, T time, P predicted positions, M positions of memory, d width, H heads, D = d / H, V vocabulary, L
layers, R rows of a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.nn.attention import before
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.linear import linear
from lexigraph.nn.network import Examples, FillingLanguageNetwork, Outputs, Seeds, States, ragged
from lexigraph.nn.relative import RelativeLayer, RelativeState, Visibility, distances
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Shape
from lexigraph.objectives.masked import Frame
from lexigraph.objectives.next_token import IGNORE, next_token_terms
from lexigraph.objectives.permutation import FAR, factorise, ranks_of
from lexigraph.objectives.rng import random_of, seeds_of_content
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    layers: int = ranged(4, 1, about="layers, one above the other")
    heads: int = ranged(4, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(128, 1, about="width of the network: numbers in the vector of a token")
    context: int = ranged(128, 2, about="tokens of a window; distances set no limit of their own")
    memory: int = ranged(
        0, 0, about="positions of earlier windows that it remembers; 0: every window or line is by itself"
    )
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    segments: bool = key(False, about="whether it knows which tokens are of another segment")
    eps: float = ranged(1e-12, 0, about="small number added to the variance in norms")


@dataclass(frozen=True)
class Objective:
    mask_rate: float = ranged(1 / 6, 0, 1, about="share of the tokens that are predicted, the last ones of the order")
    longest: int = ranged(5, 1, about="predicted tokens are chosen in spans of up to so many")
    forward: float = ranged(
        0.0, 0, 1, about="share of the texts that are learned in their own order instead, every token predicted"
    )
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class XLNet(FillingLanguageNetwork):
    """The network; `network(ids)` gives logits of the next token, read in the order of the text."""

    heads = ("mask_embedding", "bias")

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        vocabulary = len(tokens)
        if not 0 < objective.mask_rate <= 1:
            raise UsageError(
                f"objective.mask_rate = {objective.mask_rate} must be a share of the tokens, and more than 0."
            )
        inner = config.inner or 4 * config.dim
        shape = Shape(config.dim, config.heads, inner, config.activation, config.dropout, norm="post", eps=config.eps)
        self.config, self.objective, self.pad, self.context = config, objective, tokens.pad, config.context
        self.width = config.dim
        self.frame = Frame.of(tokens, mask=tokens.pad)  # no place ever looks at what stands in a gap
        self.stateful = config.memory > 0
        self.traits = Traits(context=config.context, causal="text", stateful=self.stateful, corrupts_on_host=True)
        self.embedding = TokenTable(vocabulary, config.dim)  # of input and output
        self.mask_embedding = nn.Parameter(torch.empty(config.dim))  # what every query starts as
        self.blocks: Any = nn.ModuleList(RelativeLayer(shape, segments=config.segments) for _ in range(config.layers))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for parameter in self.parameters():
            if parameter.dim() > 1 or parameter is self.mask_embedding:
                nn.init.normal_(parameter, std=0.02)

    # ---- two streams -------------------------------------------------------------------------------------

    def predict(
        self,
        ids: Int[Tensor, "B T"],
        ranks: Int[Tensor, "B T"],
        positions: Int[Tensor, "B P"],
        query_ranks: Int[Tensor, "B P"],
        carry: Carry | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B P d"], Carry | None]:
        """The last layer's queries at `positions`, and this window's memory. Position T is the one behind it."""
        memory = None if carry is None else carry["memory"]
        memory_length, keys = 0 if memory is None else memory.shape[2], ranks
        if memory_length:
            keys = torch.cat([ranks.new_full((len(ids), memory_length), -1), ranks], 1)  # memory is before all
        near = Visibility(keys[:, None, None] <= ranks[:, None, :, None], _other(segments, segments, memory_length))
        asked = None if segments is None else segments.gather(1, positions)
        far = Visibility(
            keys[:, None, None] < query_ranks[:, None, :, None],
            _other(asked, segments, memory_length),
            positions + memory_length,
        )
        contents, kept, table = self._start(ids, memory_length)
        queries = self._drop(self.mask_embedding.expand(*positions.shape, -1))
        for number, layer in enumerate(self.blocks):
            kept.append(contents)
            streams = [(queries, far), (contents, near)][: 1 + (number < len(self.blocks) - 1)]  # the last are unseen
            queries, *rest = layer(contents, None if memory is None else memory[:, number], table, streams)
            contents = rest[0] if rest else contents
        return self._drop(queries), self._remembered(kept, memory)

    def read(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
        carry: Carry | None = None,
    ) -> tuple[Float[Tensor, "B T d"], Carry | None]:
        """The last layer's contents where every position sees every other, and the memory: XLNet as an encoder."""
        memory = None if carry is None else carry["memory"]
        *kept, contents = self._contents(ids, lengths, segments, memory)
        return self._drop(contents), self._remembered(kept, memory, 0)

    def _contents(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None,
        segments: Int[Tensor, "B T"] | None,
        memory: Float[Tensor, "B L M d"] | None = None,
    ) -> list[Float[Tensor, "B T d"]]:
        """What goes into the first layer, and what comes out of each, where every position sees every other."""
        memory_length, mask = 0 if memory is None else memory.shape[2], None
        if lengths is not None:
            inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
            inside = F.pad(inside, (memory_length, 0), value=True)[:, None, None]
            own = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
            mask = inside | F.pad(
                own, (memory_length, 0)
            )  # padding sees itself: softmax over nothing is not a number
        contents, kept, table = self._start(ids, memory_length)
        visibility = Visibility(mask, _other(segments, segments, memory_length))
        for number, layer in enumerate(self.blocks):
            kept.append(contents)
            (contents,) = layer(
                contents, None if memory is None else memory[:, number], table, [(contents, visibility)]
            )
        return [*kept, contents]

    def states(self, batch: Batch) -> States:
        """Every position sees every other; that a text alone is of one segment gives every weight its part."""
        segments = None
        if self.config.segments:
            segments = batch.tensors.get("segments", torch.zeros_like(batch["inputs"]))
        layers = self._contents(batch["inputs"], batch["lengths"], segments)
        return States([*layers[:-1], self._drop(layers[-1])], batch["lengths"])

    def _start(
        self, ids: Int[Tensor, "B T"], memory_length: int
    ) -> tuple[Float[Tensor, "B T d"], list[Tensor], Float[Tensor, "N d"]]:
        keys = memory_length + ids.shape[1]
        table = distances(keys, keys + ids.shape[1], self.config.dim, ids.device).to(self.embedding.weight.dtype)
        return self._drop(self.embedding(ids)), [], self._drop(table)

    def _remembered(self, kept: list[Tensor], memory: Tensor | None, again: int = 1) -> Carry | None:
        """The last contents of every layer; the `again` last tokens of a window are the first of the next."""
        if not self.stateful:
            return None
        new = torch.stack(kept, 1).detach()
        new = new[:, :, : new.shape[2] - again]
        whole = new if memory is None else torch.cat([memory, new], 2)
        return {"memory": whole[:, :, -self.config.memory :]}  # (B, L, M, d): the first axis is the stream

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.config.dropout, self.training)

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position. Padding on the right is never looked at, so that `lengths` is
        not needed."""
        ranks = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        return self.logits(self.predict(ids, ranks, ranks + 1, ranks + 1)[0])

    def logits(self, hidden: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape V"]:
        """The output of a stream as logits."""
        return F.linear(hidden, self.embedding.weight, self.bias)

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences. The first token of each is given; an order of the others is drawn: many for
        a text that is trained, one for a text that is measured."""
        rows = [np.asarray(row, np.int64) for row in ragged(examples["text"])]
        own = seeds_of_content(rows) if seeds is None else seeds[MAIN]
        forward = 0.0 if seeds is None else self.objective.forward
        return self._batch(
            rows, [self._ranks(row, random_of(int(seed)), forward) for row, seed in zip(rows, own, strict=True)]
        )

    def _ranks(
        self, row: Int[np.ndarray, " n"], random: np.random.Generator, forward: float
    ) -> Int[np.ndarray, " others"]:
        """An order for a row; the boundary at its end is a token like others, or it would never learn to end."""
        others, objective = row[1:], self.objective
        if forward and random.random() < forward:
            return np.arange(1, len(row))
        return ranks_of(
            *factorise(others, random, special=0, mask_rate=objective.mask_rate, longest=objective.longest)
        )

    def prepare_in_order(self, examples: Examples) -> Batch:
        """A batch in which every token but the first is predicted from those before it: what a text is scored by."""
        rows = ragged(examples["text"])
        return self._batch(rows, [np.arange(1, len(row)) for row in rows])

    def _batch(self, rows: Sequence[np.ndarray], ranks: Sequence[np.ndarray]) -> Batch:
        longest, most = max(map(len, rows)), max(1, *(int((row > 0).sum()) for row in ranks))
        ids = np.full((len(rows), longest), self.pad, np.int64)
        rank = np.full((len(rows), longest), FAR, np.int64)
        positions, targets = np.zeros((len(rows), most), np.int64), np.full((len(rows), most), IGNORE, np.int64)
        for index, (row, own) in enumerate(zip(rows, ranks, strict=True)):
            ids[index, : len(row)] = row
            rank[index, 0], rank[index, 1 : len(row)] = 0, own
            chosen = 1 + np.flatnonzero(own)
            positions[index, : len(chosen)], targets[index, : len(chosen)] = chosen, np.asarray(row)[chosen]
        arrays = {"inputs": ids, "ranks": rank, "positions": positions, "targets": targets}
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return Batch(tensors, {"loss": float((targets != IGNORE).sum())})

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, carry = self._queries(batch, carry)
        smoothing = self.objective.label_smoothing
        table = self.embedding.weight
        return next_token_terms(hidden, table, batch, bias=self.bias, smoothing=smoothing, pad=self.pad), carry

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """Logits of the next token in the order of the text, whatever order the batch has for training."""
        lengths = (batch["ranks"] != FAR).sum(1).tolist()
        return {"text": [row[:length] for row, length in zip(self(batch["inputs"]), lengths, strict=True)]}

    def hidden(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T d"]:
        """A vector for every token, seen from all around it."""
        return self.read(ids, lengths)[0]

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B P V"]:
        """Logits at the predicted positions of a batch."""
        return self.logits(self._queries(batch, carry)[0])

    def masked_logits(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"] | None,
        positions: Int[Tensor, "B K"],
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B K V"]:
        """Logits at gaps, each filled from all that is known: no gap sees another one."""
        hidden = ids == self.frame.mask
        if lengths is not None:
            hidden |= torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]
        ranks = torch.where(hidden, FAR, 0)
        return self.logits(self.predict(ids, ranks, positions, torch.ones_like(positions), None, segments)[0])

    def _queries(self, batch: Batch, carry: Carry | None) -> tuple[Float[Tensor, "B P d"], Carry | None]:
        query_ranks = (
            batch["ranks"].gather(1, batch["positions"]).clamp(min=1)
        )  # 0: padding, which must see something
        # that all is of one segment changes nothing, but gives every weight its part in the loss
        segments = torch.zeros_like(batch["inputs"]) if self.config.segments else None
        return self.predict(batch["inputs"], batch["ranks"], batch["positions"], query_ranks, carry, segments)

    # ---- decoding, in the order of the text --------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the prompts (`ids`, padded on the right, and their `lengths`)."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        time = ids.shape[1]
        columns = torch.arange(time, device=ids.device)
        pads = time - lengths
        ids = ids.gather(1, (columns - pads[:, None]) % time)[:, -self._limit :]
        pads = (pads - max(0, time - self._limit)).clamp(min=0)
        time = ids.shape[1]
        table = distances(time + 1, 2 * time + 1, self.config.dim, ids.device).to(self.embedding.weight.dtype)
        # a query stands behind the last token and sees all of them; an empty position sees itself, or it were no
        # number
        seen = before(time + 1, ids.device)[..., :-1]
        own = torch.eye(time + 1, time, dtype=torch.bool, device=ids.device)
        mask = seen & (columns[:time] >= pads[:, None])[:, None, None] | own
        x = torch.cat([self.embedding(ids), self.mask_embedding.expand(len(ids), 1, -1)], 1)
        cache = []
        for layer in self.blocks:
            k, v = layer.attention.keys_values(x[:, :-1])
            x = layer.through(x, (k, v), layer.attention.measure(table), Visibility(mask))
            cache.append(torch.stack([k, v], 1))
        state = RelativeState(
            {"cache": torch.stack(cache, 1), "pads": pads}, relative_positions=self._relative_positions(time + 64)
        ).expand(width)
        return Step(self._last(x).repeat_interleave(width, 0), state)

    def step(self, state: RelativeState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row: its content, and the query behind it, look at all contents."""
        old, pads, relative_positions = state.rows["cache"], state.rows["pads"], state.relative_positions
        if old.shape[4] == self._limit:  # the oldest is forgotten
            old, pads = old[..., 1:, :], (pads - 1).clamp(min=0)
        time = old.shape[4] + 1
        if relative_positions.shape[2] < time + 2:
            relative_positions = self._relative_positions(2 * time)
        mask = (torch.arange(time, device=tokens.device) >= pads[:, None])[:, None, None]
        x = torch.cat([self.embedding(tokens)[:, None], self.mask_embedding.expand(len(tokens), 1, -1)], 1)
        cache = torch.cat([old, old.new_empty(*old.shape[:4], 1, old.shape[5])], 4)
        for number, layer in enumerate(self.blocks):
            storage = cache[:, number]
            for position, new in enumerate(layer.attention.keys_values(x[:, :1])):
                storage[:, position, :, -1] = new[:, :, 0]
            x = layer.through(
                x, (storage[:, 0], storage[:, 1]), relative_positions[number, :, -time - 2 :], Visibility(mask)
            )
        return Step(
            self._last(x), replace(state, rows={"cache": cache, "pads": pads}, relative_positions=relative_positions)
        )

    @property
    def _limit(self) -> int:
        return self.context + self.config.memory

    def _relative_positions(self, time: int) -> Float[Tensor, "L H N D"]:
        """Measured distances time + 2 … 0 of every layer: the same in every step."""
        table = distances(time + 2, time + 3, self.config.dim, self.embedding.weight.device)
        table = table.to(self.embedding.weight.dtype)
        return torch.stack([layer.attention.measure(table) for layer in self.blocks])

    def _last(self, x: Float[Tensor, "R T d"]) -> Float[Tensor, "R V"]:
        return linear(x[:, -1], self.embedding.weight, self.bias)


def _other(asked: Tensor | None, segments: Tensor | None, memory_length: int) -> Tensor | None:
    """Where queries and keys are of different segments; what is remembered counts as the first segment."""
    if asked is None or segments is None:
        return None
    return asked[:, :, None] != F.pad(segments, (memory_length, 0))[:, None]
