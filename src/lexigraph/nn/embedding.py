"""Tables of token vectors that know their vocabulary, so that vectors learned elsewhere can be put into them."""

from __future__ import annotations

from torch import nn

from lexigraph.text.vocabularies import TEXT


class TokenTable(nn.Embedding):
    """A vector for every token of a vocabulary."""

    def __init__(self, tokens: int, dim: int, vocabulary: str = TEXT) -> None:
        super().__init__(tokens, dim)
        self.vocabulary = vocabulary
