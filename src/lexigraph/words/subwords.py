"""fastText's n-grams: a word that was never seen has the mean vector of its pieces.

The n-grams of "she", 3 to 4 characters long, are those of "<she>": <sh <she she she> he>. Each is hashed to one of
`buckets` rows, so that the table stays small however many n-grams there are:

    h ← 2166136261;  for each UTF-8 byte b of the n-gram:  h ← (h xor b) · 16777619 mod 2³²        row = h mod buckets

fastText takes b as a signed number, so that from 0x80 on it flips the upper 24 bits of h too; its files depend on it.

>>> from lexigraph.words.subwords import ngram_rows
>>> rows, starts = ngram_rows(["she", "he"], buckets=2_000_000, minn=3, maxn=4)
>>> rows[starts[1] : starts[2]]        # <he <he> he>
array([1188580,  926126,  816280])
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap

import numpy as np
from jaxtyping import Float32, Int64

from lexigraph.errors import LexigraphError

MAGIC = 793712314  # how a fastText model begins
BLOCK = 1024  # words composed at once
END = "</s>"  # fastText's mark for the end of a line: a word without n-grams
SIGNED = np.arange(256, dtype=np.uint8).astype(np.int8).astype(np.uint32)  # b as the hash sees it


@dataclass(frozen=True, eq=False)
class Subwords:
    """A table of n-gram vectors, which may be memory-mapped."""

    matrix: Float32[np.ndarray, "buckets dim"]
    buckets: int
    minn: int  # characters of the shortest n-gram, the marks < and > included
    maxn: int

    def __post_init__(self) -> None:
        if len(self.matrix) != self.buckets:
            raise LexigraphError(f"There are {self.buckets} buckets of n-grams but {len(self.matrix)} vectors.")

    def rows(self, word: str) -> Int64[np.ndarray, " ngrams"]:
        """Where the vectors of a word's n-grams stand, by start and then by length."""
        return ngram_rows([word], self.buckets, self.minn, self.maxn)[0]

    def vector(self, word: str) -> Float32[np.ndarray, " dim"]:
        """The mean over the word's n-grams; zero if it is too short to have one."""
        rows = self.rows(word)
        return self.matrix[rows].sum(axis=0) / np.float32(max(len(rows), 1))


def ngram_rows(
    words: Sequence[str], buckets: int, minn: int, maxn: int
) -> tuple[Int64[np.ndarray, " ngrams"], Int64[np.ndarray, " starts"]]:
    """The rows of many words' n-grams, one after another: those of word i are `rows[starts[i] : starts[i + 1]]`."""
    maxn = maxn if buckets else 0
    marked = [b"" if word == END else f"<{word}>".encode("utf-8", "surrogateescape") for word in words]
    text = np.frombuffer(b"".join(marked), np.uint8)
    begin = np.flatnonzero((text & 0xC0) != 0x80)  # of each character: all but UTF-8's continuation bytes
    end = np.append(begin[1:], len(text))
    owner = np.searchsorted(np.cumsum([len(word) for word in marked]), begin, side="right")
    hashes = np.zeros((len(begin), maxn), np.uint32)  # [s, n - 1]: of the n characters from character s on
    exists = np.zeros((len(begin), maxn), bool)
    running = np.full(len(begin), 2166136261, np.uint32)
    start = np.arange(len(begin))
    for n in range(1, maxn + 1):
        start = start[start + n <= len(begin)]
        start = start[owner[start + n - 1] == owner[start]]  # an n-gram ends where its word ends
        last = start + n - 1
        for byte in range(4):
            more = begin[last] + byte < end[last]
            grown, at = start[more], begin[last[more]] + byte
            running[grown] = (running[grown] ^ SIGNED[text[at]]) * np.uint32(16777619)
        hashes[start, n - 1] = running[start]
        exists[start, n - 1] = n >= minn
    border = np.diff(owner, prepend=-1, append=len(words)) != 0
    exists[border[:-1] | border[1:], :1] = False  # the marks < and > alone are no n-grams
    counts = np.bincount(owner[exists.nonzero()[0]], minlength=len(words))
    return hashes[exists].astype(np.int64) % max(buckets, 1), np.append(0, np.cumsum(counts))


