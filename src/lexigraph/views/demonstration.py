"""`lexigraph demo`: what the bundled model does with sentences, on the terminal and as a page with pictures."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError
from lexigraph.latent.pictures import as_data_uri
from lexigraph.outputs import free_file
from lexigraph.run import Run, replacing, with_parents
from lexigraph.views import report

if TYPE_CHECKING:
    from lexigraph.evaluation.reconstruction import Scores

MODEL = "books"
SENTENCES = (  # none of them is from a book
    "The rain had stopped, but nobody went outside.",
    "Have you ever seen a lighthouse in winter?",
    "My sister keeps three bees and a very small pony.",
    "'Leave the door open,' said the captain, 'and sit down.'",
    "She counted the coins twice before she answered him.",
    "Tell me what you saw, and tell me slowly!",
)
BLEND = ("I have never been so happy in my life.", "The old house stood alone upon the hill.")
SUMS = (
    "She is tired. - He is tired. + He is here.",
    "He was here. - He is here. + She is happy.",
    "They were singing. - He was singing. + He was waiting at the door.",
    "I will go. - I shall go. + I shall never forget you.",
)


def run(out: Path, model: str | Path = MODEL, force: bool = False) -> Path:
    """Reconstruct, blend, add and sample; print what comes out and write it to a page, whose path is returned.

    force: replace the page that is there.
    """
    if out.exists() and not out.is_dir():
        raise LexigraphError(f"{out} is a file: name a folder for the page.")
    page = free_file(out / "report.html", "a page", (".html",), force) if out.is_dir() else out / "report.html"
    if out.exists() and any(out.iterdir()) and not page.exists():
        raise LexigraphError(f"{out} is not empty and holds no demo: choose another --out.")
    begin = time.monotonic()
    loaded = TextModel.load(model, "cpu")
    scores = Run.open(model).json("results.json")["scores"]
    held_out = next((scores[name] for name in ("test", "valid") if name in scores), None)
    sections = {
        "A sentence, its picture, and the sentence again": _reconstructions(loaded),
        "From one sentence to another": _blend(loaded),
        "Arithmetic": _sums(loaded),
        "New sentences": _samples(loaded),
        "How good it is": _scores(held_out) if held_out else "<p>It was not measured on other text.</p>",
        "Go on": _further(model),
    }
    footer = "; ".join([*([held_out["signature"]] if held_out else []), f"fingerprint {loaded.fingerprint}"])
    seconds = time.monotonic() - begin
    lead = (
        f"A sentence becomes {loaded.network.latent} numbers, the numbers a picture of "
        f"{loaded.network.side} × {loaded.network.side} dots, and the picture the sentence again. All "
        f"of this took {seconds:.0f} seconds on this computer."
    )
    with with_parents(page), replacing(page) as temporary:
        temporary.write_text(report.page("Sentences as pictures", lead, sections, footer), encoding="utf-8")
    return page


def _reconstructions(model: TextModel) -> str:
    z = model.encode(SENTENCES)
    pictures = model.pictures(z)
    back = model.read(pictures)
    print("\nA sentence, its picture, and the sentence again")
    cards = []
    for sentence, pixels, text in zip(SENTENCES, pictures, back, strict=True):
        verdict = "read back exactly" if text == sentence else f"read as: {text}"
        print(f"  {sentence}\n      {verdict}")
        cards.append((as_data_uri(pixels, 2), f"{sentence} — {verdict}"))
    return report.figures(cards, columns=3)


def _blend(model: TextModel) -> str:
    path, _ = model.path_between(*BLEND)
    found = model.blend(*BLEND)
    print("\nFrom one sentence to another", *(f"  {one}" for one in found), sep="\n")
    cards = [(as_data_uri(p, 1), str(one)) for p, one in zip(model.pictures(path), found, strict=True)]
    return "<p>Seven steps along a straight line between two vectors.</p>" + report.figures(cards, columns=7)


def _sums(model: TextModel) -> str:
    rows = []
    print("\nArithmetic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in SUMS:
            answer = str(model.solve(expression)[0])
            rows.append((expression, answer))
            print(f"  {expression}\n      = {answer}")
    return report.table(("what is added and taken away", "gives"), rows)


def _samples(model: TextModel) -> str:
    found = [str(one) for one in model.sample(8, seed=2)]
    print("\nNew sentences", *(f"  {text}" for text in found), sep="\n")
    return (
        "<p>Vectors drawn at random from where the vectors of sentences lie, and read as sentences.</p>"
        + report.quotes(found)
    )


def _scores(scores: Scores) -> str:
    rows = [
        (
            "sentences written back exactly, in one pass",
            f"{scores['exact']['value']:.2%}",
            f"{scores['sentences']:,}",
        ),
        ("tokens right", f"{scores['accuracy']['value']:.2%}", f"{scores['tokens']:,}"),
        ("KL to the smoothed target, nats per token", f"{scores['kl']['value']:.4f}", f"{scores['tokens']:,}"),
    ]
    return "<p>On text that it has never seen.</p>" + report.table(("", "", "measured on"), rows)


def _further(model: str | Path) -> str:
    commands = (
        f'lexigraph blend {model} "He slept." "They sang." --strip strip.png',
        f'lexigraph solve {model} "They were here. - He was here. + He was tired."',
        f'lexigraph pictures {model} "Any sentence of yours." --out pictures',
        f"lexigraph read {model} pictures/0000.png",
        "lexigraph train picture --data my.txt --out runs/mine",
    )
    return "<pre>" + "\n".join(commands) + "</pre>"
