import tracemalloc
from math import log2, log10, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_matrix, csr_array, csr_matrix, random_array
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import counts
from lexigraph.words.corpus import Corpus
from lexigraph.words.counts import (
    METHODS,
    TfIdf,
    bag_of_words,
    hellinger_pca,
    lsa,
    one_hot,
    ppmi,
    svd,
    term_document,
    tfidf,
    vectors_from_counts,
)

DOCUMENTS = [["ship", "sea", "sea"], ["ship", "wood"], ["tree", "wood", "wood", "wood"], ["ship"]]


def counts_of(rows=40, columns=30, seed=0):
    """A sparse table of counts."""
    random = np.random.default_rng(seed)
    return csr_matrix(random.poisson(0.7, (rows, columns)).astype(np.float64))


# ---- documents × words ----


def test_term_document_by_hand():
    table, words = term_document(iter(DOCUMENTS))
    assert words == ["wood", "ship", "sea", "tree"]  # 4, 3, 2, 1 times
    assert table.toarray().tolist() == [[0, 1, 2, 0], [1, 1, 0, 0], [3, 0, 0, 1], [0, 1, 0, 0]]


def test_term_document_counts_as_scikit_learn_does():
    words = np.array([f"w{number}" for number in range(50)])
    random = np.random.default_rng(0)
    documents = [words[random.integers(0, random.integers(1, 50), 30)].tolist() for _ in range(40)]
    table, found = term_document(documents)
    peer = CountVectorizer(analyzer=lambda document: document, vocabulary=found).fit_transform(documents)
    assert (table != peer).nnz == 0
    totals = table.sum(axis=0).A1
    assert sorted(zip(-totals, found, strict=True)) == list(zip(-totals, found, strict=True))


def test_rare_words_can_be_left_out():
    assert term_document(DOCUMENTS, min_count=2).words == ["wood", "ship", "sea"]
    table, words = term_document(DOCUMENTS, max_words=1)
    assert words == ["wood"]
    assert table.toarray().tolist() == [[0], [1], [3], [0]]  # documents without words stay, so that rows are theirs


def test_a_bag_is_the_sum_of_one_hots():
    text, words = ["sea", "ship", "sea", "gull"], ["ship", "sea"]
    each = one_hot(text, words)
    assert each.toarray().tolist() == [[0, 1], [1, 0], [0, 1], [0, 0]]
    assert bag_of_words([text], words).toarray().tolist() == [each.toarray().sum(axis=0).tolist()]


def test_tfidf_by_hand():
    # four documents; wood is in 2, ship in 3, sea and tree in 1: log10 of 4/2, 4/3, 4/1
    wood, ship, sea = log10(2), log10(4 / 3), log10(4)
    table = term_document(DOCUMENTS).matrix
    expected = [[0, ship, 2 * sea, 0], [wood, ship, 0, 0], [3 * wood, 0, 0, sea], [0, ship, 0, 0]]
    np.testing.assert_allclose(tfidf(table).toarray(), expected)
    expected[0][2], expected[2][0] = (1 + log10(2)) * sea, (1 + log10(3)) * wood
    np.testing.assert_allclose(tfidf(table, sublinear=True).toarray(), expected)


