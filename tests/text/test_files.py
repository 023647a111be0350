"""Files as people have them: every form that text comes in, made here and read back."""

import bz2
import io
import json
import os
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Data
from lexigraph.text import corpus, files, readers
from lexigraph.text.check import check
from lexigraph.text.columns import Column
from lexigraph.text.remarks import remarks
from lexigraph.text.source import Source

TEXT = {"text": Column("tokens")}
PAIRS = {"source": Column("tokens"), "target": Column("tokens")}


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def texts(*names, **settings):
    """The texts of a training split that takes everything."""
    named = files.named([Path(name) for name in names])
    data = Data(train=named, split=(1.0,), **settings)
    return [example.values["text"] for example in corpus.examples(data, TEXT) if example.values["text"]]


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


# ---- several files, folders, patterns ----


def test_several_files_are_read_in_the_order_given(write):
    one, two = write("b.txt", "first\n"), write("a.txt", "second")
    assert texts(one, two) == ["first", "second"]


def test_a_folder_stands_for_its_texts_in_sorted_order_without_what_is_no_text(write, tmp_path):
    write("t/b.txt", "b\n")
    write("t/a/deep.md", "deep\n")
    write("t/c.txt.gz", __import__("gzip").compress(b"c\n"))
    write("t/.hidden", "no\n")
    write("t/.git/config", "no\n")
    write("t/picture.png", b"\x89PNG\0\0")
    write("t/empty.txt", "")
    with pytest.warns(UserWarning, match=r"3 files; left out: 2 hidden, 1 empty, 1 \.png"):
        assert texts(tmp_path / "t") == ["deep", "b", "c"]


def test_a_pattern_stands_for_the_files_that_fit(write, tmp_path):
    write("one.txt", "1\n")
    write("two.txt", "2\n")
    write("other.md", "3\n")
    assert texts(f"{tmp_path}/*.txt") == ["1", "2"]
    assert texts(write("odd[1].txt", "a file of that name comes first\n")) == ["a file of that name comes first"]


def test_every_file_is_a_document(write, tmp_path):
    for number in range(40):
        write(f"t/{number:02}.txt", f"first line of {number}\nsecond\n")
    found = list(corpus.examples(Data(train=str(tmp_path / "t"), documents="file"), TEXT))
    assert [example.document for example in found] == [number for number in range(40) for _ in "ab"]
    by_file = {example.document: set() for example in found}
    for example in found:
        by_file[example.document].add(example.split)
    assert all(len(splits) == 1 for splits in by_file.values())  # no file straddles a split
    assert {"train"} < set().union(*by_file.values())


def test_a_stream_of_several_files_ends_a_unit_with_each(write):
    one, two = write("a.txt", "one\n"), write("b.txt", "two\n")
    data = Data(train=(str(one), str(two)), unit="stream", split=(1.0,))
    pieces = [(example.values["text"], example.last) for example in corpus.examples(data, TEXT)]
    assert pieces == [("one\n", False), ("", True), ("two\n", False), ("", True)]


def test_files_of_several_formats_are_refused(write, tmp_path):
    write("t/a.txt", "a")
    write("t/b.tsv", "a\tb")
    with pytest.raises(LexigraphError, match=r"several formats: text .*a\.txt.*tsv"):
        files.expand(str(tmp_path / "t"))


def test_pairs_come_from_several_tables(write):
    one, two = write("a.tsv", "ein\ta\nzwei\tb\n"), write("b.tsv", "drei\tc\n")
    data = Data(train=(str(one), str(two)), split=(1.0,))
    found = [example.values for example in corpus.examples(data, PAIRS)]
    assert found == [
        {"source": "ein", "target": "a"},
        {"source": "zwei", "target": "b"},
        {"source": "drei", "target": "c"},
    ]


# ---- archives ----


def test_a_zip_is_read_member_by_member_and_never_unpacked(tmp_path):
    members = {
        "b.txt": "b\n",
        "a/deep.txt": "deep\n",
        "../out.txt": "no",
        "picture.png": b"\x89PNG\0\0",
        "n.zip": b"PK",
    }
    path = zipped(tmp_path / "t.zip", members)
    with pytest.warns(UserWarning, match=r"2 files; left out: "):
        assert texts(path) == ["deep", "b"]
    assert texts(f"{path}/b.txt") == ["b"]
    assert os.listdir(tmp_path) == ["t.zip"]


