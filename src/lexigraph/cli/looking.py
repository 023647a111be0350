"""The verb that looks inside: look.

Each way of looking is an option and a function below; exactly one is asked for at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    Force,
    FromFile,
    Texts,
    load_model,
    notify,
    print_json,
    print_table,
    read_texts,
)
from lexigraph.errors import UsageError

PICTURES = (".png", ".svg", ".pdf")


def look(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder; --cliff needs none.")] = None,
    texts: Texts = None,
    file: FromFile = None,
    gradients: Annotated[
        bool,
        typer.Option("--gradients", help="A recurrent language model: how the gradient flows back, and its gates."),
    ] = False,
    gates: Annotated[bool, typer.Option("--gates", help="Each gate along one text, word by word.")] = False,
    cliff: Annotated[
        bool, typer.Option("--cliff", help="The loss of a recurrent unit over its two weights, and optimizers on it.")
    ] = False,
    beside: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="--gradients: compare with this run, too.")
    ] = None,
    steps: Annotated[int, typer.Option(min=2, max=10_000, help="--gradients: how many tokens far back.")] = 100,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw a picture there: .png, .svg, .pdf.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Look inside a model: numbers here and, with --out, a picture."""
    from lexigraph.outputs import free_file

    if gradients + gates + cliff != 1:
        raise UsageError("Say what to look at, one thing at a time: --gradients, --gates or --cliff.")
    if (run is None) != cliff:
        raise UsageError("--cliff is of no run: leave the run out." if cliff else "Name the run to look into.")
    if beside and not gradients:
        raise UsageError("--beside compares gradients: add --gradients.")
    if out is not None:
        free_file(out, "a picture", PICTURES, force)
    if run is None:
        seen = _cliff(out)
    elif gradients:
        seen = _gradients([run, *(beside or [])], list(read_texts(texts, file)), steps, device, out)
    else:
        seen = _gates(run, list(read_texts(texts, file)), device, out)
    if as_json:
        print_json(seen.facts)
    else:
        print_table(seen.columns, seen.rows)
    if out is not None:
        notify(f"The picture: {out}")


class Seen(NamedTuple):
    """What a way of looking finds: for programs, and as a table."""

    facts: Mapping[str, object]
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def _cliff(out: Path | None) -> Seen:
    """Where four optimizers go on the loss of a recurrent unit."""
    from lexigraph.views import cliff

    paths = cliff.paths()
    if out is not None:
        cliff.draw(paths, out)
    facts = {name: (cliff.longest(path), float(cliff.losses(path)[-1])) for name, path in paths.items()}
    rows = [(name, f"{step:.4f}", f"{loss:.4f}") for name, (step, loss) in facts.items()]
    named = {name: {"longest_step": step, "loss": loss} for name, (step, loss) in facts.items()}
    return Seen(named, ("steps", "the longest", "loss at the end"), rows)


def _gradients(runs: Sequence[Path], texts: list[str], steps: int, device: str, out: Path | None) -> Seen:
    """How the gradient of each run flows back."""
    from lexigraph.views import gradients

    flows = [gradients.flow(load_model(run, device), texts, steps, run.name) for run in runs]
    if out is not None:
        gradients.draw(flows, out)
    rows: list[tuple[str, ...]] = []
    for each in flows:
        far = len(each.norms["h"])
        rows += [(each.name, f"‖∂L/∂{key}‖ 1 step back", f"{norms[0]:.3g}") for key, norms in each.norms.items()]
        rows += [
            (each.name, f"‖∂L/∂{key}‖ {far} steps back", f"{norms[-1]:.3g}") for key, norms in each.norms.items()
        ]
        rows += [
            (each.name, f"singular values of {key}", f"{v[0]:.3g} … {v[-1]:.3g}") for key, v in each.singular.items()
        ]
        rows += [(each.name, f"{gate} shut, open", f"{a:.0%}, {b:.0%}") for gate, (a, b) in each.saturated.items()]
        rows.append(
            (
                each.name,
                "gradient of the weights, share that clipping keeps",
                f"{each.weights_norm:.3g}, {each.kept:.3g}",
            )
        )
    facts = {
        each.name: {
            "norms": {key: norms.tolist() for key, norms in each.norms.items()},
            "singular_values": {key: values.tolist() for key, values in each.singular.items()},
            "gates": {gate: {"shut": a, "open": b} for gate, (a, b) in each.saturated.items()},
            "weights_norm": each.weights_norm,
            "kept_by_clipping": each.kept,
        }
        for each in flows
    }
    return Seen(facts, ("run", "", "value"), rows)


def _gates(run: Path, texts: list[str], device: str, out: Path | None) -> Seen:
    """The gates of a run along one text."""
    from lexigraph.views import gates

    if len(texts) != 1:
        raise UsageError(f"--gates follows one text, and there are {len(texts)}.")
    found = gates.along(load_model(run, device), texts[0])
    if out is not None:
        gates.draw(found, out)
    means = {gate: values.mean(1) for gate, values in found.values.items()}
    rows = [(word, *(f"{mean[n]:.3f}" for mean in means.values())) for n, word in enumerate(found.tokens)]
    facts = {"tokens": found.tokens, "gates": {gate: mean.tolist() for gate, mean in means.items()}}
    return Seen(facts, ("token", *means), rows)
