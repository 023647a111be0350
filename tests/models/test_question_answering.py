"""Question answering: where answers stand, windows of long texts, the best span, SQuAD's forms, the command line."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models.question_answering import Config, Objective, QuestionAnswering
from lexigraph.nn.answering import Found, Span
from lexigraph.text import corpus
from lexigraph.text.check import check
from lexigraph.text.vocabularies import Ids, Vocabularies

COLUMNS = QuestionAnswering.columns(recipes.read("question-answering"))


def network(**keys) -> QuestionAnswering:
    torch.manual_seed(0)
    config = Config(**{"dim": 8, "embedding": 6, "dropout": 0.0, "answer": 3} | keys)
    return QuestionAnswering(config, Objective(), Vocabularies({"text": Ids(30)})).eval()


def example(tokens, question, answers=(), end=2):
    """A window of a text whose token i is the characters 10 i … 10 i + 5, and whose first one is number 0."""
    offsets = [(10 * place, 10 * place + 5) for place in range(len(tokens))]
    return {
        "context": [np.array([2, *tokens, end])],
        "question": [np.array([2, *question, 2])],
        "offsets": [np.array([*offsets, (999, 999)])],
        "answer": [np.array(answers, int).reshape(-1, 2)],
    }


# ---- what is learned ------------------------------------------------------------------------------------------


def test_every_right_answer_counts_and_an_equal_one_once(monkeypatch):
    """By hand: logits log 1, log 2, log 3, log 4 are probabilities 0.1, 0.2, 0.3, 0.4."""
    made = network()
    logits = torch.tensor([1.0, 2, 3, 4]).log()[None, :, None].expand(1, 4, 2)
    monkeypatch.setattr(made, "logits", lambda batch: logits)
    batch = made.prepare(example([5, 6, 7], [8], [(0, 5), (0, 15), (0, 15)]))  # token 1; tokens 1 to 2, twice
    loss = made.loss(batch)[0]["loss"]
    begin, end = -np.log(0.2), -np.log(0.2 + 0.3)
    assert float(loss.total) == pytest.approx((begin + end) / 2)
    empty = made.prepare(example([5, 6, 7], [8]))
    assert float(made.loss(empty)[0]["loss"].total) == pytest.approx(-np.log(0.1))  # position 0: no answer


def test_a_window_that_cuts_an_answer_does_not_hold_it():
    made = network()
    whole = example([5, 6, 7], [8], [(0, 15)])
    cut = {name: [row[0][1:]] for name, row in whole.items() if name in ("context", "offsets")}  # from token 2 on
    found = [made.prepare({**whole, **changes})["ends"].tolist() for changes in ({}, cut)]
    assert found == [[[2]], [[0]]]


def test_the_best_spans_are_those_of_a_search_over_all(monkeypatch):
    made = network()
    logits = torch.randn(1, 7, 2)
    monkeypatch.setattr(made, "logits", lambda batch: logits)
    (found,) = made.predict(made.prepare(example([5, 6, 7, 8, 9, 10], [8])))
    s, e = logits[0].T.tolist()
    every = [(s[i] + e[j], 10 * (i - 1), 10 * (j - 1) + 5) for i in range(1, 7) for j in range(i, min(i + 3, 7))]
    for ours, theirs in zip(found.spans, sorted(every, reverse=True), strict=True):  # 6 + 5 + 4 spans
        assert tuple(ours) == pytest.approx(theirs)
    assert found.none == pytest.approx(s[0] + e[0])


def test_an_answer_neither_begins_nor_ends_inside_a_word():
    made = network(answer=9)
    made.goes_on = np.arange(30) == 9  # a piece ##x
    (found,) = made.predict(made.prepare(example([5, 9, 9, 7, 9], [8])))
    assert {(span.begin, span.end) for span in found.spans} == {(0, 25), (30, 45), (0, 45)}


def test_windows_are_merged_by_their_scores_and_the_surest_of_none_counts():
    one = Found(4.0, [Span(3.0, 0, 5), Span(1.0, 7, 9)])
    other = Found(1.5, [Span(2.0, 0, 5), Span(2.5, 20, 22)])
    merged = network().merge([one, other])
    assert merged == Found(1.5, [Span(3.0, 0, 5), Span(2.5, 20, 22), Span(1.0, 7, 9)])
    assert merged.margin == 1.5


def test_a_window_without_tokens_has_no_answer():
    made = network()
    empty = {**example([], [8]), "context": [np.array([5, 2])], "offsets": [np.array([(9, 9)])]}
    (found,) = made.predict(made.prepare(empty))
    assert found.spans == []


def test_the_question_decides_and_unknown_words_do_not_match():
    made = network()
    same, other = (made.outputs(made.prepare(example([5, 6, 7], [word])))["logits"][0] for word in (6, 9))
    assert not torch.allclose(same, other)
    table = made.attentive.embedding.weight
    with torch.no_grad():
        table[9] = table[1]  # as the unknown word, but for its id
    plain, unknown = (made.outputs(made.prepare(example([1, 6, 7], [word])))["logits"][0] for word in (9, 1))
    assert torch.allclose(plain, unknown, atol=1e-6)


# ---- records --------------------------------------------------------------------------------------------------

CONTEXT = "Anna  built a boat\u00a0in 1994.\nIt sank in 1994, near “Rome”."
ARTICLES = {
    "version": "v2.0",
    "data": [
        {
            "title": title,
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {"id": f"{title}1", "question": "Who?", "is_impossible": False,
                         "answers": [{"text": text, "answer_start": 0} for text in ("Anna", "Anna  built")]},
                        {"id": f"{title}2", "question": "Why?", "is_impossible": True, "answers": [],
                         "plausible_answers": [{"text": "boat", "answer_start": 14}]},
                    ],
                }
            ],
        }
        for title in "abcdefghij"
    ],
}  # fmt: skip


def read(path, **data):
    data = recipes.Data(train=str(path), **{"split": (1.0,)} | data)
    return list(corpus.examples(data, COLUMNS))


def test_squads_own_form_is_read_with_all_answers_and_with_none(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(ARTICLES, indent=1))
    records = read(tmp_path / "a.json")
    assert len(records) == 20
    assert records[0].values["context"] == CONTEXT  # to the last space
    assert [each.values["answer"] for each in records[:2]] == [[(0, 4), (0, 11)], []]
    assert records[2].document == 1
    plain = {"data": [{k: v for k, v in article.items() if k == "paragraphs"} for article in ARTICLES["data"]]}
    (tmp_path / "b.json").write_text(json.dumps(plain))
    assert [each.values["answer"] for each in read(tmp_path / "b.json")] == [
        each.values["answer"] for each in records
    ]


def test_an_article_stays_on_one_side_of_the_split(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(ARTICLES))  # the same text in all, so that their titles decide
    sides = {}
    for each in read(tmp_path / "a.json", split=(0.5, 0.5)):
        sides.setdefault(each.document, set()).add(each.split)
    assert {tuple(side) for side in sides.values()} == {("train",), ("valid",)}


def test_flat_records_have_an_answer_that_is_found_where_nobody_says_where_it_is(tmp_path):
    rows = [
        {"context": CONTEXT, "question": "When?", "answer": "1994"},
        {"context": CONTEXT, "question": "When did it sink?", "answer": "1994", "answer_start": 39},
        {"context": CONTEXT, "question": "Why?", "answer": ""},
        {"context": CONTEXT, "question": "What?", "answer": ["boat", "a boat"]},
    ]
    found = {}
    for number, row in enumerate(rows):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(row) + "\n")
        (record,) = read(tmp_path / f"{number}.jsonl")
        found[number] = [CONTEXT[begin:end] for begin, end in record.values["answer"]]
        ranges = record.values["answer"]
    assert found == {0: ["1994", "1994"], 1: ["1994"], 2: [], 3: ["boat", "a boat"]}
    assert ranges == [(14, 18), (12, 18)]
    (tmp_path / "a.tsv").write_text("context\tquestion\tanswer\nAnna sang.\tWho?\tAnna\n")
    assert read(tmp_path / "a.tsv")[0].values["answer"] == [(0, 4)]


def test_check_knows_questions_in_every_form(tmp_path):
    (tmp_path / "squad.json").write_text(json.dumps(ARTICLES))
    nested = {"context": CONTEXT, "question": "Who?", "answers": {"text": ["Anna"], "answer_start": [0]}}
    (tmp_path / "dotted.jsonl").write_text(f"{json.dumps(nested)}\n")
    for name, mapped in (("squad.json", ""), ("dotted.jsonl", "answers.answer_start")):
        report = check(str(tmp_path / name))
        assert report.files["train"].kind == "questions"
        assert report.recipes[0] == "question-answering"
        assert mapped in report.commands[0]
        assert ("data.columns" in report.commands[0]) == bool(mapped)


def test_text_that_is_copied_cannot_be_cleaned():
    with pytest.raises(UsageError, match=r"data\.clean"):
        QuestionAnswering.columns(recipes.read("question-answering", {"data.clean": ["lower"]}))


# ---- a trained model ------------------------------------------------------------------------------------------

NAMES, THINGS = ["Anna", "Bert", "Carl", "Dora", "Emil", "Fred"], ["dog", "cat", "boat", "hat", "key", "map"]


def sentence(name, thing):
    return f"{name} has a {thing} ."


def passage(rng, count=4):
    names, things = rng.permutation(NAMES)[:count].tolist(), rng.permutation(THINGS)[:count].tolist()
    return dict(zip(things, names, strict=True)), " ".join(map(sentence, names, things))


def records(count, seed):
    """Who has what; of one thing in four, nobody."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        owners, text = passage(rng)
        missing = [thing for thing in THINGS if thing not in owners]
        thing = str(rng.choice(missing if rng.random() < 0.25 else list(owners)))
        yield {"context": text, "question": f"Who has a {thing} ?", "answer": owners.get(thing, "")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    for name, count, seed in (("train", 1000, 0), ("valid", 60, 1), ("test", 100, 2)):
        rows = map(json.dumps, records(count, seed))
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    train, valid, test = (folder / f"{name}.jsonl" for name in ("train", "valid", "test"))
    changes = {"train.steps": 240, "train.batch_tokens": 512, "train.lr": 0.01, "train.validate_every": 120}
    changes |= {"model.dim": 16, "model.embedding": 16, "model.context": 24, "model.overlap": 8, "model.dropout": 0.0}
    changes |= {"tokenizer.size": 120, "train.tensorboard": False}
    return api.train("question-answering", train, folder / "run", valid=valid, test=test, set=changes, quiet=True)


def test_it_learns_who_has_what_and_when_nobody_has(trained):
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert scores["exact"]["value"] > 0.9
    assert scores["no_answer_right"]["value"] > 0.7
    assert scores["sliding_window"]["exact"] < 0.9
    assert scores["questions"] == 100


def test_an_answer_is_found_far_down_a_text_and_comes_back_as_it_stands_there(trained):
    text = "Anna has a dog .\n" + "Carl  has a map .\n" * 60 + "Dora\u00a0has a cat .\n" + "Fred has a key .\n" * 60
    found = trained.answer("Who has a cat ?", text)
    assert found.text == "Dora"
    (best,) = found.candidates
    assert (best.begin, text[best.begin : best.end]) == (text.index("Dora"), "Dora")
    parts = text.splitlines()
    found = trained.answer(["Who has a cat ?", "Who has a dog ?"], parts, n_best=3)
    assert [(each.text, parts[each.candidates[0].passage]) for each in found] == [
        ("Dora", "Dora\u00a0has a cat ."),
        ("Anna", "Anna has a dog ."),
    ]
    scores = [each.score for each in found[0].candidates]
    assert scores == sorted(scores, reverse=True)


def test_a_threshold_says_how_sure_an_answer_has_to_be(trained):
    question, text = "Who has a boat ?", "Anna has a dog . Bert has a map . Carl has a key . Dora has a hat ."
    assert trained.answer(question, text).text == ""
    assert trained.answer(question, text, threshold=-1e6).text in NAMES
    assert trained.answer({"question": question, "context": text}) == trained.answer(question, text)
    again = api.load(trained.path)
    assert float(again.network.threshold) == float(trained.network.threshold) != 0.0  # as validation chose it


def test_what_cannot_be_asked_gets_a_sentence(trained):
    for wrong in ("Who ?", ["Who ?"], [{"question": "Who ?"}]):
        with pytest.raises(UsageError, match="context"):
            trained.answer(wrong)
    with pytest.raises(LexigraphError, match="Text 2 of 2 is empty"):
        trained.answer("Who ?", ["Anna .", " "])
    with pytest.raises(UsageError, match="n_best"):
        trained.answer("Who ?", "Anna .", n_best=99)


def test_the_command_line_answers_from_a_file_a_text_and_standard_input(trained, tmp_path, monkeypatch):
    notes = tmp_path / "notes.txt"
    notes.write_text("Anna has a dog .\nBert has a cat .\n")

    def run(*words, stdin=None):
        shown = CliRunner().invoke(app, ["answer", str(trained.path), *words], input=stdin)
        assert shown.exit_code == 0, shown.output
        return shown.output

    score, where, answer = run("--file", str(notes), "Who has a cat ?").strip().split("\t")
    assert (where, answer) == (f"{notes}:2", "Bert")
    assert float(score) > 0
    assert run("--context", notes.read_text(), "Who has a cat ?") == f"{score}\ttext:2\tBert\n"
    assert run("--file", str(notes), "Who has a boat ?") == "0.00\t-\t(no answer)\n"
    (item,) = json.loads(run("--file", str(notes), "--json", "--n-best", "2", "Who has a dog ?"))
    assert item["answer"] == "Anna"
    assert next((each["where"], each["begin"]) for each in item["candidates"]) == (f"{notes}:1", 0)
    asked = run("--file", str(notes), stdin="Who has a dog ?\nWho has a cat ?\n")
    assert [line.split("\t")[2] for line in asked.splitlines()] == ["Anna", "Bert"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(notes.read_text()))
    assert run("Who has a cat ?", stdin=notes.read_text()).split("\t")[1:] == ["standard input:2", "Bert\n"]
