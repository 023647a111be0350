"""Tell what text files hold before anyone trains on them: sizes, lengths, duplicates, encoding, leakage.

`check({"train": "train.txt", "valid": "valid.txt"})` reads each file once, as a stream, in bounded
memory; the counting is in `tally.py`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.text import builtin, heads, parallel
from lexigraph.text.encoding import words_of
from lexigraph.text.files import Given, Names, built_in, expand, named, shown
from lexigraph.text.guesses import (
    commands,
    conllu_columns,
    guess_columns,
    guess_kind,
    kind_of,
    recipes_for,
    tree_columns,
)
from lexigraph.text.readers import CONLL_DEFAULT, TABLES, Record, file_format, read
from lexigraph.text.source import AUTO, COMPRESSED, Source
from lexigraph.text.tally import Lengths, Tally, tally_plain, tally_records

BUILT_IN = recipes.Data().sentences  # of the built-in corpus, unless a recipe says otherwise
FEW_WORDS = 10_000

SPACELESS = {"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
CONTROL = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
Fact = str | int | float | tuple["Fact", ...] | Mapping[str, "Fact"]  # a value of `FileFacts`
USUAL = "\n\t“”‘’„‚«»‹›–—…·、。，！？：；「」『』（）।؟،¿¡§°€£"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one file holds. Blank lines count as `empty_lines` and nowhere else."""

    path: str
    files: int  # where there are several
    format: str
    encoding: str
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
    longest_in: str  # the file whose line has most words
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
    kind: str  # lines, stream, pairs, tags, labels, questions, trees, phrases or dependencies
    columns: dict[str, str]
    reason: str  # why this kind

    def rows(self) -> list[tuple[str, str]]:
        """Give (label, value) for a table of all that is there."""
        hidden = () if self.files else ("longest_in",)
        facts = ((name, value) for name, value in asdict(self).items() if value and name not in hidden)
        return [(name.replace("_", " "), _shown(value)) for name, value in facts]

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
            yield f"{self.longest_in}, line {words.longest_line} has {words.maximum:,} words. Are line ends missing?"
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
    recipes: tuple[str, ...]  # those that fit
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
        fitting = [("recipes that fit", ", ".join(self.recipes))] if self.commands else []
        return rows + fitting + tries

    def to_dict(self) -> dict[str, Fact | list[str]]:
        """Give everything as plain dictionaries and lists."""
        return asdict(self)


def check(
    paths: Mapping[str, Given] | Given, columns: Mapping[str, str] | None = None, encoding: str = AUTO
) -> Report:
    """Read files and report what they hold.

    Args:
        paths: split name → files, with the training split named "train" or first; or files alone, as `files.named`
            takes them. "grammar" is the built-in corpus. Plain text may have lines of any length here.
        columns: as for `readers.read`; otherwise guessed.
        encoding: as for `Source`.
    """
    names = {
        split: named(each) for split, each in (paths if isinstance(paths, Mapping) else {"train": paths}).items()
    }
    against = "train" if "train" in names else next(iter(names))
    held_out = {split: Tally() for split in names if split != against}
    # The others are read first: the training text may be far larger, and then need only be compared with them.
    tallies = {**held_out, against: Tally(list(held_out.values()))}
    facts = {split: _facts(names[split], columns, tally, encoding) for split, tally in tallies.items()}
    leaks = tuple(
        Leak(split, against, facts[split].records, tally.exact.share_met(), tally.folded.share_met())
        for split, tally in held_out.items()
    )
    warnings = [warning for split in names for warning in facts[split].warnings()]
    warnings += [
        f"{leak.exact:.1%} of the records in {leak.split} are in {leak.against} too, {leak.folded:.1%} but for case "
        "and punctuation: scores will look too good. Take them out, or give one file and let data.split divide it."
        for leak in leaks
        if max(leak.exact, leak.folded) >= 0.01
    ]
    main = facts[against]
    table = not main.format.startswith(("text", "trees", "conllu"))  # else the columns are known
    tried = commands(main.kind, table, main.columns, names, against, encoding)
    return Report({split: facts[split] for split in names}, leaks, recipes_for(main.kind), tried, warnings)


