"""Whole documents for models of long texts: articles and books, a blank line between them, in three files.

python benchmarks/documents.py $LEXIGRAPH_DATA/wikipedia-en-sample wiki          articles of at least 800 words
python benchmarks/documents.py $LEXIGRAPH_DATA/books books                       whole books, their sentences in order
lexigraph train transformer-xl --data wiki/train.txt --valid wiki/valid.txt --test wiki/test.txt --out runs/xl \
    --set data.documents=blank --set tokenizer.kind=bpe --set tokenizer.size=4096

Articles are paragraphs, one a line; nineteen of twenty are for training, by a hash of their first lines. Books keep
the splits of their index; sentences that were left out of that collection are gaps in them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from lexigraph.text.splits import cutter

SHARES = {"train": 0.95, "valid": 0.025, "test": 0.025}
Document = tuple[str, list[str]]  # its split, its lines


def articles(file: Path) -> Iterator[Document]:
    """Paragraphs up to each blank line."""
    split_of, lines = cutter(SHARES), list[str]()
    with lzma.open(file, "rt", encoding="utf-8") as text:
        for line in (*text, "\n"):
            if line.strip():
                lines.append(line.strip())
            elif lines:
                yield split_of(lines[0]), lines
                lines = []


def books(folder: Path) -> Iterator[Document]:
    """The sentences of each book of the index, which is in the order of the files."""
    with gzip.open(folder / "books.index.tsv.gz", "rt", encoding="utf-8") as index:
        rows = list(csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE))
    for split in SHARES:
        with lzma.open(folder / f"books.{split}.txt.xz", "rt", encoding="utf-8") as text:
            own = sorted((row for row in rows if row["split"] == split), key=lambda row: int(row["first_line"]))
            done = 0
            for row in own:
                skipped, done = int(row["first_line"]) - 1 - done, int(row["first_line"]) - 1 + int(row["lines"])
                yield split, [line.strip() for line in islice(text, skipped, skipped + int(row["lines"]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the folder wikipedia-en-sample or books")
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=800, help="of a document at least")
    parser.add_argument("--most", type=int, default=10**9, help="documents for training")
    given = parser.parse_args()
    wiki = given.source / "wiki.txt.xz"
    given.out.mkdir(parents=True, exist_ok=True)
    counts = {split: [0, 0] for split in SHARES}
    files = {split: (given.out / f"{split}.txt").open("w", encoding="utf-8") for split in SHARES}
    for split, lines in articles(wiki) if wiki.exists() else books(given.source):
        words = sum(len(line.split()) for line in lines)
        if words >= given.words and (split != "train" or counts[split][0] < given.most):
            files[split].write("\n".join(lines) + "\n\n")
            counts[split] = [counts[split][0] + 1, counts[split][1] + words]
    for split, (documents, words) in counts.items():
        files[split].close()
        print(f"{split}: {documents:,} documents, {words:,} words")


if __name__ == "__main__":
    main()
