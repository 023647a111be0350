import gzip
import lzma
import mmap
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lexigraph import run
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import formats
from lexigraph.words.subwords import Subwords, ngram_rows
from lexigraph.words.vectors import WordVectors

load = WordVectors.load
FORMATS = {"word2vec-text": "a.vec", "word2vec-binary": "a.bin", "glove": "a.txt", "lexigraph": "a"}
WORDS = [
    "the",
    "naïve",
    "日本語",
    "🙂",
    "</s>",
    "0.5",
    "non\u00a0breaking",
    "line\u2028separator",
    "tab\tbed",
    "\\x97",
]


def odd_vectors(words=10, dim=37):
    """Finite numbers with random bits, so of all sizes; the first are the extreme ones."""
    bits = np.random.default_rng(0).integers(0, 2**32, (words, dim), dtype=np.uint32)
    numbers = np.where(np.isfinite(bits.view(np.float32)), bits.view(np.float32), np.float32(0.1))
    limits = np.finfo(np.float32)
    numbers[0, :6] = [0.0, -0.0, limits.max, limits.min, limits.tiny, limits.smallest_subnormal]
    return WordVectors(WORDS[:words], numbers)


def same(one, other):
    assert one.words == other.words
    assert one.vectors.dtype == other.vectors.dtype == np.float32
    assert one.vectors.tobytes() == other.vectors.tobytes()
    return True


# ---- round trips ----


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_saved_is_loaded_bit_for_bit(kind, tmp_path):
    wv, path = odd_vectors(), tmp_path / FORMATS[kind]
    wv.save(path, format=kind)
    assert same(load(path), wv)
    assert same(load(path, limit=3), odd_vectors(3))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


WORD = st.text(st.characters(codec="utf-8", exclude_characters=" \n\0\ufeff"), max_size=8)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("kind", FORMATS)
@given(words=st.lists(WORD, min_size=1, max_size=5, unique=True), data=st.data())
def test_any_words_and_numbers_come_back(kind, words, data, tmp_path_factory):
    shape = (len(words), data.draw(st.integers(1, 4)))
    wv = WordVectors(words, data.draw(arrays(np.float32, shape, elements=NUMBERS)))
    path = tmp_path_factory.mktemp("any") / FORMATS[kind]
    wv.save(path, kind)
    assert same(load(path, kind), wv)


@pytest.mark.parametrize("binary", [True, False])
def test_files_go_to_gensim_and_back(binary, tmp_path):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    wv, ours, theirs = odd_vectors(), tmp_path / ("ours.bin" if binary else "ours.vec"), tmp_path / "theirs"
    wv.save(ours)
    keyed = keyed_vectors.load_word2vec_format(ours, binary=binary)
    assert keyed.index_to_key == wv.words
    assert keyed.vectors.tobytes() == wv.vectors.tobytes()
    keyed.save_word2vec_format(theirs, binary=binary)
    assert same(load(theirs), wv)  # the name has no suffix: the content tells
    assert ours.read_bytes() == theirs.read_bytes()


def test_glove_files_go_to_gensim_and_back(tmp_path):
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors
    wv, ours, theirs = odd_vectors(), tmp_path / "ours.txt", tmp_path / "theirs.txt"
    wv.save(ours, format="glove")
    keyed = keyed_vectors.load_word2vec_format(ours, no_header=True)
    assert keyed.vectors.tobytes() == wv.vectors.tobytes()
    keyed.save_word2vec_format(theirs, write_header=False)
    assert same(load(theirs), wv)


def test_text_is_written_in_the_fewest_digits(tmp_path):
    WordVectors(["a", "b"], np.array([[0.1, 1 / 3], [1e-10, 100]], np.float32)).save(tmp_path / "a.vec")
    assert (tmp_path / "a.vec").read_text() == "2 2\na 0.1 0.33333334\nb 1e-10 100.0\n"


