"""How good word vectors are: by what people say about words, and by what a simple classifier makes of them.

    similarity       Spearman's ρ: Pearson's r of the ranks of cosines and of people's scores
    analogies        the share of questions a : b :: c : ? whose best answer is right (equations: vectors.py)
    categorisation   purity = Σ_clusters max_category |cluster ∩ category| / n; k-means on unit vectors, k categories
    outliers         OP = how many of a set's n words have a higher mean cosine to the others than the outlier has;
                     accuracy = share of OP = n, position = mean of OP / n
    classification   logistic regression on the mean vector of a text; beside it, on the counts of its words
    tagging          logistic regression on the vectors of five words, the third is tagged; beside it, the tag
                     that the word had most often

A word is looked up as given, else lower-cased. What needs an unknown word is left out; `coverage` is the share that
is left. Vectors with n-grams know every word, but in analogies only their own. Intervals are of 95 %, by bootstrap.

>>> wv = WordVectors(["cat", "dog", "car"], np.array([[1, 0], [2, 1], [0, 1]], np.float32))
>>> similarity(wv, [("Cat", "dog", 9.0), ("dog", "car", 4.0), ("car", "cat", 1.0), ("cat", "emu", 5.0)])
{'value': 1.0, 'interval': [], 'coverage': 0.75, 'n': 3}

evaluation.py takes all the sets of a folder at once.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar

import numpy as np
from jaxtyping import Float

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import benchmarks
from lexigraph.words.vectors import WordVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RESTRICT = 30_000  # so many words, the most frequent, take part in analogies: the custom since word2vec
RESAMPLES = 1000
FEWEST = 20  # items: fewer give no interval

Text = tuple[str, str]  # a text and its label
Sentence = tuple[list[str], list[str]]  # words and their tags
Item = TypeVar("Item")


class Figure(TypedDict):
    """A score and what it rests on."""

    value: float | None  # None if nothing could be judged
    interval: list[float]  # its two ends, or nothing
    coverage: float  # the share of what was asked that could be judged
    n: int  # how much that is
    parts: NotRequired[dict[str, Figure]]  # the same for each section of an analogy file


# ---- what people say ----


def similarity(wv: WordVectors, pairs: Sequence[tuple[str, str, float]]) -> Figure:
    """How well cosines rank pairs of words, compared with people."""
    forms = [(_form(wv, a), _form(wv, b), score) for a, b, score in pairs]
    known = [(a, b, score) for a, b, score in forms if a and b]
    coverage = len(known) / max(len(pairs), 1)
    if len(known) < 2:
        return _figure(None, len(known), coverage)
    cosines = (_unit(wv, [a for a, _, _ in known]) * _unit(wv, [b for _, b, _ in known])).sum(axis=1)
    scores = np.array([score for _, _, score in known])
    (value,), interval = _spearman(cosines[None], scores[None]), []
    if np.isnan(value):
        return _figure(None, len(known), coverage)
    if len(known) >= FEWEST:
        again = np.random.default_rng(0).integers(len(known), size=(RESAMPLES, len(known)))
        interval = np.nanquantile(_spearman(cosines[again], scores[again]), [0.025, 0.975]).tolist()
    return _figure(value, len(known), coverage, interval)


def analogies(
    wv: WordVectors,
    questions: Sequence[benchmarks.Question],
    method: str = "additive",
    restrict: int | None = RESTRICT,
) -> dict[str, Figure]:
    """The share of right answers to each kind of question, with the kind's sections as parts.

    Questions share words, so the true spread is wider than the interval.

    restrict: only so many words take part, the most frequent, as given words and as answers; None: all.
    """
    if restrict is not None and restrict < 1:
        raise UsageError(f"restrict is {restrict}; it is a number of words, at least 1, or None for all.")
    asked = wv if restrict is None or restrict >= len(wv) else wv.head(restrict)
    rows = np.array([[_row(asked, word) for word in (q.a, q.b, q.c)] for q in questions], np.int64).reshape(-1, 3)
    answers = [{_row(asked, word) for word in q.answers} - {-1} for q in questions]
    known = (rows >= 0).all(axis=1) & np.array([len(found) > 0 for found in answers], bool)
    right = np.zeros(len(questions), bool)
    if known.any():
        (positions,) = known.nonzero()
        a, b, c = rows[positions].T
        best = asked.analogies(a, b, c, method)
        right[positions] = [row in answers[place] for place, row in zip(positions, best.tolist(), strict=True)]

    def share(positions: list[int]) -> Figure:
        return _share(right[positions][known[positions]], known[positions].mean())

    kinds, sections = defaultdict[str, list[int]](list), defaultdict[tuple[str, str], list[int]](list)
    for place, question in enumerate(questions):
        kinds[question.kind].append(place)
        sections[question.kind, question.section].append(place)
    return {
        kind: {**share(positions), "parts": {name: share(own) for (of, name), own in sections.items() if of == kind}}
        for kind, positions in kinds.items()
    }


def categorisation(wv: WordVectors, words: Sequence[tuple[str, str]], seed: int = 0) -> Figure:
    """The purity of as many clusters of words as there are categories."""
    from sklearn.cluster import KMeans

    known = [(form, category) for word, category in words if (form := _form(wv, word))]
    if not known:
        return _figure(None, 0, 0)
    names, category = np.unique([category for _, category in known], return_inverse=True)
    cluster = KMeans(len(names), n_init=10, random_state=seed).fit_predict(_unit(wv, [form for form, _ in known]))
    shared = np.zeros((len(names), len(names)), int)  # |cluster ∩ category|
    np.add.at(shared, (cluster, category), 1)
    return _figure(shared.max(axis=1).sum() / len(known), len(known), len(known) / len(words))


def outliers(wv: WordVectors, sets: Sequence[benchmarks.OutlierSet]) -> dict[str, Figure]:
    """How often the outlier is found, and its mean position (Camacho-Collados and Navigli, 2016).

    They rank words by how alike the others are without them: that is by mean cosine to the others, in reverse.
    """
    positions = []
    for one in sets:
        words = [form for word in one.words if (form := _form(wv, word))]
        for outlier in one.outliers:
            form = _form(wv, outlier)
            if form and len(words) > 1:
                unit = _unit(wv, [*words, form])
                cosines = unit @ unit.T
                others = cosines.sum(axis=1) - cosines.diagonal()
                positions.append((others[:-1] > others[-1]).mean())  # OP / n
    coverage = len(positions) / max(sum(len(one.outliers) for one in sets), 1)
    mean = np.mean(positions) if positions else None
    return {
        "accuracy": _share(np.array(positions) == 1, coverage),
        "position": _figure(mean, len(positions), coverage),
    }


# ---- what a simple classifier makes of them ----


def classification(
    wv: WordVectors, train: Sequence[Text], test: Sequence[Text], limit: int | None = None
) -> dict[str, Figure]:
    """The share of texts that get their label, from the mean vector and from the counts of words.

    Words are what stands between white space. limit: take so many texts of each part.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    train, test = some(train, limit), some(test, limit)
    bags = CountVectorizer(token_pattern=r"\S+", lowercase=False)
    counts = bags.fit_transform([text for text, _ in [*train, *test]])  # words of the test alone get weight 0
    vectors, known = _vectors(wv, bags.get_feature_names_out().tolist())
    means = (counts @ vectors) / np.maximum(counts @ known, 1)[:, None]
    labels = [label for _, label in train], [label for _, label in test]
    learned, tested = (np.asarray(part.sum(axis=0)).ravel() for part in (counts[: len(train)], counts[len(train) :]))
    return {  # coverage is here the share of the test's words that have a vector or were learned
        "mean vector": _share(_learned(means, *labels), tested @ known / tested.sum()),
        "bag of words": _share(_learned(counts, *labels), tested @ (learned > 0) / tested.sum()),
    }


