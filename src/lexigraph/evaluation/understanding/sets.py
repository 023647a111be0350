"""Benchmark sets as examples: what a file holds, and which of it is learned, chosen on and reported.

A set without a part of its own for choosing, or for the report, has it cut from another part by a hash of the text
(text/splits.py), or of what must stay together: a premise, a document, an article.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexigraph.errors import LexigraphError
from lexigraph.text import builtin, pronouns, readers, sentences
from lexigraph.text.source import COMPRESSED, Source
from lexigraph.text.spans import BIO, converted
from lexigraph.text.splits import cutter

PARTS = TRAIN, DEV, TEST = ("train", "dev", "test")
WORD = re.compile(r"\w+")
SENTIMENT = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}  # of five classes, without neither


class Example(NamedTuple):
    """A text, or the words of a sentence; what is to be said of it; and the other text of a pair."""

    text: Any
    label: Any  # a class, a number, or a tag for every word
    second: str = ""
    group: str = ""  # examples that stay together when a part is cut; "": those of the same text


Read = Callable[[Path, str], Iterable[Example]]  # the examples of a file, for a part


@dataclass(frozen=True)
class Cut:
    """Parts that are taken from another one's file, and how much of it each takes."""

    source: str
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Loaded:
    """The examples of a set by part, and a digest of each of its files."""

    parts: dict[str, list[Example]]
    files: dict[str, str]


def find_file(folder: Path, name: str) -> Path | None:
    """A file of a set, plain or compressed."""
    return next((file for suffix in ("", *COMPRESSED) if (file := folder / f"{name}{suffix}").is_file()), None)


def load(folder: Path, files: Mapping[str, str], read: Read, cut: Cut | None = None) -> Loaded:
    """The examples of a set, from its files by part; without any, they are made by `read` alone."""
    parts: dict[str, list[Example]] = {}
    digests: dict[str, str] = {}
    for part in files or PARTS:
        if not files:
            parts[part] = list(read(folder, part))
            continue
        file = find_file(folder, files[part])
        if file is None:
            raise LexigraphError(f"There is no {folder / files[part]}, plain or compressed.")
        digests[file.name] = _digest(file)
        parts[part] = list(read(file, part))
    if cut is not None:
        where = cutter({**cut.shares, cut.source: 1 - sum(cut.shares.values())})
        given, parts[cut.source] = parts[cut.source], []
        parts |= {part: [] for part in cut.shares}
        for example in given:
            key = example.text if isinstance(example.text, str) else " ".join(example.text)
            parts[where(example.group or key)].append(example)
    for part in PARTS:
        if not parts.get(part):
            raise LexigraphError(f"{folder} leaves nothing for {part}: its files are too short.")
    return Loaded(parts, digests)


def sample(examples: Sequence[Example], count: int, seed: int = 0) -> list[Example]:
    """So many examples drawn by a seed, or all if there are no more, or count is 0."""
    if not count or len(examples) <= count:
        return list(examples)
    return [examples[int(place)] for place in np.random.default_rng(seed).permutation(len(examples))[:count]]


def _digest(file: Path) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for text in Source(file):
        digest.update(text.encode())
    return digest.hexdigest()


# ---- what files look like ----


def table(
    text: str,
    label: str,
    second: str = "",
    *,
    names: Mapping[str, str] | None = None,
    number: bool = False,
    group: str = "",
) -> Read:
    """Rows with fields, by their names or numbers. names: of the classes, where the file has others."""
    columns = {"text": text, "label": label} | ({"second": second} if second else {})
    columns |= {"group": group} if group else {}

    def read(file: Path, part: str) -> Iterator[Example]:
        for record in readers.read(file, columns):
            values = record.columns
            try:
                said = float(values["label"]) if number else (names or {}).get(values["label"], values["label"])
            except ValueError:
                raise LexigraphError(f"{file}, line {record.line}: {values['label']!r} is no number.") from None
            yield Example(values["text"], said, values.get("second", ""), values.get("group", ""))

    return read


