"""Models made by hand, whose figures can be worked out without the code under test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from lexigraph import recipe
from lexigraph.abilities.decoded import Decoded
from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.abilities.textmodel import Scored
from lexigraph.latent.confidence import Confidence
from lexigraph.nn.autoencoder import Autoencoder
from lexigraph.objectives.next_token import shifted
from lexigraph.text.columns import Traits
from lexigraph.text.constructions import sentences
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Vocabularies

END = 2


@cache
def vocabulary() -> list[str]:
    """The words of the grammar, so that none of its sentences is unknown to a fake."""
    return sorted({word for sentence in sentences(3000, seed=0) for word in sentence.split()})


class Oracle(Autoencoder):
    """Predicts every next token with certainty: it is shown the sentence."""

    def __init__(self, vocabulary: int, context: int, latent: int) -> None:
        super().__init__()
        self.traits = Traits(context=context, reads_whole=True)
        self.latent, self.pad, self.vocabulary = latent, 0, vocabulary
        self.objective = SimpleNamespace(label_smoothing=0.0, variational=False)
        self.embedding = nn.Embedding.from_pretrained(torch.arange(4.0 * vocabulary).sin().view(-1, 4))

    def prepare(self, examples: Any, seeds: Any = None, step: Any = None) -> Any:
        return shifted(examples["text"], self.pad)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        following = torch.nn.functional.pad(ids[:, 1:], (0, 1)).scatter(1, (lengths - 1)[:, None], END)
        return 50.0 * torch.nn.functional.one_hot(following, self.vocabulary).float()


class Codec(SentenceSpace):
    """A dictionary: each text has a random vector, and a vector is read as the text that is nearest to it.

    `position(text)` may put a text elsewhere. `aside` is added to all that is written, so that it is always wrong.
    """

    def __init__(self, texts: Sequence[str], *, latent: int = 32, context: int = 42, aside: str = "") -> None:
        words = Tokenizer.train([*texts, *vocabulary()], kind="word", size=4000)
        plain = recipe.read("picture", {"data.train": "grammar"}, tiny=True)
        super().__init__(Oracle(len(words), context, latent), Vocabularies({"text": words}), plain)
        self.aside, self.known, self.noises = aside, {}, []
        self.random = np.random.default_rng(0)

    @property
    def abilities(self) -> tuple[str, ...]:
        return ("encode", "decode", "blend", "sample")

    def position(self, text: str) -> np.ndarray:
        return self.random.normal(size=self.network.latent).astype(np.float32)

    def encode(self, texts, *, lossless=False, unnormalised=False):
        texts = [texts] if isinstance(texts, str) else texts
        for text in texts:
            if text not in self.known:
                self.known[text] = self.position(text)
        return np.stack([self.known[text] for text in texts])

    def hypotheses(self, z, **search):
        self.noises.append(search.get("noise", 0.0))
        texts = list(self.known)
        points = np.stack([self.known[text] for text in texts]).astype(np.float64)
        near = [int(((points - row) ** 2).sum(1).argmin()) for row in z]
        return [[Scored(texts[i] + self.aside, 0.0, 1, 0.0)] for i in near]

    def decoded(self, z, **search):
        sure = Confidence(1.0, 0.0, False)
        return [[Decoded(row[0].text, 0.0, 1, 0.0, confidence=sure)] for row in self.hypotheses(z, **search)]


class Adder(Codec):
    """A codec in which the same edit is the same step from every sentence: both of a pair share their random part."""

    def __init__(self, pairs: Sequence[tuple[str, str]], **settings: Any) -> None:
        super().__init__([text for pair in pairs for text in pair], **settings)
        step = np.zeros(self.network.latent, np.float32)
        step[0] = 20.0
        for before, after in pairs:
            if before not in self.known:
                self.known[before] = self.position(before)
            self.known[after] = self.known[before] + step


class Judge(LanguageModel):
    """A language model that finds every token e^nll-fold surprising; `nll` may be told for some texts."""

    def __init__(self, nll: float = 1.0, told: dict[str, float] | None = None) -> None:
        self.nll, self.told = nll, told or {}
        self.recipe = recipe.read("gpt", {"data.train": "grammar"}, tiny=True)

    @property
    def abilities(self) -> tuple[str, ...]:
        return ("generate", "score")

    @property
    def fingerprint(self) -> str:
        return "judge"

    def token_scores(self, texts, *, ended=True):
        return [np.full(len(text.split()) + 1, -self.told.get(text, self.nll)) for text in texts]
