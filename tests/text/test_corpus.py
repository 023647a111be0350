"""From files to tables: who learns from which line, and where every token stands."""

import dataclasses
import json
import lzma
import re
from collections import Counter, defaultdict
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Data
from lexigraph.text import corpus, files, source, storing
from lexigraph.text.batches import Rows
from lexigraph.text.columns import Column, Traits
from lexigraph.text.encoding import Example
from lexigraph.text.splits import taken
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Stored, Table, tables
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Vocabularies

TEXT = {"text": Column("tokens")}


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write_file


def refusal(action):
    with pytest.raises(LexigraphError) as caught:
        action()
    return str(caught.value)


def examples(data):
    return corpus.examples(data, TEXT)


def text_of(example):
    return example.values["text"]


def by_split(found):
    """The texts of every split, in order."""
    texts = defaultdict(list)
    for example in found:
        texts[example.split].append(text_of(example))
    return texts


def joined(found):
    return {split: "".join(texts) for split, texts in by_split(found).items()}


def units(found):
    """Whole units by split: parts are joined up to the one that ends them."""
    whole, current = defaultdict(list), ""
    for example in found:
        current += text_of(example)
        if example.last:
            whole[example.split].append(current)
            current = ""
    assert current == ""
    return whole


# ---- lines ----


def test_equal_lines_never_stand_in_two_splits(write):
    file = write("a.txt", "".join(f"line {number % 700}\n" for number in range(3000)))
    sides = defaultdict(set)
    for example in examples(Data(train=file, split=(0.6, 0.2, 0.2))):
        sides[text_of(example)].add(example.split)
    assert len(sides) == 700
    assert {len(splits) for splits in sides.values()} == {1}
    assert {split for splits in sides.values() for split in splits} == {"train", "valid", "test"}


def test_shares_are_about_right_and_nothing_is_lost(write):
    lines = [f"line {number}" for number in range(10_000)]
    texts = by_split(examples(Data(train=write("a.txt", "\n".join(lines)), split=(0.8, 0.15, 0.05))))
    assert sorted(chain(*texts.values())) == sorted(lines)
    for split, share in (("train", 0.8), ("valid", 0.15), ("test", 0.05)):
        assert len(texts[split]) / 10_000 == pytest.approx(share, abs=0.015)  # over three standard deviations


def test_what_the_shares_leave_is_not_used(write):
    text = "\n".join(f"line {number}" for number in range(5000))
    file = write("a.txt", text)
    texts = by_split(examples(Data(train=file, split=(0.5, 0.1))))
    assert len(texts["train"]) / 5000 == pytest.approx(0.5, abs=0.025)
    assert len(texts["valid"]) / 5000 == pytest.approx(0.1, abs=0.02)
    half, more = len(text) * 5 // 10, len(text) * 6 // 10
    stream = joined(examples(Data(train=file, split=(0.5, 0.1), unit="stream")))
    assert stream == {"train": text[:half], "valid": text[half:more]}


def test_a_split_is_a_function_of_the_line_not_of_its_neighbours(write):
    lines = [f"line {number}" for number in range(500)]
    forth = {text_of(e): e.split for e in examples(Data(train=write("a.txt", "\n".join(lines)), split=(0.5, 0.5)))}
    back = {
        text_of(e): e.split for e in examples(Data(train=write("b.txt", "\n".join(lines[::-1])), split=(0.5, 0.5)))
    }
    assert forth == back


def test_lines_that_cleaning_makes_equal_are_on_one_side(write):
    pairs = [(f"The {n} cats sat.", f"the {n} CATS sat !") for n in range(300)]
    file = write("a.txt", "\n".join(chain.from_iterable(pairs)) + "\n")
    splits: dict[str, set[str]] = defaultdict(set)
    for example in examples(Data(train=str(file), split=(0.5, 0.5))):
        splits[re.sub(r"\W+", "", text_of(example).lower())].add(example.split)
    assert all(len(found) == 1 for found in splits.values())
    assert len(splits) == 300


