"""Exhaustive search: every text up to a length, for small vocabularies. The reference that beams are judged by.

Let D be the tokens that may be produced, the end token apart. Row r of a sentence follows the r-th word of
length max_new − 1 over D, its digits in base |D|, so no row is ever rearranged; a prefix of length m is read off
the first of the |D|^(max_new − 1 − m) rows that share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lexigraph.decoding.choices import forbidden, log_probabilities
from lexigraph.decoding.hypothesis import Hypothesis, Stop, normalised, rank
from lexigraph.errors import LexigraphError
from lexigraph.nn.stepper import Stepper


@torch.inference_mode()
def enumerate_texts(
    stepper: Stepper,
    batch: dict[str, Tensor],
    *,
    eos: int,
    max_new: int,
    alpha: float | int = 0.7,
    banned: Sequence[int] = (),
    limit: int = 1_000_000,
) -> list[list[Hypothesis]]:
    """Every finished text of at most max_new tokens, and every unfinished one of exactly max_new.

    Without banned tokens their probabilities sum to 1. Refused when V^max_new exceeds `limit`.
    """
    if max_new < 1:
        raise LexigraphError(f"max_new is {max_new}: ask for at least 1 token.")
    probe = stepper.start(batch, 1).logits
    sentences, vocabulary = probe.shape
    forbidden(vocabulary, eos, banned, probe.device)
    if vocabulary**max_new > limit:
        raise LexigraphError(
            f"Exhaustive search over {vocabulary} tokens and {max_new} steps would look at "
            f"{vocabulary}^{max_new} texts, more than {limit}: use a smaller max_new, or beam search."
        )
    digits = [token for token in range(vocabulary) if token != eos and token not in banned]
    width = len(digits) ** (max_new - 1)
    if not width:  # only the end token is allowed
        width = max_new = 1
    alphabet = torch.tensor(digits, dtype=torch.long, device=probe.device)

    found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    step = stepper.start(batch, width)
    sums = torch.zeros((sentences, width), dtype=torch.float64, device=probe.device)
    row = torch.arange(width, device=probe.device)
    taken: list[list[int]] = [[] for _ in range(width)]

    def note(position: int, suffix: tuple[int, ...], totals: list[float], finished: bool) -> None:
        tokens = (*taken[position], *suffix)
        for texts, total in zip(found, totals, strict=True):
            if total > -float("inf"):
                score = normalised(total, len(tokens) + finished, alpha)
                texts.append(Hypothesis(tokens, total, score, finished))

    for t in range(1, max_new + 1):
        log_p = log_probabilities(step.logits).double().view(sentences, width, vocabulary)
        span = len(digits) ** (max_new - t)  # rows that share their first t − 1 tokens
        if eos not in banned:
            ends = (sums + log_p[:, :, eos]).T.tolist()
            for position in range(0, width, span):
                note(position, (), ends[position], True)
        if t == max_new:
            for token in digits:
                totals = (sums + log_p[:, :, token]).T.tolist()
                for position in range(width):
                    note(position, (token,), totals[position], False)
            break
        tokens = alphabet[row // (span // len(digits)) % len(digits)]
        sums = sums + log_p.gather(2, tokens.expand(sentences, width)[:, :, None])[:, :, 0]
        for text, token in zip(taken, tokens.tolist(), strict=True):
            text.append(token)
        step = stepper.step(step.state, tokens.repeat(sentences))
    return found


def exhaustive_search(
    stepper: Stepper,
    batch: dict[str, Tensor],
    *,
    eos: int,
    max_new: int,
    alpha: float | int = 0.7,
    n_best: int = 1,
    stop: Stop = "finished",
    banned: Sequence[int] = (),
    limit: int = 1_000_000,
) -> list[list[Hypothesis]]:
    """The n_best texts of each sentence by Σ log p / T^α among all there are, ranked as `beam_search` ranks."""
    every = enumerate_texts(stepper, batch, eos=eos, max_new=max_new, alpha=alpha, banned=banned, limit=limit)
    return [sorted(texts, key=lambda h: rank(stop, h.finished, h.score))[:n_best] for texts in every]
