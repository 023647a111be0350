"""Where a recurrent decoder looks: every position of a source gets a score, and from the scores come weights.

    a_ts = softmax over s of score(q_t, m_s)         c_t = Σ_s a_ts m_s          the context

    dot           q · m
    scaled-dot    q · m / √d
    general       q · W m                                                         (Luong et al. 2015)
    additive      vᵀ tanh(W q + U m)            one small network for all positions and steps (Bahdanau et al. 2015)
    content       β cos(q, m)                   by direction alone; β > 0 is learned (Graves et al. 2014)
    location      (W q)_s                       where it is, whatever stands there: so many positions and no more

A window keeps to the positions around p, at most D away, and favours near ones (Luong et al. 2015):

    monotonic     p_t = t                       predictive     p_t = (S - 1) σ(vᵀ tanh(W q))
    a_ts ∝ exp(score) exp(-(s - p_t)² / 2σ²)    σ = D / 2, S: the row's own length

There the Gaussian is multiplied after the softmax, so that weights add up to less than 1; here before it.

A hard look is at one position, drawn by its weight; where nothing is drawn, at the one of most weight.

Shapes: B sources, Q queries of each, S positions, d width of a query and of a memory, k width of a key; in a search
the rows R of one source stand one after the other, and look T times each.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.errors import LexigraphError

Score = Literal["content", "additive", "location", "general", "dot", "scaled-dot"]
Window = Literal["none", "monotonic", "predictive"]
SHARPNESS = 5.0  # β at the start: a cosine is at most 1, and e⁵ times the weight of nothing is a clear look


class Looks(NamedTuple):
    """Where each step looked, and for hard attention how probable that was."""

    log_weights: Float[Tensor, "R T S"]
    chosen: Float[Tensor, "R T"] | None  # log a_t(s_t)
    queries: Float[Tensor, "R T d"]

    @classmethod
    def in_time(cls, looks: list[Looks]) -> Looks:
        """One after the other."""
        chosen = [look.chosen for look in looks if look.chosen is not None]
        weights, queries = (torch.cat(part, 1) for part in zip(*((look[0], look[2]) for look in looks), strict=True))
        return cls(weights, torch.cat(chosen, 1) if chosen else None, queries)


class Alignment(nn.Module):
    """Scores of positions. What depends on the source alone is computed once (`keys`)."""

    def __init__(self, score: Score, dim: int, positions: int, window: Window = "none", reach: int = 10) -> None:
        super().__init__()
        self.score, self.window, self.reach = score, window, reach
        if score in ("general", "additive"):
            self.of_memory = nn.Linear(dim, dim, bias=False)  # U, or W of `general`
        if score == "additive":
            self.of_query, self.v = nn.Linear(dim, dim), nn.Linear(dim, 1, bias=False)
        if score == "location":
            self.of_query = nn.Linear(dim, positions)
        if score == "content":
            self.sharpness = nn.Parameter(torch.empty(1))  # x in β = log(1 + e^x)
            self.own_start()
        if window == "predictive":
            self.where = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1, bias=False))

    def own_start(self) -> None:
        """Set what is not left to chance; again, where all has been drawn anew."""
        if self.score == "content":
            nn.init.constant_(self.sharpness, math.log(math.expm1(SHARPNESS)))

    def keys(self, memory: Float[Tensor, "B S d"]) -> Float[Tensor, "B S k"]:
        """What queries meet."""
        if self.score in ("general", "additive"):
            return self.of_memory(memory)
        return F.normalize(memory, dim=2) if self.score == "content" else memory

    def forward(
        self,
        queries: Float[Tensor, "B Q d"],
        keys: Float[Tensor, "B S k"],
        lengths: Int[Tensor, " B"],
        times: Int[Tensor, "B Q"],
    ) -> Float[Tensor, "B Q S"]:
        """The logarithms of all weights; `times`: how many queries of its own sentence came before each."""
        positions = torch.arange(keys.shape[1], device=keys.device)
        found, seen = self._scores(queries, keys), positions < lengths[:, None, None]
        if self.window != "none":
            last = (lengths - 1)[:, None, None]
            if self.window == "monotonic":
                center = torch.minimum(times[:, :, None], last).to(found.dtype)
            else:
                center = last * self.where(queries).sigmoid()
            away = positions - center
            found = found - away.square() / (2 * (self.reach / 2) ** 2)
            seen = seen & (away.abs() <= self.reach)
        return found.masked_fill(~seen, -torch.inf).log_softmax(2)

    def look(
        self,
        queries: Float[Tensor, "R T d"],
        source: dict[str, Tensor],  # its memory, keys and lengths
        time: Int[Tensor, " R"],
        draws: Float[Tensor, "R T"] | None,
        hard: bool = False,
    ) -> tuple[Float[Tensor, "R T d"], Looks]:
        """The contexts of some steps."""
        n, shape = len(source["lengths"]), queries.shape[:2]
        times = time[:, None] + torch.arange(shape[1], device=time.device)
        log_a = self(
            queries.reshape(n, -1, queries.shape[2]), source["keys"], source["lengths"], times.reshape(n, -1)
        )
        weights, chosen = log_a.exp(), None
        if hard:
            if draws is None:
                place = log_a.argmax(2, keepdim=True)
            else:
                reached = weights.detach().cumsum(2)  # whose end is 1 but for rounding; no weight of 0 is ever drawn
                place = (reached < draws.reshape(n, -1, 1) * reached[:, :, -1:]).sum(2, keepdim=True)
            chosen = log_a.gather(2, place).reshape(shape)
            weights = torch.zeros_like(weights).scatter(2, place, 1.0)
        context = weights @ source["memory"]
        return context.view(*shape, -1), Looks(log_a.view(*shape, -1), chosen, queries)

    def _scores(self, queries: Float[Tensor, "B Q d"], keys: Float[Tensor, "B S k"]) -> Float[Tensor, "B Q S"]:
        if self.score == "additive":
            both = self.of_query(queries)[:, :, None] + keys[:, None]
            return self.v(both.tanh()).squeeze(3)
        if self.score == "location":
            if keys.shape[1] > self.of_query.out_features:
                raise LexigraphError(f"Attention by location knows {self.of_query.out_features} positions.")
            return self.of_query(queries)[:, :, : keys.shape[1]]
        if self.score == "content":
            return F.softplus(self.sharpness) * (F.normalize(queries, dim=2) @ keys.transpose(1, 2))
        scale = keys.shape[2] ** -0.5 if self.score == "scaled-dot" else 1.0
        return scale * queries @ keys.transpose(1, 2)
