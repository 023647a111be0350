"""Between, beyond and around sentence vectors: blends, grids of weights, nearest neighbours.

linear       v = Σ w_i p_i                                        weights of any size and sum
spherical    v = (Σ w_i |p_i|) m      m: the mean of the directions u_i = p_i / |p_i| on the sphere; Σ w_i = 1
             two points, ω apart:     m = (sin((1 − t) ω) u_0 + sin(t ω) u_1) / sin ω        w = (1 − t, t)
             more:                    m where Σ w_i log_m(u_i) = 0, by m ← exp_m(Σ w_i log_m(u_i))

log_m(u) is the arrow at m along the great circle to u, as long as the arc; exp_m walks along an arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from jaxtyping import Float, Int

from lexigraph.errors import LexigraphError, UsageError

TINY = 1e-7  # radians: below this, two directions are the same, or opposite
ITERATIONS = 1000  # of the mean on the sphere; near points need about ten
SPARE = 8  # neighbours found beyond k, so that the rounding of float32 cannot push out a true one
BLOCK = 2**25  # numbers in memory at a time


def blend(
    points: Float[np.ndarray, "points d"], weights: Float[np.ndarray, "steps points"], how: str = "linear"
) -> Float[np.ndarray, "steps d"]:
    """Mix the points, once for each row of weights; weights outside 0 … 1 go beyond the points.

    `linear` keeps to straight lines; `spherical` turns the direction evenly and mixes the lengths.

    >>> points = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> blend(points, steps_between(3))
    array([[2., 0.],
           [1., 2.],
           [0., 4.]])
    >>> blend(points, steps_between(3), "spherical").round(3)
    array([[2.   , 0.   ],
           [2.121, 2.121],
           [0.   , 4.   ]])
    """
    if how not in ("linear", "spherical"):
        raise UsageError(f"There is no blend {how!r}. Choose from: linear, spherical.")
    exact, shares = points.astype(np.float64), weights.astype(np.float64)
    if not np.isfinite(exact).all():
        raise LexigraphError("These vectors cannot be blended: they hold values that are not finite numbers.")
    if not np.isfinite(shares).all():
        raise LexigraphError("The weights of a blend must be finite numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = (shares @ exact if how == "linear" else _spherical(exact, shares)).astype(points.dtype)
    if not np.isfinite(mixed).all():
        raise LexigraphError(f"The blend is too large for {points.dtype}: use smaller weights.")
    return mixed


def _spherical(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(points, axis=1)
    if not lengths.all():
        raise LexigraphError("A vector of zeros has no direction: blend it with how='linear'.")
    if not np.allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-5):  # float32 weights are a little off
        raise LexigraphError("The weights of a spherical blend must sum to 1 in each step.")
    mixed = weights @ lengths
    if (mixed < 0).any():
        raise LexigraphError(
            "A spherical blend so far beyond the points would have a length below 0: use weights nearer to 0 … 1."
        )
    directions = points / lengths[:, None]
    if len(points) == 2:
        [omega] = _angle(directions[:1], directions[1:])
        if omega > np.pi - TINY:
            raise LexigraphError(
                "The two vectors are opposite, and no way around the sphere is the shortest: "
                "blend them with how='linear', or by way of a third vector."
            )
        if omega < TINY:
            return weights @ points
        return mixed[:, None] * (np.sin(weights * omega) / np.sin(omega)) @ directions
    return mixed[:, None] * _mean_direction(directions, weights)


def _angle(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Between unit vectors; exact near 0 and near π, where the arc cosine is not."""
    apart, together = np.linalg.norm(first - second, axis=-1), np.linalg.norm(first + second, axis=-1)
    return 2 * np.arctan2(apart, together)


