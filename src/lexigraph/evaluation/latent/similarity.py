"""Does the likeness of vectors follow the likeness of meanings? STS-B and SICK, against people's scores.

cosine        of the two vectors as they are
linear map    ridge regression on |u − v| and u ⊙ v, fitted to the training pairs; its penalty by cross-validation
words         the cosine of word counts, without any model
embeddings    the cosine of the means of the model's own token embeddings, if it has a table of them

Pearson's r and Spearman's rho on the test pairs; intervals from resampled pairs (ranks taken once).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.intervals import FEWEST, RESAMPLES
from lexigraph.evaluation.latent.sentences import Kept, Mean, Means, Results, cosines, spread, vectors, whole, words
from lexigraph.text import readers
from lexigraph.text.files import find

Scored = list[tuple[str, str, float]]
SETS: dict[str, tuple[str, dict[str, str]]] = {  # folder → how its files are named, and where things stand in them
    "sts-b": ("sts-{split}.tsv", {"score": "5", "a": "6", "b": "7"}),
    "sick": ("SICK_{split}.tsv", {"score": "relatedness_score", "a": "sentence_A", "b": "sentence_B"}),
}
DEV = {"sts-b": "dev", "sick": "trial"}  # how the part is called on which settings are chosen


def similarity_pairs(folder: str | Path) -> dict[str, dict[str, Scored]]:
    """The train, dev and test pairs of the sets in a folder, with people's scores; or of the one that it is.

    A folder that is not there is looked for under the one that LEXIGRAPH_DATA names.
    """
    found: dict[str, dict[str, Scored]] = {}
    root = Path(find(str(folder)))
    for name, (pattern, columns) in SETS.items():
        place = root if root.name == name else root / name
        if place.is_dir():
            parts = {"train": "train", "dev": DEV[name], "test": "test"}
            found[name] = {split: _read(place, pattern.format(split=part), columns) for split, part in parts.items()}
    if not found:
        raise LexigraphError(f"{folder} has no folder sts-b or sick: name the folder that holds them.")
    return found


def _read(place: Path, name: str, columns: dict[str, str]) -> Scored:
    files = [place / (name + suffix) for suffix in ("", ".gz", ".xz")]
    file = next((file for file in files if file.exists()), files[0])
    rows: Scored = []
    for record in readers.read(file, columns):
        try:
            score = float(record.columns["score"])
        except ValueError:
            raise LexigraphError(f"{file}, line {record.line}: {record.columns['score']!r} is no score.") from None
        rows.append((str(record.columns["a"]), str(record.columns["b"]), score))
    return rows


def meaning_scores(model: Vectors, train: Scored, test: Scored, *, pairs: int = 0) -> Results:
    """Correlation of every measure with people's scores; `pairs` limits both sides (0: all)."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sides = [spread(rows, pairs) if pairs else rows for rows in (train, test)]
    (seen, known, _), (held, asked, skipped) = (_encoded(model, rows) for rows in sides)
    result: Results = {"pairs": len(held), "training_pairs": len(seen), "skipped": skipped, "measures": {}}
    if len(held) < 2:
        return result
    gold = np.array([score for *_, score in held])
    z = vectors(model, asked)
    measures = {"cosine": cosines(z[::2], z[1::2])}
    if len(seen) > 1:
        fit = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 6, 15)))
        fit.fit(features(vectors(model, known)), [score for *_, score in seen])
        measures["linear map"] = fit.predict(features(z))
    measures["words, no model"] = np.array([word_cosine(a, b) for a, b, _ in held])
    if (weight := token_vectors(model)) is not None:
        bags = np.stack([weight[row].mean(0) for row in asked.rows])
        measures["embeddings, averaged"] = cosines(bags[::2], bags[1::2])
    result["measures"] = {name: correlations(values, gold) for name, values in measures.items()}
    return result


def token_vectors(model: Vectors) -> Float[np.ndarray, "tokens e"] | None:
    """The table of the model's tokens; None where a word is known by its letters."""
    table = getattr(model.network, "embedding", None)
    weight = getattr(getattr(table, "tokens", table), "weight", None)
    return None if weight is None else weight.detach().float().cpu().numpy()


def _encoded(model: Vectors, rows: Scored) -> tuple[Scored, Kept, int]:
    """The pairs that fit, their texts one after the other, and how many do not."""
    scores: dict[tuple[str, ...], list[float]] = {}
    for a, b, score in rows:
        scores.setdefault((a, b), []).append(score)
    kept, texts, skipped = whole(model, [(a, b) for a, b, _ in rows])
    return [(a, b, scores[a, b].pop(0)) for a, b in kept], texts, skipped


def features(z: Float[np.ndarray, "n2 d"]) -> Float[np.ndarray, "n d2"]:
    """|u − v| and u ⊙ v of vectors that stand in pairs."""
    u, v = z[::2].astype(np.float64), z[1::2].astype(np.float64)
    return np.concatenate([np.abs(u - v), u * v], 1)


def word_cosine(first: str, second: str) -> float:
    """The cosine of two texts' word counts.

    >>> word_cosine("a b", "B c")
    0.5
    """
    a, b = Counter(words(first)), Counter(words(second))
    squares = sum(n * n for n in a.values()) * sum(n * n for n in b.values())
    return sum(a[word] * b[word] for word in a) / max(1.0, squares) ** 0.5


def correlations(values: Sequence[float] | np.ndarray, gold: np.ndarray) -> Means:
    """Pearson's r and Spearman's rho with intervals."""
    from scipy.stats import rankdata

    made = np.asarray(values, np.float64)
    return {"pearson": _correlation(made, gold), "spearman": _correlation(rankdata(made), rankdata(gold))}


def _correlation(first: np.ndarray, second: np.ndarray) -> Mean:
    rows = len(first)
    ones = np.ones((1, rows))
    figure: Mean = {"value": float(_weighted(ones, first, second)[0]), "interval": [], "rows": rows}
    if rows >= FEWEST:
        weights = np.random.default_rng(0).multinomial(rows, np.full(rows, 1 / rows), RESAMPLES)
        figure["interval"] = [float(end) for end in np.quantile(_weighted(weights, first, second), (0.025, 0.975))]
    return figure


def _weighted(weights: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's r of two columns, once for each row of weights; 0 where one of them does not vary."""
    x, y = first - first.mean(), second - second.mean()
    total = weights.sum(1)

    def moment(values: Iterable[float] | np.ndarray) -> np.ndarray:
        return (weights @ values) / total

    mean_x, mean_y = moment(x), moment(y)
    spread = (moment(x * x) - mean_x**2).clip(0) * (moment(y * y) - mean_y**2).clip(0)
    return np.where(spread > 1e-20, (moment(x * y) - mean_x * mean_y) / np.sqrt(np.maximum(spread, 1e-300)), 0.0)
