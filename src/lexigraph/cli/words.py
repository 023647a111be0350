"""The verbs of word vectors: lexigraph words train, nearest, analogy, eval, map, debias, senses, search, align …

Vectors are runs (`lexigraph train skipgram`), or files or folders of any format that words/formats.py knows; `train`
here is the short way to a file of vectors, and writes the format that --out names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraph.cli.options import (
    AsJson,
    Measure,
    Quick,
    Quiet,
    TrainingText,
    notify,
    print_json,
    print_table,
    write_text,
)
from lexigraph.errors import LexigraphError, UsageError

Vectors = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="A run, a .vec, .txt, .bin file or a Lexigraph folder.")
]
Count = Annotated[int, typer.Option("-k", "--count", min=1, help="So many answers.")]
Out = Annotated[Path | None, typer.Option(help="Where the vectors go: .vec, .bin, or a folder.")]
Benchmarks = Annotated[Path | None, typer.Option(metavar="FOLDER", help="What holds word-vectors-eval, bats …")]
PairList = Annotated[list[str] | None, typer.Option("--pair", metavar="A:B", help="Two words; may be given again.")]


def train(
    recipe: Annotated[
        str, typer.Argument(metavar="[NAME]", help="skipgram, cbow, fasttext, glove …, or a .toml file.")
    ] = "skipgram",
    data: TrainingText = None,
    out: Out = None,
    dim: Annotated[int | None, typer.Option(help="Numbers of a vector.")] = None,
    window: Annotated[int | None, typer.Option(help="Words on each side that count as context.")] = None,
    negative: Annotated[int | None, typer.Option(help="Words drawn for each prediction.")] = None,
    min_count: Annotated[int | None, typer.Option(help="Rarer words are left out.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Times the text is read.")] = None,
    threads: Annotated[int | None, typer.Option(help="0: all cores; 1: the same bits every time.")] = None,
    seed: Annotated[int | None, typer.Option(help="With one thread, the same seed gives the same vectors.")] = None,
    start: Annotated[Path | None, typer.Option("--from", help="Go on from these vectors.")] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Change any other setting: sample=1e-4.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last whole epoch of a broken training.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Learn word vectors from a text file: `lexigraph words train glove --data my.txt --out my.vec`.

    `lexigraph train glove --data my.txt --out runs/glove` leaves a whole run folder instead. `lexigraph recipes`
    lists the recipes, `lexigraph recipes NAME` shows one with its settings.
    """
    from lexigraph.recipe import settings
    from lexigraph.words import recipe as recipes
    from lexigraph.words.vectors import WordVectors

    if data is None:
        raise UsageError("There is no training text: give --data FILE, or --data grammar for the built-in corpus.")
    out = _free(out)
    options = {"dim": dim, "window": window, "negative": negative, "min_count": min_count, "epochs": epochs,
               "threads": threads, "seed": seed}  # fmt: skip
    asked = {name: value for name, value in options.items() if value is not None} | settings(change or [])
    kept = out.with_name(f".{out.name}.training")
    if kept.exists() and not resume:
        raise LexigraphError(f"A training for {out} was broken off: go on with --resume, or remove {kept}.")
    chosen = vars(recipes.read(recipe, asked).words)
    known = WordVectors.load(start) if start else None
    wv = WordVectors.train(data, **chosen, start=known, report=None if quiet else notify, checkpoint=kept)
    wv.save(out)
    print(out)


def nearest(
    vectors: Vectors,
    words: Annotated[list[str], typer.Argument(help="Words to find neighbours of.")],
    count: Count = 10,
    measure: Measure = "cosine",
) -> None:
    """The words that are nearest to each word."""
    wv = _load(vectors)
    for word, row in zip(words, wv.nearest(words, k=count, measure=measure), strict=True):
        if len(words) > 1:
            print(f"{word}:")
        print_table(("word", measure), [(other.word, f"{other.score:.4f}") for other in row])


def similarity(vectors: Vectors, a: str, b: str, measure: Measure = "cosine") -> None:
    """How near two words are."""
    print(f"{_load(vectors).similarity(a, b, measure):.4f}")


def analogy(
    vectors: Vectors,
    a: Annotated[str, typer.Argument(help="A is to")],
    b: Annotated[str, typer.Argument(help="B as")],
    c: Annotated[str, typer.Argument(help="C is to: b − a + c")],
    count: Count = 5,
    method: Annotated[str, typer.Option(help="additive or multiplicative.")] = "additive",
) -> None:
    """Which word is to C as B is to A: `analogy VECTORS man king woman`."""
    found = _load(vectors).analogy(a, b, c, k=count, method=method)
    print_table(("word", "score"), [(other.word, f"{other.score:.4f}") for other in found])


