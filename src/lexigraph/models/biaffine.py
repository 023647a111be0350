"""A dependency tree over the words of a sentence, by biaffine scores (Dozat & Manning 2017).

    h_t = the word encoder's vector of word t, h_0 learned: what the root hangs on         nn/words.py
    a_t = act(A h_t),  b_t = act(B h_t)                     word t as a dependent, as a head, for arcs
    p(head of t is s) = softmax_s(b_sᵀ U a_t + uᵀ b_s)      s = 0 … n, s ≠ t
    c_t = act(C h_t),  d_t = act(D h_t)                     the same for relations
    p(relation of t to s) = softmax_r([c_t; 1]ᵀ V_r [d_s; 1])
    p(tag of t) = softmax(T h_t)                            learned beside, where objective.tags > 0

In training s is the true head; else the tree is the one with the greatest Σ log p(head) (nn/arborescence.py).

Shapes: B batch, T words, S = T + 1 heads, d encoder, k arcs, m relations, R kinds of relations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn import words
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import NO_PARTS, Examples, Parts, Seeds
from lexigraph.nn.parsing import HEADS, RELATIONS, TAGS, TERMS, WORDS, ParserNetwork, annotated
from lexigraph.nn.words import WordConfig, WordEncoder
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(WordConfig):
    context: int = ranged(300, 1, about="most words of a sentence; a longer one is left out and counted")
    arcs: int = ranged(400, 1, about="numbers in a word's vector as a head or a dependent, where arcs are scored")
    relations: int = ranged(100, 1, about="the same where relations are scored")


@dataclass(frozen=True)
class Objective:
    tags: float = ranged(1.0, 0, about="weight of the words' tags in the loss; 0: the data need none")
    subtypes: bool = key(False, about="tell nsubj:pass from nsubj; else relations are cut at the colon")


class Locked(nn.Dropout):
    """The same numbers are set to 0 for all words of a sentence."""

    def forward(self, x: Float[Tensor, "*B_T k"]) -> Float[Tensor, "*B_T k"]:
        return x * F.dropout(x.new_ones(len(x), 1, x.shape[-1]), self.p) if self.training else x


class BiaffineParser(ParserNetwork):
    """The network."""

    part_names = ("reader",)

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        super().__init__()
        self.config, self.objective, self.tag_weight = config, objective, objective.tags
        self.learned = (HEADS, RELATIONS, TAGS) if objective.tags else (HEADS, RELATIONS)
        self.traits = Traits(
            windowed=WORDS,
            context=config.context,
            reads_whole=True,
            terms=tuple(TERMS[name] for name in self.learned),
        )
        self.reader = parts.get("reader")
        self.words = WordEncoder(config, vocabularies, self.reader)
        self.h_0 = nn.Parameter(torch.randn(self.words.width) * self.words.width**-0.5)
        self.A, self.B = (self._layer(config.arcs) for _ in "AB")
        self.C, self.D = (self._layer(config.relations) for _ in "CD")
        self.U = nn.Parameter(torch.empty(config.arcs, config.arcs))
        self.u = nn.Parameter(torch.zeros(config.arcs))
        kinds, width = len(vocabularies.labels(RELATIONS)), config.relations + 1
        self.V = nn.Parameter(torch.empty(kinds, width, width))
        self.T = OutputTable(self.words.width, len(vocabularies.labels(TAGS))) if objective.tags else None
        for matrix in (self.U, self.V):
            nn.init.normal_(matrix, std=1 / matrix.shape[-1])

    def _layer(self, width: int) -> nn.Module:
        return nn.Sequential(nn.Linear(self.words.width, width), nn.LeakyReLU(0.1), Locked(self.config.dropout))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        until = "" if recipe.objective.subtypes else ":"
        found = dict(words.columns(recipe.model))
        found[HEADS] = Column("heads", aligned=WORDS, optional=True)
        found[RELATIONS] = Column("tags", vocabulary=RELATIONS, aligned=WORDS, optional=True, until=until)
        if recipe.objective.tags:
            found[TAGS] = Column("tags", vocabulary=TAGS, aligned=WORDS, optional=True)
        return found

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """The words, and their heads, relations and tags."""
        return annotated(self.words.prepare(examples, seeds, self.reader), examples, self.learned)

    def states(self, batch: Batch) -> Float[Tensor, "B T d"]:
        return self.words(batch, self.reader)

    def arcs(self, states: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B T S"]:
        a, b = self.A(states), self.B(self._with_root(states))
        scores = a @ (b @ self.U).transpose(1, 2) + (b @ self.u)[:, None]
        position = torch.arange(b.shape[1], device=states.device)
        itself = position[1:, None] == position
        return scores.masked_fill(itself | (position > lengths[:, None])[:, None], -torch.inf)

    def relations(self, states: Float[Tensor, "B T d"], heads: Int[Tensor, "B T"]) -> Float[Tensor, "B T R"]:
        c, d = self.C(states), self.D(self._with_root(states))
        d = d.gather(1, heads[:, :, None].expand(-1, -1, d.shape[2]))
        c, d = (F.pad(each, (0, 1), value=1.0) for each in (c, d))
        dV = F.linear(d, self.V.flatten(0, 1)).unflatten(2, (len(self.V), -1))  # B T R m+1: one large product
        return (dV * c[:, :, None]).sum(3)

    def tags(self, states: Float[Tensor, "B T d"]) -> Float[Tensor, "B T K"]:
        assert self.T is not None, "no tags are learned"
        return self.T(states)

    def _with_root(self, states: Float[Tensor, "B T d"]) -> Float[Tensor, "B S d"]:
        return torch.cat([self.h_0.expand(len(states), 1, -1), states], 1)
