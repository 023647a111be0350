"""From files to examples: which split each belongs to, and how its text is cleaned.

A split is a function of the text alone. Lines and documents are assigned by a hash of what they say, so that
equal ones never stand on both sides; a stream without documents keeps its order, and its end is held out.

What an example holds, a network's columns say (columns.py); where it goes then, tables.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import builtin, clean, files, frames, heads, images, parallel, readers, sentences, trees
from lexigraph.text.columns import Columns
from lexigraph.text.encoding import Example, running, words_of
from lexigraph.text.source import Source
from lexigraph.text.splits import cutter, shares_of
from lexigraph.text.tables import SPLITS

if TYPE_CHECKING:  # counting words needs none
    from lexigraph.text.tokenizer import Tokenizer

ARRAYS = ("image", "vectors")  # kinds of columns that may be named by their files
PLAIN = "text"  # the only field of plain text
PARAGRAPH = 10  # sentences of a document of the built-in corpora, where blank lines would part documents
PAIR = {"source", "target"}  # of which neither may be empty alone


@dataclass(frozen=True)
class Piece:
    """A stretch of text for one split; `last` ends its unit (a line, a document, or the stream)."""

    split: str
    text: str
    last: bool
    document: int = 0


def texts_of(names: files.Names, split_sentences: bool = False) -> Iterator[str]:
    """The texts of files, or of the built-in corpus, one by one."""
    return (text for text, _ in _lines(names, recipes.Data(train=names, split_sentences=split_sentences)))


def documents_of(names: files.Names) -> Iterator[str]:
    """The sentences of running text, with an empty one between two paragraphs, files or records of a table."""
    plain = readers.file_format(files.expand(names)[0]) == "text"
    current = 0
    for sentence, document in _lines(
        names, recipes.Data(split_sentences=True, documents="blank" if plain else "line")
    ):
        if document != current:
            yield ""
        current = document
        yield sentence


def make_cleaner(data: recipes.Data, columns: Columns) -> clean.LineRule | None:
    """The recipe's cleaning of a line, its word counts taken from the training split; None if it asks for none."""
    if len(data.rare) != len(data.max_words):
        raise UsageError(
            "data.rare and data.max_words are the stages of cleaning: give both the same number of values."
        )
    if data.rare and data.unit == "stream":
        raise UsageError('Cleaning in stages (data.rare) drops lines, and data.unit = "stream" has none: use "line".')
    known = _dictionary(data)
    rules = clean.cleaner(data.clean, dictionary=known) if data.clean else None
    if not data.rare:
        return rules

    def lines() -> Iterator[str]:
        train = (each.values for each in examples(data, columns, str) if each.split == "train")
        return (str(values[field]) for values in train for field in cleaned_fields(columns))

    stages = list(map(clean.Stage, data.rare, data.max_words))
    return clean.fitted_cleaner(lines, clean.without_dictionary(data.clean), stages, known)


def _dictionary(data: recipes.Data) -> frozenset[str] | None:
    """The words that the cleaning rule `dictionary` lets pass; None without that rule."""
    if ("dictionary" in data.clean) != bool(data.dictionary):
        raise UsageError(
            "The cleaning rule 'dictionary' and data.dictionary, a file with one word a line, go together: "
            f"{'leave the file out, or name the rule in data.clean' if data.dictionary else 'name the file'}."
        )
    if not data.dictionary:
        return None
    try:
        entries = list(texts_of(data.dictionary))
    except LexigraphError as error:
        raise LexigraphError(f"The dictionary that data.dictionary names cannot be read: {error}") from None
    return clean.dictionary_words(entries, data.clean)


def trained_cleaner(data: recipes.Data, *tokenizers: Tokenizer) -> clean.LineRule | None:
    """The same cleaning for other text, without the training text: words that were rare are not in the vocabulary."""
    rules = clean.without_dictionary(data.clean)
    if not data.rare or not tokenizers or tokenizers[0].kind != "word":
        return clean.cleaner(rules) if rules else None
    words = (tokenizer.token_of(i) for tokenizer in tokenizers for i in range(len(tokenizer)))
    return clean.known_words(rules, frozenset(words), data.max_words[-1])