def outlier(vectors: Vectors, words: Annotated[list[str], typer.Argument(help="At least three words.")]) -> None:
    """The word that does not belong to the others."""
    print(_load(vectors).outlier(words))


def evaluate(
    vectors: Annotated[list[Path], typer.Argument(metavar="VECTORS...", help="One or several files or folders.")],
    benchmarks: Benchmarks = None,
    quick: Quick = False,
    as_json: AsJson = False,
) -> None:
    """Judge vectors: similarity, analogies, categories, outliers, and as input of classifiers and taggers."""
    from lexigraph.words import evaluation

    benchmarks = _test_sets(benchmarks)
    for path in vectors:
        results = evaluation.evaluate(_load(path), benchmarks, quick=quick, report=notify)
        if as_json:
            print_json({str(path): results})
            continue
        if len(vectors) > 1:
            print(f"\n{path}")
        print_table(*evaluation.table(results))


def curve(
    recipe: Annotated[str, typer.Argument(metavar="[NAME]", help="skipgram, cbow, glove …, or a .toml file.")],
    over: Annotated[str, typer.Option(metavar="KEY=A,B,…", help="What varies: dim=50,100, megabytes=1,10 …")],
    data: Annotated[str, typer.Option(help="Training text.")],
    benchmarks: Benchmarks = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Another setting: epochs=2.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="A page with the curves.")] = None,
    as_json: AsJson = False,
) -> None:
    """How good vectors are over a setting, or over the size of the text: `curve glove --over window=2,5,10 …`."""
    from lexigraph.recipe import settings
    from lexigraph.text.corpus import find
    from lexigraph.words import evaluation
    from lexigraph.words import recipe as recipes

    benchmarks = _test_sets(benchmarks)
    if out:
        _free(out)
    key, _, listed = over.partition("=")
    values = [settings([f"{key}={value}"])[key] for value in listed.split(",") if value]
    if not values:
        raise UsageError(f"--over takes a setting and its values, as dim=50,100,200, not {over!r}.")
    given = settings(change or [])
    for value in values:  # all are looked at before the first one is trained
        recipes.read(recipe, given if key == "megabytes" else given | {key: value})
    chosen = vars(recipes.read(recipe, given).words)
    rows = list(evaluation.curve(find(data), chosen, key, values, benchmarks, notify))
    cells: list[tuple[str, ...]] = [
        (str(row[key]), str(row["words"]), f"{row['similarity']:.4f}", f"{row['analogies']:.4f}") for row in rows
    ]
    if out:
        _curve_page(out, recipe, rows, cells)
    if as_json:
        print_json(rows)
    else:
        print_table(tuple(rows[0]), cells)


def _curve_page(out: Path, recipe: str, rows: list[dict[str, Any]], cells: list[tuple[str, ...]]) -> None:
    """The rows as a page: curves, and the table below."""
    from lexigraph.views import report

    key = next(iter(rows[0]))
    numbers = all(isinstance(row[key], int | float) for row in rows)
    along = [row[key] if numbers else place for place, row in enumerate(rows)]
    judged = ("similarity", "analogies")
    curves = {name: [(x, row[name]) for x, row in zip(along, rows, strict=True)] for name in judged}
    drawn = report.curve(curves, key, "Spearman's ρ, share right")
    page = report.page(f"{recipe} over {key}", "", {"Curves": drawn, "Table": report.table(tuple(rows[0]), cells)})
    write_text(out, page)
    notify(f"The page: {out}")


def draw(
    vectors: Vectors,
    words: Annotated[list[str] | None, typer.Argument(help="Words to draw; none: the 300 most frequent.")] = None,
    out: Annotated[Path, typer.Option(help=".png, .svg, or .html to zoom and search.")] = Path("map.html"),
    method: Annotated[str, typer.Option(help="pca or tsne.")] = "pca",
    pair: PairList = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of t-SNE.")] = 0,
) -> None:
    """Draw words on a plane; with --pair man:king --pair woman:queen, analogies as arrows with their ranks."""
    print(_load(vectors).map(words or None, out, method, pairs=_pairs(pair), seed=seed))


def debias(
    vectors: Vectors,
    pair: PairList = None,
    keep: Annotated[list[str] | None, typer.Option(help="A word that the direction belongs to, as father.")] = None,
    x: Annotated[str, typer.Option("-x", help="WEAT, before and after: words X, with commas,")] = "",
    y: Annotated[str, typer.Option("-y", help="against words Y,")] = "",
    a: Annotated[str, typer.Option("-a", help="as they go with words A")] = "",
    b: Annotated[str, typer.Option("-b", help="rather than with words B.")] = "",
    out: Out = None,
) -> None:
    """Take the direction of pairs (he:she …) out of all other words, and show the association before and after."""
    from lexigraph.words import bias

    out = _free(out)
    before = _load(vectors)
    after = bias.debias(before, _pairs(pair), keep=keep or ())
    groups = [group.split(",") for group in (x, y, a, b) if group]
    if len(groups) not in (0, 4):
        raise UsageError("WEAT takes four lists of words: -x, -y, -a and -b.")
    if groups:
        X, Y, A, B = groups
        found = [(name, bias.weat(wv, X, Y, A, B)) for name, wv in (("before", before), ("after", after))]
        print_table(("", "effect size d", "p"), [(name, f"{w.effect:.3f}", f"{w.p:.4f}") for name, w in found])
    after.save(out)
    notify(f"Saved as {out}.")