def _with_trees(records: Iterator[Record], file: str, columns: Collection[str]) -> Iterator[Record]:
    """The same records, whose heads must be trees where they have some: a training would refuse them later."""
    for record in records:
        if {"heads", "tokens"} <= set(columns):
            heads.read(record.columns["heads"], words_of(record.columns["tokens"]), f"{file}, line {record.line}")
        yield record


def _facts(names: Names, columns: Mapping[str, str] | None, tally: Tally, encoding: str) -> FileFacts:
    found, longest, documents = [parallel.directed(file)[1] for file in expand(names)], "", 0
    together = parallel.sides(found[0])
    name = file_format(found[0] if together is None else together[0])
    if together:
        columns = dict(zip(("source", "target"), together, strict=True))
    if name in TABLES:
        columns = columns or guess_columns(found[0], name, encoding)
    looked_into = {"trees": tree_columns, "conllu": conllu_columns}
    if name in looked_into:
        columns = columns or looked_into[name](found[0], encoding)
    chosen = dict(columns or CONLL_DEFAULT.get(name, {"text": "1"}))
    whole, sources = kind_of(chosen) == "pairs", []
    for file in found:
        opened, before = [_source(each, encoding) for each in parallel.sides(file) or [file]], tally.words.longest
        if opened[1:]:
            documents += tally_records(
                parallel.records(opened, tuple(chosen), recipes.Data().max_chars), tally, whole
            )
        elif name == "text":
            documents += tally_plain(opened[0], tally)
        else:
            documents += tally_records(_with_trees(read(opened[0], columns), file, chosen), tally, whole)
        longest = longest if tally.words.longest == before else file
        sources += opened
    header = name == "tsv" and not all(key.removeprefix("-").isdigit() for key in chosen.values())
    lines, ends = sum(source.lines for source in sources), Counter[str]()
    for source in sources:
        ends.update(source.endings)
    counted = together or name in (*CONLL_DEFAULT, "csv")
    empty = 0 if counted else max(0, lines - tally.records - header * len(sources))
    kind, reason = guess_kind(tally, name, chosen, empty)
    if together:
        reason = "Line by line, the two files say the same: the records are pairs."
    scripts, unusual = _characters(tally.code_points)
    samples = {"distinct words": tally.vocabulary, "duplicates": tally.exact}
    duplicates = tally.exact.repeated()
    suffix = sources[0].path.suffix.lower()
    return FileFacts(
        path=shown(names),
        files=len(found) if len(found) > 1 else 0,
        format=name + (suffix if suffix in COMPRESSED else ""),
        encoding=", ".join(sorted({source.encoding for source in sources})),
        bytes=sum(source.bytes for source in sources),
        lines=lines,
        records=tally.records,
        empty_lines=empty,
        documents=documents,
        characters=tally.chars.total(),
        words=tally.words.total(),
        distinct_words=tally.vocabulary.distinct(),
        line_words=tally.words.lengths(),
        line_chars=tally.chars.lengths(),
        longest_in=longest,
        duplicates=duplicates,
        duplicate_share=duplicates / tally.records,
        estimated=tuple(name for name, sample in samples.items() if sample.level),
        replacement_characters=int(tally.code_points[0xFFFD]),
        control_characters=int(tally.code_points[CONTROL].sum()),
        not_composed_lines=tally.not_composed,
        line_endings={repr(ending)[1:-1]: count for ending, count in ends.items() if count},
        byte_order_mark=any(source.bom for source in sources),
        scripts=scripts,
        unusual=unusual,
        kind=kind,
        columns=chosen,
        reason=reason,
    )


def _source(file: str, encoding: str) -> Source:
    if not built_in(file):
        return Source(file, encoding=encoding)
    return Source(file, (f"{sentence}\n".encode() for sentence in builtin.sentences(BUILT_IN, file)))


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


def scripts_of(code_points: np.ndarray) -> dict[str, float]:
    """Share of letters by script."""
    return _characters(code_points)[0]


def _shown(value: Fact) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} = {_shown(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if isinstance(value, float) else value