def test_a_word_of_every_document_weighs_nothing():
    weighted = tfidf(term_document([["the", "sea"], ["the", "ship"]]).matrix)
    assert weighted.nnz == 2
    assert weighted.toarray()[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize("sublinear", [False, True])
def test_a_fitted_tfidf_weighs_its_own_documents_as_tfidf_does_and_others_alike(sublinear):
    model = TfIdf.fit(DOCUMENTS, sublinear=sublinear)
    table = tfidf(term_document(DOCUMENTS).matrix, sublinear)
    np.testing.assert_array_equal(model.transform(DOCUMENTS).toarray(), table.toarray())
    other = model.transform([["gull", "sea"], [], ["gull"]]).toarray()
    np.testing.assert_allclose(other, [[0, 0, log10(4), 0], [0] * 4, [0] * 4])


# ---- words × contexts ----

# 20 pairs in all:          sugar  data  result | of the word
COOCCURRENCE = csr_matrix([[4, 0, 1], [0, 6, 4], [4, 1, 0]])  # fruit 5, digital 10, apple 5
# of the context:            8      7     5


def test_ppmi_by_hand():
    found = ppmi(COOCCURRENCE, smoothing=1)
    # p(fruit, sugar) = 4/20, p(fruit) = 5/20, p(sugar) = 8/20: 4/20 / (5/20 · 8/20) = 2, log2 = 1
    assert found[0, 0] == pytest.approx(1)
    # 1/20 / (5/20 · 5/20) = 0.8, log2 < 0
    assert found[0, 2] == 0
    # 6/20 / (10/20 · 7/20) = 12/7;    4/20 / (10/20 · 5/20) = 1.6;    1/20 / (5/20 · 7/20) = 4/7, below 1
    np.testing.assert_allclose(found.toarray(), [[1, 0, 0], [0, log2(12 / 7), log2(1.6)], [1, 0, 0]])
    assert found.nnz == 4  # zeros are not stored


def test_smoothing_and_shift_of_ppmi_by_hand():
    # √8, √7 and √5 in place of 8, 7 and 5: p(sugar) = 0.3669, p(data) = 0.3432, p(result) = 0.2900
    root = sqrt(8) + sqrt(7) + sqrt(5)
    expected = [
        [log2(4 / 5 * root / sqrt(8)), 0, 0],
        [0, log2(6 / 10 * root / sqrt(7)), log2(4 / 10 * root / sqrt(5))],
        [log2(4 / 5 * root / sqrt(8)), 0, 0],
    ]
    np.testing.assert_allclose(ppmi(COOCCURRENCE, smoothing=0.5).toarray(), expected)
    # log2 1.6 is taken off: of 2, 12/7 and 1.6 are left 1.25, 15/14 and 1
    shifted = ppmi(COOCCURRENCE, smoothing=1, shift=1.6).toarray()
    np.testing.assert_allclose(shifted, [[log2(1.25), 0, 0], [0, log2(15 / 14), 0], [log2(1.25), 0, 0]], atol=1e-12)


@settings(max_examples=50)
@given(arrays(np.int64, (5, 4), elements=st.integers(0, 9)))
def test_ppmi_is_the_formula_on_a_dense_table_whatever_the_type(counts):
    if not counts.any():
        return
    p = counts / counts.sum()
    chance = np.outer(p.sum(axis=1), p.sum(axis=0))
    expected = np.log2(np.maximum(np.divide(p, chance, where=chance > 0, out=np.ones_like(p)), 1))
    for kind in (csr_matrix, csc_matrix, csr_array):
        np.testing.assert_allclose(ppmi(kind(counts), smoothing=1).toarray(), expected, atol=1e-12)
    single = ppmi(csr_matrix(counts.astype(np.float32)), smoothing=1)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.toarray(), expected, atol=1e-5)


