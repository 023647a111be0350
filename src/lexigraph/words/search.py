"""Find and classify texts by the average of their words' vectors.

    v = Σ weight(w) v_w / n over the n known words w of a text            score = cosine of query and document
        mean     weight 1
        tfidf    weight log10(N / df): df of the N documents have the word
        sif      weight a / (a + p(w)), a = 0.001, p the word's share of the text that the vectors were trained on,
                 by their counts, or without counts of the documents; then v − u uᵀv, u the first principal
                 component, not centred, of the documents (Arora et al. 2017)

>>> wv = WordVectors(["cat", "dog", "car"], np.array([[2, 1], [2, 0], [0, 2]], np.float32))
>>> index = Index.build(["A car!", "The dog."], wv)
>>> [hit.text for hit in index.search("cats and a cat")]
['The dog.', 'A car!']

Rankings are judged by which documents are relevant; `evaluate` takes means over queries (MAP, MRR).

>>> precision_at([7, 3, 5], {3, 5}, k=2), recall_at([7, 3, 5], {3, 5}, k=2)
(0.5, 0.5)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2, log10
from operator import eq
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import nearest
from lexigraph.words.scan import Types
from lexigraph.words.vectors import WordVectors

BLOCK = 10_000  # documents that are counted at once
A = 1e-3  # of sif: a word of this frequency weighs half


class Hit(NamedTuple):
    """A document that was found: its number, counted from 0, its score, and its text."""

    document: int
    score: float
    text: str


@dataclass(frozen=True)
class Index:
    """Documents with their vectors of length 1; a document without a known word has zeros."""

    texts: list[str]
    vectors: Float[np.ndarray, "documents dim"]
    wv: WordVectors
    split: str
    weights: dict[str, float]  # of words
    unseen: float  # the weight of others
    common: Float[np.ndarray, " dim"]  # u above, or zeros

    @classmethod
    def build(
        cls, documents: Iterable[str], wv: WordVectors, weighting: str = "tfidf", split: str = "words"
    ) -> Index:
        """Average the words of each document, weighted by "tfidf", "sif" or "mean"; `split` as for the vectors."""
        lines = words_of(texts := list(documents), split)
        weights, unseen, common = dict[str, float](), 1.0, np.zeros(wv.dim)
        if weighting == "tfidf":
            df = Counter(word for line in lines for word in set(line))
            weights, unseen = {word: log10(len(texts) / n) for word, n in df.items()}, log10(len(texts))
        elif weighting == "sif":
            seen = Counter(word for line in lines for word in line)
            if wv.counts is not None:
                seen = Counter(dict(zip(wv.words, wv.counts.tolist(), strict=True)))
            total = max(seen.total(), 1)
            weights = {word: A / (A + n / total) for word, n in seen.items()}
            common = np.linalg.svd(average(lines, wv, weights), full_matrices=False)[2][0]
        elif weighting != "mean":
            raise UsageError(f"There is no weighting {weighting!r}{nearest(weighting, ('tfidf', 'sif', 'mean'))}")
        vectors = _directions(average(lines, wv, weights, unseen), common)
        if not vectors.any():
            raise LexigraphError("No document can be found: none has a known word that not all of them have.")
        return cls(texts, vectors, wv, split, weights, unseen, common)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The k documents nearest to a query, best first; none if no word of the query is known.

        Documents without a known word come last, with the score -1.
        """
        mean = average(words_of([query], self.split), self.wv, self.weights, self.unseen)
        (vector,) = _directions(mean, self.common)
        if not vector.any():
            return []
        scores = np.where(self.vectors.any(axis=1), self.vectors @ vector, -1.0)
        best = np.argsort(-scores, kind="stable")[:k].tolist()
        return [Hit(document, float(scores[document]), self.texts[document]) for document in best]


def words_of(texts: Sequence[str], split: str = "words") -> list[list[str]]:
    """Each text as a list of words; a text without any is refused."""
    types = Types(split)
    labels = [types.scan(text) for text in texts]
    words = types.words()
    lines = [[words[label] for label in line if label >= 0] for line in labels]
    if not lines:
        raise LexigraphError("There are no texts; give at least one.")
    if [] in lines:
        number = lines.index([])
        raise LexigraphError(f"Text {number} (counted from 0) has no words: {texts[number]!r}. Leave it out.")
    return lines