def tagging(
    wv: WordVectors, train: Sequence[Sentence], test: Sequence[Sentence], limit: int | None = None
) -> dict[str, Figure]:
    """The share of words that get their tag, from the vectors around them and from the word alone.

    limit: take so many sentences of each part. No interval: the words of a sentence hang together.
    """
    sentences = some(train, limit), some(test, limit)
    (words, tags), (tested, wanted) = map(_joined, sentences)
    names = sorted({*words, *tested})
    vectors, known = _vectors(wv, names)
    vectors = np.concatenate([vectors, np.zeros_like(vectors[:1])])  # the last row, -1: beyond the sentence
    place = {word: row for row, word in enumerate(names)}
    rows = np.array([row for part in sentences for own, _ in part for row in (-1, -1, *map(place.get, own), -1, -1)])
    middle = np.flatnonzero(rows >= 0)
    windows = vectors[rows[middle[:, None] + np.arange(-2, 3)]].reshape(len(middle), -1)
    right = _learned(windows, tags, wanted)

    often = Counter(zip(words, tags, strict=True)).most_common()
    usual = {word: tag for (word, tag), _ in reversed(often)}  # the most frequent comes last and stays
    rest = Counter(tags).most_common(1)[0][0]
    guessed = [usual.get(word, rest) == tag for word, tag in zip(tested, wanted, strict=True)]
    return {
        "window of vectors": _figure(right.mean(), len(right), known[rows[middle[len(tags) :]]].mean()),
        "most frequent tag": _figure(
            float(np.mean(guessed)), len(right), float(np.mean([word in usual for word in tested]))
        ),
    }


