"""Greedy search, sampling and noisy greedy search: one hypothesis per sentence.

    temperature τ    p ∝ exp(logit / τ); τ = 0 takes the most probable token
    top-k            only the k most probable tokens
    top-p (nucleus)  only the smallest set of most probable tokens whose mass reaches p (Holtzman et al. 2020)
    noise σ          argmax(logit + ε), ε ~ N(0, (σ / t)²) at step t; not noisy parallel approximate decoding
                     (Cho 2016), whose noise is on hidden states, which a stepper does not show

These change the choice, never the reported log-probability, which is that of the clean model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from lexigraph.decoding.choices import SentenceRng, forbidden, log_probabilities, refuse_long
from lexigraph.decoding.hypothesis import AttentionTrail, Hypothesis
from lexigraph.errors import LexigraphError
from lexigraph.nn.stepper import Stepper

HEAD = 256  # a nucleus rarely needs more tokens than these: a row is sorted as a whole only if it does
REACHED = 1e-6  # mass within this of p counts as having reached it: float32 sums are not exact


def filter_logits(
    logits: Float[Tensor, "rows vocab"], temperature: float | int = 1.0, top_k: int = 0, top_p: float | int = 1.0
) -> Float[Tensor, "rows vocab"]:
    """Logits over the temperature, with −inf at tokens outside top-k and top-p, applied in that order.

    Among equal logits the lower id goes first, so exactly min(k, V) tokens remain after top-k.

    >>> filter_logits(torch.tensor([[1.0, 3.0, 2.0]]), top_k=2)
    tensor([[-inf, 3., 2.]])
    """
    logits = logits / temperature
    if 0 < top_k < logits.shape[1]:
        logits = _keep_best(logits, logits.topk(top_k).values[:, -1:], top_k)
    if top_p < 1:
        last, count = _nucleus(logits, top_p, min(HEAD, logits.shape[1]))
        wide = count[:, 0] >= HEAD
        if wide.any():
            last[wide], count[wide] = _nucleus(logits[wide], top_p, logits.shape[1])
        logits = _keep_best(logits, last, count)
    return logits


def _nucleus(
    logits: Float[Tensor, "rows vocab"], top_p: float | int, head: int
) -> tuple[Float[Tensor, "rows 1"], Int[Tensor, "rows 1"]]:
    """The lowest logit needed to reach the mass p among the `head` highest, and how many it takes."""
    top = logits.topk(head).values if head < logits.shape[1] else logits.sort(1, descending=True).values
    total = (logits - top[:, :1]).exp().sum(1, keepdim=True, dtype=torch.float64)
    probabilities = (top - top[:, :1]).exp() / total
    before = probabilities.cumsum(1) - probabilities  # mass of all more probable tokens
    count = (before < top_p - REACHED).sum(1, keepdim=True).clamp(min=1)
    return top.gather(1, count - 1), count


def _keep_best(
    logits: Float[Tensor, "rows vocab"], last: Float[Tensor, "rows 1"], count: Int[Tensor, "rows 1"] | int
) -> Float[Tensor, "rows vocab"]:
    """The `count` highest logits of each row, `last` being the lowest of them; among its equals, the lower ids."""
    kept = logits >= last
    if (kept.sum(1, keepdim=True) > count).any():
        equal = logits == last
        room = count - (logits > last).sum(1, keepdim=True)
        kept &= ~equal | (equal.cumsum(1) <= room)
    return logits.where(kept, -torch.inf)


def inverse_cdf(logits: Float[Tensor, "rows vocab"], uniform: Float64[Tensor, " rows"]) -> Int[Tensor, " rows"]:
    """The first token v with F(v) > u, F being the cumulative distribution in the order of ids."""
    cumulative = logits.double().softmax(1).cumsum(1)
    total = cumulative[:, -1]
    wanted = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))  # < F(V − 1)
    token = torch.searchsorted(cumulative, wanted[:, None], right=True)[:, 0]
    return token.clamp(max=logits.shape[1] - 1)  # only ever needed where the distribution is not a number


@torch.inference_mode()
def generate(
    stepper: Stepper,
    batch: dict[str, Tensor],
    *,
    eos: int,
    max_new: int,
    temperature: float | int = 1.0,
    top_k: int = 0,
    top_p: float | int = 1.0,
    noise: float | int = 0.0,
    seeds: Sequence[int] | None = None,
    min_new: int = 0,
    banned: Sequence[int] = (),
    attention: bool = False,
    on_token: Callable[[int, int], None] | None = None,
) -> list[Hypothesis]:
    """Continue every sentence until its end token, or for max_new tokens (the end token is one of them).

    seeds: one per sentence, needed unless temperature and noise are 0; the same seed gives the same sample
        alone or in a batch.
    noise: σ of normal noise σ / t on the t-th logits, not on hidden states (as in Cho 2016); for temperature 0.
    min_new: the end token is not among the first min_new tokens.
    banned: ids that are never produced; their mass stays in the reported log-probability.
    on_token: called with (sentence, token) as soon as a token is chosen, the end token left out.
    """
    _check(temperature, top_k, top_p, noise)
    refuse_long(max_new, len(next(iter(batch.values()), ())))
    step = stepper.start(batch, 1)
    sentences, vocabulary = step.logits.shape
    device = step.logits.device
    if not sentences:
        return []
    never = forbidden(vocabulary, eos, banned, device)
    never_nor_end = forbidden(vocabulary, eos, [*banned, eos], device)
    rng = SentenceRng(seeds, sentences) if temperature or noise else None
    uniform = rng.uniforms(max_new).to(device) if rng and temperature else None

    alive = torch.arange(sentences, device=device)
    produced = torch.full((sentences, max_new), eos, device=device)
    sums = torch.zeros(sentences, dtype=torch.float64, device=device)
    trail = AttentionTrail()
    for t in range(1, max_new + 1):
        if attention:
            trail.add(alive.tolist(), step.attention, 1)
        log_p = log_probabilities(step.logits)
        log_p.index_fill_(1, never if t > min_new else never_nor_end, -torch.inf)
        if uniform is not None:
            token = inverse_cdf(filter_logits(log_p, temperature, top_k, top_p), uniform[alive, t - 1])
        elif rng is not None:
            epsilon = rng.gaussians(alive.tolist(), 1, vocabulary).to(log_p)
            token = _highest(log_p + noise / t * epsilon)
        else:
            token = _highest(log_p)
        sums[alive] += log_p.gather(1, token[:, None])[:, 0].double()  # −inf where nothing was allowed
        produced[alive, t - 1] = token
        if on_token is not None:
            _report(alive, token, eos, on_token)
        if t == max_new:
            break
        state, going = step.state, (token != eos).nonzero()[:, 0]
        if len(going) < len(alive):
            if not len(going):
                break
            state, alive, token = state.keep(going), alive[going], token[going]
        step = stepper.step(state, token, attention=attention)

    return [
        _hypothesis(i, tokens, total, eos, trail if attention else None)
        for i, (tokens, total) in enumerate(zip(produced.tolist(), sums.tolist(), strict=True))
    ]


def _report(
    alive: Int[Tensor, " rows"], token: Int[Tensor, " rows"], eos: int, on_token: Callable[[int, int], None]
) -> None:
    """Call back with the tokens of one step, end tokens left out."""
    for sentence, chosen in zip(alive.tolist(), token.tolist(), strict=True):
        if chosen != eos:
            on_token(sentence, chosen)


def _highest(values: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
    """The place of each row's highest value; on the CPU by NumPy, which is ten times as fast."""
    return torch.from_numpy(values.numpy().argmax(1)) if values.is_cpu else values.argmax(1)


