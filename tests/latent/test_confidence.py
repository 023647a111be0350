import numpy as np
import pytest

from lexigraph.latent.confidence import NOISES, cosines, judged


def test_cosines_are_those_of_vectors_whose_mean_is_taken_off():
    first, second = np.random.default_rng(0).normal(3, 1, (2, 5, 40))
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(first, second, strict=True)]
    assert cosines(first, second) == pytest.approx(expected)
    assert cosines(first, 2 * first + 7) == pytest.approx(np.ones(5))
    assert cosines(np.full((1, 3), 4.0), np.ones((1, 3))).tolist() == [0.0]


def test_an_answer_is_doubtful_that_is_far_off_or_unlikely():
    copy = judged(1.0, -0.11, noise=0.0)
    assert (copy.round_trip, copy.likelihood, copy.doubtful, copy.word) == (1.0, -0.11, False, "")
    assert judged(0.6, -0.11, noise=0.0).word == "doubtful"
    assert judged(1.0, -2.7, noise=0.0).word == "doubtful"


def test_with_much_noise_a_likely_sentence_is_wanted_and_not_a_near_one():
    assert not judged(0.4, -1.0, noise=NOISES[-1]).doubtful
    assert judged(0.4, -1.0, noise=0.7).doubtful
    assert judged(0.4, -1.0, noise=0.0).doubtful
    assert judged(0.4, -4.0, noise=NOISES[-1]).doubtful


def test_a_picture_that_was_saved_again_may_be_less_sure_than_a_vector():
    assert judged(0.9, -0.8, noise=0.0).doubtful
    assert not judged(0.9, -0.8, noise=0.0, picture=True).doubtful
    assert judged(0.6, -0.8, noise=0.0, picture=True).doubtful
