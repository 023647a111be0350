"""The mixture of Gaussians over the space, what is drawn from it, and the way z → text → z.

likelihood     ln p(z) per held-out sentence under 1 and K components: fitted to the first 80 % of the vectors
purity         Σ_k max_w n(k, w) / n: how far a component's sentences begin with the same word; n(k, w) counts
               held-out sentences of component k (the most probable one) whose first word is w
copies         samples that a training file holds, by their \\w characters only, without case
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.spaces import BLEND_NOISE, SAMPLE_NOISE, SentenceSpace
from lexigraph.decoding.degeneration import distinct
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.intervals import Figure
from lexigraph.evaluation.latent.interpolation import STEPS, fixed_pairs
from lexigraph.evaluation.latent.judge import fluency
from lexigraph.evaluation.latent.sentences import (
    Mean,
    Means,
    Results,
    cosines,
    fitting,
    mean,
    vectors,
    whole,
    words,
    written,
)
from lexigraph.latent.geometry import blend, steps_between
from lexigraph.latent.mixture import Mixture

NOT_WORDS = re.compile(r"\W+")
COMPONENTS = 20


def first_words(texts: Sequence[str]) -> list[str]:
    """The first word of each text, without case; nothing, if it has none."""
    return [next(iter(words(text)), "") for text in texts]


def purity(components: Sequence[int], labels: Sequence[str]) -> Float[np.ndarray, " n"]:
    """1 for each item whose label is the commonest of its component, else 0; the mean is the purity.

    >>> purity([0, 0, 0, 1], ["he", "he", "she", "they"])
    array([1., 1., 0., 1.])
    """
    counts: dict[int, Counter[str]] = {}
    for component, label in zip(components, labels, strict=True):
        counts.setdefault(component, Counter())[label] += 1
    commonest = {component: count.most_common(1)[0][0] for component, count in counts.items()}
    return np.array([label == commonest[c] for c, label in zip(components, labels, strict=True)], np.float64)


def likelihood(
    z: Float[np.ndarray, "n d"], texts: Sequence[str], components: int = COMPONENTS, seed: int = 0
) -> Results:
    """Held-out likelihood of 1 and K components, full and diagonal, and the purity of the K."""
    cut = int(0.8 * len(z))
    if cut < 2 or len(z) - cut < 1:
        raise LexigraphError(f"A mixture cannot be fitted to {len(z)} vectors and tested on others: give more texts.")
    seen, held = z[:cut], z[cut:]
    labels = first_words(texts[cut:])
    covariances: dict[str, Means] = {}
    for covariance in ("full", "diag"):
        for count in sorted({1, max(1, min(components, cut // 50))}):
            mixture = Mixture.fit(seen, count, seed, covariance)
            figures = {"log_likelihood": mean(mixture.log_likelihood(held))}
            figures["first_word_purity"] = mean(purity(mixture.responsibilities(held).argmax(1).tolist(), labels))
            covariances[f"{count} {covariance}"] = figures
    return {"fitted_to": cut, "held_out": len(held), "covariances": covariances}


def sampled(
    model: SentenceSpace,
    mixture: Mixture,
    real: Sequence[str],
    judge: LanguageModel | None = None,
    training: Iterable[str] | None = None,
    *,
    count: int = 500,
    noise: float | None = None,
    seed: int = 0,
) -> Results:
    """Samples from a mixture, decoded: fluency beside real sentences, variety beside them, and copies."""
    z, _ = mixture.sample(count, seed)
    texts = written(model, z, noise=model.default_noise(noise, SAMPLE_NOISE))
    kept = fitting(model, real)
    result: Results = {"variety": {"samples": variety(texts), "real": variety(kept.wanted[:count])}}
    result["empty"] = sum(not text.strip() for text in texts)
    if judge is not None:
        result |= fluency(judge, texts, kept.wanted)
    if training is not None:
        result["copies"] = mean(copies(texts, training))
    return result | {"samples": count, "examples": texts[:20]}


def variety(texts: Sequence[str]) -> dict[str, Figure | Mean]:
    """distinct-1 to 3 over words, and the share of texts that are said once; both fall with the number of texts."""
    split = [words(text) for text in texts]
    shares: dict[str, Figure] = {f"distinct-{n}": {"value": distinct(split, n), "interval": []} for n in (1, 2, 3)}
    counts = Counter(texts)
    return shares | {"unique": mean([counts[text] == 1 for text in texts])}


def copies(texts: Sequence[str], training: Iterable[str]) -> Float[np.ndarray, " n"]:
    """1 for each text that stands in the training text, by its letters and digits, without case."""
    wanted = {_letters(text) for text in texts}
    seen = {letters for line in training if (letters := _letters(line)) in wanted}
    return np.array([_letters(text) in seen for text in texts], np.float64)


def _letters(text: str) -> str:
    return NOT_WORDS.sub("", text.casefold())


# ---- z → text → z ----


def round_trips(
    model: SentenceSpace, texts: Sequence[str], mixture: Mixture | None, *, count: int = 200,
    noise: float | None = None, seed: int = 0,
) -> Results:  # fmt: skip
    """The cosine of vectors with those of the sentences that they are decoded to: real ones, samples and blends."""
    real = vectors(model, fitting(model, texts[:count]))
    result: Results = {"real": round_trip(model, real, 0.0)}
    if mixture is not None:
        result["samples"] = round_trip(
            model, mixture.sample(count, seed)[0], model.default_noise(noise, SAMPLE_NOISE)
        )
    weights = steps_between(STEPS)[1:-1]
    pairs, ends, _ = whole(model, list(fixed_pairs(texts, max(1, count // len(weights)), seed)[0]))
    if pairs:
        between = [blend(two, weights) for two in vectors(model, ends).reshape(len(pairs), 2, -1)]
        result["blends"] = round_trip(model, np.concatenate(between), model.default_noise(noise, BLEND_NOISE))
    return result


def round_trip(
    model: SentenceSpace, z: Float[np.ndarray, "n latent"], noise: float | np.ndarray
) -> dict[str, Mean | dict[str, int]]:
    """Mean cosine of z with the vector of what it is decoded to; sentences that cannot be read again are counted."""
    kept = fitting(model, written(model, z, noise=noise))
    again = vectors(model, kept)
    return {"cosine": mean(cosines(z[kept.positions], again)), "skipped": kept.skipped}
