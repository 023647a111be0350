"""Reading files: what comes out of each format, and the sentence that each kind of bad file gets."""

import gzip
import io
import json
import lzma
import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.text import source
from lexigraph.text.readers import Record, file_format, read, read_lines, read_text


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        if name.endswith(".gz"):
            data = gzip.compress(data)
        elif name.endswith(".xz"):
            data = lzma.compress(data)
        path.write_bytes(data)
        return path

    return write_file


def texts(path, **options):
    return [record.columns["text"] for record in read(path, **options)]


def refusal(action):
    with pytest.raises(LexigraphError) as caught:
        action()
    return str(caught.value)


# ---- plain text ----


def test_lines_with_their_numbers_and_blank_ones_skipped(write):
    path = write("a.txt", "one\n\n  two \n \t\nthree")
    assert list(read(path)) == [
        Record({"text": "one"}, 0, 1),
        Record({"text": "  two "}, 0, 3),
        Record({"text": "three"}, 0, 5),
    ]


def test_lines_end_at_newlines_only_whatever_their_style(write):
    path = write("a.txt", b"\xef\xbb\xbfone\r\ntwo\rthree\n" + "a\u2028b\u0085c\x0cd\x1ee\n".encode())
    assert texts(path) == ["one", "two", "three", "a\u2028b\u0085c\x0cd\x1ee"]
    assert "".join(read_text(path)) == "one\ntwo\nthree\na\u2028b\u0085c\x0cd\x1ee\n"


def test_runs_of_blank_lines_separate_documents(write):
    path = write("a.txt", "\n\na\nb\n\n\nc\n\nd\n\n")
    assert [(record.columns["text"], record.document) for record in read(path, documents="blank")] == [
        ("a", 0),
        ("b", 0),
        ("c", 1),
        ("d", 2),
    ]
    assert {record.document for record in read(path, documents="file")} == {0}


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "plain"])
def test_compression_is_told_by_the_suffix(write, name):
    assert texts(write(name, "eins\nzwei ß\n")) == ["eins", "zwei ß"]


def test_a_limit_stops_early(write):
    assert texts(write("a.txt", "a\nb\nc\n"), limit=2) == ["a", "b"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet=st.sampled_from("ab é€😀\r\n\t\u2028\u0085"), min_size=1, max_size=60).map("x".__add__),
    block=st.integers(1, 9),
    piece=st.integers(1, 9),
)
def test_blocks_and_pieces_of_any_size_give_the_same_text(write, monkeypatch, text, block, piece):
    monkeypatch.setattr(source, "BLOCK_BYTES", block)
    monkeypatch.setattr(source, "PIECE_CHARS", piece)
    path = write("a.txt", text)
    expected = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline=None).read()
    parts = list(read_text(path))
    assert "".join(parts) == expected
    assert max(map(len, parts)) <= piece
    numbered = [(number, line) for number, line in enumerate(expected.split("\n"), 1) if line.strip()]
    assert [(record.line, record.columns["text"]) for record in read(path)] == numbered
    assert list(read_lines(path)) == [line for _, line in numbered]


def test_stream_pieces_are_whole_lines_and_long_lines_are_cut_at_spaces(write):
    path = write("a.txt", "short line\n" * 20_000 + "word " * 40_000 + "\n" + "x" * 200_000)
    parts = list(read_text(path))
    assert "".join(parts) == path.read_text()
    assert max(map(len, parts)) <= 1 << 16
    whole = [part for part in parts if part.startswith("short")]
    assert all(part.endswith("\n") and len(part) > 60_000 for part in whole[:-1])
    assert all(part.endswith(" ") for part in parts if part.startswith("word") and "\n" not in part)
    assert "x" * (1 << 16) in parts


# ---- JSON lines ----


