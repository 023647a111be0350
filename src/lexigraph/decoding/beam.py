"""Beam search on batches: the `width` best hypotheses of each sentence are carried forward together.

    score(y) = Σ_t log p(y_t | y_<t) / lp(T) + cp       T = number of produced tokens, the end token included
    lp(T)    = T^α, or ((5 + T) / 6)^α                  length = "gnmt" (hypothesis.py)
    cp       = β Σ_s log(min(Σ_t a_ts, 1))              a_ts: how much y_t looked at s; only of what has ended

At every step each live hypothesis offers its continuations. An ending (a hypothesis that takes the end token)
counts only if it is among the `width` best candidates of its sentence. What the candidates compete with, and
when a sentence is done, is the stopping rule:

`finished`  Endings leave the beam, which always carries the `width` best live hypotheses on. A sentence is done
            as soon as n_best endings are kept and no live hypothesis can still beat the worst of them. With s the
            best live sum: sums only fall and T ≤ max_new, so for α ≥ 0 every later ending has

                score ≤ s / lp(T) ≤ s / lp(max_new)       (s ≤ 0, cp ≤ 0)

            and stopping when s / lp(max_new) ≤ the worst kept score changes nothing in the answer (an admissible
            bound): it is what running on to max_new would give. Answer: endings by score; if there are too few at
            max_new, the best unfinished hypotheses follow.
`length`    Run to max_new tokens. Finished hypotheses stay in the beam and take part in every sort, by score, with
            the live ones: they take up places and can be pushed out. A sentence whose beam holds only finished
            hypotheses is done, since no sort can change it. Answer: the beam by score, finished or not.

The coverage penalty cp (Wu et al. 2016) is for translators that attend: what leaves parts of the source unread is
marked down; a position never looked at counts as if by e^-10.

With width 1 and α = 0 both are greedy search. Noise σ: at step t the candidates are ranked with logits +
N(0, (σ/t)²); sums and scores stay those of the clean model.

Shapes: a sentences still searched, w width, k continuations per hypothesis (min(w, V)), f finished ones kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from lexigraph.decoding.choices import SentenceRng, forbidden, highest, log_probabilities, refuse_long
from lexigraph.decoding.hypothesis import AttentionTrail, Hypothesis, Length, Stop, rank, rate
from lexigraph.decoding.repeats import Repeats
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.stepper import Stepper

Array = NDArray[np.int64]
WIDEST = 10_000  # a step sorts width² candidates
NEVER = -10.0  # log of how much was looked at where nothing was


@dataclass
class _Beam:
    """The live and the finished hypotheses of the sentences still searched; −inf marks an empty position.

    A finished hypothesis is a pointer into the history: it took the end token as its T-th, from live position
    `parent`.
    """

    sentence: Int[Tensor, " a"]  # index in the caller's batch
    sums: Float64[Tensor, "a w"]  # Σ log p of the live ones
    score: Float64[Tensor, "a f"]  # of the finished ones, best first
    total: Float64[Tensor, "a f"]  # their Σ log p
    produced: Int[Tensor, "a f"]  # their T
    parent: Int[Tensor, "a f"]

    @classmethod
    def start(cls, sentences: int, width: int, kept: int, device: torch.device) -> _Beam:
        sums = torch.full((sentences, width), -torch.inf, dtype=torch.float64, device=device)
        sums[:, 0] = 0  # all rows are equal at first: only one of them may propose
        nothing = torch.full((sentences, kept), -torch.inf, dtype=torch.float64, device=device)
        zero = torch.zeros((sentences, kept), dtype=torch.long, device=device)
        return cls(torch.arange(sentences, device=device), sums, nothing, nothing, zero, zero)

    def keep(self, kept: Int[Tensor, " kept"]) -> _Beam:
        return _Beam(*(getattr(self, column.name)[kept] for column in fields(self)))


@dataclass(frozen=True)
class _Candidates:
    """What live hypotheses offer: `key` ranks (noise included), `sums` are clean."""

    live_key: Float64[Tensor, "a wk"]
    live_sums: Float64[Tensor, "a wk"]
    tokens: Int[Tensor, "a wk"]
    end_key: Float64[Tensor, "a w"]
    end_sums: Float64[Tensor, "a w"]


def _expand(
    log_p: Float[Tensor, "rows vocab"],
    noisy: Float[Tensor, "rows vocab"] | None,
    sums: Float64[Tensor, "a w"],
    eos: int,
    never: Int[Tensor, " banned"],
    may_end: bool,
) -> _Candidates:
    """The k best continuations of each row, the end token apart, and its ending: Σ log p + log p(next).

    One top-k over V per row, before the row's sum is added: that saves a pass over rows × V, and the k best of
    each row hold the w best of the sentence. log_p and noisy are written to.
    """
    before = sums.flatten()[:, None]
    keys = log_p if noisy is None else noisy
    end_key, end_sums = (before + x[:, eos : eos + 1] for x in (keys, log_p))
    if not may_end:
        end_key = torch.full_like(end_key, -torch.inf)
    top, tokens = highest(keys.index_fill_(1, never, -torch.inf), min(sums.shape[1], log_p.shape[1]))
    live_key = before + top
    live_sums = live_key if noisy is None else before + log_p.gather(1, tokens)
    return _Candidates(*(x.view(len(sums), -1) for x in (live_key, live_sums, tokens, end_key, end_sums)))


def _advance(
    beam: _Beam, offered: _Candidates, t: int, shorten: float, unread: Float64[Tensor, "a w"] | None, stop: Stop
) -> tuple[_Beam, Int[Tensor, "a w"], Int[Tensor, "a w"]]:
    """The beam after its t-th token, with the tokens taken and the positions they continue.

    shorten: 1 / lp(t). unread: what is added to the score of an ending.
    """
    width, kept = beam.sums.shape[1], beam.score.shape[1]
    live_key, end_key, score = offered.live_key * shorten, offered.end_key * shorten, beam.score

    # who is among the `width` best of the sentence
    if stop == "length" and unread is not None:
        end_key = end_key + unread
    contest = [end_key, live_key, score] if stop == "length" else [end_key, live_key]
    everyone = torch.cat(contest, 1)
    best = everyone.argsort(dim=1, descending=True, stable=True)[:, :width]
    inside = torch.zeros_like(everyone, dtype=torch.bool).scatter(1, best, True)
    passed = everyone.masked_fill(~inside, -torch.inf).split([part.shape[1] for part in contest], 1)
    end_key = passed[0]
    if stop == "length":
        _, live_key, score = passed

    pick = live_key.argsort(dim=1, descending=True, stable=True)[:, :width]
    empty = live_key.gather(1, pick) == -torch.inf
    sums = offered.live_sums.gather(1, pick).masked_fill(empty, -torch.inf)
    positions = torch.arange(width, device=pick.device).expand_as(pick)
    parents = torch.where(empty, positions, pick // (live_key.shape[1] // width))
    tokens = offered.tokens.gather(1, pick)

    end_sums = offered.end_sums.masked_fill(end_key == -torch.inf, -torch.inf)
    ended = end_sums * shorten if unread is None else end_sums * shorten + unread
    score, order = torch.cat([score, ended], 1).sort(dim=1, descending=True, stable=True)
    order = order[:, :kept]
    total = torch.cat([beam.total, end_sums], 1).gather(1, order)
    produced = torch.cat([beam.produced, torch.full_like(positions, t)], 1).gather(1, order)
    parent = torch.cat([beam.parent, positions], 1).gather(1, order)
    return _Beam(beam.sentence, sums, score[:, :kept], total, produced, parent), tokens, parents


class _Found(NamedTuple):
    """A hypothesis in the last beam of its sentence, before its tokens are read off the history."""

    score: float
    total: float  # Σ log p
    produced: int  # T
    position: int  # of the beam: after its last token, or before its end token
    finished: bool


class _History:
    """Tokens and back-pointers of every live position at every step, and the answers read off them."""

    def __init__(
        self, max_new: int, sentences: int, width: int, device: torch.device, trail: AttentionTrail | None
    ) -> None:
        self.tokens = torch.zeros((max_new, sentences, width), dtype=torch.long, device=device)
        self.parents = torch.zeros_like(self.tokens)
        self.trail = trail
        self._done: dict[int, list[_Found]] = {}  # by sentence

    def add(self, t: int, beam: _Beam, tokens: Int[Tensor, "a w"], parents: Int[Tensor, "a w"]) -> None:
        """The t-th tokens of all hypotheses, and the positions that they continue."""
        self.tokens[t - 1, beam.sentence] = tokens
        self.parents[t - 1, beam.sentence] = parents

    def close(self, beam: _Beam, t: int, shorten: float) -> None:
        """These sentences are done after t tokens: note what their beams hold."""
        columns = (beam.sentence, beam.score, beam.total, beam.produced, beam.parent, beam.sums)
        for i, scores, totals, lengths, parents, sums in zip(*(x.tolist() for x in columns), strict=True):
            ended = zip(scores, totals, lengths, parents, strict=True)
            live = ((total * shorten, total, t, position) for position, total in enumerate(sums))
            both = [_Found(*h, True) for h in ended] + [_Found(*h, False) for h in live]
            self._done[i] = [h for h in both if h.score > -float("inf")]

    def answers(self, stop: Stop, n_best: int) -> list[list[Hypothesis]]:
        """The best of each sentence, in the order of the caller's batch."""
        tokens, parents = self.tokens.cpu().numpy(), self.parents.cpu().numpy()
        found = []
        for i in range(len(self._done)):
            best = sorted(self._done[i], key=lambda h: rank(stop, h.finished, h.score))[:n_best]
            if not best:
                raise LexigraphError(
                    f"Beam search found nothing for sentence {i}: every token that is allowed has probability 0. "
                    "Allow more tokens, or check the model."
                )
            found.append([self._read(i, tokens[:, i], parents[:, i], h) for h in best])
        return found

    def _read(self, i: int, tokens: Array, parents: Array, found: _Found) -> Hypothesis:
        """Walk back from its position: after token T if live, before the end token (the T-th) if finished."""
        text: list[int] = []
        position = found.position
        makers = [position] if found.finished else []  # the position that made each token, for attention
        for s in range(found.produced - 1 - found.finished, -1, -1):
            text.append(int(tokens[s, position]))
            position = int(parents[s, position])
            makers.append(position)
        looked = self.trail.read(i, makers[::-1]) if self.trail else None
        return Hypothesis(tuple(text[::-1]), found.total, found.score, found.finished, looked)


