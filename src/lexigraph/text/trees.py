"""Trees in brackets: reading and writing them, and the forms in which networks learn them.

    (S (NP (PRP It)) (VP (VBZ works)))          the Penn Treebank's: a label, then words or phrases
    (3 (2 It) (4 works))                        the Stanford Sentiment Treebank's: a class at every node

A tree is its words and its spans, parents first: rows (first word, last word, label), as the column kind "spans" has
them (text/columns.py). The last row of a word alone is that of its own node: its tag, or its class.

>>> tree = parse("(S (NP (PRP It)) (VP (VBZ works)))")
>>> [tuple(span) for span in tree.spans]
[(0, 1, 'S'), (0, 0, 'NP'), (0, 0, 'PRP'), (1, 1, 'VP'), (1, 1, 'VBZ')]
>>> print(tree)
(S (NP (PRP It)) (VP (VBZ works)))
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from lexigraph.errors import LexigraphError

TOKEN = re.compile(r"[()]|[^()\s]+", re.ASCII)  # a no-break space, as in 8 1/2, is part of a word
WHITE = re.compile(r"\s+", re.ASCII)
TRACE = "-NONE-"  # the tag of what is not said: no word
PUNCTUATION = frozenset((",", ":", "``", "''", "."))  # tags, as evalb has them
PART = "@"  # before the label of a node that binarising made
UNARY = "+"  # between the labels of a chain of nodes over the same words
MOST_WORDS = 100_000  # of a tree; more means that a bracket is missing
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
WRITTEN = {"(": "-LRB-", ")": "-RRB-"}  # what would be read as brackets of the tree


class Span(NamedTuple):
    """Some words that belong together, the last one included, and what they are."""

    first: int
    last: int
    label: str


class NoTree(LexigraphError):
    """What is not a tree, and where: line and column count from 1."""

    def __init__(self, line: int, column: int, why: str) -> None:
        self.line, self.column, self.why = line, column, why
        super().__init__(f"line {line}, column {column}: {why}")


@dataclass(frozen=True)
class Tree:
    """Words and the spans over them, parents first."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    def __str__(self) -> str:
        """In brackets, on one line."""
        begin, end = [""] * len(self.words), Counter(span.last for span in self.spans)
        for span in self.spans:
            begin[span.first] += f"({span.label} "
        written = (WRITTEN.get(word, WHITE.sub("\u00a0", word)) for word in self.words)
        return " ".join(f"{begin[i]}{word}{')' * end[i]}" for i, word in enumerate(written))

    @property
    def tags(self) -> list[str]:
        """The label of every word's own node."""
        return [label for _, label in sorted({s.first: s.label for s in self.spans if s.first == s.last}.items())]

    @property
    def phrases(self) -> list[Span]:
        """The spans above the words' own nodes, one for each stretch of words: labels of a chain are joined."""
        own = {span.first: index for index, span in enumerate(self.spans) if span.first == span.last}
        found: dict[tuple[int, int], str] = {}
        for index, span in enumerate(self.spans):
            if own.get(span.first) != index:
                over = found.get(span[:2])
                found[span[:2]] = f"{over}{UNARY}{span.label}" if over else span.label
        return [Span(*ends, label) for ends, label in found.items()]

    @classmethod
    def of(cls, words: Sequence[str], tags: Sequence[str], phrases: Iterable[Span]) -> Tree:
        """The tree of words, their tags, and phrases whose labels may be joined."""
        chains = [Span(s.first, s.last, label) for s in phrases for label in s.label.split(UNARY)]
        every = chains + [Span(i, i, tag) for i, tag in enumerate(tags)]
        return cls(tuple(words), tuple(sorted(every, key=lambda span: (span.first, -span.last))))


def parse(text: str) -> Tree:
    """The one tree that a text holds."""
    found = [tree for _, tree in read(enumerate(text.split("\n"), 1))]
    if len(found) != 1:
        raise NoTree(1, 1, f"there are {len(found)} trees, and one is wanted." if found else "there is no tree.")
    return found[0]


def read(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Tree]]:
    """The trees of numbered lines, each with the line where it begins. A tree begins on a line of its own.

    Traces are left out, and so is a bracket without a label around a whole tree. What stands for brackets and the
    like in a treebank is read as what it stands for.
    """
    reader = _Reader()
    number = 1
    for number, line in lines:
        ended = 0  # where a tree ends on this line
        for token in TOKEN.finditer(line):
            if ended and token.group() != ")":
                raise NoTree(number, token.start() + 1, "a tree ends before this: begin each one on a new line.")
            reader.take(number, token.start() + 1, token.group())
            ended = 0 if reader.open else token.end()
        if ended and (tree := reader.tree()):
            yield reader.began, tree
    if reader.open:
        _, began, column = reader.open[0]
        missing = len(reader.open)
        raise NoTree(
            began, column, f"the tree that begins here lacks {missing} closing bracket{'s' * (missing > 1)}."
        )