def examples(data: recipes.Data, columns: Columns, cleaner: clean.LineRule | None = None) -> Iterator[Example]:
    """All examples of the recipe's files with the split that each belongs to, cleaned by `cleaner` or as it says."""
    given = {name: getattr(data, name) for name in SPLITS if getattr(data, name)}
    if "train" not in given:
        raise UsageError("There is no training text: give --data FILE, or --data grammar for the built-in corpus.")
    shares, cleaner = shares_of(data, given), cleaner or make_cleaner(data, columns)
    fields = fields_of(columns)
    for name, names in given.items():
        cut = cutter(shares) if name == "train" and shares["train"] < 1 - 1e-9 else None
        if cut and data.documents == "file" and len(files.expand(names)) == 1:
            raise UsageError(
                'With data.documents = "file" the text is one document and cannot be split: give --valid.'
            )
        if set(fields) == {PLAIN}:
            yield from _texts(names, data, name, cut, cleaner)
        else:
            for begun, file in _numbered(names):
                yield from _records(file, data, columns, name, cut, cleaner, begun)


def fields_of(columns: Columns) -> dict[str, bool]:
    """The fields that columns are read from, and whether a record must have each."""
    fields = {column.field_of(name): not column.blank for name, column in columns.items()}
    return fields | dict.fromkeys(leads_of(columns), False)


def leads_of(columns: Columns) -> list[str]:
    """The fields that name a special token to put in front of a text."""
    return [column.lead for column in columns.values() if column.lead]


def cleaned_fields(columns: Columns) -> list[str]:
    """The fields that hold running text, which cleaning may change."""
    kinds = ((column.field_of(name), column) for name, column in columns.items())
    return list(dict.fromkeys(f for f, column in kinds if column.kind in ("tokens", "raw") and not column.by_word))


# ---- plain text -----------------------------------------------------------------------------------------------


def _texts(
    names: files.Names,
    data: recipes.Data,
    split: str,
    cut: Callable[[str], str] | None,
    cleaner: clean.LineRule | None,
) -> Iterator[Example]:
    """Lines, documents, or a stream in pieces. One of which nothing is left leaves no boundary either."""
    found = _units(names, data, split, cut)
    if cleaner and data.unit == "stream":
        found = _cleaned(found, cleaner)
    elif cleaner:
        found = (Piece(piece.split, cleaner(piece.text) or "", piece.last, piece.document) for piece in found)
    begun = False  # whether the unit has any text
    for piece in found:
        begun = begun or bool(piece.text)
        if piece.split and (piece.text or (piece.last and begun)):
            yield Example(piece.split, {PLAIN: piece.text}, piece.document, piece.last)
        begun = begun and not piece.last


def _cleaned(stream: Iterable[Piece], cleaner: clean.LineRule) -> Iterator[Piece]:
    """A stream cleaned line by line. Line ends stay, but for those of dropped lines; where a long line was cut into
    pieces, its words stay apart."""
    inside = gap = False  # does a piece go on with a line of the one before, and was there white space between
    for piece in stream:
        lines = piece.text.split("\n")
        kept = []
        for number, line in enumerate(lines):
            ended = number < len(lines) - 1
            cleaned = cleaner(line) if line and not line.isspace() else ""
            if cleaned is None and ended and not inside:
                continue
            cleaned = cleaned or ""
            if inside and cleaned and (gap or line[0].isspace()) and not cleaned[0].isspace():
                cleaned = " " + cleaned
            kept.append(cleaned + "\n" * ended)
            inside = not ended and (inside or bool(line))
            gap = inside and (line[-1:].isspace() or (gap and not line)) and not cleaned[-1:].isspace()
        inside = inside and not piece.last
        yield Piece(piece.split, "".join(kept), piece.last)


def _units(names: files.Names, data: recipes.Data, split: str, cut: Callable[[str], str] | None) -> Iterator[Piece]:
    if data.unit == "stream" and data.split_sentences:
        raise UsageError(
            'data.split_sentences makes lines, and data.unit = "stream" has none: leave out one of them.'
        )
    if data.unit == "stream" and data.documents == "none":
        yield from _stream(names, data, split, cut is not None)
        return
    records = _lines(names, data)
    if data.unit == "line" and data.documents in ("none", "line"):
        for text, document in records:
            yield Piece(cut(text) if cut else split, text, True, document)
        return
    current, where, held = None, split, ""  # documents: the first line decides for all of it
    for text, document in records:
        if document != current:
            if current is not None and data.unit == "stream":
                yield Piece(where, held, True)
            where, current, held = cut(text) if cut else split, document, text
        elif data.unit == "stream":
            yield Piece(where, held + "\n", False)
            held = text
        if data.unit == "line":
            yield Piece(where, text, True, document)
    if data.unit == "stream" and current is not None:
        yield Piece(where, held, True)