@torch.inference_mode()
def beam_search(
    stepper: Stepper,
    batch: dict[str, Tensor],
    *,
    eos: int,
    width: int,
    max_new: int,
    alpha: float | int = 0.7,
    length: Length = "power",
    coverage: float | int = 0.0,
    n_best: int = 1,
    stop: Stop = "finished",
    min_new: int = 0,
    no_repeat: int = 0,
    banned: Sequence[int] = (),
    noise: float | int = 0.0,
    seeds: Sequence[int] | None = None,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first, of at most max_new tokens (the end token is one).

    length, coverage (β), stop: see the head of this file.
    min_new, banned: as in `generate`. no_repeat: no n-gram of so many tokens comes twice in a text; 0: it may.
    seeds: one per sentence, needed only with noise.
    noise: σ of normal noise σ / t on the t-th logits, not on hidden states; it changes ranks, never scores.
    """
    _check(width, alpha, length, coverage, n_best, stop, noise)
    refuse_long(max_new, width * len(next(iter(batch.values()), ())))
    step = stepper.start(batch, width)
    rows, vocabulary = step.logits.shape
    sentences, device = rows // width, step.logits.device
    if not sentences:
        return []
    never = forbidden(vocabulary, eos, [*banned, eos], device)  # endings are handled apart
    rng = SentenceRng(seeds, sentences) if noise else None
    history = _History(max_new, sentences, width, device, AttentionTrail() if attention else None)
    beam = _Beam.start(sentences, width, width if stop == "length" else n_best, device)
    positions = torch.arange(width, device=device)
    read, repeats = _Read(coverage, batch.get("lengths")), Repeats(no_repeat, sentences * width)

    for t in range(1, max_new + 1):
        if history.trail:
            history.trail.add(beam.sentence.tolist(), step.attention, width)
        log_p = log_probabilities(step.logits)
        repeats.forbid(log_p)
        noisy = _noisy(log_p, noise / t, rng, beam.sentence.tolist()) if rng else None
        offered = _expand(log_p, noisy, beam.sums, eos, never, may_end=eos not in banned and t > min_new)
        shorten, unread = rate(t, alpha, length), read.missing(step.attention, beam.sentence)
        beam, tokens, parents = _advance(beam, offered, t, shorten, unread, stop)
        history.add(t, beam, tokens, parents)

        done = _done(beam, rate(max_new, alpha, length), n_best, stop)
        moved = (parents != positions).any()
        any_done, any_moved, broken = torch.stack([done.any(), moved, beam.sums.isnan().any()]).tolist()
        if broken:
            raise _not_numbers(t)
        if t == max_new:
            history.close(beam, t, shorten)
            break
        state = step.state
        if any_done:
            history.close(beam.keep(done.nonzero()[:, 0]), t, shorten)
            going = (~done).nonzero()[:, 0]
            if not len(going):
                break
            state, beam, tokens, parents = state.keep(going), beam.keep(going), tokens[going], parents[going]
            read.keep(going)
            repeats.keep(going, width)
        if any_moved and t > 1:  # after the start all rows of a sentence are equal
            state = state.select(_rows(parents))
        read.follow(parents)
        repeats.follow(parents, tokens)
        step = stepper.step(state, tokens.flatten(), attention=attention or bool(coverage))

    return history.answers(stop, n_best)


def _done(beam: _Beam, shortest: float, n_best: int, stop: Stop) -> Bool[Tensor, " a"]:
    """Which sentences no longer step can change; shortest: 1 / lp(max_new)."""
    reach = beam.sums.amax(1) * shortest  # the admissible bound
    return reach == -torch.inf if stop == "length" else beam.score[:, n_best - 1] >= reach


def _rows(parents: Int[Tensor, "a w"]) -> Int[Tensor, " rows"]:
    """The rows of a state that hypotheses continue."""
    first = torch.arange(len(parents), device=parents.device)[:, None] * parents.shape[1]
    return (first + parents).flatten()


def _noisy(
    log_p: Float[Tensor, "rows vocab"], deviation: float, rng: SentenceRng, sentences: Sequence[int]
) -> Float[Tensor, "rows vocab"]:
    """Log-probabilities of logits with normal noise of this deviation."""
    width, vocabulary = len(log_p) // len(sentences), log_p.shape[1]
    return log_probabilities(log_p + deviation * rng.gaussians(sentences, width, vocabulary).to(log_p))


class _Read:
    """How much each live hypothesis has looked at each position of its source; not kept if β is 0."""

    def __init__(self, beta: float | int, lengths: Int[Tensor, " n"] | None) -> None:
        self.beta, self.lengths = beta, lengths
        self.seen: Float[Tensor, "a w S"] | None = None

    def missing(
        self, attention: Float[Tensor, "rows S"] | None, sentence: Int[Tensor, " a"]
    ) -> Float64[Tensor, "a w"] | None:
        """After one step more, what each hypothesis would lose for what it has not read, if it ended here."""
        if not self.beta:
            return None
        if attention is None:
            raise UsageError("This model does not say where it looks: leave the coverage penalty at 0.")
        now = attention.unflatten(0, (len(sentence), -1))
        self.seen = now if self.seen is None else self.seen + now
        logs = self.seen.double().clamp(max=1.0).log().clamp(min=NEVER)
        if self.lengths is not None:
            inside = torch.arange(logs.shape[2], device=logs.device) < self.lengths[sentence][:, None, None]
            logs = logs * inside
        return self.beta * logs.sum(2)

    def keep(self, going: Int[Tensor, " kept"]) -> None:
        """Only these sentences."""
        if self.seen is not None:
            self.seen = self.seen[going]

    def follow(self, parents: Int[Tensor, "a w"]) -> None:
        """Every hypothesis goes on from its parent."""
        if self.seen is not None:
            self.seen = self.seen.take_along_dim(parents[:, :, None], 1)


def _not_numbers(t: int) -> LexigraphError:
    return LexigraphError(
        f"The model's outputs are not numbers at token {t}. Check the training log for a loss of nan."
    )


def _check(
    width: int, alpha: float | int, length: str, coverage: float | int, n_best: int, stop: str, noise: float | int
) -> None:
    if not 1 <= width <= WIDEST:
        raise LexigraphError(f"The beam's width is {width}: it is from 1 to {WIDEST:,}.")
    if not 1 <= n_best <= width:
        raise LexigraphError(f"n_best is {n_best}: it is between 1 and the beam width, {width}.")
    if not 0 <= alpha < float("inf"):
        raise LexigraphError(f"alpha is {alpha}: it is 0 (plain sum) or more.")
    if length not in get_args(Length):
        raise LexigraphError(f"length is {length!r}: it is 'power' or 'gnmt'.")
    if not 0 <= coverage < float("inf"):
        raise LexigraphError(f"coverage is {coverage}: it is 0 (off) or more.")
    if stop not in ("finished", "length"):
        raise LexigraphError(f"stop is {stop!r}: it is 'finished' or 'length'.")
    if not 0 <= noise < float("inf"):
        raise LexigraphError(f"noise is {noise}: it is 0 (off) or a standard deviation.")