def test_json_fields_by_map_with_numbers_lists_and_nested_fields(write):
    rows = [
        {"sentence": "a\u2028b", "label": 3, "words": ["x", "y"], "translation": {"de": "eins"}},
        {"sentence": "", "label": 0.5, "words": [], "translation": {"de": "zwei"}},
    ]
    path = write("a.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n")
    columns = {"text": "sentence", "label": "label", "tokens": "words", "target": "translation.de"}
    assert list(read(path, columns)) == [
        Record({"text": "a\u2028b", "label": 3, "tokens": ["x", "y"], "target": "eins"}, 0, 1),
        Record({"text": "", "label": 0.5, "tokens": [], "target": "zwei"}, 0, 2),
    ]


def test_a_json_document_begins_where_a_field_changes(write):
    lines = [{"text": text, "book": book} for text, book in [("a", 1), ("b", 1), ("c", 2), ("d", 1)]]
    path = write("a.ndjson.gz", "\n".join(map(json.dumps, lines)))
    assert [record.document for record in read(path, documents="book")] == [0, 0, 1, 2]
    assert "".join(read_text(path)) == "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ('{"text": "a"}\n{"text": }\n', ["line 2", "column 10", "broken JSON"]),
        ('[\n{"text": "a"}\n]\n', ["line 1", "one object per line"]),
        ('[{"text": "a"}]\n', ["line 1", "not a JSON object", "one object per line"]),
        ('{"text": "a"}\n{"txet": "a", "id": 1}\n', ["line 2", "no field 'text'", "did you mean 'txet'"]),
        ('{"text": null}\n', ["line 1", "'text'", "null"]),
        ('{"text": {"a": 1}}\n', ["line 1", "'text'", '{"a": 1}']),
        ('{"text": "\\ud800"}\n', ["line 1", "surrogate"]),
        ('{"text": 1' + "0" * 5000 + "}\n", ["line 1", "cannot be read"]),
    ],
)
def test_bad_json_is_refused_with_its_place(write, content, parts):
    path = write("bad.jsonl", content)
    message = refusal(lambda: list(read(path)))
    for part in [str(path), *parts]:
        assert part in message


# ---- TSV ----


def test_tsv_columns_by_number_by_name_and_by_default(write):
    bare = write("a.tsv", "eins\tone\nzwei\ttwo\textra\n")
    assert [record.columns for record in read(bare, {"source": "1", "target": "2"})] == [
        {"source": "eins", "target": "one"},
        {"source": "zwei", "target": "two"},
    ]
    assert texts(bare) == ["eins", "zwei"]
    headed = write("b.tsv", 'id\tsentence\tlabel\n7\tsay "hi"\tgood\n')
    assert list(read(headed, {"text": "sentence", "label": "3"})) == [
        Record({"text": 'say "hi"', "label": "good"}, 0, 2)
    ]
    assert texts(write("c.tsv", "id\ttext\n1\thello\n")) == ["hello"]


def test_a_label_that_is_a_number_is_not_taken_for_a_header(write):
    path = write("a.tsv", "1\tgood film\n2\tbad film\n")
    assert texts(path, columns={"label": "1", "text": "2"}) == ["good film", "bad film"]


def test_a_tsv_document_begins_where_a_column_changes(write):
    path = write("a.tsv", "doc\ttext\nx\ta\nx\tb\ny\tc\n")
    assert [record.document for record in read(path, {"text": "text"}, documents="doc")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("content", "columns", "parts"),
    [
        ("a\tb\nc\n", {"source": "1", "target": "2"}, ["line 2", "after field 1", "field 2"]),
        ("id\tsentence\n1\ta\n", {"text": "sentense"}, ["line 1", "'sentense'", "did you mean 'sentence'"]),
        ("id\tsentence\n1\ta\n", {"text": "qqq"}, ["line 1", "'qqq'", "there are", "id, sentence"]),
        ("a\n", {"text": "0"}, ["counted from 1"]),
        ("id\ttext\n", None, ["header", "nothing after it"]),
    ],
)
def test_a_bad_tsv_file_is_refused(write, content, columns, parts):
    path = write("bad.tsv", content)
    message = refusal(lambda: list(read(path, columns)))
    for part in [str(path), *parts]:
        assert part in message


