"""TextModel = network + tokenizer: the methods that users call, on text.

An ability is a method. A system offers those that it can; any other answers with an error that lists what this
system can do. CLI verbs and HTTP routes have the same names.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.diagnose import Diagnosis, Reference, diagnose
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.sampling import generate
from lexigraph.decoding.scoring import token_log_probabilities
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.arithmetic import combine, parse
from lexigraph.latent.geometry import blend, neighbours, steps_between, triangle
from lexigraph.latent.mixture import Mixture
from lexigraph.latent.pictures import load_picture, save_picture
from lexigraph.latent.space import Space
from lexigraph.nn.linear import quantise
from lexigraph.objectives.next_token import token_nll
from lexigraph.recipe import Recipe
from lexigraph.registry import nearest, system
from lexigraph.run import Run
from lexigraph.text.clean import cleaner
from lexigraph.text.corpus import special_id
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.training.checkpoint import load_weights
from lexigraph.training.distribution import choose_device

ABILITIES = (
    *("encode", "decode", "pictures", "read", "blend", "solve", "sample", "neighbours"),
    *("generate", "complete", "score", "rank", "translate", "fill", "tag", "classify"),
    *("answer", "parse", "caption", "match"),
)

BATCH_SIZE = 32  # prompts searched at once
SUM_BLUR = 0.5  # of sums, unless told otherwise: near a sentence, if the sum makes sense
BLEND_BLUR = 4.0  # of blends: far from any sentence, a likely one is wanted
SAMPLE_BLUR = 1.5  # of samples, which are about as likely then as real sentences
MIXTURE = "mixture.safetensors"
TOKENIZER, SOURCE_TOKENIZER = "tokenizer.json", "source-tokenizer.json"
MASK = "<mask>"  # what stands in a text where a token is to be filled in


@dataclass(frozen=True)
class Scored:
    """A text with its log-probability (nats), and what it was sorted by."""

    text: str
    log_probability: float
    tokens: int
    score: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Translation(Scored):
    """A translation and, if it was asked for, where the model looked: `alignment[t, s]` is how much at piece s of the
    source while it wrote piece t of the target; each row adds up to 1."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    alignment: Float[np.ndarray, "target source"] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Neighbour:
    """A text and how near it is."""

    text: str
    similarity: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Filling:
    """A text with its gaps filled, what was put there, and how probable that is."""

    text: str
    tokens: tuple[str, ...]
    probability: float

    def __str__(self) -> str:
        return self.text


class AbilityError(LexigraphError, AttributeError):
    """The model cannot do this."""


