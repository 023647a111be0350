"""Cutting text into words, counting and numbering them."""

import re
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import constructions
from lexigraph.words import training
from lexigraph.words.corpus import Corpus, sentences
from lexigraph.words.scan import END, Types
from lexigraph.words.settings import Settings

TEXT = "The cat saw the cat.\n\n'Tis don't o' rock'n'roll — “naïve” हिन्दी 🙂 x’y\nend"


def write(folder, text):
    file = folder / "text.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_words_are_lower_case_letters_and_digits_with_inner_apostrophes():
    types = Types("words")
    ids = types.scan(TEXT)
    words = types.words()
    lines = " ".join("/" if i == END else words[i] for i in ids)
    assert lines == "the cat saw the cat / tis don't o rock'n'roll naïve हिन्दी x'y / end"
    assert dict(zip(words, types.counts.tolist(), strict=True))["cat"] == 2


def test_space_takes_what_stands_between_white_space():
    types = Types("space")
    types.scan(TEXT)
    assert types.words() == TEXT.split()[:4] + list(dict.fromkeys(TEXT.split()[4:]))


def scanned(text, split):
    types = Types(split)
    ids = types.scan(text)
    words = types.words()
    return [words[i] for i in ids if i != END]


def words_by_python(text):
    """Runs of what Python takes for letters, digits and marks, in lower case, apostrophes between them included."""
    text = text.lower().replace("’", "'")
    kept = (c if c == "'" or c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    return re.findall(r"[^ ']+(?:'[^ ']+)*", "".join(kept))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("𝐀𝐁 cat", ["𝐀𝐁", "cat"]),  # mathematical letters, four bytes each
        ("𐐀𐐁", ["𐐨𐐩"]),  # Deseret has two cases
        ("𠀀中é", ["𠀀中é"]),  # four, three and two bytes in one word
        ("a🙂b 🏴\U000e0067\U000e007f", ["a", "b"]),  # emoji, and the invisible tags of a flag, divide words
        ("葛\U000e0100", ["葛\U000e0100"]),  # a variation selector is a mark
    ],
)
def test_characters_of_four_bytes_are_what_unicode_says(text, words):
    assert scanned(text, "words") == words
    assert scanned(text, "space") == text.split()


CHARACTERS = st.one_of(
    st.sampled_from(" \n\t'’-_aB7éßСω中\u3000\u2028\u093fखİ𝐀𐐀🙂𠀀\U000e0100\U000e0067"),
    *(st.characters(min_codepoint=least, exclude_categories=["Cs"]) for least in (0, 0x80, 0x800, 0x10000, 0x20000)),
)


@settings(max_examples=300, deadline=None)
@given(st.text(CHARACTERS, max_size=30))
def test_words_are_cut_where_python_would_cut_them(text):
    assert scanned(text, "words") == words_by_python(text)
    assert scanned(text, "space") == text.split()


def test_counts_agree_with_python_on_a_large_text():
    text = "\n".join(constructions.sentences(3000)) + "\n"
    types = Types("words")
    for line in text.splitlines(keepends=True):
        types.scan(line)
    wanted = Counter(re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower()))
    assert dict(zip(types.words(), types.counts.tolist(), strict=True)) == wanted


def test_many_different_words_make_the_table_grow():
    types = Types("space")
    ids = types.scan(" ".join(f"w{i}" for i in range(100_000)))
    assert np.array_equal(ids, np.arange(100_000))
    assert types.words()[99_999] == "w99999"
    assert np.array_equal(types.scan("w7 w99999"), [7, 99_999])


def test_the_rarest_words_are_forgotten_when_there_are_too_many():
    types = Types("space", most=1000)
    for i in range(5000):
        types.scan(f"often often rare{i}\n")
    assert len(types) <= 1000
    assert types.forgotten >= 1
    assert dict(zip(types.words(), types.counts.tolist(), strict=True))["often"] == 10_000