def test_text_may_be_compressed_or_come_from_windows(tmp_path):
    wv = odd_vectors(2)
    wv.save(tmp_path / "a.vec")
    text = (tmp_path / "a.vec").read_bytes()
    (tmp_path / "b.vec.gz").write_bytes(gzip.compress(text))
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(text))
    (tmp_path / "windows.vec").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    (tmp_path / "spaces.vec").write_bytes(
        text.replace(b"\n", b" \n") + b"\n"
    )  # word2vec and fastText write such lines
    for name in ("b.vec.gz", "b.txt.xz", "windows.vec", "spaces.vec"):
        assert same(load(tmp_path / name), wv)
    (tmp_path / "glove.txt").write_bytes(b"\xef\xbb\xbf" + text.split(b"\n", 1)[1])
    assert same(load(tmp_path / "glove.txt"), wv)
    wv.save(tmp_path / "a.bin")
    (tmp_path / "b.bin.gz").write_bytes(gzip.compress((tmp_path / "a.bin").read_bytes()))
    assert same(load(tmp_path / "b.bin.gz"), wv)


def test_binary_rows_may_end_with_a_newline(tmp_path):
    numbers = np.array([[1, 2], [3, 4]], "<f4")
    rows = b"".join(word + b" " + row.tobytes() + b"\n" for word, row in zip([b"a", b"b"], numbers, strict=True))
    (tmp_path / "a.bin").write_bytes(b"2 2\n" + rows)
    assert same(load(tmp_path / "a.bin"), WordVectors(["a", "b"], numbers))


def test_words_of_glove_may_hold_spaces(tmp_path):
    (tmp_path / "a.txt").write_text("a 1 2\n. . . 3 4\nto name@domain.com 5 6\n")
    wv = load(tmp_path / "a.txt")
    assert wv.words == ["a", ". . .", "to name@domain.com"]
    assert wv.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_given_format_wins(tmp_path):
    wv = odd_vectors(3)
    wv.save(tmp_path / "a.txt", format="word2vec-binary")
    assert same(load(tmp_path / "a.txt", format="word2vec-binary"), wv)
    (tmp_path / "b.txt").write_text("2 1\n3 4\n")  # a header, or words that are numbers
    assert load(tmp_path / "b.txt", format="glove").words == ["2", "3"]


def test_of_a_word_that_comes_twice_the_first_counts(tmp_path):
    (tmp_path / "a.vec").write_text("4 1\na 1\nb 2\na 3\nb 4\n")
    with pytest.warns(UserWarning, match="repeats 2 words, as 'a'"):
        wv = load(tmp_path / "a.vec")
    assert wv.words == ["a", "b"]
    assert wv.vectors.tolist() == [[1], [2]]


@pytest.mark.parametrize("name", ["a.vec", "a.bin"])
def test_words_that_are_not_utf8_stay_apart(name, tmp_path):
    rows = [b"caf\xc3 ", b"caf\xe2\x82 "]  # both cut within a character
    one = np.ones(1, "<f4").tobytes() if name == "a.bin" else b"1\n"
    (tmp_path / name).write_bytes(b"2 1\n" + b"".join(row + one for row in rows))
    with pytest.warns(UserWarning, match="2 words are not UTF-8"):
        assert load(tmp_path / name).words == ["caf\\xc3", "caf\\xe2\\x82"]


# ---- the folder ----


def test_the_folder_is_mapped_and_keeps_counts_and_ngrams(tmp_path):
    ngrams = Subwords(np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32), 20, 2, 4)
    words = ["a", "b c", "d\re"]
    wv = WordVectors(words, np.arange(6, dtype=np.float32).reshape(3, 2), np.array([7, 5, 5]), ngrams)
    wv.save(tmp_path / "wv")
    again = load(tmp_path / "wv")
    assert same(again, wv)
    assert again.counts.tolist() == [7, 5, 5]
    assert again["unseen"].tolist() == wv["unseen"].tolist()
    for array in (again.vectors, again.counts, again.subwords.matrix):
        while isinstance(array, np.ndarray):
            array = array.base
        assert isinstance(array, mmap.mmap)
    with pytest.raises(ValueError, match="read-only"):
        again.vectors[0] = 1
    assert load(tmp_path / "wv", limit=2).counts.tolist() == [7, 5]
    again.head(1).save(tmp_path / "wv", force=True)  # over the very files it is mapped from
    assert load(tmp_path / "wv").words == ["a"]
    assert again["b c"].tolist() == [2, 3]


