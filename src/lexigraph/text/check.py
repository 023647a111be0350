"""Tell what text files hold before anyone trains on them: sizes, lengths, duplicates, encoding, leakage.

`check({"train": "train.txt", "valid": "valid.txt"})` reads each file once, as a stream. Lines are remembered as
64-bit hashes (of at most `MOST_HASHES` lines; of longer files a sample, chosen by content, stands for all) and
distinct words as a set of at most `MOST_WORDS`, so memory is bounded whatever the size of the files.
"""

from __future__ import annotations

import shlex
import unicodedata
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.text.readers import MAX_CHARS, Record, Source, file_format, peek, pieces, read

MOST_HASHES = 1 << 24  # 128 MiB, for the training split
MOST_HELD_OUT = 1 << 20  # 8 MiB, for each other split, and a few times as much to look them up
MOST_WORDS = 300_000  # about 40 MiB
BATCH = 1000  # records counted at a time
LONG_LINE = 50  # words; sentences are seldom longer, paragraphs often
FEW_WORDS = 10_000
PEEK = 200  # records from which the kind of a table is guessed

RECIPES = {"lines": "gpt", "stream": "gpt", "pairs": "transformer", "tags": "tagger", "labels": "classifier"}
KNOWN_COLUMNS: tuple[dict[str, str], ...] = (  # our names → names that files use; the first that fits is taken
    {"source": "source", "target": "target"},
    {"source": "src", "target": "tgt"},
    {"tokens": "tokens", "tags": "tags"},
    {"tokens": "words", "tags": "tags"},
    {"text": "text", "label": "label"},
    {"text": "sentence", "label": "label"},
    {"text": "text"},
)
CONLL_DEFAULT = {"conll": {"tokens": "1", "tags": "-1"}, "conllu": {"tokens": "form", "tags": "upos"}}
SPACELESS = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
CONTROL = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
LETTERS = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"}
USUAL = "\n\t“”‘’„‚«»‹›–—…·、。，！？：；「」『』（）।؟،¿¡§°€£"


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long lines are; `longest_line` is the number of the longest."""

    minimum: int
    median: int
    p95: int
    maximum: int
    longest_line: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one file holds. Blank lines count as `empty_lines` and nowhere else."""

    path: str
    format: str
    bytes: int  # after decompression
    lines: int  # in the file, blank ones included
    records: int  # lines of text, rows, objects or sentences
    empty_lines: int
    documents: int
    characters: int  # of the text, line ends excluded
    words: int  # separated by white space
    distinct_words: int
    distinct_words_exact: bool
    line_words: Lengths
    line_chars: Lengths
    duplicates: int  # records that repeat an earlier one
    duplicate_share: float
    duplicates_exact: bool
    replacement_characters: int  # U+FFFD: a reader before us lost something
    control_characters: int
    not_composed_lines: int  # not in the form NFC
    line_endings: dict[str, int]
    byte_order_mark: bool
    scripts: dict[str, float]  # share of letters, largest first
    unusual: tuple[tuple[str, str, int], ...]  # the most common uncommon characters: character, name, count
    kind: str  # lines, stream, pairs, tags or labels
    columns: dict[str, str]
    reasons: tuple[str, ...]  # why this kind


@dataclass(frozen=True, slots=True)
class Leak:
    """Share of a split's records that the training split has too."""

    split: str
    against: str
    records: int
    exact: float
    folded: float  # letters and digits of the input alone, case ignored


