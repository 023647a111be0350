"""SQuAD's development set, parted by article, where its training set is not at hand.

python benchmarks/squad.py $LEXIGRAPH_DATA/squad/dev-v1.1.json.xz squad      writes train, dev and test into squad
lexigraph train question-answering --data squad/train.json --valid squad/dev.json --test squad/test.json --out runs/qa

Of every five articles, in the order of the file, the fifth is in `test`; of those before it every eighth is in `dev`.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

Article = dict[str, Any]


def parted(articles: list[Article]) -> dict[str, list[Article]]:
    """The articles of each split."""
    test = articles[4::5]
    rest = [article for number, article in enumerate(articles) if number % 5 != 4]
    dev = rest[7::8]
    return {"train": [each for each in rest if each not in dev], "dev": dev, "test": test}


def main(source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    packed = source.read_bytes()
    articles = json.loads(lzma.decompress(packed) if source.suffix == ".xz" else packed)["data"]
    for name, own in parted(articles).items():
        (out / f"{name}.json").write_text(json.dumps({"data": own}, ensure_ascii=False), encoding="utf-8")
        questions = sum(len(paragraph["qas"]) for article in own for paragraph in article["paragraphs"])
        print(f"{name}: {len(own)} articles, {questions:,} questions: {', '.join(each['title'] for each in own)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
