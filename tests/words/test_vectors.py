import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import vectors
from lexigraph.words.subwords import Subwords
from lexigraph.words.vectors import Neighbour, WordVectors

ROYAL = WordVectors(  # the first number is male or female, the second royal, the third is for food
    ["man", "woman", "king", "queen", "apple", "zero"],
    np.array([[1, 0, 0], [-1, 0, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 2], [0, 0, 0]], np.float32),
    np.array([90, 80, 10, 9, 30, 1]),
)


def random_vectors(words=200, dim=20, seed=0):
    vectors = np.random.default_rng(seed).standard_normal((words, dim)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(words)], vectors)


def peer(wv):
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(wv.dim)
    keyed.add_vectors(wv.words, wv.vectors)
    return keyed


def assert_same(found, expected, **tolerance):
    assert [neighbour.word for neighbour in found] == [word for word, _ in expected]
    np.testing.assert_allclose([n.score for n in found], [score for _, score in expected], **tolerance)


# ---- nearness ----


def test_similarity_is_the_cosine_or_the_distance():
    assert ROYAL.similarity("man", "king") == pytest.approx(np.sqrt(0.5))
    assert ROYAL.similarity("man", "woman") == -1
    assert ROYAL.similarity("man", "king", measure="euclidean") == 1
    assert ROYAL.similarity("man", np.array([4.0, 4.0, 0.0]), measure="euclidean") == 5


def test_the_nearest_by_angle_are_not_the_nearest_by_distance():
    wv = WordVectors(["a", "far", "near"], np.array([[1, 0], [10, 1], [0.5, 0.5]], np.float32))
    assert wv.nearest("a") == [
        Neighbour("far", pytest.approx(10 / np.sqrt(101))),
        Neighbour("near", pytest.approx(0.5**0.5)),
    ]
    by_distance = wv.nearest("a", measure="euclidean")
    assert by_distance == [Neighbour("near", pytest.approx(0.5**0.5)), Neighbour("far", pytest.approx(82**0.5))]
    assert wv.nearest(np.array([9.0, 1.0]), k=1, measure="euclidean") == [Neighbour("far", 1.0)]


def test_the_nearest_words_are_those_of_gensim():
    wv = random_vectors()
    for word in wv.words[:20]:
        assert_same(wv.nearest(word, k=15), peer(wv).most_similar(word, topn=15), rtol=1e-5)
    query = np.random.default_rng(1).standard_normal(wv.dim)
    assert_same(wv.nearest(query, k=15), peer(wv).similar_by_vector(query.astype(np.float32), topn=15), rtol=1e-5)


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_many_queries_at_once_are_answered_as_one_by_one(measure, monkeypatch):
    wv = random_vectors()
    monkeypatch.setattr(vectors, "SCORES", 3 * len(wv))  # three queries at a time
    queries = [*wv.words[:7], wv["w9"]]
    answers = wv.nearest(queries, k=5, measure=measure)
    assert len(answers) == 8
    for query, answer in zip(queries, answers, strict=True):
        assert_same(answer, wv.nearest(query, k=5, measure=measure), rtol=1e-5, atol=1e-6)
    assert wv.nearest([]) == []


def test_more_neighbours_than_words_are_all_words():
    assert {neighbour.word for neighbour in ROYAL.nearest("man", k=99)} == set(ROYAL.words) - {"man"}
    assert WordVectors(["alone"], np.ones((1, 2), np.float32)).nearest("alone") == []


def test_of_equally_near_words_the_first_comes_first():
    wv = WordVectors(["a", "b", "c", "d"], np.ones((4, 2), np.float32))
    assert [neighbour.word for neighbour in wv.nearest("c")] == ["a", "b", "d"]


def test_a_zero_vector_is_near_nothing_and_gives_no_nan():
    assert ROYAL.similarity("zero", "man") == 0
    assert ROYAL.similarity("zero", "zero") == 0
    assert {neighbour.score for neighbour in ROYAL.nearest("zero")} == {0}
    assert np.isfinite(ROYAL.unit).all()
    assert not ROYAL.unit[5].any()