@dataclass(frozen=True, slots=True)
class Report:
    """What the files hold, what is wrong with them, and how to train on them."""

    files: dict[str, FileFacts]
    leaks: tuple[Leak, ...]
    kind: str
    command: str
    reasons: list[str]
    warnings: list[str]

    def rows(self) -> list[tuple[str, str]]:
        """Give (label, value) for a table; labels name the split where there are several."""
        several = len(self.files) > 1
        rows = []
        for split, facts in self.files.items():
            prefix = f"{split}: " if several else ""
            rows += [(prefix + label, value) for label, value in _file_rows(facts)]
        for leak in self.leaks:
            rows.append(
                (
                    f"{leak.split}: also in {leak.against}",
                    f"{leak.exact:.1%} exactly, {leak.folded:.1%} but for case and punctuation",
                )
            )
        return [*rows, ("kind", self.kind), ("because", " ".join(self.reasons)), ("try", self.command)]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dictionaries and lists."""
        return asdict(self)


def check(
    paths: Mapping[str, str | Path] | str | Path,
    columns: Mapping[str, str] | None = None,
    documents: str = "none",
    max_chars: int = MAX_CHARS,
    format: str | None = None,
) -> Report:
    """Read files and report what they hold.

    Args:
        paths: split name → file, with the training split named "train" or first; or one file.
        columns, documents, max_chars, format: as for `readers.read`; plain text may have lines of any length here.
    """
    if isinstance(paths, str | Path):
        paths = {"train": paths}
    against = "train" if "train" in paths else next(iter(paths))
    held_out = [split for split in paths if split != against]
    facts: dict[str, FileFacts] = {}
    watched: dict[str, _Watch] = {}
    for split in [*held_out, against]:  # the others first, so that the largest need not be remembered twice
        tally = _Tally(MOST_HASHES if split == against else MOST_HELD_OUT, fold=bool(held_out))
        if split == against:
            tally.watchers = list(watched.values())
        facts[split] = _facts(Path(paths[split]), columns, documents, max_chars, format, tally)
        if split != against:
            watched[split] = _Watch(tally.hashes.finish(), tally.folded.finish())
    leaks = tuple(Leak(split, against, facts[split].records, *watched[split].shares()) for split in held_out)
    files = {split: facts[split] for split in paths}
    main = files[against]
    return Report(
        files=files,
        leaks=leaks,
        kind=main.kind,
        command=_command(main, paths, against),
        reasons=list(main.reasons),
        warnings=_warnings(files, leaks),
    )


# ---- counting ----


class _Hashes:
    """A growing list of 64-bit hashes; over the limit, those with `level` low zero bits stand for all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.level = 0
        self.store = array("q")

    def add(self, hashes: np.ndarray) -> None:
        self.store.frombytes(self._sampled(hashes).tobytes())
        while len(self.store) > self.most:
            self.level += 1
            self._thin()

    def _sampled(self, hashes: np.ndarray) -> np.ndarray:
        return hashes[hashes & ((1 << self.level) - 1) == 0] if self.level else hashes

    def _thin(self) -> None:
        view = np.frombuffer(self.store, dtype=np.int64)
        kept = 0
        for start in range(0, len(view), 1 << 20):  # in steps: a mask over all would double the memory
            part = self._sampled(view[start : start + (1 << 20)])
            view[kept : kept + len(part)] = part
            kept += len(part)
        del view  # an array cannot shrink while NumPy looks at it
        del self.store[kept:]

    def finish(self) -> np.ndarray:
        """The hashes in order."""
        if not self.store:
            return np.empty(0, dtype=np.int64)
        view = np.frombuffer(self.store, dtype=np.int64)
        view.sort()
        return view


class _Watch:
    """The records of a held-out split, and which of them have been met in another."""

    def __init__(self, exact: np.ndarray, folded: np.ndarray) -> None:
        self.known = [np.unique(exact, return_counts=True), np.unique(folded, return_counts=True)]
        self.met = [np.zeros(len(values), dtype=bool) for values, _ in self.known]

    def look(self, exact: np.ndarray, folded: np.ndarray) -> None:
        for (values, _), met, hashes in zip(self.known, self.met, (exact, folded), strict=True):
            if len(values):
                places = np.minimum(np.searchsorted(values, hashes), len(values) - 1)
                met[places[values[places] == hashes]] = True

    def shares(self) -> tuple[float, float]:
        exact, folded = (
            float(counts[met].sum() / max(counts.sum(), 1))
            for (_, counts), met in zip(self.known, self.met, strict=True)
        )
        return exact, folded


