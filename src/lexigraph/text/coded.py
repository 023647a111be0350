"""A language made from English, so that it is known which word comes from which: to measure alignments.

    The old man reads a book .    →    beni lillolal wa rozan pulru sukas huze .
                                       man  old          book  a     reads      .

Every word has one of its own (`coin`), and some have two, others none (*the* has none). Phrases come before the verbs
and prepositions that they hang on, what belongs to a noun comes after it: so nearly all words move, some far. Two
words come from none: *wa* stands after the subject, *ka* at the end of a question.

>>> from lexigraph.text.trees import parse
>>> words, links = coded(parse("(S (NP (DT The) (JJ old) (NN man)) (VP (VBZ reads) (NP (DT a) (NN book))) (. .))"))
>>> " ".join(words), links[-1]
('beni lillolal wa rozan pulru sukas huze .', (6, 7))
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from lexigraph.text.constructions import clauses
from lexigraph.text.phrases import tree
from lexigraph.text.trees import Tree, parents

BEGINNINGS, VOWELS, ENDINGS = "bdfghklmnprstvz", "aeiou", ("", "", "", "n", "s", "l")  # of syllables
NONE, TWICE = 0.05, 0.1  # the shares of words that become none, and two
HEADS_LAST = ("VP", "PP", "SBAR")
TOPIC, ASKING = "wa", "ka"
Links = list[tuple[int, int]]  # word of the source, word of the target


def pairs(seed: int = 0) -> Iterator[tuple[list[str], list[str], Links]]:
    """Sentences of the grammar without end: their words, those of their translation, and which come from which."""
    for clause in clauses(None, seed):
        source = tree(clause)
        yield list(source.words), *coded(source)


def coded(source: Tree) -> tuple[list[str], Links]:
    """The translation of a tree, and what each of its words comes from."""
    above = parents(source.spans)
    below: dict[int, list[int]] = {index: [] for index in range(len(source.spans))}
    for index, parent in enumerate(above):
        if parent >= 0:
            below[parent].append(index)
    words: list[str] = []
    links: Links = []

    def write(index: int) -> None:
        first, _, label = source.spans[index]
        children = sorted(below[index], key=lambda child: source.spans[child].first)
        if not children:
            links.extend((first, len(words) + place) for place in range(len(meaning(source.words[first]))))
            words.extend(meaning(source.words[first]))
            return
        own = [child for child in children if not below[child]]
        phrases = [child for child in children if below[child]]
        if label in HEADS_LAST:
            children = phrases + own[::-1]
        elif label == "NP":
            children = own[::-1] + phrases
        subject = next((c for c in children if source.spans[c].label == "NP"), None) if label in ("S", "SQ") else None
        for child in children:
            if index == 0 and source.words[source.spans[child].first] == "?":
                words.append(ASKING)
            write(child)
            if child == subject:
                words.append(TOPIC)

    write(0)
    return words, links


@cache
def meaning(word: str) -> tuple[str, ...]:
    """What a word becomes: itself, if it is no word; one, none or two invented ones."""
    word = word.lower()
    if not word.isalpha():
        return (word,)
    random = Random(word)
    share = random.random()
    count = 0 if word == "the" or share < NONE else 2 if share > 1 - TWICE else 1
    return tuple(coin(random) for _ in range(count))


def coin(random: Random) -> str:
    """An invented word of two or three syllables."""
    syllables = random.choice((2, 2, 3))
    parts = (random.choice(BEGINNINGS) + random.choice(VOWELS) + random.choice(ENDINGS) for _ in range(syllables))
    return "".join(parts)


def written(links: Links) -> str:
    """Links as they are written in files: `0-0 1-3`."""
    return " ".join(f"{source}-{target}" for source, target in links)
