"""Checking files: hand-counted facts, leakage between splits, guesses about the kind, and warnings."""

import gzip
import json
import random
import subprocess
import sys

import pytest

from lexigraph.errors import LexigraphError
from lexigraph.text import check as module
from lexigraph.text import tally
from lexigraph.text.check import check


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


def only(report):
    (facts,) = report.files.values()
    return facts


def test_what_a_small_file_holds_counted_by_hand(write):
    path = write("a.txt", "the cat sat .\n\nthe dog\n \nthe cat sat .\nα b c d e")
    facts = only(check(path))
    assert (facts.format, facts.bytes, facts.lines, facts.empty_lines) == ("text", 49, 6, 2)
    assert (facts.records, facts.documents) == (4, 3)
    assert facts.characters == 13 + 7 + 13 + 9
    assert (facts.words, facts.distinct_words) == (15, 10)
    assert facts.line_words == tally.Lengths(2, 4, 5, 5, longest_line=6)
    assert facts.line_chars == tally.Lengths(7, 9, 13, 13, longest_line=1)
    assert (facts.duplicates, facts.duplicate_share, facts.estimated) == (1, 0.25, ())
    assert facts.scripts == {"LATIN": 28 / 29, "GREEK": 1 / 29}
    assert facts.line_endings == {"\\n": 5}


def test_compressed_files_are_measured_by_their_text(write):
    facts = only(check(write("a.txt.gz", "one two\n" * 500)))
    assert (facts.format, facts.bytes, facts.words, facts.duplicates) == ("text.gz", 4000, 1000, 499)


def test_encoding_troubles_are_counted_and_told(write):
    content = (
        "\ufeffcafe\u0301 caf\u00e9\r\nlost \ufffd and \ufffd\nbell \x07 tab\there\rno\u00a0break \u2603 \u2603\n"
    )
    report = check(write("a.txt", content))
    facts = only(report)
    assert facts.byte_order_mark
    assert facts.replacement_characters == 2
    assert facts.control_characters == 1
    assert facts.not_composed_lines == 1
    assert facts.line_endings == {"\\n": 2, "\\r\\n": 1, "\\r": 1}
    assert facts.unusual == {
        "SNOWMAN": 2,
        "REPLACEMENT CHARACTER": 2,
        "NO-BREAK SPACE": 1,
        "U+0007": 1,
    }
    told = "\n".join(report.warnings)
    for part in ["U+FFFD (2)", "control characters (1)", "not composed (NFC) in 1", "mixes line ends", "only"]:
        assert part in told


def test_a_clean_file_gets_no_warning(write):
    lines = [f"Sentence number {number} has a few words in it ." for number in range(2000)]
    assert check(write("a.txt", "\n".join(lines) + "\n")).warnings == []


# ---- leakage ----


def test_leakage_exact_and_but_for_case_and_punctuation(write):
    train = write("train.txt", "The cat sat.\nA dog ran.\nDon't go!\nकी किताब\n")
    valid = write("valid.txt", "A dog ran.\nthe cat sat\ndo n't go !\nका किताब\nnew line\n")
    test = write("test.txt", "Nothing of it.\n")
    report = check({"train": train, "valid": valid, "test": test})
    by_split = {leak.split: leak for leak in report.leaks}
    assert (by_split["valid"].records, by_split["valid"].against) == (5, "train")
    assert by_split["valid"].exact == pytest.approx(1 / 5)
    assert by_split["valid"].folded == pytest.approx(3 / 5)
    assert (by_split["test"].exact, by_split["test"].folded) == (0, 0)
    (warning,) = [warning for warning in report.warnings if "in train too" in warning]
    assert "20.0%" in warning
    assert "60.0%" in warning
    assert list(report.files) == ["train", "valid", "test"]


def test_a_held_out_text_with_another_label_is_a_leak(write):
    train = write("train.tsv", "a good film\tpos\na bad film\tneg\nso good\tpos\nso bad\tneg\n")
    valid = write("valid.tsv", "a good film\tneg\nother\tpos\n")
    (leak,) = check({"train": train, "valid": valid}, columns={"text": "1", "label": "2"}).leaks
    assert (leak.exact, leak.folded) == (0, 0.5)


def test_repeated_held_out_lines_each_count(write):
    train, valid = write("t.txt", "x y\n"), write("v.txt", "x y\nx y\nx y\nz\n")
    (leak,) = check({"train": train, "valid": valid}).leaks
    assert leak.exact == 0.75


