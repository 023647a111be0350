"""What a straight line finds in z: logistic regression for tense, number, polarity and length.

The sentences are the grammar's. For the first three, each clause gives one sentence of either class, so that both
classes share their other words; the probe learns on the training split and is tried on held-out combinations of word
and construction. The majority beside it is what always naming the commonest training class would score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import numpy as np

from lexigraph.abilities.vectors import Vectors
from lexigraph.evaluation.latent.reconstruction import LENGTHS
from lexigraph.evaluation.latent.sentences import Kept, Means, Results, fitting, mean, spelled, vectors, whole
from lexigraph.text import grammar
from lexigraph.text.constructions import clauses, sentences, split_of
from lexigraph.text.edits import EDITS, Edit

FEATURES = {
    "tense": EDITS["present-past"],
    "number": EDITS["plural"],
    "polarity": Edit("negative", False, True),
}


def labelled_pairs(edit: Edit, seed: int, split: str) -> Iterator[tuple[str, str]]:
    """Sentences that differ in one feature, without end; a pair is of "train" if both of it are."""
    for pair in filter(None, (edit.pair(clause) for clause in clauses(None, seed))):
        if min(map(split_of, pair)) == split:  # "test" < "train"
            yield grammar.realise(pair[0]), grammar.realise(pair[1])


def probes(
    model: Vectors, *, training: int = 1000, testing: int = 500, seed: int = 0, spaced: bool = True
) -> Results:
    """The accuracy of each probe on the test split, and of the majority; counts are of sentences."""
    features: dict[str, Means] = {}
    skipped = 0
    for name, edit in FEATURES.items():
        sides = []
        for split, count in (("train", training), ("test", testing)):
            drawn = islice(labelled_pairs(edit, seed, split), count // 2)
            _, kept, lost = whole(model, [tuple(spelled(text, spaced) for text in pair) for pair in drawn])
            sides.append((vectors(model, kept), np.tile([0, 1], len(kept.texts) // 2)))
            skipped += 2 * lost
        features[name] = probe(*sides[0], *sides[1], together=2)
    sides = []
    for split, count in (("train", training), ("test", testing)):
        kept = fitting(model, [spelled(text, spaced) for text in sentences(count, seed, split=split)])
        sides.append((vectors(model, kept), length_labels(kept, model.tokenizer.kind == "char")))
        skipped += count - len(kept.texts)
    features["length"] = probe(*sides[0], *sides[1])
    return {"features": features, "skipped": skipped, "training": training, "testing": testing, "seed": seed}


def length_labels(kept: Kept, letters: bool = False) -> np.ndarray:
    """The number of the bucket that a sentence's tokens (its words, if tokens are letters) fall into: 1-5, 6-10 …"""
    bounds = [high for _, high in LENGTHS]
    sizes = [len(text.split()) for text in kept.texts] if letters else [len(row) for row in kept.rows]
    return np.searchsorted(bounds, sizes)


def probe(seen: np.ndarray, labels: np.ndarray, held: np.ndarray, wanted: np.ndarray, together: int = 1) -> Means:
    """Accuracy of logistic regression on standardised vectors; so many rows in a row are resampled together."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(set(labels.tolist())) < 2 or not len(held):
        return {"accuracy": mean([]), "majority": mean([])}
    fit = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(seen, labels)
    majority = Counter(labels.tolist()).most_common(1)[0][0]
    rows = {"accuracy": fit.predict(held) == wanted, "majority": wanted == majority}
    return {name: mean(right.reshape(-1, together).mean(1)) for name, right in rows.items()}
