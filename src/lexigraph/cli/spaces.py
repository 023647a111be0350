"""The verbs of sentence spaces: encode, decode, pictures, read, blend, solve, sample, neighbours.

Vectors travel as .npy files, pictures as PNG files that carry the model's fingerprint, sentences as lines of text.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import (
    Alpha,
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

    from lexigraph.abilities.decoded import Decoded

Noise = Annotated[float | None, typer.Option(help="How far a vector may be from the sentence meant: 0, 0.5, 1 …")]
Lossless = Annotated[bool, typer.Option("--lossless", help="Move vectors until their pictures are read exactly.")]
Scores = Annotated[
    bool, typer.Option("--scores", help="Before each sentence: log-probability, round trip, nats per token, verdict.")
]
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
    alpha: Alpha = 0.7,
    noise: Noise = 0.0,
    scores: Scores = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The sentence of each vector; on a terminal, after how near it is, and whether it is doubtful."""
    model = load_model(run, device)
    found = model.decoded(_vectors(vectors), beam=beam, n_best=n_best, alpha=alpha, noise=noise or 0.0)
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
    alpha: Alpha = 0.7,
    noise: Noise = 0.0,
    any_picture: Annotated[
        bool, typer.Option("--any", help="Also pictures that were saved again: without notes, as JPEG, resized.")
    ] = False,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Each piece written, and where in the picture it looked most.")
    ] = False,
    scores: Scores = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """The sentence in each picture; on a terminal, after how near it is, and whether it is doubtful."""
    model = load_model(run, device)
    how = {"beam": beam, "alpha": alpha, "noise": noise or 0.0, "any": any_picture, "attention": alignment}
    found = model.read(files, confidence=True, **how)
    _print(((str(path), [one]) for path, one in zip(files, found, strict=True)), scores, as_json, "file")


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
    alpha: Alpha = 0.7,
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
    found = model.blend(*given, steps=steps, weights=rows, how=how, beam=beam, alpha=alpha, noise=noise)
    _print(zip((" → ".join(each) for each in given), found, strict=True), scores, as_json, "blend")
    if strip:
        way = model.path_between(*given[0], steps=steps, weights=rows, how=how)[0]
        save_strip(strip, model.pictures(way), scale=2, force=force)
        notify(f"The pictures are in {strip}.")


def solve(
    run: RunArgument,
    expressions: Annotated[
        list[str] | None,
        typer.Argument(help="Sums; none: one a line on stdin."),
    ] = None,
    file: FromFile = None,
    beam: Beam = 1,
    n_best: NBest = 1,
    alpha: Alpha = 0.7,
    noise: Noise = None,
    scores: Scores = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Sums of sentences, as "They ran. - He ran. + He sings." or "0.5 (They ran. - He ran.) + 'He sings.'"

    Signs stand between spaces. Quotes of any kind protect what they hold. A number is a factor before quotes, before
    a parenthesis or before *; before plain words if it is a decimal fraction (0.5 He ran.) or a capital follows (2 He
    ran.). "2 dogs ran." is a sentence.

    On a terminal each answer stands after how near it is (1.00: exactly there), and whether it is doubtful.
    """
    from lexigraph.latent.expression import parse

    model = load_model(run, device)
    ask = partial(model.solve, beam=beam, n_best=n_best, alpha=alpha, noise=noise)
    found = answers(ask, read_texts(expressions, file))
    if not as_json:
        _print(found, scores, False, "expression")
        return
    with Printer(True) as show:
        for expression, row in found:
            terms = [{"factor": part.weight, "text": part.text} for part in parse(expression)]
            for one in row:
                show("", {"expression": expression, "terms": terms} | as_item(one))


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
    alpha: Alpha = 0.7,
    scores: Annotated[bool, typer.Option("--scores", help="Print log-probabilities before the sentences.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same sentences.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """New sentences, from vectors drawn at random."""
    model = load_model(run, device)
    how = {"noise": noise, "beam": beam, "alpha": alpha, "seed": seed}
    found = model.sample(count, component=component, plain=plain, temperature=temperature, **how)
    with Printer(as_json) as show:
        for number, one in enumerate(found):
            line = f"{one.log_probability:.4f}\t{one.text}" if scores else one.text
            show(line, {"sample": number, "text": one.text, "log_probability": one.log_probability})


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


def _print(found: Iterable[tuple[object, list[Decoded]]], scores: bool, as_json: bool, what: str) -> None:
    """Sentences, a line each; as JSON, with what they answer, how probable they are and how far to be trusted.

    On a terminal the verdict stands before the sentence. In a pipe lines hold the sentence alone, so that the next
    program can read them, and doubtful ones are named on standard error.
    """
    people = sys.stdout.isatty()
    with Printer(as_json) as show:
        for asked, row in found:
            for one in row:
                trust = one.confidence
                line = one.text
                if scores:
                    numbers = f"{one.log_probability:.4f}\t{trust.round_trip:.4f}\t{trust.likelihood:.4f}"
                    line = f"{numbers}\t{trust.word}\t{line}"
                elif people:
                    line = f"{trust.round_trip:4.2f} {trust.word:8}  {line}"
                looked = [f"  {piece}\t{place}\t{share:.2f}" for piece, place, share in _looked_at(one)]
                show("\n".join([line, *looked]), {what: asked} | as_item(one))
                if trust.doubtful and not (scores or people or as_json):
                    notify(f"! doubtful (round trip {trust.round_trip:.2f}): {one.text}")


def as_item(one: Decoded) -> dict[str, object]:
    """A sentence as JSON has it."""
    trust = one.confidence
    item: dict[str, object] = {"text": one.text, "log_probability": one.log_probability}
    item |= {"round_trip": trust.round_trip, "likelihood": trust.likelihood, "doubtful": trust.doubtful}
    return item | ({"alignment": _looked_at(one)} if one.attention is not None else {})


def _looked_at(one: Decoded) -> list[tuple[str, str, float]]:
    """Each piece that was written, the patch of the picture that it looked at most, and how much."""
    if one.attention is None:
        return []
    flat = one.attention.reshape(len(one.pieces), 16)
    places = [f"row {best // 4 + 1}, column {best % 4 + 1}" for best in flat.argmax(1).tolist()]
    return list(zip((piece.strip() for piece in one.pieces), places, flat.max(1).tolist(), strict=True))


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
