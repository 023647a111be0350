import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.bias import debias, direction, equalise, neutralise, weat
from lexigraph.words.vectors import WordVectors


def biased(seed=0, words=8, dim=20):
    """x0 … lean to one side of the first axis with a0 …, y0 … to the other with b0 …; the rest is chance."""
    random = np.random.default_rng(seed)
    names = [f"{kind}{number}" for kind in "xyab" for number in range(words)]
    vectors = random.standard_normal((len(names), dim))
    vectors[:, 0] = np.where([name[0] in "xa" for name in names], 3, -3)
    return WordVectors([*names, "other"], np.vstack([vectors, random.standard_normal(dim)]).astype(np.float32))


def words(kind, count=8):
    return [f"{kind}{number}" for number in range(count)]


SETS = [words(kind) for kind in "xyab"]
PAIRS = list(zip(words("a"), words("b"), strict=True))
PLANE = WordVectors(  # the x axis minus the y axis is s: 1, -0.2, -1, 0.2
    ["x1", "x2", "y1", "y2", "right", "up"],
    np.array([[5, 0], [0.6, 0.8], [0, 1], [8, 6], [1, 0], [0, 2]], np.float32),
)


# ---- the direction, and vectors without it ----


def test_the_direction_is_what_all_pairs_share():
    wv = biased()
    g = direction(wv, PAIRS)
    assert np.linalg.norm(g) == pytest.approx(1)
    assert g[0] > 0.9  # from the second words to the first
    np.testing.assert_allclose(direction(wv, [(b, a) for a, b in PAIRS]), -g, atol=1e-12)


def test_the_direction_is_the_first_component_of_the_centred_pairs():
    from sklearn.decomposition import PCA

    wv = biased()
    first, second = (wv.unit[[wv.index[pair[side]] for pair in PAIRS]].astype(np.float64) for side in (0, 1))
    middle = (first + second) / 2
    axis = PCA(1).fit(np.vstack([first - middle, second - middle])).components_[0]
    assert abs(axis @ direction(wv, PAIRS)) == pytest.approx(1)


def test_one_pair_shows_its_difference():
    wv = WordVectors(["he", "she"], np.array([[3, 4], [-3, 4]], np.float32))
    np.testing.assert_allclose(direction(wv, [("he", "she")]), [1, 0], atol=1e-7)


def test_a_neutral_vector_has_nothing_along_the_direction_and_keeps_the_rest():
    random = np.random.default_rng(0)
    rows, g = random.standard_normal((5, 7)), random.standard_normal(7)
    neutral = neutralise(rows, g)
    np.testing.assert_allclose(neutral @ g, 0, atol=1e-12)
    across = random.standard_normal(7)
    across -= across @ g / (g @ g) * g
    np.testing.assert_allclose(neutral @ across, rows @ across)
    np.testing.assert_allclose(neutralise(rows[0], g), neutral[0])
    np.testing.assert_allclose(neutralise(neutral, g), neutral, atol=1e-12)


def test_equal_vectors_have_length_one_and_are_as_far_from_every_neutral_vector():
    random = np.random.default_rng(0)
    g, pair = random.standard_normal(7), random.standard_normal((2, 7))
    pair /= np.linalg.norm(pair, axis=1, keepdims=True)
    first, second = equalise(pair, g)
    assert np.linalg.norm(first) == pytest.approx(1)
    assert np.linalg.norm(second) == pytest.approx(1)
    assert np.sign((first - second) @ g) == np.sign((pair[0] - pair[1]) @ g)
    for neutral in neutralise(random.standard_normal((9, 7)), g):
        assert np.linalg.norm(first - neutral) == pytest.approx(np.linalg.norm(second - neutral))


