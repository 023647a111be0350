import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.align import Alignment, align, dictionary, held_out, identical, procrustes
from lexigraph.words.vectors import WordVectors


def rotation(dim, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]


def two_languages(words=60, dim=8):
    """The same vectors twice, the second time rotated, longer, and in another order; u7 means w7."""
    random = np.random.default_rng(1)
    vectors = random.standard_normal((words, dim))
    order = random.permutation(words)
    source = WordVectors([f"w{number}" for number in range(words)], vectors.astype(np.float32))
    turned = 3 * vectors[order] @ rotation(dim)
    return source, WordVectors([f"u{number}" for number in order], turned.astype(np.float32))


def at_degrees(**words):
    angles = np.radians(list(words.values()))
    return WordVectors(list(words), np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))


PAIRS = [(f"w{number}", f"u{number}") for number in range(60)]


# ---- the rotation ----


def test_procrustes_finds_the_rotation_that_was_made():
    X = np.random.default_rng(0).standard_normal((30, 6))
    np.testing.assert_allclose(procrustes(X, X @ rotation(6)), rotation(6), atol=1e-12)


def test_procrustes_is_orthogonal_and_no_other_orthogonal_matrix_is_better():
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((2, 30, 6))
    W = procrustes(X, Y)
    np.testing.assert_allclose(W.T @ W, np.eye(6), atol=1e-12)
    others = [rotation(6, seed) for seed in range(50)] + [procrustes(X, Y + 0.1 * random.standard_normal(Y.shape))]
    assert all(np.linalg.norm(X @ W - Y) < np.linalg.norm(X @ other - Y) for other in others)


@pytest.mark.parametrize("method", ["nearest", "csls"])
def test_a_rotated_language_is_translated_without_a_mistake(method):
    source, target = two_languages()
    alignment = align(source, target, PAIRS[:10])
    np.testing.assert_allclose(alignment.W, rotation(8), atol=1e-5)
    assert alignment.accuracy(PAIRS[10:], method=method) == {1: 1.0, 5: 1.0, 10: 1.0}
    assert alignment.translate("w50", k=1, method=method)[0].word == "u50"


# ---- hubs ----


def test_csls_translates_where_a_hub_misleads_nearest():
    # the hub is the translation of "a" and lies nearer to b than b's own translation does
    source, target = at_degrees(a=0, b=40, c=-40), at_degrees(hub=0, beta=85, gamma=-85)
    alignment = Alignment(source, target, np.eye(2))
    right = [("a", "hub"), ("b", "beta"), ("c", "gamma")]
    assert alignment.accuracy(right, k=(1, 2)) == {1: pytest.approx(1 / 3), 2: 1.0}
    assert alignment.accuracy(right, k=(1,), method="csls") == {1: 1.0}
    assert [found.word for found in alignment.translate("b", k=2)] == ["hub", "beta"]
    best, second = alignment.translate("b", k=2, method="csls")
    # fewer than ten words: r is the mean over all. r(b) = (cos 40° + cos 45° + cos 125°) / 3 = 0.2998
    assert best == ("beta", pytest.approx(2 * 0.7071 - 0.2998 - 0.0736, abs=1e-3))  # r = (cos 85° + 45° + 125°) / 3
    assert second == ("hub", pytest.approx(2 * 0.7660 - 0.2998 - 0.8440, abs=1e-3))  # r = (cos 0° + 40° + 40°) / 3


def test_only_the_ten_nearest_words_make_a_hub():
    near = {f"near{number}": 0 for number in range(10)}
    alignment = Alignment(at_degrees(**near, far=90, farther=180), at_degrees(only=0), np.eye(2))
    (found,) = alignment.translate("near0", method="csls")
    assert found.score == pytest.approx(2 - 1 - 1)  # far words would lower r(only) below 1


def test_one_right_translation_of_several_is_enough():
    alignment = Alignment(at_degrees(a=0, b=90), at_degrees(alpha=0, also=30, beta=90), np.eye(2))
    assert alignment.accuracy([("a", "also"), ("a", "alpha"), ("b", "also")], k=(1, 2)) == {1: 0.5, 2: 1.0}