def test_a_zip_bomb_and_an_encrypted_member_are_refused(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", {"a.txt": b"a" * (11 << 20)})
    with pytest.raises(LexigraphError, match=r"a\.txt would unpack 1.* zip bomb"):
        texts(bomb)
    path = zipped(tmp_path / "secret.zip", {"a.txt": "a"})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of the member, and of its entry in the list
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(LexigraphError, match=r"a\.txt is encrypted"):
        texts(path)


def test_bz2_is_read_like_gz_and_xz(write):
    assert texts(write("a.txt.bz2", bz2.compress(b"one\ntwo\n"))) == ["one", "two"]


# ---- text that is in no file ----


def test_standard_input_is_read_as_often_as_needed(monkeypatch):
    monkeypatch.setattr(files, "_spooled", {})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("eins\nzwö\n".encode())))
    assert texts("-") == texts("-") == ["eins", "zwö"]


def test_a_pipe_is_read_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_spooled", {})
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("through\na pipe\n"))
    writer.start()
    assert texts(tmp_path / "pipe") == texts(tmp_path / "pipe") == ["through", "a pipe"]
    writer.join()


def test_lists_of_texts_lists_of_paths_and_generators_are_told_apart(write, monkeypatch):
    monkeypatch.setattr(files, "_spooled", {})
    path = write("a.txt", "in the file\n")
    assert files.named(path) == files.named(str(path)) == files.named([path]) == files.named([str(path)]) == str(path)
    assert files.named(["a.txt", "b.txt"]) == ("a.txt", "b.txt")  # they look like files, there or not

    def read(given):
        data = Data(train=files.named(given), split=(1.0,))
        return [example.values["text"] for example in corpus.examples(data, TEXT)]

    assert read(["a sentence", "another\nof two lines"]) == ["a sentence", "another\nof two lines"]
    assert read(f"number {n}" for n in range(3)) == ["number 0", "number 1", "number 2"]
    assert read(["a.txt", "is a file"]) == ["a.txt", "is a file"]
    records = files.named([{"source": "ein", "target": "a"}])
    (example,) = corpus.examples(Data(train=records, split=(1.0,)), PAIRS)
    assert example.values == {"source": "ein", "target": "a"}


@pytest.mark.parametrize("given", [[], (n for n in ("a", 2)), [Path("a.txt"), "a text"], {"text": "a"}, iter(())])
def test_what_is_neither_files_nor_texts_is_wrong_usage(given):
    with pytest.raises(UsageError):
        files.named(given)


# ---- tables ----


def test_csv_has_quotes_a_header_and_line_ends_in_fields(write):
    path = write("a.csv", 'id,text\n1,"He said ""no"", twice"\n2,"two\nlines"\n\n3,plain\n')
    assert texts(path) == ['He said "no", twice', "two\nlines", "plain"]
    assert [record.line for record in readers.read(path)] == [2, 3, 6]


def test_csv_with_semicolons_by_number_and_by_name(write):
    path = write("a.csv", "\ufeffde;en\r\nein Haus;a house\r\n")
    data = Data(train=str(path), columns={"source": "de", "target": "en"}, split=(1.0,))
    assert [example.values for example in corpus.examples(data, PAIRS)] == [
        {"source": "ein Haus", "target": "a house"}
    ]
    assert texts(path, columns={"text": "2"}) == ["en", "a house"]  # numbers: no header


def test_tables_are_read_by_their_names_where_they_have_them(write):
    for name, between in (("a.csv", ","), ("a.tsv", "\t")):
        path = write(name, f"target{between}source\na{between}ein\n")
        (example,) = corpus.examples(Data(train=str(path), split=(1.0,)), PAIRS)
        assert example.values == {"source": "ein", "target": "a"}