def average(
    lines: Sequence[Sequence[str]], wv: WordVectors, weights: Mapping[str, float] | None = None, unseen: float = 1.0
) -> Float[np.ndarray, "texts dim"]:
    """Σ weight(w) v_w / n over the n known words of each line; zeros if there are none."""
    vectors, weights = np.zeros((len(lines), wv.dim)), weights or {}
    for row, line in enumerate(lines):
        counts = Counter(word for word in line if word in wv or wv.subwords)
        if counts:
            factors = np.array([weights.get(word, unseen) * count for word, count in counts.items()])
            vectors[row] = factors @ np.stack([wv[word] for word in counts]) / counts.total()
    return vectors


def _directions(vectors: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Vectors without what is common, scaled to length 1; zeros where nothing but rounding is left."""
    rest = vectors - np.outer(vectors @ common, common)
    whole, lengths = (np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors, rest))
    nothing = lengths <= 1e-9 * whole
    return np.where(nothing, 0.0, rest / np.where(nothing, 1, lengths))


# ---- without vectors ----


class WordFilter:
    """Tells which texts have words; one for a few thousand texts, since it keeps the words that it met."""

    def __init__(self, split: str = "words") -> None:
        self._types = Types(split)

    def any_in(self, text: str) -> bool:
        """Whether there is a word in the text."""
        return bool(text) and bool(len(self._types.scan(text)))


def by_words(documents: Callable[[], Iterable[str]], query: str, k: int) -> list[tuple[int, float]]:
    """The k documents whose TF-IDF vectors have the highest cosine with the query's, and those cosines, best first.

        weight of a word = tf · (ln((1 + N) / (1 + df)) + 1)        tf: how often it stands in the text

    Only documents with a word of the query are found. They are read twice, in blocks; each must have words.
    """
    types = Types()
    asked = types.scan(query)
    asked = asked[asked >= 0]
    df, total = np.zeros(0, np.int64), 0
    for _, pairs, _, count in _counted(documents(), types):
        met = np.bincount(pairs, minlength=types.given)
        met[: len(df)] += df
        df, total = met, total + count
    idf = np.log((1 + total) / (1 + df)) + 1
    wanted = np.bincount(asked, minlength=len(df))[: len(df)] * idf * (df > 0)
    if not wanted.any():
        return []
    whole = np.linalg.norm(np.bincount(asked, minlength=len(df)) * idf)
    best: list[tuple[float, int]] = []
    first = 0
    for rows, pairs, tf, count in _counted(documents(), types):
        weights = tf * idf[pairs]
        lengths = np.sqrt(np.bincount(rows, weights**2, count))
        scores = np.bincount(rows, weights * wanted[pairs], count) / (np.maximum(lengths, 1e-12) * whole)
        hits = np.flatnonzero(scores > 0)
        nearest_first = hits[np.argsort(-scores[hits], kind="stable")][:k]
        best += [(-float(scores[row]), first + int(row)) for row in nearest_first]
        best = sorted(best)[:k]
        first += count
    return [(place, -score) for score, place in best]


def _counted(documents: Iterable[str], types: Types) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Blocks of documents: for each different word of a document its row in the block, label and count; and how many
    documents the block has."""
    each = iter(documents)
    while block := list(islice(each, BLOCK)):
        ids = [types.scan(text) for text in block]
        rows = np.repeat(np.arange(len(block)), [len(line) for line in ids])
        flat = np.concatenate(ids)
        rows, flat = rows[flat >= 0], flat[flat >= 0].astype(np.int64)
        keys, counts = np.unique(rows * (types.given + 1) + flat, return_counts=True)
        yield keys // (types.given + 1), keys % (types.given + 1), counts, len(block)


# ---- how good a ranking is ----


def precision_at(ranking: Sequence[int], relevant: Collection[int], k: int) -> float:
    """The share of the first k documents that are relevant."""
    return sum(document in relevant for document in ranking[:k]) / k


def recall_at(ranking: Sequence[int], relevant: Collection[int], k: int) -> float:
    """The share of the relevant documents that are among the first k."""
    return sum(document in relevant for document in ranking[:k]) / len(relevant)


def average_precision(ranking: Sequence[int], relevant: Collection[int]) -> float:
    """The mean over the relevant documents of the precision at their ranks; one that was not found counts 0."""
    ranks = [rank for rank, document in enumerate(ranking, 1) if document in relevant]
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / len(relevant)


def reciprocal_rank(ranking: Sequence[int], relevant: Collection[int]) -> float:
    """1 / rank of the first relevant document; 0 if there is none."""
    return next((1 / rank for rank, document in enumerate(ranking, 1) if document in relevant), 0.0)


def ndcg_at(ranking: Sequence[int], gains: Mapping[int, float], k: int) -> float:
    """Σ gain / log2(rank + 1) over the first k documents, as a share of what the best order has."""
    found, best = [gains.get(document, 0.0) for document in ranking[:k]], sorted(gains.values(), reverse=True)[:k]
    discounted = [sum(gain / log2(rank + 1) for rank, gain in enumerate(row, 1)) for row in (found, best)]
    return discounted[0] / discounted[1]


def evaluate(
    index: Index, queries: Sequence[str], relevant: Sequence[Collection[int]], k: int = 10
) -> dict[str, float]:
    """Means over queries, for each of which `relevant` names the right documents; an unanswerable query scores 0."""
    if not queries or len(queries) != len(relevant) or not all(relevant):
        found = (
            f"{len(queries)} queries have {sum(map(bool, relevant))} sets of relevant documents that are not empty"
        )
        raise UsageError(f"{found}; give at least one query, and one such set for each.")
    rows = []
    for query, right in zip(queries, map(set, relevant), strict=True):
        ranking = [hit.document for hit in index.search(query, len(index.texts))]
        row = [precision_at(ranking, right, k), recall_at(ranking, right, k), average_precision(ranking, right)]
        rows.append([*row, reciprocal_rank(ranking, right), ndcg_at(ranking, dict.fromkeys(right, 1.0), k)])
    names = (f"precision@{k}", f"recall@{k}", "MAP", "MRR", f"nDCG@{k}")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


# ---- classes of texts ----

Label = TypeVar("Label", bound=Hashable)


class TextClassifier(Generic[Label]):
    """Logistic regression on TF-IDF bags of words or, with `wv`, on the mean vectors of the words."""

    def __init__(self, texts: Sequence[str], labels: Sequence[Label], wv: WordVectors | None = None) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        if len(texts) != len(labels) or len(set(labels)) < 2:
            found = f"{len(texts)} texts have {len(labels)} labels, {len(set(labels))} of them different"
            raise UsageError(f"{found}; each text needs a label, and there must be at least two different ones.")
        if wv is None:
            features = [TfidfVectorizer(analyzer=list)]  # words_of has cut the texts already
        else:
            features = [FunctionTransformer(average, kw_args={"wv": wv}), StandardScaler()]
        self._model = make_pipeline(*features, LogisticRegression(max_iter=1000)).fit(words_of(texts), labels)

    def predict(self, texts: Sequence[str]) -> list[Label]:
        """The likeliest label of each text."""
        return self._model.predict(words_of(texts)).tolist()


def classify(
    train_texts: Sequence[str],
    train_labels: Sequence[Label],
    test_texts: Sequence[str],
    test_labels: Sequence[Label],
    wv: WordVectors | None = None,
) -> dict[str, float]:
    """Accuracy of the most frequent label, of bags of words and, with `wv`, of averaged vectors, side by side."""
    most = Counter(train_labels).most_common(1)[0][0]
    scores = {"majority": Counter(test_labels)[most] / len(test_labels)}
    for name, vectors in (("bag of words", None), ("vectors", wv))[: 1 if wv is None else 2]:
        predicted = TextClassifier(train_texts, train_labels, vectors).predict(test_texts)
        scores[name] = sum(map(eq, predicted, test_labels)) / len(test_labels)
    return scores