def test_files_of_their_own_are_not_taken_from_the_training_file(write):
    train = write("train.txt", "\n".join(f"line {number}" for number in range(4000)))
    valid = write("valid.txt", "one\ntwo\n")
    texts = by_split(examples(Data(train=train, valid=valid, split=(0.8, 0.1, 0.1))))
    assert texts["valid"] == ["one", "two"]
    assert len(texts["train"]) / 4000 == pytest.approx(0.9, abs=0.02)  # its share and that of valid
    test = write("test.txt", "three\n")
    texts = by_split(examples(Data(train=train, valid=valid, test=test)))
    assert {name: len(lines) for name, lines in texts.items()} == {"train": 4000, "valid": 2, "test": 1}


def test_what_a_split_without_a_file_takes_of_the_training_text_is_told():
    (told,) = taken(Data(train="a.txt", valid="b.txt"))
    assert "Without --test FILE, 5 % of a.txt are kept for the test" in told
    (told,) = taken(Data(train="a.txt", test="b.txt", split=(0.9, 0.1)))
    assert "Without --valid FILE, 10 % of a.txt are kept for the validation" in told
    for silent in (
        Data(train="a.txt"),
        Data(train="a.txt", valid="b.txt", test="c.txt"),
        Data(train="a.txt", valid="b.txt", split=(1.0,)),
    ):
        assert not list(taken(silent))


@pytest.mark.parametrize("split", [(0.9, 0.2), (-0.1, 0.5), (0.0, 1.0), (0.4, 0.2, 0.2, 0.2)])
def test_shares_that_cannot_be_are_refused(write, split):
    with pytest.raises(UsageError, match=r"data\.split"):
        list(examples(Data(train=write("a.txt", "a\n"), split=split)))


def test_training_text_is_asked_for():
    with pytest.raises(UsageError, match="--data"):
        list(examples(Data()))


def test_the_built_in_corpus_is_split_by_its_sentences():
    texts = by_split(examples(Data(train="grammar", sentences=500)))
    assert sum(map(len, texts.values())) == 500
    assert set(texts["train"]).isdisjoint(texts["valid"] + texts["test"])


def test_data_files_are_found_under_the_folder_that_the_environment_names(write, tmp_path, monkeypatch):
    write("mine.txt", "a\nb\n")
    monkeypatch.chdir("/")
    monkeypatch.setenv("LEXIGRAPH_DATA", str(tmp_path))
    assert [text_of(example) for example in examples(Data(train="mine.txt", split=(1.0,)))] == ["a", "b"]
    assert files.find("grammar") == "grammar"
    assert files.find("nowhere.txt") == "nowhere.txt"


# ---- documents ----

BOOKS = [[f"book {book} line {line}" for line in range(1 + book % 5)] for book in range(400)]


@pytest.mark.parametrize("unit", ["line", "stream"])
def test_documents_stay_whole(write, unit):
    file = write("a.txt", "\n\n".join("\n".join(book) for book in BOOKS))
    whole = units(examples(Data(train=file, unit=unit, documents="blank", split=(0.5, 0.25, 0.25))))
    side = {}
    for split, texts in whole.items():
        for text in texts:
            for line in text.split("\n"):
                assert side.setdefault(line.split()[1], split) == split
    assert Counter(side.values()).keys() == {"train", "valid", "test"}
    found = [line for texts in whole.values() for text in texts for line in text.split("\n")]
    assert sorted(found) == sorted(line for book in BOOKS for line in book)
    if unit == "stream":  # a document is one unit, its lines in order
        assert sorted(chain(*whole.values())) == sorted("\n".join(book) for book in BOOKS)


def test_equal_documents_never_stand_in_two_splits(write):
    file = write("a.txt", "\n\n".join("\n".join(book) for book in BOOKS + BOOKS))
    whole = units(examples(Data(train=file, unit="stream", documents="blank", split=(0.5, 0.5))))
    assert set(whole["train"]).isdisjoint(whole["valid"])
    assert len(whole["train"]) + len(whole["valid"]) == 2 * len(BOOKS)


def test_documents_are_told_by_a_column(write):
    rows = [{"text": line, "book": f"b{number}"} for number, book in enumerate(BOOKS) for line in book]
    file = write("a.jsonl", "\n".join(map(json.dumps, rows)))
    whole = units(examples(Data(train=file, unit="stream", documents="book", split=(0.5, 0.5))))
    assert sorted(chain(*whole.values())) == sorted("\n".join(book) for book in BOOKS)


