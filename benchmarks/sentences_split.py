"""How well and how fast running text is cut into sentences (text/sentences.py).

    python benchmarks/sentences_split.py FOLDER/ud-english-ewt [dev]      # train, dev or test

The sentences of each document of the English Web Treebank are joined by single spaces and cut again. A boundary is
the place between two words; the end of a document is none. Web text leaves out many final marks, and where lines are
joined nothing shows that a heading, a greeting or an address ends: `marked` counts the boundaries alone that a final
mark shows. Speed is that of one core on the same text, repeated, with wrapped lines.
"""

from __future__ import annotations

import re
import sys
import textwrap
import time
from pathlib import Path

from lexigraph.text.sentences import of_pieces, split
from lexigraph.text.source import Source

MARKED = re.compile(r"[.!?…][\"'”’)\]*_]*$")


def documents(file: Path) -> list[list[str]]:
    """The sentences of each document."""
    found: list[list[str]] = []
    for line in "".join(Source(file)).split("\n"):
        if line.startswith("# newdoc"):
            found.append([])
        elif line.startswith("# text = "):
            found[-1].append(line.removeprefix("# text = ").strip())
    return [sentences for sentences in found if sentences]


def boundaries(sentences: list[str]) -> set[int]:
    """After how many words a sentence ends and another one begins."""
    ends, words = set(), 0
    for sentence in sentences[:-1]:
        words += len(sentence.split())
        ends.add(words)
    return ends


def scores(right: int, found: int, wanted: int) -> str:
    return f"precision {right / found:.4f}  recall {right / wanted:.4f}  F1 {2 * right / (found + wanted):.4f}"


def main(folder: str, part: str = "dev") -> None:
    (file,) = Path(folder).glob(f"*-{part}.conllu*")
    read = documents(file)
    right = found = wanted = right_marked = found_marked = wanted_marked = 0
    for sentences in read:
        text = " ".join(sentences)
        words, gold, ours = text.split(), boundaries(sentences), boundaries(split(text))
        marked = {place for place in gold if MARKED.search(words[place - 1])}
        right, found, wanted = right + len(gold & ours), found + len(ours), wanted + len(gold)
        right_marked, wanted_marked = right_marked + len(marked & ours), wanted_marked + len(marked)
        found_marked += len(ours - (gold - marked))
    print(f"{part}, all {wanted:,} boundaries:      {scores(right, found, wanted)}")
    print(f"{part}, {wanted_marked:,} with a final mark: {scores(right_marked, found_marked, wanted_marked)}")
    wrapped = ["\n".join(textwrap.wrap(" ".join(sentences), 72)) + "\n\n" for sentences in read] * 20
    size, begin = sum(len(text.encode()) for text in wrapped), time.perf_counter()
    count = sum(1 for _ in of_pieces(wrapped))
    seconds = time.perf_counter() - begin
    print(
        f"{size / 1e6:.1f} MB in {seconds:.2f} s: {size / 1e6 / seconds:.1f} MB/s, {count / seconds:,.0f} sentences/s"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
