"""CoNLL-2000 and CoNLL-2003 as words with tags in BIO: all of the training file, its first nine tenths, its last.

python benchmarks/conll.py conll2000-chunking/train.txt.xz conll2000-chunking/test.txt.xz chunks
lexigraph train tagger-spans --data chunks/all.conll --test chunks/test.conll --set data.split=[1.0] --out runs/chunks

The first column is the word, the last its tag; those between, parts of speech among them, are left out. Tags are read
as conlleval reads them, and written in BIO: CoNLL-2003 is in IOB1, but for two tags that no scheme has.
"""

from __future__ import annotations

import lzma
import re
import sys
from pathlib import Path

from lexigraph.text.spans import BIO, converted


def sentences(file: Path) -> list[str]:
    """Every sentence of a file, a line for each word."""
    found = []
    for block in re.split(r"\n\s*\n", lzma.decompress(file.read_bytes()).decode()):
        rows = [row for line in block.splitlines() if (row := line.split()) and row[0] != "-DOCSTART-"]
        tags = converted([row[-1] for row in rows], BIO)
        if rows:
            found.append("".join(f"{row[0]}\t{tag}\n" for row, tag in zip(rows, tags, strict=True)))
    return found


def main(train: Path, test: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    known = sentences(train)
    end = len(known) * 9 // 10
    for name, some in {"all": known, "train": known[:end], "valid": known[end:], "test": sentences(test)}.items():
        (out / f"{name}.conll").write_text("\n".join(some), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
