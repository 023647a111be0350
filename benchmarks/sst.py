"""Stanford Sentiment Treebank as texts with labels: phrases of the training trees, sentences of the others.

python benchmarks/sst.py $LEXIGRAPH_DATA/sst sst            writes fine and binary files into the folder sst
lexigraph train classifier-sst --data sst/binary.phrases.tsv --valid sst/binary.dev.tsv --test sst/binary.test.tsv

`phrases` holds every different phrase of the training trees, whole sentences included (the label that most of its
nodes have), `train`, `dev` and `test` the sentences alone. Binary: labels 0 and 1 are negative, 3 and 4 positive, and
what is neutral is left out.
"""

from __future__ import annotations

import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

NODE = re.compile(r"\((\d) |([^ ()]+)|\)")
BINARY = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}


def phrases(tree: str) -> Iterator[tuple[str, str]]:
    """The words and the label of every node, the root last."""
    open_nodes: list[tuple[str, list[str]]] = []
    for found in NODE.finditer(tree):
        label, word = found.groups()
        if label:
            open_nodes.append((label, []))
        elif word:
            open_nodes[-1][1].append(word)
        else:
            label, words = open_nodes.pop()
            if open_nodes:
                open_nodes[-1][1].extend(words)
            yield " ".join(words), label


def main(source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        trees = lzma.decompress((source / "trees" / f"{split}.txt.xz").read_bytes()).decode().splitlines()
        nodes = [list(phrases(tree)) for tree in trees if tree.strip()]
        write(out, split, [own[-1] for own in nodes])
        if split == "train":
            labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for text, label in (node for own in nodes for node in own):
                labels[text][label] += 1
            write(out, "phrases", [(text, found.most_common(1)[0][0]) for text, found in labels.items()])


def write(out: Path, name: str, rows: list[tuple[str, str]]) -> None:
    (out / f"fine.{name}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows), "utf-8")
    two = "".join(f"{text}\t{BINARY[label]}\n" for text, label in rows if label in BINARY)
    (out / f"binary.{name}.tsv").write_text(two, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
