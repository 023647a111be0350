"""What vectors of one's own are good for: two senses of a word, bias, two languages.

    python benchmarks/word_uses.py senses TEXT              # pseudo-words of two words each, found and taken apart
    python benchmarks/word_uses.py bias TEXT                # WEAT before and after debiasing
    python benchmarks/word_uses.py languages PAIRS.tsv      # one language to the other, word by word

Skip-gram vectors with the recipe's settings are trained for it, one seed; TEXT is cut at white space.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from random import Random

import numpy as np

from lexigraph.text import readers
from lexigraph.words import align, bias, senses
from lexigraph.words.corpus import sentences
from lexigraph.words.vectors import WordVectors

COMMON = slice(400, 6000)  # ranks of the words that pseudo-words are made of: neither "the" nor too rare to learn
CLEAR = [("piano", "virus"), ("goal", "church"), ("river", "software"), ("hospital", "guitar")]
PAIRS = 54
NEAR = 20  # neighbours of a word that its sense is known by

MALE_FEMALE = [
    ("he", "she"), ("his", "her"), ("man", "woman"), ("himself", "herself"), ("son", "daughter"),
    ("father", "mother"), ("boy", "girl"), ("male", "female"), ("brother", "sister"), ("king", "queen"),
]  # fmt: skip
KEPT = "him hers uncle aunt grandfather grandmother"
MEN, WOMEN = "male man boy brother he him his son", "female woman girl sister she her hers daughter"
ARTS = "poetry art dance literature novel symphony drama sculpture"
TESTS = {
    "career, family": (
        "executive management professional corporation salary office business career",
        "home parents children family cousins marriage wedding relatives",
    ),
    "science, arts": ("science technology physics chemistry einstein nasa experiment astronomy", ARTS),
    "mathematics, arts": ("math algebra geometry calculus equations computation numbers addition", ARTS),
}


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def train(text: Path, dim: int = 100, **more: float) -> WordVectors:
    return WordVectors.train(text, "skipgram", dim, split="space", **more)


def show_senses(text: Path) -> None:
    base = train(text)
    taken = {word for pair in CLEAR for word in pair}
    words = [word for word in base.words[COMMON] if word.isalpha() and len(word) > 3 and word not in taken]
    drawn = Random(0).sample(words, 2 * (PAIRS - len(CLEAR)))
    pairs = [*CLEAR, *zip(drawn[::2], drawn[1::2], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        lines = sentences(text, "space")
        for a, b in pairs:
            lines = senses.merge(lines, a, b, f"{a}_{b}")
        file = Path(folder) / "merged.txt"
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(" ".join(line) + "\n" for line in lines)
        merged = train(file)

    both = [word for word in base.words[:10_000] if word in merged]
    turn = align.procrustes(np.stack([merged[word] for word in both]), np.stack([base[word] for word in both]))

    def blend(a: str, b: str) -> np.ndarray:
        counts = base.counts
        return senses.blend_of(base[a], base[b], int(counts[base.index[a]]), int(counts[base.index[b]]))

    own = [cosine(merged[f"{a}_{b}"] @ turn, blend(a, b)) for a, b in pairs]
    next_one = zip(pairs, pairs[1:] + pairs[:1], strict=True)
    other = [cosine(merged[f"{a}_{b}"] @ turn, blend(*pair)) for (a, b), pair in next_one]
    print(f"{len(pairs)} pseudo-words, cosine with the weighted sum of their two words: {np.mean(own):.3f}", end="")
    print(f" (least {min(own):.3f}); of the next pair's: {np.mean(other):.3f}")

    known = {word: {n.word for n in base.nearest(word, NEAR)} for pair in pairs for word in pair}

    def found(seen: set[str], a: str, b: str) -> bool:
        return bool(seen & (known[a] - {a, b}) and seen & (known[b] - {a, b}))

    shares, sizes = [], []
    for seed in range(4):
        atoms = senses.learn_atoms(merged, seed=seed)
        seen = [{w for s in senses.recover(merged, f"{a}_{b}", atoms) for w in s.words} for a, b in pairs]
        shares.append(np.mean([found(s, *pair) for s, pair in zip(seen, pairs, strict=True)]))
        sizes.append(np.mean([len(s) for s in seen]))
    plain = round(float(np.mean(sizes)))
    near = np.mean([found({n.word for n in merged.nearest(f"{a}_{b}", plain)}, a, b) for a, b in pairs])
    print(f"both senses among the words of five atoms, four seeds: {np.mean(shares):.1%}", end="")
    print(f" ({min(shares):.1%} to {max(shares):.1%}); among as many plain neighbours ({plain}): {near:.1%}")


def show_bias(text: Path) -> None:
    vectors = train(text)
    fair = bias.debias(vectors, MALE_FEMALE, keep=KEPT.split())
    print("| | before | p | after | p |\n| --- | --- | --- | --- | --- |")
    for name, sets in TESTS.items():
        X, Y, A, B = ([word for word in part.split() if word in vectors] for part in (*sets, MEN, WOMEN))
        cells = [f"{t.effect:.2f} | {t.p:.4f}" for t in (bias.weat(wv, X, Y, A, B) for wv in (vectors, fair))]
        print(f"| {name} | {' | '.join(cells)} |")


def show_languages(file: Path) -> None:
    rows = [line.split("\t")[:2] for line in "".join(readers.read_text(file)).splitlines() if "\t" in line]
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for number, name in enumerate(("one", "other")):
            part = Path(folder) / name
            part.write_text("\n".join(row[number] for row in rows), encoding="utf-8")
            sides.append(list(sentences(part)))
            part.write_text("\n".join(dict.fromkeys(map(" ".join, sides[-1]))), encoding="utf-8")  # each once
        settings = {"window": 10, "negative": 10, "epochs": 15, "sample": 1e-4}  # a small text of short lines
        vectors = [train(Path(folder) / name, 300, **settings) for name in ("one", "other")]
    pairs = align.dictionary(zip(*sides, strict=True), min_count=10)
    known = [pair for pair in pairs if pair[0] in vectors[0] and pair[1] in vectors[1]]
    for a, b, order in ((0, 1, 1), (1, 0, -1)):
        learned, test = ([pair[::order] for pair in part] for part in align.held_out(known))
        alignment = align.align(vectors[a], vectors[b], learned)
        print(f"{'there' if order > 0 else 'back'}: {len(learned):,} pairs learned, {len(test):,} tested")
        for method in ("nearest", "csls"):
            right = alignment.accuracy(test, k=(1, 5), method=method)
            print(f"    {method}: {right[1]:.1%} right, {right[5]:.1%} among five")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("senses", "bias", "languages"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    {"senses": show_senses, "bias": show_bias, "languages": show_languages}[given.what](given.file)


if __name__ == "__main__":
    main()