def _lines(names: files.Names, data: recipes.Data) -> Iterator[tuple[str, int]]:
    """Lines with the number of their document; a file begins a new one."""
    begun = 0
    for file in files.expand(names):
        document = -1
        for text, document in _lines_of_file(file, data):
            yield text, begun + document
        begun += document + 1


def _lines_of_file(file: str, data: recipes.Data) -> Iterator[tuple[str, int]]:
    if files.built_in(file):
        together = PARAGRAPH if data.documents == "blank" else 1
        yield from ((text, n // together) for n, text in enumerate(builtin.sentences(data.sentences, file)))
        return
    source, by_line = Source(file, encoding=data.encoding), data.documents == "line"
    if data.split_sentences and readers.file_format(file) == "text":
        for number, (sentence, paragraph) in enumerate(sentences.of_pieces(readers.read_text(source))):
            yield sentence, number if by_line else paragraph if data.documents == "blank" else 0
        return
    documents = "none" if by_line else data.documents
    for number, record in enumerate(readers.read(source, data.columns or None, documents, data.max_chars)):
        text, document = text_of(record, file), number if by_line else record.document
        if data.split_sentences:
            yield from ((sentence, document) for sentence in sentences.split(text))
        else:
            yield text, document


def text_of(record: readers.Record, file: str) -> str:
    """The text of a record, or a sentence that says which column to name; of CoNLL, words with spaces between."""
    text, tagged = record.columns.get("text"), readers.file_format(file) in readers.CONLL_DEFAULT
    if tagged and isinstance(text, list):
        return " ".join(map(str, text))
    if isinstance(text, str):
        return text
    if text is None:
        what = f"there is no column 'text', only {', '.join(record.columns)}"
    else:
        what = f"the column 'text' holds {'a list' if isinstance(text, list) else 'a number'}, not text"
    raise LexigraphError(
        f"{file}, line {record.line}: {what}. Set data.columns to the field that holds the text, as in "
        f"--set 'data.columns={{text=\"{1 if tagged else 'FIELD'}\"}}'."
    )


def _stream(names: files.Names, data: recipes.Data, split: str, cut: bool) -> Iterator[Piece]:
    """A stream in order; its last part is held out when there are no other files. The end of a file ends a unit."""

    def texts() -> Iterator[tuple[str, bool]]:
        for file in files.expand(names):
            if files.built_in(file):
                yield from ((text + "\n", False) for text in builtin.sentences(data.sentences, file))
            else:
                source = Source(file, encoding=data.encoding)
                pieces = readers.read_text(source, max_chars=data.max_chars, columns=data.columns or None)
                yield from ((piece, False) for piece in pieces)
            yield "", True

    if not cut:
        yield from (Piece(split, text, last) for text, last in texts())
        return
    total = sum(len(text) for text, _ in texts())
    shares = shares_of(data, ["train", *(name for name in ("valid", "test") if getattr(data, name))])
    ends = [int(round(total * bound, 6)) for bound in np.cumsum(list(shares.values()))]  # 0.7 + 0.2 + 0.1 < 1
    splits, index, place = list(shares), 0, 0
    for text, last in texts():
        while index < len(ends) and place + len(text) >= ends[index]:
            here = ends[index] - place
            yield Piece(splits[index], text[:here], True)
            text, place, index = text[here:], ends[index], index + 1
        if index == len(ends):
            return
        yield Piece(splits[index], text, last)
        place += len(text)


# ---- records of several fields --------------------------------------------------------------------------------


def _records(
    file: str,
    data: recipes.Data,
    columns: Columns,
    split: str,
    cut: Callable[[str], str] | None,
    cleaner: clean.LineRule | None,
    begun: int,
) -> Iterator[Example]:
    """Records of several fields, their documents counted from `begun`. One that lacks text in any field that needs
    some, or of which cleaning leaves none, goes.

    The first field decides to which split a record belongs. Texts are cleaned; words that something is aligned with,
    labels and numbers are as they are.
    """
    if data.unit == "stream":
        raise UsageError('data.unit = "stream" is for plain text: examples with several columns are lines.')
    if data.split_sentences:
        raise UsageError("data.split_sentences is for plain text: examples with several columns are as they are.")
    fields, texts = fields_of(columns), cleaned_fields(columns)
    first = next(iter(fields))
    arrays = {column.field_of(name): column.kind for name, column in columns.items() if column.kind in ARRAYS}
    classes = [column.field_of(name) for name, column in columns.items() if column.kind == "class"]
    leads = [field for field in leads_of(columns) if field in classes]  # a task, and to have no name is one, too
    classes = [field for field in classes if field not in leads]
    hung = {
        c.field_of(name): columns[c.aligned].field_of(c.aligned) for name, c in columns.items() if c.kind == "heads"
    }
    numbers = [field for field, kind in arrays.items() if kind == "vectors"]
    grown = [column.field_of(name) for name, column in columns.items() if column.kind == "spans"]
    for record in _fields(file, data, fields, leads_of(columns), numbers):
        values, key, place = dict(record.columns), record.columns[first], f"{file}, line {record.line}"
        values = dict.fromkeys(leads, "") | values
        if unlabelled := next((field for field in classes if not str(values[field]).strip()), ""):
            raise LexigraphError(f"{place}: the {unlabelled} is empty; every example needs one.")
        if PAIR.issubset(texts) and (side := _empty_side(values)):
            raise LexigraphError(
                f"{place}: the {side} is empty; a pair needs both sides. Fill it, or leave the line out."
            )
        for field, words in hung.items():
            values[field] = heads.read(values[field], words_of(values[words]), place)
        for field in grown:
            trees.refuse_other(values[field], field, place)
        for field, kind in arrays.items():
            if kind == "vectors":
                values[field] = frames.read(values[field], Path(file).parent, f"{file}, record {record.line}: ")
            else:
                values[field] = images.read(values[field], Path(file).parent)
        if first in arrays and isinstance(key, list):
            key = values[first]
        where = cut(key.tobytes().hex() if isinstance(key, np.ndarray) else running(key)) if cut else split
        for field in texts:
            text = str(values.get(field, ""))
            values[field] = (cleaner(text) or "") if cleaner else text
        if where and all(values[field].strip() for field in texts if fields[field]):
            yield Example(where, values, begun + record.document, True, place)


def _empty_side(values: Mapping[str, object]) -> str:
    """Which side of a pair is blank where the other is not."""
    blank = [side for side in sorted(PAIR) if not str(values[side]).strip()]
    return blank[0] if len(blank) == 1 else ""


def _numbered(names: files.Names) -> Iterator[tuple[int, str]]:
    """Files, each with a number far above that of any document of those before it."""
    return ((place << 40, file) for place, file in enumerate(files.expand(names)))


def _fields(
    file: str, data: recipes.Data, fields: dict[str, bool], leads: Sequence[str], numbers: Sequence[str]
) -> Iterator[readers.Record]:
    """Records with these fields, by the names or numbers that the recipe gives them in the file.

    leads: the fields that hold directions, read where a file has them. numbers: those that hold sequences of vectors.
    """
    needed = [field for field, required in fields.items() if required]
    direction, file = parallel.directed(file)
    if direction:
        records = _fields(file, data, fields, leads, numbers)
        yield from parallel.with_direction(records, direction, leads, file)
        return
    if files.built_in(file):
        yield from builtin.records(needed, data.sentences, file)
        return
    if both := parallel.sides(file):
        yield from parallel.records([Source(name, encoding=data.encoding) for name in both], needed, data.max_chars)
        return
    if Path(file).suffix == ".npz":
        yield from images.read_arrays(Path(file), data.columns or {field: field for field in needed})
        return
    usual = readers.CONLL_FIELDS.get(readers.file_format(file), {})
    mapped = data.columns or {field: usual[field] for field in needed if field in usual} or usual
    if missing := [field for field in needed if mapped and field not in mapped]:
        raise UsageError(
            f"Examples of this system have the fields {' and '.join(needed)}: data.columns lacks "
            f"{' and '.join(missing)}."
        )
    documents = "none" if data.documents == "line" else data.documents
    source = Source(file, encoding=data.encoding)
    yield from readers.read(
        source, mapped or None, documents, data.max_chars, needed=needed, welcome=leads, numbers=numbers
    )