def test_equalise_by_hand():
    pair = np.array([[0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])  # along the first axis they become ± √(1 − 0.7² − 0.4²)
    side = np.sqrt(0.35)
    np.testing.assert_allclose(equalise(pair, np.array([2.0, 0, 0])), [[side, 0.7, 0.4], [-side, 0.7, 0.4]])


# ---- WEAT ----


def test_weat_by_hand():
    # s: 1 and -0.2 in X, -1 and 0.2 in Y; means 0.4 and -0.4, variance (1 + 0.04 + 1 + 0.04) / 3;
    # of the six sums of two, 0.8 and 1.2 are at least the 0.8 of X
    effect, p = weat(PLANE, ["x1", "x2"], ["y1", "y2"], ["right"], ["up"])
    assert effect == pytest.approx(0.8 / np.sqrt(2.08 / 3))
    assert p == pytest.approx(2 / 6)


def test_weat_turns_its_sign_with_its_sets():
    there, back = weat(PLANE, ["x1"], ["y1"], ["right"], ["up"]), weat(PLANE, ["x1"], ["y1"], ["up"], ["right"])
    assert there.effect == pytest.approx(-back.effect)
    assert (there.p, back.p) == (0.5, 1.0)


def test_sampled_p_is_near_the_exact_one_and_follows_the_seed():
    wv = WordVectors(biased().words, np.random.default_rng(5).standard_normal((33, 20)).astype(np.float32))
    sets = [wanted[:6] for wanted in SETS]
    exact = weat(wv, *sets)  # 924 splits
    sampled = weat(wv, *sets, permutations=900)
    assert 0.05 < exact.p < 0.95
    assert sampled.p == pytest.approx(exact.p, abs=0.06)
    assert sampled.effect == exact.effect
    assert weat(wv, *sets, permutations=900) == sampled
    assert weat(wv, *sets, permutations=900, seed=1).p != sampled.p


def test_p_is_the_smallest_share_where_x_and_y_are_apart():
    assert weat(biased(), *SETS, permutations=20_000).p == pytest.approx(1 / 12_870)  # splits of 16 into 8 and 8
    assert weat(biased(), *SETS, permutations=100).p == 1 / 100


# ---- debiasing ----


def test_debiasing_takes_the_effect_away():
    wv = biased()
    assert weat(wv, *SETS).effect > 1.5
    fair = debias(wv, PAIRS)
    assert weat(fair, *SETS) == (0, 1)
    g = direction(wv, PAIRS)
    np.testing.assert_allclose(fair.vectors[[fair.index[word] for word in SETS[0] + SETS[1]]] @ g, 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(fair.vectors, axis=1), 1, rtol=1e-6)
    assert fair.words == wv.words
    assert wv.vectors[0, 0] == 3  # what was given is not changed


def test_without_equal_pairs_only_neutral_words_change():
    wv = biased()
    fair = debias(wv, PAIRS, neutral=["x0"], equal=[])
    same = [row for row, word in enumerate(wv.words) if word != "x0"]
    np.testing.assert_allclose(fair.vectors[same], wv.unit[same], atol=1e-6)
    assert fair["x0"] @ direction(wv, PAIRS) == pytest.approx(0, abs=1e-6)


def test_words_to_keep_are_kept():
    wv = biased()
    fair = debias(wv, PAIRS, keep=["x0", "other"])
    for word in ("x0", "other"):
        np.testing.assert_allclose(fair[word], wv.unit[wv.index[word]], atol=1e-6)
    assert abs(fair["x1"] @ direction(wv, PAIRS)) < 1e-6


def test_counts_stay_with_their_words():
    wv = WordVectors(["he", "she", "nurse"], np.array([[1, 2], [-1, 2], [-2, 3]], np.float32), np.array([9, 8, 7]))
    fair = debias(wv, [("he", "she")])
    assert fair.counts is not None
    assert fair.counts.tolist() == [9, 8, 7]


# ---- what is refused ----


def test_wrong_requests_get_a_sentence():
    wv = biased()
    with pytest.raises(UsageError, match="at least one pair"):
        direction(wv, [])
    for ask in (direction, debias):
        with pytest.raises(LexigraphError, match="'nobody' is not among the 33 words"):
            ask(wv, [("a0", "nobody")])
    with pytest.raises(LexigraphError, match="'nobody' is not among the 33 words"):
        debias(wv, PAIRS, neutral=["nobody"])
    with pytest.raises(LexigraphError, match="'nobody' is not among the 33 words"):
        weat(wv, ["x0"], ["y0"], ["nobody"], ["b0"])
    with pytest.raises(LexigraphError, match="same vector, as 'a0' and 'a0'"):
        direction(wv, [("a0", "a0")])
    with pytest.raises(LexigraphError, match="do not differ along the direction"):
        equalise(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0]))
    with pytest.raises(UsageError, match="'a0': a word can be in one equal pair only"):
        debias(wv, [("a0", "b0"), ("a0", "b1")])
    with pytest.raises(UsageError, match="'a0': a word can be in one equal pair only, and not be neutral"):
        debias(wv, PAIRS, neutral=["a0"])
    with pytest.raises(UsageError, match="The set B is empty"):
        weat(wv, ["x0"], ["y0"], ["a0"], [])
