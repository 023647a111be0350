"""Read what people say about words: the files that word vectors are judged by. Each may be plain, .gz or .xz.

    similarity        word1 word2 score       split by tabs, spaces or (.csv) commas, with or without a header
    analogies         a b c answer            under lines `: section`, or .csv: type, word1, word2, word3, target
    BATS              word<TAB>answer/answer  40 files; every two pairs of a file make a question
    categories        .csv: category, word
    outliers          .csv: category, outliers, words; the last two written as ['one', 'two']
    labelled texts    label text
    tagged sentences  CoNLL: a word and its tag a line, a blank line after each sentence

>>> from lexigraph.words import benchmarks
>>> benchmarks.similarity_pairs("word-sim/EN-RG-65.txt")[0]     # doctest: +SKIP
('gem', 'jewel', 3.94)
"""

from __future__ import annotations

import ast
import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lexigraph.errors import LexigraphError
from lexigraph.text import readers

SCORES = ("score", "similarity", "simlex999", "human(mean)")  # what files with a header call the score
BATS_KINDS = {"I": "inflection", "D": "derivation", "E": "encyclopedic", "L": "lexicographic"}
SYNTACTIC = re.compile(r"gram.*|[A-Z]+_[A-Z]+")  # gram3-comparative of Google's sections; JJ_JJR, two tags, of MSR's


class Question(NamedTuple):
    """a is to b as c is to what? Any of the answers is right."""

    kind: str  # semantic or syntactic; of BATS one of its four
    section: str
    a: str
    b: str
    c: str
    answers: tuple[str, ...]


class OutlierSet(NamedTuple):
    """Words that belong together, and words each of which would be the odd one among them."""

    name: str
    words: list[str]
    outliers: list[str]


def similarity_pairs(path: str | Path) -> list[tuple[str, str, float]]:
    """Pairs of words, each with how alike people find them."""
    rows = list(_rows(path))
    positions = [0, 1, 2]
    header = [cell.lower().replace(" ", "") for cell in rows[0][1]]
    if {"word1", "word2"} <= set(header):
        score = next((name for name in SCORES if name in header), None)
        if score is None:
            raise _fault(path, rows[0][0], f"no column is called {' or '.join(SCORES)}")
        positions = [header.index(name) for name in ("word1", "word2", score)]
        rows = rows[1:]
    pairs = []
    for line, row in rows:
        a, b, score = _pick(path, line, row, positions)
        pairs.append((a, b, _number(path, line, score)))
    return pairs


def analogy_questions(path: str | Path) -> list[Question]:
    """The questions of Google's or MSR's form, semantic and syntactic ones told apart by their sections."""
    if ".csv" in Path(path).suffixes:
        table = _columns(path, "type", "word1", "word2", "word3", "target")
        return [Question(_kind(section), section, a, b, c, (d,)) for _, (section, a, b, c, d) in table]
    section, questions = Path(path).name.split(".")[0], []
    for line, row in _rows(path):
        if row[0].startswith(":"):
            section = " ".join(row).removeprefix(":").strip()
        elif len(row) == 4:
            a, b, c, answer = row
            questions.append(Question(_kind(section), section, a, b, c, (answer,)))
        else:
            raise _fault(path, line, f"a question is four words, not {len(row)}; a section begins with a colon")
    return questions


def bats_questions(folder: str | Path, limit: int | None = None) -> list[Question]:
    """All questions a : b :: c : ? with two different pairs of one file; b is the first of its pair's answers.

    limit: take so many pairs of each file; 50 pairs make 2,450 questions.
    """
    files = sorted(Path(folder).rglob("[IDEL][0-9]*.txt*"))
    if not files:
        raise LexigraphError(f"{folder} holds no BATS files: they are called I1.txt, D1.txt, E1.txt, L1.txt …")
    questions = []
    for file in files:
        kind, section = BATS_KINDS[file.name[0]], file.name.split(".")[0]
        pairs = []
        for line, row in _rows(file):
            word, written = _pick(file, line, row, [0, 1])
            answers = tuple(answer for answer in written.split("/") if answer)
            if not answers:
                raise _fault(file, line, "there is no answer")
            pairs.append((word, answers))
        pairs = pairs[:limit]
        questions += [
            Question(kind, section, a, others[0], c, answers)
            for a, others in pairs
            for c, answers in pairs
            if (a, others) != (c, answers)
        ]
    return questions


