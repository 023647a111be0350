"""Sequence to sequence by recurrent networks: one reads, another writes, and may look back at every step.

    m_1 … m_S, h_S = encoder(s_1 … s_m <eos>)                     nn/cells.py has the equations of each cell
    h_t = cell([E y_{t-1}; …], h_{t-1})                           h_0: the encoder's last state, layer by layer
    p(y_t) = softmax(O r_t + b)                                   (tied: O is the target's table E)

    plain             r_t = h_t                                   all that is known of the source came in by h_0
    every_step        h_t = cell([E y_{t-1}; h_S], h_{t-1})       … or comes in at every step      (Cho et al. 2014)
    attends after     r_t = tanh(W [h_t; c_t])                    c_t: the mean of m, by weights that h_t
                                                                  finds (nn/alignment.py)         (Luong et al. 2015)
        feeding       h_t = cell([E y_{t-1}; r_{t-1}], h_{t-1})   what was looked at is known at the next step
    attends before    h_t = cell([E y_{t-1}; c_t], h_{t-1})       c_t by h_{t-1}, r_t as above (Bahdanau et al. 2015)
        blind         h_t = cell(c_t, h_{t-1})                    … and what was written is not read
    attends lowest    c_t by the lowest layer, into all upper ones                              (GNMT: Wu et al. 2016)

Hard attention looks at one position, drawn by its weight (objectives/hard_attention.py); outside of training, at the
one of most weight.

Shapes: B batch, S source, T target, V vocabulary (of targets), e width of a token's vector, d width of a state, n
sentences of a search, R its rows (in training both are B).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.models.seq2seq_segments import MEMORIES, segments_of
from lexigraph.nn.alignment import Alignment, Looks, Score, Window
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Examples, Seeds, Segment
from lexigraph.nn.recurrent import Recurrent, Stack, backwards
from lexigraph.nn.recurrent import State as Memories
from lexigraph.nn.stepper import State, Step
from lexigraph.nn.translation import SOURCE, TranslationNetwork, pairs
from lexigraph.objectives.hard_attention import BASELINE, POLICY, policy_and_baseline
from lexigraph.objectives.next_token import IGNORE, token_nll
from lexigraph.objectives.rng import uniform
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import MAIN, Columns
from lexigraph.text.vocabularies import Vocabularies

LOOKS = 80  # stream of random numbers


@dataclass(frozen=True)
class Config:
    cell: Literal["rnn", "lstm", "gru"] = key("lstm", about="how a state follows from the one before and a token")
    layers: int = ranged(2, 1, about="layers of the encoder")
    decoder_layers: int = ranged(0, 0, about="layers of the decoder; 0: as many as the encoder")
    dim: int = ranged(256, 2, about="numbers in a state; two directions share them")
    embedding: int = ranged(0, 0, about="numbers in the vector of a token; 0: as many as in a state")
    bidirectional: Literal["none", "first", "all"] = key("all", about="which layers of the encoder read both ways")
    reversed: bool = key(False, about="the source is read from its end to its beginning")
    residual: int = ranged(0, 0, about="from this layer on, its input is added to its output; 0: nowhere")
    attention: Literal["none", Score] = key("additive", about="how positions of the source are scored; none: never")
    attends: Literal["before", "after", "lowest"] = key(
        "after", about="before a step or after it, or after its lowest layer, for all others"
    )
    feeding: bool = key(False, about="a step reads the last step's readout, too, and so where it looked")
    hard: bool = key(False, about="it looks at one position, drawn at random in training, not at a mean of all")
    window: Window = key("none", about="where it may look: all over, around the same place, around a predicted one")
    reach: int = ranged(10, 1, about="of a window: how many positions to each side")
    every_step: bool = key(False, about="the encoder's last state goes into every step of the decoder")
    start: Literal["encoder", "zero"] = key("encoder", about="what the decoder's states begin from")
    blind: bool = key(False, about="the decoder does not read what it has written")
    context: int = ranged(256, 2, about="the longest source or target in tokens, its end included")
    dropout: float = ranged(0.2, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    tied: bool = key(True, about="the output has the target's table, not its own")
    scale: float = ranged(0.08, 0, about="initial weights are uniform in ± scale")
    forget_bias: float = key(0.0, about="LSTMs: bias of the forget gate at the start; 0: drawn as other weights are")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")
    entropy: float = ranged(0.01, 0, about="hard attention: λ, what it is worth not to be sure where to look")


class Below(NamedTuple):
    """What goes into the decoder's layers, and what was found before them."""

    x: Float[Tensor, "R T _"]
    given: Float[Tensor, "R T _"] | None  # beside it, at every step
    context: Float[Tensor, "R T d"] | None
    looks: Looks | None
    end: Memories  # of the lowest layer, where it is one of its own


