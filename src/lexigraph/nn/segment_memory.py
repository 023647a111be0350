"""Language models that read window after window and remember states of those before (Dai et al. 2019).

    m^l = the last M vectors that went into layer l, no gradient into them
    layer l of a window attends to [m^l ; x^l], and m^l of the next window is the end of that

What is remembered of a window is what went into each layer, so that its keys and values are those of the weights of
now. `memory` is how much is kept; it may be set to another number when a model is used, for it is no weight.

Shapes: B batch, T time, M positions of memory, S = M + T, L layers, d width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import LanguageNetwork, States
from lexigraph.objectives.next_token import next_token_terms
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.text.columns import Traits
from lexigraph.text.vocabularies import Vocabularies


class MemoryNetwork(LanguageNetwork):
    """Tables of tokens, the memory, and the loss; a subclass says how a window goes through the layers."""

    heads = ("bias",)

    def __init__(
        self, dim: int, context: int, memory: int, dropout: float, smoothing: float, vocabularies: Vocabularies
    ) -> None:
        super().__init__()
        tokens = vocabularies.tokens()
        self.width, self.context, self.memory, self.pad = dim, context, memory, tokens.pad
        self.dropout, self.smoothing = dropout, smoothing
        self.traits = Traits(context=context, causal="text", stateful=memory > 0)
        self.embedding = TokenTable(len(tokens), dim)  # of input and output
        self.bias = nn.Parameter(torch.zeros(len(tokens)))

    @property
    def span(self) -> int:
        """Positions that the last token of a window sees, itself included; and every token that is generated."""
        return self.memory + self.context

    @contextmanager
    def remembering(self, memory: int) -> Iterator[None]:
        """For a while, another length of the memory."""
        before, self.memory = self.memory, memory
        try:
            yield
        finally:
            self.memory = before

    def layers(
        self, ids: Int[Tensor, "B T"], memory: Float[Tensor, "B L M d"] | None = None
    ) -> list[Float[Tensor, "B T d"]]:
        """What goes into each layer, and what comes out of the last."""
        raise NotImplementedError

    def hidden(
        self, ids: Int[Tensor, "B T"], carry: Carry | None = None
    ) -> tuple[Float[Tensor, "B T d"], Carry | None]:
        """The last layer's output, and the memory for the next window."""
        memory = None if carry is None else carry["memory"]
        *inputs, last = self.layers(ids, memory)
        kept = self.memory
        if self.training and ids.shape[1] < self.context:  # short windows have a short memory, or it would cost most
            kept = max(1, kept * ids.shape[1] // self.context) if kept else 0
        if not kept:
            return last, None
        new = torch.stack(inputs, 1).detach()
        whole = new if memory is None else torch.cat([memory, new], 2)
        return last, {"memory": whole[:, :, -kept:]}  # (B, L, M, d): the first axis is the stream

    def forward(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the next token at every position, nothing remembered. Padding on the right is never looked at, so
        that `lengths` is not needed."""
        return self.logits(self.hidden(ids)[0])

    def logits(self, hidden: Float[Tensor, "*B d"]) -> Float[Tensor, "*B V"]:
        return F.linear(hidden, self.embedding.weight, self.bias)

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        hidden, carry = self.hidden(batch["inputs"], carry)
        table, smoothing = self.embedding.weight, self.smoothing
        return next_token_terms(hidden, table, batch, bias=self.bias, smoothing=smoothing, pad=self.pad), carry

    def states(self, batch: Batch) -> States:
        return States(self.layers(batch["inputs"]), batch["lengths"])

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)


def back(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 T S"]:
    """The queries are the last of the keys' positions, and see themselves and all before them."""
    return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def sliding(
    queries: int, keys: int, span: int, pads: Int[Tensor, " B"], device: torch.device | None = None
) -> Bool[Tensor, "B 1 T S"]:
    """The same no further than `span` positions, and not at the first `pads` keys of a row. An empty position sees
    itself, because softmax over nothing is not a number."""
    near = back(queries, keys, device).triu(keys - queries - span + 1)
    own = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries).triu(keys - queries)
    return near & (torch.arange(keys, device=device) >= pads[:, None])[:, None, None] | own


def left_padded(ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> tuple[Int[Tensor, "B T"], Int[Tensor, " B"]]:
    """Prompts that end at the same column, so that all rows grow at one end, and how many columns before each are
    empty."""
    time = ids.shape[1]
    pads = time - lengths
    return ids.gather(1, (torch.arange(time, device=ids.device) - pads[:, None]) % time), pads
