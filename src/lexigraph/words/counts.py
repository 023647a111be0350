"""Vectors from counting: bags of words, TF-IDF, PPMI, LSA and Hellinger PCA. Tables are sparse and stay so.

    one-hot         1 in the column of the word
    bag of words    tf_dw, how often document d has word w: the sum of one-hots
    TF-IDF          tf_dw · log10(N / df_w)                N documents, of which df_w have word w
    PPMI            max(0, log2 p_wc / (p_w p_c))          from counts X_wc of words and contexts (cooccurrence.py)
    SVD, LSA        X ≈ U S Vᵀ with the `dim` largest singular values S
    Hellinger PCA   principal components of √p(c | w)      (Lebret and Collobert 2014)

>>> table, words = term_document([["red", "sky"], ["red", "red", "rose"]])
>>> words
['red', 'rose', 'sky']
>>> table.toarray()
array([[1., 0., 1.],
       [2., 1., 0.]])
>>> tfidf(table).toarray().round(3)
array([[0.   , 0.   , 0.301],
       [0.   , 0.301, 0.   ]])
"""

from __future__ import annotations

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_matrix, sparray, spmatrix
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, eigsh, svds

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import nearest
from lexigraph.words.cooccurrence import cooccurrence
from lexigraph.words.corpus import Corpus
from lexigraph.words.scan import END

Table: TypeAlias = spmatrix | sparray
Documents: TypeAlias = Iterable[Sequence[str]]  # each a list of words
METHODS = ("ppmi-svd", "hellinger", "lsa")
CELLS = 1 << 20  # of a table on disk, worked on at a time


# ---- documents × words ----


class TermDocument(NamedTuple):
    """How often each word is in each document."""

    matrix: csr_matrix  # documents × words
    words: list[str]  # the most frequent first, equal ones in the order of the alphabet


def term_document(documents: Documents, min_count: int = 1, max_words: int = 0) -> TermDocument:
    """Count the words of each document, in one pass over them.

    min_count: words seen less often in all are left out.
    max_words: at most so many different words, the most frequent; 0: all.
    """
    if min_count < 1 or max_words < 0:
        raise UsageError(f"min_count is {min_count} and max_words {max_words}: neither may be less than 1 and 0.")
    index: dict[str, int] = {}
    table = _bags(documents, index, grow=True)
    words, totals = list(index), _sums(table, axis=0)
    kept = np.flatnonzero(totals >= min_count).tolist()
    if not kept:
        most = f"the most frequent is seen {totals.max():.0f} times" if words else "there are no words"
        raise LexigraphError(f"No word is seen min_count = {min_count} times; {most}.")
    kept = sorted(kept, key=lambda place: (-totals[place], words[place]))[: max_words or None]
    return TermDocument(table[:, kept].sorted_indices(), [words[place] for place in kept])


def bag_of_words(documents: Documents, words: Sequence[str]) -> csr_matrix:
    """How often each document has each of these words; others are passed over.

    >>> bag_of_words([["a", "rose", "is", "a", "rose"]], ["rose", "thorn"]).toarray()
    array([[2., 0.]])
    """
    return _bags(documents, _index(words))