def senses(
    vectors: Vectors,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words that may mean several things.")],
    topics: Annotated[int, typer.Option(min=5, help="Directions learned from all words together.")] = 1000,
    count: Count = 8,
) -> None:
    """The topics that a word's vector adds up from, the heaviest first: `senses VECTORS bank`."""
    from lexigraph.words import senses as topic

    wv = _load(vectors)
    for word in words:
        wv[word]  # an unknown one is refused before the long part
    known = min(len(wv), topic.WORDS)
    atoms = topic.learn_atoms(wv, min(topics, max(known // 4, 5)))  # a topic needs words to be learned from
    rows = [(word, *row) for word in words for row in topic.recover(wv, word, atoms, k=count)]
    print_table(("word", "weight", "near the topic"), [(word, f"{w:.2f}", ", ".join(near)) for word, w, near in rows])


def search(
    vectors: Vectors,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    data: Annotated[str, typer.Option(help="The documents, one a line.")],
    count: Count = 10,
    weighting: Annotated[str, typer.Option(help="tfidf, sif or mean.")] = "tfidf",
) -> None:
    """The lines of a file that are nearest to a query, by their averaged vectors."""
    from lexigraph.text.corpus import texts_of
    from lexigraph.words.search import Index

    hits = Index.build(texts_of(data), _load(vectors), weighting).search(query, count)
    print_table(("line", "cosine", "text"), [(str(hit.document + 1), f"{hit.score:.4f}", hit.text) for hit in hits])


def align(
    source: Annotated[Path, typer.Argument(help="Vectors of one language.")],
    target: Annotated[Path, typer.Argument(help="Vectors of the other.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words of the first language to translate.")] = None,
    pairs: Annotated[str | None, typer.Option(metavar="FILE.tsv", help="word TAB translation.")] = None,
    method: Annotated[str, typer.Option(help="csls or nearest.")] = "csls",
    count: Count = 5,
) -> None:
    """Turn the vectors of one language into the space of another, test that on held-out pairs, and translate words.

    Without --pairs, the words that both languages spell alike are the pairs.
    """
    from lexigraph.text import readers
    from lexigraph.words import align as aligning

    one, other = _load(source), _load(target)
    known = aligning.identical(one, other)
    if pairs:
        rows = (record.columns for record in readers.read(pairs, {"source": "1", "target": "2"}))
        known = [(row["source"], row["target"]) for row in rows if row["source"] in one and row["target"] in other]
    train, test = aligning.held_out(known)
    turned = aligning.align(one, other, train)
    if test:
        found = turned.accuracy(test, method=method)
        notify(f"{len(train):,} pairs learned; of {len(test):,} others: "
             + ", ".join(f"{share:.1%} right among {k}" for k, share in found.items()))  # fmt: skip
    for word in words or []:
        print_table((word, "score"), [(n.word, f"{n.score:.4f}") for n in turned.translate(word, count, method)])


def _test_sets(benchmarks: Path | None) -> Path:
    """Where the test sets are, if that was given."""
    if benchmarks is None:
        raise UsageError("Say where the test sets are: --benchmarks FOLDER, one that holds word-vectors-eval, bats …")
    return benchmarks


def _free(out: Path | None) -> Path:
    """Where vectors are to go, if they can."""
    if out is None:
        raise UsageError("Say where the vectors go: --out FILE.vec, FILE.bin or FOLDER.")
    if out.exists():
        raise LexigraphError(f"{out} exists already: choose another --out.")
    if not out.parent.is_dir():
        raise LexigraphError(f"There is no folder {out.parent} for {out.name}.")
    return out


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """`["man:king"]` as pairs of words."""
    pairs = [tuple(text.split(":")) for text in given or []]
    if wrong := [text for text, pair in zip(given or [], pairs, strict=True) if len(pair) != 2 or not all(pair)]:
        raise UsageError(f"--pair takes two words with a colon between, as man:king, not {wrong[0]!r}.")
    return pairs  # type: ignore[return-value]


def _load(path: Path) -> Any:
    from lexigraph.words.vectors import WordVectors

    return WordVectors.load(path)
