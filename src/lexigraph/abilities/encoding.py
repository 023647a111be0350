"""What encoders can do: fill gaps, and one vector for a text from those of its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32

from lexigraph.abilities.asking import TextError, one_or_many, whole
from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import BATCH_SIZE, TextModel
from lexigraph.abilities.vectors import Vectors
from lexigraph.errors import UsageError
from lexigraph.nn.network import FillingLanguageNetwork, MaskFiller

MASK = "<mask>"  # what stands in a text where a token is to be filled in


@dataclass(frozen=True)
class Filling:
    """A text with its gaps filled, what was put there, and how probable that is."""

    text: str
    tokens: tuple[str, ...]
    probability: float

    def __str__(self) -> str:
        return self.text


class MaskFilling(TextModel):
    """Every position of a text is seen with all others."""

    network: MaskFiller

    @one_or_many
    def fill(self, texts: Sequence[str], *, k: int = 5) -> list[list[Filling]]:
        """The k most probable fillings of each text with one or more gaps, written <mask>; best first.

        Several gaps are filled from left to right by beam search, so that later tokens agree with earlier ones.

            >>> [str(f) for f in model.fill("She <mask> .", k=2)]        # doctest: +SKIP
            ['She laughed .', 'She slept .']
        """
        whole(k=k)
        prepared = [self._with_gaps(text, number, len(texts)) for number, text in enumerate(texts, 1)]
        return [self._filled(ids, k) for ids in prepared]

    def _filled(self, ids: list[int], k: int) -> list[Filling]:
        network, special = self.network, set(self.tokenizer.special.values())
        rows, scores = torch.tensor([ids], device=self.device), torch.zeros(1, device=self.device)
        gaps = (rows[0] == network.frame.mask).nonzero().flatten()
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

    def _with_gaps(self, text: str, number: int, of: int) -> list[int]:
        """The tokens of text `number` between boundaries, the mask token where a gap is marked."""
        frame, kind = self.network.frame, self.tokenizer.kind
        takes_space = self.tokenizer.keeps_whitespace and kind != "char"  # a word's token, the one before the word
        names = {MASK} | {name for name, token in self.tokenizer.special.items() if token == frame.mask}
        parts = re.split("|".join(map(re.escape, names)), text)
        if len(parts) == 1:
            raise TextError(
                number, of, f"has no gap to fill: write {MASK} where a word is missing, as in She {MASK} ."
            )
        ids: list[int] = []
        for place, part in enumerate(parts):
            ids += [frame.mask] * (place > 0)
            if takes_space and place < len(parts) - 1:
                part = part.rstrip(" ")
            if kind == "sentencepiece" and place:
                part = part.removeprefix(" ")  # the tokenizer puts one there
            cleaned = (self._clean(part) or "") if self._clean else part
            spaced = takes_space and place > 0 and part[:1] == " " and cleaned[:1].strip()  # cleaning took it
            ids += self._tokens([" " * bool(spaced) + cleaned], self.tokenizer)[0][0].tolist() if cleaned else []
        if len(ids) > self._longest:
            raise TextError(
                number, of, f"has {len(ids):,} tokens, and this model reads at most {self._longest}: shorten it."
            )
        return [frame.begin, *ids, frame.end]

    def _shown(self, token: int) -> str:
        """A token as a person reads it."""
        return self.tokenizer.decode([token]).strip() or self.tokenizer.tokens([token])[0]


class FillingLanguageModel(LanguageModel, MaskFilling):
    """A language model that fills gaps, too."""

    network: FillingLanguageNetwork


class Encoder(MaskFilling, Vectors):
    """A vector for every token of a text, and one for the whole."""

    @one_or_many
    def encode(
        self,
        texts: Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n dim"]:
        """One vector for each text from the vectors of its tokens: their mean (if None), or "cls", the first one."""
        if lossless or unnormalised:
            raise UsageError(
                "An encoder does not give texts back: leave out lossless (--lossless) and "
                "unnormalised (--unnormalised)."
            )
        if pooling not in (None, "mean", "cls"):
            raise UsageError(f"There is no pooling {pooling!r}: choose mean or cls.")
        frame, rows = self.network.frame, self._sentences(texts)
        z = np.zeros((len(rows), self.network.width), np.float32)
        order = np.argsort([len(row) for row in rows], kind="stable")  # like lengths together
        for first in range(0, len(rows), BATCH_SIZE):
            chosen = order[first : first + BATCH_SIZE]
            batch = self._batch([[frame.begin, *rows[i].tolist(), frame.end] for i in chosen])
            with torch.inference_mode():
                hidden = self.network.hidden(batch["ids"], batch["lengths"]).float()
            if pooling != "cls":  # over all positions, those of the boundaries too
                seen = torch.arange(hidden.shape[1], device=self.device) < batch["lengths"][:, None]
                pooled = (hidden * seen.unsqueeze(2)).sum(1) / batch["lengths"][:, None]
            else:
                pooled = hidden[:, 0]
            z[chosen] = pooled.cpu().numpy()
        return z
