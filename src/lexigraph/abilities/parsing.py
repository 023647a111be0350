"""What parsers can do: say how the words of a sentence hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from lexigraph.abilities.asking import words_of_texts
from lexigraph.abilities.textmodel import TextModel
from lexigraph.drawing import arcs
from lexigraph.nn.parsing import RELATIONS, TAGS, ParserNetwork


class Tree(Protocol):
    """What `parse` answers for a sentence, whichever kind of tree it is: `str(tree)` is what is printed."""

    words: tuple[str, ...]

    def svg(self) -> str:
        """The tree as a drawing."""

    def record(self) -> dict[str, object]:
        """What `--json` prints of it."""


@dataclass(frozen=True)
class DependencyTree:
    """Every word's head (counted from 1; 0: it is the root), the relation between them, and how probable both are."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]  # none where the parser learned none
    probabilities: tuple[float, ...]

    def __str__(self) -> str:
        """A CoNLL-U sentence, with the blank line that ends it."""
        tags = self.tags or ["_"] * len(self.words)
        rows = zip(self.words, tags, self.heads, self.relations, strict=True)
        lines = (
            f"{number}\t{' '.join(word.split()) or '_'}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"
            for number, (word, tag, head, relation) in enumerate(rows, 1)
        )
        return "".join(lines)

    def svg(self) -> str:
        """The words with their arcs."""
        return arcs.draw(self.words, self.heads, self.relations, self.tags)

    def record(self) -> dict[str, object]:
        """A row for every word."""
        tags = self.tags or [None] * len(self.words)
        keys = ("word", "tag", "head", "relation", "probability")
        rows = zip(self.words, tags, self.heads, self.relations, self.probabilities, strict=True)
        return {"words": [dict(zip(keys, row, strict=True)) for row in rows]}


class DependencyParser(TextModel):
    """A tree over the words themselves."""

    network: ParserNetwork

    @overload
    def parse(self, texts: str) -> DependencyTree: ...  # type: ignore[overload-overlap]
    @overload
    def parse(self, texts: Sequence[str | Sequence[str]]) -> list[DependencyTree]: ...
    def parse(self, texts: object) -> DependencyTree | list[DependencyTree]:
        """The tree of each text, one sentence each. Words stand between white space, or are given as lists.

        >>> model.parse("She sings .").heads        # doctest: +SKIP
        (2, 0, 2)
        """
        rows, one = words_of_texts(texts, "parse", self.network.traits.context)
        relations = self.vocabularies.labels(RELATIONS).names
        tags = self.vocabularies.labels(TAGS).names if TAGS in self.vocabularies else ()
        answers = self._predicted([{"tokens": row} for row in rows])
        found = [
            DependencyTree(
                words=tuple(row),
                heads=tuple(answer.heads.tolist()),
                relations=tuple(relations[i] for i in answer.relations.tolist()),
                tags=tuple(tags[i] for i in answer.tags.tolist()) if answer.tags is not None else (),
                probabilities=tuple(answer.probabilities.tolist()),
            )
            for row, answer in zip(rows, answers, strict=True)
        ]
        return found[0] if one else found
