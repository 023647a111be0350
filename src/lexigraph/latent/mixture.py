"""A mixture of Gaussians over sentence vectors, to draw new ones from and to see how usual one is.

p(z) = Σ_k π_k N(z; μ_k, L_k L_kᵀ)        a sample: k ~ π, then z = μ_k + τ L_k ε with ε ~ N(0, I)

K components, d dimensions, τ the temperature. L_k is lower triangular, or, for a diagonal covariance, a d-vector.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.memory import refuse_beyond
from lexigraph.outputs import free_file
from lexigraph.run import replacing

FLOOR = 1e-4  # this share of the mean variance is added to every variance: few points span few directions


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians with weights; all in float64."""

    weights: Float[np.ndarray, " K"]  # π
    means: Float[np.ndarray, "K d"]  # μ
    choleskys: Float[np.ndarray, "K d d"] | Float[np.ndarray, "K d"]  # L

    @property
    def diagonal(self) -> bool:
        """Whether the dimensions are independent within a component."""
        return self.choleskys.ndim == 2

    @classmethod
    def fit(
        cls, z: Float[np.ndarray, "n d"], components: int = 20, seed: int = 0, covariance: str = "full"
    ) -> Mixture:
        """The mixture that expectation maximisation finds for these vectors; `covariance` is full or diag."""
        if covariance not in ("full", "diag"):
            raise UsageError(f"There is no covariance {covariance!r}. Choose from: full, diag.")
        if components < 1:
            raise LexigraphError(f"components is {components}; a mixture has at least 1.")
        if len(z) < max(components, 2):
            raise LexigraphError(
                f"A mixture of {components} cannot be fitted to {len(z)} vectors: "
                f"give at least {max(components, 2)} vectors, or ask for fewer components."
            )
        exact = z.astype(np.float64)
        if not np.isfinite(exact).all():
            raise LexigraphError("The mixture cannot be fitted: the vectors hold values that are not finite numbers.")
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        floor = max(FLOOR * exact.var(axis=0).mean(), 1e-12)
        model = GaussianMixture(
            components, covariance_type=covariance, reg_covar=floor, max_iter=200, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # after 200 rounds the rest changes no sample
            model.fit(exact)
        roots = np.sqrt(model.covariances_) if covariance == "diag" else np.linalg.cholesky(model.covariances_)
        return cls(model.weights_, model.means_, roots)

    def merged(self) -> Mixture:
        """One Gaussian with the mean and the covariance of the whole: Σ_k π_k (Σ_k + μ_k μ_kᵀ) - μ μᵀ."""
        mean = self.weights @ self.means
        within = np.square(self.choleskys) if self.diagonal else self.choleskys @ self.choleskys.transpose(0, 2, 1)
        inside = np.einsum("k,k...->...", self.weights, within)
        apart = self.means - mean
        covariance = (np.diag(inside) if self.diagonal else inside) + (self.weights * apart.T) @ apart
        return Mixture(np.ones(1), mean[None], np.linalg.cholesky(covariance)[None])

    def sample(
        self, count: int, seed: int, component: int | None = None, temperature: float | int = 1.0
    ) -> tuple[Float[np.ndarray, "count d"], Int[np.ndarray, " count"]]:
        """Draw vectors (float32) and say which component each is from; the temperature scales the deviation.

        >>> line = Mixture(np.array([1.0]), np.array([[5.0]]), np.array([[2.0]]))
        >>> line.sample(2, seed=0, temperature=0)
        (array([[5.],
               [5.]], dtype=float32), array([0, 0]))
        """
        if count < 1:
            raise LexigraphError(f"count is {count}; at least 1 vector must be asked for.")
        if not 0 <= temperature < np.inf:
            raise LexigraphError(f"temperature is {temperature}; it must be a number that is not negative.")
        if component is not None and not 0 <= component < len(self.weights):
            raise LexigraphError(
                f"There is no component {component}: they are counted from 0 to {len(self.weights) - 1}."
            )
        if seed < 0:
            raise LexigraphError(f"seed is {seed}; it must be 0 or more.")
        refuse_beyond(24 * count * self.means.shape[1], f"count = {count}", f"{count:,} vectors")
        random = np.random.default_rng(seed)
        if component is None:
            chosen = random.choice(len(self.weights), size=count, p=self.weights / self.weights.sum())
        else:
            chosen = np.full(count, component)
        noise = temperature * random.standard_normal((count, self.means.shape[1]))
        vectors = self.means[chosen]
        for k in np.unique(chosen):
            rows = chosen == k
            vectors[rows] += noise[rows] * self.choleskys[k] if self.diagonal else noise[rows] @ self.choleskys[k].T
        return vectors.astype(np.float32), chosen

    def log_likelihood(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """ln p(z) of each vector, in nats."""
        from scipy.special import logsumexp

        return logsumexp(self._joint(z), axis=1)

    def responsibilities(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n K"]:
        """p(k | z): how likely each component is to have made each vector."""
        from scipy.special import softmax

        return softmax(self._joint(z), axis=1)

    def _joint(self, z: np.ndarray) -> np.ndarray:
        """ln p(k, z) for each vector and component."""
        from scipy.linalg import solve_triangular

        if z.shape[1] != self.means.shape[1]:
            raise LexigraphError(f"The vectors have {z.shape[1]} dimensions, the mixture has {self.means.shape[1]}.")
        joint = np.empty((len(z), len(self.weights)))
        for k, (mean, root) in enumerate(zip(self.means, self.choleskys, strict=True)):
            apart = (z - mean).T
            scaled = apart / root[:, None] if self.diagonal else solve_triangular(root, apart, lower=True)
            scale = np.log(root if self.diagonal else root.diagonal()).sum()
            joint[:, k] = -0.5 * (np.square(scaled).sum(axis=0) + len(mean) * np.log(2 * np.pi)) - scale
        return joint + np.log(self.weights)

    def save(self, path: str | Path, half: bool = False, force: bool = False) -> None:
        """Write a safetensors file; `half` keeps means and deviations in 16 bits, a quarter of the size.

        force: replace what is there.
        """
        from safetensors.numpy import save

        path, kind = free_file(path, "a mixture", force=force), np.float16 if half else np.float64
        with np.errstate(over="ignore"):
            tensors = {"means": self.means.astype(kind), "choleskys": self.choleskys.astype(kind)}
        tensors["weights"] = self.weights
        if complaint := _complaint(tensors):
            advice = " Save it without half." if half else ""
            raise LexigraphError(f"The mixture was not written to {path}: {complaint}.{advice}")
        content = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
        with replacing(path) as temporary:
            temporary.write_bytes(content)

    @classmethod
    def load(cls, path: str | Path) -> Mixture:
        """Read what `save` wrote, or say what is wrong with it."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            tensors = load(Path(path).read_bytes())
        except FileNotFoundError:
            raise LexigraphError(f"There is no mixture file {path}.") from None
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise LexigraphError(f"{path} is damaged or no mixture: {error}.") from None
        if complaint := _complaint(tensors):
            raise LexigraphError(f"{path} is damaged or no mixture: {complaint}.")
        return cls(**{name: tensor.astype(np.float64) for name, tensor in tensors.items()})


def _complaint(tensors: dict[str, np.ndarray]) -> str:
    """What keeps these tensors from being a mixture, or nothing."""
    if tensors.keys() != {"weights", "means", "choleskys"}:
        return f"it holds {', '.join(sorted(tensors)) or 'nothing'} instead of choleskys, means, weights"
    weights, means, roots = (tensors[name] for name in ("weights", "means", "choleskys"))
    if not all(np.issubdtype(tensor.dtype, np.floating) and tensor.size for tensor in (weights, means, roots)):
        return "its tensors are empty or not of real numbers"
    if (
        means.ndim != 2
        or weights.shape != means.shape[:1]
        or roots.shape not in (means.shape, (*means.shape, means.shape[1]))
    ):
        return f"its shapes do not fit together: {weights.shape}, {means.shape}, {roots.shape}"
    if not all(np.isfinite(tensor).all() for tensor in (weights, means, roots)):
        return "it has values that are not finite numbers"
    if not (weights > 0).all() or abs(weights.sum(dtype=np.float64) - 1) > 1e-3:
        return "its weights are not shares that sum to 1"
    if not ((roots if roots.ndim == 2 else np.diagonal(roots, axis1=1, axis2=2)) > 0).all():
        return "it has a deviation of 0 or less"
    return ""
