"""The verbs of word vectors: lexigraph words train, nearest, analogy, eval, map, debias, senses, search, align …

Vectors are runs (`lexigraph train skipgram`), or files or folders of any format that words/formats.py knows; `train`
here is the short way to a file of vectors, and writes the format that --out names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraph.cli.options import (
    AsJson,
    Force,
    FromFile,
    Measure,
    Printer,
    Quiet,
    TrainingText,
    notify,
    paths,
    print_json,
    print_table,
    read_texts,
)
from lexigraph.errors import LexigraphError, UsageError

Vectors = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="A run, a .vec, .txt, .bin file or a Lexigraph folder.")
]
Count = Annotated[int, typer.Option("-k", "--count", min=1, max=1_000_000, help="So many answers.")]
Words = Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="Words; none: one a line on stdin.")]
Out = Annotated[Path | None, typer.Option(help="Where the vectors go: .vec, .bin, or a folder.")]
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
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn word vectors from a text file: `lexigraph words train glove --data my.txt --out my.vec`.

    `lexigraph train glove --data my.txt --out runs/glove` leaves a whole run folder instead. `lexigraph recipes`
    lists the recipes, `lexigraph recipes NAME` shows one with its settings.
    """
    from lexigraph.locks import locked
    from lexigraph.recipe import settings
    from lexigraph.run import terminable
    from lexigraph.words import recipe as recipes
    from lexigraph.words.vectors import WordVectors

    if data is None:
        raise UsageError("There is no training text: give --data FILE, or --data grammar for the built-in corpus.")
    out = _free(out, force)
    options = {"dim": dim, "window": window, "negative": negative, "min_count": min_count, "epochs": epochs,
               "threads": threads, "seed": seed}  # fmt: skip
    asked = {name: value for name, value in options.items() if value is not None} | settings(change or [])
    kept = out.with_name(f".{out.name}.training")
    chosen = vars(recipes.read(recipe, asked).words)
    with terminable(), locked(kept):
        if kept.exists() and not resume:
            raise LexigraphError(f"A training for {out} was broken off: go on with --resume, or remove {kept}.")
        known = WordVectors.load(start) if start else None
        wv = WordVectors.train(paths(data), **chosen, start=known, report=None if quiet else notify, checkpoint=kept)
        wv.save(out, force=force)
    print(out)


def nearest(
    vectors: Vectors,
    words: Words = None,
    file: FromFile = None,
    count: Count = 10,
    measure: Measure = "cosine",
    as_json: AsJson = False,
) -> None:
    """The words that are nearest to each word."""
    wv, asked = _load(vectors), list(read_texts(words, file))
    found = wv.nearest(asked, k=count, measure=measure)
    if as_json:
        print_json([{"word": word, "nearest": _plain(row)} for word, row in zip(asked, found, strict=True)])
        return
    for word, row in zip(asked, found, strict=True):
        if len(asked) > 1:
            print(f"{word}:")
        print_table(("word", measure), [(other.word, f"{other.score:.4f}") for other in row])


def similarity(
    vectors: Vectors,
    words: Annotated[list[str] | None, typer.Argument(metavar="[A B]", help="None: lines of two on stdin.")] = None,
    file: FromFile = None,
    measure: Measure = "cosine",
    as_json: AsJson = False,
) -> None:
    """How near two words are."""
    wv = _load(vectors)
    with Printer(as_json) as show:
        for a, b in _groups(words, file, 2, "similarity takes two words, A and B"):
            value = wv.similarity(a, b, measure)
            show(f"{value:.4f}", {"a": a, "b": b, measure: value})


def analogy(
    vectors: Vectors,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[A B C]", help="A is to B as C is to what? None: lines on stdin.")
    ] = None,
    file: FromFile = None,
    count: Count = 5,
    method: Annotated[str, typer.Option(help="additive or multiplicative.")] = "additive",
    as_json: AsJson = False,
) -> None:
    """Which word is to C as B is to A: `analogy VECTORS man king woman`."""
    wv = _load(vectors)
    asked = _groups(words, file, 3, "analogy takes three words, A, B and C")
    found = [wv.analogy(a, b, c, k=count, method=method) for a, b, c in asked]
    if as_json:
        print_json([{"a": a, "b": b, "c": c, "answers": _plain(row)}
                    for (a, b, c), row in zip(asked, found, strict=True)])  # fmt: skip
        return
    for group, row in zip(asked, found, strict=True):
        if len(asked) > 1:
            print(f"{' '.join(group)}:")
        print_table(("word", "score"), [(other.word, f"{other.score:.4f}") for other in row])


def outlier(
    vectors: Vectors,
    words: Annotated[list[str] | None, typer.Argument(help="At least three; none: lines of them on stdin.")] = None,
    file: FromFile = None,
    as_json: AsJson = False,
) -> None:
    """The word that does not belong to the others."""
    wv = _load(vectors)
    with Printer(as_json) as show:
        for group in _groups(words, file, 0, ""):
            found = wv.outlier(list(group))
            show(found, {"words": group, "outlier": found})


def draw(
    vectors: Vectors,
    words: Annotated[list[str] | None, typer.Argument(help="Words to draw; none: the 300 most frequent.")] = None,
    file: FromFile = None,
    out: Annotated[Path, typer.Option(help=".png, .svg, or .html to zoom and search.")] = Path("map.html"),
    method: Annotated[str, typer.Option(help="pca or tsne.")] = "pca",
    pair: PairList = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of t-SNE.")] = 0,
    force: Force = False,
) -> None:
    """Draw words on a plane; with --pair man:king --pair woman:queen, analogies as arrows with their ranks."""
    from lexigraph.outputs import free_file

    free_file(out, "a map", (".png", ".svg", ".html"), force)
    asked = list(read_texts(words, file)) if words or file else None
    print(_load(vectors).map(asked, out, method, pairs=_pairs(pair), seed=seed, force=force))


