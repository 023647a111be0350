"""Two files, line by line, are pairs; what does not fit together is refused with its line."""

from __future__ import annotations

import gzip

import pytest

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.translation import pairs
from lexigraph.recipe import Data
from lexigraph.text.corpus import examples
from lexigraph.text.parallel import sides


def written(folder, english, german):
    for name, text in (("a.en", english), ("a.de", german)):
        (folder / name).write_text(text, "utf-8")
    return f"{folder}/a.en+{folder}/a.de"


def read(name, **more):
    found = examples(Data(train=name, unit="line", split=(1.0,), **more), pairs(), str)
    return [(each.values["source"], each.values["target"]) for each in found]


def test_lines_of_the_same_number_are_pairs(tmp_path):
    name = written(tmp_path, "A man .\n\nTwo\n", "Ein Mann .\n\nZwei")
    assert read(name) == [("A man .", "Ein Mann ."), ("Two", "Zwei")]


def test_files_may_be_packed_and_be_under_the_data_folder(tmp_path, monkeypatch):
    for name, text in (("b.en.gz", "One\n"), ("b.de.gz", "Eins\n")):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("LEXIGRAPH_DATA", str(tmp_path))
    assert read("b.en.gz+b.de.gz") == [("One", "Eins")]


def test_a_file_whose_name_has_the_sign_is_that_file(tmp_path):
    (tmp_path / "a+b.tsv").write_text("One\tEins\n")
    assert sides(str(tmp_path / "a+b.tsv")) is None
    assert read(str(tmp_path / "a+b.tsv")) == [("One", "Eins")]


@pytest.mark.parametrize(
    ("english", "german", "says"),
    [
        ("One\nTwo\nThree\n", "Eins\nZwei\n", r"a\.en has 3 lines and .*a\.de 2: line 3 of .*a\.en, 'Three', has no"),
        ("One\n", "Eins\nZwei\nDrei\n", r"a\.en has 1 lines and .*a\.de 3: line 2 of .*a\.de, 'Zwei', has no"),
        ("One\n \nThree\n", "Eins\nZwei\nDrei\n", r"a\.en, line 2: nothing stands here, and line 2 of .*'Zwei'"),
        ("One\nTwo\n", "Eins\n\n", r"a\.de, line 2: nothing stands here, and line 2 of .*'Two'"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_line(tmp_path, english, german, says):
    with pytest.raises(LexigraphError, match=says):
        read(written(tmp_path, english, german))


def test_an_empty_side_of_a_table_is_refused_too(tmp_path):
    (tmp_path / "pairs.tsv").write_text("One\tEins\n\t\nTwo\t\n")
    with pytest.raises(LexigraphError, match=r"pairs\.tsv, line 3: the target is empty; a pair needs both sides"):
        read(str(tmp_path / "pairs.tsv"))


def test_only_pairs_are_read_from_two_files(tmp_path):
    name = written(tmp_path, "One\n", "Eins\n")
    with pytest.raises((UsageError, LexigraphError)):
        api.train("gpt", name, out=tmp_path / "run", tiny=True, quiet=True)


def test_a_translator_is_trained_from_two_files(tmp_path):
    lines = [(f"word{n} is here .", f"wort{n} ist hier .") for n in range(40)]
    name = written(tmp_path, *("\n".join(side) for side in zip(*lines, strict=True)))
    model = api.train("seq2seq", name, out=tmp_path / "run", tiny=True, quiet=True, set={"tokenizer.size": 300})
    assert isinstance(model.translate("word1 is here ."), str)
