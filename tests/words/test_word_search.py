import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.search import (
    Index,
    TextClassifier,
    average,
    average_precision,
    classify,
    evaluate,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
    words_of,
)
from lexigraph.words.subwords import Subwords
from lexigraph.words.vectors import WordVectors

WV = WordVectors(  # animals, vehicles, and words that go with both
    ["cat", "dog", "horse", "car", "bus", "the", "a"],
    np.array([[3, 0, 1], [2, 0.5, 1], [2, 0, 1], [0, 3, 1], [0.5, 2, 1], [0.1, 0, 4], [0, 0.1, 4]], np.float32),
)
DOCUMENTS = ["The car.", "A dog, the dog!", "the bus", "Nothing known?"]


def unit(vector):
    return np.array(vector) / np.linalg.norm(vector)


# ---- averages ----


def test_the_average_by_hand():
    lines = [["cat", "cat", "car", "zebra"], ["zebra"]]
    np.testing.assert_allclose(average(lines, WV), [[2, 1, 1], [0, 0, 0]])  # (2 · (3, 0, 1) + (0, 3, 1)) / 3
    np.testing.assert_allclose(average(lines, WV, {"cat": 0.5}, unseen=2), [[1, 2, 1], [0, 0, 0]])


def test_words_without_a_vector_of_their_own_take_that_of_their_ngrams():
    ngrams = Subwords(np.ones((10, 3), np.float32), 10, 3, 6)
    with_ngrams = WordVectors(WV.words, WV.vectors, subwords=ngrams)
    np.testing.assert_allclose(average([["zebra", "cat"]], with_ngrams), [[2, 0.5, 1]], rtol=1e-6)


def test_texts_are_cut_into_words():
    assert words_of(["The cat's\nhat!", "A"]) == [["the", "cat's", "hat"], ["a"]]
    assert words_of(["The cat's\nhat!"], split="space") == [["The", "cat's", "hat!"]]


def test_tfidf_weights_by_hand():
    index = Index.build(DOCUMENTS, WV)
    assert index.weights["the"] == pytest.approx(np.log10(4 / 3))
    assert index.weights["dog"] == pytest.approx(np.log10(4 / 1))
    mixed = np.log10(4) * (WV["a"] + 2 * WV["dog"]) + np.log10(4 / 3) * WV["the"]
    np.testing.assert_allclose(index.vectors[1], unit(mixed), rtol=1e-6)


def test_sif_weights_by_hand():
    index = Index.build(DOCUMENTS, WV, "sif")
    assert index.weights["the"] == pytest.approx(0.001 / (0.001 + 3 / 10))  # 3 of 10 words
    assert index.weights["car"] == pytest.approx(0.001 / (0.001 + 1 / 10))
    counted = WordVectors(WV.words, WV.vectors, np.array([10, 10, 10, 10, 10, 900, 50]))
    index = Index.build(DOCUMENTS, counted, "sif")
    assert index.weights["the"] == pytest.approx(0.001 / (0.001 + 0.9))  # 900 of 1000 words
    assert index.weights["car"] == pytest.approx(0.001 / (0.001 + 0.01))


def test_sif_takes_out_the_first_component():
    from sklearn.decomposition import TruncatedSVD

    documents = [f"{first} {second} the" for first in WV.words for second in WV.words]
    index = Index.build(documents, WV, "sif")
    means = average(words_of(documents), WV, index.weights)
    common = TruncatedSVD(1, algorithm="arpack").fit(means).components_[0]
    assert abs(common @ index.common) == pytest.approx(1)
    np.testing.assert_allclose(index.vectors @ index.common, 0, atol=1e-9)
    rest = [unit(mean - mean @ common * common) for mean in means]
    np.testing.assert_allclose(index.vectors, rest, atol=1e-6)


# ---- search ----


@pytest.mark.parametrize("weighting", ["tfidf", "sif", "mean"])
def test_a_document_is_found_by_words_that_it_does_not_have(weighting):
    index = Index.build(DOCUMENTS, WV, weighting)
    best, *_, last = index.search("a horse")
    assert (best.document, best.text) == (1, "A dog, the dog!")
    assert last == (3, -1.0, "Nothing known?")
    assert index.search("a horse", k=2) == index.search("a horse")[:2]


def test_the_score_is_the_cosine():
    index = Index.build(DOCUMENTS, WV, "mean")
    scores = {hit.document: hit.score for hit in index.search("cat")}
    assert scores[0] == pytest.approx(unit(WV["cat"]) @ unit(WV["the"] + WV["car"]))
    assert index.search("the car")[0] == (0, pytest.approx(1), "The car.")


def test_a_query_without_known_words_finds_nothing():
    assert Index.build(DOCUMENTS, WV).search("zebra") == []


# ---- metrics ----

