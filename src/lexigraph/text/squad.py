"""Questions in the nested form that SQuAD is published in, versions 1.1 and 2.0 (Rajpurkar et al. 2016, 2018).

    {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [
        {"id": …, "question": …, "is_impossible": …, "answers": [{"text": …, "answer_start": …}, …]}, …]}, …]}, …]}

Each question is a record, and each article a document. The file is one object, of which one article is parsed at a
time. A question that is impossible has no answer; what is plausible all the same is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lexigraph.errors import LexigraphError
from lexigraph.text.source import Source

FIELDS = ("context", "question", "answer")
BEGINNING = r'\s*\{\s*(?:"version"\s*:\s*"[^"]*"\s*,\s*)?"data"\s*:\s*\['
BETWEEN = re.compile(r"[\s,]*")


def asked(fields: Collection[str]) -> bool:
    """Whether such records are wanted."""
    return set(FIELDS) <= set(fields)


def nested(path: Path) -> bool:
    """Whether a file has this form, as its beginning tells."""
    try:
        return re.match(BEGINNING, next(iter(Source(path)), "")) is not None
    except LexigraphError:
        return False  # whoever reads it says what is wrong


def rows(source: Source, wanted: Collection[str]) -> Iterator[tuple[int, dict[str, Any], str]]:
    """The line of its article, the fields of each question, and the article's title, which begins a document."""
    for line, number, article in _articles(source):
        place = f"{source.path}, line {line}, article {number}"
        for paragraph in _list_of(article, "paragraphs", place):
            for question in _list_of(paragraph, "qas", place):
                own = f"{place}, id {question.get('id', '?')}"
                answers = [] if question.get("is_impossible") else _list_of(question, "answers", own)
                fields = {
                    "context": _text_of(paragraph, "context", place),
                    "question": _text_of(question, "question", own),
                    "answer": [_text_of(each, "text", own) for each in answers],
                    "answer_start": [each.get("answer_start", "") for each in answers],
                    "id": str(question.get("id", "")),
                    "title": str(article.get("title", "")),
                }
                yield line, {name: value for name, value in fields.items() if name in wanted}, f"{number}"


def _articles(source: Source) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Each article with the line that it begins in and its number."""
    text, decoder = "".join(source), json.JSONDecoder()
    begin = re.match(BEGINNING, text)
    assert begin is not None, "the form was looked at before"
    place, line, number = begin.end(), 1, 0
    seen = 0  # up to where lines are counted
    while True:
        gap = BETWEEN.match(text, place)
        place = gap.end() if gap else place
        line, seen = line + text.count("\n", seen, place), place
        if text[place : place + 1] == "]":
            return
        number += 1
        try:
            article, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise LexigraphError(
                f"{source.path}, line {line}, article {number}: broken JSON ({getattr(error, 'msg', error)}). "
                "Was the file cut short? Copy it again."
            ) from None
        if not isinstance(article, dict):
            raise LexigraphError(f"{source.path}, line {line}: article {number} is not a JSON object.")
        yield line, number, article


def _list_of(holder: dict[str, Any], name: str, place: str) -> list[dict[str, Any]]:
    found = holder.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise LexigraphError(f"{place}: there is no list {name!r} of objects, as SQuAD has it.")
    return found


def _text_of(holder: dict[str, Any], name: str, place: str) -> str:
    found = holder.get(name)
    if not isinstance(found, str):
        raise LexigraphError(f"{place}: {name!r} is no text.")
    return found
