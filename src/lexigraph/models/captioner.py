"""Captioning: a picture is read into vectors, one for each position, and a sentence is written that looks at them.

    m_1 … m_S = encoder(picture)                 convolutions (4 × 4 positions) or a vision transformer (nn/vision.py)

LSTM (Show, attend and tell: Xu et al. 2015)

    h_0 = tanh(W_h m̄),  c_0 = tanh(W_c m̄)        m̄: the mean of m
    z_t = σ(g · h_{t-1}) Σ_s a_ts m_s            soft: weights a_t by h_{t-1} and m (scores: nn/alignment.py)
    z_t = σ(g · h_{t-1}) m_s,   s ~ a_t          hard: one position, drawn (objectives/hard_attention.py)
    z_t = m̄                                      none: the picture's vector goes into every step     (the baseline)
    h_t = LSTM([E y_{t-1}; z_t], h_{t-1})
    p(y_t) = softmax(O tanh(W [h_t; z_t; E y_{t-1}]) + b)

transformer

    x_t = √d E y_{t-1} + PE[t];   pre-norm layers that look back at x and at m;   p = softmax(O Norm(x) + b)

tied: O is E. Doubly stochastic attention adds λ Σ_s (1 - Σ_t a_ts)²: each position to be looked at once.

Shapes: B pictures, S positions of a picture, T tokens, d width, V vocabulary; in a search n pictures, R rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.alignment import Alignment, Looks, Score
from lexigraph.nn.cache import CachedState, KeyValueCache, Memory
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import OutputTable, linear
from lexigraph.nn.network import Beginning, Decoder, Examples, Outputs, Seeds, ragged, unpadded
from lexigraph.nn.positions import sinusoidal
from lexigraph.nn.recurrent import Recurrent
from lexigraph.nn.stepper import State, Step
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.nn.vision import ConvolutionalEncoder, Pictures, VisionEncoder
from lexigraph.objectives.hard_attention import BASELINE, POLICY, policy_and_baseline
from lexigraph.objectives.next_token import IGNORE, next_token_terms, shifted, token_nll
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Column, Columns, Traits
from lexigraph.text.images import IMAGE, same_shapes
from lexigraph.text.vocabularies import Vocabularies

CAPTION = "caption"
DOUBLY = "doubly"  # a term
LOOKS = 81  # stream of random numbers
CAPACITY = 32  # positions that there is room for at first, in a search


@dataclass(frozen=True)
class Config:
    encoder: Literal["cnn", "vit"] = key("cnn", about="what reads a picture: convolutions, or a vision transformer")
    patch: int = ranged(4, 1, about="vit: dots on a side of a patch")
    encoder_layers: int = ranged(2, 1, about="vit: layers, one above the other")
    decoder: Literal["lstm", "transformer"] = key("lstm", about="what writes the caption")
    decoder_layers: int = ranged(1, 1, about="layers of the decoder")
    attention: Literal["none", Score] = key(
        "additive", about="lstm: how positions of a picture are scored; none: their mean goes into every step"
    )
    hard: bool = key(False, about="lstm: it looks at one position, drawn at random in training, not at a mean of all")
    heads: int = ranged(4, 1, about="transformers: attention heads, which share `dim` among them")
    dim: int = ranged(256, 2, about="numbers in the vector of a position, of a token and of a state")
    context: int = ranged(64, 2, about="the longest caption in tokens, its end included; longer ones are left out")
    dropout: float = ranged(0.2, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="the output has the table of tokens, not its own")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")
    entropy: float = ranged(0.01, 0, about="hard attention: λ, what it is worth not to be sure where to look")
    doubly: float = ranged(0.0, 0, about="lstm: λ, what it costs that a position is not looked at once, all in all")


class Captioner(Decoder):
    """The network; `network(images, ids)` gives the logits of the token after each of `ids`, the first of which is
    the boundary."""

    written = CAPTION

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        _check(config, objective)
        tokens, dim = vocabularies.tokens(), config.dim
        self.config, self.objective, self.numbers = config, objective, vocabularies.numbers(IMAGE)
        self.pad, self.end, self.smoothing = tokens.pad, tokens.eos, objective.label_smoothing
        shape = Shape(dim, config.heads, 4 * dim, dropout=config.dropout)
        if config.encoder == "vit":
            self.encoder: VisionEncoder | ConvolutionalEncoder = VisionEncoder(
                self.numbers, shape, config.encoder_layers, config.patch, token=False
            )
        else:
            self.encoder = ConvolutionalEncoder(self.numbers, dim)
        terms = ("loss", *((POLICY, BASELINE) if config.hard else ()), *((DOUBLY,) if objective.doubly else ()))
        self.traits = Traits(
            context=config.context,
            windowed="",
            reads_whole=True,
            causal=CAPTION,
            corrupts_on_host=True,
            row_tokens=self.encoder.length,
            terms=terms,
        )
        self.embedding = TokenTable(len(tokens), dim)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        writer = LSTMWriter if config.decoder == "lstm" else TransformerWriter
        self.writer: LSTMWriter | TransformerWriter = writer(config, self.encoder.length, shape)
        self.output = None if config.tied else OutputTable(dim, len(tokens), bias=False)
        self.bias = nn.Parameter(torch.zeros(len(tokens)))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {IMAGE: Column("image", vocabulary=IMAGE), CAPTION: Column("tokens", optional=True)}

    @property
    def aligned(self) -> bool:
        """Whether its steps can say where they looked."""
        return self.config.decoder == "transformer" or self.config.attention != "none"

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.embedding.weight if self.output is None else self.output.weight

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Pictures, and captions where there are any."""
        images = torch.from_numpy(np.stack(same_shapes(ragged(examples[IMAGE]), self.numbers.shape)))
        if CAPTION not in examples:
            return Batch({"images": images})
        batch = shifted(ragged(examples[CAPTION]), self.pad)
        tensors, counts = batch.tensors | {"images": images}, dict(batch.counts)
        if seeds is not None and self.config.hard:
            tensors["draws"] = uniform(torch.from_numpy(seeds[MAIN]), batch["inputs"].shape[1], LOOKS)
            counts |= {POLICY: counts["loss"], BASELINE: counts["loss"]}
        if seeds is not None and self.objective.doubly:
            counts[DOUBLY] = float(len(images))
        return Batch(tensors, counts)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, looks = self.hidden(batch["images"], batch["inputs"], batch.tensors.get("draws"))
        terms, inside = self.terms(hidden, batch), batch["targets"] != IGNORE
        if POLICY in batch.counts:
            assert looks is not None
            assert looks.chosen is not None
            assert isinstance(self.writer, LSTMWriter)
            assert self.writer.expected is not None
            totals = policy_and_baseline(
                -token_nll(terms),
                self.writer.expected(looks.queries.detach()).squeeze(2),
                looks.log_weights,
                looks.chosen,
                inside,
                entropy=self.objective.entropy,
                known_later=True,
            )
            terms |= {name: Term(total, batch.counts[name]) for name, total in totals.items()}
        if DOUBLY in batch.counts:
            assert looks is not None
            looked = (looks.log_weights.exp() * inside[:, :, None]).sum(1)  # Σ_t a_ts
            terms[DOUBLY] = Term((1 - looked).square().sum(), batch.counts[DOUBLY], self.objective.doubly)
        return terms, None

    def terms(self, hidden: Float[Tensor, "B T d"], batch: Batch) -> Terms:
        """The loss of states against the captions."""
        table, bias = self.output_table, self.bias
        return next_token_terms(hidden, table, batch, bias=bias, smoothing=self.smoothing, pad=self.pad)

    def hidden(
        self, images: Pictures, inputs: Int[Tensor, "B T"], draws: Float[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T d"], Looks | None]:
        """The states that predict captions, all positions at once, and where an LSTM looked."""
        self._fits(inputs.shape[1])
        memory = F.dropout(self.encoder(images), self.config.dropout, self.training)
        return self.writer(self.embedding(inputs), memory, draws)

    def forward(self, images: Pictures, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        return self.logits(self.hidden(images, ids)[0])

    def logits(self, hidden: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape V"]:
        return linear(hidden, self.output_table, self.bias)

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {CAPTION: unpadded(self(batch["images"], batch["inputs"]), batch)}

    # ---- decoding ----------------------------------------------------------------------------------------

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """The pictures; of the caption, the boundary before it."""
        images = batch["images"]
        lengths = torch.full((len(images),), self.encoder.length, device=images.device)
        return Beginning({"images": images, "lengths": lengths}, [1] * len(given))

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the pictures, `images`, each of which has `lengths` positions."""
        state = self.writer.start(self.encoder(beginning["images"]), width)
        rows = len(beginning["images"]) * width
        return self.step(state, torch.full((rows,), self.end, device=self.bias.device), attention=True)

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. `attention`: where it looked in the picture."""
        hidden, state, where = self.writer.step(self.embedding(tokens), state, attention)
        return Step(self.logits(hidden), state, where)

    def _fits(self, length: int) -> None:
        if length > self.config.context:
            raise LexigraphError(f"{length} tokens are more than the model's context of {self.config.context}.")


class LSTMWriter(nn.Module):
    """Writes by an LSTM that looks at the picture before every step."""

    def __init__(self, config: Config, positions: int, shape: Shape) -> None:
        super().__init__()
        dim, looks = config.dim, config.attention != "none"
        self.hard, self.dropout, self.layers = config.hard, config.dropout, config.decoder_layers
        self.alignment = Alignment(cast(Score, config.attention), dim, positions) if looks else None
        self.gate = nn.Linear(dim, 1) if looks else None  # how much of what is seen this word needs
        self.begin = nn.Linear(dim, 2 * dim * self.layers)  # W_h and W_c
        self.recurrent = Recurrent("lstm", dim, dim, self.layers, dropout=config.dropout, given=dim)
        self.readout = nn.Linear(3 * dim, dim)
        self.expected = nn.Linear(dim, 1) if config.hard else None  # of hard attention's baseline

    def read(self, memory: Float[Tensor, "B S d"]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """What stays as it is of a picture, and the rows that a caption begins with."""
        lengths = torch.full((len(memory),), memory.shape[1], device=memory.device)
        source = {"memory": memory, "mean": memory.mean(1), "lengths": lengths}
        if self.alignment is not None:
            source["keys"] = self.alignment.keys(memory)
        h, c = self.begin(source["mean"]).tanh().unflatten(1, (2, self.layers, -1)).unbind(1)
        return source, {"h": h, "c": c, "time": torch.zeros_like(lengths)}

    def forward(
        self, e: Float[Tensor, "B T d"], memory: Float[Tensor, "B S d"], draws: Float[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "B T d"], Looks | None]:
        source, rows = self.read(memory)
        e = F.dropout(e, self.dropout, self.training)
        if self.alignment is None:  # no step needs what the one before it looked at
            return self._write(e, source, rows, None)[::2]
        readouts, looked = [], []
        for t in range(e.shape[1]):
            now = None if draws is None else draws[:, t : t + 1]
            readout, rows, look = self._write(e[:, t : t + 1], source, rows, now)
            readouts.append(readout)
            looked += [look] if look else []
        return torch.cat(readouts, 1), Looks.in_time(looked)

    def _write(
        self,
        e: Float[Tensor, "R T d"],
        source: dict[str, Tensor],
        rows: dict[str, Tensor],
        draws: Float[Tensor, "R T"] | None,
    ) -> tuple[Float[Tensor, "R T d"], dict[str, Tensor], Looks | None]:
        """The readouts of some steps at once: one, where a step looks by the state before it."""
        looks = None
        if self.alignment is None or self.gate is None:
            z = source["mean"].repeat_interleave(len(e) // len(source["mean"]), 0)[:, None].expand(-1, e.shape[1], -1)
        else:
            query = rows["h"][:, -1:]
            z, looks = self.alignment.look(query, source, rows["time"], draws, self.hard)
            z = self.gate(query).sigmoid() * z
        h, state = self.recurrent(e, state={"h": rows["h"], "c": rows["c"]}, given=z)
        readout = self.readout(torch.cat([h, z, e], 2)).tanh()
        return F.dropout(readout, self.dropout, self.training), state | {"time": rows["time"] + e.shape[1]}, looks

    def start(self, memory: Float[Tensor, "n S d"], width: int) -> State:
        source, rows = self.read(memory)
        return State(rows, source).expand(width)

    def step(
        self, e: Float[Tensor, "R d"], state: State, attention: bool
    ) -> tuple[Float[Tensor, "R d"], State, Float[Tensor, "R S"] | None]:
        readout, rows, looks = self._write(e[:, None], state.source, state.rows, None)
        where = looks.log_weights[:, 0].exp() if attention and looks else None
        return readout[:, 0], replace(state, rows=rows), where


class TransformerWriter(nn.Module):
    """Writes by transformer layers that look at the picture."""

    table: Tensor  # of positions

    def __init__(self, config: Config, positions: int, shape: Shape) -> None:
        super().__init__()
        self.shape, self.context = shape, config.context
        self.layers = nn.ModuleList(Layer(shape, memory=True) for _ in range(config.decoder_layers))
        self.norm = shape.make_norm()
        self.register_buffer("table", sinusoidal(config.context, config.dim), persistent=False)

    def _placed(self, e: Float[Tensor, "B T d"], time: int) -> Float[Tensor, "B T d"]:
        x = math.sqrt(self.shape.dim) * e + self.table[time : time + e.shape[1]]
        return F.dropout(x, self.shape.dropout, self.training)

    def forward(
        self, e: Float[Tensor, "B T d"], memory: Float[Tensor, "B S d"], draws: Float[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "B T d"], Looks | None]:
        x = self._placed(e, 0)
        for layer in self.layers:
            x = layer(x, memory=memory, causal=True)
        return self.norm(x), None

    def start(self, memory: Float[Tensor, "n S d"], width: int) -> State:
        pairs = [cast(Layer, layer).memory.keys_values(memory) for layer in self.layers]
        rows, capacity = len(memory) * width, min(CAPACITY, self.context)
        cache = KeyValueCache.start(rows, len(pairs), self.shape.heads, self.shape.width, capacity, memory)
        return CachedState({}, width=width, cache=cache, memory=Memory.start(pairs, width))

    def step(
        self, e: Float[Tensor, "R d"], state: State, attention: bool
    ) -> tuple[Float[Tensor, "R d"], State, Float[Tensor, "R S"] | None]:
        """attention: the mean over the heads of the upper half of the layers."""
        assert isinstance(state, CachedState)
        assert state.memory is not None
        if state.time >= self.context:
            raise LexigraphError(f"{state.time + 1} tokens are more than the model's context of {self.context}.")
        cache, x = state.with_capacity(self.context), self._placed(e[:, None], state.time)
        looked: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            wanted = looked if attention and number >= len(self.layers) // 2 else None
            own, known = cache.of(number), state.memory.of(number)
            x = layer(x, memory=known, cache=own, time=state.time, memory_weights=wanted)
        where = torch.stack(looked).mean((0, 2)).flatten(0, 1) if attention else None
        return self.norm(x[:, 0]), replace(state, cache=cache, time=state.time + 1), where


def _check(config: Config, objective: Objective) -> None:
    looks = config.decoder == "lstm" and config.attention != "none"
    asked = {"model.hard": config.hard, "objective.doubly": objective.doubly > 0}
    if not looks and (wrong := next((name for name, is_set in asked.items() if is_set), None)):
        raise UsageError(
            f'{wrong} is for an LSTM that looks at the picture: model.decoder = "lstm", and model.attention a score.'
        )
