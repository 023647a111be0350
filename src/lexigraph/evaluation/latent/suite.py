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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
from lexigraph.evaluation.latent.likeness import likeness
from lexigraph.evaluation.latent.mixture import COMPONENTS, likelihood, round_trips, sampled
from lexigraph.evaluation.latent.probes import probes
from lexigraph.evaluation.latent.reconstruction import damaged, draws, reconstruct
from lexigraph.evaluation.latent.sentences import Result, Results, domain_sentences, fitting, ordered, spaced, vectors
from lexigraph.evaluation.latent.similarity import meaning_scores, similarity_pairs
from lexigraph.latent.mixture import Mixture
from lexigraph.registry import nearest
from lexigraph.text.constructions import sentences as grammar_sentences
from lexigraph.text.corpus import texts_of
from lexigraph.text.files import GRAMMAR

PARTS = (
    *("reconstruction", "arithmetic", "edit files", "interpolation", "mixture", "round trip", "similarity"),
    *("probes", "robustness", "likeness"),
)
Suite = dict[str, Mapping[str, Result]]  # parts, the signature, and the seconds that each part took


@dataclass(frozen=True)
class Sizes:
    """How much each part looks at."""

    sentences: int = 1000  # reconstructed greedily
    beam: int = 200  # of these, with beam 5
    lossless: int = 100  # of these, in lossless mode
    domain: int = 500  # of each other domain
    quadruples: int = 200  # of each family of edits
    file_pairs: int = 100  # of each family of pairs in files, and of pairs whose pictures are compared
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
    report: Callable[[str], None] = lambda _: None,
) -> Suite:
    """Every part of the suite that the inputs allow.

    test: held-out sentences; those that the model cannot hold are counted.
    train: the training file, to look for copies in.
    domains: other texts by name, as {"tatoeba": [...]}.
    judge: a language model that was trained on other text, for fluency.
    edits: a folder of sentence pairs (sentence-edits, styleptb); similarity: one with sts-b and sick.
    quick: smaller samples, about a quarter of an hour on two cores; `sizes` says each one.
    noise: of everything decoded from a sum or a sample; None: the model's own default.
    """
    space, checked_judge = check(model, judge, parts)
    texts = ordered((text for text in test if text.strip()), seed)
    if not texts:
        raise LexigraphError("There are no test sentences: give a file with one sentence a line.")
    amounts = sizes or (QUICK if quick else Sizes())
    given = Given(
        space, checked_judge, texts, Lazy(space, texts[: amounts.vectors], seed), train=train, domains=domains or {},
        edits=edits, similarity=similarity, sizes=amounts, noise=noise, seed=seed, report=report,
    )  # fmt: skip
    results: Suite = {}
    seconds: dict[str, float] = {}
    for part in (part for part in PARTS if part in parts):
        report(part)
        began = time.perf_counter()
        try:
            results[part] = given.work()[part]()
        except LexigraphError as reason:  # what is measured already is not lost
            results[part] = {"skipped": str(reason)}
        seconds[part] = round(time.perf_counter() - began, 1)
    results["signature"] = signature(given)
    results["seconds"] = seconds
    return results


