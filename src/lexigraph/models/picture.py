"""The picture autoencoder: a sentence becomes a vector, the vector a picture, the picture the sentence again.

    A = encoder(w_1 … w_n <eos>)             (T × d)     transformer, every position sees every other
    z = Φ(AᵀA)                               (d)         Gram pooling, nn/gram.py, or another, nn/pooling.py; then to
                                                         mean 0 and variance 1
    picture = draw(z)                        (3 × s × s) convolutions, nn/picture.py; in [-1, 1]
    M = look(picture)                        (16 × d)
    p(w_t | w_<t, picture) = decoder(<eos> w_1 … w_{t-1}; M)        transformer, looks back and at M
    loss = Σ_t KL(smoothed target || p) / tokens

Several forms share these lines (nn/picture.py): `plain` is the one first described, with normalisation layers;
`residual` lets the signal pass; `basis` draws by a sum of trained pictures. z lies on a sphere, which makes distances
comparable. Sums of vectors are made before that (`unnormalised`): Gram and slot pooling add up the positions, so that
a long sentence's vector is long, and a word weighs the same in all of them. The published form has no such step
(`sphere = false`: z as pooled), and an output table of its own with a bias (`tied = false`).

Noise. Some of the sentences are trained with noise on the vector, z + b ε, and the decoder is given b. So it learns
at once to copy (b = 0), to guess a likely sentence near an uncertain vector (b about 1) and to write freely (b
large); decoding a blend or a sum with some noise lets the decoder's knowledge of English mend what arithmetic left
inexact.

Other forms of the same idea: tokens masked or dropped in the encoder's input (`mask_rate`, `drop`: denoising), and a
normal posterior N(μ, σ²) held near N(0, 1) (`variational`; KL with free bits, its weight rising from 0 to 1; measured
by the plain negative ELBO, evaluation/reconstruction.py).

Shapes: B batch, T time, d width, H heads, L layers, V vocabulary, R rows of a search, n sentences of a search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.attention import before
from lexigraph.nn.autoencoder import Autoencoder, Output, seed_tensors, sentence_traits
from lexigraph.nn.cache import CachedState, KeyValueCache, Memory
from lexigraph.nn.channel import Channel
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.feedforward import Activation
from lexigraph.nn.gram import GramPooling
from lexigraph.nn.linear import OutputTable, linear
from lexigraph.nn.network import Examples, Seeds, sequences
from lexigraph.nn.picture import COMPILED, Draw, Form, PictureEncoder, Straight
from lexigraph.nn.pooling import AttentionPooling, SlotPooling
from lexigraph.nn.positions import between, rotary, rotations, sinusoidal
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Layer, Shape
from lexigraph.objectives import analogies, rng
from lexigraph.objectives.next_token import IGNORE, shifted
from lexigraph.objectives.posterior import sampled
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Columns
from lexigraph.text.vocabularies import Vocabularies

if TYPE_CHECKING:
    from lexigraph.recipe import Recipe

SIDES = (16, 32, 64, 128)
NOISE_LEVELS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)  # the decoder has a vector for each of these, and blends between them
MASK, DROP, LEVEL = 1, 2, 3  # streams of random numbers (objectives/rng.py): uniform numbers,
NOISE, POSTERIOR = 4, 5  # and normal ones (uniform 8 to 11)
JITTER = 12


@dataclass(frozen=True)
class Config:
    form: Form = key("basis", about="how pictures are drawn and read: docs/pictures.md describes the four")
    layers: int = ranged(6, 1, about="layers of the decoder")
    encoder_layers: int = ranged(0, 0, about="layers of the encoder; 0: as many as the decoder")
    start: bool = key(False, about="the encoder sees a boundary before the sentence, too")
    heads: int = ranged(8, 1, about="attention heads, which share `dim` among them")
    dim: int = ranged(256, 1, about="width of the network: numbers in the vector of a token")
    inner: int = ranged(0, 0, about="width inside the feed-forward part; 0: four times dim")
    context: int = ranged(42, 2, about="the longest sentence in tokens, its end included")
    positions: Literal["rotary", "sinusoidal"] = key("rotary", about="how the network is told where a token stands")
    activation: Activation = key("gelu", about="function inside the feed-forward part")
    dropout: float = ranged(0.0, 0, 0.999, about="share of the numbers set to 0 in training, at random")
    pooling: Literal["gram", "attention", "slots"] = key("gram", about="how the vectors of all tokens become one, z")
    k: int = ranged(1, 1, about="size of z: 1 is a vector of dim numbers, else a map of dim × k × k")
    head: Literal["picture", "linear"] = key(
        "picture", about="16 vectors read off the picture, or (linear) from z, without one"
    )
    side: int = ranged(64, 1, about="dots on a side of the picture")
    sphere: bool = key(True, about="bring z to mean 0 and variance 1 before it is drawn")
    tied: bool = key(True, about="the output shares the embedding; false: a table of its own, with bias")
    contrast: float = ranged(
        0.0, 0, about="contrast of a basis' pictures, so that few dots are black or white; 0: as learned"
    )


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.1, 0, 0.999, about="share of the target's probability spread over all tokens")
    noise_level: float = ranged(
        0.0, 0, about="the largest noise on z, in standard deviations of its entries; 0: none"
    )
    clean_fraction: float = ranged(0.5, 0, 1, about="share of the sentences that have no noise on z")
    mask_rate: float = ranged(0.0, 0, 0.999, about="share of the tokens that the encoder sees as unknown")
    drop: float = ranged(0.0, 0, 0.999, about="share of the tokens that the encoder does not see at all")
    position_jitter: float = ranged(
        0.0, 0, about="tokens stand 1 ± so much apart for the encoder, so that it does not count positions"
    )
    variational: bool = key(False, about="z is drawn from a normal distribution that is kept near N(0, 1)")
    free_bits: float = ranged(0.0, 0, about="variational: nats per entry of z that cost nothing")
    anneal: int = ranged(
        1000, 0, about="variational: steps until the KL term has its full weight, and validations begin to count"
    )
    kl_weight: float = ranged(1.0, 0, about="variational: weight of the KL term in the end")
    analogies: float = ranged(0.0, 0, about="weight of the sums of sentences in a table [data.analogies]; 0: none")
    channel: float = ranged(0.0, 0, 1, about="share of the pictures that are damaged before they are read: JPEG …")


class PictureAutoencoder(Autoencoder):
    """The network. `encode`, `draw`, `look` and the stepper are its four parts."""

    table: Tensor  # of positions
    levels: Tensor  # NOISE_LEVELS

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        _check(config, objective)
        self.config, self.objective, self.pad, self.context = config, objective, tokens.pad, config.context
        self.end, self.unknown = tokens.eos, tokens.unk
        dim, head = config.dim, config.dim // config.heads
        self.latent = dim * config.k**2
        self.draws, self.side, self.noise_level = config.head == "picture", config.side, objective.noise_level
        self.traits = sentence_traits(
            config.context,
            objective,
            terms=(analogies.TABLE,) if objective.analogies else (),
            compile_regions=(Layer, Output, Channel, *COMPILED[config.form]),  # each kind once
        )
        shape = Shape(dim, config.heads, config.inner or 4 * dim, config.activation, config.dropout)
        self.embedding = TokenTable(len(tokens), dim)  # of encoder, decoder and, if tied, output alike
        positions = config.context + config.start
        fixed = rotary(positions, head) if config.positions == "rotary" else sinusoidal(positions, dim)
        self.register_buffer("table", fixed, persistent=False)
        self.encoder = nn.ModuleList(Layer(shape) for _ in range(config.encoder_layers or config.layers))
        self.norm_encoder = nn.LayerNorm(dim)
        outputs = 2 if objective.variational else 1  # mean and log variance
        pool = {"gram": GramPooling, "attention": AttentionPooling, "slots": SlotPooling}[config.pooling]
        self.pool: Any = pool(dim, outputs * config.k**2)
        if objective.variational and isinstance(self.pool, GramPooling):
            self.pool.weight.data[config.k**2 :].mul_(0.1)  # log variances begin near 0
        if self.draws:
            self.painter = Draw(config.form, dim, self.latent, config.side, config.k, config.contrast)
            self.picture_encoder: nn.Module = PictureEncoder(config.form, dim, config.side)
        else:
            self.picture_encoder = Straight(self.latent, dim)
        self.channel = Channel(config.side, objective.channel) if objective.channel and self.draws else None
        if objective.noise_level:
            self.noise_embedding = nn.Parameter(0.02 * torch.randn(len(NOISE_LEVELS), dim))
            self.register_buffer("levels", torch.tensor(NOISE_LEVELS), persistent=False)
        self.decoder: Any = nn.ModuleList(Layer(shape, memory=True) for _ in range(config.layers))
        self.norm_decoder = nn.LayerNorm(dim)
        self.unembedding = None if config.tied else OutputTable(dim, len(tokens))
        self.output = Output(objective.label_smoothing, tokens.pad)
        self.apply(self._initialise)

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {**super().columns(recipe), **(analogies.COLUMNS if recipe.objective.analogies else {})}

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.dim**-0.5)  # times √d: unit size
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        if isinstance(module, Layer):  # what is added to the residual stream, smaller with depth
            parts = [module.attention.out, module.feed_forward.narrow]
            for last in [*parts, module.memory.out] if hasattr(module, "memory") else parts:
                last.weight.data.mul_((2 * self.config.layers) ** -0.5)

    @property
    def output_table(self) -> tuple[Float[Tensor, "V d"], Float[Tensor, " V"] | None]:
        """Weight and bias of the output."""
        own = self.unembedding
        return (self.embedding.weight, None) if own is None else (own.weight, own.bias)

    # ---- sentence → z → picture → memory -----------------------------------------------------------------

    def encode(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], unnormalised: bool = False
    ) -> Float[Tensor, "B latent"]:
        """The vectors of sentences w_1 … w_n <eos>, padded on the right; `unnormalised`: with their own norms."""
        seen = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        z = self._read(ids, seen)[:, 0]
        return z if unnormalised else self._normal(z)

    def posterior(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B latent"], Float[Tensor, "B latent"]]:
        """μ and log σ² of sentences, if the form is variational: what z is sampled from."""
        seen = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        mean, log_variance = self._read(ids, seen).unbind(1)
        return mean, log_variance

    def _read(
        self, ids: Int[Tensor, "B T"], seen: Bool[Tensor, "B T"], seeds: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B outputs latent"]:
        if self.config.start:
            ids, seen = F.pad(ids, (1, 0), value=self.end), F.pad(seen, (1, 0), value=True)
        x, rotation = self._embed(ids)
        if seeds is not None and self.objective.position_jitter:
            gaps = 1 + self.objective.position_jitter * (2 * rng.uniform(seeds, ids.shape[1], JITTER) - 1)
            rotation = rotations(gaps.cumsum(1), self.config.dim // self.config.heads).unsqueeze(2)
        mask = seen[:, None, None]
        for layer in self.encoder:
            x = layer(x, rotation, mask)
        A = self.norm_encoder(x) * seen.unsqueeze(2)
        pooled = self.pool(A)  # (B, outputs · k², d)
        pooled = pooled.to(torch.promote_types(pooled.dtype, torch.float32))
        outputs = 2 if self.objective.variational else 1
        return pooled.transpose(1, 2).unflatten(2, (outputs, -1)).transpose(1, 2).flatten(2)

    def _normal(self, z: Float[Tensor, "B latent"]) -> Float[Tensor, "B latent"]:
        """To the sphere; a variational z has a size that means something, and stays."""
        stays = self.objective.variational or not self.config.sphere
        return z if stays else F.layer_norm(z, z.shape[1:])

    def draw(self, z: Float[Tensor, "B latent"]) -> Float[Tensor, "B 3 side side"]:
        """The pictures of vectors; on the sphere, their length does not matter."""
        if not self.draws:
            raise LexigraphError("This model has a linear head: it draws no pictures.")
        return self.painter(self._normal(z))

    def _memory(
        self, z: Float[Tensor, "B latent"], seeds: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B 16 d"]:
        seen = self.draw(z) if self.draws else self._normal(z)
        if self.channel is not None and seeds is not None:
            seen = self.channel(seen, seeds)
        return self.picture_encoder(seen)

    def _embed(self, ids: Int[Tensor, "B T"], time: int = 0) -> tuple[Float[Tensor, "B T d"], Tensor | None]:
        """Embeddings with their positions added, or the angles to turn queries and keys by."""
        length = ids.shape[1]
        if time + length > self.table.shape[-2]:
            raise LexigraphError(f"{time + length} tokens are more than the model's context of {self.context}.")
        x = self.embedding(ids) * math.sqrt(self.config.dim)
        if self.config.positions == "rotary":
            return x, self.table[:, time : time + length].contiguous()  # compiled code asks for like strides
        return F.dropout(x + self.table[time : time + length], self.config.dropout, self.training), None

    # ---- training ----------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of sentences <eos> w_1 … w_n, each read into its own vector first."""
        if lengths is None:
            lengths = torch.full((len(ids),), ids.shape[1], device=ids.device)
        source = F.pad(ids[:, 1:], (0, 1)).scatter(1, (lengths - 1)[:, None], self.end)
        return self.logits(self.encode(source, lengths), ids)

    def logits(self, z: Float[Tensor, "B latent"], ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits of the tokens after each of <eos> w_1 … w_n, given vectors."""
        return F.linear(self._write(self._memory(z), ids), *self.output_table)

    def logits_of_picture(
        self, picture: Float[Tensor, "B 3 side side"], ids: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """The same, given pictures."""
        return F.linear(self._write(self.picture_encoder(picture), ids), *self.output_table)

    def _write(
        self, memory: Float[Tensor, "B 16 d"], ids: Int[Tensor, "B T"], noise: Float[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T d"]:
        """The decoder's last layer, all positions at once."""
        x, rotation = self._embed(ids)
        x = x + self._level(noise, len(memory))[:, None]
        mask = before(ids.shape[1], ids.device)
        for layer in self.decoder:
            x = layer(x, rotation, mask, memory)
        return self.norm_decoder(x)

    def _level(self, noise: Float[Tensor, " B"] | None, rows: int) -> Float[Tensor, "B d"]:
        """The embedding of each vector's noise level, between those of the nearest two that have one."""
        if not self.objective.noise_level:
            return self.embedding.weight.new_zeros(rows, self.config.dim)
        if noise is None:
            return self.noise_embedding[:1].expand(rows, -1)
        weights = between(noise.to(self.levels.dtype), self.levels).to(self.noise_embedding.dtype)
        return weights @ self.noise_embedding  # a product: the gradient of a lookup is far slower

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences, boundaries included. `seeds` and `step`, in training, allow noise."""
        tensors, counts = seed_tensors(seeds, step), {}
        if "text" in examples:
            batch = shifted(sequences(examples["text"]), self.pad)
            tensors, counts = batch.tensors | tensors, dict(batch.counts)
            counts |= {"kl": counts["loss"]} if self.objective.variational else {}  # nats per token
        if analogies.RESULT in examples:
            texts = {name: shifted(sequences(examples[name]), self.pad) for name in analogies.COLUMNS}
            tensors |= {name: text["targets"] for name, text in texts.items()}
            tensors |= {"result_inputs": texts[analogies.RESULT]["inputs"]}
            counts[analogies.TABLE] = texts[analogies.RESULT].counts["loss"]
        return Batch(tensors, counts)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        terms = self._copies(batch) if "targets" in batch.tensors else {}
        return terms | (self._analogies(batch) if analogies.RESULT in batch.tensors else {}), None

    def _copies(self, batch: Batch) -> Terms:
        """Every sentence from its own vector."""
        objective, targets = self.objective, batch["targets"]
        seeds = batch.tensors.get("seeds")
        seen = targets != IGNORE
        source = targets.clamp(min=0)
        if seeds is not None and objective.mask_rate:
            source = source.masked_fill(rng.uniform(seeds, source.shape[1], MASK) < objective.mask_rate, self.unknown)
        looked = seen
        if seeds is not None and objective.drop:
            looked = seen & (rng.uniform(seeds, source.shape[1], DROP) >= objective.drop)
            looked = looked | (looked.sum(1, keepdim=True) == 0) & seen  # at least something
        read, terms = self._read(source, looked, seeds), {}
        z = self._normal(read[:, 0])
        if objective.variational:
            epsilon = None if seeds is None else rng.gaussian(seeds, self.latent, POSTERIOR)
            z, kl = sampled(read[:, 0], read[:, 1], epsilon, batch.tensors.get("step"), objective)
            terms["kl"] = Term(kl, batch.counts["kl"])
        return self._written(z, batch, seeds) | terms

    def _analogies(self, batch: Batch) -> Terms:
        """The results of sums, which are made before the sphere."""
        seeds = batch.tensors.get("seeds_analogies")
        texts = {name: batch[name] for name in analogies.TERMS}
        z = analogies.sums(texts, lambda *rows: self._read(*rows)[:, 0], seeds)
        facts, count = {"inputs": batch["result_inputs"], "targets": batch["result"]}, batch.counts[analogies.TABLE]
        found = self._written(self._normal(z), Batch(facts, {"loss": count}), seeds)["loss"]
        return {analogies.TABLE: Term(found.total, count, weight=self.objective.analogies)}

    def _written(self, z: Float[Tensor, "B latent"], batch: Batch, seeds: Int[Tensor, " B"] | None) -> Terms:
        """The loss of writing a batch's targets from vectors, some of them noisy, through their pictures."""
        objective, noise = self.objective, None
        if seeds is not None and objective.noise_level:
            draws = rng.uniform(seeds, 2, LEVEL)
            noise = torch.where(draws[:, 1] >= objective.clean_fraction, objective.noise_level * draws[:, 0] ** 2, 0)
            z = z + noise[:, None] * rng.gaussian(seeds, self.latent, NOISE)
        return self.output(self._write(self._memory(z, seeds), batch["inputs"], noise), *self.output_table, batch)

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Begin sentences from vectors (`z`) or pictures (`picture`); `noise`, one for each, is how sure they are.
        With `attention`, whatever it holds, the first step has it, too."""
        drawn = beginning.get("picture")
        memory = self._memory(beginning["z"]) if drawn is None else self.picture_encoder(drawn)
        rows = len(memory) * width
        config, head = self.config, self.config.dim // self.config.heads
        seen = Memory.start([layer.memory.keys_values(memory) for layer in self.decoder], width)
        cache = KeyValueCache.start(rows, config.layers, config.heads, head, self.context, memory)
        level = self._level(beginning.get("noise"), len(memory)).repeat_interleave(width, 0)
        state = CachedState({"noise": level}, width=width, cache=cache, memory=seen)
        first = torch.full((rows,), self.end, device=memory.device)
        return self.step(state, first, attention="attention" in beginning)

    def step(self, state: CachedState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. `attention`: where it looked, on the 16 patches of the picture, row by row;
        the mean over the heads of the upper half of the layers."""
        cache, memory, time = state.cache, state.memory, state.time
        assert memory is not None
        x, rotation = self._embed(tokens[:, None], time)
        x = x + state.rows["noise"][:, None]
        looked: list[Tensor] = []
        for number, layer in enumerate(self.decoder):
            wanted = looked if attention and number >= len(self.decoder) // 2 else None
            own, known = cache.of(number), memory.of(number)
            x = layer(x, rotation, memory=known, cache=own, time=time, memory_weights=wanted)
        where = torch.stack(looked).mean((0, 2)).flatten(0, 1) if attention else None  # (n, rows of each, 16)
        logits = linear(self.norm_decoder(x[:, 0]), *self.output_table)
        return Step(logits, replace(state, time=time + 1), where)


def _check(config: Config, objective: Objective) -> None:
    head, odd = divmod(config.dim, config.heads)
    if odd or (config.positions == "rotary" and head % 2):
        twice = ", and with rotary positions of twice as many."
        raise LexigraphError(f"model.dim = {config.dim} must be a multiple of model.heads = {config.heads}{twice}")
    if config.side not in SIDES:
        raise LexigraphError(f"model.side = {config.side} must be one of {', '.join(map(str, SIDES))}.")
    least = 16 if config.form == "basis" else max(16, config.side // 4)  # channels are halved as sides double
    if config.dim % least:
        raise LexigraphError(f"model.dim = {config.dim} must be a multiple of {least} for side {config.side}.")
    if config.k not in (1, 2, 4, 8):
        raise LexigraphError(f"model.k = {config.k} must be 1 (a vector), 2, 4 or 8 (a map).")
    if objective.position_jitter and (config.positions != "rotary" or not 0 < objective.position_jitter < 1):
        raise LexigraphError("objective.position_jitter must be less than 1, and needs rotary positions.")
    if objective.noise_level and not config.sphere:
        raise LexigraphError("objective.noise_level, deviations of z on the sphere, needs model.sphere = true.")
    if objective.variational and objective.noise_level:
        raise LexigraphError("objective.variational brings its own noise: set objective.noise_level to 0.")
