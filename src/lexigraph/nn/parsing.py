"""What dependency parsers have in common: for every word its head, and the relation between the two.

    loss = - Σ log p(head of a word) / words
           - Σ log p(relation | head) / words         over words whose relation was seen in training
           - weight · Σ log p(tag) / words            where tags are learned too

Words count from 1 in heads, and 0 is what the root hangs on. Which heads are a tree, arborescence.py finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.arborescence import trees
from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.batches import padded

WORDS, HEADS, RELATIONS, TAGS = "words", "heads", "relations", "tags"
TERMS = {HEADS: "loss", RELATIONS: RELATIONS, TAGS: TAGS}  # of the loss, by what each is about


class Parsed(NamedTuple):
    """A sentence's tree, and how probable each word's head and relation are together."""

    heads: Int[Tensor, " T"]
    relations: Int[Tensor, " T"]
    probabilities: Float[Tensor, " T"]
    tags: Int[Tensor, " T"] | None = None


class ParserNetwork(Predictor[Parsed]):
    """A network with logits for the head of every word, and for the relation between a word and any head."""

    tag_weight: float = 0.0  # of the tags in the loss; 0: it has none

    def states(self, batch: Batch) -> Float[Tensor, "B T d"]:
        """A vector for every word."""
        raise NotImplementedError

    def arcs(self, states: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B T S"]:
        """Logits of every word's head, S = T + 1: the root's place and the words; no word is its own head."""
        raise NotImplementedError

    def relations(self, states: Float[Tensor, "B T d"], heads: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Logits of the relation between every word and its head."""
        raise NotImplementedError

    def tags(self, states: Float[Tensor, "B T d"]) -> Float[Tensor, "B T K"]:
        """Logits of every word's tag, where it has tags."""
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        return self.terms(self.states(batch), batch), None

    def terms(self, states: Float[Tensor, "B T d"], batch: Batch) -> Terms:
        """The loss of the trees of a batch."""
        logits = {
            HEADS: self.arcs(states, batch["lengths"]),
            RELATIONS: self.relations(states, batch[HEADS].clamp(min=0)),
        }
        if self.tag_weight:
            logits[TAGS] = self.tags(states)
        nll = {
            name: F.cross_entropy(each.transpose(1, 2), batch[name], reduction="none", ignore_index=IGNORE)
            for name, each in logits.items()
        }
        weights = {TAGS: self.tag_weight}
        return {
            TERMS[name]: Term(each.sum(), batch.counts[TERMS[name]], weights.get(name, 1.0), each.detach())
            for name, each in nll.items()
        }

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """Logits of heads, of relations to the likeliest head, and of tags; a head that cannot be has none."""
        states, lengths = self.states(batch), batch["lengths"]
        arcs = self.arcs(states, lengths)
        found = {RELATIONS: self.relations(states, arcs.argmax(2))}
        if self.tag_weight:
            found[TAGS] = self.tags(states)
        sizes = lengths.tolist()
        kept = {name: [row[:n] for row, n in zip(rows, sizes, strict=True)] for name, rows in found.items()}
        possible = [row[:n, : n + 1] for row, n in zip(arcs, sizes, strict=True)]
        return kept | {HEADS: [row[row.isfinite()] for row in possible]}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Parsed]:
        return self.trees(self.states(batch), batch["lengths"])

    def trees(self, states: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"]) -> list[Parsed]:
        """The best tree of every sentence."""
        arcs = self.arcs(states, lengths).float().log_softmax(2)
        heads = torch.from_numpy(trees(arcs.detach().cpu().double().numpy(), lengths.tolist())).to(arcs.device)
        relation, best = self.relations(states, heads).float().log_softmax(2).max(2)
        probabilities = (arcs.gather(2, heads.unsqueeze(2)).squeeze(2) + relation).exp()
        tags = self.tags(states).argmax(2) if self.tag_weight else None
        return [
            Parsed(heads[i, :n], best[i, :n], probabilities[i, :n], None if tags is None else tags[i, :n])
            for i, n in enumerate(lengths.tolist())
        ]

    def merge(self, windows: Sequence[Parsed]) -> Parsed:
        """A sentence is read whole: there is one window."""
        (window,) = windows
        return window


def annotated(tensors: dict[str, Tensor], examples: Examples, columns: Sequence[str]) -> Batch:
    """A batch with the heads, relations and tags of its words, where they have any; what training has not seen does
    not count."""
    if HEADS not in examples:
        return Batch(tensors, {TERMS[name]: 0.0 for name in columns})
    found = {}
    for name in columns:
        values = torch.from_numpy(padded([np.asarray(row, np.int64) for row in ragged(examples[name])], IGNORE))
        found[name] = values.where(values >= 0, IGNORE)
    return Batch(tensors | found, {TERMS[name]: float((v != IGNORE).sum()) for name, v in found.items()})