def _hypothesis(
    sentence: int, produced: list[int], total: float, eos: int, trail: AttentionTrail | None
) -> Hypothesis:
    if not abs(total) < float("inf"):
        raise LexigraphError(
            f"Sentence {sentence} cannot be continued: the model's outputs are not numbers, or every token "
            "that is allowed has probability 0. Check the training log for a loss of nan."
        )
    finished = eos in produced
    tokens = tuple(produced[: produced.index(eos)] if finished else produced)
    looked = trail.read(sentence, [0] * (len(tokens) + finished)) if trail else None
    return Hypothesis(tokens, total, total, finished, looked)


def _check(temperature: float | int, top_k: int, top_p: float | int, noise: float | int) -> None:
    if not 0 <= temperature < float("inf"):
        raise LexigraphError(f"temperature is {temperature}: it is 0 (most probable token) or more.")
    if top_k < 0:
        raise LexigraphError(f"top_k is {top_k}: it is 0 (off) or the number of tokens to choose from.")
    if not 0 < top_p <= 1:
        raise LexigraphError(f"top_p is {top_p}: it is above 0 and at most 1 (off).")
    if not 0 <= noise < float("inf"):
        raise LexigraphError(f"noise is {noise}: it is 0 (off) or a standard deviation.")
    if noise and temperature:
        raise LexigraphError("noise is made for greedy search: set temperature to 0, or noise to 0.")
