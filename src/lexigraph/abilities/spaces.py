"""What a space of sentences can do: texts as vectors and back, blends, sums, samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Unpack, overload

import numpy as np
from jaxtyping import Float, Float32

from lexigraph.abilities.asking import TextError, many, number, one_or_many, whole
from lexigraph.abilities.decoded import Decoded, with_confidence
from lexigraph.abilities.directions import To
from lexigraph.abilities.textmodel import Scored
from lexigraph.abilities.vectors import Vectors
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.arithmetic import total
from lexigraph.latent.expression import ExpressionError, Part, parse
from lexigraph.latent.geometry import blend, steps_between, triangle
from lexigraph.latent.mixture import Mixture
from lexigraph.latent.space import Search, Space
from lexigraph.nn.autoencoder import Autoencoder
from lexigraph.run import Run
from lexigraph.text.tables import Table

SUM_NOISE = 0.7  # of sums, unless the caller says otherwise: near a sentence, if the sum makes sense
BLEND_NOISE = 4.0  # of blends: far from any sentence, a likely one is wanted
SAMPLE_NOISE = 1.5  # of samples, which are about as likely then as real sentences
MIXTURE = "mixture.safetensors"


class SentenceSpace(Vectors):
    """A vector for a text, and a text for a vector."""

    network: Autoencoder

    @one_or_many
    def encode(
        self,
        texts: Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n latent"]:
        """The vector of each text.

        lossless: move the vectors of texts that would not come back until their 8-bit pictures are read exactly;
            warns where none was found.
        unnormalised: keep the vectors' own lengths, which grow with the text, for arithmetic; pictures and sentences
        do not
            depend on them.

            >>> model.encode(["She laughed ."]).shape        # doctest: +SKIP
            (1, 256)
        """
        if pooling is not None:
            raise UsageError("An autoencoder has one vector for a text: leave out pooling (--pooling).")
        if lossless and unnormalised:
            raise UsageError("Refined vectors have no lengths of their own: choose lossless or unnormalised.")
        rows = self._sentences(texts)
        z = self.space.encode(rows, unnormalised)
        if not lossless:
            return z
        z, exact = self.space.refine(z, rows)
        if lost := len(z) - int(exact.sum()):
            warnings.warn(f"For {lost} of {len(z)} texts no vector was found that is read exactly.", stacklevel=2)
        return z

    def decode(
        self,
        z: np.ndarray,
        *,
        beam: int = 1,
        n_best: int = 1,
        noise: float | np.ndarray = 0.0,
        alpha: float = 0.7,
        confidence: bool = False,
    ) -> str | list[str] | Decoded | list[Decoded] | list[list[Decoded]]:
        """The sentence of each vector, or of one; with n_best > 1, the best few of each with their scores.

        noise: how far the vector may be from the sentence that is meant, in standard deviations of its entries: 0
            takes it at its word, 0.5 to 1 prefers a likely sentence near it.
        confidence: each sentence as `Decoded`, with its scores and how far it is to be trusted, not as a string.
        """
        one = np.ndim(z) == 1
        if n_best == 1 and not confidence:
            texts = [row[0].text for row in self.hypotheses(z, beam=beam, noise=noise, alpha=alpha)]
            return texts[0] if one else texts
        found = self.decoded(z, beam=beam, n_best=n_best, noise=noise, alpha=alpha)
        if n_best == 1:
            return found[0][0] if one else [row[0] for row in found]
        return found[0] if one else found

    def hypotheses(self, z: np.ndarray, **search: Unpack[Search]) -> list[list[Scored]]:
        """As `decode`, always a list for each vector, with scores."""
        return self.scored(self._searched(self._vectors(z), **search))

    def decoded(self, z: np.ndarray, **search: Unpack[Search]) -> list[list[Decoded]]:
        """As `hypotheses`, with the confidence of each."""
        z = self._vectors(z)

        def again(texts: list[str]) -> np.ndarray:
            return self.space.encode(self.rows(texts)[0], unnormalised=True)

        return with_confidence(self, self._searched(z, **search), z, search.get("noise", 0.0), again)

    def _searched(self, z: Float32[np.ndarray, "n latent"], **search: Unpack[Search]) -> list[list[Hypothesis]]:
        whole(beam=search.get("beam", 1), n_best=search.get("n_best", 1))
        number(alpha=search.get("alpha", 0.7))
        return self.space.decode(z, **search)

    @overload
    def blend(
        self,
        *texts: str,
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
        beam: int = 1,
        noise: float | None = None,
        alpha: float = 0.7,
    ) -> list[Decoded]: ...
    @overload
    def blend(
        self,
        *texts: list[str] | tuple[str, ...],
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
        beam: int = 1,
        noise: float | None = None,
        alpha: float = 0.7,
    ) -> list[list[Decoded]]: ...
    def blend(
        self,
        *texts: str | list[str] | tuple[str, ...],
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
        beam: int = 1,
        noise: float | None = None,
        alpha: float = 0.7,
    ) -> list[Decoded] | list[list[Decoded]]:
        """Sentences on the way from one text to another, or in the triangle between three; lists of texts are blends
        of their own: blend(["He slept .", "They sang ."], ["It rained .", "It snowed ."]).

        weights: rows of one weight per text instead of even steps; they may lie outside 0 to 1.
        how: "linear", or "spherical": along the great circle.
        noise: as in `decode`; None: none at the texts themselves, and much between them.

            >>> [str(s) for s in model.blend("He slept .", "They sang .", steps=3)]        # doctest: +SKIP
            ['He slept .', 'They slept .', 'They sang .']
        """
        if len(texts) < 2 and isinstance(next(iter(texts), ""), str):
            raise UsageError("Blending takes at least two texts.")
        if not any(isinstance(each, str) for each in texts):
            rows = [many(each)[0] for each in many(texts, (list, tuple), "list of texts", alone=())[0]]
            return [self._blend(row, steps, weights, how, noise, beam, alpha) for row in rows]
        return self._blend(many(texts)[0], steps, weights, how, noise, beam, alpha)

    def _blend(
        self,
        texts: Sequence[str],
        steps: int,
        weights: Sequence[Sequence[float]] | np.ndarray | None,
        how: str,
        noise: float | None,
        beam: int,
        alpha: float,
    ) -> list[Decoded]:
        path, matrix = self.path_between(*texts, steps=steps, weights=weights, how=how)
        between = np.sort(np.abs(matrix), 1)[:, :-1].max(1) > 1e-9
        usual = between * self.default_noise(None, BLEND_NOISE)
        noises = usual if noise is None else noise
        return [row[0] for row in self.decoded(path, noise=noises, beam=beam, alpha=alpha)]

    def path_between(
        self,
        *texts: str,
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
    ) -> tuple[Float[np.ndarray, "steps latent"], Float[np.ndarray, "steps texts"]]:
        """The vectors that `blend` decodes, and their weights."""
        if len(texts) < 2:
            raise UsageError("Blending takes at least two texts.")
        whole(2, steps=steps)
        if weights is None and len(texts) > 3:
            raise UsageError("Steps lead between two texts or in the triangle of three: give weights for more.")
        if weights is None:
            weights = steps_between(steps) if len(texts) == 2 else triangle(steps)
        matrix = np.asarray(weights, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(texts):
            raise UsageError(f"Weights are rows of {len(texts)} numbers, one for each text.")
        return blend(self.encode(texts), matrix, how), matrix

    @one_or_many
    def solve(
        self,
        expressions: Sequence[str],
        *,
        beam: int = 1,
        n_best: int = 1,
        noise: float | None = None,
        alpha: float = 0.7,
    ) -> list[list[Decoded]]:
        """Sums of sentences, written as a person would: `They ran. - He ran. + 0.5 (a - b)`; the best few answers.

        Quotes protect signs and numbers inside a sentence; latent/expression.py has the grammar. Each answer carries
        its confidence. Warns about sentences that the model does not give back exactly: the result then means little.
        """
        whole(beam=beam, n_best=n_best)
        noise = self.default_noise(noise, SUM_NOISE)
        return self.decoded(self.sums(expressions), beam=beam, n_best=n_best, noise=noise, alpha=alpha)

    def sums(self, expressions: Sequence[str]) -> Float32[np.ndarray, "n latent"]:
        """The vectors that expressions add up to, if there is anything left of them; `decode` makes texts of them."""
        count, parsed, totals = len(expressions), [], []
        for place, expression in enumerate(expressions, 1):
            with _numbered(place, count):
                parsed.append(self._parsed(expression))
        texts = list(dict.fromkeys(part.text for parts in parsed for part in parts))
        z = self.encode(texts, unnormalised=True)
        for text, [back] in zip(texts, self.hypotheses(z), strict=True):
            if back.text != self._normalised(text):
                warnings.warn(f"The model reads {text!r} as {back.text!r}: the result may be off.", stacklevel=4)
        vectors = dict(zip(texts, z, strict=True))
        for place, (expression, parts) in enumerate(zip(expressions, parsed, strict=True), 1):
            with _numbered(place, count):
                totals.append(total(expression, parts, np.stack([vectors[part.text] for part in parts])))
        return np.stack(totals)

    def _parsed(self, expression: str) -> list[Part]:
        """The sentences of an expression, if the model can hold each of them."""
        parts = parse(expression)
        for part, fits in zip(parts, self.fits([part.text for part in parts]), strict=True):
            if not fits:
                try:
                    self._sentences([part.text])
                except TextError as error:
                    why = f"The sentence at character {part.at + 1} {error.why}"
                    raise ExpressionError(why, expression, part.at) from None
        return parts

    def sample(
        self,
        count: int = 10,
        *,
        component: int | None = None,
        plain: bool = False,
        temperature: float = 1.0,
        noise: float | None = None,
        beam: int = 1,
        alpha: float = 0.7,
        seed: int = 0,
    ) -> list[Scored]:
        """New sentences: vectors drawn from the mixture of normal distributions that the training left, decoded.

        component: draw from this one of the mixture only, counted from 0.
        plain: draw from one normal distribution with the mean and covariance of the whole mixture.
        """
        whole(count=count, beam=beam)
        number(0, temperature=temperature)
        whole(0, seed=seed)
        mixture = self.mixture.merged() if plain else self.mixture
        z, _ = mixture.sample(count, seed, component, temperature)
        noise = self.default_noise(noise, SAMPLE_NOISE)
        return [row[0] for row in self.hypotheses(z, beam=beam, alpha=alpha, noise=noise)]

    @cached_property
    def mixture(self) -> Mixture:
        """The mixture of normal distributions that was fitted to vectors of the training text."""
        if self.path is None or not (self.path / MIXTURE).exists():
            raise LexigraphError("This model has no mixture to sample from: fit one with model.fit_mixture(texts).")
        return Mixture.load(self.path / MIXTURE)

    def fit_mixture(self, texts: Sequence[str] | np.ndarray, components: int = 20, seed: int = 0) -> Mixture:
        """Fit the mixture that `sample` draws from to these texts or vectors; `mixture.save(path)` keeps it."""
        z = self._vectors(texts) if isinstance(texts, np.ndarray) else self.encode(texts)
        self.mixture = Mixture.fit(z, min(components, max(1, len(z) // 50)), seed)
        return self.mixture

    @one_or_many
    def score(self, texts: Sequence[str], *, ended: bool = True) -> list[float]:
        """Natural-log probability of each text, its end included, given its own vector."""
        if not ended:
            raise UsageError("An autoencoder scores whole sentences only: leave out ended=False (--prefix).")
        rows = self._sentences(texts)
        return self.space.log_probabilities(self.space.encode(rows), rows).tolist()

    def score_lines(self, lines: Sequence[str], *, ended: bool = True, to: To = None) -> list[float]:
        self._refuse_direction(to)
        return self.score(lines, ended=ended)

    def finish(self, run: Run, train: Table) -> str:
        """Fit the mixture that samples are drawn from to evenly chosen sentences of the training text."""
        if not self.recipe.eval.mixture:
            return ""
        starts, lengths = train.cut(self.network.traits)
        chosen = np.linspace(0, len(starts) - 1, min(len(starts), self.recipe.eval.mixture)).astype(int)
        rows = train.columns["text"].contents(starts[chosen], lengths[chosen])
        self.fit_mixture(self.space.encode(rows)).save(run.path / MIXTURE, force=True)
        return "Fitted a mixture of normal distributions to vectors of the training text, which samples come from."

    @cached_property
    def space(self) -> Space:
        """The network as a space of sentences, on token ids and arrays."""
        return Space(self.network, self.tokenizer.eos, self._banned)

    def default_noise(self, noise: float | None, usual: float = SUM_NOISE) -> float:
        """What is asked for, or the usual, as far as the model knows noise."""
        return min(usual, self.network.noise_level) if noise is None else noise

    def scored(self, found: list[list[Hypothesis]]) -> list[list[Scored]]:
        """Hypotheses as texts."""
        texts = iter(self.tokenizer.decode_batch([h.tokens for row in found for h in row]))
        return [[Scored(next(texts), h.log_probability, h.produced, h.score) for h in row] for row in found]

    def _asked_vectors(self, z: np.ndarray) -> Float32[np.ndarray, "*n latent"]:
        """As `_vectors`, one vector left as one."""
        return self._vectors(z)[0] if z.ndim == 1 else self._vectors(z)

    def _vectors(self, z: np.ndarray) -> Float32[np.ndarray, "n latent"]:
        """Vectors of this space, or a sentence that says why these are none."""
        z = np.asarray(z)
        z = z[None] if z.ndim == 1 else z
        size = self.network.latent
        if z.dtype.kind not in "fiu":
            raise LexigraphError(f"Vectors are numbers, and these hold {z.dtype}.")
        if z.ndim != 2 or z.shape[1] != size:
            raise LexigraphError(f"Vectors of this model have {size} numbers each; these have the shape {z.shape}.")
        if not np.isfinite(z).all():
            row = int(np.flatnonzero(~np.isfinite(z).all(1))[0])
            raise LexigraphError(f"Vector {row} holds values that are not numbers (nan or inf).")
        return z.astype(np.float32)


@contextmanager
def _numbered(number: int, count: int) -> Iterator[None]:
    """An error in one of several expressions says in which."""
    try:
        yield
    except LexigraphError as error:
        if count == 1:
            raise
        raise TextError(number, count, f"cannot be added up. {error}") from None