def test_parquet(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = {"text": ["one", None, "three"], "label": ["x", "y", "z"], "book": ["a", "a", "b"]}
    parquet.write_table(arrow.table(table), path)
    assert texts(path) == ["one", "three"]
    assert [record.document for record in readers.read(path, documents="book")] == [0, 1]
    facts = check(path).files["train"]
    assert (facts.format, facts.records, facts.empty_lines, facts.kind) == ("parquet", 2, 1, "labels")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(LexigraphError, match=r"pip install 'lexigraph\[parquet\]'"):
        texts(tmp_path / "a.parquet")


# ---- encodings ----


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_text_with_a_byte_order_mark_is_read(write, encoding):
    content = "Änderung\r\n日本 𝄞\r\n" * 40_000  # of several blocks
    source = Source(write("a.txt", content.encode(encoding)))
    assert "".join(source) == content.replace("\r\n", "\n")
    assert source.bom
    assert source.bytes == len(content.encode(encoding))


def test_big_endian_utf16_is_read_too(write):
    assert texts(write("a.txt", b"\xfe\xff" + "naïve\n".encode("utf-16-be"))) == ["naïve"]


def test_another_encoding_is_read_when_it_is_named_and_utf8_stays_utf8(write):
    old, new = write("a.txt", "“café”\n".encode("cp1252")), write("b.txt", "“café”\n")
    late = write("c.txt", b"x\n" * 200_000 + "déjà\n".encode("cp1252"))
    assert texts(old, new, encoding="cp1252") == ["“café”", "“café”"]
    assert texts(late, encoding="cp1252")[-1] == "déjà"
    with pytest.raises(LexigraphError) as caught:
        texts(old)
    command = f"iconv -f WINDOWS-1252 -t UTF-8 {old} > a.utf8.txt"
    assert f"--set data.encoding=cp1252, or convert it: {command}" in str(caught.value)
    with pytest.raises(UsageError, match="cp1251x"):
        texts(old, encoding="cp1251x")


def test_utf16_that_was_cut_is_refused(write):
    with pytest.raises(LexigraphError, match="cut short"):
        texts(write("a.txt", "hello\n".encode("utf-16")[:-1]))


# ---- sentences, checks ----


def test_running_text_becomes_sentences_with_its_documents(write):
    path = write("a.txt", "Mr. Smith came to\ntown. He left.\n\nA new part.\n")
    assert texts(path, split_sentences=True) == ["Mr. Smith came to town.", "He left.", "A new part."]
    data = Data(train=str(path), split_sentences=True, documents="blank", split=(1.0,))
    assert [example.document for example in corpus.examples(data, TEXT)] == [0, 0, 1]
    table = write("a.jsonl", json.dumps({"text": "One. Two."}) + "\n" + json.dumps({"text": "Three."}) + "\n")
    data = Data(train=str(table), split_sentences=True, documents="line", split=(1.0,))
    found = [(example.values["text"], example.document) for example in corpus.examples(data, TEXT)]
    assert found == [("One.", 0), ("Two.", 0), ("Three.", 1)]


def test_a_folder_is_checked_as_one_text(write, tmp_path):
    write("t/a.txt", "one two\n")
    write("t/b.txt", "three\n\nfour five six\n")
    report = check(tmp_path / "t")
    facts = report.files["train"]
    assert (facts.files, facts.lines, facts.records, facts.words) == (2, 4, 3, 6)
    assert facts.longest_in.endswith("b.txt")
    assert f"--data {tmp_path / 't'} " in report.commands[0]


WRAPPED = "\n".join(["It was the best of times, it was the worst of times, and so it went"] * 300)


def said(path, fields=("text",), words_are="bpe", **settings):
    return " ".join(remarks(Data(train=str(path), **settings), fields, words_are))


def test_what_does_not_fit_a_recipe_is_said_before_training(write):
    wrapped = write("wrapped.txt", WRAPPED)
    assert "--split-sentences" in said(wrapped)
    assert said(wrapped, unit="stream").count("wrapped at") == 0
    assert said(wrapped, split_sentences=True).count("wrapped at") == 0
    assert "looks like pairs" in said(write("pairs.csv", "source,target\nein Haus,a house\n" * 9))
    assert "name the file .tsv" in said(write("tabs.txt", "ein Haus\ta house\n" * 9))
    chinese = write("chinese.txt", "我喜欢猫。\n" * 50)
    assert "tokenizer.kind=char" in said(chinese, words_are="word")
    assert "words.split=characters" in said(chinese, words_are="words")
    assert "without white space" not in said(chinese, words_are="bpe")
    assert "only 4 words" in said(write("short.txt", "one two\nthree four\n"))
    assert said(write("fine.txt", "".join(f"This is sentence {n} of the text .\n" for n in range(2000)))) == ""
