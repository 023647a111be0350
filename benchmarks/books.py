"""The files that the flagship's recipes are trained on, made from the book sentences of docs/data.md.

python benchmarks/books.py SOURCE_FOLDER OUT_FOLDER

books.main.txt     four fifths of the training books, a sentence a line
books.judge.txt    the remaining books: what the language model that judges fluency is trained on, and nothing else
books.joined.txt   books.main.txt, and after every sentence that sentence and the next of its book as one
                   line, so that there are texts of up to 40 tokens; then sentences of which some words are random
                   signs, so that tokens that no book holds can be copied; then 400,000 sentences of the built-in
                   grammar (its training split, spelled as books are), so that plain questions and denials are not
                   rare. Of these, every tenth combination of a word and a construction is kept out: settings are
                   chosen by what a model makes of them (benchmarks/unseen_edits.py), and not by the test split
books.valid.txt    books.test.txt    as they are: other books again
"""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from zlib import crc32

from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import grammar
from lexigraph.text.constructions import clauses, head_word, traits
from lexigraph.text.grammar import Clause

JUDGE = 5  # every fifth book
GRAMMAR = 400_000  # sentences of the built-in corpus
STRANGE = 60_000  # sentences with random signs in them
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


def main(source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    files = {name: (out / f"books.{name}.txt").open("w", encoding="utf-8") for name in ("main", "judge", "joined")}
    for number, lines in enumerate(books(source)):
        if number % JUDGE == JUDGE - 1:
            files["judge"].writelines(f"{line}\n" for line in lines)
            continue
        files["main"].writelines(f"{line}\n" for line in lines)
        for line, following in zip_longest(lines, lines[1:]):
            files["joined"].write(f"{line}\n")
            if following:
                files["joined"].write(f"{line} {following}\n")
    files["main"].flush()
    random, lines = Random(0), (out / "books.main.txt").read_text(encoding="utf-8").splitlines()
    for number in range(STRANGE):
        files["joined"].write(strange(lines[number * len(lines) // STRANGE], random) + "\n")
    seen = (clause for clause in clauses(None, split="train") if not kept_out(clause))
    for clause in islice(seen, GRAMMAR):
        files["joined"].write(spelled(grammar.realise(clause), spaced=False) + "\n")
    for file in files.values():
        file.close()
    for name in ("valid", "test"):
        with lzma.open(source / f"books.{name}.txt.xz", "rt", encoding="utf-8") as text:
            (out / f"books.{name}.txt").write_text(text.read(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