class TextModel:
    """A trained model. Make one with `lexigraph.load` or `lexigraph.train`."""

    def __init__(
        self,
        network: Any,
        tokenizer: Tokenizer,
        recipe: Recipe,
        path: Path | None = None,
        source_tokenizer: Tokenizer | None = None,  # None: the same
    ) -> None:
        self.network, self.tokenizer, self.recipe, self.path = network, tokenizer, recipe, path
        self.source_tokenizer = source_tokenizer or tokenizer
        self._clean = cleaner(recipe.data.clean) if recipe.data.clean else None
        self.network.eval()
        self.int8 = False

    def quantise(self) -> TextModel:
        """Multiply in 8 bits from now on (nn/linear.py): faster on a CPU, and a little less exact."""
        if self.device.type != "cpu":
            raise UsageError(f"8-bit products are for the CPU, and this model is on {self.device}.")
        self.int8 = quantise(self.network) > 0
        return self

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto", int8: bool = False) -> TextModel:
        """The model in a run folder; `int8`: on the CPU, with products in 8 bits."""
        run = Run.open(folder)
        recipe = run.recipe()
        tokenizer, source_tokenizer = load_tokenizers(run.path, recipe)
        network = build(recipe, tokenizer, source_tokenizer)
        if not run.finished and not (run.path / "model.safetensors").exists():
            raise LexigraphError(f"{run.path} is not trained yet: lexigraph train --out {run.path} --resume goes on.")
        load_weights(network, run.path / "model.safetensors")
        chosen = choose_device(device)
        if device == "auto" and (int8 or chosen.type == "mps"):
            chosen = torch.device("cpu")  # searches sum in float64, which MPS does not have
        model = cls(network.to(chosen), tokenizer, recipe, run.path, source_tokenizer)
        return model.quantise() if int8 else model

    @property
    def abilities(self) -> tuple[str, ...]:
        """What this model can do: the names of methods."""
        return system(self.recipe.system).abilities

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def __getattr__(self, name: str) -> Any:
        if name in ABILITIES:
            self._require(name)
        raise AttributeError(f"TextModel has no attribute {name!r}{nearest(name, ABILITIES)}")

    def __repr__(self) -> str:
        count = sum(p.numel() for p in self.network.parameters())
        return f"TextModel({self.recipe.system}, {count:,} parameters, can {', '.join(self.abilities)})"

    def _require(self, ability: str) -> None:
        if ability not in self.abilities:
            can = ", ".join(self.abilities)
            raise AbilityError(f"A {self.recipe.system} model cannot {ability}; it can: {can}.")

    # ---- language models ---------------------------------------------------------------------------------

    def generate(
        self,
        prompts: str | Sequence[str] = "",
        *,
        max_new: int = 40,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        beam: int = 1,
        alpha: float = 0.7,
        noise: float = 0.0,
        seed: int = 0,
        batch_size: int = BATCH_SIZE,
        on_text: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Each prompt with its continuation. The same seed gives a prompt the same text, alone or among others.

        temperature 0 takes the most probable token each time; `beam` > 1 searches instead of sampling.

            >>> model.generate(["once upon"], max_new=20)        # doctest: +SKIP
            ['once upon a time there was …']
        """
        self._require("generate")
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        texts = []
        for first in range(0, len(prompts), batch_size):
            chunk = prompts[first : first + batch_size]
            batch = self._prompts(chunk)
            if beam > 1:
                found = [best[0] for best in self._search(batch, beam, max_new, alpha, 1)]
            else:
                found = generate(
                    self.network,
                    batch,
                    eos=self.tokenizer.eos,
                    max_new=max_new,
                    temperature=temperature,
                    top_k=top_k,
                    top_p=top_p,
                    noise=noise,
                    seeds=list(_seeds(chunk, seed, prompts[:first])),
                    banned=self._banned,
                    on_token=self._speaker(chunk, on_text),
                )
            texts += [self._joined(p, h) for p, h in zip(chunk, found, strict=True)]
        return texts

    def complete(
        self, prompt: str, *, n_best: int = 5, beam: int = 0, max_new: int = 40, alpha: float = 0.7
    ) -> list[Scored]:
        """The most probable ways to finish a text, by beam search, best first."""
        self._require("complete")
        found = self._search(self._prompts([prompt]), max(beam, n_best), max_new, alpha, n_best)[0]
        return [Scored(self._joined(prompt, h), h.log_probability, h.produced, h.score) for h in found]

    def score(
        self, texts: str | Sequence[str], *, ended: bool = True, sources: str | Sequence[str] | None = None
    ) -> list[float]:
        """Natural-log probability of each text, its end included; `ended=False` scores the text as a beginning.

        sources: of a translator, what each text is to be a translation of.
        """
        self._require("score")
        if ("translate" in self.abilities) != (sources is not None):
            how = "translations: give sources" if sources is None else "texts alone: leave out sources"
            raise UsageError(f"A {self.recipe.system} model scores {how}.")
        if sources is not None:
            both = ([side] if isinstance(side, str) else list(side) for side in (sources, texts))
            return self._pair_scores(*both)
        if "encode" in self.abilities:  # of each text given its own vector
            if not ended:
                raise UsageError("An autoencoder scores whole sentences only: leave out ended=False (--prefix).")
            rows = self._sentences(texts)
            return self.space.log_probabilities(self.space.encode(rows), rows).tolist()
        return [float(values.sum()) for values in self.token_scores(texts, ended=ended)]

    def token_scores(self, texts: str | Sequence[str], *, ended: bool = True) -> list[np.ndarray]:
        """Natural-log probability of every token of each text."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        begin, eos = self.tokenizer.begin, self.tokenizer.eos
        sequences = [np.array([begin, *self._encode(text)] + [eos] * ended) for text in texts]
        return token_log_probabilities(self.network, sequences, self.device)

    def rank(
        self,
        candidates: Sequence[str],
        *,
        prompt: str = "",
        examples: Sequence[str] = (),
        separator: str = "\n",
        by: str = "sum",
        ended: bool = True,
    ) -> list[Scored]:
        """The candidates by their probability after `prompt`, the most probable first.

        examples: whole texts that show what is wanted, before the prompt: none, one or a few "shots".
        by: "sum" of log p; "mean", of its tokens, which does not favour the short; "gain" over the candidate's log p
            by itself, which does not favour the common.
        `ended=False` leaves open how the text goes on: "The key to the cabinets is" need not be a whole text.

            >>> model.rank([" good", " bad"], prompt="I loved it. Mood:",
            ...            examples=["It was dull. Mood: bad"], ended=False)        # doctest: +SKIP
        """
        self._require("rank")
        if by not in (ways := ("sum", "mean", "gain")):
            raise UsageError(f"Candidates are ranked by {', '.join(ways)}, not by {by!r}.")
        own = self._continued("".join(text + separator for text in examples) + prompt, candidates, ended)
        alone = self._continued("", candidates, ended) if by == "gain" else own
        ranked = []
        for candidate, values, bare in zip(candidates, own, alone, strict=True):
            total = float(values.sum())
            score = {"sum": total, "mean": total / max(1, len(values)), "gain": total - float(bare.sum())}[by]
            ranked.append(Scored(candidate, total, len(values), score))
        return sorted(ranked, key=lambda item: -item.score)

    def _continued(self, prompt: str, candidates: Sequence[str], ended: bool) -> list[Float[np.ndarray, " T"]]:
        """Natural-log probabilities of the candidates' tokens after the prompt."""
        texts = [prompt + candidate for candidate in candidates]
        given = _common_length([self._encode(text) for text in [prompt, *texts]])
        return [values[given:] for values in self.token_scores(texts, ended=ended)]

    def search(
        self, prompts: Sequence[Sequence[int]], *, width: int, max_new: int = 60, alpha: float = 0.7
    ) -> list[Hypothesis]:
        """The best continuation of each prompt of token ids, by beam search."""
        self._require("complete")
        found: list[Hypothesis] = []
        for first in range(0, len(prompts), BATCH_SIZE):
            batch = self._batch([[self.tokenizer.begin, *row] for row in prompts[first : first + BATCH_SIZE]])
            found += [best[0] for best in self._search(batch, width, max_new, alpha, 1)]
        return found

    def diagnose(
        self, texts: Sequence[str], *, prompt_tokens: int = 3, beam: int = 5, alpha: float = 0.7, max_new: int = 60
    ) -> Diagnosis:
        """Whether errors belong to the search or to the model.

        The model sees the first tokens of each text and searches for the rest. If the true rest is more probable
        than what was found, the search failed; if it is less probable, the model prefers another text.
        """
        ids = [self._encode(text) for text in texts]
        found = self.search([row[:prompt_tokens] for row in ids], width=beam, max_new=max_new, alpha=alpha)
        rest = [values[prompt_tokens:] for values in self.token_scores(texts)]
        references = [Reference(tuple(row[prompt_tokens:]), float(v.sum())) for row, v in zip(ids, rest, strict=True)]
        return diagnose(found, references, alpha)

    # ---- encoders ----------------------------------------------------------------------------------------

    def fill(self, text: str, *, k: int = 5) -> list[Filling]:
        """The k most probable fillings of a text with one or more gaps, written <mask>; best first.

        Several gaps are filled from left to right by beam search, so that later tokens agree with earlier ones.

            >>> [str(f) for f in model.fill("She <mask> .", k=2)]        # doctest: +SKIP
            ['She laughed .', 'She slept .']
        """
        self._require("fill")
        if k < 1:
            raise UsageError(f"k = {k} fillings were asked for: ask for at least one.")
        network, special = self.network, set(self.tokenizer.special.values())
        rows, scores = torch.tensor([self._with_gaps(text)], device=self.device), torch.zeros(1, device=self.device)
        gaps = (rows[0] == network.config.mask).nonzero().flatten()
        for gap in gaps:
            with torch.inference_mode():
                logits = network.masked_logits(rows, None, gap.expand(len(rows), 1))[:, 0]
            found = scores[:, None] + logits.float().log_softmax(1)
            found[:, sorted(special)] = -torch.inf
            scores, best = found.flatten().topk(min(k, len(rows) * (found.shape[1] - len(special))))
            rows = rows[best // found.shape[1]]
            rows[:, gap] = best % found.shape[1]
        texts = self.tokenizer.decode_batch(rows[:, 1:-1].cpu().numpy())
        tokens = [tuple(map(self._shown, row)) for row in rows[:, gaps].tolist()]
        return [Filling(*found) for found in zip(texts, tokens, scores.exp().tolist(), strict=True)]

    def _with_gaps(self, text: str) -> list[int]:
        """The tokens of a text between boundaries, the mask token where a gap is marked."""
        config, kind = self.network.config, self.tokenizer.kind
        takes_space = self.tokenizer.keeps_whitespace and kind != "char"  # a word's token, the one before the word
        names = {MASK} | {name for name, token in self.tokenizer.special.items() if token == config.mask}
        parts = re.split("|".join(map(re.escape, names)), text)
        if len(parts) == 1:
            raise UsageError(f"There is no gap to fill: write {MASK} where a word is missing, as in She {MASK} .")
        ids: list[int] = []
        for number, part in enumerate(parts):
            ids += [config.mask] * (number > 0)
            if takes_space and number < len(parts) - 1:
                part = part.rstrip(" ")
            if kind == "sentencepiece" and number:
                part = part.removeprefix(" ")  # the tokenizer puts one there
            cleaned = (self._clean(part) or "") if self._clean else part
            spaced = takes_space and number > 0 and part[:1] == " " and cleaned[:1].strip()  # cleaning took it
            ids += self._tokens([" " * bool(spaced) + cleaned])[0][0].tolist() if cleaned else []
        if len(ids) > self._longest:
            raise LexigraphError(
                f"The text has {len(ids):,} tokens, and this model reads at most {self._longest}: shorten it."
            )
        return [config.begin, *ids, config.end]

    def _shown(self, token: int) -> str:
        """A token as a person reads it."""
        return self.tokenizer.decode([token]).strip() or self.tokenizer.tokens([token])[0]

    def _pooled(self, texts: str | Sequence[str], pooling: str) -> Float32[np.ndarray, "n dim"]:
        """One vector for each text from the vectors of its tokens."""
        if pooling not in ("mean", "cls"):
            raise UsageError(f"There is no pooling {pooling!r}: choose mean or cls.")
        config, rows = self.network.config, self._sentences(texts)
        z = np.zeros((len(rows), config.dim), np.float32)
        order = np.argsort([len(row) for row in rows], kind="stable")  # like lengths together
        for first in range(0, len(rows), BATCH_SIZE):
            chosen = order[first : first + BATCH_SIZE]
            batch = self._batch([[config.begin, *rows[i].tolist(), config.end] for i in chosen])
            with torch.inference_mode():
                hidden = self.network.hidden(batch["ids"], batch["lengths"]).float()
            if pooling == "mean":  # over all places, those of the boundaries too
                seen = torch.arange(hidden.shape[1], device=self.device) < batch["lengths"][:, None]
                pooled = (hidden * seen.unsqueeze(2)).sum(1) / batch["lengths"][:, None]
            else:
                pooled = hidden[:, 0]
            z[chosen] = pooled.cpu().numpy()
        return z

    # ---- translators -------------------------------------------------------------------------------------

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 0.7,
        n_best: int = 1,
        alignment: bool = False,
        direction: str = "",
    ) -> list[str] | list[list[Translation]]:
        """The translation of each text; with n_best > 1 or alignment, the best few of each as `Translation`.

        alignment: say also where the model looked while it wrote.
        direction: the special token of the language or task that is wanted, if the model was taught several.

            >>> model.translate(["A man sleeps."])        # doctest: +SKIP
            ['Ein Mann schläft.']
        """
        self._require("translate")
        lead = [special_id(self.source_tokenizer, direction)] if direction else []
        rows = [np.array([*lead, *row]) for row in self._sentences(texts)]
        found = self.translations(rows, beam=max(beam, n_best), alpha=alpha, n_best=n_best, alignment=alignment)
        if n_best == 1 and not alignment:
            return self.tokenizer.decode_batch([best[0].tokens for best in found])
        return [[self._translation(row, each) for each in best] for row, best in zip(rows, found, strict=True)]

    def translations(
        self,
        sources: Sequence[np.ndarray],
        *,
        beam: int = 5,
        alpha: float = 0.7,
        n_best: int = 1,
        alignment: bool = False,
    ) -> list[list[Hypothesis]]:
        """The same on token ids, boundaries neither given nor returned.

        Sources of like length are searched together, and how long a target may be depends on that length, so that a
        text is translated alike in any company.
        """
        network = self.network
        found: dict[int, list[Hypothesis]] = {}
        lengths = np.array([len(row) for row in sources]) // 8
        for like in np.unique(lengths):
            chosen = np.flatnonzero(lengths == like)
            for first in range(0, len(chosen), BATCH_SIZE):
                places = chosen[first : first + BATCH_SIZE]
                batch = self._batch([[*network.lead, *sources[i].tolist(), network.end] for i in places])
                best = beam_search(
                    network,
                    batch,
                    eos=self.tokenizer.eos,
                    width=beam,
                    max_new=min(network.context, 2 * 8 * (int(like) + 1) + 10),
                    alpha=alpha,
                    n_best=n_best,
                    banned=self._banned,
                    attention=alignment,
                )
                found |= dict(zip(places.tolist(), best, strict=True))
        return [found[i] for i in range(len(sources))]

    def _translation(self, source: np.ndarray, found: Hypothesis) -> Translation:
        """A hypothesis as text, with the pieces that its alignment speaks of."""
        scored = self.tokenizer.decode(found.tokens), found.log_probability, found.produced, found.score
        if found.attention is None:
            return Translation(*scored)
        network, end = self.network, [self.tokenizer.eos] * found.finished
        read = self.source_tokenizer.tokens([*network.lead, *source.tolist(), network.end])
        written = self.tokenizer.tokens([*found.tokens, *end])
        return Translation(*scored, tuple(read), tuple(written), found.attention[:, : len(read)].numpy())

    def _pair_scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Natural-log probability of each target, its end included, given its source."""
        if len(sources) != len(targets):
            raise UsageError(f"There are {len(targets)} texts and {len(sources)} sources: give one for each.")
        columns = {"source": self._sentences(sources), "target": self.rows(targets)[0]}
        eos, scores = self.tokenizer.eos, []
        for first in range(0, len(sources), BATCH_SIZE):
            part = {
                side: [np.array([eos, *row, eos]) for row in rows[first : first + BATCH_SIZE]]
                for side, rows in columns.items()
            }
            with torch.inference_mode():
                terms, _ = self.network.loss(self.network.prepare(part).to(self.device))
            scores += (-token_nll(terms).double().sum(1)).tolist()
        return scores

    # ---- sentence spaces ---------------------------------------------------------------------------------

    def encode(
        self, texts: str | Sequence[str], *, lossless: bool = False, pooling: str | None = None
    ) -> Float32[np.ndarray, "n latent"]:
        """The vector of each text.

        lossless: move the vectors of texts that would not come back until their 8-bit pictures are read exactly;
            warns where none was found.
        pooling: of an encoder, which has a vector for every token: their mean (if None), or "cls", the first one.

            >>> model.encode(["She laughed ."]).shape        # doctest: +SKIP
            (1, 256)
        """
        self._require("encode")
        if "decode" not in self.abilities:
            if lossless:
                raise UsageError("An encoder does not give texts back: leave out lossless=True (--lossless).")
            return self._pooled(texts, pooling or "mean")
        if pooling is not None:
            raise UsageError("An autoencoder has one vector for a text: leave out pooling (--pooling).")
        rows = self._sentences(texts)
        z = self.space.encode(rows)
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
        blur: float | np.ndarray = 0.0,
        alpha: float = 0.7,
    ) -> list[str] | list[list[Scored]]:
        """The sentence of each vector; with n_best > 1, the best few of each with their scores.

        blur: how far the vector may be from the sentence that is meant, in standard deviations of its entries: 0
            takes it at its word, 0.5 to 1 prefers a likely sentence near it.
        """
        self._require("decode")
        found = self.hypotheses(z, beam=beam, n_best=n_best, blur=blur, alpha=alpha)
        return [row[0].text for row in found] if n_best == 1 else found

    def hypotheses(self, z: np.ndarray, **search: Any) -> list[list[Scored]]:
        """As `decode`, always with scores."""
        self._require("decode")
        return self._told(self.space.decode(self._vectors(z), **search))

    def pictures(self, z: np.ndarray | str | Sequence[str]) -> UInt8[np.ndarray, "n side side 3"]:
        """The picture of each vector (or text), 8 bits a channel."""
        self._require_pictures("pictures")
        return self.space.draw(self._vectors(z) if isinstance(z, np.ndarray) else self.encode(z))

    def read(
        self,
        pictures: UInt8[np.ndarray, "*n side side 3"] | str | Path | Sequence[str | Path],
        *,
        beam: int = 1,
        blur: float | np.ndarray = 0.0,
    ) -> list[str]:
        """The sentence in each picture: an array, or PNG files that this model drew (`save_pictures`)."""
        self._require_pictures("read")
        side = self.network.config.side
        if isinstance(pictures, str | Path):
            pictures = [pictures]
        if not isinstance(pictures, np.ndarray):
            loaded = [load_picture(file, self.fingerprint, side) for file in pictures]
            pictures = np.stack(loaded) if loaded else np.zeros((0, side, side, 3), np.uint8)
        pictures = pictures[None] if pictures.ndim == 3 else pictures
        if pictures.dtype != np.uint8 or pictures.shape[1:] != (side, side, 3):
            raise LexigraphError(
                f"These are not pictures of this model: it reads arrays of uint8 and shape (n, {side}, {side}, 3), "
                f"not {pictures.dtype} and {pictures.shape}."
            )
        return [row[0].text for row in self._told(self.space.read(pictures, beam=beam, blur=blur))]

    def save_pictures(self, z: np.ndarray | str | Sequence[str], folder: str | Path) -> list[Path]:
        """Draw each vector (or text) into a PNG file that carries this model's fingerprint."""
        drawn = self.pictures(z)
        files = [Path(folder) / f"{number:04d}.png" for number in range(len(drawn))]
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file, pixels in zip(files, drawn, strict=True):
            save_picture(file, pixels, self.fingerprint)
        return files

    def blend(
        self,
        *texts: str,
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
        beam: int = 1,
        blur: float | None = None,
    ) -> list[Scored]:
        """Sentences on the way from one text to another, or in the triangle between three.

        weights: rows of one weight per text instead of even steps; they may lie outside 0 to 1.
        how: "linear", or "spherical": along the great circle.
        blur: as in `decode`; None: none at the texts themselves, and much between them.

            >>> [str(s) for s in model.blend("He slept .", "They sang .", steps=3)]        # doctest: +SKIP
            ['He slept .', 'They slept .', 'They sang .']
        """
        path, matrix = self.path_between(*texts, steps=steps, weights=weights, how=how)
        if blur is None:
            between = np.sort(np.abs(matrix), 1)[:, :-1].max(1) > 1e-9
            return self._best(path, beam, between * self.default_blur(None, BLEND_BLUR))
        return self._best(path, beam, blur)

    def path_between(
        self,
        *texts: str,
        steps: int = 7,
        weights: Sequence[Sequence[float]] | np.ndarray | None = None,
        how: str = "linear",
    ) -> tuple[Float[np.ndarray, "steps latent"], Float[np.ndarray, "steps texts"]]:
        """The vectors that `blend` decodes, and their weights."""
        self._require("blend")
        if len(texts) < 2:
            raise UsageError("Blending takes at least two texts.")
        if weights is None and len(texts) > 3:
            raise UsageError("Steps lead between two texts or in the triangle of three: give weights for more.")
        if weights is None:
            weights = steps_between(steps) if len(texts) == 2 else triangle(steps)
        matrix = np.asarray(weights, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(texts):
            raise UsageError(f"Weights are rows of {len(texts)} numbers, one for each text.")
        return blend(self.encode(texts), matrix, how), matrix

    def solve(self, expression: str, *, beam: int = 1, n_best: int = 1, blur: float | None = None) -> list[Scored]:
        """Vector arithmetic, written as a person would: `They ran . - He ran . + He sings .`

        Each sentence may have a weight before it (`- 0.5 He ran .`); quotes protect signs and numbers inside one.
        Warns about sentences that the model does not give back exactly, because then the result means little.
        """
        self._require("solve")
        parts = parse(expression)
        texts = [part.text for part in parts]
        z = self.encode(texts)
        for text, back in zip(texts, self.decode(z), strict=True):
            if back != self._normalised(text):
                warnings.warn(f"The model reads {text!r} as {back!r}: the result may be off.", stacklevel=2)
        target = combine(z, [part.weight for part in parts])
        return self.hypotheses(target[None], beam=beam, n_best=n_best, blur=self.default_blur(blur, SUM_BLUR))[0]

    def sample(
        self,
        count: int = 10,
        *,
        component: int | None = None,
        plain: bool = False,
        temperature: float = 1.0,
        blur: float | None = None,
        beam: int = 1,
        seed: int = 0,
    ) -> list[Scored]:
        """New sentences: vectors drawn from the mixture of normal distributions that the training left, decoded.

        component: draw from this one of the mixture only, counted from 0.
        plain: draw from one normal distribution with the mean and covariance of the whole mixture.
        """
        self._require("sample")
        mixture = self.mixture.merged() if plain else self.mixture
        z, _ = mixture.sample(count, seed, component, temperature)
        return self._best(z, beam, self.default_blur(blur, SAMPLE_BLUR))

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

    def neighbours(
        self, texts: str | Sequence[str], among: Sequence[str], *, k: int = 5, measure: str = "cosine"
    ) -> list[list[Neighbour]]:
        """The k texts of `among` whose vectors are nearest to each of `texts`."""
        self._require("neighbours")
        places, similarity = neighbours(self.encode(texts), self.encode(among), k, measure)
        return [
            [Neighbour(among[i], float(s)) for i, s in zip(row, values, strict=True)]
            for row, values in zip(places, similarity, strict=True)
        ]

    @cached_property
    def space(self) -> Space:
        """The network as a space of sentences, on token ids and arrays."""
        return Space(self.network, self.tokenizer.eos, self._banned)

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that name these weights and this tokenizer; pictures carry it."""
        digest = hashlib.blake2b(self.tokenizer.fingerprint.encode(), digest_size=8)
        if self.recipe.tokenizer.separate:
            digest.update(self.source_tokenizer.fingerprint.encode())
        for name, value in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def _best(self, z: np.ndarray, beam: int, blur: float | np.ndarray) -> list[Scored]:
        return [row[0] for row in self.hypotheses(z, beam=beam, blur=blur)]

    def default_blur(self, blur: float | None, usual: float = SUM_BLUR) -> float:
        """What is asked for, or the usual, as far as the model knows blur."""
        return min(usual, getattr(self.network.objective, "blur", 0.0)) if blur is None else blur

    def _told(self, found: list[list[Hypothesis]]) -> list[list[Scored]]:
        texts = iter(self.tokenizer.decode_batch([h.tokens for row in found for h in row]))
        return [[Scored(next(texts), h.log_probability, h.produced, h.score) for h in row] for row in found]

    def rows(self, texts: Sequence[str], *, source: bool = False) -> tuple[list[np.ndarray], int]:
        """The tokens of texts that are cleaned as the training text was, and how many of their words are unknown.

        source: as a translator reads them, not as it writes them.
        """
        return self._tokens([self._clean(text) or "" for text in texts] if self._clean else list(texts), source)

    def _tokens(self, cleaned: Sequence[str], source: bool = False) -> tuple[list[np.ndarray], int]:
        tokenizer = self.source_tokenizer if source else self.tokenizer
        rows, unk = tokenizer.encode_batch(cleaned), tokenizer.unk
        unknown = sum(int((row == unk).sum()) for row in rows)
        if unknown and self.recipe.data.rare:  # such words left the lines of the training text
            rows = [row[row != unk] for row in rows]
        return rows, unknown

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text can be encoded: it holds something, and not more than a sentence of this model may."""
        return [0 < len(row) <= self._longest for row in self.rows(texts, source=True)[0]]

    @property
    def _longest(self) -> int:
        """The most tokens of a sentence, without boundaries; an autoencoder's context counts its end."""
        return self.network.context - bool({"decode", "translate"} & set(self.abilities))

    def _sentences(self, texts: str | Sequence[str]) -> list[np.ndarray]:
        """The tokens of texts that fit into the space, or a sentence that says which one does not, and why."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        rows, unknown = self.rows(texts, source=True)
        longest = self._longest
        for number, (text, row) in enumerate(zip(texts, rows, strict=True), 1):
            which = f"Text {number} of {len(texts)}" if len(texts) > 1 else "The text"
            if not len(row):
                why = "is empty" if not text.strip() else f"({text[:40]!r}) has nothing left after cleaning"
                raise LexigraphError(f"{which} {why}: there is nothing to encode.")
            if len(row) > longest:
                raise LexigraphError(
                    f"{which} has {len(row):,} tokens, and this model reads sentences of at most {longest}: "
                    "give it one sentence at a time."
                )
        if unknown:
            warnings.warn(f"{unknown} words are not in the vocabulary and cannot come back.", stacklevel=3)
        return rows

    def _normalised(self, text: str) -> str:
        """A text as the model could at best give it back."""
        return self.tokenizer.decode(self._encode(text))

    def _vectors(self, z: np.ndarray) -> Float32[np.ndarray, "n latent"]:
        """Vectors of this space, or a sentence that says why these are none."""
        z = np.asarray(z)
        z = z[None] if z.ndim == 1 else z
        size = self.network.latent
        if z.ndim != 2 or z.shape[1] != size or z.dtype.kind not in "fiu":
            raise LexigraphError(f"Vectors of this model have {size} numbers each; these have the shape {z.shape}.")
        if not np.isfinite(z).all():
            row = int(np.flatnonzero(~np.isfinite(z).all(1))[0])
            raise LexigraphError(f"Vector {row} holds values that are not numbers (nan or inf).")
        return z.astype(np.float32)

    def _require_pictures(self, ability: str) -> None:
        self._require(ability)
        if not self.network.draws:
            raise LexigraphError("This model has a linear head: it draws and reads no pictures.")

    # ---- between text and search -------------------------------------------------------------------------

    @property
    def _banned(self) -> list[int]:
        special = set(self.tokenizer.special.values())
        return sorted(special - {self.tokenizer.eos})

    def _prompts(self, prompts: Sequence[str]) -> dict[str, Tensor]:
        return self._batch([[self.tokenizer.begin, *self._encode(prompt)] for prompt in prompts])

    def _encode(self, text: str) -> list[int]:
        return self.rows([text])[0][0].tolist()

    def _batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        ids = torch.full((len(rows), max(map(len, rows))), self.tokenizer.pad)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
        return {"ids": ids.to(self.device), "lengths": lengths}

    def _search(
        self, batch: dict[str, Tensor], width: int, max_new: int, alpha: float, n_best: int
    ) -> list[list[Hypothesis]]:
        return beam_search(
            self.network,
            batch,
            eos=self.tokenizer.eos,
            width=width,
            max_new=max_new,
            alpha=alpha,
            n_best=n_best,
            banned=self._banned,
        )

    def _joined(self, prompt: str, hypothesis: Hypothesis) -> str:
        """Prompt and continuation as one text, decoded together so that the seam is right."""
        return self.tokenizer.decode([*self._encode(prompt), *hypothesis.tokens])

    def _speaker(
        self, prompts: Sequence[str], on_text: Callable[[str], None] | None
    ) -> Callable[[int, int], None] | None:
        """Turns tokens into text as they come, for one prompt at a time."""
        if on_text is None or len(prompts) != 1:
            return None
        ids = self._encode(prompts[0])
        said = self.tokenizer.decode(ids)
        on_text(said)

        def speak(_: int, token: int) -> None:
            nonlocal said
            ids.append(token)
            text = self.tokenizer.decode(ids)
            if text.startswith(said) and not text.endswith("\ufffd"):  # half a character waits for its other half
                on_text(text[len(said) :])
                said = text

        return speak


def load_tokenizers(folder: Path, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizer of a run's texts or targets, and that of its sources: the same one, unless they are separate."""
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return tokenizer, Tokenizer.load(folder / SOURCE_TOKENIZER) if recipe.tokenizer.separate else tokenizer


def build(recipe: Recipe, tokenizer: Tokenizer, source_tokenizer: Tokenizer | None = None) -> Any:
    """The untrained network of a recipe; with tokenizer.separate, sources have a tokenizer of their own."""
    more: dict[str, int] = {}
    if recipe.tokenizer.separate:
        if source_tokenizer is None:
            raise LexigraphError("With tokenizer.separate a network needs the tokenizer of its sources, too.")
        more["source_vocabulary"] = len(source_tokenizer)
    network = system(recipe.system).load()(recipe.model, recipe.objective, len(tokenizer), tokenizer.pad, **more)
    if hasattr(network, "learn_vocabulary"):  # what it must know of tokens besides their number
        network.learn_vocabulary(tokenizer)
    return network


def _common_length(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; a token may reach over the seam of a prompt and what follows it."""
    columns = zip(*rows, strict=False)
    return next((n for n, column in enumerate(columns) if len(set(column)) > 1), min(map(len, rows)))


def _seeds(prompts: Sequence[str], seed: int, before: Sequence[str]) -> Iterator[int]:
    """A seed for each prompt that depends on the prompt and how often it came before, not on its neighbours."""
    seen = {prompt: before.count(prompt) for prompt in set(prompts)}
    for prompt in prompts:
        text = f"{seed}:{seen[prompt]}:{prompt}".encode(errors="surrogatepass")
        seen[prompt] += 1
        yield int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")
