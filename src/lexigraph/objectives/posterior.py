"""A vector with a distribution: z ~ N(μ, σ²), held near N(0, 1) (Kingma and Welling 2014).

    z  = μ + σ ε,  ε ~ N(0, 1)
    KL = ½ Σ_i (μ_i² + σ_i² - 1 - log σ_i²)

Free bits (Kingma et al. 2016): an entry's first nats cost nothing, so that the vector is used at all. The weight of
the KL rises from 0 over the first steps (Bowman et al. 2016). Both belong to training alone: a text that is held out
is measured by the plain negative ELBO, - log p(w | z) + KL (evaluation/reconstruction.py), and weights are compared
by it only after the weight has risen: before, z carries more than it will be able to afford.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

Entries = Float[Tensor, "B k"]


@runtime_checkable
class Settings(Protocol):
    """The keys of an objective that this reads."""

    @property
    def free_bits(self) -> float: ...  # nats per entry that cost nothing
    @property
    def anneal(self) -> int: ...  # steps until the KL has its full weight
    @property
    def kl_weight(self) -> float: ...


def drawn(mean: Entries, log_variance: Entries, noise: Entries | None) -> tuple[Entries, Entries]:
    """z (without noise: μ) and the KL of each of its entries, with no free bits and no weight."""
    log_variance = log_variance.clamp(-10, 10)
    kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance)
    return mean if noise is None else mean + (0.5 * log_variance).exp() * noise.to(mean), kl


def sampled(
    mean: Entries, log_variance: Entries, noise: Entries | None, step: Tensor | None, settings: Settings
) -> tuple[Entries, Float[Tensor, ""]]:
    """z and its KL, summed and weighted. Without noise, outside training, z is μ and the KL is not annealed."""
    z, kl = drawn(mean, log_variance, noise if step is not None else None)
    total = settings.kl_weight * kl.clamp(min=settings.free_bits).sum()
    if noise is None or step is None:
        return z, total
    return z, (step / max(1, settings.anneal)).clamp(max=1.0) * total