# ---- pairs ----

LINES = [
    line.split(" | ") for line in ("the cat | le chat", "the dog | le chien", "a cat | un chat", "a dog | un loup")
]
LINES = [(source.split(), target.split()) for source, target in LINES]


def test_words_on_the_same_lines_translate_each_other():
    # dog is on 2 lines, chien on 1 of them: 2 · 1 / (2 + 1); all others are on the same 2 lines: 2 · 2 / (2 + 2)
    sure = {("a", "un"), ("cat", "chat"), ("the", "le")}
    assert set(dictionary(LINES, min_count=1, least=0.67)) == sure
    assert set(dictionary(LINES, min_count=1, least=0.66)) == sure | {("dog", "chien")}
    assert dictionary(LINES, min_count=1)[-1] == ("dog", "chien")
    assert set(dictionary(LINES, min_count=2)) == sure  # chien is on one line only


def test_pointwise_information_prefers_rare_words():
    lines = [(["owl"], ["hibou"]), *[(["cat"], ["chat"])] * 3]
    rare, frequent = ("owl", "hibou"), ("cat", "chat")  # log2(4 · 1 / (1 · 1)) = 2, log2(4 · 3 / (3 · 3)) = 0.415
    assert dictionary(lines, "ppmi", min_count=1, least=0.41) == [rare, frequent]
    assert dictionary(lines, "ppmi", min_count=1, least=0.42) == [rare]
    assert dictionary(lines, "ppmi", min_count=1, least=2.01) == []
    assert dictionary(lines, "ppmi", min_count=2, least=0.41) == [frequent]


def test_a_word_that_repeats_in_a_line_counts_once():
    assert dictionary([(["no", "no"], ["non", "pas"]), (["no"], ["non"])], min_count=1, least=1.0) == [("no", "non")]


def test_words_spelled_alike_are_pairs():
    assert identical(at_degrees(paris=0, cat=1, menu=2), at_degrees(menu=0, chat=1, paris=2)) == [
        ("paris", "paris"),
        ("menu", "menu"),
    ]


def test_the_hash_of_the_source_word_decides_what_is_held_out():
    pairs = [(f"word{number % 500}", f"mot{number}") for number in range(1000)]
    train, test = held_out(pairs)
    assert sorted(train + test) == sorted(pairs)
    assert {word for word, _ in train}.isdisjoint(word for word, _ in test)
    assert len(test) == pytest.approx(200, abs=60)
    assert [sorted(part) for part in held_out(pairs[::-1])] == [sorted(train), sorted(test)]


# ---- what is refused ----


def test_what_cannot_be_aligned_is_refused():
    source, target = two_languages()
    with pytest.raises(LexigraphError, match="8 and 2 dimensions"):
        align(source, at_degrees(a=0), PAIRS)
    with pytest.raises(LexigraphError, match="7 pairs do not settle a rotation in 8 dimensions"):
        align(source, target, PAIRS[:7])
    with pytest.raises(LexigraphError, match="2 words of the 10 pairs have no vector, the first is 'nothing'"):
        align(source, target, [*PAIRS[:8], ("nothing", "u1"), ("w1", "rien")])
    alignment = align(source, target, PAIRS)
    with pytest.raises(LexigraphError, match="1 words of the 1 pairs have no vector, the first is 'rien'"):
        alignment.accuracy([("w1", "rien")])
    with pytest.raises(UsageError, match="no pairs to test"):
        alignment.accuracy([])
    with pytest.raises(LexigraphError, match="'nothing' is not among the 60 words"):
        alignment.translate("nothing")
    with pytest.raises(UsageError, match="Choose from: nearest, csls"):
        alignment.translate("w1", method="far")
    with pytest.raises(UsageError, match="Choose from: dice, ppmi"):
        dictionary(LINES, measure="guess")
    for lines in (LINES, []):
        with pytest.raises(LexigraphError, match="lower min_count"):
            dictionary(lines, min_count=9)
