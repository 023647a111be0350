"""From files to token shards: splits, the tokenizer's training sample, and arrays that are mapped, not loaded.

A split is a function of the text alone. Lines and documents are assigned by a hash of what they say, so that
equal ones never stand on both sides; a stream without documents keeps its order, and its end is held out.

A shard is one array of token ids, every unit between boundaries, and the place of each boundary:

    ids      <eos> w w w <eos> w w <eos> …          offsets  0 4 7 …

so that unit i with both its boundaries is `ids[offsets[i] : offsets[i + 1] + 1]`, and the whole is a stream. Of a
corpus of pairs, units 2 i and 2 i + 1 are a source and its target; each side may have a tokenizer of its own, and
then the same id means one piece in a source and another one in a target. Held-out splits keep their text (raw.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.text import clean, readers
from lexigraph.text.batches import Spans
from lexigraph.text.raw import RawText, RawWriter, bytes_of

if TYPE_CHECKING:  # counting words needs none
    from lexigraph.text.tokenizer import Tokenizer

SPLITS = ("train", "valid", "test")
GRAMMAR = "grammar"  # the name of the built-in corpus, wherever a file is expected
BLOCK = 2000  # units tokenized at a time


@dataclass(frozen=True)
class Piece:
    """A stretch of text for one split; `last` ends its unit (a line, a document, or the stream)."""

    split: str
    text: str
    last: bool
    lead: str = ""  # a special token in front of it


def find(name: str) -> str:
    """A data file as given, or under the folder that LEXIGRAPH_DATA names."""
    root = os.environ.get("LEXIGRAPH_DATA")
    if name == GRAMMAR or Path(name).exists() or not root or Path(name).is_absolute():
        return name
    return str(Path(root) / name) if (Path(root) / name).exists() else name


def texts_of(file: str) -> Iterator[str]:
    """The texts of a file, or of the built-in corpus, one by one."""
    return (text for text, _ in _records(find(file), recipes.Data(train=file)))


def make_cleaner(data: recipes.Data) -> clean.LineRule | None:
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
        return (piece.text for piece in pieces(data, str) if piece.split == "train")

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
    if not data.rare or tokenizers[0].kind != "word":
        return clean.cleaner(rules) if rules else None
    words = (tokenizer.token_of(i) for tokenizer in tokenizers for i in range(len(tokenizer)))
    return clean.known_words(rules, frozenset(words), data.max_words[-1])


def pieces(data: recipes.Data, tidy: clean.LineRule | None = None) -> Iterator[Piece]:
    """All text of the recipe's files with the split that each piece belongs to, cleaned by `tidy` or as it says."""
    given = {name: getattr(data, name) for name in SPLITS if getattr(data, name)}
    if "train" not in given:
        raise UsageError("There is no training text: give --data FILE, or --data grammar for the built-in corpus.")
    shares = _shares(data, given)
    tidy = tidy or make_cleaner(data)
    for name, file in given.items():
        cut = _cutter(shares) if name == "train" and shares["train"] < 1 - 1e-9 else None
        if cut and data.documents == "file":
            raise UsageError(
                'With data.documents = "file" the text is one document and cannot be split: give --valid.'
            )
        if data.unit == "pair":
            yield from _pairs(find(file), data, name, cut, tidy)
            continue
        found = _units(find(file), data, name, cut)
        if tidy and data.unit == "stream":
            found = _tidied(found, tidy)
        elif tidy:
            found = (Piece(piece.split, tidy(piece.text) or "", piece.last) for piece in found)
        begun = False  # whether the unit has any text: one that has none leaves no boundary either
        for piece in found:
            begun = begun or bool(piece.text)
            if piece.split and (piece.text or (piece.last and begun)):
                yield piece
            begun = begun and not piece.last


def _pairs(
    file: str, data: recipes.Data, split: str, cut: Callable[[str], str] | None, tidy: clean.LineRule | None
) -> Iterator[Piece]:
    """Source and target one after the other; what cleaning leaves of only one of them goes."""
    for source, target, direction in _pair_records(file, data):
        where = cut(source) if cut else split
        texts = [(tidy(text) or "") if tidy else text for text in (source, target)]
        if where and all(text.strip() for text in texts):
            yield Piece(where, texts[0], True, direction)
            yield Piece(where, texts[1], True)


