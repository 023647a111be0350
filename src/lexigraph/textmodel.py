"""TextModel = network + tokenizer: the methods that users call, on text.

An ability is a method. A system offers those that it can; any other answers with an error that lists what this
system can do. CLI verbs and HTTP routes have the same names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.diagnose import Diagnosis, Reference, diagnose
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.sampling import generate
from lexigraph.decoding.scoring import token_log_probabilities
from lexigraph.errors import LexigraphError
from lexigraph.recipe import Recipe
from lexigraph.registry import nearest, system
from lexigraph.run import Run
from lexigraph.text.clean import cleaner
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.training.checkpoint import load_weights
from lexigraph.training.distribution import choose_device

ABILITIES = (
    *("encode", "decode", "pictures", "read", "blend", "solve", "sample", "neighbours"),
    *("generate", "complete", "score", "rank", "translate", "fill", "tag", "classify"),
    *("answer", "parse", "caption", "match"),
)

BATCH_SIZE = 32  # prompts searched at once


@dataclass(frozen=True)
class Scored:
    """A text with its log-probability (nats), and what it was sorted by."""

    text: str
    log_probability: float
    tokens: int
    score: float

    def __str__(self) -> str:
        return self.text


class AbilityError(LexigraphError, AttributeError):
    """The model cannot do this. To `hasattr`, it has no such method."""


class TextModel:
    """A trained model. Make one with `lexigraph.load` or `lexigraph.train`."""

    def __init__(self, network: Any, tokenizer: Tokenizer, recipe: Recipe, path: Path | None = None) -> None:
        self.network, self.tokenizer, self.recipe, self.path = network, tokenizer, recipe, path
        self._clean = cleaner(recipe.data.clean) if recipe.data.clean else None
        self.network.eval()

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> TextModel:
        """The model in a run folder."""
        run = Run.open(folder)
        recipe = run.recipe()
        tokenizer = Tokenizer.load(run.path / "tokenizer.json")
        network = build(recipe, tokenizer)
        if not run.finished and not (run.path / "model.safetensors").exists():
            raise LexigraphError(f"{run.path} is not trained yet: lexigraph train --out {run.path} --resume goes on.")
        load_weights(network, run.path / "model.safetensors")
        chosen = choose_device(device)
        if device == "auto" and chosen.type == "mps":
            chosen = torch.device("cpu")  # searches sum in float64, which MPS does not have
        return cls(network.to(chosen), tokenizer, recipe, run.path)

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

    def score(self, texts: str | Sequence[str], *, ended: bool = True) -> list[float]:
        """Natural-log probability of each text, its end included; `ended=False` scores the text as a beginning."""
        self._require("score")
        return [float(values.sum()) for values in self.token_scores(texts, ended=ended)]

    def token_scores(self, texts: str | Sequence[str], *, ended: bool = True) -> list[np.ndarray]:
        """Natural-log probability of every token of each text."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        eos = self.tokenizer.eos
        sequences = [np.array([eos, *self._encode(text)] + [eos] * ended) for text in texts]
        return token_log_probabilities(self.network, sequences, self.device)

    def rank(self, candidates: Sequence[str], *, prompt: str = "", ended: bool = True) -> list[Scored]:
        """The candidates by their probability after `prompt`, the most probable first.

        `ended=False` leaves open how the text goes on: "The key to the cabinets is" need not be a whole text.
        """
        self._require("rank")
        texts = [prompt + candidate for candidate in candidates]
        given = _common_length([self._encode(text) for text in [prompt, *texts]])
        own = [values[given:] for values in self.token_scores(texts, ended=ended)]
        ranked = [Scored(c, float(v.sum()), len(v), float(v.sum())) for c, v in zip(candidates, own, strict=True)]
        return sorted(ranked, key=lambda item: -item.score)

    def search(
        self, prompts: Sequence[Sequence[int]], *, width: int, max_new: int = 60, alpha: float = 0.7
    ) -> list[Hypothesis]:
        """The best continuation of each prompt of token ids, by beam search."""
        self._require("complete")
        found: list[Hypothesis] = []
        for first in range(0, len(prompts), BATCH_SIZE):
            batch = self._batch([[self.tokenizer.eos, *row] for row in prompts[first : first + BATCH_SIZE]])
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

    # ---- between text and search -------------------------------------------------------------------------

    @property
    def _banned(self) -> list[int]:
        special = set(self.tokenizer.special.values())
        return sorted(special - {self.tokenizer.eos})

    def _prompts(self, prompts: Sequence[str]) -> dict[str, Tensor]:
        return self._batch([[self.tokenizer.eos, *self._encode(prompt)] for prompt in prompts])

    def _encode(self, text: str) -> list[int]:
        """Tokens of a text that is cleaned as the training text was."""
        return self.tokenizer.encode((self._clean(text) or "") if self._clean else text)

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


def build(recipe: Recipe, tokenizer: Tokenizer) -> Any:
    """The untrained network of a recipe."""
    return system(recipe.system).load()(recipe.model, recipe.objective, len(tokenizer), tokenizer.pad)


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
