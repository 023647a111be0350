import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.senses import blend_of, learn_atoms, merge, mixture_weights, recover, sparse_code
from lexigraph.words.vectors import WordVectors

LINES = [["the", "piano", "and", "the", "virus"], ["no", "word"], ["piano"]]


def topics(count=12, words=15, dim=40, seed=0):
    """Words t3_0, t3_1 … near the direction of topic 3, and `both`, which blends words of topics 0 and 1."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((count, dim))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = np.repeat(centres, words, axis=0) + 0.05 * random.standard_normal((count * words, dim))
    names = [f"t{topic}_{word}" for topic in range(count) for word in range(words)]
    both = blend_of(vectors[0], vectors[words], 60, 40)
    return WordVectors([*names, "both"], np.vstack([vectors, both]).astype(np.float32))


# ---- merging, and the sum ----


def test_both_words_become_one():
    assert list(merge(LINES, "piano", "virus", "both")) == [["the", "both", "and", "the", "both"], LINES[1], ["both"]]
    assert list(merge(LINES, "piano", "virus", "virus"))[2] == ["virus"]
    assert LINES[2] == ["piano"]


def test_what_cannot_be_merged_is_refused():
    with pytest.raises(UsageError, match="one word"):
        list(merge(LINES, "piano", "piano", "both"))
    with pytest.raises(LexigraphError, match="Sentence 2 has the word 'no' already"):
        list(merge(LINES, "piano", "virus", "no"))
    with pytest.raises(LexigraphError, match="No sentence has the word 'organ'"):
        list(merge(LINES, "piano", "organ", "both"))


def test_the_weights_of_a_blend_are_found_again():
    v_a, v_b = np.random.default_rng(0).standard_normal((2, 30))
    assert mixture_weights(blend_of(v_a, v_b, 30, 10), v_a, v_b) == pytest.approx((0.75, 0.25))
    assert mixture_weights(2 * v_a - v_b, v_a, v_b) == pytest.approx((2, -1))


def test_no_other_weights_come_nearer():
    v, v_a, v_b = np.random.default_rng(1).standard_normal((3, 30))
    alpha, beta = mixture_weights(v, v_a, v_b)
    left = v - alpha * v_a - beta * v_b  # what is left is orthogonal to both
    assert [left @ v_a, left @ v_b] == pytest.approx([0, 0], abs=1e-12)


def test_counts_must_be_counts():
    v = np.ones(3)
    with pytest.raises(UsageError, match="nor both 0"):
        blend_of(v, v, 0, 0)
    with pytest.raises(UsageError, match="cannot be negative"):
        blend_of(v, v, 3, -1)


# ---- atoms ----


def test_orthogonal_atoms_and_their_weights_are_read_off():
    atoms = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 9)))[0]
    vectors = np.stack([3 * atoms[4] + 2 * atoms[7] + 0.1 * atoms[0], 5 * atoms[1] + atoms[2]])
    chosen, weights = sparse_code(vectors, atoms, 2)
    assert chosen.tolist() == [[4, 7], [1, 2]]
    np.testing.assert_allclose(weights, [[3, 2], [5, 1]])


def test_weights_are_those_of_scikit_learn_where_all_are_positive():
    from sklearn.linear_model import orthogonal_mp

    random = np.random.default_rng(0)
    atoms = random.standard_normal((50, 20))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    vectors = random.random((40, 3)) @ atoms[:3] + 0.01 * random.standard_normal((40, 20))
    peer = orthogonal_mp(atoms.T, vectors.T, n_nonzero_coefs=3).T
    chosen, weights = sparse_code(vectors, atoms, 3)
    code = np.zeros_like(peer)
    np.put_along_axis(code, chosen, weights, axis=1)
    same = (peer >= 0).all(axis=1)  # scikit-learn takes an atom with a negative weight too
    assert same.sum() > 20
    np.testing.assert_allclose(code[same], peer[same], atol=1e-6)


def test_a_vector_that_is_an_atom_leaves_nothing_to_code():
    chosen, weights = sparse_code(np.eye(4)[:1], np.eye(4), 3)
    assert chosen[0, 0] == 0
    assert len(set(chosen[0].tolist())) == 3
    np.testing.assert_allclose(weights, [[1, 0, 0]], atol=1e-6)


def test_both_senses_of_a_merged_word_are_recovered():
    wv = topics()
    atoms = learn_atoms(wv, count=24, active=2)
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1)
    first, second = recover(wv, "both", atoms, active=2, k=5)
    assert first.weight > second.weight > 0
    assert {word.split("_")[0] for word in first.words} == {"t0"}
    assert {word.split("_")[0] for word in second.words} == {"t1"}
    assert len(first.words) == 5


def test_a_word_of_one_sense_has_one_heavy_atom():
    wv = topics()
    first, *others = recover(wv, "t5_3", learn_atoms(wv, count=24, active=2), active=2)
    assert first.weight > 0.9
    assert all(sense.weight < 0.35 for sense in others)
    assert "t5_3" not in first.words


def test_atoms_follow_the_seed():
    wv = topics()
    assert (learn_atoms(wv, 24, 2, seed=1) == learn_atoms(wv, 24, 2, seed=1)).all()
    assert (learn_atoms(wv, 24, 2, seed=1) != learn_atoms(wv, 24, 2, seed=2)).any()


def test_numbers_that_do_not_fit_are_refused():
    wv = topics()
    for count, active in ((500, 5), (3, 5), (9, 0)):
        with pytest.raises(UsageError, match=f"active = {active} must be at least 1, count = {count} .* 181 words"):
            learn_atoms(wv, count, active)
    with pytest.raises(UsageError, match=r"5 or more atoms of 40 dimensions are needed, not \(9, 7\)"):
        recover(wv, "both", np.ones((9, 7)))
    with pytest.raises(LexigraphError, match="'nothing' is not among the 181 words"):
        recover(wv, "nothing", np.ones((9, 40)))
