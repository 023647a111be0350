"""Sentences that say the same, as documents of two to five lines: captions of one picture, entailments, translations.

python benchmarks/paraphrases.py DATA > paraphrases.txt

DATA holds flickr8k, snli, mrpc and tatoeba-eng-fra, and sts-b and sick, of whose dev and test pairs nothing may be
learned: a document (of translations: a sentence) is left out if it is near one of theirs, which means that at least
three fifths of the words that the two have together stand in both. Counts go to standard error.

flickr8k            the five captions of a picture
snli                dev file: premise and hypothesis, where the one entails the other
mrpc                train file: the two sentences, where they are paraphrases
tatoeba-eng-fra     English sentences that have one French translation
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from lexigraph.evaluation.latent.similarity import similarity_pairs
from lexigraph.text import readers

WORD = re.compile(r"\w+")
SHARE, MOST = 0.6, 5  # of words, to be too near; of sentences that have one translation
Document = list[str]


class Held:
    """The sentences of which nothing may be learned."""

    def __init__(self, data: Path) -> None:
        splits = similarity_pairs(data).values()
        texts = [text for split in splits for part in ("dev", "test") for a, b, _ in split[part] for text in (a, b)]
        self.sets = list({frozenset(words(text)) for text in texts})
        self.having: defaultdict[str, list[int]] = defaultdict(list)
        for number, found in enumerate(self.sets):
            for word in found:
                self.having[word].append(number)

    def near(self, text: str) -> bool:
        """Whether a held sentence has SHARE of the words that both have together."""
        own = frozenset(words(text))
        rarest = sorted((word for word in own if word in self.having), key=lambda word: len(self.having[word]))
        enough = len(own) - int(SHARE * len(own)) + 1  # words, of which a near sentence has one at least
        seen = {number for word in rarest[:enough] for number in self.having[word]}
        return any(len(own & self.sets[number]) >= SHARE * len(own | self.sets[number]) for number in seen)


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def fields(path: Path) -> Iterator[list[str]]:
    file = next(path.parent.glob(path.name + "*"))
    return (line.rstrip("\n").split("\t") for line in readers.read_lines(file))


def captions(data: Path, held: Held) -> Iterator[Document]:
    pictures: dict[str, Document] = defaultdict(list)
    for name, caption in fields(data / "flickr8k" / "Flickr8k.token.txt"):
        pictures[name.split("#")[0]].append(caption.strip())
    return without_near(pictures.values(), held)


def entailments(data: Path, held: Held) -> Iterator[Document]:
    rows = fields(data / "snli" / "dev.tsv")
    return without_near(([a, b] for label, a, b in rows if label == "entailment"), held)


def news(data: Path, held: Held) -> Iterator[Document]:
    rows = fields(data / "mrpc" / "msr-para-train.tsv")
    return without_near((row[3:5] for row in rows if row[0] == "1"), held)


def translations(data: Path, held: Held) -> Iterator[Document]:
    english: dict[str, Document] = defaultdict(list)
    file = next((data / "tatoeba-eng-fra").glob("*.txt*"))
    for line in readers.read_lines(file):
        text, french = line.split("\t")[:2]
        if text not in english[french]:
            english[french].append(text)
    several = (texts for texts in english.values() if len(texts) > 1)
    left = ([text for text in texts if not held.near(text)] for texts in several)
    return (texts[:MOST] for texts in left if len(texts) > 1)


def without_near(documents: Iterable[Document], held: Held) -> Iterator[Document]:
    return (texts for texts in documents if not any(map(held.near, texts)))


def main() -> None:
    data = Path(sys.argv[1])
    held, chosen = Held(data), random.Random(0)
    for source in (captions, entailments, news, translations):
        documents = list(source(data, held))
        chosen.shuffle(documents)
        for texts in documents:
            print(*texts, "", sep="\n")
        print(f"{source.__name__}: {len(documents):,} documents", file=sys.stderr)


if __name__ == "__main__":
    main()
