"""What networks on trees can do: name the label of every node of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, overload

from lexigraph.abilities.asking import TextError, many
from lexigraph.abilities.classifying import Classification
from lexigraph.abilities.textmodel import TextModel
from lexigraph.drawing.nodes import draw
from lexigraph.errors import UsageError
from lexigraph.nn.trees import TREE, TreeNetwork
from lexigraph.text.readers import Value
from lexigraph.text.trees import NoTree, Span, Tree, parse


@dataclass(frozen=True, kw_only=True)
class ClassifiedTree(Classification):
    """The class of the whole tree, and the tree with the label called at every node, each with its probability."""

    tree: Tree
    nodes: tuple[float, ...]

    def svg(self) -> str:
        """The tree with its classes, coloured where they are numbers."""
        return draw(self.tree, list(self.probabilities))

    def record(self) -> dict[str, object]:
        """What `--json` prints beside the class: the tree, and the class of every node with its probability."""
        rows = zip(self.tree.spans, self.nodes, strict=True)
        return {"tree": str(self.tree), "nodes": [{**span._asdict(), "probability": p} for span, p in rows]}


class TreeClassifier(TextModel):
    """A label for every node of a tree."""

    network: TreeNetwork

    @overload
    def classify(self, examples: str | Tree | Mapping[str, Value]) -> ClassifiedTree: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, examples: Iterable[str | Tree | Mapping[str, Value]]) -> list[ClassifiedTree]: ...
    def classify(self, examples: object) -> ClassifiedTree | list[ClassifiedTree]:
        """The labels of each tree, which is given in brackets, as what text/trees.py makes of them, or as a record.

        What labels the brackets have does not matter.

        >>> print(model.classify("(? (? not) (? bad))").tree)        # doctest: +SKIP
        (3 (1 not) (1 bad))
        """
        every, one = many(examples, (str, Tree, Mapping), "tree")
        grown = [_tree(each, number, len(every)) for number, each in enumerate(every, 1)]
        names = self.vocabularies.labels(TREE).names
        found: list[ClassifiedTree] = []
        answers = self._predicted([{"tokens": list(tree.words), TREE: list(tree.spans)} for tree in grown])
        for tree, answer in zip(grown, answers, strict=True):
            values, best = answer.probabilities.max(1)
            labels = [names[i] for i in best.tolist()]
            spans = (Span(s.first, s.last, label) for s, label in zip(tree.spans, labels, strict=True))
            root = dict(zip(names, answer.probabilities[0].tolist(), strict=True))
            called = Tree(tree.words, tuple(spans))
            nodes = tuple(values.tolist())
            found.append(ClassifiedTree(labels[0], root[labels[0]], root, tree=called, nodes=nodes))
        return found[0] if one else found

    def word_weights(self, k: int = 10) -> NoReturn:
        raise UsageError("A word has no weight of its own in a tree: only a bag of words has weights.")


def _tree(given: str | Tree | Mapping[str, Any], number: int, of: int) -> Tree:
    if isinstance(given, Tree):
        return given
    try:
        return parse(given) if isinstance(given, str) else Tree(tuple(given["tokens"]), tuple(given[TREE]))
    except NoTree as fault:
        raise TextError(number, of, f"is no tree in brackets, such as (0 (0 It) (1 works)): {fault}") from None