def test_a_corpus_has_the_most_frequent_words_first_and_drops_rare_ones(tmp_path):
    file = write(tmp_path, "b a b\nrare\na b c c\n")
    with Corpus.read(file, min_count=2) as corpus:
        assert corpus.words == ["b", "a", "c"]
        assert corpus.counts.tolist() == [3, 2, 2]
        (ids,) = corpus.blocks()
        assert ids.tolist() == [0, 1, 0, END, 1, 0, 2, 2, END]  # the line of the rare word is gone
        assert (corpus.tokens, corpus.lines, corpus.dropped) == (7, 2, 1)


def test_words_of_the_same_count_stand_as_they_first_appear(tmp_path):
    with Corpus.read(write(tmp_path, "z y z\na y b b c c b\n"), min_count=1) as corpus:
        assert corpus.words == ["b", "z", "y", "c", "a"]
        assert np.concatenate(list(corpus.blocks())).tolist() == [1, 2, 1, END, 4, 2, 0, 0, 3, 3, 0, END]


def test_blocks_end_with_lines_and_join_to_the_whole(tmp_path):
    file = write(tmp_path, "\n".join(constructions.sentences(500)))
    with Corpus.read(file, min_count=1) as corpus:
        small = list(corpus.blocks(50))
        assert all(block[-1] == END for block in small)
        assert max(map(len, small)) <= 100
        assert np.array_equal(np.concatenate(small), np.concatenate(list(corpus.blocks())))
        words = [corpus.words[i] for i in np.concatenate(small) if i != END]
    assert words == [word for line in sentences(file) for word in line]


def test_temporary_files_go_with_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    file = write(tmp_path, "a b a\n")
    with Corpus.read(file, min_count=1):
        assert list((tmp_path / "temporary").iterdir())
    assert not list((tmp_path / "temporary").iterdir())
    with pytest.raises(
        LexigraphError, match="no word is seen min_count = 9 times; the most frequent is seen 2 times"
    ):
        Corpus.read(file, min_count=9)
    assert not list((tmp_path / "temporary").iterdir())


def test_wrong_requests(tmp_path):
    file = write(tmp_path, "!!! ???\n")
    with pytest.raises(LexigraphError, match="there are no words"):
        Corpus.read(file)
    with pytest.raises(UsageError, match=r"There is no way 'word' to cut text into words; did you mean 'words'\?"):
        Corpus.read(file, split="word")
    (tmp_path / "binary").write_bytes(b"a\0b")
    with pytest.raises(LexigraphError, match="NUL"):
        Corpus.read(tmp_path / "binary")
    with pytest.raises(LexigraphError, match="no such file"):
        Corpus.read(tmp_path / "nothing")


def test_elided_articles_are_words_of_their_own(tmp_path):
    file = write(tmp_path, "L'homme qu’il aime n'est pas l'ami d'Anne, 'voilà'\n")
    assert list(sentences(file, split="elision")) == [
        ["l'", "homme", "qu'", "il", "aime", "n'", "est", "pas", "l'", "ami", "d'", "anne", "voilà"]
    ]
    assert next(sentences(file))[:2] == ["l'homme", "qu'il"]


def test_letters_of_scripts_without_spaces_are_words(tmp_path):
    file = write(tmp_path, "我喜欢 GPT4 猫。\nพี่กิน\nカタ kana's\n")
    assert list(sentences(file, split="characters")) == [
        ["我", "喜", "欢", "gpt4", "猫"],
        ["พี่", "กิ", "น"],
        ["カ", "タ", "kana's"],
    ]


def test_the_reader_of_words_says_when_they_are_none(tmp_path):
    said = []
    with training.reading(write(tmp_path, "l'homme et l'ami\n" * 9), Settings(min_count=1).resolved(), said.append):
        pass
    assert any("words.split=elision" in line for line in said)
    with training.reading(write(tmp_path, "我喜欢猫\n他走了\n" * 9), Settings(min_count=1).resolved(), said.append):
        pass
    assert any("words.split=characters" in line for line in said)
