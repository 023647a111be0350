"""What parsers of phrases have in common: a score for every label of every span, and the best tree.

    trees   loss = - Σ log p(tree) / words                         p(tree) ∝ exp Σ s over its phrases, among all trees
    spans   loss = - Σ log softmax([0; s(i, j, ·)]) / words        every span by itself; no phrase: 0
            - weight · Σ log p(tag) / words                        beside it, for the words' own nodes

A label that training has not seen may be any. The tree is the one with the greatest Σ s. Both are found in charts
(chart.py).

Shapes: B batch, T words, N = T + 1 positions between them, S spans of all sentences, L labels, K tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.chart import best_trees, inside
from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.batches import padded

WORDS, TAGS, PHRASES = "words", "tags", "phrases"
NONE = 0  # in a chart of labels: no phrase; label l is l + 1


class Phrased(NamedTuple):
    """The phrases of a sentence as rows (first word, last word, label), parents first, and its tags."""

    phrases: Int[np.ndarray, "phrases 3"]
    tags: Int[np.ndarray, " T"]


class PhraseNetwork(Predictor[Phrased]):
    """A network with scores of labels for every span, and logits of every word's tags."""

    labels: tuple[str, ...]  # of phrases; those of a chain over the same words are joined
    tags: tuple[str, ...]
    learned: Literal["trees", "spans"] = "trees"
    tag_weight: float = 1.0

    def states(self, batch: Batch) -> Float[Tensor, "B T h"]:
        """A vector for every word."""
        raise NotImplementedError

    def scores(self, h: Float[Tensor, "B T h"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "S L"]:
        """Of every label for every span, as `span_positions` lists them."""
        raise NotImplementedError

    def tag_logits(self, h: Float[Tensor, "B T h"]) -> Float[Tensor, "B T K"]:
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        h = self.states(batch)
        found = self.nll(h, batch)
        tags = F.cross_entropy(self.tag_logits(h).transpose(1, 2), batch[TAGS], reduction="sum", ignore_index=IGNORE)
        terms = {"loss": Term(found.sum(), batch.counts["loss"], items=found.detach()[:, None])}
        return terms | {TAGS: Term(tags, batch.counts[TAGS], self.tag_weight)}, None

    def nll(self, h: Float[Tensor, "B T h"], batch: Batch) -> Float[Tensor, " B"]:
        """- log p of the phrases of every sentence."""
        lengths, true = batch["lengths"], batch[PHRASES]
        scores = self.scores(h, lengths)
        positions = span_positions(lengths, h.shape[1])
        label, sums = true[positions], scores.new_zeros(len(lengths))
        if self.learned == "spans":
            each = F.cross_entropy(F.pad(scores, (1, 0)), label, reduction="none", ignore_index=IGNORE)
            return sums.index_add(0, positions[0], each)
        any_label = scores.logsumexp(1)
        called = scores.gather(1, (label - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
        worth = torch.where(label > NONE, called, torch.where(label == IGNORE, any_label, 0.0))
        chart = scores.new_zeros(true.shape).index_put(positions, any_label)
        return inside(chart, lengths.tolist()) - sums.index_add(0, positions[0], worth)

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        h, sizes = self.states(batch), batch["lengths"].tolist()
        spans = self.scores(h, batch["lengths"]).split([n * (n + 1) // 2 for n in sizes])
        return {PHRASES: list(spans), TAGS: [row[:n] for row, n in zip(self.tag_logits(h), sizes, strict=True)]}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Phrased]:
        h, lengths = self.states(batch), batch["lengths"]
        positions = span_positions(lengths, h.shape[1])
        value, label = self.scores(h, lengths).detach().double().max(1)
        shape = (len(lengths), h.shape[1] + 1, h.shape[1] + 1)
        values = value.new_zeros(shape).index_put(positions, value).cpu().numpy()
        labels = label.new_zeros(shape).index_put(positions, label).cpu().numpy()
        tags = self.tag_logits(h).argmax(2).cpu().numpy()
        found = []
        for index, (tree, n) in enumerate(zip(best_trees(values, lengths.tolist()), lengths.tolist(), strict=True)):
            rows = [(i, j - 1, labels[index, i, j]) for i, j in tree]
            found.append(Phrased(np.array(rows, np.int64), tags[index, :n]))
        return found

    def merge(self, windows: Sequence[Phrased]) -> Phrased:
        """A sentence is read whole: there is one window."""
        (window,) = windows
        return window


def phrased(tensors: dict[str, Tensor], examples: Examples) -> Batch:
    """A batch with a chart of the phrases of each sentence, and with its tags, where there are any."""
    if PHRASES not in examples:
        return Batch(tensors, {"loss": 0.0, TAGS: 0.0})
    lengths = tensors["lengths"].tolist()
    chart = np.zeros((len(lengths), max(lengths) + 1, max(lengths) + 1), np.int64)
    for row, phrases in enumerate(ragged(examples[PHRASES])):
        label = phrases[:, 2]
        chart[row, phrases[:, 0], phrases[:, 1] + 1] = np.where(label < 0, IGNORE, label + 1)
    tags = torch.from_numpy(padded(ragged(examples[TAGS]), IGNORE))
    known = tags.where(tags >= 0, IGNORE)
    counts = {"loss": float(sum(lengths)), TAGS: float((known != IGNORE).sum())}
    return Batch(tensors | {TAGS: known, PHRASES: torch.from_numpy(chart)}, counts)


def span_positions(lengths: Int[Tensor, " B"], longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sentence, beginning and end of every span: sentence by sentence, by beginnings and then by ends."""
    position = torch.arange(longest + 1, device=lengths.device)
    row, i, j = ((position[:, None] < position) & (position <= lengths[:, None, None])).nonzero().unbind(1)
    return row, i, j