def categories(path: str | Path) -> list[tuple[str, str]]:
    """Words, each with its category; a word may stand in several."""
    table = _columns(path, "category", "word", blanks=True)  # AP and BLESS have a row without a word now and then
    return list(dict.fromkeys((word, category) for _, (category, word) in table if word))


def outlier_sets(path: str | Path) -> list[OutlierSet]:
    """Sets of words with their outliers."""
    return [
        OutlierSet(name, _list(path, line, words), _list(path, line, outliers))
        for line, (name, words, outliers) in _columns(path, "category", "words", "outliers")
    ]


def labelled_texts(path: str | Path) -> list[tuple[str, str]]:
    """Texts with their labels; of a label like NUM:dist the part before the colon."""
    pairs = (line.strip().partition(" ") for line in readers.read_lines(path))
    return [(text, label.split(":")[0]) for label, _, text in pairs]


def tagged_sentences(path: str | Path) -> list[tuple[list[str], list[str]]]:
    """The words and the tags of each sentence: the last column, or of CoNLL-U the part of speech."""
    source = readers.Source(path)
    if readers.file_format(path) == "text":  # CoNLL files are often called .txt; the name below is read in messages
        pieces = (piece.encode() for piece in source)
        source = readers.Source(f"{path} as .conll", pieces)
    return [(record.columns["tokens"], record.columns["tags"]) for record in readers.read(source)]


# ---- lines → cells ----


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, and its number."""
    lines = "".join(readers.Source(path)).split("\n")
    if ".csv" not in Path(path).suffixes:
        for line, text in enumerate(lines, 1):
            if text.strip():
                yield line, [cell.strip() for cell in (text.split("\t") if "\t" in text else text.split())]
        return
    table = csv.reader(lines, strict=True)
    try:
        for row in table:
            if row:
                yield table.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise _fault(path, table.line_num, f"it is no row of a .csv file ({error})") from None


def _columns(path: str | Path, *names: str, blanks: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The columns of these names of a file with a header, each row with its line."""
    rows = _rows(path)
    line, header = next(rows)
    for name in names:
        if name not in header:
            raise _fault(path, line, f"there is no column {name!r} among {', '.join(filter(None, header))}")
    positions = [header.index(name) for name in names]
    for line, row in rows:
        yield line, _pick(path, line, row, positions, blanks)


def _pick(path: str | Path, line: int, row: list[str], positions: list[int], blanks: bool = False) -> list[str]:
    if len(row) <= max(positions):
        raise _fault(path, line, f"the line has {len(row)} columns where {max(positions) + 1} are needed")
    picked = [row[place] for place in positions]
    if not blanks and not all(picked):
        raise _fault(path, line, f"column {positions[picked.index('')] + 1} is empty")
    return picked


def _number(path: str | Path, line: int, cell: str) -> float:
    try:
        if math.isfinite(number := float(cell)):
            return number
    except ValueError:
        pass
    raise _fault(path, line, f"{cell!r} is no score")


def _list(path: str | Path, line: int, cell: str) -> list[str]:
    try:
        words = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _fault(path, line, f"{cell[:40]!r} is no list of words like ['one', 'two']")
    return [word for word in words if word]  # the lists of outliers end with an empty one


def _kind(section: str) -> str:
    return "syntactic" if SYNTACTIC.fullmatch(section) else "semantic"


def _fault(path: str | Path, line: int, what: str) -> LexigraphError:
    return LexigraphError(f"{path}, line {line}: {what}. Correct the line.")