def test_hellinger_pca_is_the_pca_of_the_dense_table():
    table = counts_of()
    found = hellinger_pca(table, dim=7)
    dense = table.toarray()
    expected = PCA(7, svd_solver="full").fit_transform(np.sqrt(dense / dense.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)


def test_hellinger_pca_keeps_hellinger_distances():
    table = counts_of(rows=12, columns=20)
    p = table.toarray() / table.toarray().sum(axis=1, keepdims=True)
    found = hellinger_pca(table, dim=11)  # twelve points span eleven dimensions: nothing is dropped
    for a, b in ((0, 1), (3, 7), (5, 11)):
        hellinger = sqrt(1 - np.sqrt(p[a] * p[b]).sum())
        assert np.linalg.norm(found[a] - found[b]) == pytest.approx(sqrt(2) * hellinger)


def test_tables_are_left_as_they_were():
    table = counts_of()
    before = table.copy()
    for change in (tfidf, ppmi, lambda t: hellinger_pca(t, 2), lambda t: svd(t, 2), lambda t: lsa(t, 2)):
        change(table)
        np.testing.assert_array_equal(table.toarray(), before.toarray())


# ---- fewer dimensions ----


def test_lsa_is_that_of_scikit_learn():
    table = tfidf(counts_of())
    found = lsa(table, dim=5, seed=1)
    peer = TruncatedSVD(5, algorithm="arpack")
    documents = peer.fit_transform(table)
    np.testing.assert_allclose(np.abs(found.documents), np.abs(documents), atol=1e-10)
    np.testing.assert_allclose(np.abs(found.words), np.abs(peer.components_.T), atol=1e-10)
    np.testing.assert_allclose(found.strengths, peer.singular_values_)
    np.testing.assert_allclose(table @ found.words, found.documents, atol=1e-10)  # a document is the sum of its words


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_svd_is_that_of_numpy_whatever_the_seed(power):
    table = counts_of()
    u, s, _ = np.linalg.svd(table.toarray())
    for seed in (0, 1):
        np.testing.assert_allclose(np.abs(svd(table, 5, seed, power)), np.abs(u[:, :5] * s[:5] ** power), atol=1e-9)
    np.testing.assert_allclose(svd(table, 5, 0, power), svd(table, 5, 1, power), atol=1e-9)  # signs too


def test_a_table_of_low_rank_has_dimensions_of_zero():
    table = csr_matrix(np.outer([1.0, 2, 3, 4], [1.0, 0, 2]))
    np.testing.assert_allclose(svd(table, 2, power=1)[:, 1], 0, atol=1e-9)


def test_nothing_dense_is_made_of_a_large_table():
    size = 10_000  # a square of so many float32 is 400 MB
    table = csr_matrix(random_array((size, size), density=25 / size, rng=0, dtype=np.float32))
    tracemalloc.start()
    try:
        tfidf(table)
        svd(ppmi(table), 5)
        hellinger_pca(table, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


# ---- vectors of words ----


@pytest.fixture
def corpus(tmp_path):
    """Animals eat and cars drive; no context tells two animals, or two cars, apart."""
    random = np.random.default_rng(0)
    kinds = {"cat dog cow": "eats hay and sleeps", "car bus van": "drives fast on roads"}
    lines = []
    for _ in range(300):
        names, rest = list(kinds.items())[random.integers(2)]
        lines.append(f"the {random.choice(names.split())} {' '.join(random.permutation(rest.split()))}")
    (tmp_path / "text").write_text("\n".join(lines))
    with Corpus.read(tmp_path / "text", min_count=1) as corpus:
        yield corpus


@pytest.mark.parametrize("method", METHODS)
def test_words_of_a_kind_have_vectors_that_are_near(corpus, method):
    vectors = vectors_from_counts(corpus, method, dim=2, window=3)
    assert (vectors.shape, vectors.dtype) == ((len(corpus.words), 2), np.float32)
    cat, cow, car, bus = (vectors[corpus.words.index(word)] for word in ("cat", "cow", "car", "bus"))

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert min(cosine(cat, cow), cosine(car, bus)) > max(cosine(cat, car), cosine(cow, bus)) + 0.3
    np.testing.assert_array_equal(vectors, vectors_from_counts(corpus, method, dim=2, window=3))


@pytest.mark.parametrize("size", [1 << 16, max(map(len, DOCUMENTS)) + 1])  # all at once, and a few lines at a time
def test_lsa_takes_lines_as_documents(tmp_path, monkeypatch, size):
    whole = Corpus.blocks
    monkeypatch.setattr(Corpus, "blocks", lambda corpus: whole(corpus, size))
    monkeypatch.setattr(counts, "CELLS", 3)
    (tmp_path / "text").write_text("\n".join(map(" ".join, DOCUMENTS)))
    weighted = tfidf(term_document(DOCUMENTS).matrix)
    expected = lsa(weighted, 2)
    with Corpus.read(tmp_path / "text", min_count=1) as corpus:
        found = vectors_from_counts(corpus, "lsa", dim=2)
    np.testing.assert_allclose(np.abs(found), np.abs(expected.words * expected.strengths), atol=1e-6)


# ---- what cannot be done ----


def test_documents_without_words_are_refused():
    with pytest.raises(LexigraphError, match="there are no words"):
        term_document([])
    with pytest.raises(LexigraphError, match="there are no words"):
        TfIdf.fit([[], []])
    with pytest.raises(LexigraphError, match=r"min_count = 5 times; the most frequent is seen 4 times"):
        term_document(DOCUMENTS, min_count=5)
    with pytest.raises(UsageError, match="min_count is 0"):
        term_document(DOCUMENTS, min_count=0)


def test_a_text_in_place_of_its_words_is_refused():
    with pytest.raises(UsageError, match="list of words, not a text: split 'the sea' first"):
        bag_of_words(["the sea"], ["sea"])


def test_more_dimensions_than_words_are_refused(corpus, tmp_path):
    for method in METHODS:
        with pytest.raises(LexigraphError, match=r"dim is 100, but a table with .* gives from 1 to .* ask for fewer"):
            vectors_from_counts(corpus, method)
    with pytest.raises(LexigraphError, match="dim is 0"):
        svd(counts_of(), 0)
    (tmp_path / "one").write_text("word word word\nword word")
    with Corpus.read(tmp_path / "one") as one:
        for method in METHODS:
            with pytest.raises(LexigraphError, match=r"dim is 1, but a table with \d rows and 1 columns"):
                vectors_from_counts(one, method, dim=1)


def test_tables_that_tell_nothing_are_refused():
    with pytest.raises(LexigraphError, match="rows give no vectors"):
        hellinger_pca(csr_matrix(np.ones((5, 4))), 2)
    with pytest.raises(LexigraphError, match="rows give no vectors"):
        svd(ppmi(csr_matrix(np.ones((5, 4))), smoothing=1), 2)
    for wrong in (-1.0, np.nan):
        for change in (tfidf, ppmi, lambda table: hellinger_pca(table, 1)):
            with pytest.raises(LexigraphError, match="negative or no numbers"):
                change(csr_matrix([[1.0, wrong], [2.0, 3.0]]))


def test_wrong_settings_are_refused(corpus):
    with pytest.raises(UsageError, match="no method 'ppmi'; did you mean 'ppmi-svd'"):
        vectors_from_counts(corpus, "ppmi")
    with pytest.raises(UsageError, match="shift 0"):
        ppmi(COOCCURRENCE, shift=0)
    with pytest.raises(UsageError, match="smoothing is -1"):
        ppmi(COOCCURRENCE, smoothing=-1)
