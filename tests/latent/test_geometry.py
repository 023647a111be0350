import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent import geometry
from lexigraph.latent.geometry import blend, neighbours, steps_between, triangle


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


# ---- blends ----


def test_a_linear_blend_goes_straight_and_beyond():
    points = np.array([[0.0, 10.0], [4.0, 2.0]], dtype=np.float32)
    weights = np.array([[0.75, 0.25], [-1.0, 2.0], [1.0, 1.0]])
    mixed = blend(points, weights)
    assert mixed.dtype == np.float32
    assert mixed.tolist() == [[1, 8], [8, -6], [4, 12]]


def test_a_spherical_blend_turns_evenly_and_mixes_lengths():
    points = np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    t = np.array([0.0, 1 / 3, 0.5, 1.0, 4 / 3, -1 / 3])
    mixed = blend(points, np.stack([1 - t, t], axis=1), "spherical")
    angle = np.radians(90 * t)
    expected = (2 + t)[:, None] * np.stack([np.cos(angle), np.sin(angle), 0 * t], axis=1)
    np.testing.assert_allclose(mixed, expected, atol=1e-12)


def test_spherical_blends_agree_with_a_third_point_that_counts_for_nothing():
    points = normal(3, 16)
    weights = steps_between(7)
    two = blend(points[:2], weights, "spherical")
    three = blend(points, np.column_stack([weights, np.zeros(7)]), "spherical")
    np.testing.assert_allclose(two, three, atol=1e-9)


def test_the_mean_of_the_axes_is_their_diagonal():
    mixed = blend(np.eye(4) * 5, np.full((1, 4), 0.25), "spherical")
    np.testing.assert_allclose(mixed, [[2.5] * 4], atol=1e-12)


@given(st.integers(0, 10**6), st.integers(3, 6))
def test_the_mean_on_the_sphere_has_the_least_squared_arcs(seed, count):
    points = unit(normal(count, 5, seed=seed) + 2)  # on one side of the sphere
    weights = np.random.default_rng(seed).dirichlet(np.ones(count))
    [mean] = blend(points, weights[None], "spherical")

    def spread(direction):
        return weights @ np.arccos((points @ direction).clip(-1, 1)) ** 2

    assert np.linalg.norm(mean) == pytest.approx(1)
    for other in unit(mean + 0.01 * normal(20, 5, seed=seed + 1)):
        assert spread(mean) <= spread(other) + 1e-12


@pytest.mark.parametrize("weights", [(-0.2, 0.7, 0.5), (1.3, -0.2, -0.1)])
def test_beyond_three_points_the_arrows_to_them_cancel_too(weights):
    points = unit(normal(3, 64))
    [mean] = blend(points, np.array([weights]), "spherical")
    across = points - (points @ mean)[:, None] * mean
    arrows = np.arccos(points @ mean)[:, None] * unit(across)
    np.testing.assert_allclose(np.array(weights) @ arrows, np.zeros(64), atol=1e-7)


def test_a_corner_of_a_spherical_blend_is_the_point_itself():
    points = np.array([[1.0, 2.0, 2.0], [-1.0, -2.0, -2.0], [3.0, 0.0, 4.0]])  # the second is opposite to the first
    np.testing.assert_allclose(blend(points, np.eye(3), "spherical"), points, atol=1e-12)


def test_nearly_parallel_points_are_blended_straight():
    points = np.array([[1.0, 0.0], [2.0, 1e-12]])
    np.testing.assert_allclose(blend(points, steps_between(3), "spherical"), [[1, 0], [1.5, 5e-13], [2, 1e-12]])
    same = np.array([[3.0, 4.0], [3.0, 4.0], [3.0, 4.0]])
    np.testing.assert_allclose(blend(same, triangle(3), "spherical"), [[3, 4]] * 6)


@pytest.mark.parametrize(
    ("points", "weights", "words"),
    [
        ([[1.0, 2.0], [-2.0, -4.0]], [[0.5, 0.5]], "opposite"),
        ([[1.0, 2.0], [0.0, 0.0]], [[0.5, 0.5]], "zeros has no direction"),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.6]], "sum to 1"),
        ([[2.0, 0.0], [0.0, 1.0]], [[-2.0, 3.0]], "length below 0"),
        ([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]], [[1 / 3] * 3], "so evenly"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[-5.0, 3.0, 3.0]], "use weights between 0 and 1"),
        ([[1.0, np.nan], [0.0, 1.0]], [[0.5, 0.5]], "not finite"),
        ([[1.0, 0.0], [0.0, 1.0]], [[np.inf, 0.5]], "must be finite"),
    ],
)
def test_what_has_no_spherical_blend_is_refused_with_a_sentence(points, weights, words):
    with pytest.raises(LexigraphError, match=words):
        blend(np.array(points), np.array(weights), "spherical")


