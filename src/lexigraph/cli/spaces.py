"""The verbs of sentence spaces: encode, decode, pictures, read, blend, solve, sample, neighbours.

Vectors travel as .npy files, pictures as PNG files that carry the model's fingerprint, sentences as lines of text.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import Beam, Device, Measure, RunArgument, Texts, load_model, notify, read_texts
from lexigraph.errors import LexigraphError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from lexigraph.abilities.textmodel import Scored

Noise = Annotated[float | None, typer.Option(help="How far a vector may be from the sentence meant: 0, 0.5, 1 …")]
Lossless = Annotated[bool, typer.Option("--lossless", help="Move vectors until their pictures are read exactly.")]
Scores = Annotated[bool, typer.Option("--scores", help="Print log-probabilities before the sentences.")]


def encode(
    run: RunArgument,
    texts: Texts = None,
    out: Annotated[Path | None, typer.Option(help="The .npy file to write.")] = None,
    lossless: Lossless = False,
    unnormalised: Annotated[
        bool, typer.Option("--unnormalised", help="Keep the vectors' own lengths, for arithmetic.")
    ] = False,
    pooling: Annotated[str | None, typer.Option(help="Of an encoder: mean of its tokens' vectors, or cls.")] = None,
    device: Device = "auto",
) -> None:
    """The vector of each text, as a .npy file of shape (texts, numbers)."""
    import numpy as np

    from lexigraph.run import replacing

    if out is None or out.suffix != ".npy":
        raise UsageError("Say where the vectors go: --out FILE.npy.")
    z = load_model(run, device).encode(
        list(read_texts(texts)), lossless=lossless, unnormalised=unnormalised, pooling=pooling
    )
    with replacing(out) as temporary, temporary.open("wb") as file:
        np.save(file, z)
    print(out)


def decode(
    run: RunArgument,
    vectors: Annotated[Path, typer.Argument(metavar="FILE.npy", help="Vectors, one a row.")],
    beam: Beam = 1,
    n_best: Annotated[int, typer.Option(min=1, help="So many sentences for each vector.")] = 1,
    noise: Noise = 0.0,
    scores: Scores = False,
    device: Device = "auto",
) -> None:
    """The sentence of each vector."""
    model = load_model(run, device)
    for row in model.hypotheses(_vectors(vectors), beam=beam, n_best=n_best, noise=noise or 0.0):
        _print(row, scores)


def pictures(
    run: RunArgument,
    texts: Texts = None,
    out: Annotated[Path | None, typer.Option(help="The folder for 0000.png, 0001.png …")] = None,
    vectors: Annotated[Path | None, typer.Option(metavar="FILE.npy", help="Draw these instead of texts.")] = None,
    lossless: Lossless = False,
    device: Device = "auto",
) -> None:
    """Draw each text as a picture that `read` turns back into the text."""
    if out is None:
        raise UsageError("Say where the pictures go: --out FOLDER.")
    model = load_model(run, device)
    z = _vectors(vectors) if vectors else model.encode(list(read_texts(texts)), lossless=lossless)
    print(*model.save_pictures(z, out), sep="\n")


def read(
    run: RunArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE.png...", help="Pictures that this model drew.")],
    beam: Beam = 1,
    noise: Noise = 0.0,
    device: Device = "auto",
) -> None:
    """The sentence in each picture."""
    print(*load_model(run, device).read(files, beam=beam, noise=noise or 0.0), sep="\n")


def blend(
    run: RunArgument,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT TEXT [TEXT]", help="Two or three sentences.")],
    steps: Annotated[int, typer.Option(min=2, max=10_000, help="Sentences on the way, ends included.")] = 7,
    how: Annotated[str, typer.Option(help="linear or spherical.")] = "linear",
    weights: Annotated[str, typer.Option(help="One blend by weights instead, as 0.7,0.3 or 1.5,-0.5.")] = "",
    beam: Beam = 1,
    noise: Noise = None,
    scores: Scores = False,
    strip: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Also the pictures, side by side.")] = None,
    device: Device = "auto",
) -> None:
    """Sentences on the way from one to another, or between three."""
    model = load_model(run, device)
    rows = [[_number(part) for part in weights.split(",")]] if weights else None
    _print(model.blend(*texts, steps=steps, weights=rows, how=how, beam=beam, noise=noise), scores)
    if strip:
        from lexigraph.latent.pictures import save_strip

        save_strip(strip, model.pictures(model.path_between(*texts, steps=steps, weights=rows, how=how)[0]), scale=2)
        notify(f"The pictures are in {strip}.")


def solve(
    run: RunArgument,
    expression: Annotated[
        str, typer.Argument(help='As "They ran. - He ran. + He sings."; weights before sentences.')
    ],
    beam: Beam = 1,
    n_best: Annotated[int, typer.Option(min=1, help="So many answers.")] = 1,
    noise: Noise = None,
    scores: Scores = False,
    device: Device = "auto",
) -> None:
    """Arithmetic with sentences: They ran. - He ran. + He sings."""
    _print(load_model(run, device).solve(expression, beam=beam, n_best=n_best, noise=noise), scores)


def sample(
    run: RunArgument,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1_000_000, help="So many sentences.")] = 10,
    component: Annotated[int | None, typer.Option(help="From this part of the mixture only, counted from 0.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="From one normal distribution, not from a mixture.")] = False,
    temperature: Annotated[float, typer.Option(help="Spread of the vectors; 1: as in the training text.")] = 1.0,
    noise: Noise = None,
    beam: Beam = 1,
    scores: Scores = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same sentences.")] = 0,
    device: Device = "auto",
) -> None:
    """New sentences, from vectors drawn at random."""
    model = load_model(run, device)
    found = model.sample(
        count, component=component, plain=plain, temperature=temperature, noise=noise, beam=beam, seed=seed
    )
    _print(found, scores)


def neighbours(
    run: RunArgument,
    texts: Texts = None,
    among: Annotated[str, typer.Option(metavar="FILE", help="The sentences to look among, one a line.")] = "",
    k: Annotated[int, typer.Option("-k", min=1, help="So many for each text.")] = 5,
    measure: Measure = "cosine",
    limit: Annotated[int, typer.Option(help="Look among the first so many.")] = 20_000,
    device: Device = "auto",
) -> None:
    """The sentences of a file whose vectors are nearest to each text: similarity, sentence."""
    if not among:
        raise UsageError("Say where to look: --among FILE.")
    model = load_model(run, device)
    every = list(islice(read_texts(None, among), limit))
    fitting = [text for text, fits in zip(every, model.fits(every), strict=True) if fits]
    if len(fitting) < len(every):
        notify(f"{len(every) - len(fitting)} of {len(every)} sentences are too long for the model and left out.")
    for row in model.neighbours(list(read_texts(texts)), fitting, k=k, measure=measure):
        for found in row:
            print(f"{found.similarity:.4f}\t{found.text}")


def _print(found: list[Scored], scores: bool) -> None:
    for one in found:
        print(f"{one.log_probability:.4f}\t{one.text}" if scores else one.text)


def _vectors(file: Path) -> np.ndarray:
    """The array in a .npy file."""
    from lexigraph.files import array_in

    if not file.exists():
        raise LexigraphError(f"There is no file {file}.")
    return array_in(file)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--weights takes numbers, as 0.7,0.3, not {text!r}.") from None