def _pair_records(file: str, data: recipes.Data) -> Iterator[tuple[str, str, str]]:
    """Source, target and, where there are several, the special token of the direction."""
    if file == GRAMMAR:
        yield from ((*pair, "") for pair in _questions(data.sentences))
        return
    named = {"source": "source", "target": "target"}
    columns = data.columns or (named if readers.file_format(file) == "json" else {"source": "1", "target": "2"})
    if missing := named.keys() - columns.keys():
        raise UsageError(f"Pairs have the columns source and target: data.columns lacks {' and '.join(missing)}.")
    for record in readers.read(file, columns, max_chars=data.max_chars):
        found = record.columns
        yield str(found["source"]), str(found["target"]), str(found.get("direction", ""))


def _questions(count: int) -> Iterator[tuple[str, str]]:
    """Statements of the built-in corpus and what asks for them: `He sang .` and `Did he sing ?`"""
    from lexigraph.text import edits  # its lexicon takes a while

    with_do, without = edits.edit_pairs("ask-do", None), edits.edit_pairs("ask-auxiliary", None)
    return islice((pair for both in zip(with_do, without, strict=True) for pair in both), count)


def _tidied(stream: Iterable[Piece], tidy: clean.LineRule) -> Iterator[Piece]:
    """A stream cleaned line by line. Line ends stay, but for those of dropped lines; where a long line was cut into
    pieces, its words stay apart."""
    inside = gap = False  # does a piece go on with a line of the one before, and was there white space between
    for piece in stream:
        lines = piece.text.split("\n")
        kept = []
        for number, line in enumerate(lines):
            ended = number < len(lines) - 1
            cleaned = tidy(line) if line and not line.isspace() else ""
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


def _shares(data: recipes.Data, given: dict[str, str]) -> dict[str, float]:
    """How much of the training file goes to each split that has no file of its own."""
    split = data.split if len(data.split) > 1 else (data.split[0], 1 - data.split[0])
    if any(share < 0 for share in split) or not 0 < sum(split) <= 1 + 1e-9 or split[0] <= 0 or len(split) > 3:
        raise UsageError(
            f"data.split = {list(data.split)} must be shares of train, valid and test that add up to at most 1, "
            "as in [0.9, 0.05, 0.05]."
        )
    shares = dict(zip(SPLITS, split, strict=False))
    spared = sum(share for name, share in shares.items() if name != "train" and name in given)
    missing = {name: share for name, share in shares.items() if share and name != "train" and name not in given}
    return {"train": shares["train"] + spared, **missing}


def _cutter(shares: dict[str, float]) -> Callable[[str], str]:
    """A function that assigns a text to a split by its hash; to none ("") where shares add up to less than 1.

    Only letters and digits count, whatever their case, so that texts which cleaning makes equal stay together; and no
    seed moves them, so that models of all seeds have one test set.
    """
    bounds = np.cumsum(list(shares.values())).round(9)
    names = list(shares)

    def cut(text: str) -> str:
        key = re.sub(r"\W+", "", text.casefold()) or text
        digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()
        place = int.from_bytes(digest, "big") / 2**64
        return next((name for name, bound in zip(names, bounds, strict=True) if place < bound), "")

    return cut


def _units(file: str, data: recipes.Data, split: str, cut: Callable[[str], str] | None) -> Iterator[Piece]:
    if data.unit == "stream" and data.documents == "none":
        yield from _stream(file, data, split, cut is not None)
        return
    records = _records(file, data)
    if data.unit == "line" and data.documents in ("none", "line"):
        for text, _ in records:
            yield Piece(cut(text) if cut else split, text, True)
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
            yield Piece(where, text, True)
    if data.unit == "stream" and current is not None:
        yield Piece(where, held, True)


def _records(file: str, data: recipes.Data) -> Iterator[tuple[str, int]]:
    """Lines with the number of their document."""
    if file == GRAMMAR:
        yield from ((sentence, number) for number, sentence in enumerate(_grammar(data)))
        return
    by_line = data.documents == "line"
    documents = "none" if by_line else data.documents
    for number, record in enumerate(readers.read(file, data.columns or None, documents, data.max_chars)):
        yield text_of(record, file), number if by_line else record.document