class _Folding(dict[int, str | None]):
    """For str.translate: letters, accents and digits stay, all else goes."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        self[code] = character if unicodedata.category(character)[0] in "LMN" else None
        return self[code]


class _Words:
    """A set of words that stops growing: over the limit, a sample chosen by content stands for all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.level = 0
        self.words: set[str] = set()

    def add(self, words: Iterable[str]) -> None:
        self.words.update(words if not self.level else filter(self._sampled, words))
        while len(self.words) > self.most:
            self.level += 1
            self.words = set(filter(self._sampled, self.words))

    def _sampled(self, word: str) -> bool:
        # The product spreads the checksum over the high bits, which choose the sample.
        mixed = zlib.crc32(word.encode("utf-8", "surrogatepass")) * 0x9E3779B1 & 0xFFFFFFFF
        return mixed >> (32 - self.level) == 0

    def __len__(self) -> int:
        return len(self.words) << self.level


class _Tally:
    """Everything that is counted about the records of one file, in bounded memory."""

    def __init__(self, most_hashes: int, fold: bool) -> None:
        self.records = self.characters = self.words = self.not_composed = 0
        self.sentence_ends = self.tabbed = 0  # for guessing what lines are
        self.chars_seen: Counter[int] = Counter()  # length -> lines
        self.words_seen: Counter[int] = Counter()
        self.longest_chars = self.longest_words = (-1, 0)  # length, line number
        self.code_points = np.zeros(0x110000, dtype=np.int64)
        self.vocabulary = _Words(MOST_WORDS)
        self.hashes, self.folded = _Hashes(most_hashes), _Hashes(most_hashes)
        self.fold = fold
        self.folding = _Folding()
        self.watchers: list[_Watch] = []

    def add_text(self, text: str) -> None:
        """Count the characters and distinct words of a stretch of text that does not end inside a word."""
        if text.isascii():
            counts = np.bincount(np.frombuffer(text.encode("ascii"), dtype=np.uint8))
        else:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
            counts = np.bincount(codes.astype(np.int64))
        self.code_points[: len(counts)] += counts
        self.vocabulary.add(set(text.split()))

    def add_records(self, numbers: list[int], texts: list[str], wholes: list[str], inputs: list[str]) -> None:
        """Count records: their line numbers, what is measured, all of them, and the part a model reads."""
        if not texts:
            return
        self.add_lengths(numbers, list(map(len, texts)), [len(text.split()) for text in texts])
        self.sentence_ends += sum(map(_ends_sentence, texts))
        self.tabbed += sum("\t" in text for text in texts)
        self.not_composed += sum(not unicodedata.is_normalized("NFC", text) for text in texts)
        folded = (text.casefold().translate(self.folding) for text in inputs) if self.fold else ()
        self.add_hashes(map(hash, wholes), (hash(text) for text in folded if text))

    def add_lengths(self, numbers: list[int], lengths: list[int], words: list[int]) -> None:
        self.records += len(lengths)
        self.characters += sum(lengths)
        self.words += sum(words)
        self.chars_seen.update(lengths)
        self.words_seen.update(words)
        if (longest := max(lengths)) > self.longest_chars[0]:
            self.longest_chars = (longest, numbers[lengths.index(longest)])
        if (longest := max(words)) > self.longest_words[0]:
            self.longest_words = (longest, numbers[words.index(longest)])

    def add_hashes(self, exact: Iterable[int], folded: Iterable[int]) -> None:
        exact_hashes = np.fromiter(exact, dtype=np.int64)
        folded_hashes = np.fromiter(folded, dtype=np.int64)
        self.hashes.add(exact_hashes)
        if self.watchers:
            for watch in self.watchers:
                watch.look(exact_hashes, folded_hashes)
        else:
            self.folded.add(folded_hashes)

    def duplicates(self) -> tuple[int, float]:
        """How many records repeat an earlier one, and their share."""
        ordered, step = self.hashes.finish(), 1 << 20
        distinct = min(len(ordered), 1)
        for start in range(0, len(ordered) - 1, step):  # in steps: a mask over all would cost memory
            stop = min(start + step, len(ordered) - 1)
            distinct += int(np.count_nonzero(ordered[start:stop] != ordered[start + 1 : stop + 1]))
        # A sample holds all copies of a line or none, so of its counts only that of distinct lines scales well.
        repeated = max(0, self.records - (distinct << self.hashes.level))
        return repeated, repeated / max(self.records, 1)


_FINAL = tuple(".!?…。！？।؟")
_CLOSING = "\"'”’»)]」』 \t"


def _ends_sentence(text: str) -> bool:
    return text.endswith(_FINAL) or text.rstrip(_CLOSING).endswith(_FINAL)