def one_hot(text: Sequence[str], words: Sequence[str]) -> csr_matrix:
    """A row for each word of a text, with 1 in the column of the word.

    >>> one_hot(["rose", "is", "rose"], ["is", "rose"]).toarray()
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    return bag_of_words(([word] for word in text), words)


def _index(words: Sequence[str]) -> dict[str, int]:
    return {word: column for column, word in enumerate(words)}


def _bags(documents: Documents, index: dict[str, int], grow: bool = False) -> csr_matrix:
    """Count the words of each document; those that `index` lacks are passed over, or added to it with `grow`."""
    column = (lambda word: index.setdefault(word, len(index))) if grow else index.get
    values, columns, ends = array("d"), array("i"), array("q", [0])
    for document in documents:
        if isinstance(document, str):
            raise UsageError(f"A document is a list of words, not a text: split {document[:40]!r} first.")
        found = Counter(map(column, document))
        del found[None]  # words without a column
        columns.extend(found)  # type: ignore[arg-type]
        values.extend(found.values())
        ends.append(len(columns))
    parts = tuple(np.asarray(part) for part in (values, columns, ends))
    return csr_matrix(parts, shape=(len(ends) - 1, len(index))).sorted_indices()


def tfidf(matrix: Table, sublinear: bool = False) -> csr_matrix:
    """tf · log10(N / df) of a table documents × words; sublinear: (1 + log10 tf) in place of tf."""
    return _weighted(matrix, _idf(matrix), sublinear)


@dataclass(frozen=True, eq=False)
class TfIdf:
    """TF-IDF that knows its words and their weights, to be used on other documents than it was fitted to.

    >>> model = TfIdf.fit([["red", "sky"], ["red", "rose"]])
    >>> model.transform([["rose", "rose", "thorn"]]).toarray().round(3)      # 2 · log10(2 / 1)
    array([[0.   , 0.602, 0.   ]])
    """

    words: list[str]
    idf: Float[np.ndarray, " words"]  # log10(N / df)
    sublinear: bool = False

    @classmethod
    def fit(cls, documents: Documents, min_count: int = 1, max_words: int = 0, sublinear: bool = False) -> TfIdf:
        """Learn words and weights; settings as of `term_document` and `tfidf`."""
        matrix, words = term_document(documents, min_count, max_words)
        return cls(words, _idf(matrix), sublinear)

    def transform(self, documents: Documents) -> csr_matrix:
        """Documents × words; words that are not known are passed over."""
        return _weighted(_bags(documents, self._index), self.idf, self.sublinear)

    @cached_property
    def _index(self) -> dict[str, int]:
        return _index(self.words)


def _idf(matrix: Table) -> np.ndarray:
    documents = _counts(matrix)
    df = np.bincount(documents.indices, minlength=documents.shape[1])
    return np.log10(documents.shape[0] / np.maximum(df, 1))  # a word in no document has nothing to be weighted


def _weighted(matrix: Table, idf: np.ndarray, sublinear: bool) -> csr_matrix:
    table = _counts(matrix)
    if sublinear:
        table.data = 1 + np.log10(table.data)
    table.data *= idf[table.indices]
    table.eliminate_zeros()
    return table


# ---- words × contexts ----


def ppmi(matrix: Table, smoothing: float | int = 0.75, shift: float | int = 1) -> csr_matrix:
    """max(0, log2 p_wc / (p_w p_c) − log2 shift) of a table words × contexts; cells that are 0 are not stored.

    smoothing: p_c ∝ (Σ_w X_wc)^smoothing, so that rare contexts count less (Levy et al. 2015); 1: none.
    shift: the number of negative samples k that skip-gram's vectors correspond to.
    """
    if smoothing < 0 or shift <= 0:
        raise UsageError(
            f"smoothing is {smoothing} and shift {shift}: the first must be 0 or more, the second above 0."
        )
    table = _counts(matrix)
    of_word, of_context = _sums(table, axis=1), _sums(table, axis=0) ** smoothing
    # p_wc / p_w is X_wc / Σ_c X_wc, so that log2 X_wc − log2(shift · Σ_c X_wc) − log2 p_c is left
    with np.errstate(divide="ignore"):  # words and contexts that have no cells
        word = np.log2(shift * of_word).astype(table.dtype)
        context = np.log2(of_context / of_context.sum()).astype(table.dtype)
    np.log2(table.data, out=table.data)  # in place and one after the other: the table may be large
    table.data -= np.repeat(word, np.diff(table.indptr))
    table.data -= context[table.indices]
    np.maximum(table.data, 0, out=table.data)
    table.eliminate_zeros()
    return table


def hellinger_pca(matrix: Table, dim: int, seed: int = 0) -> Float[np.ndarray, "words dim"]:
    """The first principal components of √p(c | w), a row for each word of a table words × contexts.

    Before any is dropped, rows are as far apart as Hellinger says of their distributions, times √2. The mean is taken
    off in every product with a vector, since the table without its mean would not be sparse.
    """
    table = _counts(matrix)
    table.data = np.sqrt(table.data / np.repeat(_sums(table, axis=1), np.diff(table.indptr))).astype(table.dtype)
    ones, mean = np.ones((table.shape[0], 1), table.dtype), np.asarray(table.mean(axis=0), table.dtype)
    u, s, _ = _largest(aslinearoperator(table) - aslinearoperator(ones) @ aslinearoperator(mean), dim, seed)
    return u * s


# ---- fewer dimensions ----


def svd(matrix: Table, dim: int, seed: int = 0, power: float | int = 0.5) -> Float[np.ndarray, "rows dim"]:
    """U S^power of the `dim` largest singular values: a vector for each row of a table.

    power: 1 keeps the distances of the table best; 0.5 and 0 make better word vectors (Levy et al. 2015).
    """
    u, s, _ = _largest(_float(matrix), dim, seed)
    return u * s**power


class Lsa(NamedTuple):
    """Latent semantic analysis: documents and words in one space, where a document is the sum of its words.

    Other documents are put there by `table @ words`. Words are compared with each other by words · strengths.
    """

    documents: Float[np.ndarray, "documents dim"]  # U S = X V
    words: Float[np.ndarray, "words dim"]  # V
    strengths: Float[np.ndarray, " dim"]  # S, the largest first


def lsa(matrix: Table, dim: int, seed: int = 0) -> Lsa:
    """X ≈ U S Vᵀ of a table documents × words, of TF-IDF as a rule."""
    u, s, v = _largest(_float(matrix), dim, seed)
    return Lsa(u * s, v, s)


def _largest(
    table: csr_matrix | LinearOperator, dim: int, seed: int, of_rows: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, S and V of the largest singular values; the largest number of each column of V is positive.

    of_rows: whether U is wanted. If not, V is found as the eigenvectors of XᵀX, and no number is kept for any row or
        cell: a table on disk may have too many.
    """
    rows, columns = table.shape
    if not 1 <= dim < min(rows, columns):
        raise LexigraphError(
            f"dim is {dim}, but a table with {rows} rows and {columns} columns gives from 1 to "
            f"{min(rows, columns) - 1} dimensions: ask for fewer, or give more text."
        )
    start = np.random.default_rng(seed).standard_normal(min(rows, columns) if of_rows else columns)
    start = start.astype(table.dtype)
    try:
        if of_rows:
            u, s, v = svds(table, dim, v0=start)
        else:
            gram = LinearOperator((columns, columns), lambda x: table.T @ (table @ x), dtype=table.dtype)
            squares, v = eigsh(gram, dim, v0=start)
            u, s, v = np.empty((0, dim)), np.sqrt(np.maximum(squares, 0)), v.T
    except ArpackError as error:  # above all from a table of zeros
        raise LexigraphError(
            f"The rows give no vectors, as if they did not differ: {error} Give more text."
        ) from None
    u, s, v = u[:, ::-1], s[::-1], v[::-1].T
    signs = np.sign(v[np.abs(v).argmax(axis=0), np.arange(dim)])
    return u * signs, s, v * signs


