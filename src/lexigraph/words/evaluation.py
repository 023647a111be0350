"""Judge word vectors by every set that a folder holds, in one table; and draw curves over settings.

    columns, rows = table(evaluate(WordVectors.load("my.vec"), "data"))

The folder holds folders of the names in `SETS`, or is one of them. Every figure travels with its signature.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

from lexigraph import __version__
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import benchmarks, measures
from lexigraph.words.measures import RESTRICT, Figure, some
from lexigraph.words.vectors import WordVectors

QUICK = 1000  # questions, texts or sentences of a set that a quick evaluation takes
TAGGED = 2000  # sentences that a full one takes for tagging: five vectors for each word have to fit in memory

SETS = (  # what is judged, folder, files; no files: the folder is the set
    ("similarity", "word-vectors-eval", "word-sim/*"),
    ("analogies", "word-vectors-eval", "questions-*"),
    ("analogies", "word-vectors-eval", "analogy/*"),
    ("analogies", "bats", ""),
    ("categorisation", "word-vectors-eval", "word-categorization/*"),
    ("outliers", "word-vectors-eval", "outlier-detection/*"),
    ("classification", "sentence-polarity", "*.txt*"),
    ("classification", "trec", "TREC.train.txt*"),
    ("classification", "sst", "sentences/binary.train.txt*"),
    ("tagging", "conll2000-chunking", "train.txt*"),
    ("tagging", "ud-english-ewt", "*-train.conllu*"),
)
PARTS = tuple(dict.fromkeys(part for part, _, _ in SETS))


class Results(TypedDict):
    """What `evaluate` finds."""

    signature: dict[str, int | str | list[str] | None]
    figures: dict[str, dict[str, Figure]]  # by set, then by what was judged


def evaluate(
    wv: WordVectors,
    folder: str | Path,
    *,
    parts: Sequence[str] = PARTS,
    methods: Sequence[str] = ("additive", "multiplicative"),
    restrict: int | None = RESTRICT,
    quick: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> Results:
    """Judge vectors by every set of `SETS` in a folder, which may also be the folder of one of them.

    parts: which judgements; `PARTS` has all of them.
    methods, restrict: how analogies are answered, and among how many words (None: all).
    quick: at most 1,000 questions, texts or sentences of each set.
    report: called with the name of each set before it is judged.
    Returns a dictionary with the signature and figures["EN-RG-65"]["Spearman"] and so on.
    """
    if unknown := set(parts) - set(PARTS):
        raise UsageError(f"There is no part {', '.join(sorted(unknown))}. Choose from: {', '.join(PARTS)}.")
    figures = {}
    for part, name, path in _sets(Path(folder), parts):
        report(f"{part}: {name}")
        figures[name] = _judged(wv, part, path, methods, quick, restrict)
    if not figures:
        names = ", ".join(dict.fromkeys(name for part, name, _ in SETS if part in parts))
        raise LexigraphError(f"{folder} holds nothing to judge by. It is or holds one of these folders: {names}.")
    signature = {"dim": wv.dim, "words": len(wv), "restrict": restrict, "methods": list(methods), "quick": quick}
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"signature": {**signature, "lexigraph": __version__, **libraries}, "figures": figures}


def table(results: Results, sections: bool = False) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The figures that `evaluate` found, as columns and rows of text; `sections`: those of analogies too."""
    rows = []
    for name, found in results["figures"].items():
        for what, figure in found.items():
            rows.append((name, what, *_cells(figure)))
            if sections:
                rows += [(name, f"{what}: {part}", *_cells(own)) for part, own in figure.get("parts", {}).items()]
    return ("name", "what", "figure", "interval", "coverage", "n"), rows


def averages(wv: WordVectors, folder: str | Path) -> tuple[float, float]:
    """The mean Spearman of the similarity sets and the share of all analogies that is right; NaN if none is known."""
    found = evaluate(wv, folder, parts=("similarity", "analogies"), methods=("additive",))["figures"].values()
    judged = [(what, one["value"], one["n"]) for by in found for what, one in by.items() if one["n"]]
    ranked = [value for what, value, _ in judged if what == "Spearman" and value is not None]
    answered = [(value * n, n) for what, value, n in judged if what != "Spearman" and value is not None]
    right, asked = sum(right for right, _ in answered), sum(n for _, n in answered)
    return sum(ranked) / len(ranked) if ranked else math.nan, right / asked if asked else math.nan