@pytest.mark.parametrize("content", [None, "{}", "[]", "not json", '{"kind": "something else"}'])
def test_another_folder_is_neither_read_nor_replaced(content, tmp_path):
    (tmp_path / "precious").write_text("mine")
    if content:
        (tmp_path / "meta.json").write_text(content)
    with pytest.raises(LexigraphError, match="is no folder of Lexigraph word vectors"):
        load(tmp_path)
    for kind in (None, "lexigraph", "glove"):
        with pytest.raises(LexigraphError, match="folder"):
            odd_vectors().save(tmp_path, format=kind, force=True)
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_damaged_folder_is_refused(tmp_path):
    def damaged(name, content):
        odd_vectors().save(tmp_path / "wv", force=True)
        path = tmp_path / "wv" / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content(path.read_bytes()))
        with pytest.raises(LexigraphError) as error:
            load(tmp_path / "wv")
        return str(error.value)

    assert "vectors.npy holds 10 rows of float32, not 9 of float32" in damaged(
        "words.txt", lambda words: words.split(b"\n", 1)[1]
    )
    assert "words.txt" in damaged("words.txt", None)
    assert "wv: " in damaged("vectors.npy", lambda array: array[:-4])
    assert "wv: " in damaged("vectors.npy", lambda array: b"")
    assert "format 99" in damaged("meta.json", lambda meta: meta.replace(b'"format": 1', b'"format": 99'))


# ---- fastText ----


@pytest.mark.parametrize(("minn", "maxn"), [(3, 6), (1, 1), (1, 3), (5, 5), (3, 0)])
@given(words=st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=4))
def test_ngrams_are_hashed_as_by_gensim(minn, maxn, words):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    words = [word for word in [*words, "naïve", "日本語", "🙂"] if word != "</s>"]
    rows, starts = ngram_rows(words, 1000, minn, maxn)
    found = [rows[starts[place] : starts[place + 1]].tolist() for place in range(len(words))]
    assert found == [fasttext.ft_ngram_hashes(word, minn, maxn, 1000) for word in words]


def shipped(name):
    """A small file that the original programs wrote, from gensim's test data."""
    return pytest.importorskip("gensim.test.utils").datapath(name)


@pytest.mark.parametrize("name", ["crime-and-punishment", "toy-model"])
def test_a_fasttext_model_has_the_vectors_that_fasttext_printed(name):
    model, printed = load(shipped(f"{name}.bin")), load(shipped(f"{name}.vec"))
    assert model.words == printed.words
    np.testing.assert_allclose(model.vectors, printed.vectors, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["crime-and-punishment", "toy-model", "lee_fasttext_new"])
def test_a_fasttext_model_is_read_as_by_gensim(name):
    path = shipped(f"{name}.bin")
    model, keyed = load(path), pytest.importorskip("gensim.models.fasttext").load_facebook_vectors(path)
    assert model.words == keyed.index_to_key
    assert model.counts.tolist() == [keyed.get_vecattr(word, "count") for word in model.words]
    for word in model:
        if word != "</s>":  # to gensim it has n-grams, to fastText it has none
            np.testing.assert_allclose(model[word], keyed[word], rtol=1e-5, atol=1e-7)
    for unseen in ("xyzzy", "преступный", "日本", "q"):
        assert unseen not in model
        np.testing.assert_allclose(model[unseen], keyed[unseen], rtol=1e-5, atol=1e-7)
    assert same(load(path, limit=5), model.head(5))


def test_a_fasttext_classifier_gives_the_vectors_of_its_words():
    with pytest.warns(UserWarning, match="5 words are not UTF-8"):
        model, printed = (load(shipped(f"pang_lee_polarity_fasttext.{suffix}")) for suffix in ("bin", "vec"))
    assert model.words == printed.words
    assert model.subwords is None
    np.testing.assert_allclose(model.vectors, printed.vectors, atol=1e-6)


