"""The text format of n-gram models that other tools read and write, named after ARPA.

    \\data\\
    ngram 1=4                     how many there are of each order
    \\1-grams:
    -0.30103  the  -0.17609       log10 p, the n-gram, log10 of its back-off weight where it has one
    \\end\\
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from lexigraph.errors import LexigraphError
from lexigraph.words.ngram_tables import BLOCK, END, NEVER, SPECIAL, START, UNK, Table, find


def write(path: Path, words: list[str], tables: list[Table]) -> None:
    """Write a model's words and tables."""
    for word in words:
        if word.encode("utf-8", "replace").split() != [word.encode("utf-8", "surrogatepass")]:
            raise LexigraphError(f"The word {word!r} cannot stand in an ARPA file: use `save`.")
    names = np.array(words, object)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\\data\\\n")
        file.writelines(f"ngram {k}={len(table.keys)}\n" for k, table in enumerate(tables, 1))
        for k, table in enumerate(tables, 1):
            file.write(f"\n\\{k}-grams:\n")
            for first in range(0, len(table.keys), BLOCK):
                some = np.arange(first, min(first + BLOCK, len(table.keys)))
                rows, columns = some, list[np.ndarray]()
                for part in reversed(tables[:k]):
                    rows, last = np.divmod(part.keys[rows], len(names))
                    columns.insert(0, names[last])
                ngrams = map(" ".join, zip(*columns, strict=True))
                values = table.log_p[some].tolist(), table.backoff[some].tolist()
                for ngram, p, backoff in zip(ngrams, *values, strict=True):
                    file.write(f"{p:.9g}\t{ngram}\t{backoff:.9g}\n" if backoff else f"{p:.9g}\t{ngram}\n")
        file.write("\n\\end\\\n")


def read(file: Iterable[bytes]) -> tuple[list[str], list[Table]]:
    """Words and tables of an ARPA file, or a ValueError that says what is wrong with it."""
    lines = ((number, line.split()) for number, line in enumerate(file, 1) if line.strip())  # at ASCII spaces only
    if not any(fields == [b"\\data\\"] for _, fields in lines):
        raise ValueError("it has no line \\data\\")
    number, fields = next(lines, (0, []))
    sizes: list[int] = []
    while fields[:1] == [b"ngram"]:
        sizes.append(int(fields[-1].split(b"=")[-1]))
        number, fields = next(lines, (number + 1, []))
    index = {word.encode(): row for row, word in enumerate(SPECIAL)}
    tables: list[Table] = []
    for k, size in enumerate(sizes, 1):
        if fields != [b"\\%d-grams:" % k]:
            raise ValueError(f"line {number} should be \\{k}-grams:")
        ids, log_p, backoff = array("q"), array("d"), array("d")
        for number, fields in islice(lines, size):
            try:
                if k == 1:
                    index.setdefault(fields[1], len(index))
                ids.extend([index[word] for word in fields[1 : k + 1]])
                log_p.append(float(fields[0]))
                backoff.append(float(fields[k + 1]) if len(fields) == k + 2 else 0)
                if not k < len(fields) < k + 3:
                    raise ValueError
            except (ValueError, IndexError, KeyError):
                raise ValueError(f"line {number} is no {k}-gram, or one of words that are no 1-grams") from None
        if k == 1 and not {START, END} <= set(ids):
            raise ValueError("it has no <s> or no </s>")
        if k == 1 and UNK not in ids:
            ids.append(UNK)
            log_p.append(NEVER)
            backoff.append(0)
        ngrams = np.array(ids).reshape(-1, k)
        rows = np.zeros(len(ngrams), np.int64)
        for table, column in zip(tables, ngrams.T, strict=False):
            rows = find(table.keys, rows * len(index) + column)
        if (rows < 0).any():
            raise ValueError(f"it has {k}-grams that begin with no {k - 1}-gram")
        keys = rows * len(index) + ngrams[:, -1]
        sort = np.argsort(keys)
        tables.append(Table(keys[sort], np.array(log_p, np.float32)[sort], np.array(backoff, np.float32)[sort]))
        number, fields = next(lines, (number + 1, []))
    if fields != [b"\\end\\"]:
        raise ValueError(f"line {number} should be \\end\\")
    if tables:
        tables[0].log_p[START] = NEVER  # some tools write 0 for it
    return [word.decode() for word in index], tables
