"""Pairs of texts: how they are read, lie in a table and come back as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.translation import pairs
from lexigraph.recipe import Data
from lexigraph.text import corpus
from lexigraph.text.batches import Buckets, Rows
from lexigraph.text.columns import Traits
from lexigraph.text.encoding import Example
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Row, Table, tables
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Vocabularies

PAIRS = [("a dog runs", "ein Hund läuft"), ("it rains", "es regnet"), ("a cat sleeps here now", "hier schläft")]


def written(folder: Path, pairs: list[tuple[str, ...]] = PAIRS, name: str = "pairs.tsv") -> Path:
    file = folder / name
    file.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    return file


def data_of(file: Path, **more: object) -> Data:
    return Data(train=str(file), split=(1.0,), **more)  # type: ignore[arg-type]


def examples(data: Data) -> list[Example]:
    return list(corpus.examples(data, pairs()))


def texts_of(data: Data) -> list[tuple[str, str]]:
    return [(example.values["source"], example.values["target"]) for example in examples(data)]


def table_of(data: Data, folder: Path, special: tuple[str, ...] = ()) -> tuple[Table, Tokenizer]:
    words = Tokenizer.train((text for pair in texts_of(data) for text in pair), "word", 200, special=special)
    return stored(examples(data), folder, Vocabularies({"text": words})), words


def stored(found: Iterable[Example], folder: Path, vocabularies: Vocabularies, separate: bool = False) -> Table:
    write_tables(found, pairs(separate), vocabularies, folder / "tables")
    return tables(folder / "tables", pairs(separate))["train"]


def reads(longest: int = 100) -> Traits:
    return Traits(context=longest, windowed="source", reads_whole=True)


def columns_of(table: Table, longest: int = 100) -> dict[str, Sequence[Row]]:
    return table.fetch(Rows(*table.cut(reads(longest))), reads(longest))


def test_a_pair_lies_in_two_columns_and_comes_back_as_them(tmp_path: Path) -> None:
    table, words = table_of(data_of(written(tmp_path)), tmp_path)
    assert list(table.columns) == ["source", "target"]
    assert len(table) == 3
    for stored in table.columns.values():
        assert [stored.values[place] for place in stored.offsets] == [words.eos] * 4
    columns = columns_of(table)
    for side, texts in zip(("source", "target"), zip(*PAIRS, strict=True), strict=True):
        assert all(row[0] == row[-1] == words.eos for row in columns[side])
        assert words.decode_batch([row[1:-1] for row in columns[side]]) == list(texts)


def test_batches_are_planned_by_the_longer_side(tmp_path: Path) -> None:
    table, _ = table_of(data_of(written(tmp_path)), tmp_path)
    starts, lengths = table.cut(reads())
    assert lengths.tolist() == [4, 3, 6]  # its words and an end
    plan = Buckets(starts, lengths, batch_tokens=8, seed=0)
    rows = [table.fetch(plan.batch(step), reads()) for step in range(plan.epoch_steps)]
    assert sum(len(columns["source"]) for columns in rows) == 3
    for columns in rows:
        longest = max(len(row) - 1 for side in columns.values() for row in side)
        assert longest * len(columns["source"]) <= 8


def test_pairs_with_a_side_that_is_too_long_are_left_out(tmp_path: Path) -> None:
    table, words = table_of(data_of(written(tmp_path)), tmp_path)
    kept = columns_of(table, 5)
    assert table.too_long(reads(5)) == 1
    assert words.decode_batch([row[1:-1] for row in kept["source"]]) == ["a dog runs", "it rains"]


def test_pairs_are_read_from_fields_of_json(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    lines = [{"translation": {"en": one, "de": other}} for one, other in PAIRS]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = data_of(file, columns={"source": "translation.de", "target": "translation.en"})
    assert [(target, source) for source, target in texts_of(data)] == PAIRS


def test_a_direction_is_a_special_token_before_the_source(tmp_path: Path) -> None:
    rows = [("<2de>", "it rains", "es regnet"), ("<2en>", "es regnet", "it rains"), ("<2de>", "<2en> is", "a word")]
    data = data_of(written(tmp_path, rows), columns={"direction": "1", "source": "2", "target": "3"})
    table, words = table_of(data, tmp_path, ("<2de>", "<2en>"))
    columns = columns_of(table)
    sources = columns["source"]
    assert [int(row[1]) for row in sources] == [words.special[row[0]] for row in rows]
    assert words.special["<2en>"] not in sources[2]  # in a text it is letters like any others
    assert not set(words.special.values()) & {int(i) for row in columns["target"] for i in row[1:-1]}


def test_a_direction_that_is_no_special_token_is_refused(tmp_path: Path) -> None:
    data = data_of(written(tmp_path, [("<2fr>", "it rains", "il pleut")]),
                   columns={"direction": "1", "source": "2", "target": "3"})  # fmt: skip
    with pytest.raises(LexigraphError, match=r"'<2fr>' is no direction of this model; it has <2de>\."):
        table_of(data, tmp_path, ("<2de>",))


def test_what_cleaning_leaves_of_one_side_alone_goes(tmp_path: Path) -> None:
    given = [("one word", "ein Wort"), ("too many words for the stage", "kurz"), ("two words", "zwei Wörter")]
    data = data_of(written(tmp_path, given), rare=(0,), max_words=(3,))
    assert texts_of(data) == [("one word", "ein Wort"), ("two words", "zwei Wörter")]


def test_equal_sources_stay_on_one_side_of_the_split(tmp_path: Path) -> None:
    given = [(f"source {n % 50}", f"target {n}") for n in range(400)]
    data = Data(train=str(written(tmp_path, given)), split=(0.6, 0.4))
    sides: dict[str, set[str]] = {}
    for example in examples(data):
        sides.setdefault(example.values["source"], set()).add(example.split)
    assert sorted(texts_of(data)) == sorted(given)
    assert len(sides) == 50
    assert all(len(found) == 1 for found in sides.values())
    assert {"train", "valid"} == set.union(*sides.values())


def test_the_built_in_pairs_are_statements_and_questions() -> None:
    found = texts_of(Data(train="grammar", sentences=30, split=(1.0,)))
    assert len(found) == 30
    assert all(source.endswith(" .") and target.endswith(" ?") for source, target in found)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    file = written(tmp_path)
    with pytest.raises(UsageError, match=r"data\.columns lacks target"):
        examples(data_of(file, columns={"source": "1"}))
    plain = written(tmp_path, name="pairs.txt")
    with pytest.raises(UsageError, match=r"Name the file \.csv, \.tsv"):
        examples(data_of(plain))


def test_ids_in_front_do_not_disturb_other_examples(tmp_path: Path) -> None:
    words = Tokenizer.train(iter(["a b c"]), "word", 20, special=("<x>",))
    found = [
        Example("train", {"source": "a b", "target": "c", "direction": "<x>"}),
        Example("train", {"source": "c", "target": "b"}),
    ]
    source, target = stored(found, tmp_path, Vocabularies({"text": words})).columns.values()
    a, b, c, eos = *words.encode("a b c"), words.eos
    assert source.values.tolist() == [eos, words.special["<x>"], a, b, eos, c, eos]
    assert np.array_equal(source.offsets, [0, 4, 6])
    assert target.values.tolist() == [eos, c, eos, b, eos]
    assert np.array_equal(target.offsets, [0, 2, 4])


def test_ids_of_a_large_source_vocabulary_fit_beside_a_small_one(tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(2**16 + 10)]
    sources = Tokenizer.train(iter([" ".join(names)]), "word", 2**17)
    targets = Tokenizer.train(iter(["a b"]), "word", 20)
    given = [(names[number], "a" if number % 2 else "b a") for number in range(0, len(names), 20)]  # several blocks
    found = (Example("train", {"source": source, "target": target}) for source, target in given)
    table = stored(found, tmp_path, Vocabularies({"text": targets, "source": sources}), separate=True)
    columns = columns_of(table)
    texts = [words.decode_batch([row[1:-1] for row in columns[side]])
             for side, words in (("source", sources), ("target", targets))]  # fmt: skip
    assert list(zip(*texts, strict=True)) == given
    target = table.columns["target"]
    assert len(target.counts) == len(targets)
    assert target.counts.sum() == sum(len(text.split()) + 1 for _, text in given) + 1  # and the first boundary
