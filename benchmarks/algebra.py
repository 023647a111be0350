"""How far a model's sums of sentences carry, how well it copies, and what its pictures survive.

    python benchmarks/algebra.py MODEL --copies books.valid.txt --rows analogies.tsv --noise 0 0.5
    python benchmarks/algebra.py MODEL --copies books.test.txt --test --replay sums.tsv everyday.tsv

any two        z(b,x) − z(a,x) + z(a,y) → b(y) and back, for every family of the built-in grammar; x and y are any two
               sentences. Without --test, of combinations that benchmarks/books.py keeps out of the training split:
               what settings are chosen by; with it, of the test split, which is for reporting
two at once    two families, each from a sentence of its own, over all compatible pairs of families
rows           analogies of a file (benchmarks/analogies.py, drawn from books that were not trained on)
copies         sentences, and two that follow each other as one text of 30 to 40 tokens
pictures       read after JPEG (Pillow, 4:2:0), half the side and back, a grey square of 20 × 20, noise of 16 levels
replay         the share of a table's rows that come out as intended
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, pairwise
from pathlib import Path
from random import Random

import numpy as np
from books import kept_out
from PIL import Image

import lexigraph
from lexigraph.evaluation.latent.arithmetic import combined
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import constructions, edits, grammar

BATCH = 2_000
Pair = tuple[str, str]
Quadruple = tuple[str, str, str, str]


class Space:
    """A model that adds up sentences, many at once."""

    def __init__(self, name: str, spaced: bool) -> None:
        self.model, self.spaced = lexigraph.load(name), spaced

    def fits(self, *texts: str) -> bool:
        longest = self.model.network.traits.context - 1
        return all(len(self.model.tokenizer.encode(text)) <= longest for text in texts)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        parts = [
            self.model.encode(list(texts[n : n + BATCH]), unnormalised=True) for n in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts)

    def written(self, z: np.ndarray, noise: float) -> list[str]:
        parts = (self.model.decode(z[n : n + BATCH], noise=noise) for n in range(0, len(z), BATCH))
        return [str(text) for part in parts for text in part]

    def sums(self, rows: Sequence[Sequence[str]], noise: float) -> np.ndarray:
        """Whether the last text of each row is its first − second + third − fourth … + last but one."""
        if not rows:
            return np.zeros(0)
        z = self.vectors([text for row in rows for text in row[:-1]]).reshape(len(rows), len(rows[0]) - 1, -1)
        signs = np.array([(-1) ** n for n in range(z.shape[1])], np.float32)
        found = self.written(np.einsum("rtk,t->rk", z, signs), noise)
        return np.array([text == row[-1] for text, row in zip(found, rows, strict=True)])


# ---- sums -----------------------------------------------------------------------------------------------------


def pairs_of(
    pairs: Iterator[tuple[grammar.Clause, grammar.Clause] | None], test: bool, spaced: bool
) -> Iterator[Pair]:
    """Pairs of the test split, or of what is kept out of the training split, spelled as the model's text is."""
    for pair in pairs:
        if pair is None:
            continue
        held = min(map(constructions.split_of, pair)) == "test"  # "test" < "train"
        if held if test else not held and any(map(kept_out, pair)):
            first, second = (spelled(grammar.realise(clause), spaced) for clause in pair)
            yield first, second


def any_two(family: str, count: int, test: bool, spaced: bool) -> list[Quadruple]:
    if test:
        drawn = edits.edit_quadruples(family, count, split="test")
        return [tuple(spelled(text, spaced) for text in row) for row in drawn]  # type: ignore[misc]
    pairs = pairs_of(map(edits.EDITS[family].pair, constructions.clauses(None, 9)), test, spaced)
    return [(*x, *y) for x, y in islice(zip(pairs, pairs, strict=False), count) if x != y]


def families(space: Space, count: int, noise: float, test: bool) -> dict[str, list[float]]:
    """The share that is right of every family, there and back."""
    found = {}
    for family in edits.EDITS:
        drawn = [row for row in any_two(family, count, test, space.spaced) if space.fits(*row)]
        there = space.sums([(b, a, c, d) for a, b, c, d in drawn], noise)
        back = space.sums([(a, b, d, c) for a, b, c, d in drawn], noise)
        found[family] = [round(100 * float(way.mean()), 1) for way in (there, back)]
    return found


def two_at_once(space: Space, count: int, noise: float, test: bool) -> dict[str, float]:
    """The share that is right of all pairs of families that some clauses bear at once."""
    clauses = list(islice(constructions.clauses(None, 11), 1500))
    each = {f: map(edit.pair, constructions.clauses(None, 12)) for f, edit in edits.EDITS.items()}
    donors = {f: list(islice(pairs_of(pairs, test, space.spaced), count)) for f, pairs in each.items()}
    found = {}
    for first, second in combinations(edits.EDITS, 2):
        edited = (combined((first, second), clause) for clause in clauses)
        both = list(islice(pairs_of(edited, test, space.spaced), count))
        if len(both) < 10:
            continue
        whole = zip(donors[first], donors[second], both, strict=False)
        rows = [(x[1], x[0], y[1], y[0], given, result) for x, y, (given, result) in whole]
        found[f"{first} + {second}"] = 100 * float(
            space.sums([row for row in rows if space.fits(*row)], noise).mean()
        )
    return found


