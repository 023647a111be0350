"""Tell what text files hold before anyone trains on them: sizes, lengths, duplicates, encoding, leakage.

`check({"train": "train.txt", "valid": "valid.txt"})` reads each file once, as a stream, in bounded
memory; the counting is in `tally.py`.
"""

from __future__ import annotations

import json
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.registry import system_of_any_kind
from lexigraph.text.readers import CONLL_DEFAULT, MAX_CHARS, Source, file_format, read, read_lines
from lexigraph.text.tally import Lengths, Tally, tally_plain, tally_records

PEEK = 200  # rows from which the columns of a table are guessed
BUILT_IN = recipes.Data().sentences  # of the built-in corpus, unless a recipe says otherwise
LONG_LINE = 50  # words; sentences are seldom longer, paragraphs often
FEW_WORDS = 10_000

FIRST = {"lines": ("gpt",), "stream": ("gpt", "lstm-lm")}  # kind of file → of its many recipes, those to begin with
NEEDED = {"pairs": {"source", "target"}, "tags": {"tokens", "tags"}, "labels": {"text", "label"}}  # kind → its fields
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
Fact = str | int | float | tuple["Fact", ...] | Mapping[str, "Fact"]  # a value of `FileFacts`
USUAL = "\n\t“”‘’„‚«»‹›–—…·、。，！？：；「」『』（）।؟،¿¡§°€£"


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

    def to_dict(self) -> dict[str, Fact | list[str]]:
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
    held_out = {split: Tally() for split in paths if split != against}
    # The others are read first: the training text may be far larger, and then need only be compared with them.
    tallies = {**held_out, against: Tally(list(held_out.values()))}
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


def _facts(path: str, columns: Mapping[str, str] | None, tally: Tally) -> FileFacts:
    if path == "grammar":
        from lexigraph.text.constructions import sentences

        source = Source(path, (f"{sentence}\n".encode() for sentence in sentences(BUILT_IN)))
    else:
        source = Source(path)
    name = file_format(path)
    if name in ("json", "tsv"):
        columns = columns or _guess_columns(path, name)
    records = read(source, columns)
    chosen = dict(columns or CONLL_DEFAULT.get(name, {"text": "1"}))
    whole = _kind_of(chosen) == "pairs"
    documents = tally_plain(source, tally) if name == "text" else tally_records(records, tally, whole)
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


def _shown(value: Fact) -> str:
    if isinstance(value, Mapping):
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


def _guess_kind(tally: Tally, name: str, columns: Mapping[str, str], empty: int) -> tuple[str, str]:
    """Tell what the records are, and why."""
    kind = _kind_of(columns)
    if kind != "lines":
        fields = ", ".join(f"{ours} = field {theirs}" for ours, theirs in columns.items())
        trained = "." if _recipes(kind) else f". No recipe trains on {kind} yet."
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


def _recipes(kind: str) -> tuple[str, ...]:
    """The recipes for files of this kind: those of systems whose records hold its fields."""
    if kind in FIRST:
        return FIRST[kind]
    systems = {name: recipes.source(name).tables["system"] for name in recipes.names()}
    return tuple(name for name, system in systems.items() if set(system_of_any_kind(system).fields) == NEEDED[kind])


def _commands(facts: FileFacts, paths: Mapping[str, str | Path], against: str) -> tuple[str, ...]:
    """How to train on these files, by each recipe that can."""
    if not NEEDED.get(facts.kind, set()) <= facts.columns.keys():
        return ()  # a table in a file that does not say so by its name
    files = {"data": against} | {split: split for split in ("valid", "test") if split in paths and split != against}
    options = [f"--{option} {shlex.quote(str(paths[split]))}" for option, split in files.items()]
    if facts.kind in FIRST:
        options.append(f"--set data.unit={facts.kind.removesuffix('s')}")
    if not facts.format.startswith("text"):
        columns = ", ".join(f'{ours} = "{theirs}"' for ours, theirs in facts.columns.items())
        options.append(f"--set {shlex.quote(f'data.columns={{{columns}}}')}")
    return tuple(f"lexigraph train {name} {' '.join(options)} --out runs/{name}" for name in _recipes(facts.kind))