def read_model(
    content: bytes | mmap, limit: int | None = None
) -> tuple[list[bytes], Int64[np.ndarray, " words"], Float32[np.ndarray, "words dim"], Subwords | None]:
    """Words, counts, vectors and n-grams of a model as fastText saves it; ValueError or struct.error if it is none.

    The file holds settings, words with counts, and a matrix: first a row for each word, then one for each bucket. The
    vector of a word is the mean of its own row and those of its n-grams.
    """
    magic, version, dim, *_, model, buckets, minn, maxn, _, _ = struct.unpack_from("<2i12id", content)
    if magic != MAGIC or version not in (11, 12):
        raise ValueError("only versions 11 and 12 are known")
    entries, known, _, _, pruned = struct.unpack_from("<3i2q", content, 64)
    words, counts, position = [], [], 92
    for _ in range(entries):
        end = content.find(b"\0", position)
        if end < 0:
            raise ValueError("it ends within its words")
        count, label = struct.unpack_from("<qb", content, end + 1)
        if not label:  # a classifier's labels stand among the words
            words.append(content[position:end])
            counts.append(count)
        position = end + 10
    quantised, rows, columns = struct.unpack_from("<?2q", content, position + 8 * max(pruned, 0))
    if quantised or pruned > 0:
        raise ValueError("it is quantised; take the full model, which is no .ftz file")
    if len(words) != known or rows != known + buckets or columns != dim:
        raise ValueError(f"{len(words)} words, {buckets} n-grams and {dim} dimensions do not make {rows} x {columns}")
    matrix = np.frombuffer(content, "<f4", rows * dim, position + 17).reshape(rows, dim)
    if version == 11 and model == 3:  # classifiers had no n-grams then, whatever the settings say
        maxn = 0
    words, counts = words[:limit], counts[:limit]
    vectors = np.empty((len(words), dim), np.float32)
    for start in range(0, len(words), BLOCK):
        part = [word.decode("utf-8", "surrogateescape") for word in words[start : start + BLOCK]]
        ngrams, starts = ngram_rows(part, buckets, minn, maxn)
        own = np.arange(len(part))
        every = np.insert(
            known + ngrams, starts[:-1], start + own
        )  # a word's row, its n-grams' rows, the next word's …
        sums = np.add.reduceat(matrix[every], starts[:-1] + own, axis=0)
        vectors[start : start + BLOCK] = sums / (1 + np.diff(starts))[:, None]
    subwords = Subwords(matrix[known:], buckets, minn, maxn) if buckets and maxn else None
    return words, np.array(counts, np.int64), vectors, subwords


def model_bytes(
    words: Sequence[str],
    vectors: Float32[np.ndarray, "words dim"],
    counts: Int64[np.ndarray, " words"] | None,
    subwords: Subwords,
) -> Iterator[bytes]:
    """A model as fastText saves it, piece by piece: what `read_model` reads.

    The vector v of a word with n n-grams is the mean of its own row and theirs, so that its own row is
    (n + 1) v − Σ theirs. What predicts contexts is not kept here, and is written as zeros.
    """
    known, dim = vectors.shape
    seen = np.ones(known, np.int64) if counts is None else np.maximum(counts, 1)
    skipgram, sampling = 2, 2  # fastText's numbers for its usual model and loss
    yield struct.pack("<2i12id", MAGIC, 12, dim, 5, 5, 1, 5, 1, sampling, skipgram, subwords.buckets, subwords.minn,
                      subwords.maxn, 100, 1e-4)  # fmt: skip
    yield struct.pack("<3i2q", known, known, 0, int(seen.sum()), -1)
    for word, count in zip(words, seen.tolist(), strict=True):
        yield word.encode() + struct.pack("<bqb", 0, count, 0)
    yield struct.pack("<?2q", False, known + subwords.buckets, dim)
    for start in range(0, known, BLOCK):
        part = words[start : start + BLOCK]
        rows, starts = ngram_rows(part, subwords.buckets, subwords.minn, subwords.maxn)
        own = vectors[start : start + BLOCK].astype(np.float64) * (1 + np.diff(starts))[:, None]
        np.subtract.at(
            own, np.repeat(np.arange(len(part)), np.diff(starts)), subwords.matrix[rows].astype(np.float64)
        )
        yield own.astype("<f4").tobytes()
    for start in range(0, subwords.buckets, BLOCK):
        yield subwords.matrix[start : start + BLOCK].astype("<f4").tobytes()
    yield struct.pack("<?2q", False, known, dim)
    for start in range(0, known, BLOCK):
        yield bytes(4 * dim * len(words[start : start + BLOCK]))
