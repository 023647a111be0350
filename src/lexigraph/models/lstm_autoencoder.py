"""LSTM autoencoders: a sentence becomes a vector by one recurrent network, and a sentence again by another.

    a_n = LSTM(w_1 … w_n <eos>)   b_n = LSTM(<eos> w_n … w_1)   the last state of each direction
    z = W [a_n; b_n] + b                                        (k)
    h_0, c_0 = tanh(U z), V z                                   z begins the decoder's state,
    h_t, c_t = LSTM([w_{t-1}; z], h_{t-1}, c_{t-1})             and stands beside every word it reads
    p(w_t | w_<t, z) = softmax(E (P h_t) + b)                   E: the table of embeddings

Denoising (Shen et al. 2020, DAAE). The encoder sees w with tokens masked or dropped, the decoder must write all of w,
so that like sentences get like vectors. A discriminator D holds z near N(0, 1): it tells z from samples ε of N(0, 1),
and the encoder deceives it. (The same by turning D's gradient around: D wins, the gradient is gone, z runs away.)

    D minimises  - log D(ε) - log(1 - D(z))         the encoder  - λ log D(z)

Variational (Bowman et al. 2016). z ~ N(μ, σ²) with μ and log σ² from the encoder; words that the decoder reads are
masked (`word_dropout`), so that it has to look at z; the loss has in addition, with a weight rising from 0 to 1,

    KL = Σ_i max(free bits, (μ_i² + σ_i² - 1 - log σ_i²) / 2)

All terms are sums over sentences divided by the number of tokens, so that λ and KL weigh against the log-probability
of a whole sentence, as in the papers. Without seeds (evaluation) nothing is masked or sampled, and there is no game;
the negative ELBO of held-out text, where z is sampled but nothing free, is evaluation/reconstruction.py's.

Shapes: B batch, T time, e embedding, d width, k latent, L layers, V vocabulary, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.autoencoder import Autoencoder, seed_tensors, sentence_traits
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.linear import linear
from lexigraph.nn.network import Examples, Seeds, sequences
from lexigraph.nn.stepper import State, Step
from lexigraph.objectives import rng
from lexigraph.objectives.next_token import IGNORE, next_token_terms, shifted
from lexigraph.objectives.posterior import sampled
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.sections import key, ranged
from lexigraph.text.vocabularies import Vocabularies

MASK, DROP, WORD_DROPOUT, POSTERIOR, PRIOR = 1, 2, 3, 5, 6  # streams of random numbers
Hidden = tuple[Float[Tensor, "L B d"], Float[Tensor, "L B d"]]  # h and c of an LSTM


@dataclass(frozen=True)
class Config:
    layers: int = ranged(1, 1, about="LSTM layers on each side")
    dim: int = ranged(512, 1, about="numbers in an LSTM's state")
    embedding: int = ranged(256, 1, about="numbers in the vector of a token")
    latent: int = ranged(256, 1, about="numbers in z, the vector of a sentence")
    context: int = ranged(42, 2, about="the longest sentence in tokens, its end included")
    dropout: float = ranged(
        0.0, 0, 0.999, about="share of the numbers set to 0 in training between layers, never from step to step"
    )
    bidirectional: bool = key(True, about="the encoder reads in both directions")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")
    mask_rate: float = ranged(0.0, 0, 0.999, about="share of the tokens that the encoder sees as unknown")
    drop: float = ranged(0.0, 0, 0.999, about="share of the tokens that the encoder does not see at all")
    adversary: float = ranged(0.0, 0, about="what deceiving the discriminator is worth; 0: there is none")
    variational: bool = key(False, about="z is drawn from a normal distribution that is kept near N(0, 1)")
    free_bits: float = ranged(0.0, 0, about="variational: nats per entry of z that cost nothing")
    anneal: int = ranged(
        1000, 0, about="variational: steps until the KL term has its full weight, and validations begin to count"
    )
    kl_weight: float = ranged(1.0, 0, about="variational: weight of the KL term in the end")
    word_dropout: float = ranged(0.0, 0, 0.999, about="share of the tokens that the decoder reads as unknown")


class LSTMAutoencoder(Autoencoder):
    """The network. `encode` and the stepper are its two halves."""

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        _check(config, objective)
        self.config, self.objective, self.pad = config, objective, tokens.pad
        self.end, self.unknown = tokens.eos, tokens.unk
        self.context, self.latent = config.context, config.latent
        terms = ("adversary",) if objective.adversary else ()
        self.traits = sentence_traits(config.context, objective, terms=terms)
        dim, layers, latent = config.dim, config.layers, config.latent
        between = config.dropout if layers > 1 else 0.0
        self.dropout = nn.Dropout(config.dropout)
        self.embedding = TokenTable(len(tokens), config.embedding)  # of encoder, decoder and output alike
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.ahead = nn.LSTM(config.embedding, dim, layers, batch_first=True, dropout=between)
        if config.bidirectional:
            self.back = nn.LSTM(config.embedding, dim, layers, batch_first=True, dropout=between)
        self.bottleneck = nn.Linear(dim * (1 + config.bidirectional), latent * (1 + objective.variational))
        self.first = nn.Linear(latent, 2 * layers * dim)
        self.decoder = nn.LSTM(config.embedding + latent, dim, layers, batch_first=True, dropout=between)
        self.out = nn.Linear(dim, config.embedding)
        self.bias = nn.Parameter(torch.zeros(len(tokens)))
        if objective.adversary:
            self.discriminator = nn.Sequential(nn.Linear(latent, dim), nn.ReLU(), nn.Linear(dim, 1))

    # ---- sentence → z --------------------------------------------------------------------------------------

    def encode(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], unnormalised: bool = False
    ) -> Float[Tensor, "B k"]:
        """The vectors of sentences w_1 … w_n <eos>, padded on the right, which are not normalised."""
        return self._read(ids, lengths)[:, : self.latent]

    def posterior(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B k"], Float[Tensor, "B k"]]:
        """μ and log σ² of sentences, if the form is variational: what z is sampled from."""
        mean, log_variance = self._read(ids, lengths).chunk(2, 1)
        return mean, log_variance

    def _read(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B outputs"]:
        """z, or μ and log σ². Each direction ends at the sentence's own length, so that padding comes too late."""
        last = (lengths - 1)[:, None]
        readings = [(self.ahead, ids)]
        if self.config.bidirectional:
            positions = torch.arange(ids.shape[1], device=ids.device)
            readings.append((self.back, ids.gather(1, (last - positions).clamp(min=0))))
        with _full_precision(ids.device):
            outputs = [lstm(self.dropout(self.embedding(seen)))[0] for lstm, seen in readings]
            ends = [output.take_along_dim(last[:, :, None], 1).squeeze(1) for output in outputs]
            return self.bottleneck(self.dropout(torch.cat(ends, 1)))

    # ---- z → sentence --------------------------------------------------------------------------------------

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of sentences <eos> w_1 … w_n, each read into its own vector first."""
        if lengths is None:
            lengths = torch.full((len(ids),), ids.shape[1], device=ids.device)
        source = F.pad(ids[:, 1:], (0, 1)).scatter(1, (lengths - 1)[:, None], self.end)
        return self.logits(self.encode(source, lengths), ids)

    def logits(self, z: Float[Tensor, "B k"], ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits of the tokens after each of <eos> w_1 … w_n, given vectors."""
        return F.linear(self._write(z, ids, self._begin(z))[0], self.embedding.weight, self.bias)

    def _begin(self, z: Float[Tensor, "B k"]) -> Hidden:
        with _full_precision(z.device):
            h, c = self.first(z).unflatten(1, (2, self.config.layers, -1)).permute(1, 2, 0, 3)
        return h.tanh(), c.contiguous()

    def _write(
        self, z: Float[Tensor, "B k"], ids: Int[Tensor, "B T"], state: Hidden
    ) -> tuple[Float[Tensor, "B T e"], Hidden]:
        """What is multiplied with the output table, and the state to go on from."""
        with _full_precision(z.device):
            words = self.dropout(self.embedding(ids))
            outputs, state = self.decoder(torch.cat([words, z[:, None].expand(-1, ids.shape[1], -1)], 2), state)
        return self.out(self.dropout(outputs)), state

    # ---- training ------------------------------------------------------------------------------------------

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch from token sequences, boundaries included. `seeds` and `step`, in training, allow noise."""
        batch, extra = shifted(sequences(examples["text"]), self.pad), seed_tensors(seeds, step)
        plays = self.objective.adversary and seeds is not None  # the discriminator's game belongs to training
        tokens = batch.counts["loss"]  # also what is one number a sentence is shared out over its tokens: see above
        more = {name: tokens for name, used in (("kl", self.objective.variational), ("adversary", plays)) if used}
        return Batch(batch.tensors | extra, batch.counts | more)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        objective, inputs, seeds = self.objective, batch["inputs"], batch.tensors.get("seeds")
        read = self._read(*self._corrupted(batch["targets"], seeds))
        z, more = read[:, : self.latent], {}
        if objective.variational:
            noise = None if seeds is None else rng.gaussian(seeds, self.latent, POSTERIOR)
            z, kl = sampled(z, read[:, self.latent :], noise, batch.tensors.get("step"), objective)
            more["kl"] = Term(kl, batch.counts["kl"])
        if seeds is not None:
            inputs = self._hidden(inputs, seeds, objective.word_dropout, WORD_DROPOUT)
            if objective.adversary:
                more["adversary"] = self._judged(z, seeds, batch)
        hidden, _ = self._write(z, inputs, self._begin(z))
        terms = next_token_terms(hidden, self.embedding.weight, batch, bias=self.bias, pad=self.pad,
                                 smoothing=objective.label_smoothing)  # fmt: skip
        return terms | more, None

    def _corrupted(
        self, targets: Int[Tensor, "B T"], seeds: Int[Tensor, " B"] | None
    ) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
        """What the encoder sees of w_1 … w_n <eos>, and its lengths. The end is always seen."""
        kept, source = targets != IGNORE, targets.clamp(min=0)
        if seeds is not None:
            draws = rng.uniform(seeds, source.shape[1], DROP)
            kept = kept & ((draws >= self.objective.drop) | (source == self.end))
            source = self._hidden(source, seeds, self.objective.mask_rate, MASK)
            source = source.gather(1, (~kept).long().argsort(dim=1, stable=True))  # closed up, in order
        return source, kept.sum(1)

    def _hidden(
        self, ids: Int[Tensor, "B T"], seeds: Int[Tensor, " B"], share: float, stream: int
    ) -> Int[Tensor, "B T"]:
        """Some tokens as unknown; boundaries stay."""
        draws = rng.uniform(seeds, ids.shape[1], stream)
        return ids.masked_fill((draws < share) & (ids != self.end), self.unknown)

    def _judged(self, z: Float[Tensor, "B k"], seeds: Int[Tensor, " B"], batch: Batch) -> Term:
        """Both sides of the game in one sum: D learns without moving z, the encoder without moving D."""
        D, prior = self.discriminator, rng.gaussian(seeds, self.latent, PRIOR).to(z)
        fixed = {name: weight.detach() for name, weight in D.named_parameters()}
        told_apart = F.softplus(-D(prior)).sum() + F.softplus(D(z.detach())).sum()
        deceived = F.softplus(-functional_call(D, fixed, (z,))).sum()
        return Term(told_apart + self.objective.adversary * deceived, batch.counts["adversary"])

    # ---- decoding ------------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Begin sentences from vectors (`z`). Of `noise` it knows nothing, and leaves it aside."""
        z = beginning["z"]
        h, c = (part.transpose(0, 1) for part in self._begin(z))
        state = State({"h": h, "c": c}, {"z": z}).expand(width)
        return self.step(state, torch.full((len(z) * width,), self.end, device=z.device))

    def step(self, state: State, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. There is no attention to show."""
        h, c = (state.rows[name].transpose(0, 1).contiguous() for name in ("h", "c"))
        z = state.source["z"].repeat_interleave(state.width, 0)
        hidden, (h, c) = self._write(z, tokens[:, None], (h, c))
        rows = {"h": h.transpose(0, 1), "c": c.transpose(0, 1)}
        return Step(linear(hidden[:, 0], self.embedding.weight, self.bias), replace(state, rows=rows))


def _full_precision(device: torch.device) -> torch.autocast:
    """cuDNN's LSTM under autocast is float16 whatever was asked for, and gradients of mean losses vanish in it."""
    return torch.autocast(device.type, enabled=False)


def _check(config: Config, objective: Objective) -> None:
    if objective.variational and objective.adversary:
        raise LexigraphError("objective.variational and objective.adversary both hold z near N(0, 1): choose one.")
