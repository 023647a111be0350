import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.mixture import Mixture

CENTRES = np.array([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [0.0, 30.0, 0.0]])


def clusters(count=300, seed=0):
    """Three clouds of unequal size, far apart, with the same slanted shape."""
    random = np.random.default_rng(seed)
    slant = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [0.0, -1.0, 0.5]])
    owner = np.repeat([0, 1, 2], [count // 2, count // 3, count // 6])
    return CENTRES[owner] + random.standard_normal((len(owner), 3)) @ slant.T, owner


def two(roots):
    return Mixture(np.array([0.25, 0.75]), np.array([[0.0, 0.0], [10.0, 0.0]]), np.array(roots))


FULL = two([[[1.0, 0.0], [0.5, 2.0]], [[3.0, 0.0], [0.0, 1.0]]])
DIAGONAL = two([[1.0, 2.0], [3.0, 1.0]])


def test_a_mixture_finds_clouds_that_lie_apart():
    z, owner = clusters()
    mixture = Mixture.fit(z.astype(np.float32), components=3)
    order = [int(np.linalg.norm(mixture.means - centre, axis=1).argmin()) for centre in CENTRES]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(mixture.weights[order], [1 / 2, 1 / 3, 1 / 6], atol=1e-6)
    for k, component in enumerate(order):
        own = z[owner == k]
        np.testing.assert_allclose(mixture.means[component], own.mean(axis=0), rtol=1e-5, atol=1e-5)
        root = mixture.choleskys[component]
        np.testing.assert_allclose(root @ root.T, np.cov(own.T, bias=True), atol=0.02)  # the floor adds a little
    assert (mixture.responsibilities(z).argmax(axis=1) == np.array(order)[owner]).all()


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_likelihood_and_responsibilities_are_those_of_scikit_learn(covariance):
    from sklearn.mixture import GaussianMixture

    z, _ = clusters()
    z /= 10  # so that the clouds overlap
    mixture = Mixture.fit(z, components=4, seed=3, covariance=covariance)
    assert mixture.diagonal == (covariance == "diag")
    variances = mixture.choleskys**2 if mixture.diagonal else mixture.choleskys @ mixture.choleskys.transpose(0, 2, 1)
    peer = GaussianMixture(4, covariance_type=covariance)
    peer.weights_, peer.means_, peer.covariances_ = mixture.weights, mixture.means, variances
    inverse = 1 / np.sqrt(variances) if mixture.diagonal else np.linalg.inv(mixture.choleskys).transpose(0, 2, 1)
    peer.precisions_cholesky_ = inverse
    np.testing.assert_allclose(mixture.log_likelihood(z), peer.score_samples(z), rtol=1e-8)
    np.testing.assert_allclose(mixture.responsibilities(z), peer.predict_proba(z), atol=1e-9)


def test_likelihood_is_the_formula_of_the_normal_distribution():
    one = Mixture(np.array([1.0]), np.array([[1.0, 2.0]]), np.array([[2.0, 3.0]]))
    z = np.array([[1.0, 2.0], [3.0, 5.0]])  # the mean, and one deviation away in both dimensions
    np.testing.assert_allclose(one.log_likelihood(z), -np.log(2 * np.pi * 6) - np.array([0, 1]))


def test_one_gaussian_has_the_moments_of_the_data():
    z, _ = clusters()
    one = Mixture.fit(z, components=1)
    np.testing.assert_allclose(one.means, [z.mean(axis=0)])
    np.testing.assert_allclose(one.choleskys[0] @ one.choleskys[0].T, np.cov(z.T, bias=True), atol=1e-4 * z.var())


@pytest.mark.parametrize(("mixture", "together", "second"), [(FULL, 0.125, 1.8125), (DIAGONAL, 0.0, 1.75)])
def test_merged_into_one_gaussian_it_keeps_mean_and_covariance(mixture, together, second):
    one = mixture.merged()
    np.testing.assert_allclose(one.means, [[7.5, 0.0]])
    # 7 within the two clouds and 1/4 · 3/4 · 10² between them
    np.testing.assert_allclose(one.choleskys[0] @ one.choleskys[0].T, [[7 + 18.75, together], [together, second]])


@pytest.mark.parametrize("mixture", [FULL, DIAGONAL], ids=["full", "diagonal"])
def test_samples_have_the_moments_of_the_mixture(mixture):
    vectors, component = mixture.sample(40_000, seed=1)
    assert vectors.dtype == np.float32
    assert np.mean(component == 0) == pytest.approx(0.25, abs=0.01)
    for k in (0, 1):
        own = vectors[component == k]
        root = mixture.choleskys[k] if not mixture.diagonal else np.diag(mixture.choleskys[k])
        np.testing.assert_allclose(own.mean(axis=0), mixture.means[k], atol=0.07)
        np.testing.assert_allclose(np.cov(own.T), root @ root.T, atol=0.2)


def test_samples_follow_seed_component_and_temperature():
    vectors, component = FULL.sample(50, seed=4)
    again, component_again = FULL.sample(50, seed=4)
    assert (vectors == again).all()
    assert (component == component_again).all()
    assert (FULL.sample(50, seed=5)[0] != vectors).any()
    means, second = FULL.sample(9, seed=0, component=1, temperature=0)
    assert second.tolist() == [1] * 9
    assert means.tolist() == [[10, 0]] * 9
    cold, warm = (FULL.sample(9, seed=0, component=1, temperature=t)[0] - [10, 0] for t in (1.0, 2.0))
    np.testing.assert_allclose(2 * cold, warm, rtol=1e-4, atol=1e-5)


def test_few_or_equal_points_still_give_a_mixture():
    few = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)  # 8 points in 64 dimensions
    for z in (few, np.ones((8, 3))):
        mixture = Mixture.fit(z, components=4)
        assert np.isfinite(mixture.log_likelihood(z)).all()
        assert np.isfinite(mixture.sample(20, seed=0)[0]).all()


@pytest.mark.parametrize("mixture", [FULL, DIAGONAL], ids=["full", "diagonal"])
def test_a_saved_mixture_is_the_same(mixture, tmp_path):
    path = tmp_path / "mixture.safetensors"
    mixture.save(path)
    loaded = Mixture.load(path)
    for name in ("weights", "means", "choleskys"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(mixture, name))
    assert os.listdir(tmp_path) == [path.name]


def test_half_precision_is_small_and_near(tmp_path):
    z = np.random.default_rng(0).standard_normal((200, 32))
    mixture = Mixture.fit(z, components=2)
    mixture.save(tmp_path / "whole")
    mixture.save(tmp_path / "half", half=True)
    assert (tmp_path / "half").stat().st_size < (tmp_path / "whole").stat().st_size / 3.5
    np.testing.assert_allclose(
        Mixture.load(tmp_path / "half").log_likelihood(z), mixture.log_likelihood(z), rtol=1e-2
    )


@pytest.mark.parametrize("factor", [1e6, 1e-9])
def test_values_outside_half_precision_are_refused(factor, tmp_path):
    mixture = Mixture(FULL.weights, FULL.means * factor, FULL.choleskys * factor)
    with pytest.raises(LexigraphError, match="Save it without half"):
        mixture.save(tmp_path / "half", half=True)
    assert os.listdir(tmp_path) == []


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "mixture"
    with pytest.raises(LexigraphError, match="There is no mixture file"):
        Mixture.load(path)
    FULL.save(path)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[:-8], whole[:20]):
        path.write_bytes(content)
        with pytest.raises(LexigraphError, match="is damaged or no mixture"):
            Mixture.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"other": np.ones(1)}, "it holds choleskys, means, other, weights instead"),
        ({"means": np.ones((3, 2))}, "shapes do not fit"),
        ({"means": np.ones((2, 2), dtype=np.int64)}, "not of real numbers"),
        ({"means": np.full((2, 2), np.nan)}, "not finite"),
        ({"weights": np.array([0.5, 0.9])}, "sum to 1"),
        ({"weights": np.array([-0.5, 1.5])}, "sum to 1"),
        ({"choleskys": np.zeros((2, 2))}, "deviation of 0"),
    ],
)
def test_tensors_that_are_no_mixture_are_refused(change, words, tmp_path):
    tensors = {"weights": FULL.weights, "means": FULL.means, "choleskys": FULL.choleskys, **change}
    save_file(tensors, tmp_path / "mixture")
    with pytest.raises(LexigraphError, match=words):
        Mixture.load(tmp_path / "mixture")


def test_what_cannot_be_fitted_or_drawn_is_refused_with_a_sentence():
    z = np.ones((5, 2))
    with pytest.raises(LexigraphError, match="mixture of 20 cannot be fitted to 5 vectors: give at least 20"):
        Mixture.fit(z)
    with pytest.raises(LexigraphError, match="give at least 2"):
        Mixture.fit(z[:1], 1)
    with pytest.raises(LexigraphError, match="components is 0"):
        Mixture.fit(z, 0)
    with pytest.raises(LexigraphError, match="not finite"):
        Mixture.fit(z * np.inf, 2)
    with pytest.raises(UsageError, match="full, diag"):
        Mixture.fit(z, 2, covariance="tied")
    with pytest.raises(LexigraphError, match="count is 0"):
        FULL.sample(0, seed=0)
    with pytest.raises(LexigraphError, match="from 0 to 1"):
        FULL.sample(1, seed=0, component=2)
    for temperature in (-1, np.nan, np.inf):
        with pytest.raises(LexigraphError, match="temperature"):
            FULL.sample(1, seed=0, temperature=float(temperature))
    with pytest.raises(LexigraphError, match="3 dimensions, the mixture has 2"):
        FULL.log_likelihood(np.ones((1, 3)))
