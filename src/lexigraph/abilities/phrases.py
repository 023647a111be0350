"""What parsers of phrases can do: say which words of a sentence belong together, and as what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from lexigraph.abilities.asking import words_of_texts
from lexigraph.abilities.textmodel import TextModel
from lexigraph.drawing import nodes
from lexigraph.nn.phrases import PhraseNetwork
from lexigraph.text.trees import Span, Tree


@dataclass(frozen=True)
class PhraseTree:
    """The phrases over the words of a sentence, down to the words' tags."""

    tree: Tree

    @property
    def words(self) -> tuple[str, ...]:
        return self.tree.words

    def __str__(self) -> str:
        """In brackets."""
        return str(self.tree)

    def svg(self) -> str:
        """The phrases above the words."""
        return nodes.draw(self.tree)

    def record(self) -> dict[str, object]:
        """The brackets, and every node's first and last word, counted from 0, and label."""
        return {"tree": str(self.tree), "nodes": [span._asdict() for span in self.tree.spans]}


class PhraseParser(TextModel):
    """A tree of phrases over the words."""

    network: PhraseNetwork

    @overload
    def parse(self, texts: str) -> PhraseTree: ...  # type: ignore[overload-overlap]
    @overload
    def parse(self, texts: Sequence[str | Sequence[str]]) -> list[PhraseTree]: ...
    def parse(self, texts: object) -> PhraseTree | list[PhraseTree]:
        """The tree of each text, one sentence each. Words stand between white space, or are given as lists.

        >>> print(model.parse("She sings ."))        # doctest: +SKIP
        (S (NP (PRP She)) (VP (VBZ sings)) (. .))
        """
        rows, one = words_of_texts(texts, "parse", self.network.traits.context)
        found: list[PhraseTree] = []
        labels, tags = self.network.labels, self.network.tags
        for row, answer in zip(rows, self._predicted([{"tokens": row} for row in rows]), strict=True):
            phrases = [Span(first, last, labels[label]) for first, last, label in answer.phrases.tolist()]
            own = [tags[tag] for tag in answer.tags.tolist()]
            found.append(PhraseTree(Tree.of(row, own, phrases)))
        return found[0] if one else found