# ---- CoNLL ----

CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

# # B-NP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""

CONLLU = """# newdoc id = first
# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_

# newdoc id = second
1\tmar\tmar\tNOUN\t_\t_\t0\troot\t_\t_

"""


def test_conll_sentences_documents_and_a_hash_that_is_a_word(write):
    assert list(read(write("a.conll", CONLL_2003))) == [
        Record({"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}, 0, 3),
        Record({"tokens": ["#"], "tags": ["O"]}, 0, 6),
        Record({"tokens": ["Peter"], "tags": ["B-PER"]}, 1, 10),
    ]
    chunks = [record.columns["chunk"] for record in read(write("a.bio", CONLL_2003), {"chunk": "3"})]
    assert chunks == [["B-NP", "B-VP"], ["B-NP"], ["B-NP"]]


def test_conllu_words_without_spans_and_empty_nodes(write):
    path = write("a.conllu", CONLLU)
    assert list(read(path)) == [
        Record({"tokens": ["vamos", "nos"], "tags": ["VERB", "PRON"]}, 0, 5),
        Record({"tokens": ["mar"], "tags": ["NOUN"]}, 1, 10),
    ]
    assert next(read(path, {"heads": "HEAD", "lemmas": "3"})).columns == {
        "heads": ["0", "1"],
        "lemmas": ["ir", "nosotros"],
    }
    assert "".join(read_text(path)) == "vamos nos\nmar\n"


@pytest.mark.parametrize(
    ("content", "columns", "parts"),
    [
        ("a B-X\nb\n", None, ["line 2", "after column 1", "first token has 2"]),
        ("a X\n", {"tokens": "5"}, ["line 1", "no field '5'", "there are", "1, 2"]),
        ("word\n", None, ["line 1", "at least two columns"]),
        ("-DOCSTART- O\n\n", None, ["document mark and nothing after it"]),
    ],
)
def test_a_bad_conll_file_is_refused(write, content, columns, parts):
    path = write("bad.conll", content)
    message = refusal(lambda: list(read(path, columns)))
    for part in [str(path), *parts]:
        assert part in message


def test_a_column_file_without_blank_lines_is_refused_before_it_fills_memory(write):
    path = write("bad.conll", "\n" + "a X\n" * 100_001)
    assert "line 2" in (message := refusal(lambda: list(read(path))))
    assert "blank line must end each sentence" in message


# ---- files that cannot be read ----


def test_a_missing_file_suggests_close_names_at_once(write, tmp_path):
    write("train.txt", "a")
    message = refusal(lambda: read(tmp_path / "trian.txt"))
    assert "trian.txt: no such file" in message
    assert "'train.txt'" in message
    assert "no folder" in refusal(lambda: read(tmp_path / "nowhere" / "a.txt"))
    assert "is a folder" in refusal(lambda: read_text(tmp_path))


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "\ufeff\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.tsv", "a.conll"])
def test_an_empty_file_is_refused(write, name, content):
    path = write(name, content)
    assert f"{path} is empty" in refusal(lambda: list(read(path)))
    assert f"{path} is empty" in refusal(lambda: list(read_text(path)))


def test_a_binary_file_is_refused(write):
    path = write("a.txt", b"MZ\n\x90\x00\x03")
    path_later = write("b.txt", b"line\r\n" * 3 + b"ab\x00")
    assert "looks binary" in refusal(lambda: list(read(path)))
    message = refusal(lambda: list(read(path_later)))
    assert "line 4" in message
    assert "byte offset 20" in message
    unmarked = refusal(lambda: list(read(write("c.txt", "hello there".encode("utf-16-le")))))
    assert "UTF-16 without a byte order mark" in unmarked
    assert "data.encoding=utf-16-le" in unmarked