def test_unit_vectors_have_length_one_however_long_the_vectors_are():
    lengths = np.array([1e-30, 1e-3, 1, 1e30], np.float32)
    wv = WordVectors(list("abcd"), lengths[:, None] * np.array([[3, 4]], np.float32))
    np.testing.assert_allclose(wv.unit, [[0.6, 0.8]] * 4, rtol=1e-6)


# ---- analogies and outliers ----


@pytest.mark.parametrize("method", ["additive", "multiplicative"])
def test_woman_is_to_queen_as_man_is_to_king(method):
    assert ROYAL.analogy("man", "king", "woman", method=method)[0].word == "queen"
    assert {answer.word for answer in ROYAL.analogy("man", "king", "woman", method=method)} == {
        "queen",
        "apple",
        "zero",
    }


def test_multiplicative_scores_by_hand():
    wv = WordVectors(list("abcx"), np.array([[1, 0], [0, 1], [-1, 0], [0, -2]], np.float32))
    # cosines of x with a, b, c: 0, -1, 0; shifted to [0, 1]: 1/2, 0, 1/2
    assert wv.analogy("a", "b", "c", method="multiplicative") == [Neighbour("x", 0.0)]
    # with a, c, c: 0, 0, 0
    answers = dict(wv.analogy("a", "c", "c", method="multiplicative"))
    assert answers["x"] == answers["b"] == pytest.approx(0.25 / 0.501)


def test_additive_analogies_are_those_of_gensim():
    wv = random_vectors()
    for number in range(0, 60, 3):
        a, b, c = wv.words[number : number + 3]
        expected = peer(wv).most_similar(positive=[b, c], negative=[a], topn=10)
        assert_same(wv.analogy(a, b, c), expected, rtol=1e-5)


def test_multiplicative_analogies_are_those_of_gensim(monkeypatch):
    wv = random_vectors()
    monkeypatch.setattr(vectors, "EPSILON", 1e-6)  # gensim's; 0.001 is the paper's
    for number in range(0, 60, 3):
        a, b, c = wv.words[number : number + 3]
        expected = peer(wv).most_similar_cosmul(positive=[b, c], negative=[a], topn=10)
        assert_same(wv.analogy(a, b, c, method="multiplicative"), expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["additive", "multiplicative"])
@pytest.mark.parametrize("restrict", [None, 50])
def test_many_analogies_are_answered_as_one_by_one(method, restrict, monkeypatch):
    wv = random_vectors()
    monkeypatch.setattr(vectors, "SCORES", 7 * (restrict or len(wv)))  # seven questions at a time
    rows = np.random.default_rng(2).integers(0, len(wv), (3, 40))
    answers = wv.analogies(*rows, method=method, restrict=restrict)
    allowed = wv.words[:restrict]
    for a, b, c, answer in zip(*rows, answers, strict=True):
        ranked = wv.analogy(wv.words[a], wv.words[b], wv.words[c], k=len(wv), method=method)
        assert wv.words[answer] == next(neighbour.word for neighbour in ranked if neighbour.word in allowed)


def test_the_outlier_is_the_word_least_like_the_others():
    assert ROYAL.outlier(["man", "king", "apple"]) == "apple"
    assert ROYAL.outlier(["woman", "king", "man"]) == "woman"
    # cosines: b-c 1, a-b and a-c -0.6, d-b and d-c 0, a-d 0.8; so d has 0.8 in sum, a -0.4, b and c 0.4
    wv = WordVectors(list("abcd"), np.array([[-0.6, 0.8], [1, 0], [1, 0], [0, 1]], np.float32))
    assert wv.outlier(list("abcd")) == "a"


# ---- words ----


def test_it_is_a_collection_of_words():
    assert len(ROYAL) == 6
    assert list(ROYAL)[:2] == ["man", "woman"]
    assert "king" in ROYAL
    assert "kin" not in ROYAL
    assert ROYAL.index["queen"] == 3
    assert ROYAL["apple"].tolist() == [0, 0, 2]
    assert ROYAL["apple"].dtype == np.float32
    assert repr(ROYAL) == "WordVectors(6 words, 3 dimensions)"


