"""Benchmark files as examples: what each form of file means, what is cut, and what is missing."""

import gzip
import json

import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.understanding import sets, tasks
from lexigraph.evaluation.understanding.sets import Cut, Example


def test_phrases_are_learned_and_sentences_are_reported(tmp_path):
    """Of a phrase with several labels the commonest counts; what is neutral is left out."""
    (tmp_path / "trees.txt").write_text(
        "(3 (4 good) (2 film))\n(0 (2 (4 good) (2 film)) (0 (1 not) (3 good)))\n(2 (2 a) (2 film))\n"
    )
    learned = {each.text: each.label for each in sets.sentiment_trees(tmp_path / "trees.txt", "train")}
    assert learned == {
        "good film": "positive",  # once positive, once neutral: the first of two equals
        "good": "positive",
        "good film not good": "negative",
        "not good": "negative",
        "not": "negative",
    }
    reported = [each.text for each in sets.sentiment_trees(tmp_path / "trees.txt", "test")]
    assert reported == ["good film", "good film not good"]


def test_tables_are_read_by_names_and_numbers_without_quotes(tmp_path):
    (tmp_path / "a.tsv").write_text('id\tone\ttwo\tscore\n1\tHe said "no\tShe left\t3.5\n')
    read = sets.table("one", "score", "two", number=True, group="one")
    assert list(read(tmp_path / "a.tsv", "train")) == [Example('He said "no', 3.5, "She left", 'He said "no')]
    (tmp_path / "b.tsv").write_text("gj04\t0\t*\tThe cat sat mat.\n")
    assert list(tasks.TASKS["cola"].read(tmp_path / "b.tsv", "dev")) == [Example("The cat sat mat.", "unacceptable")]
    (tmp_path / "c.tsv").write_text("a\tb\thigh\n")
    with pytest.raises(LexigraphError, match=r"c.tsv, line 1: 'high' is no number"):
        list(sets.table("1", "3", "2", number=True)(tmp_path / "c.tsv", "dev"))


def test_labels_stand_before_texts(tmp_path):
    (tmp_path / "q.txt").write_text("NUM:dist How far is it ?\n")
    assert list(tasks.TASKS["trec"].read(tmp_path / "q.txt", "test")) == [Example("How far is it ?", "NUM")]
    (tmp_path / "q.txt").write_text("NUM:dist\n")
    with pytest.raises(LexigraphError, match=r"q.txt, line 1: there is a label, and no text"):
        list(tasks.TASKS["trec"].read(tmp_path / "q.txt", "test"))


def test_names_come_in_documents_and_in_bio(tmp_path):
    (tmp_path / "e.train").write_text(
        "-DOCSTART- -X- O O\n\nU.N. NNP I-NP I-ORG\nsays VBZ I-VP O\n\nParis NNP I-NP I-LOC\nLyon NNP I-NP B-LOC\n\n"
        "-DOCSTART- -X- O O\n\nRain NN I-NP O\n"
    )
    found = list(sets.entities(tmp_path / "e.train", "train"))
    assert [each.label for each in found] == [["B-ORG", "O"], ["B-LOC", "B-LOC"], ["O"]]
    assert [each.group for each in found] == ["document 1", "document 1", "document 2"]


def test_questions_and_the_sentences_that_answer_them(tmp_path):
    """The other sentence is the one that shares most words with the question and holds no answer."""
    context = "Rome is old. The river of Rome is the Tiber. The city lies in Italy."
    asked = {"question": "What is the river of Rome?", "answers": [{"text": "Tiber", "answer_start": 38}]}
    nowhere = {"question": "Who knows?", "answers": []}
    article = {"title": "Rome", "paragraphs": [{"context": context, "qas": [asked, nowhere]}]}
    (tmp_path / "s.json").write_text(json.dumps({"data": [article]}))
    assert list(sets.answering_sentences(tmp_path / "s.json", "train")) == [
        Example("What is the river of Rome?", "answers", "The river of Rome is the Tiber.", "Rome"),
        Example("What is the river of Rome?", "does not", "Rome is old.", "Rome"),
    ]
    (tmp_path / "s.json").write_text('{"version": 1}')
    with pytest.raises(LexigraphError, match=r"s.json is not in the form of SQuAD"):
        list(sets.answering_sentences(tmp_path / "s.json", "train"))


def test_what_belongs_together_is_cut_together(tmp_path):
    rows = "".join(f"premise {n // 3}\tclaim {n}\tyes\n" for n in range(300))
    (tmp_path / "all.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    read, cut = sets.table("1", "3", "2", group="1"), Cut("train", {"dev": 0.2, "test": 0.2})
    found = sets.load(tmp_path, {"train": "all.tsv"}, read, cut)
    premises = {part: {each.text for each in examples} for part, examples in found.parts.items()}
    assert sum(map(len, found.parts.values())) == 300
    assert sum(map(len, premises.values())) == len(set.union(*premises.values())) == 100
    assert 10 <= len(premises["dev"]) <= 30
    (tmp_path / "all.tsv").write_text(rows)
    plain = sets.load(tmp_path, {"train": "all.tsv"}, read, cut)
    assert list(plain.files.values()) == list(found.files.values())  # compressed or not
    with pytest.raises(LexigraphError, match=r"There is no .*other.tsv, plain or compressed"):
        sets.load(tmp_path, {"train": "other.tsv"}, read, cut)


def test_a_sample_is_drawn_once_and_for_all():
    examples = [Example(str(n), "a") for n in range(50)]
    assert sets.sample(examples, 0) == sets.sample(examples, 60) == examples
    assert sets.sample(examples, 10) == sets.sample(examples, 10)
    assert sets.sample(examples, 20)[:10] == sets.sample(examples, 10)  # a larger one holds the smaller


def test_tasks_are_found_by_their_files(tmp_path):
    (tmp_path / "trec").mkdir()
    for name in ("TREC.train.txt", "TREC.test.txt.gz"):
        (tmp_path / "trec" / name).write_text("NUM:x a\n")
    found, absent = tasks.chosen((), tmp_path)
    assert list(found) == ["trec", "pronouns"]  # which needs no files
    assert "sst-2" in absent
    assert "phrases" not in absent  # a toy, for whoever names it, or has no files
    assert set(tasks.chosen((), None)[0]) == {"pronouns", "sentiment", "phrases"}
    with pytest.raises(UsageError, match=r"no task 'trek'; did you mean 'trec'"):
        tasks.chosen(["trek"], tmp_path)
    with pytest.raises(LexigraphError, match=r"rte needs .*rte/train.tsv"):
        tasks.chosen(["trec", "rte"], tmp_path)
    with pytest.raises(UsageError, match=r"rte needs files"):
        tasks.chosen(["rte"], None)


def test_every_task_of_the_built_in_grammar_has_its_parts():
    for task in tasks.chosen((), None)[0].values():
        parts = task.load(None).parts
        assert set(parts) == {"train", "dev", "test"}
        assert all(len(examples) >= 240 for examples in parts.values())