class Seq2Seq(TranslationNetwork):
    """The network; `network(source_ids, target_ids)` gives logits."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__(vocabularies, context=config.context, smoothing=objective.label_smoothing)
        _check(config)
        self.config, self.objective, self.aligned = config, objective, config.attention != "none"
        if config.hard:
            self.traits = replace(self.traits, terms=("loss", POLICY, BASELINE))
        tokens, dim, width = len(vocabularies.tokens()), config.dim, config.embedding or config.dim
        self.embedding = TokenTable(tokens, width)  # of the target, and of the source
        self.source_embedding = None
        if SOURCE in vocabularies:
            self.source_embedding = TokenTable(len(vocabularies.tokens(SOURCE)), width, SOURCE)
        self.encoder = _encoder(config, width)
        layers, looks = config.decoder_layers or config.layers, self.aligned
        seen = (0 if config.blind else width) + (self._fed_width if config.feeding else 0)
        given = dim * config.every_step + dim * (looks and config.attends == "before")
        lowest = looks and config.attends == "lowest"
        self.lowest = _layers(config, seen, 1, given=given) if lowest else None
        if lowest:  # the layers above it
            above = max(2, config.residual) - 1 if config.residual else 0
            self.decoder = _layers(config, dim, layers - 1, residual=above, given=dim, given_to_all=True)
        else:
            self.decoder = _layers(config, seen, layers, residual=config.residual, given=given)
        if looks:
            score = cast(Score, config.attention)
            self.alignment = Alignment(score, dim, config.context, config.window, config.reach)
        self.readout = None
        if looks or self._fed_width != dim:
            self.readout = nn.Linear(dim + dim * looks, self._fed_width)
        self.output = None if config.tied else nn.Linear(dim, tokens, bias=False)
        self.bias = nn.Parameter(torch.zeros(tokens))
        self.expected = nn.Linear(dim, 1) if config.hard else None
        for parameter in self.parameters():
            if parameter is not self.bias:
                nn.init.uniform_(parameter, -config.scale, config.scale)
        for module in self.modules():
            if isinstance(module, Recurrent | Alignment):
                module.own_start()

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return pairs(recipe.tokenizer.separate, recipe.data)

    @property
    def output_table(self) -> Float[Tensor, "V e"]:
        return self.embedding.weight if self.output is None else self.output.weight

    @property
    def output_bias(self) -> Float[Tensor, " V"]:
        return self.bias

    @property
    def _fed_width(self) -> int:
        """Of a readout."""
        return (self.config.embedding or self.config.dim) if self.config.tied else self.config.dim

    # ---- the encoder -------------------------------------------------------------------------------------

    def read(
        self, ids: Int[Tensor, "B S"], lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """What decoding needs of sources: what stays as it is, and the rows that a decoder begins with."""
        self._fits(ids.shape[1])
        if lengths is None:
            lengths = torch.full((len(ids),), ids.shape[1], device=ids.device)
        x, state = self.encoder(self.first_input(ids, lengths), lengths)
        return self.begun(x, state, lengths)

    def first_input(self, ids: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S e"]:
        """What the encoder's first layer reads."""
        x = self.dropped(self.source_table(ids))
        return backwards(x, lengths) if self.config.reversed else x

    def begun(
        self, x: Float[Tensor, "B S d"], state: Memories, lengths: Int[Tensor, " B"]
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The same from what the encoder found."""
        config = self.config
        memory = self.dropped(backwards(x, lengths) if config.reversed else x)
        source = {"lengths": lengths}
        if self.aligned:
            source |= {"memory": memory, "keys": self.alignment.keys(memory)}
        if config.every_step:
            source["end"] = state["h"][:, -1]
        depth = torch.arange(config.decoder_layers or config.layers, device=x.device).clamp(max=config.layers - 1)
        rows = {name: value[:, depth] * (config.start == "encoder") for name, value in state.items()}
        rows["time"] = torch.zeros_like(lengths)
        if config.feeding:
            rows["fed"] = x.new_zeros(len(x), self._fed_width)
        return source, rows

    # ---- the decoder -------------------------------------------------------------------------------------

    def hidden(
        self, source: Int[Tensor, "B S"], inputs: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T e"]:
        self._fits(inputs.shape[1])
        return self.write(inputs, *self.read(source, lengths))[0]

    def write(
        self,
        inputs: Int[Tensor, "R T"],
        source: dict[str, Tensor],
        rows: dict[str, Tensor],
        draws: Float[Tensor, "R T"] | None = None,
    ) -> tuple[Float[Tensor, "R T e"], dict[str, Tensor], Looks | None]:
        """The readouts of tokens, all at once if no step needs to know what the one before it looked at."""
        e = self.read_again(inputs)
        if not self.stepwise:
            return self._pass(e, source, rows, draws)
        readouts: list[Tensor] = []
        looked: list[Looks] = []
        for t in range(inputs.shape[1]):
            now = None if draws is None else draws[:, t : t + 1]
            readout, rows, look = self._pass(e[:, t : t + 1], source, rows, now)
            readouts.append(readout)
            looked += [look] if look else []
        return torch.cat(readouts, 1), rows, Looks.in_time(looked) if looked else None

    @property
    def stepwise(self) -> bool:
        """Whether a step of the decoder needs the one before it."""
        return self.config.feeding or (self.aligned and self.config.attends == "before")

    def read_again(self, inputs: Int[Tensor, "R T"]) -> Float[Tensor, "R T _"]:
        """What the decoder reads of what it has written."""
        return self.dropped(self.bias.new_zeros(*inputs.shape, 0) if self.config.blind else self.embedding(inputs))

    def _pass(
        self,
        x: Float[Tensor, "R T _"],
        source: dict[str, Tensor],
        rows: dict[str, Tensor],
        draws: Float[Tensor, "R T"] | None,
    ) -> tuple[Float[Tensor, "R T e"], dict[str, Tensor], Looks | None]:
        """Some steps at once: one, where a step needs the one before it."""
        now = source | rows if draws is None else source | rows | {"draws": draws}
        below = self.below(x, now)
        h, state = self.decoder(below.x, state=self.upper(now), given=below.given)
        readout, looks = self.above(h, below.context, now)
        if below.end:
            state = {name: torch.cat([below.end[name], value], 1) for name, value in state.items()}
        rows = state | {"time": rows["time"] + x.shape[1]}
        if self.config.feeding:
            rows["fed"] = readout[:, -1]
        return self.dropped(readout), rows, looks or below.looks

    def below(self, x: Float[Tensor, "R T _"], now: dict[str, Tensor]) -> Below:
        """All that comes before the decoder's layers, or (attends lowest) before its upper ones."""
        config, width = self.config, len(x) // len(now["lengths"])
        given, context, looks = [], None, None
        if config.every_step:
            given.append(now["end"].repeat_interleave(width, 0)[:, None].expand(-1, x.shape[1], -1))
        if config.feeding:
            x = torch.cat([x, now["fed"][:, None]], 2)
        if self.aligned and config.attends == "before":
            context, looks = self._look(now["h"][:, -1:], now)
            given.append(context)
        beside = torch.cat(given, 2) if given else None
        if self.lowest is None:
            return Below(x, beside, context, looks, {})
        first = {name: now[name][:, :1] for name in MEMORIES if name in now}
        low, end = self.lowest(x, state=first, given=beside)
        context, looks = self._look(low, now)
        return Below(self.dropped(low), context, context, looks, end)

    def upper(self, now: dict[str, Tensor]) -> Memories:
        """The states of the layers that `below` leaves."""
        return {name: now[name][:, int(self.lowest is not None) :] for name in MEMORIES if name in now}

    def above(
        self, h: Float[Tensor, "R T d"], context: Float[Tensor, "R T d"] | None, now: dict[str, Tensor]
    ) -> tuple[Float[Tensor, "R T e"], Looks | None]:
        """The readouts of the top layer's states; and where they looked, if that is done now."""
        looks = None
        if self.aligned and self.config.attends == "after":
            context, looks = self._look(h, now)
        if self.readout is None:
            return h, looks
        return self.readout(h if context is None else torch.cat([h, context], 2)).tanh(), looks

    def _look(self, queries: Float[Tensor, "R T d"], now: dict[str, Tensor]) -> tuple[Float[Tensor, "R T d"], Looks]:
        return self.alignment.look(queries, now, now["time"], now.get("draws"), self.config.hard)

    def dropped(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        return F.dropout(x, self.config.dropout, self.training)

    # ---- training ----------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        batch = super().prepare(examples, seeds, step)
        if not self.config.hard or seeds is None:
            return batch
        draws = uniform(torch.from_numpy(seeds[MAIN]), batch["inputs"].shape[1], LOOKS)
        count = batch.counts["loss"]
        return Batch(batch.tensors | {"draws": draws}, batch.counts | {POLICY: count, BASELINE: count})

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        draws = batch.tensors.get("draws")
        hidden, _, looks = self.write(batch["inputs"], *self.read(batch["source"], batch["source_lengths"]), draws)
        return self.all_terms(hidden, looks, batch), None

    def all_terms(self, hidden: Float[Tensor, "B T e"], looks: Looks | None, batch: Batch) -> Terms:
        """The loss of readouts and, where looks were drawn, what those learn from."""
        terms = self.terms(hidden, batch)
        if "draws" not in batch.tensors or looks is None or looks.chosen is None or self.expected is None:
            return terms
        totals = policy_and_baseline(
            -token_nll(terms),
            self.expected(looks.queries.detach()).squeeze(2),
            looks.log_weights,
            looks.chosen,
            batch["targets"] != IGNORE,
            entropy=self.objective.entropy,
            known_later=self.config.attends != "after" or self.config.feeding,
        )
        return terms | {name: Term(total, batch.counts[name]) for name, total in totals.items()}

    def segments(self) -> list[Segment]:
        return segments_of(self)

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the sources (`ids`, ends included, padded on the right, and their `lengths`)."""
        source, rows = self.read(beginning["ids"], beginning["lengths"])
        state = State(rows, source).expand(width)
        first = torch.full((len(rows["time"]) * width,), self.first[0], device=rows["time"].device)
        return self.step(state, first, attention=True)

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. `attention`: where it looked in the source."""
        readout, rows, looks = self.write(tokens[:, None], state.source, state.rows)
        where = looks.log_weights[:, 0].exp() if attention and looks else None
        return Step(self.logits(readout[:, 0]), replace(state, rows=rows), where)


def _encoder(config: Config, width: int) -> Stack:
    """Layers that read; where only the first reads both ways, it stands by itself."""
    if config.bidirectional != "first":
        both = config.bidirectional == "all"
        return Stack([_layers(config, width, config.layers, both, residual=config.residual)])
    parts = [_layers(config, width, 1, both=True)]
    if config.layers > 1:
        above = max(2, config.residual) - 1 if config.residual else 0
        parts.append(_layers(config, config.dim, config.layers - 1, residual=above))
    return Stack(parts, config.dropout)


def _layers(
    config: Config,
    inputs: int,
    layers: int,
    both: bool = False,
    residual: int = 0,
    given: int = 0,
    given_to_all: bool = False,
) -> Recurrent:
    return Recurrent(
        config.cell,
        inputs,
        config.dim // (1 + both),
        layers,
        bidirectional=both,
        dropout=config.dropout,
        forget_bias=config.forget_bias,
        residual=residual,
        given=given,
        given_to_all=given_to_all,
    )


def _check(config: Config) -> None:
    looks, layers = config.attention != "none", config.decoder_layers or config.layers
    if config.bidirectional != "none" and config.dim % 2:
        raise UsageError(f"model.dim is {config.dim}: two directions share it, so that it must be even.")
    if config.residual == 1:
        raise UsageError("model.residual = 1: the first layer's input is no state; begin with 2 or above.")
    if not looks:
        asked = {
            "model.attends": config.attends != "after",
            "model.hard": config.hard,
            "model.window": config.window != "none",
        }
        if wrong := next((name for name, is_set in asked.items() if is_set), None):
            raise UsageError(f'{wrong} says how to attend, and model.attention is "none": choose a score.')
    if config.attends == "lowest" and layers < 2:
        raise UsageError('model.attends = "lowest" needs layers above it: model.decoder_layers must be 2 or more.')
    sees = config.feeding or config.every_step or (looks and config.attends == "before")
    if config.blind and not sees:
        raise UsageError(
            'A decoder with model.blind = true reads nothing at all: set model.attends = "before", model.feeding or '
            "model.every_step."
        )
    if config.blind and not config.tied:
        raise UsageError("A decoder with model.blind = true has its table for output alone: set model.tied = true.")