# ---- bounded memory ----


def test_beyond_the_limits_counts_are_close_estimates(write, monkeypatch):
    monkeypatch.setattr(tally, "MOST", 4000)
    chosen = random.Random(0)
    lines = [f"word{chosen.randrange(10**9)} w{number % 15_000}" for number in range(30_000)]
    lines += lines[:10_000]  # 10,000 of 40,000 lines repeat; 30,000 + 15,000 distinct words
    facts = only(check(write("a.txt", "\n".join(lines))))
    assert facts.estimated == ("distinct words", "duplicates")
    assert facts.duplicate_share == pytest.approx(0.25, abs=0.06)
    assert facts.duplicates == pytest.approx(10_000, rel=0.25)
    assert facts.distinct_words == pytest.approx(45_000, rel=0.1)
    assert facts.words == 80_000


def test_few_duplicates_are_not_lost_in_the_error_of_an_estimate(write, monkeypatch):
    monkeypatch.setattr(tally, "MOST", 2000)
    lines = [f"line {number}" for number in range(30_000)]
    assert only(check(write("a.txt", "\n".join(lines)))).duplicates == 0
    facts = only(check(write("b.txt", "\n".join(lines + lines[:300]))))
    assert facts.estimated == ("distinct words", "duplicates")
    assert facts.duplicates == pytest.approx(300, rel=0.5)


@pytest.mark.parametrize("line", ["one", "two", "three", "four"])  # whether or not the sample holds it
def test_one_line_that_recurs_without_end_is_counted_though_a_sample_stands_for_all(write, monkeypatch, line):
    monkeypatch.setattr(tally, "MOST", 2000)
    lines = [f"line {number}" for number in range(10_000)] + [line] * 10_000
    assert only(check(write("a.txt", "\n".join(lines)))).duplicate_share == pytest.approx(0.5, abs=0.05)


def test_leaks_are_estimated_when_the_held_out_split_is_large(write, monkeypatch):
    monkeypatch.setattr(tally, "MOST", 2000)
    train = write("t.txt", "\n".join(f"line {number}" for number in range(0, 20_000, 4)))
    valid = write("v.txt", "\n".join(f"line {number}" for number in range(20_000)))
    (leak,) = check({"train": train, "valid": valid}).leaks
    assert leak.exact == pytest.approx(0.25, abs=0.06)
    assert leak.folded == pytest.approx(0.25, abs=0.06)


def test_lines_of_any_length_are_measured_and_compared(write):
    long = "word " * 30_000 + "x" * 150_000
    facts = only(check(write("a.txt", f"short one\n{long}\nshort\n\n{long}\n{long}")))
    assert (facts.lines, facts.records, facts.empty_lines) == (6, 5, 1)
    assert facts.line_chars.maximum == 300_000
    assert facts.line_chars.longest_line == 2
    assert facts.line_words.maximum == 30_001
    assert facts.characters == 9 + 5 + 3 * 300_000
    assert facts.duplicates == 2


# ---- kinds and commands ----

SENTENCES = "\n".join(f"This is sentence {number} , and it ends here ." for number in range(50))
WRAPPED = "\n".join(
    ("lorem ipsum dolor sit amet consectetur elit sed " * 2)[: 70 + number % 5] for number in range(50)
)
VERSE = "\n\n".join("SPEAKER:\nBefore we proceed any further,\nhear me speak with" for _ in range(20))
COLUMNS = "\n\n".join("the DT O\ncat NN O\nsat VB O" for _ in range(20))


