"""A label for every node of a tree: recursive networks (Socher et al. 2011; 2013) and tree-LSTMs (Tai et al. 2015).

    x = E[word]; beside it its own vector and what its letters come to, as nn/words.py has them

            leaf                                  above
    plain   h = act(P x + c)                      h = act(U h_l + W h_r + b)
    tensor  h = act(P x + c)                      h = act([h_l; h_r]ᵀ V [h_l; h_r] / 2d + U h_l + W h_r + b)
    lstm    i, o, g = P x + c                     i, o, g, f_l, f_r = U h_l + W h_r + b
            c = σ(i) ⊙ tanh(g)                    c = σ(i) ⊙ tanh(g) + σ(f_l) ⊙ c_l + σ(f_r) ⊙ c_r
            h = σ(o) ⊙ tanh(c)                    h = σ(o) ⊙ tanh(c)
    child-sum   the same for any number of children: i, o, g = U Σ h_k + b, and f_k = U_f h_k + b_f
    p(label of a node) = softmax(W_s h + b_s)

A child that is not there is 0. Nodes with more than two children, and how all nodes of one height are made at once:
nn/trees.py.

Shapes: n nodes of one height, K children of a node, d width of a state, e width of a word, C labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.nn import words
from lexigraph.nn.linear import OutputTable
from lexigraph.nn.network import Examples, Seeds
from lexigraph.nn.trees import TREE, WORDS, TreeNetwork, climb
from lexigraph.nn.words import WordTables
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config(words.TableConfig):
    form: Literal["plain", "tensor", "lstm", "child-sum"] = key(
        "plain",
        about="how children become a node: one layer; with products of all pairs; an LSTM's step over two or any",
    )
    act: Literal["tanh", "relu"] = key("tanh", about="plain and tensor: what a node's sum goes through")
    dim: int = ranged(100, 1, about="numbers in the state of a node")


@dataclass(frozen=True)
class Objective:
    nodes: Literal["all", "root"] = key(
        "all", about="whose labels are learned: those of all nodes, or of whole trees"
    )


class Layer(nn.Module):
    """act(U h_l + W h_r + b), and in the tensor form the products of all pairs of their numbers."""

    def __init__(self, config: Config, e: int) -> None:
        super().__init__()
        d = config.dim
        self.act = {"tanh": torch.tanh, "relu": torch.relu}[config.act]
        self.word, self.pair = nn.Linear(e, d), nn.Linear(2 * d, d)
        self.tensor = nn.Parameter(torch.empty(2 * d, d * 2 * d)) if config.form == "tensor" else None
        with torch.no_grad():  # a node begins near the mean of its children, so that gradients reach deep words
            self.pair.weight.mul_(0.5).add_(torch.cat([torch.eye(d), torch.eye(d)], 1) / 2)
            if self.tensor is not None:
                self.tensor.uniform_(-0.5, 0.5)

    def leaf(self, x: Float[Tensor, "n e"]) -> Float[Tensor, "n d"]:
        return self.act(self.word(x))

    def forward(self, h: Float[Tensor, "n 2 d"]) -> Float[Tensor, "n d"]:
        both = h.flatten(1)
        total = self.pair(both)
        if self.tensor is not None:
            products = (both @ self.tensor).unflatten(1, (h.shape[2], -1)) @ both.unsqueeze(2)
            total = total + products.squeeze(2) / len(self.tensor)  # 4 d² of them are summed: smaller steps for each
        return self.act(total)


class BinaryLSTM(nn.Module):
    """A state is h and c, one behind the other; gates stand in the order i, o, g, f_l, f_r."""

    def __init__(self, config: Config, e: int) -> None:
        super().__init__()
        d = config.dim
        self.word, self.pair = nn.Linear(e, 3 * d), nn.Linear(2 * d, 5 * d)
        with torch.no_grad():
            self.pair.bias[3 * d :] = 1.0  # children are kept at first

    def leaf(self, x: Float[Tensor, "n e"]) -> Float[Tensor, "n s"]:
        i, o, g = self.word(x).chunk(3, 1)
        return emitted(i, o, g)

    def forward(self, states: Float[Tensor, "n 2 s"]) -> Float[Tensor, "n s"]:
        h, c = states.chunk(2, 2)
        i, o, g, left, right = self.pair(h.flatten(1)).chunk(5, 1)
        return emitted(i, o, g, left.sigmoid() * c[:, 0] + right.sigmoid() * c[:, 1])


class ChildSumLSTM(nn.Module):
    """Any number of children: gates see the sum of their states, and each child its own forget gate."""

    def __init__(self, config: Config, e: int) -> None:
        super().__init__()
        d = config.dim
        self.word, self.sum, self.child = nn.Linear(e, 3 * d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        nn.init.ones_(self.child.bias)

    def leaf(self, x: Float[Tensor, "n e"]) -> Float[Tensor, "n s"]:
        i, o, g = self.word(x).chunk(3, 1)
        return emitted(i, o, g)

    def forward(self, states: Float[Tensor, "n K s"]) -> Float[Tensor, "n s"]:
        h, c = states.chunk(2, 2)
        i, o, g = self.sum(h.sum(1)).chunk(3, 1)
        return emitted(i, o, g, (self.child(h).sigmoid() * c).sum(1))


def emitted(
    i: Float[Tensor, "n d"],
    o: Float[Tensor, "n d"],
    g: Float[Tensor, "n d"],
    kept: Float[Tensor, "n d"] | float = 0.0,
) -> Float[Tensor, "n s"]:
    """h and c of a cell that keeps so much of its children."""
    c = i.sigmoid() * g.tanh() + kept
    return torch.cat([o.sigmoid() * c.tanh(), c], 1)


FORMS: dict[str, type[Layer | BinaryLSTM | ChildSumLSTM]] = {
    "plain": Layer,
    "tensor": Layer,
    "lstm": BinaryLSTM,
    "child-sum": ChildSumLSTM,
}


class Recursive(TreeNetwork):
    """The network; `network(batch)` gives the logits of the labels of all nodes."""

    traits = Traits(windowed=WORDS, reads_whole=True)

    def __init__(self, config: Config, objective: Objective, vocabularies: Vocabularies) -> None:
        super().__init__()
        labels = vocabularies.labels(TREE)
        self.config, self.objective, self.label_names = config, objective, labels.names
        self.counted = objective.nodes
        self.words = WordTables(config, vocabularies)
        self.cell = FORMS[config.form](config, self.words.width)
        self.dropout = nn.Dropout(config.dropout)
        self.output = OutputTable(config.dim, len(labels))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {**words.columns(recipe.model), TREE: Column("spans", vocabulary=TREE, aligned=WORDS)}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """What is read of all words, the nodes by height, and their labels."""
        most = 0 if self.config.form == "child-sum" else 2
        return self.grown(self.words.prepare(examples, seeds), examples, most)

    def forward(self, batch: Batch) -> Float[Tensor, "nodes C"]:
        e, lengths = self.words.vectors_of(batch), batch["lengths"]
        inside = torch.arange(e.shape[1], device=e.device) < lengths[:, None]
        leaves = self.cell.leaf(self.dropout(e[inside]))
        states = climb(self.cell, leaves, batch["children"], batch["sizes"].tolist())
        h = states[batch["nodes"], : self.config.dim]
        return self.output(self.dropout(h))

    def logits(self, batch: Batch) -> Float[Tensor, "nodes C"]:
        return self(batch)
