"""What the vectors of texts say about meaning: a suite for every model that encodes.

    results = run(lexigraph.load("runs/encoder"), ["sts-b", "sick"])

similarity    STS-B and SICK against people's scores, by the cosine and through a trained linear map: on the test
              pairs, and on the dev pairs, by which settings are chosen
probes        tense, number, polarity and length of the grammar's sentences, found by a straight line
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from lexigraph import __version__
from lexigraph.abilities.textmodel import TextModel
from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import UsageError
from lexigraph.evaluation.latent.probes import probes
from lexigraph.evaluation.latent.sentences import Result, Results
from lexigraph.evaluation.latent.similarity import Scored, meaning_scores, similarity_pairs

Suite = dict[str, Mapping[str, Result]]


@dataclass(frozen=True)
class Sizes:
    """How much is looked at."""

    pairs: int = 0  # of each set and split; 0: all
    probes: int = 1000  # sentences to learn from; half as many to test


QUICK = Sizes(pairs=1000, probes=500)


def run(
    model: TextModel,
    folders: Sequence[str | Path],
    *,
    quick: bool = False,
    sizes: Sizes | None = None,
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Suite:
    """All of it; `folders`: sts-b and sick, or what holds them."""
    vectors = check(model)
    amounts = sizes or (QUICK if quick else Sizes())
    sets = {name: splits for folder in folders for name, splits in similarity_pairs(folder).items()}
    found: dict[str, Result] = {}
    for name, splits in sets.items():
        report(name)
        for split, label in (("test", name), ("dev", f"{name}, dev")):
            found[label] = meaning_scores(vectors, splits["train"], splits[split], pairs=amounts.pairs)
    report("probes")
    probed = probes(vectors, training=amounts.probes, testing=amounts.probes // 2, seed=seed)
    return {"similarity": found, "probes": probed, "signature": signature(vectors, sets, amounts, seed)}


def check(model: TextModel) -> Vectors:
    """Refuse a model without a vector for a text."""
    if not isinstance(model, Vectors):
        can = ", ".join(model.abilities)
        raise UsageError(
            f"The meaning suite is for models that encode texts; a {model.recipe.system} model can: {can}."
        )
    return model


def signature(model: Vectors, sets: Mapping[str, Mapping[str, Scored]], sizes: Sizes, seed: int) -> Results:
    """What the figures depend on."""
    import sklearn

    digest = hashlib.blake2b(repr(sorted((name, sorted(splits.items())) for name, splits in sets.items())).encode(),
                             digest_size=6)  # fmt: skip
    tokenizer = model.tokenizer
    return {
        "model": model.fingerprint,
        "system": model.recipe.system,
        "tokenizer": f"{tokenizer.kind}-{len(tokenizer)}-{tokenizer.fingerprint[:8]}",
        "pairs": digest.hexdigest(),
        "pairs_of_a_set": sizes.pairs or "all",
        "probe_sentences": sizes.probes,
        "seed": seed,
        "device": model.device.type,
        "lexigraph": __version__,
        "torch": torch.__version__.split("+")[0],
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
