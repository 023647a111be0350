"""Guess what a text is from how it looks: which columns a table has, what its records are, which recipes fit."""

from __future__ import annotations

import csv
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError
from lexigraph.registry import system_of_any_kind
from lexigraph.text import parallel, parquet, squad
from lexigraph.text.builtin import CORPORA
from lexigraph.text.files import Names, built_in, expand, several
from lexigraph.text.readers import CONLL_DEFAULT, CONLL_FIELDS, MAX_CHARS, TABLES, csv_delimiter, file_format, read
from lexigraph.text.source import AUTO, Source, line_blocks
from lexigraph.text.tally import Tally

PEEK = 200  # rows from which the columns of a table are guessed
LONG_LINE = 50  # words; sentences are seldom longer, paragraphs often

FIRST = {"lines": ("gpt",), "stream": ("gpt", "lstm-lm")}  # kind of file → of its many recipes, those to begin with
NEEDED = {  # kind → its fields
    "pairs": {"source", "target"},
    "labels": {"text", "label"},
    "questions": {"context", "question", "answer"},
    "trees": {"tokens", "tree"},
    "phrases": {"tokens", "tags", "phrases"},
    "dependencies": {"tokens", "tags", "heads", "relations"},
    "tags": {"tokens", "tags"},
}
LESS = {"dependencies": "tags"}  # kind → another that its files hold, too
KNOWN_COLUMNS: tuple[dict[str, str], ...] = (  # our names → names that files use; the first that fits is taken
    {"source": "source", "target": "target"},
    {"source": "src", "target": "tgt"},
    {"tokens": "tokens", "tags": "tags"},
    {"tokens": "words", "tags": "tags"},
    {"context": "context", "question": "question", "answer": "answers.text", "answer_start": "answers.answer_start"},
    {"context": "context", "question": "question", "answer": "answer"},
    {"text": "text", "label": "label"},
    {"text": "sentence", "label": "label"},
    {"text": "text"},
)


def guess_columns(path: str, name: str, encoding: str = AUTO) -> dict[str, str]:
    """Choose the columns of a table by the names in it, or of a TSV or CSV file by what its rows look like."""
    rows: list[list[str]] = []
    if name == "json" and squad.nested(Path(path)):
        return {field: field for field in squad.FIELDS}
    if name == "parquet":
        names: Iterable[str] = parquet.names(Path(path))
    else:
        lines = list(islice(_filled_lines(path, encoding), PEEK))
        between = csv_delimiter(lines[0]) if name == "csv" else "\t"
        with suppress(csv.Error):  # the reader will say what is wrong
            parsed = csv.reader(lines, delimiter=between)
            rows = [row for row in parsed if row] if name == "csv" else [line.split(between) for line in lines]
        names = rows[0] if rows else ()
    if name == "json":
        names = ()
        with suppress(ValueError, RecursionError):  # the reader will say what is wrong
            first = dict(json.loads(lines[0]))
            names = [
                *first,
                *(f"{key}.{inner}" for key, each in first.items() if isinstance(each, dict) for inner in each),
            ]
    for known in KNOWN_COLUMNS:
        if set(known.values()) <= set(names):
            return known
    if name in ("json", "parquet") or not rows:
        return {"text": "text"}
    looks = _guess_by_looks(rows)
    if name == "csv":  # which has a header
        return {ours: rows[0][int(theirs) - 1] if theirs.isdigit() else theirs for ours, theirs in looks.items()}
    return looks


def tree_columns(path: str, encoding: str = AUTO) -> dict[str, str]:
    """Of trees: a class at every node, where all labels of the first one are numbers, else tags and phrases."""
    first = next(read(Source(path, encoding=encoding), {"tree": "tree"}))
    classes = all(span.label.lstrip("+-").isdigit() for span in first.columns["tree"])
    return {name: name for name in (("tokens", "tree") if classes else ("tokens", "tags", "phrases"))}


def conllu_columns(path: str, encoding: str = AUTO) -> dict[str, str]:
    """Of CoNLL-U: heads and relations, too, where the first sentence has them."""
    first = next(read(Source(path, encoding=encoding), CONLL_FIELDS["conllu"]))
    return (CONLL_DEFAULT if "_" in first.columns["heads"] else CONLL_FIELDS)["conllu"]


def _filled_lines(path: str, encoding: str) -> Iterator[str]:
    blocks = line_blocks(Source(path, encoding=encoding), MAX_CHARS)
    return (line for lines in blocks for line in lines if line and not line.isspace())


