"""Text cut into words as treebanks cut it, for word vectors that a tagger or parser starts from.

python benchmarks/own_vectors.py books.train.txt.xz wiki.txt.xz > words.txt
lexigraph words train skipgram --data words.txt --set split=space --window 3 --min-count 3 --out own.vec

Signs stand by themselves, "don't" is "do n't" and "she's" "she 's", opening and closing quotation marks are `` and
'', as in the Penn Treebank: a vector serves only words that are cut as the vectors' words were.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from lexigraph.text import readers, sentences

PAIRS = [
    (re.compile(r"[“”]"), '"'),
    (re.compile(r"[‘’]"), "'"),
    (re.compile(r'(^|[ (\[])"'), r"\1 `` "),
    (re.compile(r'"'), " '' "),
    (re.compile(r"(\.\.\.|--+|[—–])"), r" \1 "),
    (re.compile(r"([;:@#$%&?!()\[\]{}<>/*])"), r" \1 "),
    (re.compile(r"([^\d\s]),|,([^\d])|,$"), r"\1 , \2"),
    (re.compile(r"(?<![.\s][A-Za-z])(?<=[^.\s])(\.)(?=\s*['\")\]]*\s*$)"), r" \1 "),
    (re.compile(r"(?<=[A-Za-z])n't\b", re.IGNORECASE), " n't"),
    (re.compile(r"(?<=\w)('(?:s|m|d|ll|re|ve))\b", re.IGNORECASE), r" \1"),
    (re.compile(r"(?<=s)'(?=\s|$)"), " '"),
]


def treebank_words(sentence: str) -> str:
    """A sentence with spaces between its words and signs.

    >>> treebank_words("She didn't see John's \\"old\\" door, he said.")
    "She did n't see John 's `` old '' door , he said ."
    """
    for pattern, instead in PAIRS:
        sentence = pattern.sub(instead, sentence)
    return " ".join(sentence.split())


def lines(files: list[str]) -> Iterator[str]:
    for file in files:
        for line in readers.read_lines(file):
            yield from map(treebank_words, sentences.split(line))


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line)