@pytest.mark.parametrize(
    ("name", "content", "kind", "columns", "reason"),
    [
        ("a.txt", SENTENCES, "lines", {"text": "1"}, "data.unit = line"),
        ("a.txt", "\n".join(["word " * 900] * 5), "stream", {"text": "1"}, "median line is 900 words"),
        ("a.txt", "all in one line", "stream", {"text": "1"}, "one line"),
        ("a.txt", "a\n" + "b " * 600_000, "stream", {"text": "1"}, "Line 2 has 1,200,000 characters"),
        ("a.txt", WRAPPED, "stream", {"text": "1"}, "wrapped at about 74 characters"),
        ("a.txt", VERSE, "stream", {"text": "1"}, "Blank lines"),
        ("a.txt", "ein Haus\ta house\nzwei\ttwo\n", "pairs", {"text": "1"}, ".tsv"),
        ("a.txt", COLUMNS, "tags", {"text": "1"}, ".conll"),
        ("a.tsv", "ein Haus\ta house\nzwei\ttwo\n", "pairs", {"source": "1", "target": "2"}, "source = field 1"),
        ("a.tsv", "src\ttgt\nein\ta\n", "pairs", {"source": "src", "target": "tgt"}, "target = field tgt"),
        (
            "a.tsv",
            "good film\tpos\nbad\tneg\nfine\tpos\nawful\tneg\n",
            "labels",
            {"text": "1", "label": "2"},
            "labels",
        ),
        ("a.tsv", "1\tgood film\n0\tbad\n1\tfine\n0\tawful\n", "labels", {"text": "2", "label": "1"}, "labels"),
        (
            "a.tsv",
            "a\t1\t*\tno go\na\t0\t\tgo on\nb\t1\t\tgo up\nc\t0\t*\tup go\n",
            "labels",
            {"text": "4", "label": "2"},
            "",
        ),
        ("a.tsv", "id1\tone text\nid2\tmore text\n", "lines", {"text": "2"}, "data.unit = line"),
        ("a.tsv", "Haus\thouse\nKuh\tcow\n", "pairs", {"source": "1", "target": "2"}, "pairs"),
        ("a.jsonl", '{"sentence": "x y", "label": 1}\n', "labels", {"text": "sentence", "label": "label"}, "labels"),
        ("a.jsonl", "\n".join(['{"text": "One more ."}'] * 3), "lines", {"text": "text"}, "data.unit = line"),
        ("a.conll", COLUMNS, "tags", {"tokens": "1", "tags": "-1"}, "tags"),
    ],
)
def test_the_kind_and_the_columns_are_guessed_with_a_reason(write, name, content, kind, columns, reason):
    report = check(write(name, content))
    assert only(report).kind == kind
    assert only(report).columns == columns
    assert reason in only(report).reason


def test_commands_are_given_for_the_recipes_that_there_are(write):
    path = write("a.txt", SENTENCES)
    assert check(path).commands == (f"lexigraph train gpt --data {path} --set data.unit=line --out runs/gpt",)
    path = write("b.txt", WRAPPED)
    assert check(path).commands == (
        f"lexigraph train gpt --data {path} --set data.unit=stream --out runs/gpt",
        f"lexigraph train lstm-lm --data {path} --set data.unit=stream --out runs/lstm-lm",
        f"lexigraph train picture --data {path} --split-sentences --out runs/picture",
    )
    assert {"gpt", "bert", "picture", "skipgram"} <= set(check(path).recipes)
    assert "transformer" not in check(path).recipes
    (command,) = check(write("c.tsv", "id1\tone text\nid2\tmore text\n")).commands
    assert """--set 'data.columns={text = "2"}'""" in command
    assert check(write("e.txt", "ein\ta\nzwei\tb\n")).commands == ()  # a .tsv first


def test_pairs_are_for_the_recipes_that_say_so(write):
    path = write("a.tsv", "src\ttgt\nein Haus\ta house\n")
    report = check(path)
    columns = """--set 'data.columns={source = "src", target = "tgt"}'"""
    how = f"--data {path} {columns} --out runs"
    assert f"lexigraph train transformer {how}/transformer" in report.commands
    named = [command.split()[2] for command in report.commands]
    assert named == [
        "prefix-lm",
        "seq2seq",
        "transformer",
    ]  # not dates or transformer-multi30k-gpu, which are for other texts
    assert only(report).reason.endswith("the records are pairs.")


def test_two_files_line_by_line_are_pairs(write):
    german, english = write("a.de", "ein Haus\nein Hund\n"), write("a.en", "a house\na dog\n")
    report = check(f"{german}+{english}")
    assert (only(report).kind, only(report).records, only(report).lines) == ("pairs", 2, 4)
    assert f"lexigraph train transformer --data {german}+{english} --out runs/transformer" in report.commands
    shorter = write("b.en", "a house\n")
    with pytest.raises(LexigraphError, match=r"b\.en 1: line 2 of .*a\.de, 'ein Hund', has no counterpart"):
        check(f"en={german}+{shorter}")


def test_tables_of_words_and_tags_or_texts_and_labels_are_for_the_recipes_that_read_them(write):
    (command,) = check(path := write("b.conll", COLUMNS)).commands
    columns = """--set 'data.columns={tokens = "1", tags = "-1"}'"""
    assert command == f"lexigraph train tagger --data {path} {columns} --out runs/tagger"
    found = check(write("c.tsv", "text\tlabel\na fine film\tgood\na bad one\tbad\n")).commands
    assert [command.split()[2] for command in found] == ["bow", "classifier"]


