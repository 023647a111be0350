"""The whole latent suite for a model that encodes and decodes: one call, one dictionary that can be saved as JSON.

>>> results = run(model, test=lines, judge=lexigraph.load("runs/gpt"), quick=True)        # doctest: +SKIP
>>> results["reconstruction"]["test"]["exact"]                                            # doctest: +SKIP
{'value': 0.946, 'interval': [0.931, 0.96], 'rows': 1000}

Parts whose input is missing say so under `skipped`. Everything is drawn in the order of a hash of the texts, so that
the same file gives the same sample, and a larger sample holds the smaller one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexigraph import __version__
from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.spaces import BLEND_NOISE, SAMPLE_NOISE, SentenceSpace
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.latent import judge as judges
from lexigraph.evaluation.latent.arithmetic import arithmetic
from lexigraph.evaluation.latent.edit_files import edit_families, file_arithmetic
from lexigraph.evaluation.latent.interpolation import interpolate
from lexigraph.evaluation.latent.mixture import COMPONENTS, likelihood, round_trips, sampled
from lexigraph.evaluation.latent.probes import probes
from lexigraph.evaluation.latent.reconstruction import damaged, draws, reconstruct
from lexigraph.evaluation.latent.sentences import domain_sentences, fitting, ordered, spaced, vectors
from lexigraph.evaluation.latent.similarity import meaning_scores, similarity_pairs
from lexigraph.latent.mixture import Mixture
from lexigraph.registry import nearest
from lexigraph.text.constructions import sentences as grammar_sentences
from lexigraph.text.corpus import GRAMMAR, texts_of

PARTS = (
    *("reconstruction", "arithmetic", "edit files", "interpolation", "mixture", "round trip", "similarity"),
    *("probes", "robustness"),
)


@dataclass(frozen=True)
class Sizes:
    """How much each part looks at."""

    sentences: int = 1000  # reconstructed greedily
    beam: int = 200  # of these, with beam 5
    lossless: int = 100  # of these, in lossless mode
    domain: int = 500  # of each other domain
    quadruples: int = 200  # of each family of edits
    file_pairs: int = 100  # of each family of pairs in files
    pairs: int = 200  # to interpolate between
    vectors: int = 5000  # under the mixture
    samples: int = 500
    round_trips: int = 200
    similarity: int = 0  # pairs of each set and split; 0: all
    probes: int = 1000  # sentences to learn from; half as many to test
    damaged: int = 200  # pictures, for each kind of damage


QUICK = Sizes(
    sentences=300,
    beam=50,
    lossless=32,
    domain=200,
    quadruples=30,
    file_pairs=30,
    vectors=2000,
    samples=200,
    round_trips=100,
    similarity=1000,
    probes=500,
    damaged=60,
)


def run(
    model: TextModel,
    *,
    test: Sequence[str],
    train: str | Path | None = None,
    domains: Mapping[str, Sequence[str]] | None = None,
    judge: TextModel | None = None,
    edits: str | Path | None = None,
    similarity: str | Path | None = None,
    quick: bool = False,
    sizes: Sizes | None = None,
    parts: Sequence[str] = PARTS,
    noise: float | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Every part of the suite that the inputs allow.

    test: held-out sentences; those that the model cannot hold are counted.
    train: the training file, to look for copies in.
    domains: other texts by name, as {"tatoeba": [...]}.
    judge: a language model that was trained on other text, for fluency.
    edits: a folder of sentence pairs (sentence-edits, styleptb); similarity: one with sts-b and sick.
    quick: smaller samples, about a quarter of an hour on two cores; `sizes` says each one.
    noise: of everything decoded from a sum or a sample; None: the model's own default.
    """
    model, judge = check(model, judge, parts)
    amounts = sizes or (QUICK if quick else Sizes())
    texts = ordered((text for text in test if text.strip()), seed)
    if not texts:
        raise LexigraphError("There are no test sentences: give a file with one sentence a line.")
    joined = [f"{a} {b}" for a, b in zip(texts[::2], texts[1::2], strict=False)]  # longer texts
    form = spaced(texts)
    shared: dict[str, Any] = {"noise": noise, "seed": seed}
    mixture, results = Lazy(model, texts[: amounts.vectors], seed), {}

    def families() -> dict[str, Any]:
        return file_arithmetic(
            model, edit_families(_given(edits, "folder of edits")), amounts.file_pairs, noise=noise
        )

    def other_texts() -> dict[str, list[str]]:
        return {name: ordered(found, seed)[: amounts.domain] for name, found in (domains or {}).items()}

    def meanings() -> dict[str, Any]:
        sets = similarity_pairs(_given(similarity, "folder with sts-b and sick"))
        return {name: meaning_scores(model, **splits, pairs=amounts.similarity) for name, splits in sets.items()}

    def samples() -> dict[str, Any]:
        seen: Iterable[str] | None = texts_of(str(train)) if train else None
        drawn = sampled(model, mixture.get(), texts[: amounts.vectors], judge, seen, count=amounts.samples, **shared)
        return {"likelihood": mixture.likelihood(), "samples": drawn, "mixture": mixture.origin}

    def pictures() -> dict[str, Any]:
        if not draws(model):
            raise Missing("the model draws no pictures")
        return damaged(model, texts[: amounts.damaged], seed)

    work: dict[str, Callable[[], dict[str, Any]]] = {
        "reconstruction": lambda: reconstruct(
            model,
            texts[: amounts.sentences],
            other_texts(),
            joined=joined[: amounts.sentences],
            beam=amounts.beam,
            lossless=amounts.lossless,
        ),
        "arithmetic": lambda: arithmetic(model, amounts.quadruples, spaced=form, tell=tell, **shared),
        "edit files": families,
        "interpolation": lambda: interpolate(model, texts, judge, pairs=amounts.pairs, **shared),
        "mixture": samples,
        "round trip": lambda: round_trips(model, texts, mixture.get(), count=amounts.round_trips, **shared),
        "similarity": meanings,
        "probes": lambda: probes(model, training=amounts.probes, testing=amounts.probes // 2, seed=seed, spaced=form),
        "robustness": pictures,
    }
    seconds: dict[str, float] = {}
    for part in (part for part in PARTS if part in parts):
        tell(part)
        began = time.perf_counter()
        try:
            results[part] = work[part]()
        except LexigraphError as reason:  # what is measured already is not lost
            results[part] = {"skipped": str(reason)}
        seconds[part] = round(time.perf_counter() - began, 1)
    results["signature"] = signature(model, judge, texts, amounts, noise, seed, form)
    results["seconds"] = seconds
    return results


def check(
    model: TextModel, judge: TextModel | None, parts: Sequence[str]
) -> tuple[SentenceSpace, LanguageModel | None]:
    """Refuse what cannot be measured before anything is."""
    if not isinstance(model, SentenceSpace):
        can = ", ".join(model.abilities)
        raise UsageError(f"The latent suite is for models that encode and decode; this one can {can}.")
    for part in parts:
        if part not in PARTS:
            raise UsageError(f"The latent suite has no part {part!r}{nearest(part, PARTS)}")
    return model, None if judge is None else judges.checked(judge)


def signature(
    model: SentenceSpace,
    judge: LanguageModel | None,
    texts: Sequence[str],
    sizes: Sizes,
    noise: float | None,
    seed: int,
    form: bool,
) -> dict[str, Any]:
    """What the figures depend on."""
    import sacrebleu
    import sklearn

    digest = hashlib.blake2b("\n".join(texts).encode(errors="surrogatepass"), digest_size=6)
    return {
        "model": model.fingerprint,
        "system": model.recipe.system,
        "tokenizer": model.tokenizer.fingerprint,
        "judge": judge.fingerprint if judge else "",
        "test": digest.hexdigest(),
        "test_texts": len(texts),
        "grammar_spelling": "She sang ." if form else "She sang.",
        "noise_of_sums": model.default_noise(noise),
        "noise_of_blends": model.default_noise(noise, BLEND_NOISE),
        "noise_of_samples": model.default_noise(noise, SAMPLE_NOISE),
        "seed": seed,
        "sizes": asdict(sizes),
        "device": model.device.type,
        "lexigraph": __version__,
        "torch": torch.__version__.split("+")[0],
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "sacrebleu": sacrebleu.__version__,
    }


def test_sentences(data: str) -> list[str]:
    """The texts of a file; of the built-in grammar, sentences that its usual seed does not draw in this order."""
    return list(grammar_sentences(5000, seed=1)) if data == GRAMMAR else list(texts_of(data))


def read_domains(named: Sequence[str]) -> dict[str, list[str]]:
    """The sentences of files given as NAME=FILE."""
    pairs = [each.partition("=") for each in named]
    for each, (name, _, file) in zip(named, pairs, strict=True):
        if not name or not file:
            raise UsageError(f"A domain is given as NAME=FILE, not {each!r}.")
    return {name: list(domain_sentences(file)) for name, _, file in pairs}


class Missing(LexigraphError):
    """What a part would need."""


def _given(path: str | Path | None, what: str) -> str | Path:
    if path is None:
        raise Missing(f"no {what} was given")
    return path


class Lazy:
    """The vectors of some texts, and the mixture to draw from: the run's own, or one fitted to these."""

    def __init__(self, model: SentenceSpace, texts: Sequence[str], seed: int) -> None:
        self.model, self.texts, self.seed, self.origin = model, texts, seed, ""
        self.kept = fitting(model, texts)
        self._mixture: Mixture | None = None
        self._z: np.ndarray | None = None

    @property
    def z(self) -> np.ndarray:
        self._z = vectors(self.model, self.kept) if self._z is None else self._z
        return self._z

    def get(self) -> Mixture:
        """The mixture, or Missing where there are too few vectors for one."""
        if self._mixture is None:
            try:
                self._mixture, self.origin = self.model.mixture, "the run's own"
            except LexigraphError:
                if len(self.z) < 100:
                    raise Missing("the model has no mixture, and there are too few texts to fit one to") from None
                components = min(COMPONENTS, len(self.z) // 50)
                self._mixture = Mixture.fit(self.z, components, self.seed)
                self.origin = f"{components} components, fitted to {len(self.z)} test sentences"
        return self._mixture

    def likelihood(self) -> dict[str, Any]:
        return likelihood(self.z, self.kept.wanted, len(self.get().weights), self.seed)