def refuse_other(value: object, field: str, where: str) -> None:
    """Refuse what stands in the place of a tree's spans, in a file that is none of trees."""
    if not isinstance(value, list | tuple) or not all(isinstance(span, Span) for span in value):
        what = f"the {field} is no tree but {value!r:.40}"
        raise LexigraphError(f"{where}: {what}. Trees stand in brackets, in files named .mrg, .ptb or .trees.")


class _Reader:
    """Brackets as they come."""

    def __init__(self) -> None:
        self.open: list[tuple[int, int, int]] = []  # of every open bracket: its span, its line and its column
        self.words: list[str] = []
        self.spans: list[Span] = []
        self.before = ""  # the token before: a label stands behind a bracket
        self.began = 0

    def take(self, line: int, column: int, token: str) -> None:
        if token == "(":
            self._begin(line, column)
        elif not self.open:
            why = "this bracket closes nothing." if token == ")" else f"{token[:40]!r} stands outside any tree."
            raise NoTree(line, column, why)
        elif token == ")":
            self._end(line, column)
        elif self.before == "(":
            self.spans[-1] = Span(len(self.words), -1, token)
        else:
            self._word(line, column, token)
        self.before = token if token in "()" else "label" if self.before == "(" else "word"

    def _begin(self, line: int, column: int) -> None:
        if not self.open:
            self.words, self.spans, self.began = [], [], line
        if self.before == "word" and self.open:
            raise NoTree(line, column, f"a node begins behind the word {self.words[-1][:40]!r}: a word's node ends.")
        self.open.append((len(self.spans), line, column))
        self.spans.append(Span(len(self.words), -1, ""))

    def _end(self, line: int, column: int) -> None:
        index, _, _ = self.open.pop()
        span = self.spans[index]
        if span.first == len(self.words):
            raise NoTree(line, column, f"the node ({span.label}) is empty: a label and a word are wanted.")
        self.spans[index] = Span(span.first, len(self.words) - 1, span.label)

    def _word(self, line: int, column: int, token: str) -> None:
        if self.before != "label":
            raise NoTree(line, column, f"the word {token[:40]!r} has no node of its own: write (LABEL {token[:40]}).")
        if len(self.words) == MOST_WORDS:
            _, began, at = self.open[0]
            raise NoTree(began, at, f"over {MOST_WORDS:,} words since this bracket: it is not closed.")
        self.words.append(BRACKETS.get(token, token.replace("\\/", "/").replace("\\*", "*")))

    def tree(self) -> Tree | None:
        """What was read, without traces and without an outer bracket that says nothing."""
        spans = self.spans[1:] if not self.spans[0].label and self._wraps_one() else self.spans
        whole = Tree(tuple(self.words), tuple(spans))
        tree = without(whole, {TRACE}) if TRACE in whole.tags else whole
        return tree if tree.words else None

    def _wraps_one(self) -> bool:
        return len(self.spans) > 1 and self.spans[0][:2] == self.spans[1][:2]


# ---- forms ------------------------------------------------------------------------------------------------------


def without(tree: Tree, tags: Iterable[str]) -> Tree:
    """A tree without the words that have such tags, and without nodes of which nothing is left.

    >>> print(without(parse("(S (NP (-X- *)) (VP (V go) (. !)))"), {"-X-", "."}))
    (S (VP (V go)))
    """
    gone = set(tags)
    kept = [tag not in gone for tag in tree.tags]
    before = [0, *accumulate(kept)]  # how many words are kept before each
    moved = (Span(before[first], before[last + 1] - 1, label) for first, last, label in tree.spans)
    words = (word for word, keep in zip(tree.words, kept, strict=True) if keep)
    return Tree(tuple(words), tuple(span for span in moved if span.first <= span.last))


def parents(spans: Sequence[Span]) -> list[int]:
    """The index of every span's parent; -1 for a root.

    >>> parents(parse("(S (NP (PRP It)) (VP (VBZ works)))").spans)
    [-1, 0, 1, 0, 3]
    """
    found: list[int] = []
    above: list[int] = []
    for index, span in enumerate(spans):
        while above and spans[above[-1]].last < span.first:
            above.pop()
        found.append(above[-1] if above else -1)
        above.append(index)
    return found


def binarised(tree: Tree) -> Tree:
    """Nodes with at most two children: all but the first child of a larger one come below a node of their own.

    >>> print(binarised(parse("(NP (DT an) (JJ old) (NN key))")))
    (NP (DT an) (@NP (JJ old) (NN key)))
    """
    above = parents(tree.spans)
    children = Counter(above)
    nth: Counter[int] = Counter()
    spans: list[Span] = []
    for index, (span, parent) in enumerate(zip(tree.spans, above, strict=True)):
        if parent >= 0:
            nth[parent] += 1
            if 1 < nth[parent] < children[parent]:
                label = tree.spans[parent].label
                spans.append(Span(span.first, tree.spans[parent].last, label if label[:1] == PART else PART + label))
        spans.append(tree.spans[index])
    return Tree(tree.words, tuple(spans))


def unbinarised(tree: Tree) -> Tree:
    """The tree that was binarised."""
    return Tree(tree.words, tuple(span for span in tree.spans if not span.label.startswith(PART)))