@dataclass(frozen=True)
class Given:
    """What the parts of the suite are measured on, with a method for each of them."""

    model: SentenceSpace
    judge: LanguageModel | None
    texts: Sequence[str]  # held-out sentences, in the order of their hash
    mixture: Lazy
    train: str | Path | None
    domains: Mapping[str, Sequence[str]]
    edits: str | Path | None
    similarity: str | Path | None
    sizes: Sizes
    noise: float | None
    seed: int
    report: Callable[[str], None]

    @property
    def spaced(self) -> bool:
        """How the test sentences, and so the grammar's beside them, write their marks."""
        return spaced(self.texts)

    def work(self) -> dict[str, Callable[[], Results]]:
        """How each of `PARTS` is measured."""
        return {
            "reconstruction": self._reconstruction,
            "arithmetic": self._arithmetic,
            "edit files": self._edit_files,
            "interpolation": self._interpolation,
            "mixture": self._samples,
            "round trip": self._round_trips,
            "similarity": self._meanings,
            "probes": self._probes,
            "robustness": self._damages,
            "likeness": self._likeness,
        }

    def _reconstruction(self) -> Results:
        joined = [f"{a} {b}" for a, b in zip(self.texts[::2], self.texts[1::2], strict=False)]  # longer texts
        domains = {name: ordered(found, self.seed)[: self.sizes.domain] for name, found in self.domains.items()}
        count, beam, lossless = self.sizes.sentences, self.sizes.beam, self.sizes.lossless
        return reconstruct(
            self.model, self.texts[:count], domains, joined=joined[:count], beam=beam, lossless=lossless
        )

    def _arithmetic(self) -> Results:
        return arithmetic(
            self.model,
            self.sizes.quadruples,
            noise=self.noise,
            seed=self.seed,
            spaced=self.spaced,
            report=self.report,
        )

    def _edit_files(self) -> Results:
        families = edit_families(_given(self.edits, "folder of edits"))
        return file_arithmetic(self.model, families, self.sizes.file_pairs, noise=self.noise)

    def _interpolation(self) -> Results:
        return interpolate(
            self.model, self.texts, self.judge, pairs=self.sizes.pairs, noise=self.noise, seed=self.seed
        )

    def _samples(self) -> Results:
        seen = texts_of(str(self.train)) if self.train else None
        real, count = self.texts[: self.sizes.vectors], self.sizes.samples
        drawn = sampled(
            self.model, self.mixture.get(), real, self.judge, seen, count=count, noise=self.noise, seed=self.seed
        )
        return {"likelihood": self.mixture.likelihood(), "samples": drawn, "mixture": self.mixture.origin}

    def _round_trips(self) -> Results:
        mixture, count = self.mixture.get(), self.sizes.round_trips
        return round_trips(self.model, self.texts, mixture, count=count, noise=self.noise, seed=self.seed)

    def _meanings(self) -> Results:
        sets = similarity_pairs(_given(self.similarity, "folder with sts-b and sick"))
        pairs = self.sizes.similarity
        return {
            name: meaning_scores(self.model, splits["train"], splits["test"], pairs=pairs)
            for name, splits in sets.items()
        }

    def _probes(self) -> Results:
        count = self.sizes.probes
        return probes(self.model, training=count, testing=count // 2, seed=self.seed, spaced=self.spaced)

    def _damages(self) -> Results:
        self._require_pictures()
        return damaged(self.model, self.texts[: self.sizes.damaged], self.seed)

    def _likeness(self) -> Results:
        self._require_pictures()
        return likeness(self.model, self.sizes.file_pairs, spaced=self.spaced)

    def _require_pictures(self) -> None:
        if not draws(self.model):
            raise Missing("the model draws no pictures")


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


def signature(given: Given) -> Results:
    """What the figures depend on."""
    import sacrebleu
    import sklearn

    model, noise = given.model, given.noise
    digest = hashlib.blake2b("\n".join(given.texts).encode(errors="surrogatepass"), digest_size=6)
    return {
        "model": model.fingerprint,
        "system": model.recipe.system,
        "tokenizer": model.tokenizer.fingerprint,
        "judge": given.judge.fingerprint if given.judge else "",
        "test": digest.hexdigest(),
        "test_texts": len(given.texts),
        "grammar_spelling": "She sang ." if given.spaced else "She sang.",
        "noise_of_sums": model.default_noise(noise),
        "noise_of_blends": model.default_noise(noise, BLEND_NOISE),
        "noise_of_samples": model.default_noise(noise, SAMPLE_NOISE),
        "seed": given.seed,
        "sizes": asdict(given.sizes),
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

    def likelihood(self) -> Results:
        return likelihood(self.z, self.kept.wanted, len(self.get().weights), self.seed)
