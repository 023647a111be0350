"""The verbs of sentence spaces: encode, decode, pictures, read, blend, solve, sample, neighbours.

Vectors travel as .npy files, pictures as PNG files that carry the model's fingerprint, sentences as lines of text.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    Beam,
    Device,
    Force,
    FromFile,
    Measure,
    Printer,
    RunArgument,
    Texts,
    answers,
    load_model,
    notify,
    read_texts,
)
from lexigraph.errors import LexigraphError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from lexigraph.abilities.textmodel import Scored

Noise = Annotated[float | None, typer.Option(help="How far a vector may be from the sentence meant: 0, 0.5, 1 …")]
Lossless = Annotated[bool, typer.Option("--lossless", help="Move vectors until their pictures are read exactly.")]
Scores = Annotated[bool, typer.Option("--scores", help="Print log-probabilities before the sentences.")]
NBest = Annotated[int, typer.Option(min=1, max=1000, help="So many sentences for each.")]


def encode(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    out: Annotated[Path | None, typer.Option(help="The .npy file to write.")] = None,
    lossless: Lossless = False,
    unnormalised: Annotated[
        bool, typer.Option("--unnormalised", help="Keep the vectors' own lengths, for arithmetic.")
    ] = False,
    pooling: Annotated[str | None, typer.Option(help="Of an encoder: mean of its tokens' vectors, or cls.")] = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """The vector of each text, as a .npy file of shape (texts, numbers), or as JSON."""
    from lexigraph.outputs import free_file
    from lexigraph.run import replacing
    from lexigraph.text.rows_on_disk import RowWriter

    if as_json == (out is not None):
        raise UsageError("Say where the vectors go: --out FILE.npy, or --json.")
    if out is not None:
        free_file(out, "an array", (".npy",), force)
    model = load_model(run, device)
    ask = partial(model.encode, lossless=lossless, unnormalised=unnormalised, pooling=pooling)
    found = answers(ask, read_texts(texts, file))
    if out is None:
        with Printer(as_json) as show:
            for text, vector in found:
                show("", {"text": text, "vector": vector.tolist()})
        return
    with replacing(out) as temporary:
        rows = RowWriter(temporary)
        for _, vector in found:
            rows.add(vector[None])
        rows.close()
        free_file(out, "an array", (".npy",), force)
    print(out)


def decode(
    run: RunArgument,
    vectors: Annotated[Path, typer.Argument(metavar="FILE.npy", help="Vectors, one a row.")],
    beam: Beam = 1,
    n_best: NBest = 1,
    noise: Noise = 0.0,
    scores: Scores = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The sentence of each vector."""
    model = load_model(run, device)
    found = model.hypotheses(_vectors(vectors), beam=beam, n_best=n_best, noise=noise or 0.0)
    _print(enumerate(found), scores, as_json, "vector")


def pictures(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    out: Annotated[Path | None, typer.Option(help="The folder for 0000.png, 0001.png …")] = None,
    vectors: Annotated[Path | None, typer.Option(metavar="FILE.npy", help="Draw these instead of texts.")] = None,
    lossless: Lossless = False,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Draw each text as a picture that `read` turns back into the text; says which ones will not come back."""
    if out is None:
        raise UsageError("Say where the pictures go: --out FOLDER.")
    from lexigraph.abilities.pictures import free_pictures

    if vectors and (texts or file):
        raise UsageError("Draw texts or --vectors, not both: leave out one of them.")
    free_pictures(out, 1, force)
    model = load_model(run, device)
    if vectors:
        with Printer(as_json) as show:
            for path in model.save_pictures(_vectors(vectors), out, force):
                show(str(path), {"file": str(path)})
        return
    given = list(read_texts(texts, file))
    free_pictures(out, len(given), force)
    fits = model.fits(given)
    fitting = [text for text, fit in zip(given, fits, strict=True) if fit] or given  # all: let `encode` say why
    z = model.encode(fitting, lossless=lossless)
    lost = model.lost(fitting, model.pictures(z))
    files = model.save_pictures(z, out, force)
    with Printer(as_json) as show:
        for place, (path, text) in enumerate(zip(files, fitting, strict=True)):
            item = {"file": str(path), "text": text, "reads": lost.get(place, text)}
            show(str(path), item | {"comes_back": place not in lost})
            if place in lost:
                notify(f"! {path} will not come back: {text!r} is read as {lost[place]!r}. --lossless may help.")
        for text in (text for text, fit in zip(given, fits, strict=True) if not fit):
            show("", {"file": None, "text": text, "comes_back": False}) if as_json else None
            notify(f"! Not drawn: {text[:60]!r} is empty or too long for the model.")


def read(
    run: RunArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE.png...", help="Pictures that this model drew.")],
    beam: Beam = 1,
    noise: Noise = 0.0,
    any_picture: Annotated[
        bool, typer.Option("--any", help="Also pictures that were saved again: without notes, as JPEG, resized.")
    ] = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The sentence in each picture."""
    found = load_model(run, device).read(files, beam=beam, noise=noise or 0.0, any=any_picture)
    with Printer(as_json) as show:
        for path, text in zip(files, found, strict=True):
            show(text, {"file": str(path), "text": text})


def blend(
    run: RunArgument,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT TEXT [TEXT]]", help="Two or three; none: on stdin, a blend a line, with tabs."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="Blends from a file: on a line, texts with tabs between."),
    ] = None,
    steps: Annotated[int, typer.Option(min=2, max=1000, help="Sentences on the way, ends included.")] = 7,
    how: Annotated[str, typer.Option(help="linear or spherical.")] = "linear",
    weights: Annotated[str, typer.Option(help="One blend by weights instead, as 0.7,0.3 or 1.5,-0.5.")] = "",
    beam: Beam = 1,
    noise: Noise = None,
    scores: Scores = False,
    strip: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Also the pictures, side by side.")] = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Sentences on the way from one to another, or between three."""
    if strip:
        from lexigraph.latent.pictures import free_png, save_strip

        free_png(strip, force)
    rows = [[_number(part) for part in weights.split(",")]] if weights else None
    given = [texts] if texts else [line.split("\t") for line in read_texts(None, file, tabs=True)]
    if texts and file:
        raise UsageError("Texts come as arguments or from --file, not both: leave out one of them.")
    if strip and len(given) > 1:
        raise UsageError("--strip is for one blend: leave it out.")
    model = load_model(run, device)
    found = model.blend(*given, steps=steps, weights=rows, how=how, beam=beam, noise=noise)
    _print(zip((" → ".join(each) for each in given), found, strict=True), scores, as_json, "blend")
    if strip:
        way = model.path_between(*given[0], steps=steps, weights=rows, how=how)[0]
        save_strip(strip, model.pictures(way), scale=2, force=force)
        notify(f"The pictures are in {strip}.")