def test_checking_needs_no_torch(write):
    path = write("a.tsv", "src\ttgt\nein Haus\ta house\n")
    code = f"import sys; from lexigraph.text.check import check; check({str(path)!r}); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_built_in_corpus_is_checked_by_its_name(monkeypatch):
    assert module.BUILT_IN == 60_000
    monkeypatch.setattr(module, "BUILT_IN", 3_000)
    report = check("grammar")
    assert (only(report).path, only(report).records, only(report).kind) == ("grammar", 3_000, "lines")
    assert "--data grammar" in report.commands[0]


def test_a_header_with_names_of_its_own_is_recognised_before_labels(write):
    rows = [f"{number}\tsome words about case {number}\t{'yes' if number % 3 else 'no'}" for number in range(30)]
    path = write("a.tsv", "\n".join(["pair\tSentence A\tverdict", *rows]))
    facts = only(check(path))
    assert facts.columns == {"text": "Sentence A", "label": "verdict"}
    assert (facts.lines, facts.records, facts.empty_lines) == (31, 30, 0)
    facts = only(check(write("b.tsv", "\n".join(rows))))
    assert (facts.columns, facts.records) == ({"text": "2", "label": "3"}, 30)


def test_records_of_tables_are_counted_by_what_the_model_reads(write):
    facts = only(check(write("a.conll", "-DOCSTART- O\n\nthe O\ncat O\n\n-DOCSTART- O\n\nshe O\n")))
    assert (facts.records, facts.documents, facts.words, facts.line_words.maximum) == (2, 2, 3, 2)
    facts = only(check(write("a.tsv", "source\ttarget\nein Haus\ta house\n\nja\tyes\n")))
    assert (facts.lines, facts.empty_lines, facts.records, facts.words) == (4, 1, 2, 6)
    assert facts.columns == {"source": "source", "target": "target"}


@pytest.mark.parametrize(
    ("head", "kind", "fitting"),
    [("0\troot", "dependencies", ("parser", "tagger")), ("_\t_", "tags", ("tagger",))],
    ids=["with trees", "without"],
)
def test_conllu_trains_a_parser_where_it_has_trees_and_a_tagger(write, head, kind, fitting):
    report = check(write("a.conllu", f"1\tGo\tgo\tVERB\t_\t_\t{head}\t_\t_\n\n"))
    assert (only(report).kind, report.recipes) == (kind, fitting)
    assert len(report.commands) == len(fitting)


def test_heads_that_are_no_tree_are_refused_as_a_training_would(write):
    rows = "1\tShe\t_\tPRON\t_\t_\t2\t_\t_\n2\tsings\t_\tVERB\t_\t_\t1\t_\t_\n\n"
    with pytest.raises(LexigraphError, match=r"a\.conllu, line 1: word 1 \('She'\) hangs on itself"):
        check(write("a.conllu", rows))


def test_the_report_as_a_table_and_as_json(write):
    train, valid = write("my train.txt", SENTENCES), write("v.txt", "Something else .\n")
    report = check({"train": train, "valid": valid})
    rows = dict(report.rows())
    assert rows["train: lines"] == "50"
    assert rows["valid: distinct words"] == "3"
    assert rows["valid: also in train"].startswith("0.0% exactly")
    assert f"--data '{train}' --valid {valid}" in rows["try"]
    read_back = json.loads(json.dumps(report.to_dict()))
    assert read_back["files"]["train"]["records"] == 50
    assert read_back["leaks"][0]["split"] == "valid"


def test_chinese_is_not_measured_by_white_space_alone(write):
    report = check(write("a.txt", "我喜欢猫。\n他喜欢狗。\n"))
    assert only(report).scripts == {"CJK": 1.0}
    assert any("white space" in warning for warning in report.warnings)


def test_errors_of_the_readers_come_through(write, tmp_path):
    for path, part in [
        (tmp_path / "none.txt", "no such file"),
        (write("e.txt", ""), "is empty"),
        (write("b.txt", b"a\nb \xe9 c"), "line 2"),
        (write("j.jsonl", '{"body": "x"}\n'), "body"),
        (write("t.tsv", "a b\tc d\ne\n"), "after field 1"),
    ]:
        with pytest.raises(LexigraphError, match=part):
            check({"train": path})
