"""Official metrics: worked by hand, equal to scikit-learn's and SciPy's, and their intervals."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as peers

from lexigraph.evaluation.understanding import metrics

RANDOM = np.random.default_rng(0)
TRUE, CALLED = (RANDOM.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1]).tolist() for _ in range(2))
CALLED[:100] = TRUE[:100]


def test_matthews_by_hand():
    """6 right of 8: three true positives, three true negatives, one of each error: (9 - 1) / 16."""
    true, called = ["1"] * 4 + ["0"] * 4, ["1", "1", "1", "0", "0", "0", "0", "1"]
    assert metrics.matthews(true, called) == pytest.approx(0.5)
    assert metrics.matthews(true, true) == 1.0
    assert metrics.matthews(true, ["1"] * 8) == 0.0  # what is always the same knows nothing


def test_f1_and_correlations_by_hand():
    assert metrics.f1("1")(["1", "1", "0", "0"], ["1", "0", "1", "0"]) == 0.5  # precision and recall are a half
    assert metrics.f1("1")(["0", "0"], ["0", "0"]) == 0.0
    assert metrics.pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == pytest.approx(1.0)
    assert metrics.spearman([1.0, 2.0, 3.0], [1.0, 100.0, 50.0]) == pytest.approx(0.5)  # 1 - 6 · 2 / (3 · 8)
    assert metrics.pearson([1.0, 2.0], [3.0, 3.0]) == 0.0


def test_tags_are_counted_by_word_and_by_span():
    true = [["B-PER", "I-PER", "O"], ["B-LOC"]]
    called = [["B-PER", "O", "O"], ["B-LOC"]]
    assert metrics.word_accuracy(true, called) == 0.75
    assert metrics.span_f1(true, called) == 0.5  # one of two spans on each side


@pytest.mark.parametrize("classes", ["ab", "abc"])
def test_classes_are_counted_as_scikit_learn_does(classes):
    true, called = ([each if each in classes else "b" for each in answers] for answers in (TRUE, CALLED))
    assert metrics.accuracy(true, called) == pytest.approx(peers.accuracy_score(true, called))
    assert metrics.matthews(true, called) == pytest.approx(peers.matthews_corrcoef(true, called))
    one = peers.f1_score(true, called, labels=["a"], average=None)[0]
    assert metrics.f1("a")(true, called) == pytest.approx(one)


def test_correlations_are_those_of_scipy():
    x = RANDOM.integers(0, 6, 100).astype(float)  # with ties
    y = x + RANDOM.normal(0, 2, 100)
    assert metrics.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert metrics.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_an_interval_holds_what_the_binomial_says():
    true, called = ["a"] * 400, ["a"] * 300 + ["b"] * 100
    found = metrics.spread(metrics.accuracy, true, [called])
    assert found["value"] == 0.75
    assert found["interval"] == pytest.approx([0.75 - 1.96 * 0.02165, 0.75 + 1.96 * 0.02165], abs=0.006)
    assert metrics.spread(metrics.accuracy, true[:10], [called[:10]])["interval"] == []


def test_seeds_that_differ_widen_the_interval():
    true = ["a"] * 1000
    good, bad = ["a"] * 1000, ["b"] * 1000
    found = metrics.spread(metrics.accuracy, true, [good, bad])
    assert found["value"] == 0.5
    assert found["seeds"] == [1.0, 0.0]
    assert found["deviation"] == pytest.approx(0.5**0.5)
    assert found["interval"] == [0.0, 1.0]


def test_pairing_sees_what_two_intervals_hide():
    """Better on 12 of 400 examples and never worse: intervals overlap, that of the difference lies above 0."""
    true = ["a"] * 400
    worse = ["a"] * 280 + ["b"] * 120
    better = ["a"] * 292 + ["b"] * 108
    one, other = (metrics.spread(metrics.accuracy, true, [each])["interval"] for each in (better, worse))
    assert one[0] < other[1]
    found = metrics.difference(metrics.accuracy, true, [better], [worse])
    assert found["value"] == pytest.approx(0.03)
    assert found["interval"][0] > 0
    none = metrics.difference(metrics.accuracy, true, [worse], [worse])
    assert none == {"value": 0.0, "interval": [0.0, 0.0]}
    seeds = [better, worse, true]  # each is as good as itself, however seeds differ
    assert metrics.difference(metrics.accuracy, true, seeds, seeds) == {"value": 0.0, "interval": [0.0, 0.0]}