def debias(
    vectors: Vectors,
    pair: PairList = None,
    keep: Annotated[list[str] | None, typer.Option(help="A word that the direction belongs to, as father.")] = None,
    x: Annotated[str, typer.Option("-x", help="WEAT, before and after: words X, with commas,")] = "",
    y: Annotated[str, typer.Option("-y", help="against words Y,")] = "",
    a: Annotated[str, typer.Option("-a", help="as they go with words A")] = "",
    b: Annotated[str, typer.Option("-b", help="rather than with words B.")] = "",
    out: Out = None,
    force: Force = False,
) -> None:
    """Take the direction of pairs (he:she …) out of all other words, and show the association before and after."""
    from lexigraph.words import bias

    out = _free(out, force)
    before = _load(vectors)
    after = bias.debias(before, _pairs(pair), keep=keep or ())
    groups = [group.split(",") for group in (x, y, a, b) if group]
    if len(groups) not in (0, 4):
        raise UsageError("WEAT takes four lists of words: -x, -y, -a and -b.")
    if groups:
        X, Y, A, B = groups
        found = [(name, bias.weat(wv, X, Y, A, B)) for name, wv in (("before", before), ("after", after))]
        print_table(("", "effect size d", "p"), [(name, f"{w.effect:.3f}", f"{w.p:.4f}") for name, w in found])
    after.save(out, force=force)
    notify(f"Saved as {out}.")


def senses(
    vectors: Vectors,
    words: Words = None,
    file: FromFile = None,
    topics: Annotated[int, typer.Option(min=5, help="Directions learned from all words together.")] = 1000,
    count: Count = 8,
    as_json: AsJson = False,
) -> None:
    """The topics that a word's vector adds up from, the heaviest first: `senses VECTORS bank`."""
    from lexigraph.words import senses as topic

    wv, asked = _load(vectors), list(read_texts(words, file))
    for word in asked:
        wv[word]  # an unknown one is refused before the long part
    known = min(len(wv), topic.WORDS)
    atoms = topic.learn_atoms(wv, min(topics, max(known // 4, 5)))  # a topic needs words to be learned from
    rows = [(word, *row) for word in asked for row in topic.recover(wv, word, atoms, k=count)]
    if as_json:
        print_json([{"word": word, "weight": float(weight), "near": list(near)} for word, weight, near in rows])
        return
    print_table(("word", "weight", "near the topic"), [(word, f"{w:.2f}", ", ".join(near)) for word, w, near in rows])


def search(
    vectors: Vectors,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    data: Annotated[str, typer.Option(help="The documents, one a line.")],
    count: Count = 10,
    weighting: Annotated[str, typer.Option(help="tfidf, sif or mean.")] = "tfidf",
    as_json: AsJson = False,
) -> None:
    """The lines of a file that are nearest to a query, by their averaged vectors."""
    from lexigraph import searching

    hits = searching.search(data, query, k=count, vectors=vectors, weighting=weighting)
    if as_json:
        print_json([vars(hit) for hit in hits])
        return
    print_table(("line", "cosine", "text"), [(str(hit.line), f"{hit.score:.4f}", hit.text) for hit in hits])


def align(
    source: Annotated[Path, typer.Argument(help="Vectors of one language.")],
    target: Annotated[Path, typer.Argument(help="Vectors of the other.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words of the first language to translate.")] = None,
    pairs: Annotated[str | None, typer.Option(metavar="FILE.tsv", help="word TAB translation.")] = None,
    method: Annotated[str, typer.Option(help="csls or nearest.")] = "csls",
    count: Count = 5,
    file: FromFile = None,
    as_json: AsJson = False,
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
    asked = list(read_texts(words, file)) if words or file else []
    answered = [(word, turned.translate(word, count, method)) for word in asked]
    if as_json:
        print_json([{"word": word, "translations": _plain(row)} for word, row in answered])
        return
    for word, row in answered:
        print_table((word, "score"), [(n.word, f"{n.score:.4f}") for n in row])


def _groups(words: list[str] | None, file: str | None, count: int, wanted: str) -> list[tuple[str, ...]]:
    """Words that are asked about together: those of the arguments, or of each line of a file or standard input."""
    groups = [tuple(words)] if words and not file else [tuple(line.split()) for line in read_texts(words, file)]
    for number, group in enumerate(groups, 1):
        if count and len(group) != count:
            where = f"line {number} has" if not words else "these are"
            raise UsageError(f"{wanted}; {where} {len(group)}: {' '.join(group)!r}.")
    return groups


def _plain(found: Sequence[Any]) -> list[dict[str, object]]:
    """Words with their scores, for JSON."""
    return [{"word": each.word, "score": float(each.score)} for each in found]


def _free(out: Path | None, force: bool) -> Path:
    """Where vectors are to go, if they can."""
    from lexigraph.words import formats

    if out is None:
        raise UsageError("Say where the vectors go: --out FILE.vec, FILE.bin or FOLDER.")
    return formats.free(out, force=force)[0]


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """`["man:king"]` as pairs of words."""
    pairs = [tuple(text.split(":")) for text in given or []]
    if wrong := [text for text, pair in zip(given or [], pairs, strict=True) if len(pair) != 2 or not all(pair)]:
        raise UsageError(f"--pair takes two words with a colon between, as man:king, not {wrong[0]!r}.")
    return pairs  # type: ignore[return-value]


def _load(path: Path) -> Any:
    from lexigraph.words.vectors import WordVectors

    return WordVectors.load(path)