def _guess_by_looks(rows: list[list[str]]) -> dict[str, str]:
    """Tell text (words with spaces between) from labels (few different words) in the first rows of a table."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    texts, labels = [], []
    for place in range(width):
        values = [row[place] if place < len(row) else "" for row in rows]
        different = len(set(values))
        if sum(" " in value.strip() for value in values) >= len(values) / 10:
            texts.append(place)
        elif all(values) and 2 <= different <= len(values) / 2:
            changes = sum(before != after for before, after in pairwise(values))
            labels.append((different, -changes, place))  # a source in a sorted file changes seldom
    if texts and labels:
        chosen = {"text": texts[0], "label": min(labels)[2]}
        if _is_header(rows, *chosen.values()):
            return {ours: rows[0][place] for ours, place in chosen.items()}
    elif len(texts) == 1 or width == 1:
        chosen = {"text": texts[0] if texts else 0}
    else:
        chosen = dict(zip(("source", "target"), texts or (0, 1), strict=False))
    return {ours: str(place + 1) for ours, place in chosen.items()}


def _is_header(rows: list[list[str]], text: int, label: int) -> bool:
    """A first row whose label no other row has, and whose text is a name rather than a sentence."""
    rest = [row for row in rows[1:] if len(row) > max(text, label)]
    words = sorted(len(row[text].split()) for row in rest)
    name = len(rows[0][text].split())
    new = rows[0][label] not in {row[label] for row in rest} and not rows[0][label].isdigit()
    return new and len(rest) >= 10 and name <= 3 and 2 * name <= words[len(words) // 2]


def holds_pairs(data: recipes.Data) -> bool:
    """Whether a training text is pairs of source and target, as its names tell, or the looks of its first file."""
    with suppress(LexigraphError):  # what cannot be read, the reader will say
        first = next(iter(expand(data.train)), "")
        direction, file = parallel.directed(first)
        if direction or parallel.sides(file):
            return True
        if built_in(file):
            return all(NEEDED["pairs"] <= set(fields) for fields in CORPORA.get(file, {"": ()}))
        if file_format(file) in TABLES:
            return kind_of(data.columns or guess_columns(file, file_format(file), data.encoding)) == "pairs"
    return False


def kind_of(columns: Iterable[str]) -> str:
    return next((kind for kind, needed in NEEDED.items() if needed <= set(columns)), "lines")


def guess_kind(tally: Tally, name: str, columns: Mapping[str, str], empty: int) -> tuple[str, str]:
    """Tell what the records are, and why."""
    kind = kind_of(columns)
    if kind != "lines":
        fields = ", ".join(f"{ours} = field {theirs}" for ours, theirs in columns.items())
        trained = "." if recipes_for(kind) else f". No recipe trains on {kind} yet."
        return kind, f"The columns are taken as {fields}: the records are {kind}{trained}"
    words, chars, records, plain = tally.words.lengths(), tally.chars.lengths(), tally.records, name == "text"
    ends = tally.sentence_ends / records
    width, alike = tally.words.seen.most_common(1)[0]
    if plain and tally.tabbed == records > 1:
        return "pairs", "Every line has a tab, so these may be columns: name the file .tsv."
    if plain and records >= 20 and 2 <= width <= 12 and alike >= 0.98 * records and empty > 0.01 * alike:
        return "tags", f"Nearly every line has {width} words, so these may be columns: name the file .conll."
    if records == 1:
        reason = "The text is one line"
    elif chars.maximum > MAX_CHARS:
        reason = f"Line {chars.longest_line} has {chars.maximum:,} characters, too many for a sentence"
    elif words.median > LONG_LINE:
        reason = f"The median line is {words.median:,} words, longer than a sentence"
    elif plain and ends < 0.6 and 40 <= chars.median >= 0.8 * chars.p95:
        reason = f"Lines are wrapped at about {chars.p95} characters and {ends:.0%} of them end a sentence"
    elif plain and ends < 0.6 and empty > 0.05 * records:
        reason = f"Blank lines separate paragraphs and {ends:.0%} of lines end a sentence"
    else:
        means = f"median {words.median} words, {ends:.0%} end a sentence"
        return "lines", f"Lines are sentences or the like ({means}): data.unit = line."
    return "stream", f"{reason}: data.unit = stream."


def recipes_for(kind: str) -> tuple[str, ...]:
    """The recipes for files of this kind: those of systems whose records hold its fields."""
    systems = {name: recipes.source(name).tables["system"] for name in recipes.names()}
    fields = NEEDED.get(kind, {"text"})
    fitting = [name for name, system in systems.items() if set(system_of_any_kind(system).fields) == fields]
    fitting = [name for name in fitting if "train" not in recipes.source(name).tables.get("data", {})]  # dates
    # of many, those that are not another one for a certain text, method or machine: classifier-sst, skipgram-hs
    own = (name for name in fitting if not any(name.startswith(f"{other}-") for other in fitting))
    less = recipes_for(LESS[kind]) if kind in LESS else ()
    return (*(name for name in own if not name.endswith("-gpu")), *less)


def commands(
    kind: str, table: bool, columns: Mapping[str, str], paths: Mapping[str, Names], against: str, encoding: str = AUTO
) -> tuple[str, ...]:
    """How to train on files of a kind, by each recipe that can. table: whether `columns` are those of a table."""
    if not NEEDED.get(kind, set()) <= columns.keys():
        return ()  # a table in a file that does not say so by its name
    splits = {"data": against} | {split: split for split in ("valid", "test") if split in paths and split != against}
    named = [(option, name) for option, split in splits.items() for name in several(paths[split])]
    files, options = [f"--{option} {shlex.quote(name)}" for option, name in named], []
    if table and not (kind == "questions" and all(ours == theirs for ours, theirs in columns.items())):
        mapped = ", ".join(f'{ours} = "{theirs}"' for ours, theirs in columns.items())
        options.append(f"--set {shlex.quote(f'data.columns={{{mapped}}}')}")
    if encoding != AUTO:
        options.append(f"--set data.encoding={encoding}")
    unit = [f"--set data.unit={kind.removesuffix('s')}"] if kind in FIRST else []
    ways = [(name, unit) for name in FIRST.get(kind, recipes_for(kind))]
    if kind == "stream":  # by models of sentences, too
        ways.append(("picture", ["--split-sentences"]))
    return tuple(
        f"lexigraph train {name} {' '.join([*files, *cut, *options])} --out runs/{name}" for name, cut in ways
    )
