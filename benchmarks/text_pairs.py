"""Pairs of texts for models that write, from data sets as they are shared; and ROUGE of what needs no model.

    python benchmarks/text_pairs.py wikipedia $LEXIGRAPH_DATA/wikipedia-en-sample pairs
    python benchmarks/text_pairs.py dialogsum $LEXIGRAPH_DATA/dialogsum pairs
    python benchmarks/text_pairs.py squad $LEXIGRAPH_DATA/squad pairs

writes NAME.SPLIT.jsonl into the folder `pairs`, a line for each {"source": …, "target": …}:

wikipedia    the first sentence of an article from the rest of it; one article in twenty each for validation and test
dialogsum    a dialogue and its summary: `dev`, and `test` with a line for each of its three references
squad        a question (and its context), and the answer: `open` and `closed`. The training file of SQuAD is not
             there: articles of dev-v1.1 are split, and a held-out question has a line for each right answer

A share by article: the hash of its first sentence, or of its title, says where it goes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from lexigraph.abilities.writing import asking
from lexigraph.evaluation.rouge import KINDS
from lexigraph.evaluation.summarising import rouge_scores
from lexigraph.text import sentences
from lexigraph.text.source import Source

Pair = tuple[str, str]
FEWEST, LONGEST = 40, 60  # words of the rest of an article, of its first sentence


def split_of(name: str) -> str:
    """Where an article goes."""
    share = blake2b(name.encode(), digest_size=2).digest()[0] / 256
    return "train" if share < 0.9 else "valid" if share < 0.95 else "test"


def wikipedia(folder: Path) -> Iterator[tuple[str, Pair]]:
    """First sentences and what follows them."""
    for article in "".join(Source(folder / "wiki.txt.xz")).split("\n\n"):
        first, *others = article.strip().split("\n")
        lead, *more = sentences.split(first) or [""]
        rest = " ".join([*more, *others])
        if 5 <= len(lead.split()) <= LONGEST and len(rest.split()) >= FEWEST:
            yield f"wikipedia.{split_of(lead)}", (rest, lead)


def dialogsum(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Dialogues and their summaries."""
    for split in ("dev", "test"):
        for line in "".join(Source(folder / f"dialogsum.{split}.jsonl.xz")).splitlines():
            item = json.loads(line)
            for name in ("summary", "summary1", "summary2", "summary3"):
                if name in item:
                    yield f"dialogsum.{split}", (item["dialogue"], item[name])


def squad(folder: Path) -> Iterator[tuple[str, Pair]]:
    """Questions and answers."""
    for article in json.loads("".join(Source(folder / "dev-v1.1.json.xz")))["data"]:
        split = split_of(article["title"])
        for paragraph in article["paragraphs"]:
            for item in paragraph["qas"]:
                right = list(dict.fromkeys(answer["text"] for answer in item["answers"]))
                for text in right[:1] if split == "train" else right:
                    yield f"open.{split}", (asking(item["question"], paragraph["context"]), text)
                    yield f"closed.{split}", (asking(item["question"]), text)


def main(name: str, folder: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    pairs: dict[str, list[Pair]] = {}
    for split, pair in {"wikipedia": wikipedia, "dialogsum": dialogsum, "squad": squad}[name](folder):
        pairs.setdefault(split, []).append(pair)
    for split, found in pairs.items():
        lines = (json.dumps({"source": a, "target": b}, ensure_ascii=False) for a, b in found)
        (out / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{split}: {len(found):,} pairs of {len({a for a, _ in found}):,} texts")
    for split in [split for split in pairs if name != "squad" and not split.endswith("train")]:
        print(f"\n{split}", *KINDS, sep="\t")
        texts, references = zip(*pairs[split], strict=True)
        for system, figures in rouge_scores(texts, [], references).items():
            ends = [figures[kind]["interval"] for kind in KINDS]
            values = [f"{100 * figures[kind]['value']:.2f}" for kind in KINDS]
            shown = [
                f"{value} [{100 * low:.2f}, {100 * high:.2f}]"
                for value, (low, high) in zip(values, ends, strict=True)
            ]
            print(system, *shown, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:4]))