def solve(
    run: RunArgument,
    expressions: Annotated[
        list[str] | None,
        typer.Argument(help='As "They ran. - He ran. + He sings."; weights before sentences. None: lines on stdin.'),
    ] = None,
    file: FromFile = None,
    beam: Beam = 1,
    n_best: NBest = 1,
    noise: Noise = None,
    scores: Scores = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Arithmetic with sentences: They ran. - He ran. + He sings."""
    model = load_model(run, device)
    ask = partial(model.solve, beam=beam, n_best=n_best, noise=noise)
    _print(answers(ask, read_texts(expressions, file)), scores, as_json, "expression")


def sample(
    run: RunArgument,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1_000_000, help="So many sentences.")] = 10,
    component: Annotated[
        int | None, typer.Option(min=0, help="From this part of the mixture only, counted from 0.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="From one normal distribution, not from a mixture.")] = False,
    temperature: Annotated[float, typer.Option(help="Spread of the vectors; 1: as in the training text.")] = 1.0,
    noise: Noise = None,
    beam: Beam = 1,
    scores: Scores = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same sentences.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """New sentences, from vectors drawn at random."""
    model = load_model(run, device)
    found = model.sample(
        count, component=component, plain=plain, temperature=temperature, noise=noise, beam=beam, seed=seed
    )
    _print(enumerate([one] for one in found), scores, as_json, "sample")


def neighbours(
    run: RunArgument,
    texts: Texts = None,
    file: FromFile = None,
    among: Annotated[str, typer.Option(metavar="FILE", help="The sentences to look among, one a line.")] = "",
    k: Annotated[int, typer.Option("-k", min=1, max=100_000, help="So many for each text.")] = 5,
    measure: Measure = "cosine",
    index: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the vectors of --among here, for the next time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Look among the first so many; 0: among all.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The sentences of a file whose vectors are nearest to each text: similarity, sentence."""
    if not among:
        raise UsageError("Say where to look: --among FILE.")
    model = load_model(run, device)
    lines = list(read_texts(texts, file))
    found = model.neighbours(
        lines,
        lambda: islice(read_texts(None, among), limit or None),
        k=k,
        measure=measure,
        index=index,
        report=notify,
    )
    with Printer(as_json) as show:
        for text, row in zip(lines, found, strict=True):
            for one in row:
                item = {"text": text, "neighbour": one.text, "similarity": one.similarity, "place": one.place}
                show(f"{one.similarity:.4f}\t{one.text}", item)


def _print(found: Iterable[tuple[object, list[Scored]]], scores: bool, as_json: bool, what: str) -> None:
    """Sentences, a line each; as JSON, with what they answer and how probable they are."""
    with Printer(as_json) as show:
        for asked, row in found:
            for one in row:
                line = f"{one.log_probability:.4f}\t{one.text}" if scores else one.text
                show(line, {what: asked, "text": one.text, "log_probability": one.log_probability})


def _vectors(file: Path) -> np.ndarray:
    """The array in a .npy file."""
    from lexigraph.stored import array_in

    if not file.exists():
        raise LexigraphError(f"There is no file {file}.")
    return array_in(file)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--weights takes numbers, as 0.7,0.3, not {text!r}.") from None
