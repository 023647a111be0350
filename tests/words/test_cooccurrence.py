import os
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.cooccurrence import SIDES, WEIGHTINGS, Cooccurrence, cooccurrence
from lexigraph.words.corpus import Corpus

WEIGHT = {"flat": lambda d, w: 1.0, "harmonic": lambda d, w: 1 / d, "linear": lambda d, w: (w - d + 1) / w}


def corpus_of(folder, *lines):
    """A text in which every word counts."""
    file = Path(folder) / "text"
    file.write_text("\n".join(lines))
    return Corpus.read(file, min_count=1, split="space")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder that temporary files go to."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# Three lines, window 3. A word and one on its left, by distance:
#   a b c a     1: ba cb ac    2: ca ab    3: aa
#   b a         1: ab
#   c           none, and none across lines
LEFT = {
    "flat": {"ba": 1, "cb": 1, "ac": 1, "ca": 1, "ab": 2, "aa": 1},
    "harmonic": {"ba": 1, "cb": 1, "ac": 1, "ca": 1 / 2, "ab": 1 / 2 + 1, "aa": 1 / 3},
    "linear": {"ba": 1, "cb": 1, "ac": 1, "ca": 2 / 3, "ab": 2 / 3 + 1, "aa": 1 / 3},
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("side", SIDES)
def test_three_lines_counted_by_hand(tmp_path, side, weighting):
    left = Counter(LEFT[weighting])
    right = Counter({pair[::-1]: value for pair, value in left.items()})
    expected = {"left": left, "right": right, "both": left + right}[side]
    with (
        corpus_of(tmp_path, "a b c a", "b a", "c") as corpus,
        cooccurrence(corpus, 3, side, weighting) as counts,
    ):
        (rows, columns, values), matrix, words = next(counts.triples()), counts.matrix(), corpus.words
    found = {words[row] + words[column]: value for row, column, value in zip(rows, columns, values, strict=True)}
    assert found == pytest.approx(expected)
    assert counts.nonzeros == len(expected)
    assert (matrix.shape, matrix.dtype) == ((3, 3), np.float32)
    for pair, value in expected.items():
        assert matrix[words.index(pair[0]), words.index(pair[1])] == pytest.approx(value)


LINES = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=30), min_size=1, max_size=8)


@settings(max_examples=50)
@given(LINES, st.integers(1, 7), st.sampled_from(sorted(SIDES)), st.sampled_from(sorted(WEIGHTINGS)))
def test_parts_and_threads_change_nothing_and_the_total_is_known(lines, window, side, weighting):
    found = []
    with (
        tempfile.TemporaryDirectory() as folder,
        corpus_of(folder, *(" ".join(line) for line in lines)) as corpus,
    ):
        for memory, threads in ((1 << 20, 1), (1 << 20, 2), (200, 1)):  # 200 bytes: parts of five ids, amid lines too
            with cooccurrence(corpus, window, side, weighting, memory, threads) as counts:
                found.append(counts.matrix())
    for matrix in found:
        assert matrix.has_canonical_format
        assert matrix.nnz == found[0].nnz
        np.testing.assert_allclose(matrix.toarray(), found[0].toarray(), rtol=1e-6)
    # a line of n words has n − d pairs at distance d
    weight = WEIGHT[weighting]
    total = sum(max(len(line) - d, 0) * weight(d, window) for line in lines for d in range(1, window + 1))
    assert found[0].sum(dtype=np.float64) == pytest.approx(total * len(SIDES[side]))
    if side == "both":
        np.testing.assert_allclose(found[0].toarray(), found[0].T.toarray(), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_triples_are_the_matrix_in_order(tmp_path, size):
    text = "to be or not to be that is the question"
    with corpus_of(tmp_path, text) as corpus, cooccurrence(corpus, 3, "left", "harmonic") as counts:
        blocks, matrix = list(counts.triples(size)), counts.matrix().tocoo()
    assert all(len(rows) == size for rows, _, _ in blocks[:-1])
    rows, columns, values = (np.concatenate(part) for part in zip(*blocks, strict=True))
    assert (rows.dtype, columns.dtype, values.dtype) == (np.int32, np.int32, np.float32)
    np.testing.assert_array_equal([rows, columns, values], [matrix.row, matrix.col, matrix.data])


def test_left_is_right_turned_around_and_both_is_their_sum(tmp_path):
    found = {}
    with corpus_of(tmp_path, "to be or not to be", "that is the question to be or not") as corpus:
        for side in SIDES:
            with cooccurrence(corpus, 4, side, "harmonic") as counts:
                found[side] = counts.matrix()
    assert abs(found["left"] - found["right"].T).max() < 1e-6
    assert abs(found["both"] - found["left"] - found["right"]).max() < 1e-6


def test_memory_grows_neither_with_the_text_nor_with_the_square_of_the_vocabulary(tmp_path):
    size = 20_000  # a square of so many float32 is 1.6 GB
    words = np.random.default_rng(0).permutation(np.repeat(np.arange(size), 20))
    with corpus_of(tmp_path, *(" ".join(map(str, line)) for line in words.reshape(-1, 20))) as corpus:
        tracemalloc.start()
        try:
            with cooccurrence(corpus, 5, memory=4 << 20) as counts:
                assert counts.nonzeros > 3_000_000
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 100 << 20


@pytest.mark.parametrize("memory", [1 << 20, 100])
def test_closing_removes_the_files(tmp_path, scratch, memory):
    with corpus_of(tmp_path, "a b c", "a b") as corpus:
        before = os.listdir(scratch)
        with cooccurrence(corpus, memory=memory):
            assert len(os.listdir(scratch)) == len(before) + 1
        assert os.listdir(scratch) == before


@pytest.mark.parametrize("memory", [1 << 20, 100])
def test_a_text_without_pairs_is_refused_and_leaves_no_file(tmp_path, scratch, memory):
    with (
        corpus_of(tmp_path, "a", "b", "c") as corpus,
        pytest.raises(LexigraphError, match="No two words of the text stand on one line"),
    ):
        cooccurrence(corpus, memory=memory)
    assert os.listdir(scratch) == []


def test_a_full_disk_is_a_sentence_and_leaves_no_file(tmp_path, scratch, monkeypatch):
    monkeypatch.setattr(Cooccurrence, "_file", lambda self, name: tmp_path / "nowhere" / name)
    with (
        corpus_of(tmp_path, "a b") as corpus,
        pytest.raises(LexigraphError, match=r"counts could not be written to .* set TMPDIR"),
    ):
        cooccurrence(corpus)
    assert os.listdir(scratch) == []


def test_wrong_settings_are_refused(tmp_path):
    with corpus_of(tmp_path, "a b") as corpus:
        for wrong, sentence in (
            ({"side": "lefft"}, "no side 'lefft'; did you mean 'left'"),
            ({"weighting": "x"}, "no weighting 'x'; there are: flat, harmonic, linear"),
            ({"window": 0}, "window is 0"),
            ({"threads": 0}, "threads 0"),
        ):
            with pytest.raises(UsageError, match=sentence):
                cooccurrence(corpus, **wrong)
