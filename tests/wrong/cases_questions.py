"""Questions whose answers are not where they should be, files that are cut short, and questions about nothing."""

import json

from tests.wrong.case import WRONG_USAGE, Case

ROW = {"context": "Anna sang in Rome.", "question": "Who sang?", "answer": "Anna"}


def flat(*names: str, **changes: object) -> Case:
    rows = [ROW, {key: value for key, value in {**ROW, **changes}.items() if value is not None}]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    return Case(
        "train question-answering --data a.jsonl --out run", ("a.jsonl", "2", *names), given={"a.jsonl": lines}
    )


def nested(content: str, *names: str) -> Case:
    return Case("train question-answering --data a.json --out run", ("a.json", *names), given={"a.json": content})


def squad(**changes: object) -> str:
    question = {"id": "q7", "question": "Who?", "answers": [{"text": "Anna", "answer_start": 0}], **changes}
    return json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "Anna sang.", "qas": [question]}]}]})


CASES = {
    "an answer that the text has not": flat("line 2", "'Bert' does not stand in the context", answer="Bert"),
    "an answer in other letter case": flat("'anna' does not stand in the context", answer="anna"),
    "an answer that begins elsewhere": Case(
        "train question-answering --data a.jsonl --out run",
        ("a.jsonl, line 1 (id q7)", "'Rome' does not begin at the answer_start", "it stands at 13"),
        given={"a.jsonl": json.dumps({**ROW, "answer": "Rome", "answer_start": 2, "id": "q7"}) + "\n"},
    ),
    "a beginning that is no number": Case(
        "train question-answering --data a.tsv --out run",
        ("a.tsv, line 2", "answer_start is 'x'"),
        given={"a.tsv": "context\tquestion\tanswer\tanswer_start\nAnna sang.\tWho?\tAnna\tx\n"},
    ),
    "a record without its question": flat("line 2", "question", question=None),
    "an answer that is an object": flat("line 2", "'answer'", answer={"text": "Anna"}),
    "SQuAD with an answer elsewhere": nested(
        squad(answers=[{"text": "sang", "answer_start": 0}]), "line 1 (id q7)", "it stands at 5"
    ),
    "SQuAD without questions": nested(
        '{"data": [\n{"title": "t", "paragraphs": [{"context": "a"}]}]}', "line 2, article 1", "'qas'"
    ),
    "SQuAD with a question that is a number": nested(squad(question=3), "id q7", "'question' is no text"),
    "SQuAD without answers": nested(squad(answers=None), "id q7", "no list 'answers'"),
    "SQuAD that is cut short": nested(squad()[:-40], "article 1", "broken JSON", "cut short"),
    "SQuAD that ends between articles": nested(squad()[:-2], "article 2", "broken JSON"),
    "SQuAD in cleaned text": Case(
        "train question-answering --data grammar --out run --set data.clean=['lower']",
        ("data.clean", "as it stands"),
        WRONG_USAGE,
    ),
    "plain text for questions": Case(
        "train question-answering --data good.txt --out run", ("good.txt", "context, question, answer"), WRONG_USAGE
    ),
    "a question of no text": Case("answer @question-answering 'Who?'", ("Standard input is empty",)),
    "a question of two kinds of text": Case(
        "answer @question-answering 'Who?' --file good.txt --context 'Anna sang.'", ("--file", "both"), WRONG_USAGE
    ),
    "a question of a text that is not there": Case(
        "answer @question-answering 'Who?' --file nowhere.txt", ("nowhere.txt", "no such file")
    ),
    "no question": Case("answer @question-answering --file good.txt", ("no text", "standard input"), WRONG_USAGE),
    "no question and no text": Case("answer @question-answering", ("--file", "--context"), WRONG_USAGE),
    "questions and text in one": Case("answer @question-answering --file -", ("Standard input", "both"), WRONG_USAGE),
    "an empty question": Case("answer @question-answering '' --file good.txt", ("is empty", "nothing to answer")),
    "an empty text to ask": Case("answer @question-answering 'Who?' --context ' '", ("is empty", "no answer")),
    "a classifier that is asked": Case("answer @bow 'Who?' --file good.txt", ("bow", "answer", "can: classify")),
}