def test_each_line_may_be_a_document_of_a_stream(write):
    file = write("a.txt", "a b\nc\n\nd\n")
    found = examples(Data(train=file, unit="stream", documents="line", split=(1.0,)))
    assert [(e.split, text_of(e), e.last) for e in found] == [
        ("train", "a b", True),
        ("train", "c", True),
        ("train", "d", True),
    ]


# ---- streams ----


@pytest.mark.parametrize("size", [1000, 1003, 200_001])
def test_the_first_nine_tenths_of_the_characters_are_for_training(write, size):
    text = ("Ünï cödé wörds\nand more " * (size // 20))[:size]
    found = joined(examples(Data(train=write("a.txt", text), unit="stream", split=(0.9, 0.1))))
    assert found == {"train": text[: size * 9 // 10], "valid": text[size * 9 // 10 :]}


@pytest.mark.parametrize("split", [(0.9, 0.05, 0.05), (0.7, 0.2, 0.1), (0.34, 0.33, 0.33), (1.0, 0.0)])
def test_a_stream_keeps_its_order_and_every_character(write, split):
    text = "".join(f"line {number}\n" for number in range(10_000))
    found = list(examples(Data(train=write("a.txt", text), unit="stream", split=split)))
    assert "".join(text_of(example) for example in found) == text
    assert [example.split for example in found if example.last] == [
        name for name, share in zip(("train", "valid", "test"), split, strict=False) if share
    ]
    for name, share in zip(("train", "valid", "test"), split, strict=False):
        assert len(joined(found).get(name, "")) == pytest.approx(share * len(text), abs=1)


def test_compressed_streams_are_the_same_text(write):
    text = "some text\n" * 300
    plain, packed = write("a.txt", text), write("a.txt.xz", lzma.compress(text.encode()))
    options = {"unit": "stream", "split": (0.9, 0.1)}
    assert joined(examples(Data(train=plain, **options))) == joined(examples(Data(train=packed, **options)))


def test_a_stream_is_read_from_the_column_that_is_named(write):
    file = write("a.jsonl", '{"body": "one"}\n{"body": "two"}\n')
    data = Data(train=file, unit="stream", split=(1.0,), columns={"text": "body"})
    assert joined(examples(data)) == {"train": "one\ntwo\n"}


def test_the_longest_line_of_records_holds_for_streams_too(write):
    file = write("a.jsonl", json.dumps({"text": "x" * 500}) + "\n")
    data = Data(train=file, unit="stream", split=(1.0,), max_chars=100)
    assert "line 1" in refusal(lambda: list(examples(data)))


# ---- cleaning ----


def test_lines_are_cleaned_and_those_of_which_nothing_is_left_go(write):
    data = Data(train=write("a.txt", "Hello  World\n###\nBYE\n"), split=(1.0,))
    cleaner = Data(train=data.train, split=(1.0,), clean=("drop_symbols", "lower", "whitespace"))
    assert [text_of(example) for example in examples(cleaner)] == ["hello world", "bye"]


def test_a_stream_is_cleaned_line_by_line_and_keeps_its_line_breaks(write):
    file = write("a.txt", "The  Cat\n sat .\n\nNew   PARAGRAPH\n###\nend")
    data = Data(train=file, unit="stream", split=(1.0,), clean=("drop_symbols", "lower", "whitespace"))
    assert joined(examples(data)) == {"train": "the cat\nsat .\n\nnew paragraph\nend"}


def test_a_long_stream_is_cleaned_as_its_lines_are(write):
    lines = [f"The {number}th  LINE of it " * (1 + number % 4) for number in range(12_000)]  # over ten pieces
    data = Data(train=write("a.txt", "\n".join(lines)), unit="stream", split=(1.0,), clean=("lower", "whitespace"))
    assert joined(examples(data)) == {"train": "\n".join(" ".join(line.lower().split()) for line in lines)}


def test_dropped_lines_of_a_stream_take_no_others_with_them(write):
    short, long = "two words", " ".join(["word"] * 51)  # lines of over fifty tokens are dropped
    text = "\n".join([short, long, short] * 4000)
    data = Data(train=write("a.txt", text), unit="stream", split=(1.0,), clean=("whitespace", "max_tokens"))
    assert joined(examples(data)) == {"train": "\n".join([short] * 8000)}


@pytest.mark.parametrize("clean", [("lower", "whitespace"), ("lower",)])
@pytest.mark.parametrize(
    "text",
    [
        "Some Words " * 30_000,
        "x" * source.PIECE_CHARS + " Word\n",  # cut where there is no white space, just before some
        "x" * (source.PIECE_CHARS + 7) + "Word\n",
        "a " + " " * 2 * source.PIECE_CHARS + "B\n",
        "One\n" * 40_000,
    ],
    ids=["words", "before-a-space", "in-a-word", "spaces", "lines"],
)
def test_words_stay_as_they_are_where_a_long_line_is_cut(write, text, clean):
    found = joined(examples(Data(train=write("a.txt", text), unit="stream", split=(1.0,), clean=clean)))["train"]
    assert found.split() == text.lower().split()
    assert found.count("\n") == text.count("\n")


def test_a_long_line_ends_where_it_ended_when_its_last_piece_is_dropped(write):
    words = "a " * (source.PIECE_CHARS // 2)
    data = Data(train=write("a.txt", f"{words}###\nnext\n"), unit="stream", split=(1.0,))
    cleaner = dataclasses.replace(data, clean=("drop_symbols", "whitespace"))
    assert joined(examples(cleaner)) == {"train": words.strip() + "\nnext\n"}


def test_documents_of_which_nothing_is_left_leave_no_boundary(write):
    file = write("a.txt", "one\n###\ntwo\n")
    data = Data(train=file, unit="stream", documents="line", split=(1.0,), clean=("drop_symbols", "whitespace"))
    assert units(examples(data)) == {"train": ["one", "two"]}


# ---- records without text ----


@pytest.mark.parametrize("documents", ["none", "blank"])
@pytest.mark.parametrize(
    ("name", "content", "columns", "line", "words"),
    [
        ("a.jsonl", '{"text": "fine"}\n{"text": 5}\n', {}, 2, ["number"]),
        ("a.jsonl", '{"text": "fine"}\n\n{"text": ["a", "b"]}\n', {}, 3, ["list"]),
        ("a.jsonl", '{"body": "fine"}\n', {}, 1, ["'text'", "body"]),
        ("a.jsonl", '{"body": "fine"}\n', {"source": "body"}, 1, ["source", "'text'"]),
        ("a.tsv", "a\tb\nc\td\n", {"source": "1", "target": "2"}, 1, ["source, target", "'text'"]),
    ],
)
def test_a_record_without_text_is_refused_with_file_line_and_remedy(
    write, name, content, columns, line, words, documents
):
    file = write(name, content)
    data = Data(train=file, columns=columns, documents=documents)
    sentence = refusal(lambda: list(examples(data)))
    for word in [f"{file}, line {line}", "data.columns", *words]:
        assert word in sentence


def test_tagged_sentences_are_no_lines_of_text(write):
    file = write("a.conll", "the D\ncat N\n")
    sentence = refusal(lambda: list(examples(Data(train=file))))
    for word in (f"{file}, line 1", "tokens", """data.columns={text="1"}"""):
        assert word in sentence
    found = examples(Data(train=write("b.conll", "the D\ncat N\n\nshe P\n"), columns={"text": "1"}, split=(1.0,)))
    assert [each.values["text"] for each in found] == ["the cat", "she"]


# ---- tables ----


@pytest.fixture(scope="module")
def letters():
    return Tokenizer.train(iter(["abcdefgh ü🙂\n"]), kind="char", size=50)


def stored(folder, tokenizer, found, needed="train"):
    """The tables of examples, by split."""
    write_tables(found, TEXT, Vocabularies({"text": tokenizer}), folder, needed=needed)
    return tables(folder, TEXT)


def of_texts(folder, tokenizer, split, texts):
    return stored(folder, tokenizer, (Example(split, {"text": text}, last=last) for text, last in texts), split)[
        split
    ]


def made(tmp_path, tokenizer, *texts):
    return of_texts(tmp_path / "tables", tokenizer, "train", texts).columns["text"]


def test_a_column_of_tokens_is_examples_between_boundaries(tmp_path, letters):
    table = of_texts(tmp_path, letters, "train", [("abc", True), ("d", True), ("ef", True)])
    text = table.columns["text"]
    a, b, c, d, e, f = (letters.encode(letter)[0] for letter in "abcdef")
    eos = letters.eos
    assert text.values.tolist() == [eos, a, b, c, eos, d, eos, e, f, eos]
    assert text.offsets.tolist() == [0, 4, 6, 9]
    unit = text.values[text.offsets[1] : text.offsets[2] + 1]
    assert unit.tolist() == text.of(1).tolist() == [eos, d, eos]
    (row,) = table.fetch(Rows(np.array([4]), np.array([2])), Traits())["text"]
    assert row.tolist() == [eos, d, eos]
    assert len(table) == 3
    assert [row.tolist() for row in text.contents(np.array([0, 6]), np.array([4, 3]))] == [[a, b, c], [e, f]]


def test_a_stream_has_boundaries_at_its_ends_only(tmp_path, letters):
    text = made(tmp_path, letters, ("ab", False), ("c", False), ("d", True))
    assert letters.decode(text.values.tolist()[1:-1]) == "abcd"
    assert text.offsets.tolist() == [0, 5]


def test_bytes_are_those_of_the_text_and_one_for_each_boundary(tmp_path, letters):
    assert made(tmp_path, letters, ("aü", True), ("🙂", True)).bytes == 3 + 1 + 4 + 1


def test_bytes_of_lines_are_the_size_of_the_file(write, tmp_path, letters):
    text = "abü\ncd 🙂\n"
    data = Data(train=write("a.txt", text), split=(1.0,))
    found = stored(tmp_path / "tables", letters, examples(data))
    assert found["train"].columns["text"].bytes == len(text.encode())


def held_out(tmp_path, tokenizer, *texts):
    return of_texts(tmp_path / "held", tokenizer, "test", texts).columns["text"]


def test_bytes_of_held_out_text_are_those_that_tokens_stand_for(tmp_path):
    words = Tokenizer.train(iter(["a b c d <unk> é"]), kind="word", size=50)
    text = held_out(tmp_path, words, ("  a  b\n", False), ("c <unk>  é\n\n", True))
    assert text.bytes == len("a b\nc <unk> é\n".encode())
    assert not text.lost


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "wordpiece", "unigram", "sentencepiece"])
@pytest.mark.parametrize("lower", [False, True])
def test_a_lost_letter_is_noticed_in_every_kind(tmp_path, kind, lower):
    tokenizer = Tokenizer.train(iter(["the cat sat , the Cat ran"] * 9), kind=kind, size=300, lower=lower)
    text = held_out(tmp_path, tokenizer, ("the cat  ran", True), ("the Cat sat", True))
    assert text.lost == ("Cat" if lower else "")


def test_held_out_text_is_kept_letter_for_letter_and_training_text_is_not(tmp_path, letters):
    parts = [("test", "Äb  c", True), ("train", "ab", True), ("test", "d\n", False), ("test", "🙂", True)]
    found = (Example(split, {"text": text}, last=last) for split, text, last in parts)
    loaded = stored(tmp_path / "tables", letters, found)
    test, text = loaded["test"], loaded["test"].columns["text"]
    assert text.raw(np.array([1, 0])) == ["d\n🙂", "Äb  c"]
    assert text.raw(test.examples_of(Rows(*test.cut(Traits())), "text")) == ["Äb  c", "d\n🙂"]
    assert "held-out" in refusal(lambda: loaded["train"].columns["text"].raw(np.array([0])))


def test_small_vocabularies_take_two_bytes_a_token(tmp_path, letters):
    assert made(tmp_path, letters, ("abc", True)).values.dtype == np.uint16


@pytest.mark.parametrize("count", [storing.BLOCK, 2 * storing.BLOCK + 1])
def test_blocks_leave_no_trace(tmp_path, letters, count):
    text = made(tmp_path, letters, *[("ab", True)] * count)
    assert text.offsets.tolist() == list(range(0, 3 * count + 1, 3))
    assert len(text.values) == 3 * count + 1


@settings(max_examples=60)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(0, 12))
def test_windows_of_long_examples_cover_each_token_once(lengths, longest):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    text = Stored(TEXT["text"], np.arange(offsets[-1] + 1), offsets)
    starts, sizes = Table(len(lengths), {"text": text}).cut(Traits(context=longest))
    covered = [place for a, n in zip(starts.tolist(), sizes.tolist(), strict=True) for place in range(a, a + n)]
    assert covered == list(range(offsets[-1]))
    assert not longest or max(sizes) <= longest
    assert set(offsets[:-1].tolist()) <= set(starts.tolist())  # no window reaches over the end of an example


def test_nothing_left_to_learn_from_is_said(write, tmp_path, letters):
    data = Data(train=write("a.txt", "###\n"), clean=("drop_symbols",), split=(1.0,))
    assert "train" in refusal(lambda: stored(tmp_path / "tables", letters, examples(data)))


def test_cleaning_in_stages_counts_words_in_the_training_file_only(tmp_path):
    train, valid = tmp_path / "train.txt", tmp_path / "valid.txt"
    train.write_text("The cat sat .\n" * 3 + "The DOG sat .\n" + "the the the the the the\n")
    valid.write_text("the dog sat .\nthe cat sat .\n")
    data = Data(train=str(train), valid=str(valid), split=(1.0,), clean=("lower",), rare=(1, 2), max_words=(5, 4))
    texts = [(example.split, text_of(example)) for example in examples(data)]
    # "dog" is seen once in training and goes, also from validation; the line of six words goes
    assert texts == [("train", "the cat sat .")] * 3 + [
        ("train", "the sat ."),
        ("valid", "the sat ."),
        ("valid", "the cat sat ."),
    ]


def test_a_dictionary_judges_lines_after_the_rules_and_the_stages(tmp_path, write):
    train = write("train.txt", "The cat sat .\nThe CAT sat .\nThe dog sat 7 times .\nIt's the cat .\n")
    words = write("words.txt", "the\n\nCat\nsat\nIt's\n")
    rules = ("contractions", "numbers", "lower", "dictionary")
    data = Data(train=train, split=(1.0,), clean=rules, dictionary=words)
    assert [text_of(example) for example in examples(data)] == ["the cat sat ."] * 2 + ["it s the cat ."]
    staged = Data(train=train, split=(1.0,), clean=rules, dictionary=words, rare=(1,), max_words=(9,))
    # seen once: dog, <num>, times, it, s. They go first, so that the third line has no word outside the dictionary
    assert [text_of(example) for example in examples(staged)] == ["the cat sat ."] * 2 + ["the sat .", "the cat ."]


@pytest.mark.parametrize(
    ("rules", "file", "parts"),
    [
        (("dictionary",), "", ["'dictionary'", "data.dictionary", "name the file"]),
        (("lower",), "words.txt", ["data.dictionary", "data.clean"]),
        (("lowr", "dictionary"), "words.txt", ["There is no cleaning rule 'lowr'"]),
        (("dictionary",), "wrods.txt", ["data.dictionary", "wrods.txt", "no such file", "'words.txt'"]),
        (("dictionary",), "empty.txt", ["data.dictionary", "empty.txt is empty"]),
    ],
)
def test_a_dictionary_that_cannot_be_used_is_refused(tmp_path, write, rules, file, parts):
    write("words.txt", "the\n")
    write("empty.txt", "\n")
    data = Data(train="grammar", clean=rules, dictionary=str(tmp_path / file) if file else "")
    sentence = refusal(lambda: list(examples(data)))
    for part in parts:
        assert part in sentence


def test_stages_need_as_many_lengths_as_counts():
    with pytest.raises(UsageError, match=r"data\.rare and data\.max_words"):
        list(examples(Data(train="grammar", rare=(1, 2), max_words=(5,))))


def test_a_table_names_each_vocabulary_by_the_first_column_that_has_it():
    columns = {"source": Column("tokens", "source"), "target": Column("tokens"), "other": Column("tokens")}
    stored = {name: Stored(column, np.zeros(0, np.int64)) for name, column in columns.items()}
    assert Table(0, stored).vocabularies == ["source", "target"]
    assert Table(0, {"frames": Stored(Column("vectors"), np.zeros((0, 2)))}).vocabularies == []
