"""The verbs of text and of files: check, sentences, tokenize, convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import AsJson, Texts, notify, paths, print_json, print_table, read_texts
from lexigraph.errors import LexigraphError, UsageError


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
) -> None:
    """Cut running text into sentences, one a line; a blank line stands between texts of two files."""
    from lexigraph.run import replacing
    from lexigraph.text.corpus import documents_of

    lines = (f"{line}\n" for line in documents_of(tuple(file) if len(file) > 1 else file[0]))
    if out is None:
        for line in lines:
            print(line, end="")
        return
    if out.exists():
        raise LexigraphError(f"{out} exists already: choose another --out.")
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8") as opened:
        opened.writelines(lines)
    print(out)


def tokenize(
    model: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, or a text file to train on with --train.")
    ],
    texts: Texts = None,
    kind: Annotated[str | None, typer.Option("--train", help="Train this kind: char, word, bpe, wordpiece …")] = None,
    size: Annotated[int, typer.Option(help="Entries of a new vocabulary.")] = 8000,
    out: Annotated[Path | None, typer.Option(help="Where a new tokenizer.json goes.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print ids instead of pieces.")] = False,
    source: Annotated[bool, typer.Option("--source", help="As a translator reads it, not as it writes it.")] = False,
) -> None:
    """Show how text is cut into tokens; or, with --train KIND --out FILE, train a tokenizer."""
    from lexigraph.text.tokenizer import Tokenizer

    two = (model / "source-tokenizer.json").exists()
    if source and not two:
        raise UsageError(f"--source is for a run with a tokenizer for each side, which {model} is not: leave it out.")
    if kind:
        _train_tokenizer(model, kind, size, out)
        return
    if two:
        notify(
            "The tokenizer of the sources." if source else "The tokenizer of the targets; --source: of the sources."
        )
    tokenizer = Tokenizer.load(model / "source-tokenizer.json" if source else model)
    for text in read_texts(texts):
        row = tokenizer.encode(text)
        print(*(row if ids else tokenizer.tokens(row)))


def _train_tokenizer(file: Path, kind: str, size: int, out: Path | None) -> None:
    from lexigraph.text.corpus import texts_of
    from lexigraph.text.tokenizer import Tokenizer

    if out is None:
        raise UsageError("Say where the tokenizer goes: --out FILE.")
    if out.exists():
        raise LexigraphError(f"{out} exists already: choose another --out.")
    tokenizer = Tokenizer.train(texts_of(str(file)), kind=kind, size=size)
    tokenizer.save(out)
    notify(f"{len(tokenizer):,} entries.")
    print(out)


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Word vectors (.vec, .txt, .bin, folder), a run, a Hugging Face folder."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Of word vectors, the format follows from the name.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many words.")] = None,
) -> None:
    """Word vectors of a run or a file in another format; a Hugging Face folder as a run, a run as such a folder."""
    from lexigraph.run import bundled, holds_word_vectors

    if target.exists():
        raise LexigraphError(f"{target} exists already: choose another name.")
    vectors = (source / "meta.json").exists() or holds_word_vectors(source)
    if (source.is_dir() and not vectors) or str(source) in bundled():
        from lexigraph.exchange import folder

        if limit:
            raise UsageError("--limit is for word vectors: leave it out.")
        folder.convert(source, target)
    else:
        from lexigraph.words.vectors import WordVectors

        WordVectors.load(source, limit=limit).save(target)
    print(target)