def test_a_broken_or_quantised_fasttext_model_is_refused(tmp_path):
    with open(shipped("toy-model.bin"), "rb") as file:
        content = file.read()
    dictionary = 92 + sum(len(word.encode()) + 10 for word in load(shipped("toy-model.bin")).words)
    matrix = 17 + 4 * 5 * (22 + 100)
    for end in [*range(4, dictionary, 7), dictionary, dictionary + 1, dictionary + matrix - 1]:
        (tmp_path / "a.bin").write_bytes(content[:end])
        with pytest.raises(LexigraphError, match=r"a\.bin: "):
            load(tmp_path / "a.bin")
    for place, value, message in [
        (4, struct.pack("<i", 13), "only versions 11 and 12"),
        (dictionary, b"\x01", "it is quantised"),
        (dictionary + 1, struct.pack("<q", 7), "do not make 7 x 5"),
    ]:
        (tmp_path / "a.bin").write_bytes(content[:place] + value + content[place + len(value) :])
        with pytest.raises(LexigraphError, match=message):
            load(tmp_path / "a.bin")


# ---- what cannot be read ----


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"3 2\na 1 2\nb 1 2\n", "line 1: the header promises 3 words, but the file ends after 2"),
        (b"1 2\na 1 2\nb 1 2\n", "line 3: the header promises 1 words, and here is one more"),
        (
            b"2 2\na 1 2\nb 1\n",
            "line 3: a word and 2 numbers with spaces between are expected, not 1 numbers after 'b'",
        ),
        (b"2 2\na 1 2 3\nb 1 2\n", "line 2: a word and 2 numbers .* not 3"),
        (b"\xef\xbb\xbfa 1 2\nb 1 2\n\nc 1 2 3\n", "line 4: a word and 2 numbers .* not 3"),
        (b"a\t1\t2\nb\t1\t2\n", "line 1: a word and its numbers with spaces between are expected"),
        (b"2 2\na 1 2\nb 1 x\n", "line 3: could not convert string to float: b'x'"),
        (b"2 2\na 1  2\nb 1 2\n", "line 2: could not convert string to float"),
        (b"1 2\na 1 nan\n", "line 2: the vector of 'a' has a number that is not finite"),
        (b"1 2\na 1 -inf\n", "line 2: the vector of 'a'"),
        (b"1 2\na 1 1e39\n", "line 2: the vector of 'a'"),  # beyond float32
        (b"2 2\na 1 2\nb\0 1 2\n", "line 3: NUL bytes"),
        ("a 1 2\n".encode("utf-16"), "line 1: NUL bytes"),
        (b"1 0\na\n", "line 1: the numbers of words and of dimensions are expected, not '1 0'"),
        (b"0 2\n", "holds no words"),
        (b"\n\n", "holds no words"),
        (b"\x80\x04\x95\x10", "this is a pickle"),
        (b"PK\x03\x04", "zip"),
        (b"\x93NUMPY", "array without words"),
    ],
)
def test_text_that_cannot_be_read_gets_a_sentence(content, message, tmp_path):
    (tmp_path / "a.vec").write_bytes(content)
    with pytest.raises(LexigraphError, match=message):
        load(tmp_path / "a.vec")


def test_a_file_without_header_is_told_apart(tmp_path):
    (tmp_path / "a.vec").write_text("a 1 2\n")
    with pytest.raises(LexigraphError, match="a file without this header has format 'glove'"):
        load(tmp_path / "a.vec", format="word2vec-text")
    (tmp_path / "a.bin").write_bytes(b"\x01\x02\xff")
    with pytest.raises(LexigraphError, match="no file of word vectors that Lexigraph reads: word2vec-text"):
        load(tmp_path / "a.bin")


def test_a_binary_file_that_is_cut_or_too_long_is_refused(tmp_path):
    odd_vectors(3).save(tmp_path / "a.bin")
    content = (tmp_path / "a.bin").read_bytes()
    for end in range(len(content)):
        (tmp_path / "b.bin").write_bytes(content[:end])
        with pytest.raises(LexigraphError, match=r"b\.bin: "):
            load(tmp_path / "b.bin")
    (tmp_path / "b.bin").write_bytes(b"2" + content[1:])
    with pytest.raises(
        LexigraphError, match="after the 2 words of 37 numbers that the header promises, more follows"
    ):
        load(tmp_path / "b.bin")


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_binary_numbers_must_be_finite_and_words_without_nul(number, tmp_path):
    def binary(word, number):
        (tmp_path / "a.bin").write_bytes(b"1 1\n" + word + b" " + np.array([number], "<f4").tobytes())
        return tmp_path / "a.bin"

    with pytest.raises(LexigraphError, match="word 1, 'a', has a number that is not finite"):
        load(binary(b"a", number))
    with pytest.raises(LexigraphError, match="word 1 holds a NUL byte"):
        load(binary(b"a\0", 1))