# ---- words → vectors, numbers → figures ----


def _row(wv: WordVectors, word: str) -> int:
    """The row of a word as given, else lower-cased, else -1."""
    return wv.index.get(word, wv.index.get(word.lower(), -1))


def _form(wv: WordVectors, word: str) -> str | None:
    """The word as the vectors have it; None if they have none for it."""
    row = _row(wv, word)
    return wv.words[row] if row >= 0 else word.lower() if wv.subwords else None


def _vectors(wv: WordVectors, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """A vector for each word, zeros for an unknown one, and which are known."""
    forms = [_form(wv, word) for word in words]
    nothing = np.zeros(wv.dim, np.float32)
    vectors = np.stack([nothing if form is None else wv[form] for form in forms])
    return vectors, np.array([form is not None for form in forms])


def _unit(wv: WordVectors, words: Sequence[str]) -> np.ndarray:
    """Their vectors in float64, scaled to length 1; zeros stay."""
    vectors = np.stack([wv[word] for word in words]).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)


def some(items: Sequence[Item], limit: int | None) -> list[Item]:
    """So many items, drawn at random but always the same."""
    return list(items) if limit is None else random.Random(0).sample(items, min(limit, len(items)))


def _joined(sentences: Sequence[Sentence]) -> tuple[list[str], list[str]]:
    """All words and all tags."""
    return [word for words, _ in sentences for word in words], [tag for _, tags in sentences for tag in tags]


def _learned(features: np.ndarray | csr_array, labels: Sequence[str], wanted: Sequence[str]) -> np.ndarray:
    """Which labels of the last rows a logistic regression gets right that has learned from the first."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if len(set(labels)) < 2 or not wanted:
        raise LexigraphError("A classifier needs two labels or more to learn from, and something to be tested on.")
    first = features[: len(labels)]
    if isinstance(features, np.ndarray):  # else vectors of another length would be penalised more or less
        deviation = first.std(axis=0)
        features = (features - first.mean(axis=0)) / np.where(deviation == 0, 1, deviation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 more rounds move a score by 0.001
        model = LogisticRegression(max_iter=100).fit(features[: len(labels)], labels)
    return model.predict(features[len(labels) :]) == np.array(wanted)


def _spearman(x: Float[np.ndarray, "rows n"], y: Float[np.ndarray, "rows n"]) -> Float[np.ndarray, " rows"]:
    """Spearman's ρ of each row; NaN where one side is all the same."""
    from scipy.stats import rankdata

    x, y = (rankdata(side, axis=1) - (side.shape[1] + 1) / 2 for side in (x, y))  # the mean rank of n is (n + 1) / 2
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return (x * y).sum(axis=1) / np.where(scale == 0, np.nan, scale)


def _share(right: np.ndarray, coverage: float) -> Figure:
    """The share that is right, with its interval: how many are right after resampling is binomial."""
    from scipy.stats import binom

    if not len(right):
        return _figure(None, 0, coverage)
    value, n, interval = right.mean(), len(right), []
    if n >= FEWEST and 0 < value < 1:  # where all answers are alike, resampling tells nothing
        interval = (binom.ppf([0.025, 0.975], n, value) / n).tolist()
    return _figure(value, n, coverage, interval)


def _figure(value: float | None, n: int, coverage: float, interval: Sequence[float] = ()) -> Figure:
    value = None if value is None else float(value)
    return {"value": value, "interval": list(interval), "coverage": float(coverage), "n": n}
