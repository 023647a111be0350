"""The verbs of text and of files: check, sentences, tokenize, convert."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Force,
    FromFile,
    Printer,
    Texts,
    answers,
    notify,
    paths,
    print_json,
    print_table,
    read_texts,
)
from lexigraph.errors import UsageError


def check(
    file: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Files, folders, 'patterns*' or - for stdin.")],
    valid: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A validation text, for leakage.")] = None,
    test: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A test text, likewise.")] = None,
    encoding: Annotated[str, typer.Option(help="Of text that is not UTF-8: cp1252 …")] = "auto",
    as_json: AsJson = False,
) -> None:
    """What a text holds, before anyone trains on it, and the commands that train on it."""
    from lexigraph.text.check import check as look

    given = {"train": paths(file), "valid": paths(valid), "test": paths(test)}
    report = look({name: each for name, each in given.items() if each}, encoding=encoding)
    if as_json:
        print_json(report.to_dict())
        return
    print_table(("", ""), report.rows())
    for warning in report.warnings:
        notify(f"! {warning}")


def sentences(
    file: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Files, folders, 'patterns*' or - for stdin.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where they go; else to standard output.")] = None,
    force: Force = False,
) -> None:
    """Cut running text into sentences, one a line; a blank line stands between texts of two files."""
    from lexigraph.outputs import free_file
    from lexigraph.run import replacing
    from lexigraph.text.corpus import documents_of

    lines = (f"{line}\n" for line in documents_of(tuple(file) if len(file) > 1 else file[0]))
    if out is None:
        for line in lines:
            print(line, end="")
        return
    free_file(out, "text", (".txt",), force)
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8") as opened:
        opened.writelines(lines)
    print(out)


def search(
    given: Annotated[list[str], typer.Argument(metavar="FILE... WORDS", help="Files and folders; last, the words.")],
    k: Annotated[int, typer.Option("-k", "--count", min=1, max=100_000, help="So many lines.")] = 10,
    vectors: Annotated[
        Path | None, typer.Option(metavar="VECTORS", help="By averaged word vectors: a run or a file.")
    ] = None,
    model: Annotated[Path | None, typer.Option(metavar="RUN", help="By the vectors of a run that encodes.")] = None,
    index: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --model: keep the vectors here, for the next time.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Of pictures: what was found, as a contact sheet.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Lines of files that fit some words best, by TF-IDF: file, line, score, and the line with its words marked.

    With --model and a run that matches pictures with texts: pictures in folders, by words or by another picture.
    """
    from lexigraph import searching

    *files, query = given
    if not files:
        raise UsageError(f"Say where to look and for what: lexigraph search FILE... WORDS; only {query!r} was given.")
    if model is not None and vectors is None and searching.finds_pictures(model):
        _search_pictures(files, query, k, model, index, out, as_json, force)
        return
    if out is not None:
        raise UsageError("--out is for pictures: --model has to name a run that matches pictures with texts.")
    hits = searching.search(files, query, k=k, vectors=vectors, model=model, index=index, report=notify)
    if not hits:
        notify("Nothing was found: no line has a word of these.")
    bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() and not as_json else ("**", "**")
    with Printer(as_json) as show:
        for hit in hits:
            show(f"{hit.file}:{hit.line}\t{hit.score:.4f}\t{hit.marked(*bold)}", vars(hit) | {"marked": hit.marked()})


def _search_pictures(
    files: list[str],
    query: str,
    k: int,
    model: Path,
    index: Path | None,
    out: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    """The pictures that go best with a query: file and score."""
    from lexigraph import searching
    from lexigraph.outputs import free_file
    from lexigraph.views import contact

    if index is not None:
        raise UsageError("An index keeps vectors of lines, and here are pictures: leave out --index.")
    if out is not None:
        free_file(out, "a contact sheet", (".png",), force)
    hits = searching.search_pictures(files, query, model, k=k)
    with Printer(as_json) as show:
        for hit in hits:
            show(f"{hit.file}\t{hit.score:.4f}", {"file": hit.file, "score": hit.score})
    if out is not None:
        lines = [f"{hit.score:.3f} {Path(hit.file).name}" for hit in hits]
        contact.save([hit.file for hit in hits], lines, query, out)
        notify(f"The pictures: {out}")


def tokenize(
    model: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, or a text file to train on with --train.")
    ],
    texts: Texts = None,
    file: FromFile = None,
    kind: Annotated[str | None, typer.Option("--train", help="Train this kind: char, word, bpe, wordpiece …")] = None,
    size: Annotated[int, typer.Option(min=1, help="Entries of a new vocabulary.")] = 8000,
    out: Annotated[Path | None, typer.Option(help="Where a new tokenizer.json goes.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids instead of pieces.")] = False,
    as_json: AsJson = False,
    source: Annotated[bool, typer.Option("--source", help="As a translator reads it, not as it writes it.")] = False,
    force: Force = False,
) -> None:
    """Show how text is cut into tokens; or, with --train KIND --out FILE, train a tokenizer."""
    from lexigraph.run import Run
    from lexigraph.text.tokenizer import Tokenizer
    from lexigraph.text.vocabularies import refuse_foreign

    two = (model / "source-tokenizer.json").exists()
    if source and not two:
        raise UsageError(f"--source is for a run with a tokenizer for each side, which {model} is not: leave it out.")
    if kind:
        _train_tokenizer(model, kind, size, out, force)
        return
    if two:
        notify(
            "The tokenizer of the sources." if source else "The tokenizer of the targets; --source: of the sources."
        )
    name = "source-tokenizer.json" if source else "tokenizer.json"
    tokenizer = Tokenizer.load(model / name if source else model)
    if (model / "config.json").exists():
        refuse_foreign(Run.open(model), name, tokenizer.fingerprint)
    with Printer(as_json) as show:
        for text, row in answers(tokenizer.encode_batch, read_texts(texts, file)):
            pieces = tokenizer.tokens(row.tolist())
            shown = map(str, row.tolist() if ids else pieces)
            show(" ".join(shown), {"text": text, "ids": row.tolist(), "tokens": pieces})


def _train_tokenizer(file: Path, kind: str, size: int, out: Path | None, force: bool) -> None:
    from lexigraph.outputs import free_file
    from lexigraph.text.corpus import texts_of
    from lexigraph.text.tokenizer import Tokenizer

    if out is None:
        raise UsageError("Say where the tokenizer goes: --out FILE.")
    free_file(out, "a tokenizer", (".json",), force)
    tokenizer = Tokenizer.train(texts_of(str(file)), kind=kind, size=size)
    tokenizer.save(out, force)
    notify(f"{len(tokenizer):,} entries.")
    print(out)


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Word vectors (.vec, .txt, .bin, folder), a run, a Hugging Face folder."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Of word vectors, the format follows from the name.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many words.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file or such a folder; a trained run never.")
    ] = False,
) -> None:
    """Word vectors of a run or a file in another format; a Hugging Face folder as a run, a run as such a folder."""
    from lexigraph.run import bundled, holds_word_vectors

    vectors = (source / "meta.json").exists() or holds_word_vectors(source)
    if (source.is_dir() and not vectors) or str(source) in bundled():
        from lexigraph.exchange import folder

        if limit:
            raise UsageError("--limit is for word vectors: leave it out.")
        folder.convert(source, target, force)
    else:
        from lexigraph.words import formats
        from lexigraph.words.vectors import WordVectors

        formats.free(target, force=force)
        WordVectors.load(source, limit=limit).save(target, force=force)
    print(target)
