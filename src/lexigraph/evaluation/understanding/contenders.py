"""What a task is tried with: a contender learns from examples, with one setting out of a few, and answers others.

    majority       the commonest class, the mean number, the commonest tag
    commonest      of every word the tag that it has most often
    tf-idf         counts of words and pairs of words, weighted by rarity       → logistic or ridge regression
    vectors        one vector for a text, whoever makes it                      → the same

Of a pair, u and v become |u − v| and u ⊙ v. What needs a network to be trained is in `lexigraph.understanding`.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lexigraph.evaluation.understanding.metrics import Answers
from lexigraph.evaluation.understanding.sets import Example
from lexigraph.evaluation.understanding.tasks import Task

TOKEN = r"\w+|[^\w\s]"
Examples = Sequence[Example]
Vectors = Float[np.ndarray, "n d"]


class Contender:
    """Something that learns a task."""

    kinds: tuple[str, ...] = ("text", "pair", "similarity", "tags")  # of tasks that it is for
    drawn = False  # whether its answers depend on a seed

    def __init__(self, name: str, settings: Sequence[float] = (0.0,)) -> None:
        """settings: what is tried, each once; the best on the part for choosing is taken."""
        self.name, self.settings = name, tuple(settings)

    def key(self) -> dict[str, Any]:
        """What its answers depend on, beside task, setting and seed."""
        return {}

    def answers(
        self, task: Task, train: Examples, dev: Examples, setting: float, seed: int, asked: Sequence[Examples]
    ) -> list[list[Any]]:
        """Learned from `train`, watched on `dev` if there is one: the answers to each of `asked`."""
        raise NotImplementedError


class Majority(Contender):
    """No look at the text."""

    def answers(
        self, task: Task, train: Examples, dev: Examples, setting: float, seed: int, asked: Sequence[Examples]
    ) -> list[list[Any]]:
        if task.kind == "tags":
            tag = _commonest(tag for example in train for tag in example.label)
            return [[[tag] * len(example.text) for example in each] for each in asked]
        labels = [example.label for example in train]
        said = float(np.mean(labels)) if task.kind == "similarity" else _commonest(labels)
        return [[said] * len(each) for each in asked]


class CommonestTag(Contender):
    """Of every word the tag that it has most often; of an unseen one the commonest of all."""

    kinds = ("tags",)

    def answers(
        self, task: Task, train: Examples, dev: Examples, setting: float, seed: int, asked: Sequence[Examples]
    ) -> list[list[Any]]:
        seen: defaultdict[str, list[str]] = defaultdict(list)
        for example in train:
            for word, tag in zip(example.text, example.label, strict=True):
                seen[word].append(tag)
        default = _commonest(tag for tags in seen.values() for tag in tags)
        known = {word: _commonest(tags) for word, tags in seen.items()}
        return [[[known.get(word, default) for word in example.text] for example in each] for each in asked]


def _commonest(labels: Any) -> Any:
    """The commonest label; of several the first in order."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


class Linear(Contender):
    """Logistic regression, or ridge regression of numbers, on features of texts; its setting is C, what 1 over the
    penalty is."""

    kinds = ("text", "pair", "similarity")
    scaled = False  # features to a variance of 1 each

    def sides(self, train: Examples) -> Callable[[Sequence[str]], Any]:
        """What makes rows of features from texts, as learned from training examples."""
        raise NotImplementedError

    def answers(
        self, task: Task, train: Examples, dev: Examples, setting: float, seed: int, asked: Sequence[Examples]
    ) -> list[list[Any]]:
        labels = [example.label for example in train]
        if len(set(labels)) == 1:
            return [[labels[0]] * len(each) for each in asked]
        features = self.sides(train)

        def rows(examples: Examples) -> Any:
            u = features([example.text for example in examples])
            if task.kind == "text":
                return u
            return _both(u, features([example.second for example in examples]))

        fitted = _regression(task.kind == "similarity", setting, self.scaled)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not quite converged
            fitted.fit(rows(train), labels)
        return [fitted.predict(rows(each)).tolist() if each else [] for each in asked]


class TfIdf(Linear):
    """Words and pairs of words, marks too, weighted by how rare they are."""

    def sides(self, train: Examples) -> Callable[[Sequence[str]], Any]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        found = TfidfVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), sublinear_tf=True)
        texts = [text for example in train for text in (example.text, example.second) if text]
        return found.fit(texts).transform


class OfVectors(Linear):
    """One vector for a text, made once for each."""

    scaled = True

    def __init__(
        self, name: str, settings: Sequence[float], maker: Callable[[Sequence[str]], Vectors], fingerprint: str
    ) -> None:
        super().__init__(name, settings)
        self.maker, self.fingerprint, self.known = maker, fingerprint, dict[str, np.ndarray]()

    def key(self) -> dict[str, Any]:
        return {"vectors": self.fingerprint}

    def sides(self, train: Examples) -> Callable[[Sequence[str]], Any]:
        return self.rows

    def rows(self, texts: Sequence[str]) -> Vectors:
        """The vector of each text."""
        if new := list(dict.fromkeys(text for text in texts if text not in self.known)):
            self.known |= dict(zip(new, self.maker(new), strict=True))
        return np.stack([self.known[text] for text in texts])


def _both(u: Any, v: Any) -> Any:
    """|u − v| and u ⊙ v, dense or sparse."""
    from scipy import sparse

    if sparse.issparse(u):
        return sparse.hstack([abs(u - v), u.multiply(v)]).tocsr()
    return np.concatenate([np.abs(u - v), u * v], 1)


def _regression(numbers: bool, strength: float, scaled: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = Ridge(1 / strength) if numbers else LogisticRegression(C=strength, max_iter=300, tol=1e-3)
    return make_pipeline(StandardScaler(), model) if scaled else model


def folds(count: int, parts: int, seed: int) -> list[np.ndarray]:
    """Numbers 0 … count - 1 in so many parts, drawn by a seed: what cross-validation holds out."""
    return np.array_split(np.random.default_rng(seed).permutation(count), parts)


def cross_validated(
    contender: Contender, task: Task, examples: Examples, setting: float, seed: int, parts: int, tried: int
) -> float:
    """The task's metric on what was held out: in each of the first `tried` of so many parts."""
    true, said = list[Any](), list[Any]()
    for held in folds(len(examples), parts, seed)[:tried]:
        inside = np.setdiff1d(np.arange(len(examples)), held)
        asked = [examples[int(n)] for n in held]
        learned = [examples[int(n)] for n in inside]
        said += contender.answers(task, learned, (), setting, seed, [asked])[0]
        true += [example.label for example in asked]
    return task.metric(true, said)


def score(task: Task, examples: Examples, answers: Answers) -> float:
    """The metric that stands for a task."""
    return task.metric([example.label for example in examples], answers)