def _grammar(data: recipes.Data) -> Iterator[str]:
    from lexigraph.text import constructions  # its lexicon takes a while

    return constructions.sentences(data.sentences)


def text_of(record: readers.Record, file: str) -> str:
    """The text of a record, or a sentence that says which column to name."""
    text = record.columns.get("text")
    if isinstance(text, str):
        return text
    if text is None:
        what = f"there is no column 'text', only {', '.join(record.columns)}"
    else:
        what = f"the column 'text' holds {'a list' if isinstance(text, list) else 'a number'}, not text"
    raise LexigraphError(
        f"{file}, line {record.line}: {what}. Set data.columns to the field that holds the text, as in "
        "--set 'data.columns={text=\"FIELD\"}'."
    )


def _stream(file: str, data: recipes.Data, split: str, cut: bool) -> Iterator[Piece]:
    """A stream in order; its last part is held out when there are no other files."""

    def texts() -> Iterator[str]:
        if file == GRAMMAR:
            yield from (sentence + "\n" for sentence in _grammar(data))
        else:
            yield from readers.read_text(file, max_chars=data.max_chars, columns=data.columns or None)

    if not cut:
        for text in texts():
            yield Piece(split, text, False)
        yield Piece(split, "", True)
        return
    total = sum(map(len, texts()))
    shares = _shares(data, {"train": file} | {name: "given" for name in ("valid", "test") if getattr(data, name)})
    ends = [int(round(total * bound, 6)) for bound in np.cumsum(list(shares.values()))]  # 0.7 + 0.2 + 0.1 < 1
    names, index, place = list(shares), 0, 0
    for text in texts():
        while index < len(ends) and place + len(text) >= ends[index]:
            here = ends[index] - place
            yield Piece(names[index], text[:here], True)
            text, place, index = text[here:], ends[index], index + 1
        if index == len(ends):
            return
        yield Piece(names[index], text, False)
        place += len(text)