def test_blends_that_overflow_or_do_not_exist_are_refused():
    with pytest.raises(LexigraphError, match="too large for float32"):
        blend(np.ones((1, 2), dtype=np.float32), np.array([[1e39]]))
    with pytest.raises(UsageError, match="linear, spherical"):
        blend(np.ones((1, 2)), np.ones((1, 1)), "cubic")


# ---- weights ----


def test_steps_lead_from_the_first_to_the_second():
    assert steps_between(5).tolist() == [[1, 0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0, 1]]
    assert steps_between(2).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("steps", [2, 3, 8])
def test_a_triangle_holds_every_weighting_in_even_steps_once(steps):
    grid = triangle(steps)
    assert grid.shape == (steps * (steps + 1) // 2, 3)
    np.testing.assert_allclose(grid.sum(axis=1), 1)
    assert len({tuple(row) for row in (grid * (steps - 1)).round(9)}) == len(grid)
    assert (grid >= 0).all()
    np.testing.assert_allclose(grid * (steps - 1), (grid * (steps - 1)).round(), atol=1e-12)


@pytest.mark.parametrize("make", [steps_between, triangle])
def test_one_step_is_no_way(make):
    with pytest.raises(LexigraphError, match="at least 2 steps"):
        make(1)


# ---- neighbours ----


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_neighbours_are_those_of_scikit_learn(measure, offset, monkeypatch):
    from sklearn.neighbors import NearestNeighbors

    monkeypatch.setattr(geometry, "BLOCK", 5000)  # several blocks
    query, among = normal(40, 12) + offset, normal(300, 12, seed=1) + offset
    where, similarity = neighbours(query, among, 7, measure)
    peer = NearestNeighbors(n_neighbors=7, metric=measure, algorithm="brute").fit(among)
    distance, expected = peer.kneighbors(query)
    assert where.tolist() == expected.tolist()
    np.testing.assert_allclose(similarity, 1 - distance if measure == "cosine" else -distance, rtol=1e-5, atol=1e-9)


def test_a_vector_is_its_own_nearest_neighbour_even_far_from_zero():
    among = (normal(50, 8) * 1e-2 + 100).astype(np.float32)
    where, similarity = neighbours(among, among, 1, "euclidean")
    assert where[:, 0].tolist() == list(range(50))
    assert (similarity == 0).all()
    assert similarity.dtype == np.float32


def test_length_does_not_count_for_the_cosine_and_zeros_are_like_nothing():
    among = np.array([[0.0, 0.0], [-1.0, 0.0], [5.0, 5.0], [1e-3, 0.0]])
    where, similarity = neighbours(np.array([[2.0, 0.0]]), among, 4)
    assert where.tolist() == [[3, 2, 0, 1]]
    np.testing.assert_allclose(similarity, [[1, 0.5**0.5, 0, -1]])


@pytest.mark.skipif(geometry.find_spec("faiss") is None, reason="faiss is not installed")
@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_faiss_and_torch_find_the_same(measure, monkeypatch):
    query, among = normal(40, 12).astype(np.float32), normal(300, 12, seed=1).astype(np.float32)
    where, similarity = neighbours(query, among, 5, measure)
    monkeypatch.setattr(geometry, "find_spec", lambda name: None)
    again, similarity_again = neighbours(query, among, 5, measure)
    assert where.tolist() == again.tolist()
    assert similarity.tolist() == similarity_again.tolist()


def test_neighbours_that_cannot_be_found_are_refused():
    points = np.ones((3, 2))
    for k in (0, 4):
        with pytest.raises(LexigraphError, match=f"k is {k}; .* 3"):
            neighbours(points, points, k)
    with pytest.raises(LexigraphError, match="not finite"):
        neighbours(points * np.nan, points, 1)
    with pytest.raises(UsageError, match="cosine, euclidean"):
        neighbours(points, points, 1, "taxi")