def _mean_direction(directions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean on the sphere, for each row of weights."""
    means = weights @ directions
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    if (lengths < TINY).any():
        raise LexigraphError("The vectors lie so evenly around the sphere that they have no mean: use how='linear'.")
    means /= lengths
    for row, mean in enumerate(means):  # row by row: steps × points × d numbers may be many
        used = weights[row] != 0
        others, share = directions[used], weights[row][used]
        pace, before = 1.0, float("inf")
        for _ in range(ITERATIONS):
            arcs = _angle(others, mean)
            if (arcs > np.pi - TINY).any():
                raise LexigraphError(
                    "These weights lead to the far side of the sphere, from where no direction is the shortest: "
                    "use weights between 0 and 1, or how='linear'."
                )
            across = others - (others @ mean)[:, None] * mean  # its length is the sine of the arc
            arrow = (share * arcs / np.maximum(np.sin(arcs), np.finfo(float).tiny)) @ across
            arc = float(np.linalg.norm(arrow))
            if arc < 1e-12:
                break
            if arc > before:  # with weights below 0, a whole step may go too far
                pace /= 2
            before = arc
            mean = np.cos(pace * arc) * mean + np.sin(pace * arc) * arrow / arc
            mean /= np.linalg.norm(mean)
        if arc > 1e-8:
            raise LexigraphError(
                "The mean of these vectors on the sphere was not found: use weights between 0 and 1, or how='linear'."
            )
        means[row] = mean
    return means


def steps_between(count: int) -> Float[np.ndarray, "count 2"]:
    """Weights of two points that lead from the first to the second in `count` even steps, both ends included.

    >>> steps_between(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if count < 2:
        raise LexigraphError(f"A way between two points needs at least 2 steps, its ends; {count} were asked for.")
    t = np.linspace(0, 1, count)
    return np.stack([1 - t, t], axis=1)


def triangle(steps: int) -> Float[np.ndarray, "n 3"]:
    """Weights of three points on an even grid with `steps` points along each edge, row by row from the first corner.

    >>> triangle(2)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    if steps < 2:
        raise LexigraphError(
            f"A triangle needs at least 2 steps along each edge, its corners; {steps} were asked for."
        )
    last = steps - 1
    counts = [(last - row, row - column, column) for row in range(steps) for column in range(row + 1)]
    return np.array(counts) / last


def neighbours(
    query: Float[np.ndarray, "q d"], among: Float[np.ndarray, "n d"], k: int, measure: str = "cosine"
) -> tuple[Int[np.ndarray, "q k"], Float[np.ndarray, "q k"]]:
    """The k nearest of `among` for each query, nearest first: where they stand, and how similar they are.

    Similarity is the cosine (0 for a vector of zeros) or, for `euclidean`, the distance with a minus sign. Every pair
    is looked at: the answer is exact, through faiss where it is installed, else through torch.

    >>> neighbours(np.array([[0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]]), k=2, measure="euclidean")
    (array([[1, 0]]), array([[-1.        , -2.23606798]]))
    """
    if measure not in ("cosine", "euclidean"):
        raise UsageError(f"There is no measure {measure!r}. Choose from: cosine, euclidean.")
    if not 1 <= k <= len(among):
        raise LexigraphError(f"k is {k}; it must be between 1 and the number of vectors to look among, {len(among)}.")
    if not (np.isfinite(query).all() and np.isfinite(among).all()):
        raise LexigraphError("Neighbours cannot be found: the vectors hold values that are not finite numbers.")
    cosine = measure == "cosine"
    points = _directions(among) if cosine else among.astype(np.float64)
    centre = points.mean(axis=0)  # in a narrow cone or far from zero, float32 would not tell the points apart
    found = min(k + SPARE, len(among))
    search = _search((points - centre).astype(np.float32), found, cosine)
    del points
    where = np.empty((len(query), k), dtype=np.int64)
    similarity = np.empty((len(query), k))
    size = max(1, BLOCK // (len(among) + found * query.shape[1]))
    for start in range(0, len(query), size):
        rows = slice(start, start + size)
        block = query[rows].astype(np.float64)
        # q·(y − centre) ranks as q·y does, and |(q − centre) − (y − centre)| as |q − y|
        candidates = search((_directions(block) if cosine else block - centre).astype(np.float32))
        near = among[candidates].astype(np.float64)
        if cosine:
            exact = np.einsum("qd,qkd->qk", _directions(block), _directions(near)).clip(-1, 1)
        else:
            exact = -np.linalg.norm(block[:, None] - near, axis=2)
        order = np.lexsort((candidates, -exact))[:, :k]
        where[rows] = np.take_along_axis(candidates, order, axis=1)
        similarity[rows] = np.take_along_axis(exact, order, axis=1)
    return where, similarity.astype(query.dtype)


def _directions(vectors: np.ndarray) -> np.ndarray:
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=-1, keepdims=True)
    return exact / np.where(lengths == 0, 1, lengths)


def _search(among: np.ndarray, found: int, cosine: bool) -> Callable[[np.ndarray], np.ndarray]:
    """A function from float32 queries to the positions of those that are nearest, up to rounding."""
    if find_spec("faiss"):
        import faiss

        metric = faiss.METRIC_INNER_PRODUCT if cosine else faiss.METRIC_L2
        return lambda block: faiss.knn(block, among, found, metric=metric)[1]
    import torch

    columns = torch.from_numpy(among).T
    penalty = torch.zeros(len(among)) if cosine else columns.square().sum(0) / 2  # |q − y|² = |q|² − 2 (q·y − |y|²/2)
    return lambda block: torch.topk(torch.from_numpy(block) @ columns - penalty, found).indices.numpy()
