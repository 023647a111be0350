"""A linear-chain conditional random field over the tags of a sentence (Lafferty et al. 2001; Lample et al. 2016).

    s(y) = b[y_1] + Σ_t E[t, y_t] + Σ_t A[y_{t-1}, y_t] + e[y_n]                 E: what a network says of each word
    log p(y) = s(y) - log Z,    Z = Σ_y exp s(y)

    forward    α_1 = b + E_1,   α_t[j] = E[t, j] + log Σ_i exp(α_{t-1}[i] + A[i, j]),    log Z = log Σ exp(α_n + e)
    backward   β_n = e,         β_t[i] = log Σ_j exp(A[i, j] + E[t+1, j] + β_{t+1}[j])
    marginals  p(y_t = j) = exp(α_t[j] + β_t[j] - log Z)
    Viterbi    forward with max for log Σ exp, and back along the best i of every j

Moves that a scheme of tags does not have (I-X after O) have no probability: always where tags are decoded, in the
likelihood if it is asked for. A tag that is not known (IGNORE) may be any: then p(y)
is that of all sequences with the tags that are known.

Shapes: B batch, T words, C tags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lexigraph.objectives.next_token import IGNORE
from lexigraph.text.spans import follows

FORBIDDEN = -1e4  # exp of it is 0


class CRF(nn.Module):
    """Transitions between tags, and all that is asked of them."""

    impossible: Bool[Tensor, "C+1 C+1"]

    def __init__(self, names: Sequence[str], scheme: str = "", constrained: bool = False) -> None:
        """scheme: BIO or BIOES, whose moves alone are decoded; constrained: others have no probability either."""
        super().__init__()
        self.A = nn.Parameter(torch.empty(len(names), len(names)))
        self.b, self.e = nn.Parameter(torch.empty(len(names))), nn.Parameter(torch.empty(len(names)))
        for weight in (self.A, self.b, self.e):
            nn.init.uniform_(weight, -0.1, 0.1)
        self.constrained = constrained
        tags = [*names, ""]  # "": before the first word and behind the last
        moves = [[bool(scheme) and not follows(i, j, scheme) for j in tags] for i in tags]
        self.register_buffer("impossible", torch.tensor(moves), persistent=False)

    def weights(self, decoding: bool) -> tuple[Tensor, Tensor, Tensor]:
        """A, b and e, with what is forbidden."""
        if not (decoding or self.constrained):
            return self.A, self.b, self.e
        never = -torch.inf if decoding else FORBIDDEN  # which has a gradient, and costs more
        inside, first, last = self.impossible[:-1, :-1], self.impossible[-1, :-1], self.impossible[:-1, -1]
        return self.A.masked_fill(inside, never), self.b.masked_fill(first, never), self.e.masked_fill(last, never)

    def nll(
        self, E: Float[Tensor, "B T C"], tags: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, " B"]:
        """- log p(tags) of every sentence."""
        A, b, e = self.weights(decoding=False)
        inside = _inside(E, lengths)
        log_z = _log_partition(E, lengths, A, b, e)
        if bool(((tags == IGNORE) & inside).any()):
            ruled_out = (tags[:, :, None] != torch.arange(E.shape[2], device=E.device)) & (tags != IGNORE)[:, :, None]
            return log_z - _log_partition(E + FORBIDDEN * ruled_out, lengths, A, b, e)
        y = tags.where(inside, 0)
        steps = E.gather(2, y[:, :, None])[:, :, 0]
        moves = A[y[:, :-1], y[:, 1:]]
        score = (steps * inside).sum(1) + (moves * inside[:, 1:]).sum(1)
        last = y.gather(1, (lengths - 1)[:, None])[:, 0]
        return log_z - (score + b[y[:, 0]] + e[last])

    def marginals(self, E: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B T C"]:
        """How probable each tag is for each word, over all sequences that are allowed."""
        A, b, e = self.weights(decoding=True)
        alpha, _ = _forward(E, lengths, A, b, _log_sum)
        inside, beta = _inside(E, lengths), e.expand_as(alpha[0])
        betas = [beta]
        for t in range(E.shape[1] - 1, 0, -1):
            before = (A + (E[:, t] + beta)[:, None]).logsumexp(2)
            beta = before.where(inside[:, t, None], e)
            betas.append(beta)
        return (torch.stack(alpha, 1) + torch.stack(betas[::-1], 1)).softmax(2)

    def viterbi(self, E: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B T"]:
        """The best allowed sequence of each sentence; behind its end, its last tag."""
        A, b, e = self.weights(decoding=True)
        alpha, best = _forward(E, lengths, A, b, _max)
        tag = (alpha[-1] + e).argmax(1)
        tags, inside = [tag], _inside(E, lengths)
        for t in range(E.shape[1] - 1, 0, -1):
            tag = best[t - 1].gather(1, tag[:, None])[:, 0].where(inside[:, t], tag)
            tags.append(tag)
        return torch.stack(tags[::-1], 1)


Step = Callable[[Float[Tensor, "B C C"]], tuple[Float[Tensor, "B C"], Int[Tensor, "B C"] | None]]


def _log_sum(scores: Float[Tensor, "B C C"]) -> tuple[Float[Tensor, "B C"], None]:
    return scores.logsumexp(1), None


def _max(scores: Float[Tensor, "B C C"]) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"]]:
    values, best = scores.max(1)
    return values, best


def _forward(
    E: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"], A: Tensor, b: Tensor, step: Step
) -> tuple[list[Float[Tensor, "B C"]], list[Tensor]]:
    """α of every word, that of the last one from there on; and of Viterbi, the best tag before each."""
    alphas, best, inside = [b + E[:, 0]], [], _inside(E, lengths)
    for t in range(1, E.shape[1]):
        scores, where = step(alphas[-1][:, :, None] + A)
        alphas.append((scores + E[:, t]).where(inside[:, t, None], alphas[-1]))
        best += [] if where is None else [where]
    return alphas, best


def _log_partition(
    E: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"], A: Tensor, b: Tensor, e: Tensor
) -> Float[Tensor, " B"]:
    return (_forward(E, lengths, A, b, _log_sum)[0][-1] + e).logsumexp(1)


def _inside(E: Float[Tensor, "B T C"], lengths: Int[Tensor, " B"]) -> Bool[Tensor, "B T"]:
    return torch.arange(E.shape[1], device=E.device) < lengths[:, None]
