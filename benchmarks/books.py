"""The files that the flagship's recipes are trained on, made from the book sentences of docs/data.md.

    python benchmarks/books.py SOURCE_FOLDER OUT_FOLDER
    python benchmarks/books.py SOURCE_FOLDER OUT_FOLDER --published WORD_LIST …

books.main.txt     four fifths of the training books, a sentence a line
books.judge.txt    the remaining books: what the language model that judges fluency is trained on, and nothing else
books.joined.txt   books.main.txt, and after every sentence that sentence and the next of its book as one
                   line, so that there are texts of up to 40 tokens; then sentences of which some words are random
                   signs, so that tokens that no book holds can be copied; then sentences in small letters with spaces
                   before marks, half of them without the last one, as other people's files are; then 400,000 of the
                   built-in grammar (its training split, spelled as books are), so that plain questions and denials
                   are not rare. Of these, every tenth combination of a word and a construction is kept out: settings
                   are chosen by what a model makes of them (benchmarks/unseen_edits.py), and not by the test split
books.single.txt   the same without the two of a line, and how many sentences each book has in books.sizes.npy:
                   all that has to travel to another machine (benchmarks/carry.py)
books.valid.txt    books.test.txt    as they are: other books again

With --published, the files of `picture-published`, in the published order: first all lines are cleaned, rare words
leave, long lines and lines with words of no word list go; then lines, not books, are assigned at random. (A recipe's
own split goes by a hash of each line, which gives no exact number, and its word counts are of the training split.)

published.test.txt     10,000 lines
published.valid.txt    a tenth of the others
published.train.txt    the rest; all three from the books of books.main.txt, of which so many sentences are taken that
                       1.3 million lines remain; no two are alike, so that no test line was trained on

Debian's package wamerican has a word list (/usr/share/dict/american-english).
"""

from __future__ import annotations

import argparse
import gzip
import lzma
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
from clauses import tokenized

from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import clean, grammar
from lexigraph.text.constructions import clauses, head_word, traits
from lexigraph.text.grammar import Clause

JUDGE = 5  # every fifth book
GRAMMAR = 400_000  # sentences of the built-in corpus
STRANGE = 60_000  # sentences with random signs in them
TOKENS = 100_000  # sentences in small letters, with spaces before marks
PUBLISHED = 1_470_000  # sentences, of which cleaning leaves 1.3 million, as published
TEST = 10_000  # lines, as published
VALID = 0.1  # of the other lines, as published
SIGNS = [  # first and last of each kind
    *[("!", "~")] * 3,  # ASCII, three times as often as others
    ("\u00a1", "\u017f"),  # Latin letters with accents
    ("\u0391", "\u03c9"),  # Greek
    ("\u0410", "\u044f"),  # Cyrillic
    ("\u2010", "\u2044"),  # dashes and quotes
    ("\U0001f600", "\U0001f64f"),  # faces
]


def books(source: Path) -> Iterator[list[str]]:
    """The sentences of every training book, in order."""
    with gzip.open(source / "books.index.tsv.gz", "rt", encoding="utf-8") as index:
        sizes = [int(row.split("\t")[2]) for row in index if row.startswith("train\t")]
    with lzma.open(source / "books.train.txt.xz", "rt", encoding="utf-8") as text:
        for size in sizes:
            yield [text.readline().strip() for _ in range(size)]


def strange(sentence: str, random: Random) -> str:
    """The sentence with every third word, on average, exchanged for random signs of one kind."""

    def signs() -> str:
        first, last = map(ord, random.choice(SIGNS))
        return "".join(chr(random.randint(first, last)) for _ in range(random.randint(1, 6)))

    return " ".join(signs() if random.random() < 1 / 3 else word for word in sentence.split())


def kept_out(clause: Clause) -> bool:
    """Whether the head word is kept out with one of its traits: a second split, made as the grammar's own is."""
    return any(crc32(f"{trait}+{head_word(clause)}".encode()) % 10 == 1 for trait in traits(clause))


def further(main: Path) -> Iterator[str]:
    """What is added to the sentences of books."""
    random, lines = Random(0), main.read_text(encoding="utf-8").splitlines()
    for number in range(STRANGE):
        yield strange(lines[number * len(lines) // STRANGE], random)
    for number in range(TOKENS):
        line = tokenized(lines[(2 * number + 1) * len(lines) // (2 * TOKENS)])
        yield line[: -2 if number % 2 else None]
    seen = (clause for clause in clauses(None, split="train") if not kept_out(clause))
    for clause in islice(seen, GRAMMAR):
        yield spelled(grammar.realise(clause), spaced=False)


def main(source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    names, sizes = ("main", "judge", "joined", "single"), []
    files = {name: (out / f"books.{name}.txt").open("w", encoding="utf-8") for name in names}
    for number, lines in enumerate(books(source)):
        if number % JUDGE == JUDGE - 1:
            files["judge"].writelines(f"{line}\n" for line in lines)
            continue
        sizes.append(len(lines))
        for name in ("main", "single"):
            files[name].writelines(f"{line}\n" for line in lines)
        for line, following in zip_longest(lines, lines[1:]):
            files["joined"].write(f"{line}\n")
            if following:
                files["joined"].write(f"{line} {following}\n")
    files["main"].flush()
    np.save(out / "books.sizes.npy", sizes)
    for line in further(out / "books.main.txt"):
        for name in ("joined", "single"):
            files[name].write(f"{line}\n")
    for file in files.values():
        file.close()
    for name in ("valid", "test"):
        with lzma.open(source / f"books.{name}.txt.xz", "rt", encoding="utf-8") as text:
            (out / f"books.{name}.txt").write_text(text.read(), encoding="utf-8")


def published(source: Path, out: Path, word_lists: list[Path]) -> None:
    """The published task: see the top."""
    rules = clean.DEFAULT
    random = Random(0)
    raw = [line for number, lines in enumerate(books(source)) if number % JUDGE != JUDGE - 1 for line in lines]
    taken = random.sample(raw, min(len(raw), PUBLISHED))
    lines = [line for line in map(clean.cleaner(rules), taken) if line]  # once: the stages read them several times
    entries = [word for file in word_lists for word in file.read_text(encoding="utf-8").splitlines()]
    known = clean.dictionary_words(entries, rules)
    keep = clean.fitted_cleaner(lambda: lines, ["whitespace"], clean.PUBLISHED_STAGES, known)
    kept = list(dict.fromkeys(line for line in map(keep, lines) if line))
    random.shuffle(kept)
    valid = TEST + round(VALID * (len(kept) - TEST))
    out.mkdir(parents=True, exist_ok=True)
    for name, part in {"test": kept[:TEST], "valid": kept[TEST:valid], "train": kept[valid:]}.items():
        (out / f"published.{name}.txt").write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
    words = {word for line in kept for word in line.split()}
    print(f"{len(lines):,} lines cleaned, {len(kept):,} kept, of {len(words):,} words.")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("source", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--published", type=Path, nargs="+", metavar="WORD_LIST", help="a word a line")
    given = arguments.parse_args()
    if given.published:
        published(given.source, given.out, given.published)
    else:
        main(given.source, given.out)