def of_file(space: Space, file: Path, noise: float) -> dict[str, float]:
    with file.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    one = [(r["after"], r["before"], r["given"], r["result"]) for r in rows if not r["before2"]]
    two = [
        (r["after"], r["before"], r["after2"], r["before2"], r["given"], r["result"]) for r in rows if r["before2"]
    ]
    shares = {"one": one, "two": two}
    return {name: round(100 * float(space.sums(part, noise).mean()), 1) for name, part in shares.items() if part}


# ---- copies and pictures ----------------------------------------------------------------------------------------


def copies(space: Space, lines: Sequence[str], count: int, tokens: lexigraph.Tokenizer) -> dict[str, float]:
    random, size = Random(0), lambda text: len(tokens.encode(text))
    joined = [f"{a} {b}" for a, b in pairwise(lines)]
    texts = {"sentences": random.sample(lines, min(count, len(lines)))}
    texts["30 to 40 tokens"] = list(
        islice((t for t in random.sample(joined, len(joined)) if 30 <= size(t) <= 40), count)
    )
    found = {}
    for name, some in texts.items():
        fitting = [text for text in some if space.fits(text)]
        back = space.written(space.vectors(fitting), 0.0)
        right = sum(a == b for a, b in zip(back, fitting, strict=True))
        found[name] = round(100 * right / len(some), 2)  # what does not fit counts as wrong
    return found


def jpeg(quality: int) -> Callable[[np.ndarray], np.ndarray]:
    def saved(picture: np.ndarray) -> np.ndarray:
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "JPEG", quality=quality, subsampling=2)
        return np.array(Image.open(file))

    return saved


def half(picture: np.ndarray) -> np.ndarray:
    small = Image.fromarray(picture).resize((len(picture) // 2,) * 2, Image.Resampling.BICUBIC)
    return np.array(small.resize((len(picture),) * 2, Image.Resampling.BICUBIC))


def pictures(space: Space, texts: Sequence[str]) -> dict[str, float]:
    drawn, rng = space.model.pictures(space.model.encode(list(texts))), np.random.default_rng(0)

    def covered(picture: np.ndarray) -> np.ndarray:
        y, x = rng.integers(0, len(picture) - 19, 2)
        hidden = picture.copy()
        hidden[y : y + 20, x : x + 20] = 128
        return hidden

    def noisy(picture: np.ndarray) -> np.ndarray:
        return (picture + rng.normal(0, 16, picture.shape)).round().clip(0, 255).astype(np.uint8)

    ways = {f"JPEG {quality}": jpeg(quality) for quality in (75, 50, 30)}
    ways |= {"PNG": np.copy, "half the side": half, "covered": covered, "noise": noisy}
    found = {}
    for name, way in ways.items():
        back = [str(text) for text in space.model.read(np.stack([way(picture) for picture in drawn]))]
        found[name] = round(100 * float(np.mean([a == b for a, b in zip(back, texts, strict=True)])), 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--copies", type=Path, help="sentences, in the order of their books")
    parser.add_argument("--rows", type=Path, nargs="*", default=[])
    parser.add_argument("--replay", type=Path, nargs="*", default=[])
    parser.add_argument("--tokens-of", type=Path, help="run whose tokens the 30 to 40 are; else the model's own")
    parser.add_argument("--noise", type=float, nargs="*", default=[0.0])
    parser.add_argument(
        "--count", type=int, default=200, help="sums of a family; copies and pictures: five times as many"
    )
    parser.add_argument("--test", action="store_true", help="the test split of the grammar: for reporting")
    parser.add_argument("--spaced", action="store_true", help="the model's text has spaces before marks")
    given = parser.parse_args()
    space = Space(given.model, given.spaced)

    def show(name: str, found: object) -> None:
        print(json.dumps({name: found}), flush=True)

    for noise in given.noise:
        each = families(space, given.count, noise, given.test)
        shares = [share for both in each.values() for share in both]
        show(f"any two, noise {noise}", {"mean": round(float(np.mean(shares)), 2), "lowest": min(shares), **each})
        both = two_at_once(space, max(20, given.count // 5), noise, given.test)
        worst = dict(sorted(both.items(), key=lambda item: item[1])[:10])
        mean = round(float(np.mean(list(both.values()))), 2)
        show(f"two at once, noise {noise}", {"mean": mean, "pairs": len(both), "worst": worst})
        for file in given.rows:
            show(f"{file.name}, noise {noise}", of_file(space, file, noise))
    if given.copies:
        lines = given.copies.read_text(encoding="utf-8").splitlines()
        tokens = lexigraph.Tokenizer.load(given.tokens_of) if given.tokens_of else space.model.tokenizer
        show("copies", copies(space, lines, 5 * given.count, tokens))
        some = [line for line in Random(1).sample(lines, min(len(lines), 6 * given.count)) if space.fits(line)]
        show("pictures", pictures(space, some[: 5 * given.count]))
    for file in given.replay:
        answers = lexigraph.replay(space.model, file)
        show(file.name, answers.headline())


if __name__ == "__main__":
    main()