# ---- shards ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """A tokenized split, mapped from the disk."""

    ids: np.ndarray
    offsets: np.ndarray
    bytes: int  # of UTF-8 that tokens stand for, boundaries counted as one each: what bits per byte divides by
    counts: np.ndarray  # how often each id occurs; of pairs, in targets: ids of sources may mean other tokens
    paired: bool = False  # units are sources and targets by turns
    texts: RawText | None = None  # of a held-out split
    lost: str = ""  # the first word of it that its tokens do not give back

    @classmethod
    def load(cls, folder: Path, name: str) -> Shard:
        facts = json.loads((folder / f"{name}.json").read_text())
        ids = np.memmap(folder / f"{name}.ids", facts["dtype"], "r")
        counts = np.load(folder / f"{name}.counts.npy", allow_pickle=False)
        offsets = np.memmap(folder / f"{name}.offsets", np.int64, "r")
        texts, lost = RawText.load(folder, name), facts.get("lost", "")
        return cls(ids, offsets, facts["bytes"], counts, facts.get("paired", False), texts, lost)

    def take(self, spans: Spans) -> list[np.ndarray]:
        """The tokens of each span, and the one after them."""
        bounds = zip(spans.starts.tolist(), spans.lengths.tolist(), strict=True)
        return [self.ids[start : start + length + 1] for start, length in bounds]

    def columns(self, spans: Spans) -> dict[str, list[np.ndarray]]:
        """The tokens of each span as the columns that networks read: a text, or a source and its target."""
        if not self.paired:
            return {"text": self.take(spans)}
        units = self.units(spans.starts)
        bounds = [self.offsets[units + n].tolist() for n in range(3)]
        return {
            "source": [self.ids[a : b + 1] for a, b in zip(bounds[0], bounds[1], strict=True)],
            "target": [self.ids[a : b + 1] for a, b in zip(bounds[1], bounds[2], strict=True)],
        }

    def units(self, starts: np.ndarray) -> np.ndarray:
        """The numbers of the units that begin at these tokens."""
        return np.searchsorted(self.offsets, starts)

    def raw(self, units: np.ndarray) -> list[str]:
        """The text of units of a held-out split, cleaned as the recipe says and never tokenized."""
        if self.texts is None:
            raise LexigraphError("Only held-out text is kept beside its tokens, and this is none.")
        return self.texts.take(units.tolist())

    def pairs(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts of the pairs whose sides fit into `longest` tokens, ends included, and the lengths of their longer
        sides, which are what a batch is padded to."""
        starts, lengths = self.offsets[:-1:2], np.diff(self.offsets).reshape(-1, 2).max(1)
        fitting = lengths <= longest
        return starts[fitting], lengths[fitting]

    def sentences(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts and lengths of the units that hold anything and fit into `longest` tokens, their end included."""
        starts, lengths = self.spans(0)
        fitting = (lengths > 1) & (lengths <= longest)
        return starts[fitting], lengths[fitting]

    @property
    def examples(self) -> int:
        """How many units there are, or pairs."""
        return (len(self.offsets) - 1) // (2 if self.paired else 1)

    def too_long(self, longest: int) -> int:
        """How many units, or pairs by their longer side, do not fit into `longest` tokens, their end included."""
        _, lengths = self.spans(0)
        return int(((lengths.reshape(-1, 2).max(1) if self.paired else lengths) > longest).sum())

    def contents(self, starts: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """The tokens of units without their boundaries."""
        return [self.ids[a + 1 : a + n] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def spans(self, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts and lengths of all units; one longer than `longest` (0: no limit) goes on in further spans."""
        starts = self.offsets[:-1]
        lengths = np.empty(len(starts), np.int32)  # there may be millions: no 64-bit copy on the way
        np.subtract(self.offsets[1:], starts, out=lengths, casting="unsafe")
        if not longest or lengths.max(initial=0) <= longest:
            return starts, lengths
        count = int((-(-lengths // longest)).sum())
        firsts = np.empty(count, np.uint32 if len(self.ids) < 2**32 else np.int64)
        sizes = np.empty(count, np.int32)
        done = 0
        for block in range(0, len(starts), 1 << 20):  # in blocks, whose 64-bit places are soon gone
            length = lengths[block : block + (1 << 20)]
            parts = -(-length // longest)
            unit = np.repeat(np.arange(len(parts)), parts)
            place = (np.arange(len(unit)) - (np.cumsum(parts) - parts)[unit]) * longest  # of a span within its unit
            here = slice(done, done := done + len(unit))
            firsts[here] = starts[block : block + (1 << 20)][unit] + place
            sizes[here] = np.minimum(length[unit] - place, longest)
        return firsts, sizes


class _Writer:
    """Appends units to a shard on disk."""

    def __init__(self, folder: Path, name: str, tokenizer: Tokenizer, largest: int, paired: bool) -> None:
        self.folder, self.name, self.tokenizer, self.paired = folder, name, tokenizer, paired
        self.dtype = np.dtype(np.uint16 if largest <= 2**16 else np.uint32)
        self.ids = (folder / f"{name}.ids").open("wb")
        self.offsets = (folder / f"{name}.offsets").open("wb")
        self.length = self.bytes = 0
        self.lost = ""
        self.raw = RawWriter(folder, name) if name != "train" else None  # nothing is compared with that
        self.counts = np.zeros(len(tokenizer), np.int64)
        self.waiting: list[np.ndarray] = []  # ids and
        self.boundaries: list[int] = []  # boundaries since the last flush
        self.targets: list[np.ndarray] = []  # of pairs, what is counted
        self.units = 0
        self._boundary()

    def _boundary(self) -> None:
        self.boundaries.append(self.length)
        self.waiting.append(np.array([self.tokenizer.eos]))
        self.length += 1

    def add(self, ids: np.ndarray, text: str, last: bool) -> None:
        self.waiting.append(ids)
        self.length += len(ids)
        utf8 = text.encode(errors="surrogatepass")
        size = len(utf8)
        if self.raw:
            self.raw.add(utf8, last)
            if not self.paired:  # of pairs, no bits per byte are taken
                size, lost = bytes_of(text, self.tokenizer.decode(ids), last)
                self.lost = self.lost or lost
        self.bytes += size + last
        if last:
            self._boundary()
        if self.paired and self.units % 2:
            self.targets += self.waiting[-2:]  # with its end
        self.units += last

    def flush(self) -> None:
        if self.waiting:
            ids = np.concatenate(self.waiting)
            counted = np.concatenate(self.targets) if self.paired else ids
            self.counts += np.bincount(counted, minlength=len(self.counts))
            ids.astype(self.dtype).tofile(self.ids)
            np.array(self.boundaries, np.int64).tofile(self.offsets)
        self.waiting, self.boundaries, self.targets = [], [], []

    def close(self) -> None:
        self.flush()
        self.ids.close()
        self.offsets.close()
        if self.raw:
            self.raw.close()
        np.save(self.folder / f"{self.name}.counts.npy", self.counts)
        facts = {"dtype": self.dtype.name, "bytes": self.bytes, "paired": self.paired, "lost": self.lost}
        (self.folder / f"{self.name}.json").write_text(json.dumps(facts))


def train_tokenizers(recipe: recipes.Recipe, tidy: clean.LineRule | None = None) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizer of texts or targets, and that of sources: the same one, unless the recipe wants two."""
    if recipe.tokenizer.separate:
        return train_tokenizer(recipe, tidy, "target"), train_tokenizer(recipe, tidy, "source")
    tokenizer = train_tokenizer(recipe, tidy)
    return tokenizer, tokenizer


def train_tokenizer(
    recipe: recipes.Recipe, tidy: clean.LineRule | None = None, side: Literal["", "source", "target"] = ""
) -> Tokenizer:
    """A tokenizer from the training split alone; of pairs, from one side or both."""
    from lexigraph.text.tokenizer import Tokenizer

    settings = recipe.tokenizer
    texts = (piece.text for piece in pieces(recipe.data, tidy) if piece.split == "train")
    return Tokenizer.train(
        islice(texts, side == "target", None, 2) if side else texts,
        kind=settings.kind,
        size=settings.size,
        special=() if side == "target" else settings.special,  # nothing writes a direction
        lower=settings.lower,
        min_count=settings.min_count,
    )


def write_shards(
    source: Iterable[Piece],
    tokenizer: Tokenizer,
    folder: Path,
    needed: str = "train",
    told: Callable[[int], None] = lambda tokens: None,
    paired: bool = False,
    source_tokenizer: Tokenizer | None = None,
) -> None:
    """Tokenize every piece into the shard of its split; the `needed` one must not be empty.

    `told` hears after every block how many tokens there are. `paired`: pieces are sources and targets by turns.
    `source_tokenizer`: cuts the sources, if it is not the same.
    """
    cutters = [source_tokenizer or tokenizer, tokenizer] if paired else [tokenizer]  # take turns
    largest = max(map(len, cutters))  # all ids lie in one array
    folder.mkdir(parents=True)
    writers: dict[str, _Writer] = {}
    source = iter(source)
    while block := list(islice(source, BLOCK)):
        rows: list[Any] = [None] * len(block)
        for turn, cutter in enumerate(cutters):  # BLOCK is even: every block begins with a source
            rows[turn :: len(cutters)] = cutter.encode_batch([piece.text for piece in block[turn :: len(cutters)]])
        for piece, ids in zip(block, rows, strict=True):
            if piece.split not in writers:
                writers[piece.split] = _Writer(folder, piece.split, tokenizer, largest, paired)
            if piece.lead:
                ids = np.insert(ids, 0, special_id(cutters[0], piece.lead))
            writers[piece.split].add(ids, piece.text, piece.last)
        for writer in writers.values():
            writer.flush()
        told(sum(writer.length for writer in writers.values()))
    for writer in writers.values():
        writer.close()
    if needed not in writers or writers[needed].length < 2:
        raise LexigraphError(f"Nothing is left of the {needed} text after cleaning and splitting.")


def special_id(tokenizer: Tokenizer, name: str) -> int:
    """The id of a special token, or a sentence that says how to have one."""
    if name not in tokenizer.special:
        raise LexigraphError(
            f"{name!r} is no special token of this model; it has {', '.join(tokenizer.special)}. Directions are "
            'listed before training, as in tokenizer.special = ["<2de>", "<2en>"].'
        )
    return tokenizer.special[name]


def shards(folder: Path) -> dict[str, Shard]:
    """The shards in a folder, by split."""
    return {name: Shard.load(folder, name) for name in SPLITS if (folder / f"{name}.json").exists()}
