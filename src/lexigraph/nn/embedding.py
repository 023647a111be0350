"""Tables of token vectors that know their vocabulary, so that vectors learned elsewhere can be put into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.text.vocabularies import TEXT


class TokenTable(nn.Embedding):
    """A vector for every token of a vocabulary."""

    def __init__(self, tokens: int, dim: int, vocabulary: str = TEXT) -> None:
        super().__init__(tokens, dim)
        self.vocabulary = vocabulary
        self._mixtures: dict[int, Float[Tensor, " d"]] = {}  # by ids that no token has

    @contextmanager
    def mixture(self, shares: Mapping[int, float]) -> Iterator[int]:
        """For as long as it lasts, the id of one token more, whose vector is Σ share · vector of a token."""
        token = max(self._mixtures, default=self.num_embeddings - 1) + 1
        weights = self.weight.new_tensor(list(shares.values()))
        self._mixtures[token] = weights @ self.weight[list(shares)].detach()
        try:
            yield token
        finally:
            del self._mixtures[token]

    def forward(self, ids: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape d"]:
        if not self._mixtures:
            return super().forward(ids)
        vectors = super().forward(ids.where(ids < self.num_embeddings, 0))
        for token, mixed in self._mixtures.items():
            vectors = vectors.where((ids != token)[..., None], mixed)
        return vectors