def _lengths(seen: Counter[int], longest: tuple[int, int]) -> Lengths:
    """Quantiles by nearest rank: the smallest length that at least that share of lines does not exceed."""
    ordered = np.array(sorted(seen.items()))
    so_far = np.cumsum(ordered[:, 1])
    median, p95 = (int(ordered[np.searchsorted(so_far, share * so_far[-1]), 0]) for share in (0.5, 0.95))
    return Lengths(int(ordered[0, 0]), median, p95, longest[0], longest[1])


# ---- one file ----


def _facts(
    path: Path,
    columns: Mapping[str, str] | None,
    documents: str,
    max_chars: int,
    format: str | None,
    tally: _Tally,
) -> FileFacts:
    source = Source(path)
    name = format or file_format(path)
    if name == "text":
        read(path, columns, documents, max_chars, format="text")  # refuses what does not fit plain text
        chosen = dict(columns or {"text": "1"})
        empty, parts = _tally_plain(source, tally)
        number_of_documents = parts if documents == "blank" else 1
    else:
        if name.startswith("conll"):
            chosen = dict(columns or CONLL_DEFAULT[name])
        else:
            chosen = dict(columns or _guess_columns(path, name, max_chars))
            columns = chosen
        number_of_documents = _tally_records(read(source, columns, documents, max_chars, format=name), tally)
        header = name == "tsv" and not all(key.isdigit() for key in chosen.values())
        empty = 0 if name.startswith("conll") else source.lines - tally.records - header
    kind, reasons = _guess_kind(tally, name, chosen, empty)
    duplicates, share = tally.duplicates()
    return FileFacts(
        path=str(path),
        format=name + (path.suffix.lower() if path.suffix.lower() in (".gz", ".xz") else ""),
        bytes=source.bytes,
        lines=source.lines,
        records=tally.records,
        empty_lines=empty,
        documents=number_of_documents,
        characters=tally.characters,
        words=tally.words,
        distinct_words=len(tally.vocabulary),
        distinct_words_exact=tally.vocabulary.level == 0,
        line_words=_lengths(tally.words_seen, tally.longest_words),
        line_chars=_lengths(tally.chars_seen, tally.longest_chars),
        duplicates=duplicates,
        duplicate_share=share,
        duplicates_exact=tally.hashes.level == 0,
        replacement_characters=int(tally.code_points[0xFFFD]),
        control_characters=sum(int(tally.code_points[code]) for code in CONTROL),
        not_composed_lines=tally.not_composed,
        line_endings={repr(ending)[1:-1]: count for ending, count in source.endings.items() if count},
        byte_order_mark=source.bom,
        scripts=_scripts(tally.code_points),
        unusual=_unusual(tally.code_points),
        kind=kind,
        columns=chosen,
        reasons=tuple(reasons),
    )


class _LongLine:
    """A line that comes in parts: the last of a file, or one too long to be held."""

    def __init__(self) -> None:
        self.chars = self.words = self.parts = self.hash = 0
        self.start = ""  # the whole line, where it is no longer than one part
        self.joined = False  # the last part ended inside a word

    def add(self, part: str) -> None:
        self.chars += len(part)
        self.words += len(part.split())
        if part:
            self.words -= self.joined and not part[0].isspace()
            self.joined = not part[-1].isspace()
        self.start = "" if self.parts else part
        self.parts += 1
        self.hash = hash((self.hash, part))

    def count(self, number: int, tally: _Tally) -> bool:
        """Put the line into the tally, unless it is blank."""
        if self.start and not self.start.isspace():
            tally.add_records([number], [self.start], [self.start], [self.start])
        elif self.words:
            tally.add_lengths([number], [self.chars], [self.words])
            tally.add_hashes([self.hash], [])
        return self.words > 0