def vectors_from_counts(
    corpus: Corpus,
    method: str = "ppmi-svd",
    dim: int = 100,
    window: int = 5,
    side: str = "both",
    *,
    weighting: str = "flat",
    smoothing: float | int = 1,
    shift: float | int = 1,
    power: float | int = 0.5,
    threads: int = 1,
    seed: int = 0,
) -> Float[np.ndarray, "words dim"]:
    """A float32 vector for each word of the corpus; settings as of the functions that the method is made of.

    method: "ppmi-svd", "hellinger", or "lsa", where every line is a document (a very long one several), and only dim
        and seed are used.
    smoothing: none, since vectors from texts of 8 million words are better without.
    """
    if method not in METHODS:
        raise UsageError(f"There is no method {method!r}{nearest(method, METHODS)}")
    if method == "lsa":
        with _tfidf_of_lines(corpus) as table:
            _, s, v = _largest(table, dim, seed, of_rows=False)
            return (v * s).astype(np.float32)
    with cooccurrence(corpus, window, side, weighting, threads=threads) as counts:
        table = counts.matrix()
    if method == "hellinger":
        return hellinger_pca(table, dim, seed).astype(np.float32)
    return svd(ppmi(table, smoothing, shift), dim, seed, power).astype(np.float32)


@contextmanager
def _tfidf_of_lines(corpus: Corpus) -> Iterator[csr_matrix]:
    """TF-IDF of the lines of a text: a table that lies on disk, so that it may be larger than memory."""
    documents, starts = np.zeros(len(corpus.words), np.int64), array("q", [0])
    with tempfile.TemporaryDirectory(prefix="lexigraph-", ignore_cleanup_errors=True) as folder:
        cells, columns = Path(folder) / "cells", Path(folder) / "columns"
        with open(cells, "wb") as cell_file, open(columns, "wb") as column_file:
            for block in corpus.blocks():
                ends = np.flatnonzero(np.append(block, END) == END)  # a line that is cut ends here, too
                words = block[block != END]
                lines = np.unique(np.append(0, ends - np.arange(len(ends))))  # where they begin, without END
                ones = np.ones(len(words), np.float32)
                bags = csr_matrix((ones, words, lines), (len(lines) - 1, len(documents)))
                bags.sum_duplicates()
                documents += np.bincount(bags.indices, minlength=len(documents))
                starts.extend((starts[-1] + bags.indptr[1:].astype(np.int64)).tolist())
                bags.data.tofile(cell_file)
                bags.indices.astype(np.int32).tofile(column_file)
        idf = np.log10((len(starts) - 1) / np.maximum(documents, 1)).astype(np.float32)
        data, indices = np.memmap(cells, np.float32, "r+"), np.memmap(columns, np.int32, "r")
        for begin in range(0, len(data), CELLS):
            data[begin : begin + CELLS] *= idf[indices[begin : begin + CELLS]]
        yield csr_matrix((data, indices, np.asarray(starts)), (len(starts) - 1, len(documents)), copy=False)


# ---- tables ----


def _float(matrix: Table) -> csr_matrix:
    """A table as rows of float32, if it is of that, else float64."""
    return csr_matrix(matrix, dtype=np.float32 if matrix.dtype == np.float32 else np.float64)


def _counts(matrix: Table) -> csr_matrix:
    """A copy of a table of counts, each cell stored once and no zeros."""
    table = _float(matrix).copy()
    table.sum_duplicates()
    table.eliminate_zeros()
    if not (table.data > 0).all():
        raise LexigraphError("A table of counts has numbers that are negative or no numbers at all.")
    return table


def _sums(table: csr_matrix, axis: int) -> np.ndarray:
    return np.asarray(table.sum(axis=axis, dtype=np.float64)).ravel()
