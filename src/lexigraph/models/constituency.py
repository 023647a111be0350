"""Phrases over the words of a sentence, by scores of spans (Stern et al. 2017; Gaddy et al. 2018; Zhang et al. 2020).

    f_t, b_t = the word encoder's states of word t, forward and backward; 0 outside         nn/words.py
    r(i, j) = [f_j - f_i; b_i - b_j]                               the words between two places: what each way took in
    s(i, j, ·) = W2 act(LN(W1 r(i, j)))                            a score for every label; no phrase: 0
    p(tag of t) = softmax(W_t [f_t; b_t])                          learned beside, for the words' own nodes

Labels of a chain of phrases over the same words are joined: S+VP. The tree is the one with the greatest Σ s over its
phrases, found in a chart (nn/chart.py). What is learned:

    trees   - log p(tree) / words,  p(tree) ∝ exp Σ s              over all trees; phrases of more than two parts are
                                                                   cut in two in any way
    spans   - Σ log softmax([0; s(i, j, ·)]) / words               every span by itself

Shapes: B batch, T words, N = T + 1 places between them, S spans of all sentences, L labels, K tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn import words
from lexigraph.nn.chart import best_trees, inside
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Outputs, Predictor, Reader, Seeds, ragged
from lexigraph.nn.words import WordConfig, WordEncoder
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.batches import padded
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies

WORDS, TAGS, PHRASES = "words", "tags", "phrases"
CROSSING, NONE = -1, 0  # in a chart of labels: no phrase, and none that could be beside the others; label l is l + 1
FORBIDDEN = -1e6  # what a node is worth that cannot be


@dataclass(frozen=True)
class Config(WordConfig):
    context: int = ranged(300, 1, about="most words of a sentence; a longer one is left out and counted")
    spans: int = ranged(250, 1, about="numbers in the vector of a span")


@dataclass(frozen=True)
class Objective:
    learned: Literal["trees", "spans"] = key("trees", about="how probable the whole tree is, or every span by itself")
    tags: float = ranged(1.0, 0, about="weight of the words' tags in the loss")
    functions: bool = key(False, about="tell NP-SBJ from NP; else labels are cut at - and =")


class Phrased(NamedTuple):
    """The phrases of a sentence as rows (first word, last word, label), parents first, and its tags."""

    phrases: Int[np.ndarray, "phrases 3"]
    tags: Int[np.ndarray, " T"]


class ConstituencyParser(Predictor[Phrased]):
    """The network."""

    part_names = ("reader",)

    def __init__(
        self,
        config: Config,
        objective: Objective,
        vocabularies: Vocabularies,
        parts: Mapping[str, Reader] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.config, self.objective = config, objective
        self.labels, self.tags = (vocabularies.labels(name).names for name in (PHRASES, TAGS))
        self.traits = Traits(windowed=WORDS, context=config.context, reads_whole=True, terms=("loss", TAGS))
        self.reader = parts.get("reader")
        self.words = WordEncoder(config, vocabularies, self.reader)
        self.W1 = nn.Linear(self.words.width, config.spans)
        self.norm = nn.LayerNorm(config.spans)
        self.W2 = nn.Linear(config.spans, len(self.labels))
        self.W_t = OutputTable(self.words.width, len(self.tags))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        until = "" if recipe.objective.functions else "-=|"
        return {
            **words.columns(recipe.model),
            TAGS: Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True),
            PHRASES: Column("spans", vocabulary=PHRASES, aligned=WORDS, optional=True, until=until),
        }

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """What is read of the words, their tags, and a chart of their phrases."""
        tensors = self.words.prepare(examples, seeds, self.reader)
        if PHRASES not in examples:
            return Batch(tensors, {"loss": 0.0, TAGS: 0.0})
        lengths = tensors["lengths"].tolist()
        chart = np.zeros((len(lengths), max(lengths) + 1, max(lengths) + 1), np.int64)
        for row, phrases in enumerate(ragged(examples[PHRASES])):
            first, end, label = phrases[:, 0], phrases[:, 1] + 1, phrases[:, 2]
            for a, b in zip(first, end, strict=True):
                chart[row, :a, a + 1 : b] = chart[row, a + 1 : b, b + 1 :] = CROSSING
            chart[row, first, end] = np.where(label < 0, IGNORE, label + 1)
        tags = torch.from_numpy(padded(ragged(examples[TAGS]), IGNORE))
        tags = tags.where(tags >= 0, IGNORE)
        tensors |= {TAGS: tags, PHRASES: torch.from_numpy(chart)}
        return Batch(tensors, {"loss": float(sum(lengths)), TAGS: float((tags != IGNORE).sum())})

    def scores(self, h: Float[Tensor, "B T h"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "S L"]:
        """Of every label for every span, sentence by sentence, by where a span begins and then by where it ends."""
        f, b = h.chunk(2, 2)
        ends = torch.cat([F.pad(f, (0, 0, 1, 0)), -F.pad(b, (0, 0, 0, 1))], 2)
        place = ends @ self.W1.weight.T  # W1 r(i, j) is a difference of two of these
        row, i, j = span_places(lengths, h.shape[1])
        return self.W2(F.relu(self.norm(place[row, j] - place[row, i] + self.W1.bias)))

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        h = self.words(batch, self.reader)
        found = self.nll(h, batch)
        tags = F.cross_entropy(self.W_t(h).transpose(1, 2), batch[TAGS], reduction="sum", ignore_index=IGNORE)
        terms = {"loss": Term(found.sum(), batch.counts["loss"], items=found.detach()[:, None])}
        return terms | {TAGS: Term(tags, batch.counts[TAGS], self.objective.tags)}, None

    def nll(self, h: Float[Tensor, "B T h"], batch: Batch) -> Float[Tensor, " B"]:
        """- log p of the phrases of every sentence."""
        lengths, true = batch["lengths"], batch[PHRASES]
        scores = self.scores(h, lengths)
        row, i, j = places = span_places(lengths, h.shape[1])
        label = true[places]
        if self.objective.learned == "spans":
            targets = label.where(label != CROSSING, NONE)
            each = F.cross_entropy(F.pad(scores, (1, 0)), targets, reduction="none", ignore_index=IGNORE)
            return scores.new_zeros(len(lengths)).index_add(0, row, each)
        any_label = scores.logsumexp(1)  # log(1 + Σ exp s) with no phrase, which a whole sentence always is
        free = torch.where((i == 0) & (j == lengths[row]), any_label, F.softplus(any_label))
        called = scores.gather(1, (label - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
        fixed = torch.where(label > NONE, called, torch.where(label == IGNORE, any_label, 0.0))
        fixed = torch.where(label == CROSSING, FORBIDDEN, fixed)
        charts = [scores.new_zeros(true.shape).index_put(places, values) for values in (free, fixed)]
        every, these = inside(torch.cat(charts), lengths.tolist() * 2).chunk(2)
        return every - these

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        h, lengths = self.words(batch, self.reader), batch["lengths"]
        sizes = lengths.tolist()
        spans = self.scores(h, lengths).split([n * (n + 1) // 2 for n in sizes])
        return {PHRASES: list(spans), TAGS: [row[:n] for row, n in zip(self.W_t(h), sizes, strict=True)]}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Phrased]:
        h, lengths = self.words(batch, self.reader), batch["lengths"]
        row, i, j = places = span_places(lengths, h.shape[1])
        value, label = self.scores(h, lengths).detach().float().max(1)
        whole = (i == 0) & (j == lengths[row])  # is always a phrase
        label = label.where(whole | (value > 0), IGNORE)
        shape = (len(lengths), h.shape[1] + 1, h.shape[1] + 1)
        values = value.new_zeros(shape).index_put(places, value.where(label != IGNORE, 0.0)).double().cpu().numpy()
        labels = label.new_full(shape, IGNORE).index_put(places, label).cpu().numpy()
        tags = self.W_t(h).argmax(2).cpu().numpy()
        found = []
        for index, (nodes, n) in enumerate(zip(best_trees(values, lengths.tolist()), lengths.tolist(), strict=True)):
            rows = [(a, b - 1, labels[index, a, b]) for a, b in nodes if labels[index, a, b] != IGNORE]
            found.append(Phrased(np.array(rows, np.int64).reshape(-1, 3), tags[index, :n]))
        return found

    def merge(self, windows: Sequence[Phrased]) -> Phrased:
        """A sentence is read whole: there is one window."""
        (window,) = windows
        return window


def span_places(lengths: Int[Tensor, " B"], longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sentence, beginning and end of every span, in order."""
    place = torch.arange(longest + 1, device=lengths.device)
    inside_it = (place[:, None] < place) & (place <= lengths[:, None, None])
    row, i, j = inside_it.nonzero().unbind(1)
    return row, i, j