@pytest.mark.parametrize("before", [0, 3, source.BLOCK_BYTES // 5 + 7])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_invalid_utf8_names_line_offset_and_likely_encoding(write, before, name):
    path = write(name, "\u20ac\r\n".encode() * before + b"ok caf\xe9 au lait\n")
    message = refusal(lambda: list(read(path)))
    assert f"line {before + 1} " in message
    assert f"byte offset {before * 5 + 6}" in message
    assert "0xE9" in message
    assert "Latin-1, where that byte is 'é'" in message


def test_windows_quotes_and_a_cut_character_are_told_apart(write):
    assert "Windows-1252, where that byte is '“'" in refusal(lambda: list(read(write("a.txt", b"say \x93hi\x94"))))
    message = refusal(lambda: list(read(write("b.txt", b"one\ntwo \xe2\x82"))))
    assert "line 2" in message
    assert "byte offset 8" in message
    assert "cut short" in message


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_damaged_and_truncated_compressed_files_are_refused(write, suffix, tmp_path):
    noise = random.Random(0)
    whole = write("a.txt" + suffix, "".join(f"{noise.random()}\n" for _ in range(5000))).read_bytes()
    truncated = tmp_path / ("b.txt" + suffix)
    truncated.write_bytes(whole[: len(whole) // 2])
    assert "truncated" in (message := refusal(lambda: list(read(truncated))))
    assert str(truncated) in message
    damaged = tmp_path / ("c.txt" + suffix)
    damaged.write_bytes(whole[:1000] + bytes(200) + whole[1200:])
    assert "damaged" in refusal(lambda: list(read(damaged)))
    plain = tmp_path / ("d.txt" + suffix)
    plain.write_bytes(b"only text\n")
    assert f"ends in {suffix} but is damaged or not such a file" in refusal(lambda: list(read(plain)))
    renamed = tmp_path / "e.txt"
    renamed.write_bytes(whole)
    assert f"ends in {suffix}" in refusal(lambda: list(read(renamed)))


def test_a_line_over_the_limit_is_refused_by_number_and_length(write):
    path = write("a.txt", "short\n" + "x" * 11 + "\nlast\n")
    assert texts(path, max_chars=11) == ["short", "x" * 11, "last"]
    message = refusal(lambda: list(read(path, max_chars=10)))
    for part in [str(path), "line 2", "11 characters", "data.max_chars", 'data.unit = "stream"']:
        assert part in message


def test_an_endless_line_is_refused_without_reading_it_whole_and_streams_well(write):
    path = write("a.txt", b"first\n" + b"y" * 10_000_000)
    tracemalloc.start()
    message = refusal(lambda: list(read(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "line 2" in message
    assert "at least 1," in message
    assert peak < 8_000_000
    assert sum(map(len, read_text(path))) == 10_000_006


# ---- what the request may say ----


def test_formats_by_name():
    names = ["a", "a.txt", "a.txt.gz", "a.JSON", "a.b.jsonl.xz", "a.tsv", "a.conllu", "a.conll.gz", "v1.2"]
    assert [file_format(name) for name in names] == (
        ["text", "text", "text", "json", "json", "tsv", "conllu", "conll", "text"]
    )
    assert [file_format(name) for name in ("a.csv", "a.CSV.gz", "a.parquet")] == ["csv", "csv", "parquet"]
    assert "unpack" in refusal(lambda: file_format("texts.7z"))
    assert "save its text" in refusal(lambda: file_format("letter.docx"))


def test_requests_that_do_not_fit_the_file_are_refused(write):
    plain, table, tags = write("a.txt", "a"), write("a.tsv", "a\tb"), write("a.conll", "a X")
    assert "one column" in refusal(lambda: read(plain, documents="book"))
    assert "one column" in refusal(lambda: read(plain, {"source": "1", "target": "2"}))
    assert "marks its documents itself" in refusal(lambda: read(tags, documents="blank"))
    assert "column 'text'" in refusal(lambda: read_text(table, columns={"source": "1"}))
    assert "max_chars is 0" in refusal(lambda: list(read(plain, max_chars=0)))