def test_gensims_pickles_are_refused(tmp_path):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(2)
    keyed.add_vectors(["a"], np.ones((1, 2), np.float32))
    keyed.save(str(tmp_path / "a.kv"))
    with pytest.raises(LexigraphError, match="this is a pickle"):
        load(tmp_path / "a.kv")


def test_a_missing_file_and_a_damaged_archive_get_a_sentence(tmp_path):
    odd_vectors().save(tmp_path / "mine.vec")
    with pytest.raises(LexigraphError, match=r"Did you mean 'mine\.vec'"):
        load(tmp_path / "mime.vec")
    packed = gzip.compress((tmp_path / "mine.vec").read_bytes())
    (tmp_path / "a.vec.gz").write_bytes(packed[:-20])
    with pytest.raises(LexigraphError, match=r"a\.vec\.gz"):
        load(tmp_path / "a.vec.gz")


def test_a_wrong_request_gets_a_sentence(tmp_path):
    wv = odd_vectors()
    wv.save(tmp_path / "a.vec")
    for request, message in [
        (lambda: load(tmp_path / "a.vec", format="word2vec"), "no format 'word2vec'.*did you mean 'word2vec-text'"),
        (lambda: load(tmp_path / "a.vec", limit=0), "limit is 0"),
        (lambda: wv.save(tmp_path / "a.csv"), "tells no format to write. Use .vec, .txt, .bin, no suffix"),
        (lambda: wv.save(tmp_path / "a.bin", format="fasttext-binary"), "these vectors have no n-grams"),
    ]:
        with pytest.raises(UsageError, match=message):
            request()


# ---- what cannot be written ----


@pytest.mark.parametrize("kind", FORMATS)
def test_when_saving_fails_what_was_there_stays(kind, tmp_path, monkeypatch):
    path = tmp_path / FORMATS[kind]
    wv = WordVectors(["a"], np.ones((1, 2), np.float32))
    wv.save(path, kind)

    def refused(words, numbers=1.0):
        with pytest.raises(LexigraphError) as error:
            WordVectors(words, np.full((len(words), 2), numbers, np.float32)).save(path, kind, force=True)
        assert same(load(path), wv)
        assert os.listdir(tmp_path) == [path.name]
        return str(error.value)

    assert "'a\\nb' cannot be a word in" in refused(["x", "a\nb"])
    assert "'\\ud800' cannot be a word in" in refused(["\ud800"])
    assert "word 2, 'y', has a number that is not finite" in refused(["x", "y"], [[0, 0], [np.nan, 0]])
    if kind != "lexigraph":
        assert "'a b' cannot be a word in" in refused(["a b"])

    def full(path):
        raise OSError("No space left on device")

    monkeypatch.setattr(run, "_flush", full)
    assert "No space left on device" in refused(["z"])


def test_a_folder_that_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(LexigraphError, match=r"There is no folder .*missing for a.vec"):
        odd_vectors().save(tmp_path / "missing" / "a.vec")


def test_fasttext_keeps_its_ngrams_in_a_bin_that_gensim_reads(tmp_path):
    random = np.random.default_rng(0)
    words, counts = ["the", "naïve", "a", "cats"], np.array([9, 5, 3, 1])
    subwords = Subwords(random.normal(size=(50, 8)).astype(np.float32), 50, 3, 5)
    vectors = random.normal(size=(4, 8)).astype(np.float32)
    formats.save(formats.Table(words, vectors, counts, subwords), tmp_path / "x.bin")
    back = formats.load(tmp_path / "x.bin")
    assert back.words == words
    assert (back.counts == counts).all()
    assert np.allclose(back.vectors, vectors, atol=1e-5)
    assert (back.subwords.matrix == subwords.matrix).all()
    fasttext = pytest.importorskip("gensim.models.fasttext")
    theirs = fasttext.load_facebook_vectors(str(tmp_path / "x.bin"))
    for word, vector in zip(words, vectors, strict=True):
        assert np.allclose(theirs[word], vector, atol=1e-5)
    assert np.allclose(theirs["catsup"], subwords.vector("catsup"), atol=1e-5)  # which it never saw