@pytest.mark.parametrize(
    ("unknown", "known"),
    [("quean", "queen"), ("KING", "king"), ("wuman", "woman"), ("aplpe", "apple"), ("bing", "king")],
)
def test_an_unknown_word_gets_the_closest_spelling(unknown, known):
    with pytest.raises(LexigraphError, match=f"'{unknown}' is not among the 6 words. Did you mean '{known}'"):
        ROYAL[unknown]


@pytest.mark.parametrize("unknown", ["", "x", "Ωmega", "antidisestablishmentarianism"])
def test_an_unknown_word_like_no_other_is_told_so(unknown):
    with pytest.raises(LexigraphError, match="No word is spelled like it"):
        ROYAL.nearest(unknown)


def test_the_head_is_the_most_frequent_words():
    head = ROYAL.head(3)
    assert head.words == ["man", "woman", "apple"]
    assert head.counts.tolist() == [90, 80, 30]
    assert head["apple"].tolist() == [0, 0, 2]
    uncounted = random_vectors().head(5)
    assert uncounted.words == ["w0", "w1", "w2", "w3", "w4"]
    assert uncounted.counts is None


def test_with_subwords_unknown_words_have_vectors_too():
    matrix = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    wv = WordVectors(ROYAL.words, ROYAL.vectors, subwords=Subwords(matrix, 50, 3, 5))
    np.testing.assert_allclose(wv["kings"], matrix[wv.subwords.rows("kings")].mean(axis=0), rtol=1e-5)
    assert wv["king"].tolist() == [1, 1, 0]
    assert "kings" not in wv
    assert len(wv.nearest("kings", k=6)) == 6
    assert wv.similarity("kings", "kings") == pytest.approx(1)
    assert len(wv.analogy("kings", "king", "man")) == 4
    assert wv.outlier(["kings", "queens", "man"]) in ("kings", "queens", "man")
    assert not wv[""].any()  # too short for an n-gram


def test_vectors_are_only_read(tmp_path):
    np.save(tmp_path / "vectors.npy", ROYAL.vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    wv = WordVectors(ROYAL.words, mapped)
    assert np.shares_memory(wv.vectors, mapped)
    wv.unit, wv.nearest("king"), wv.nearest("king", measure="euclidean"), wv.analogy("man", "king", "woman")
    own = np.ones((1, 2), np.float32)
    for array in (wv.vectors, wv.unit, wv["king"], WordVectors(["a"], own).vectors):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    own[:] = 2  # the array given stays writable for its owner


# ---- wrong requests ----


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (lambda: ROYAL.nearest("man", k=0), "k is 0"),
        (lambda: ROYAL.nearest("man", measure="manhattan"), "no measure 'manhattan'. Choose from: cosine, euclidean"),
        (lambda: ROYAL.similarity("man", "king", measure="dot"), "no measure 'dot'"),
        (lambda: ROYAL.nearest(np.ones(4)), "3 numbers is needed, not one of shape"),
        (lambda: ROYAL.analogy("man", "king", "woman", method="magic"), "no analogy 'magic'. Choose from: additive"),
        (lambda: ROYAL.outlier(["man", "king"]), "among 3 words or more, not 2"),
    ],
)
def test_a_wrong_request_gets_a_sentence(request_, message):
    with pytest.raises(UsageError, match=message):
        request_()


def test_words_and_vectors_must_fit_together():
    ones = np.ones((2, 3), np.float32)
    for words, vectors_, counts, message in [
        (["a"], ones, None, "1 words for 2 vectors"),
        (["a", "b"], ones, np.array([1]), "2 words for 2 vectors and 1 counts"),
        (["a", "a"], ones, None, "'a' is there twice"),
        ([], ones[:0], None, "not of shape"),
    ]:
        with pytest.raises(LexigraphError, match=message):
            WordVectors(words, vectors_, counts)
    with pytest.raises(LexigraphError, match="at least 4 words"):
        ROYAL.analogies(*np.zeros((3, 1), int), restrict=3)