def curve(
    file: str | Path,
    settings: Mapping[str, Any],
    key: str,
    values: Iterable[float | str],
    benchmark_folder: str | Path,
    report: Callable[[str], None] = lambda line: None,
) -> Iterator[dict[str, float | str]]:
    """Train vectors for each value of one setting, and average how good they are; a row each.

    key: a setting as dim, window, side; or `megabytes`: only so much of the text is read, up to the end of a line.

    >>> rows = curve("my.txt", {"method": "glove"}, "dim", [50, 100, 200], "data")
    """
    for value in values:
        report(f"{key} {value} …")
        with tempfile.TemporaryDirectory() as folder:
            if key == "megabytes":
                assert not isinstance(value, str)
                text = _beginning(Path(file), value, Path(folder) / "text.txt")
                wv = WordVectors.train(text, **settings)
            else:
                wv = WordVectors.train(file, **{**settings, key: value})
        similarity, analogies = averages(wv, benchmark_folder)
        yield {key: value, "words": len(wv), "similarity": similarity, "analogies": analogies}


def _beginning(file: Path, megabytes: float, out: Path) -> Path:
    """The first lines of a text file, of so many megabytes together."""
    left = int(megabytes * 1e6)
    if not file.is_file():
        raise UsageError(f"{file} is no file: megabytes are counted in one plain text.")
    if left > file.stat().st_size:
        raise UsageError(f"{file} has {file.stat().st_size / 1e6:.1f} megabytes: {megabytes:g} are not to be had.")
    with file.open("rb") as source, out.open("wb") as target:
        for line in source:
            target.write(line)
            left -= len(line)
            if left <= 0:
                break
    return out


def _sets(folder: Path, parts: Sequence[str]) -> Iterator[tuple[str, str, Path]]:
    """Part, name and place of each set in the folder."""
    for part, name, pattern in SETS:
        home = folder if folder.resolve().name == name else folder / name
        if part not in parts or not home.is_dir():
            continue
        for path in sorted(home.glob(pattern)) if pattern else [home]:
            one_set = path == home or "train" in path.name
            yield part, name if one_set else path.name.split(".")[0], path


def _judged(
    wv: WordVectors, part: str, path: Path, methods: Sequence[str], quick: bool, restrict: int | None
) -> dict[str, Figure]:
    """One set: what was judged → figure."""
    limit = QUICK if quick else None
    if part == "similarity":
        return {"Spearman": measures.similarity(wv, benchmarks.similarity_pairs(path))}
    if part == "categorisation":
        return {"purity": measures.categorisation(wv, benchmarks.categories(path))}
    if part == "outliers":
        return measures.outliers(wv, benchmarks.outlier_sets(path))
    if part == "analogies":
        questions = benchmarks.bats_questions(path) if path.is_dir() else benchmarks.analogy_questions(path)
        questions = some(questions, limit)
        found = {method: measures.analogies(wv, questions, method, restrict) for method in methods}
        return {f"{kind}, {method}": figure for method in methods for kind, figure in found[method].items()}
    test = path.with_name(path.name.replace("train", "test"))
    if part == "tagging":
        return measures.tagging(
            wv, benchmarks.tagged_sentences(path), benchmarks.tagged_sentences(test), limit or TAGGED
        )
    texts = benchmarks.labelled_texts(path)
    if test != path:
        return measures.classification(wv, texts, benchmarks.labelled_texts(test), limit)
    texts = some(texts, len(texts))
    cut = len(texts) // 5  # these sets have no test part: a fifth, drawn at random, becomes one
    return measures.classification(wv, texts[cut:], texts[:cut], limit)


def _cells(figure: Figure) -> tuple[str, ...]:
    value = "–" if figure["value"] is None else f"{figure['value']:.3f}"
    interval = "–".join(f"{end:.3f}" for end in figure["interval"])
    return value, interval, f"{figure['coverage']:.0%}", f"{figure['n']:,}"
