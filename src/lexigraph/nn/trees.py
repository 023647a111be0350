"""What networks on trees have in common: all nodes of one height, over all trees of a batch, are made at once.

    height of a word's own node = 0, of another = 1 + that of its highest child
    states   0: no child, zeros | the words' nodes | nodes of height 1 | of height 2 | …

`leveled` says on the host which states each node is made of; `climb` then takes one product for each height. A node
with more children than a network can take has them two by two: c_1 with a node without a label for c_2 … c_k.

loss = - Σ log p(label of a node) / nodes            over nodes whose label was seen in training: all, or roots alone
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import Batch, Carry, Term, Terms

WORDS, TREE = "words", "tree"
RANK = 32  # bits of a node's rank among those of its height, which stands above them
MASK = (1 << RANK) - 1


class Levels(NamedTuple):
    """The nodes of trees by their heights."""

    children: Int[np.ndarray, "inner K"]  # the states that each node above the words is made of; 0: none
    sizes: list[int]  # how many nodes each height has
    nodes: Int[np.ndarray, " spans"]  # the state of every span, as the trees list them


def leveled(trees: Sequence[Int[np.ndarray, "spans 3"]], words: Sequence[int], most: int = 2) -> Levels:
    """Which nodes are made when, and of what; at most so many children a node, 0: any number."""
    above: list[list[list[int]]] = []  # by height less one, of every node: its children
    nodes: list[int] = []
    first_word = 0
    for tree, length in zip(trees, words, strict=True):
        spans = tree.tolist()
        below = _children(spans, length)
        made = [0] * len(spans)
        for index in range(len(spans) - 1, -1, -1):
            kids = [made[child] for child in below[index]]
            while most and len(kids) > most:
                kids[-2:] = [_add(above, kids[-2:])]
            made[index] = _add(above, kids) if kids else first_word + spans[index][0]
        nodes += made
        first_word += length
    sizes = [first_word, *map(len, above)]
    width = max([most, *(len(kids) for level in above for kids in level)])
    begin = np.cumsum([1, *sizes])  # behind the state of no child
    children = np.zeros((sum(sizes[1:]), width), np.int64)
    for row, kids in enumerate(kids for level in above for kids in level):
        children[row, : len(kids)] = [begin[kid >> RANK] + (kid & MASK) for kid in kids]
    numbered = np.array(nodes, np.int64)
    return Levels(children, sizes, begin[numbered >> RANK] + (numbered & MASK))


def _add(above: list[list[list[int]]], kids: list[int]) -> int:
    """A node of such children: its height and its rank among those of that height."""
    height = 1 + max(kid >> RANK for kid in kids)
    if height > len(above):
        above.append([])
    above[height - 1].append(kids)
    return (height << RANK) + len(above[height - 1]) - 1


def _children(spans: list[list[int]], words: int) -> list[list[int]]:
    """Of every span, which others it is made of."""
    below: list[list[int]] = [[] for _ in spans]
    open_: list[int] = []
    for index, span in enumerate(spans):
        while open_ and spans[open_[-1]][1] < span[0]:
            open_.pop()
        if open_:
            below[open_[-1]].append(index)
        open_.append(index)
    own = [span[0] for span, kids in zip(spans, below, strict=True) if not kids and span[0] == span[1]]
    if own != list(range(words)) or spans[0][:2] != [0, words - 1] or sum(not kids for kids in below) != words:
        raise LexigraphError(
            "A network on trees reads trees with one root and a node for every word, as in (S (NP It) (VP works))."
        )
    return below


def climb(
    compose: Callable[[Float[Tensor, "n K s"]], Float[Tensor, "n s"]],
    leaves: Float[Tensor, "words s"],
    children: Int[Tensor, "inner K"],
    sizes: Sequence[int],
) -> Float[Tensor, "states s"]:
    """The states of all nodes, from the words' up, behind a first one of zeros."""
    states = torch.cat([leaves.new_zeros(1, leaves.shape[1]), leaves])
    for below in children.split(list(sizes[1:])):
        states = torch.cat([states, compose(F.embedding(below, states))])
    return states


class Labelled(NamedTuple):
    """How probable each label is for every node, as the tree lists them."""

    probabilities: Float[Tensor, "nodes C"]


class TreeNetwork(Predictor[Labelled]):
    """A network with logits for the labels of every node of a tree that is given."""

    label_names: tuple[str, ...]
    counted: Literal["all", "root"] = "all"  # whose labels are learned

    def logits(self, batch: Batch) -> Float[Tensor, "nodes C"]:
        """Of all nodes of all trees of a batch, one after the other."""
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        nll = F.cross_entropy(self.logits(batch), batch["targets"], reduction="none", ignore_index=IGNORE)
        return {"loss": Term(nll.sum(), batch.counts["loss"])}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {TREE: list(self.logits(batch).split(batch["spans"].tolist()))}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Labelled]:
        return [Labelled(row.float().softmax(1)) for row in self.outputs(batch)[TREE]]

    def merge(self, windows: Sequence[Labelled]) -> Labelled:
        """A tree is read whole: there is one window."""
        (window,) = windows
        return window

    def grown(self, tensors: dict[str, Tensor], examples: Examples, most: int) -> Batch:
        """A batch with its nodes by height, and the labels of those that count."""
        trees = ragged(examples[TREE])
        levels = leveled(trees, tensors["lengths"].tolist(), most)
        labels = np.concatenate([tree[:, 2] for tree in trees]).astype(np.int64)
        spans = np.array([len(tree) for tree in trees])
        labels = np.where(labels < 0, IGNORE, labels)
        roots = np.isin(np.arange(len(labels)), np.cumsum([0, *spans[:-1]]))
        targets = np.where(roots | (self.counted == "all"), labels, IGNORE)
        found = {
            TREE: labels,
            "targets": targets,
            "spans": spans,
            "children": levels.children,
            "sizes": np.array(levels.sizes),
            "nodes": levels.nodes,
        }
        tensors = tensors | {name: torch.from_numpy(values) for name, values in found.items()}
        return Batch(tensors, {"loss": float((targets != IGNORE).sum())})