def _tally_plain(source: Source, tally: _Tally) -> tuple[int, int]:
    """Count plain text; return the numbers of empty lines and of parts between blank lines."""
    number, empty, parts, gap = 1, 0, 0, True  # number of the next line to finish; gap: the last one was blank
    unfinished: _LongLine | None = None

    def close(line: _LongLine) -> None:
        nonlocal number, empty, parts, gap
        filled = line.count(number, tally)
        number, empty, parts, gap = number + 1, empty + (not filled), parts + (filled and gap), not filled

    for piece in pieces(source):
        tally.add_text(piece)
        lines = piece.split("\n")
        if unfinished is not None:
            unfinished.add(lines.pop(0))
            if not lines:
                continue
            close(unfinished)
            unfinished = None
        last = lines.pop()
        numbers, texts = [], []
        for place, line in enumerate(lines, number):
            if line and not line.isspace():
                parts, gap = parts + gap, False
                numbers.append(place)
                texts.append(line)
            else:
                empty, gap = empty + 1, True
        number += len(lines)
        tally.add_records(numbers, texts, texts, texts)
        if last:
            unfinished = _LongLine()
            unfinished.add(last)
    if unfinished is not None:
        close(unfinished)
    return empty, parts


def _tally_records(records: Iterator[Record], tally: _Tally) -> int:
    """Count records by the batch; return the number of documents."""
    document = -1
    while batch := list(islice(records, BATCH)):
        rows = [[_as_text(value) for value in record.columns.values()] for record in batch]
        inputs = [row[0] for row in rows]
        wholes = ["\t".join(row) for row in rows]
        texts = wholes if _kind_of(batch[0].columns) == "pairs" else inputs
        tally.add_text("\n".join(texts))
        tally.add_records([record.line for record in batch], texts, wholes, inputs)
        document = batch[-1].document
    return document + 1


