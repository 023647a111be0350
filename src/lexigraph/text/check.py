"""Tell what text files hold before anyone trains on them: sizes, lengths, duplicates, encoding, leakage.

`check({"train": "train.txt", "valid": "valid.txt"})` reads each file once, as a stream. Lines are remembered as
64-bit hashes, words as they are; where there are many, a sample stands for all (see `_Sample`), so memory is bounded
whatever the size of the files.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.text.readers import CONLL_DEFAULT, MAX_CHARS, Record, Source, file_format, pieces, read, read_lines

MOST = 1 << 19  # lines or words that are held: some 50 MiB
BATCH = 1000  # records counted at a time
PEEK = 200  # rows from which the columns of a table are guessed
LONG_LINE = 50  # words; sentences are seldom longer, paragraphs often
FEW_WORDS = 10_000

RECIPES = {"lines": ("gpt",), "stream": ("gpt", "lstm-lm")}  # kind of file → recipes that train on it
NEEDED = {"pairs": {"source", "target"}, "tags": {"tokens", "tags"}, "labels": {"label"}}  # kind → its columns
KNOWN_COLUMNS: tuple[dict[str, str], ...] = (  # our names → names that files use; the first that fits is taken
    {"source": "source", "target": "target"},
    {"source": "src", "target": "tgt"},
    {"tokens": "tokens", "tags": "tags"},
    {"tokens": "words", "tags": "tags"},
    {"text": "text", "label": "label"},
    {"text": "sentence", "label": "label"},
    {"text": "text"},
)
SPACELESS = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
CONTROL = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
USUAL = "\n\t“”‘’„‚«»‹›–—…·、。，！？：；「」『』（）।؟،¿¡§°€£"
FINAL = tuple(".!?…。！？।؟")
CLOSING = "\"'”’»)]」』 \t"


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
    documents: int  # as CoNLL files mark them; of plain text, the parts between blank lines
    characters: int  # of the text, line ends excluded
    words: int  # separated by white space
    distinct_words: int
    line_words: Lengths
    line_chars: Lengths
    duplicates: int  # records that repeat an earlier one
    duplicate_share: float
    estimated: tuple[str, ...]  # the counts that stand for more than could be held
    replacement_characters: int  # U+FFFD: a reader before us lost something
    control_characters: int
    not_composed_lines: int  # not in the form NFC
    line_endings: dict[str, int]
    byte_order_mark: bool
    scripts: dict[str, float]  # share of letters, largest first
    unusual: dict[str, int]  # the most common uncommon characters, by name
    kind: str  # lines, stream, pairs, tags or labels
    columns: dict[str, str]
    reason: str  # why this kind

    def rows(self) -> list[tuple[str, str]]:
        """Give (label, value) for a table of all that is there."""
        return [(name.replace("_", " "), _shown(value)) for name, value in asdict(self).items() if value]

    def warnings(self) -> Iterator[str]:
        """Say what may be wrong with the file, and what to do."""
        path, words = self.path, self.line_words
        recurring = self.format.startswith("text") and self.kind in ("stream", "tags")  # such lines may well recur
        if self.words < FEW_WORDS:
            yield f"{path} has only {self.words:,} words: enough to try things out, too few to learn from."
        if self.duplicate_share >= 0.05 and not recurring:
            yield f"{path}: {self.duplicate_share:.1%} of the records repeat an earlier one. Is that meant?"
        if count := self.replacement_characters:
            yield f"{path} holds U+FFFD ({count:,}): text was lost in a conversion. Convert the original again."
        if count := self.control_characters:
            yield f"{path} holds control characters ({count:,}). The cleaning rule drop_symbols takes them out."
        if count := self.not_composed_lines:
            yield f"{path}: accents are not composed (NFC) in {count:,} records; the cleaning rule unicode does that."
        if len(self.line_endings) > 1:
            yield f"{path} mixes line ends ({_shown(self.line_endings)}); each is read as the end of a line."
        if words.maximum > max(1000, 20 * words.p95):
            yield f"{path}, line {words.longest_line} has {words.maximum:,} words. Are line ends missing?"
        if any(share > 0.3 for script, share in self.scripts.items() if script in SPACELESS):
            yield f"{path}: this script does without white space; choose a character or subword tokenizer."


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
    commands: tuple[str, ...]  # none where no recipe trains on this kind yet
    warnings: list[str]

    def rows(self) -> list[tuple[str, str]]:
        """Give (label, value) for a table; labels name the split where there are several."""
        rows = []
        for split, facts in self.files.items():
            prefix = f"{split}: " if len(self.files) > 1 else ""
            rows += [(prefix + label, value) for label, value in facts.rows()]
        for leak in self.leaks:
            value = f"{leak.exact:.1%} exactly, {leak.folded:.1%} but for case and punctuation"
            rows.append((f"{leak.split}: also in {leak.against}", value))
        tries = [("or" if place else "try", command) for place, command in enumerate(self.commands)]
        return rows + tries

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain dictionaries and lists."""
        return asdict(self)