RANKING, RELEVANT = [3, 1, 4, 2, 5], {1, 2, 9}  # found at ranks 2 and 4, one not at all


def test_precision_recall_and_ranks_by_hand():
    assert [precision_at(RANKING, RELEVANT, k) for k in (1, 2, 4, 10)] == [0, 1 / 2, 2 / 4, 2 / 10]
    assert [recall_at(RANKING, RELEVANT, k) for k in (1, 2, 4, 10)] == [0, 1 / 3, 2 / 3, 2 / 3]
    assert average_precision(RANKING, RELEVANT) == pytest.approx((1 / 2 + 2 / 4 + 0) / 3)
    assert reciprocal_rank(RANKING, RELEVANT) == 1 / 2
    assert reciprocal_rank(RANKING, {9}) == average_precision([], {9}) == 0


def test_ndcg_by_hand():
    gains = {1: 3.0, 2: 1.0, 9: 2.0}
    best = 3 + 2 / np.log2(3) + 1 / 2
    assert ndcg_at(RANKING, gains, 5) == pytest.approx((3 / np.log2(3) + 1 / np.log2(5)) / best)
    assert ndcg_at(RANKING, gains, 2) == pytest.approx((3 / np.log2(3)) / (3 + 2 / np.log2(3)))
    assert ndcg_at([1, 9, 2], gains, 3) == pytest.approx(1)
    assert ndcg_at([], gains, 3) == 0


def test_the_metrics_are_those_of_scikit_learn():
    from sklearn.metrics import average_precision_score, ndcg_score

    random = np.random.default_rng(0)
    for _ in range(20):
        scores, gains = random.random(30), random.integers(0, 4, 30)
        ranking = np.argsort(-scores).tolist()
        relevant = set(np.flatnonzero(gains).tolist())
        assert average_precision(ranking, relevant) == pytest.approx(average_precision_score(gains > 0, scores))
        found = ndcg_at(ranking, dict(enumerate(gains.tolist())), 10)
        assert found == pytest.approx(ndcg_score([gains], [scores], k=10))


def test_evaluate_takes_the_mean_over_queries():
    index = Index.build(DOCUMENTS, WV, "mean")
    found = evaluate(index, ["the car", "zebra"], [{0}, [1]], k=2)  # at rank 1, and unanswerable
    assert found == {"precision@2": 0.25, "recall@2": 0.5, "MAP": 0.5, "MRR": 0.5, "nDCG@2": 0.5}


# ---- classes ----

TEXTS = ["the cat", "a cat", "the dog", "a car", "the car", "car car"]
LABELS = ["animal", "animal", "animal", "vehicle", "vehicle", "vehicle"]


@pytest.mark.parametrize("wv", [None, WV])
def test_a_classifier_tells_the_words_that_it_learned(wv):
    assert TextClassifier(TEXTS, LABELS, wv).predict(["Dog!", "a car"]) == ["animal", "vehicle"]


def test_only_vectors_tell_words_that_were_not_in_the_training_text():
    right = ["animal", "vehicle", "vehicle", "animal"]
    scores = classify(TEXTS[:5], LABELS[:5], ["horse", "bus", "bus", "horse horse"], right, WV)
    assert scores == {"majority": 0.5, "bag of words": 0.5, "vectors": 1.0}
    assert set(classify(TEXTS, LABELS, TEXTS, LABELS)) == {"majority", "bag of words"}


# ---- what is refused ----


def test_wrong_requests_get_a_sentence():
    with pytest.raises(LexigraphError, match="no texts"):
        Index.build([], WV)
    with pytest.raises(LexigraphError, match=r"Text 1 \(counted from 0\) has no words: '  '"):
        Index.build(["cat", "  "], WV)
    for weighting, documents in (("tfidf", ["cat", "cat"]), ("mean", ["zebra"]), ("sif", ["the cat"])):
        with pytest.raises(LexigraphError, match="No document can be found"):
            Index.build(documents, WV, weighting)
    with pytest.raises(UsageError, match="no weighting 'tf-idf'; did you mean 'tfidf'"):
        Index.build(DOCUMENTS, WV, "tf-idf")
    index = Index.build(DOCUMENTS, WV)
    with pytest.raises(LexigraphError, match="has no words"):
        index.search("?!")
    with pytest.raises(UsageError, match="2 queries have 1 sets of relevant documents that are not empty"):
        evaluate(index, ["cat", "dog"], [{1}, []])
    with pytest.raises(UsageError, match="at least one query"):
        evaluate(index, [], [])
    with pytest.raises(UsageError, match="2 texts have 2 labels, 1 of them different"):
        TextClassifier(["cat", "dog"], ["animal", "animal"])
    with pytest.raises(UsageError, match="2 texts have 1 labels"):
        TextClassifier(["cat", "dog"], ["animal"])