def _as_text(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


# ---- guesses ----


def _guess_columns(path: Path, name: str, max_chars: int) -> dict[str, str]:
    """Choose the columns of a JSON or TSV file by the names in it, or of a TSV file by what its rows look like."""
    rows = peek(path, PEEK, name, max_chars)
    for known in KNOWN_COLUMNS:
        if set(known.values()) <= set(rows[0]):
            return known
    if name == "json":
        return {"text": "text"}  # the reader will say which fields there are
    return _guess_by_looks(rows)


def _guess_by_looks(rows: list[list[str]]) -> dict[str, str]:
    """Tell text (words with spaces between) from labels (few different words) in the first rows of a table."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if width == 1:
        return {"text": "1"}
    texts, labels = [], []
    for place in range(width):
        values = [row[place] if place < len(row) else "" for row in rows]
        different = len(set(values))
        if sum(" " in value.strip() for value in values) >= len(values) / 10:
            texts.append(str(place + 1))
        elif all(values) and 2 <= different <= len(values) / 2:
            changes = sum(before != after for before, after in pairwise(values))
            labels.append((different, -changes, str(place + 1)))  # a source in a sorted file changes seldom
    if texts and labels:
        text, label = int(texts[0]), int(min(labels)[2])
        if _is_header(rows, text - 1, label - 1):
            return {"text": rows[0][text - 1], "label": rows[0][label - 1]}
        return {"text": str(text), "label": str(label)}
    if len(texts) == 1:
        return {"text": texts[0]}
    source, target = texts[:2] or ("1", "2")
    return {"source": source, "target": target}


def _is_header(rows: list[list[str]], text: int, label: int) -> bool:
    """A first row whose label no other row has, and whose text is a name rather than a sentence."""
    rest = [row for row in rows[1:] if len(row) > max(text, label)]
    words = sorted(len(row[text].split()) for row in rest)
    name = len(rows[0][text].split())
    new = rows[0][label] not in {row[label] for row in rest} and not rows[0][label].isdigit()
    return new and len(rest) >= 10 and name <= 3 and 2 * name <= words[len(words) // 2]


def _kind_of(names: Iterable[str]) -> str:
    named = set(names)
    for kind, needed in (("pairs", {"source", "target"}), ("tags", {"tokens", "tags"}), ("labels", {"label"})):
        if needed <= named:
            return kind
    return "lines"


def _guess_kind(tally: _Tally, name: str, columns: Mapping[str, str], empty: int) -> tuple[str, list[str]]:
    kind = _kind_of(columns)
    if kind != "lines":
        fields = ", ".join(f"{ours} = field {theirs}" for ours, theirs in columns.items())
        return kind, [f"The columns are taken as {fields}: the records are {kind}."]
    words, chars = (
        _lengths(tally.words_seen, tally.longest_words),
        _lengths(tally.chars_seen, tally.longest_chars),
    )
    ends = tally.sentence_ends / tally.records
    if name == "text" and tally.tabbed == tally.records > 1:
        return "pairs", ["Every line has a tab, so these may be columns: name the file .tsv to have them read."]
    if name == "text" and _looks_like_columns(tally, empty):
        return "tags", [
            f"Nearly every line has {words.median} words and blank lines stand between, so this may be a column "
            "file: name it .conll to have it read."
        ]
    if tally.records == 1:
        return "stream", ["The text is one line: data.unit = stream."]
    if chars.maximum > MAX_CHARS:
        return "stream", [
            f"Line {chars.longest_line} has {chars.maximum:,} characters, too many for a sentence: "
            "data.unit = stream."
        ]
    if words.median > LONG_LINE:
        return "stream", [f"The median line is {words.median:,} words, longer than a sentence: data.unit = stream."]
    if name == "text" and ends < 0.6 and 40 <= chars.median >= 0.8 * chars.p95:
        return "stream", [
            f"Lines are wrapped at about {chars.p95} characters and {ends:.0%} of them end a sentence: "
            "data.unit = stream."
        ]
    if name == "text" and ends < 0.6 and empty > 0.05 * tally.records:
        return "stream", [
            f"Blank lines separate paragraphs and {ends:.0%} of lines end a sentence: data.unit = stream."
        ]
    return "lines", [
        f"Lines are sentences or the like (median {words.median} words, {ends:.0%} end a sentence): data.unit = line."
    ]


def _looks_like_columns(tally: _Tally, empty: int) -> bool:
    words, lines = tally.words_seen.most_common(1)[0]
    return tally.records >= 20 and 2 <= words <= 12 and lines >= 0.98 * tally.records and empty > 0.01 * lines


def _command(facts: FileFacts, paths: Mapping[str, str | Path], against: str) -> str:
    recipe = RECIPES[facts.kind]
    parts = ["lexigraph", "train", recipe, "--data", shlex.quote(str(paths[against]))]
    for split in ("valid", "test"):
        if split in paths and split != against:
            parts += [f"--{split}", shlex.quote(str(paths[split]))]
    if facts.kind in ("lines", "stream"):
        parts += ["--set", f"data.unit={'line' if facts.kind == 'lines' else 'stream'}"]
    if not facts.format.startswith("text"):
        columns = ", ".join(f'{ours} = "{theirs}"' for ours, theirs in facts.columns.items())
        parts += ["--set", shlex.quote(f"data.columns={{{columns}}}")]
    return " ".join([*parts, "--out", f"runs/{recipe}"])


# ---- characters ----


def _scripts(code_points: np.ndarray) -> dict[str, float]:
    """Share of letters by script, the first word of a letter's Unicode name: LATIN, GREEK, CJK."""
    counts: Counter[str] = Counter()
    for code in np.flatnonzero(code_points):
        if unicodedata.category(chr(code)).startswith("L"):
            counts[unicodedata.name(chr(code), "UNKNOWN").split()[0]] += int(code_points[code])
    total = counts.total()
    return {script: count / total for script, count in counts.most_common(5)}


def _unusual(code_points: np.ndarray) -> tuple[tuple[str, str, int], ...]:
    """The most common characters that are neither ASCII nor letters, accents, digits or usual punctuation."""
    found = []
    for code in np.flatnonzero(code_points):
        character = chr(code)
        usual = 0x20 <= code < 0x7F or character in USUAL or unicodedata.category(character) in LETTERS
        if not usual:
            name = unicodedata.name(character, f"U+{int(code):04X}")
            found.append((character, name, int(code_points[code])))
    return tuple(sorted(found, key=lambda entry: -entry[2])[:5])


# ---- words ----


def _warnings(files: Mapping[str, FileFacts], leaks: Iterable[Leak]) -> list[str]:
    found = [warning for facts in files.values() for warning in _file_warnings(facts)]
    for leak in leaks:
        if leak.folded >= 0.01 or leak.exact >= 0.01:
            found.append(
                f"{leak.exact:.1%} of the records in {leak.split} are in {leak.against} too, and {leak.folded:.1%} "
                "but for case and punctuation: scores will look better than they are. Take them out, or give one "
                "file and let data.split divide it."
            )
    return found


def _file_warnings(facts: FileFacts) -> list[str]:
    path, found = facts.path, []
    if facts.words < FEW_WORDS:
        found.append(f"{path} has only {facts.words:,} words: enough to try things out, too few to learn from.")
    recurring = facts.format.startswith("text") and facts.kind in ("stream", "tags")  # such lines may well recur
    if facts.duplicate_share >= 0.05 and not recurring:
        found.append(
            f"{path}: {facts.duplicate_share:.1%} of the records repeat an earlier one. "
            "Remove duplicates unless their frequency is meant."
        )
    if facts.replacement_characters:
        found.append(
            f"{path} holds the replacement character U+FFFD {_times(facts.replacement_characters)}: text was lost in "
            "an earlier conversion. Convert the original again."
        )
    if facts.control_characters:
        found.append(
            f"{path} holds control characters ({facts.control_characters:,}). "
            "The cleaning rule drop_symbols takes them out."
        )
    if facts.not_composed_lines:
        found.append(
            f"{path}: accents are not composed (NFC) in {facts.not_composed_lines:,} records, so that one word may "
            "have two spellings. The cleaning rule unicode composes them."
        )
    if len(facts.line_endings) > 1:
        counts = ", ".join(f"{ending} {count:,}" for ending, count in facts.line_endings.items())
        found.append(f"{path} mixes line ends ({counts}); each is read as the end of a line.")
    if facts.line_words.maximum > max(1000, 20 * facts.line_words.p95):
        found.append(
            f"{path}, line {facts.line_words.longest_line} has {facts.line_words.maximum:,} words, far more than the "
            f"others (95 % have at most {facts.line_words.p95:,}). Look whether line ends are missing."
        )
    if SPACELESS & {script for script, share in facts.scripts.items() if share > 0.3}:
        found.append(
            f"{path}: words are counted by white space, which this script does without; go by characters, and choose "
            "a character or subword tokenizer."
        )
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _file_rows(facts: FileFacts) -> list[tuple[str, str]]:
    rows = [
        ("file", facts.path),
        ("format", facts.format),
        ("bytes", f"{facts.bytes:,}"),
        ("lines", f"{facts.lines:,} ({facts.empty_lines:,} empty)"),
    ]
    if not facts.format.startswith("text"):
        rows.append(("records", f"{facts.records:,}"))
        rows.append(("columns", ", ".join(f"{ours} = {theirs}" for ours, theirs in facts.columns.items())))
    about = "" if facts.distinct_words_exact else "about "
    rows += [
        ("documents", f"{facts.documents:,}"),
        ("characters", f"{facts.characters:,}"),
        ("words", f"{facts.words:,} ({about}{facts.distinct_words:,} distinct)"),
        ("words per line", _shown(facts.line_words)),
        ("characters per line", _shown(facts.line_chars)),
        (
            "duplicates",
            f"{'' if facts.duplicates_exact else 'about '}{facts.duplicates:,} ({facts.duplicate_share:.1%})",
        ),
        ("scripts", ", ".join(f"{script.title()} {share:.1%}" for script, share in facts.scripts.items()) or "none"),
    ]
    if facts.unusual:
        rows.append(("unusual", ", ".join(f"{name.lower()} {count:,}" for _, name, count in facts.unusual)))
    return [*rows, ("line ends", _endings(facts)), ("encoding", _encoding(facts))]


def _shown(lengths: Lengths) -> str:
    return (
        f"{lengths.minimum:,} to {lengths.maximum:,} (line {lengths.longest_line:,}), "
        f"median {lengths.median:,}, 95 % at most {lengths.p95:,}"
    )


def _endings(facts: FileFacts) -> str:
    return ", ".join(f"{ending} {count:,}" for ending, count in facts.line_endings.items()) or "none"


def _encoding(facts: FileFacts) -> str:
    notes = ["UTF-8" + (" with byte order mark" if facts.byte_order_mark else "")]
    for count, what in (
        (facts.replacement_characters, "replacement characters"),
        (facts.control_characters, "control characters"),
        (facts.not_composed_lines, "records not composed (NFC)"),
    ):
        if count:
            notes.append(f"{count:,} {what}")
    return ", ".join(notes)