def check(paths: Mapping[str, str | Path] | str | Path, columns: Mapping[str, str] | None = None) -> Report:
    """Read files and report what they hold.

    Args:
        paths: split name → file, with the training split named "train" or first; or one file. "grammar" is the
            built-in corpus. Plain text may have lines of any length here.
        columns: as for `readers.read`; otherwise guessed.
    """
    if isinstance(paths, str | Path):
        paths = {"train": paths}
    against = "train" if "train" in paths else next(iter(paths))
    held_out = {split: _Tally() for split in paths if split != against}
    # The others are read first: the training text may be far larger, and then need only be compared with them.
    tallies = {**held_out, against: _Tally(list(held_out.values()))}
    facts = {split: _facts(str(paths[split]), columns, tally) for split, tally in tallies.items()}
    leaks = tuple(
        Leak(split, against, facts[split].records, tally.exact.share_met(), tally.folded.share_met())
        for split, tally in held_out.items()
    )
    warnings = [warning for split in paths for warning in facts[split].warnings()]
    warnings += [
        f"{leak.exact:.1%} of the records in {leak.split} are in {leak.against} too, {leak.folded:.1%} but for case "
        "and punctuation: scores will look too good. Take them out, or give one file and let data.split divide it."
        for leak in leaks
        if max(leak.exact, leak.folded) >= 0.01
    ]
    commands = _commands(facts[against], paths, against)
    return Report({split: facts[split] for split in paths}, leaks, commands, warnings)


# ---- counting ----


