"""What all abilities stand on: a network, its tokenizer, and the way from text to tokens and back.

An ability is a method. A system offers those that it can; any other answers with an error that lists what this
system can do.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.errors import LexigraphError
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.text.clean import cleaner, without_dictionary
from lexigraph.text.tokenizer import Tokenizer

BATCH_SIZE = 32  # texts at once


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
    """The model cannot do this."""


class Base:
    """A network with what it takes to speak to it in text."""

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
        rules = without_dictionary(recipe.data.clean)
        self._clean = cleaner(rules) if rules else None
        self.network.eval()
        self.int8 = False

    @property
    def abilities(self) -> tuple[str, ...]:
        """What this model can do: the names of methods."""
        return system(self.recipe.system).abilities

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def _require(self, ability: str) -> None:
        if ability not in self.abilities:
            can = ", ".join(self.abilities)
            raise AbilityError(f"A {self.recipe.system} model cannot {ability}; it can: {can}.")

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

    def _encode(self, text: str) -> list[int]:
        return self.rows([text])[0][0].tolist()

    def _batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        ids = torch.full((len(rows), max(map(len, rows))), self.tokenizer.pad)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row)
        return {"ids": ids.to(self.device), "lengths": lengths}

    @property
    def _banned(self) -> list[int]:
        special = set(self.tokenizer.special.values())
        return sorted(special - {self.tokenizer.eos})

    def _search(
        self, batch: dict[str, Tensor], width: int, max_new: int, alpha: float, n_best: int, attention: bool = False
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
            attention=attention,
        )
