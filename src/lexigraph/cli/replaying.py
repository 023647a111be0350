"""The verb that runs a table of experiments with sentences: replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import (
    Alpha,
    AsJson,
    Beam,
    Device,
    Force,
    Printer,
    RunArgument,
    load_model,
    notify,
    print_table,
    write_text,
)
from lexigraph.cli.spaces import Noise, as_item

if TYPE_CHECKING:
    from lexigraph.evaluation.latent.replay import Answer

COLUMNS = ("", "", "family", "asked", "found", "intended", "published")


def replay(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE.tsv", help="The table: tab-separated, columns by name.")],
    beam: Beam = 1,
    alpha: Alpha = 0.7,
    noise: Noise = None,
    written_as: Annotated[
        str,
        typer.Option(
            help="How sentences are spelled for the model: given, books (I am there.), spaced (I am there .); auto: "
            "as it writes itself, if the table is in lower case and the model keeps case."
        ),
    ] = "auto",
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Also a page, with pictures.")] = None,
    as_json: AsJson = False,
    force: Force = False,
    device: Device = "auto",
) -> None:
    """Run a table of sums, interpolations and reconstructions; exits with 1 unless all came out as intended.

    A row fills `expression` (a sum, as solve takes it), or `from`, `to` and `t`, or `text`. What is expected stands
    in `intended` (of a text, the text itself), what others found in `published` and `score`, and `family` is a name
    to count by. Case, spacing around marks and contractions count as equal.
    """
    from lexigraph.evaluation.latent import replay as replaying
    from lexigraph.outputs import free_file

    if out is not None:
        free_file(out, "a page", (".html",), force)
    model = load_model(run, device)
    found = replaying.replay(model, file, beam=beam, alpha=alpha, noise=noise, written_as=written_as)
    if found.spelling != "given":
        notify(f"Sentences are given to the model {replaying.SPELLINGS[found.spelling]} (--written-as).")
    if as_json:
        with Printer(True) as show:
            for answer in found:
                show("", _item(answer))
    else:
        print_table(COLUMNS, [_cells(answer) for answer in found])
    if out is not None:
        from lexigraph.views.replaying import page

        write_text(out, page(found, str(run)), "a page", force)
        notify(f"The page is {out}.")
    notify(found.headline())
    if not found.met:
        raise typer.Exit(1)


def _cells(answer: Answer) -> tuple[str, ...]:
    row = answer.row
    verdict = {True: "met", False: "missed", None: ""}[answer.met]
    asked = next(iter(row.asked.values()))
    if row.kind == "interpolation":
        asked = f"{row.asked['from']} → {row.asked['to']} at {row.asked['t']}"
    return (verdict, answer.found.confidence.word, row.family, asked, answer.found.text, row.intended, row.published)


def _item(answer: Answer) -> dict[str, object]:
    row = answer.row
    item: dict[str, object] = {"line": row.line, "kind": row.kind, "family": row.family, **row.asked}
    item["terms"] = [{"factor": part.weight, "text": part.text} for part in row.terms]
    answered = as_item(answer.found)
    item |= {"found": answered.pop("text"), **answered, "met": answer.met, "intended": row.intended}
    return item | {"published": row.published, "published_score": row.score, "as_published": answer.as_published}
