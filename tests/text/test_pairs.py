"""Pairs of texts: how they are read, lie in a shard and come back as columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.recipe import Data
from lexigraph.text import corpus
from lexigraph.text.batches import Buckets, Spans
from lexigraph.text.corpus import Piece, Shard
from lexigraph.text.tokenizer import Tokenizer

PAIRS = [("a dog runs", "ein Hund läuft"), ("it rains", "es regnet"), ("a cat sleeps here now", "hier schläft")]


def written(folder: Path, pairs: list[tuple[str, ...]] = PAIRS, name: str = "pairs.tsv") -> Path:
    file = folder / name
    file.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    return file


def data_of(file: Path, **more: object) -> Data:
    return Data(train=str(file), split=(1.0,), unit="pair", **more)  # type: ignore[arg-type]


def shard_of(data: Data, folder: Path, special: tuple[str, ...] = ()) -> tuple[Shard, Tokenizer]:
    words = Tokenizer.train((piece.text for piece in corpus.pieces(data)), "word", 200, special=special)
    corpus.write_shards(corpus.pieces(data), words, folder / "tokens", paired=True)
    return corpus.shards(folder / "tokens")["train"], words


def spans(shard: Shard) -> Spans:
    return Spans(*shard.pairs(100))


def test_a_pair_lies_as_two_units_and_comes_back_as_two_columns(tmp_path: Path) -> None:
    shard, words = shard_of(data_of(written(tmp_path)), tmp_path)
    assert shard.paired
    assert [shard.ids[place] for place in shard.offsets] == [words.eos] * 7
    columns = shard.columns(spans(shard))
    for side, texts in zip(("source", "target"), zip(*PAIRS, strict=True), strict=True):
        assert all(row[0] == row[-1] == words.eos for row in columns[side])
        assert words.decode_batch([row[1:-1] for row in columns[side]]) == list(texts)


def test_batches_are_planned_by_the_longer_side(tmp_path: Path) -> None:
    shard, _ = shard_of(data_of(written(tmp_path)), tmp_path)
    starts, lengths = shard.pairs(100)
    assert lengths.tolist() == [4, 3, 6]  # its words and an end
    plan = Buckets(starts, lengths, batch_tokens=8, seed=0)
    rows = [shard.columns(plan.batch(step)) for step in range(plan.epoch_steps)]
    assert sum(len(columns["source"]) for columns in rows) == 3
    for columns in rows:
        longest = max(len(row) - 1 for side in columns.values() for row in side)
        assert longest * len(columns["source"]) <= 8


def test_pairs_with_a_side_that_is_too_long_are_left_out(tmp_path: Path) -> None:
    shard, words = shard_of(data_of(written(tmp_path)), tmp_path)
    kept = shard.columns(Spans(*shard.pairs(5)))
    assert words.decode_batch([row[1:-1] for row in kept["source"]]) == ["a dog runs", "it rains"]


def test_pairs_are_read_from_fields_of_json(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    lines = [{"translation": {"en": one, "de": other}} for one, other in PAIRS]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = data_of(file, columns={"source": "translation.de", "target": "translation.en"})
    texts = [piece.text for piece in corpus.pieces(data)]
    assert list(zip(texts[1::2], texts[0::2], strict=True)) == PAIRS


def test_a_direction_is_a_special_token_before_the_source(tmp_path: Path) -> None:
    rows = [("<2de>", "it rains", "es regnet"), ("<2en>", "es regnet", "it rains"), ("<2de>", "<2en> is", "a word")]
    data = data_of(written(tmp_path, rows), columns={"direction": "1", "source": "2", "target": "3"})
    shard, words = shard_of(data, tmp_path, ("<2de>", "<2en>"))
    sources = shard.columns(spans(shard))["source"]
    assert [int(row[1]) for row in sources] == [words.special[row[0]] for row in rows]
    assert words.special["<2en>"] not in sources[2]  # in a text it is letters like any others
    assert not set(words.special.values()) & {
        int(i) for row in shard.columns(spans(shard))["target"] for i in row[1:-1]
    }


def test_a_direction_that_is_no_special_token_is_refused(tmp_path: Path) -> None:
    data = data_of(written(tmp_path, [("<2fr>", "it rains", "il pleut")]),
                   columns={"direction": "1", "source": "2", "target": "3"})  # fmt: skip
    with pytest.raises(LexigraphError, match=r"'<2fr>' is no special token.*tokenizer\.special"):
        shard_of(data, tmp_path, ("<2de>",))


def test_what_cleaning_leaves_of_one_side_alone_goes(tmp_path: Path) -> None:
    pairs = [("one word", "ein Wort"), ("too many words for the stage", "kurz"), ("two words", "zwei Wörter")]
    data = data_of(written(tmp_path, pairs), rare=(0,), max_words=(3,))
    assert [piece.text for piece in corpus.pieces(data)] == ["one word", "ein Wort", "two words", "zwei Wörter"]


def test_equal_sources_stay_on_one_side_of_the_split(tmp_path: Path) -> None:
    pairs = [(f"source {n % 50}", f"target {n}") for n in range(400)]
    data = Data(train=str(written(tmp_path, pairs)), split=(0.6, 0.4), unit="pair")
    pieces = list(corpus.pieces(data))
    sides: dict[str, set[str]] = {}
    for source, target in zip(pieces[0::2], pieces[1::2], strict=True):
        assert source.split == target.split
        sides.setdefault(source.text, set()).add(source.split)
    assert len(sides) == 50
    assert all(len(found) == 1 for found in sides.values())
    assert {"train", "valid"} == set.union(*sides.values())


def test_the_built_in_pairs_are_statements_and_questions() -> None:
    pieces = list(corpus.pieces(Data(train="grammar", sentences=30, split=(1.0,), unit="pair")))
    assert len(pieces) == 60
    assert all(piece.text.endswith(" .") for piece in pieces[0::2])
    assert all(piece.text.endswith(" ?") for piece in pieces[1::2])


def test_missing_columns_are_named(tmp_path: Path) -> None:
    file = written(tmp_path)
    with pytest.raises(UsageError, match=r"data\.columns lacks target"):
        list(corpus.pieces(data_of(file, columns={"source": "1"})))
    plain = written(tmp_path, name="pairs.txt")
    with pytest.raises(UsageError, match=r"Name the file \.tsv"):
        list(corpus.pieces(data_of(plain)))


def test_ids_in_front_do_not_disturb_other_units(tmp_path: Path) -> None:
    words = Tokenizer.train(iter(["a b c"]), "word", 20, special=("<x>",))
    pieces = [Piece("train", "a b", True, "<x>"), Piece("train", "c", True)]
    corpus.write_shards(pieces, words, tmp_path / "tokens", paired=True)
    shard = corpus.shards(tmp_path / "tokens")["train"]
    ids = [words.eos, words.special["<x>"], *words.encode("a b"), words.eos, *words.encode("c"), words.eos]
    assert shard.ids.tolist() == ids
    assert np.array_equal(shard.offsets, [0, 4, 6])


def test_ids_of_a_large_source_vocabulary_fit_beside_a_small_one(tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(2**16 + 10)]
    sources = Tokenizer.train(iter([" ".join(names)]), "word", 2**17)
    targets = Tokenizer.train(iter(["a b"]), "word", 20)
    pairs = [(names[number], "a" if number % 2 else "b a") for number in range(0, len(names), 20)]  # several blocks
    pieces = [Piece("train", text, True) for pair in pairs for text in pair]
    corpus.write_shards(pieces, targets, tmp_path / "tokens", paired=True, source_tokenizer=sources)
    shard = corpus.shards(tmp_path / "tokens")["train"]
    columns = shard.columns(spans(shard))
    texts = [words.decode_batch([row[1:-1] for row in columns[side]])
             for side, words in (("source", sources), ("target", targets))]  # fmt: skip
    assert list(zip(*texts, strict=True)) == pairs
    assert len(shard.counts) == len(targets)
    assert shard.counts.sum() == sum(len(target.split()) + 1 for _, target in pairs)