def _hash(text: str) -> int:
    """64 bits that are the same in every process, unlike Python's own hash."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class _Sample:
    """Counts items in bounded memory: of too many, those whose hash ends in `level` zero bits stand for all."""

    def __init__(self, items: set[Hashable] | Counter[Hashable]) -> None:
        self.items = items  # a set, which is faster, where it does not matter how often each occurs
        self.level = 0
        self.met: set[Hashable] = set()

    def add(self, items: Iterable[Hashable]) -> None:
        self.items.update(filter(self._stands, items) if self.level else items)
        while len(self.items) > MOST:
            self.level += 1
            drop = self.items.discard if isinstance(self.items, set) else self.items.__delitem__
            for item in [item for item in self.items if not self._stands(item)]:
                drop(item)

    def _stands(self, item: Hashable) -> bool:
        number = item if isinstance(item, int) else _hash(str(item))
        return not number & ((1 << self.level) - 1)

    def distinct(self) -> int:
        return len(self.items) << self.level

    def meet(self, items: Iterable[Hashable]) -> None:
        """Note which of the counted items another split has."""
        self.met.update(filter(self.items.__contains__, items))

    def share_met(self) -> float:
        counts = Counter(self.items)
        return sum(counts[item] for item in self.met) / max(counts.total(), 1)


class _Measure:
    """A length of every record: how often each occurs, and which is the longest."""

    def __init__(self) -> None:
        self.seen: Counter[int] = Counter()
        self.longest = (-1, 0)  # length, line number

    def add(self, numbers: Sequence[int], lengths: Sequence[int]) -> None:
        self.seen.update(lengths)
        if (longest := max(lengths)) > self.longest[0]:
            self.longest = (longest, numbers[lengths.index(longest)])

    def total(self) -> int:
        return sum(length * count for length, count in self.seen.items())

    def lengths(self) -> Lengths:
        """Quantiles by nearest rank: the smallest length that at least that share of lines does not exceed."""
        ordered = np.array(sorted(self.seen.items()))
        so_far = np.cumsum(ordered[:, 1])
        median, p95 = (int(ordered[np.searchsorted(so_far, share * so_far[-1]), 0]) for share in (0.5, 0.95))
        return Lengths(int(ordered[0, 0]), median, p95, *self.longest)


class _Folding(dict[int, str | None]):
    """For str.translate: letters, accents and digits stay, all else goes."""

    def __missing__(self, code: int) -> str | None:
        self[code] = chr(code) if unicodedata.category(chr(code))[0] in "LMN" else None
        return self[code]


FOLDING = _Folding()


class _Tally:
    """Everything that is counted about one file. The training file gets the tallies of the `held_out` ones."""

    def __init__(self, held_out: Sequence[_Tally] | None = None) -> None:
        self.held_out = held_out
        self.chars, self.words = _Measure(), _Measure()
        self.exact = _Sample(Counter() if held_out is None else set())
        self.folded, self.vocabulary = _Sample(Counter()), _Sample(set())
        self.code_points = np.zeros(0x110000, dtype=np.int64)
        self.not_composed = self.sentence_ends = self.tabbed = 0

    @property
    def records(self) -> int:
        return self.chars.seen.total()

    def add_text(self, text: str) -> None:
        """Count the characters and distinct words of a stretch of text that does not end inside a word."""
        ascii = text.isascii()
        data = text.encode("ascii" if ascii else "utf-32-le", "surrogatepass")
        counts = np.bincount(np.frombuffer(data, dtype=np.uint8 if ascii else np.int32))
        self.code_points[: len(counts)] += counts
        self.vocabulary.add(set(text.split()))

    def add_records(self, numbers: list[int], texts: list[str], wholes: list[str], inputs: list[str]) -> None:
        """Count records: their line numbers, what is measured, all of them, and the part a model reads."""
        if not texts:
            return
        self.sentence_ends += sum(text.endswith(FINAL) or text.rstrip(CLOSING).endswith(FINAL) for text in texts)
        self.tabbed += sum("\t" in text for text in texts)
        self.not_composed += sum(not unicodedata.is_normalized("NFC", text) for text in texts)
        folded = [] if self.held_out == [] else [text.casefold().translate(FOLDING) for text in inputs]
        words = [len(text.split()) for text in texts]
        self.add(
            numbers, list(map(len, texts)), words, list(map(_hash, wholes)), [_hash(text) for text in folded if text]
        )

    def add(
        self, numbers: list[int], chars: list[int], words: list[int], exact: list[int], folded: list[int]
    ) -> None:
        """Count records by their line numbers, lengths and hashes."""
        self.chars.add(numbers, chars)
        self.words.add(numbers, words)
        self.exact.add(exact)
        if self.held_out is None:
            self.folded.add(folded)
        for other in self.held_out or ():
            other.exact.meet(exact)
            other.folded.meet(folded)


class _LongLine:
    """A line that is measured part by part because it is longer than a piece."""

    def __init__(self) -> None:
        self.chars = self.words = self.hash = 0
        self.end = ""  # its last character so far

    def add(self, part: str) -> None:
        self.chars += len(part)
        self.words += len((self.end + part).split()) - len(self.end.split())  # a word may go on
        self.hash = _hash(f"{self.hash} {part}")
        self.end = part[-1:] or self.end


def _tally_plain(source: Source, tally: _Tally) -> int:
    """Count plain text; return the number of parts that blank lines divide it into."""
    number, last, parts = 1, -1, 0  # number of the next line and of the last one that is not blank
    long = _LongLine()
    for piece in pieces(chain(source, ["\n"])):  # so that every line ends
        tally.add_text(piece)
        *lines, rest = piece.split("\n")
        if rest:
            long.add(rest)
            continue
        numbers = []
        if long.chars:
            long.add(lines[0])
            lines[0] = ""
            if long.words:
                numbers.append(number)
                tally.add(numbers, [long.chars], [long.words], [long.hash], [])
            long = _LongLine()
        filled = {place: line for place, line in enumerate(lines, number) if line and not line.isspace()}
        texts = list(filled.values())
        tally.add_records(list(filled), texts, texts, texts)
        number += len(lines)
        for place in chain(numbers, filled):
            parts += place != last + 1
            last = place
    return parts


def _tally_records(records: Iterator[Record], tally: _Tally) -> int:
    """Count records by the batch; return the number of documents."""
    document = -1
    while batch := list(islice(records, BATCH)):
        values = [
            [" ".join(v) if isinstance(v, list) else str(v) for v in record.columns.values()] for record in batch
        ]
        inputs = [row[0] for row in values]
        wholes = ["\t".join(row) for row in values]
        texts = wholes if _kind_of(batch[0].columns) == "pairs" else inputs
        tally.add_text("\n".join(texts))
        tally.add_records([record.line for record in batch], texts, wholes, inputs)
        document = batch[-1].document
    return document + 1


def _facts(path: str, columns: Mapping[str, str] | None, tally: _Tally) -> FileFacts:
    if path == "grammar":
        from lexigraph.text.constructions import sentences

        source = Source(path, (f"{sentence}\n".encode() for sentence in sentences(60_000)))
    else:
        source = Source(path)
    name = file_format(path)
    if name in ("json", "tsv"):
        columns = columns or _guess_columns(path, name)
    records = read(source, columns)
    documents = _tally_plain(source, tally) if name == "text" else _tally_records(records, tally)
    chosen = dict(columns or CONLL_DEFAULT.get(name, {"text": "1"}))
    header = name == "tsv" and not all(key.removeprefix("-").isdigit() for key in chosen.values())
    empty = 0 if name in CONLL_DEFAULT else source.lines - tally.records - header
    kind, reason = _guess_kind(tally, name, chosen, empty)
    scripts, unusual = _characters(tally.code_points)
    samples = {"distinct words": tally.vocabulary, "duplicates": tally.exact}
    # A sample holds all copies of a line or none, so of its counts only that of distinct lines scales well.
    duplicates = max(0, tally.records - tally.exact.distinct())
    return FileFacts(
        path=path,
        format=name + (source.path.suffix.lower() if source.path.suffix.lower() in (".gz", ".xz") else ""),
        bytes=source.bytes,
        lines=source.lines,
        records=tally.records,
        empty_lines=empty,
        documents=documents,
        characters=tally.chars.total(),
        words=tally.words.total(),
        distinct_words=tally.vocabulary.distinct(),
        line_words=tally.words.lengths(),
        line_chars=tally.chars.lengths(),
        duplicates=duplicates,
        duplicate_share=duplicates / tally.records,
        estimated=tuple(name for name, sample in samples.items() if sample.level),
        replacement_characters=int(tally.code_points[0xFFFD]),
        control_characters=int(tally.code_points[CONTROL].sum()),
        not_composed_lines=tally.not_composed,
        line_endings={repr(ending)[1:-1]: count for ending, count in source.endings.items() if count},
        byte_order_mark=source.bom,
        scripts=scripts,
        unusual=unusual,
        kind=kind,
        columns=chosen,
        reason=reason,
    )


def _characters(code_points: np.ndarray) -> tuple[dict[str, float], dict[str, int]]:
    """Share of letters by script, and the most common characters that are neither letters nor usual in texts."""
    scripts: Counter[str] = Counter()
    unusual: Counter[str] = Counter()
    for code in map(int, np.flatnonzero(code_points)):
        category, name = unicodedata.category(chr(code)), unicodedata.name(chr(code), f"U+{code:04X}")
        if category[0] == "L":
            scripts[name.split()[0]] += int(code_points[code])  # LATIN, GREEK, CJK: the first word of a letter's name
        elif not (0x20 <= code < 0x7F or chr(code) in USUAL or category in ("Mn", "Mc", "Nd")):
            unusual[name] += int(code_points[code])
    shares = {script: count / scripts.total() for script, count in scripts.most_common(5)}
    return shares, dict(unusual.most_common(5))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} = {_shown(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if isinstance(value, float) else value


# ---- guesses ----


def _guess_columns(path: str, name: str) -> dict[str, str]:
    """Choose the columns of a JSON or TSV file by the names in it, or of a TSV file by what its rows look like."""
    lines = list(islice(read_lines(path), PEEK))
    rows = [line.split("\t") for line in lines]
    names: Iterable[str] = rows[0]
    if name == "json":
        names = ()
        with suppress(ValueError, RecursionError):  # the reader will say what is wrong
            names = dict(json.loads(lines[0]))
    for known in KNOWN_COLUMNS:
        if set(known.values()) <= set(names):
            return known
    return {"text": "text"} if name == "json" else _guess_by_looks(rows)


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


def _kind_of(columns: Iterable[str]) -> str:
    return next((kind for kind, needed in NEEDED.items() if needed <= set(columns)), "lines")


def _guess_kind(tally: _Tally, name: str, columns: Mapping[str, str], empty: int) -> tuple[str, str]:
    """Tell what the records are, and why."""
    kind = _kind_of(columns)
    if kind != "lines":
        fields = ", ".join(f"{ours} = field {theirs}" for ours, theirs in columns.items())
        return kind, f"The columns are taken as {fields}: the records are {kind}. No recipe trains on {kind} yet."
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


def _commands(facts: FileFacts, paths: Mapping[str, str | Path], against: str) -> tuple[str, ...]:
    """How to train on these files, by each recipe that can."""
    files = {"data": against} | {split: split for split in ("valid", "test") if split in paths and split != against}
    options = [f"--{option} {shlex.quote(str(paths[split]))}" for option, split in files.items()]
    options.append(f"--set data.unit={facts.kind.removesuffix('s')}")
    if not facts.format.startswith("text"):
        columns = ", ".join(f'{ours} = "{theirs}"' for ours, theirs in facts.columns.items())
        options.append(f"--set {shlex.quote(f'data.columns={{{columns}}}')}")
    recipes = RECIPES.get(facts.kind, ())
    return tuple(f"lexigraph train {recipe} {' '.join(options)} --out runs/{recipe}" for recipe in recipes)