def label_first(label: Callable[[str], str]) -> Read:
    """A label, a space and a text in every line."""

    def read(file: Path, part: str) -> Iterator[Example]:
        for number, line in enumerate(readers.read_lines(file), 1):
            said, _, text = line.partition(" ")
            if not text.strip():
                raise LexigraphError(f"{file}, line {number}: there is a label, and no text after it.")
            yield Example(text.strip(), label(said))

    return read


def sentiment_trees(file: Path, part: str) -> Iterator[Example]:
    """Praise and blame: whole sentences, and to learn from also every different phrase of them, with its commonest
    label."""
    phrases: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in readers.read(file, needed=("tokens", "tree")):
        words, spans = record.columns["tokens"], record.columns["tree"]
        for span in spans if part == TRAIN else spans[:1]:
            phrases[" ".join(words[span.first : span.last + 1])][span.label] += 1
    for text, labels in phrases.items():
        if (label := labels.most_common(1)[0][0]) in SENTIMENT:
            yield Example(text, SENTIMENT[label])


def entities(file: Path, part: str) -> Iterator[Example]:
    """CoNLL-2003: words and names in BIO; documents stay together."""
    document = 0
    for block in re.split(r"\n\s*\n", "".join(Source(file))):
        rows = [row for line in block.splitlines() if (row := line.split())]
        document += any(row[0] == "-DOCSTART-" for row in rows)
        if rows := [row for row in rows if row[0] != "-DOCSTART-"]:
            tags = converted([row[-1] for row in rows], BIO)
            yield Example([row[0] for row in rows], tags, group=f"document {document}")


def parts_of_speech(file: Path, part: str) -> Iterator[Example]:
    """CoNLL-U: words and their universal parts of speech."""
    for record in readers.read(file):
        yield Example(record.columns["tokens"], record.columns["tags"])


def answering_sentences(file: Path, part: str) -> Iterator[Example]:
    """From SQuAD, as QNLI is: a question and the sentence of its paragraph that holds the answer; and the same
    question with another sentence, which shares most words with it and has none of its answers. Articles stay
    together."""
    try:
        articles = json.loads("".join(Source(file)))["data"]
        for article in articles:
            for paragraph in article["paragraphs"]:
                for claim in _questions(paragraph):
                    yield claim._replace(group=article["title"])
    except (ValueError, KeyError, TypeError) as error:
        raise LexigraphError(f"{file} is not in the form of SQuAD: {type(error).__name__} {error}.") from None


def _questions(paragraph: Mapping[str, Any]) -> Iterator[Example]:
    context, texts = paragraph["context"], sentences.split(paragraph["context"])
    ends, end = list[int](), 0
    for text in texts:
        begin = context.find(text, end)
        if begin < 0:  # white space within a sentence: nobody can tell where it stands
            return
        ends.append(end := begin + len(text))
    words = [set(WORD.findall(text.casefold())) for text in texts]
    for asked in paragraph["qas"]:
        if not asked["answers"]:
            continue
        first = asked["answers"][0]["answer_start"]
        right = next((number for number, end in enumerate(ends) if first < end), None)
        answers = [answer["text"] for answer in asked["answers"]]
        wrong = [n for n, text in enumerate(texts) if n != right and not any(answer in text for answer in answers)]
        if right is None or not wrong:
            continue
        question, said = asked["question"].strip(), set(WORD.findall(asked["question"].casefold()))
        near = max(wrong, key=lambda number: (len(words[number] & said), -number))
        yield Example(question, "answers", texts[right])
        yield Example(question, "does not", texts[near])


# ---- what needs no files ----


def who_is_meant(folder: Path, part: str) -> Iterator[Example]:
    """Pronouns, from the built-in grammar's nouns."""
    return (Example(each.sentence, each.answer, each.claim) for each in pronouns.claims(part))


def built_in(fields: tuple[str, str], name: str = "grammar", count: int = 1500) -> Read:
    """Records of a built-in corpus, of which the first two thirds are learned."""
    shares = {TRAIN: (0, 4 / 6), DEV: (4 / 6, 5 / 6), TEST: (5 / 6, 1)}

    def read(folder: Path, part: str) -> Iterator[Example]:
        first, last = (int(share * count) for share in shares[part])
        for number, record in enumerate(builtin.records(fields, last, name)):
            if number >= first:
                yield Example(*(record.columns[field] for field in fields))

    return read
