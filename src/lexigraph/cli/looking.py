"""The verb that looks inside: look.

Each way of looking is an option and a function below; exactly one is asked for at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from lexigraph.cli.options import (
    AsJson,
    Device,
    Force,
    FromFile,
    Texts,
    Towards,
    load_model,
    notify,
    print_json,
    print_table,
    read_texts,
)
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.views.picture import Picture


def _flag(name: str, about: str) -> typer.models.OptionInfo:
    return typer.Option(f"--{name}", help=about)


Run = Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder; --cliff needs none.")]
Alignment = Annotated[bool, _flag("alignment", "A translator: where it looked while it wrote each piece.")]
Attention = Annotated[
    bool, _flag("attention", "A transformer: what each head of each layer looks at; a captioner: each word.")
]
Probabilities = Annotated[
    bool, _flag("probabilities", "A language model: each token's probability, and its alternatives.")
]
Neurons = Annotated[bool, _flag("neurons", "A language model: the text in the colours of single cells.")]
States = Annotated[bool, _flag("states", "The states of all tokens as a map.")]
LAYERS = "What a tagger or classifier takes of each layer of its part; with --file tags.conll, what each layer knows."
Layers = Annotated[bool, _flag("layers", LAYERS)]
Samples = Annotated[bool, _flag("samples", "What a run wrote at several times of its training (train.snapshots).")]
Gradients = Annotated[
    bool, _flag("gradients", "A recurrent language model: how the gradient flows back, and its gates.")
]
Gates = Annotated[bool, _flag("gates", "Each gate along one text, word by word.")]
Cliff = Annotated[bool, _flag("cliff", "The loss of a recurrent unit over its two weights, and optimizers on it.")]
Positions = Annotated[bool, _flag("positions", "A vision transformer: which positions of patches are alike.")]
Beside = Annotated[list[Path] | None, typer.Option(metavar="RUN", help="--gradients: compare with this run, too.")]
Steps = Annotated[int, typer.Option(min=2, max=10_000, help="--gradients: how many tokens far back.")]
Cells = Annotated[
    list[str] | None,
    typer.Option(help="--neurons: show this one, as 'c 17', or a gate, as 'forget 3'; may be given again."),
]
Heads = Annotated[
    list[str] | None,
    typer.Option(help="--attention: this head alone, as 'encoder.0 2', or a layer; may be given again."),
]
Word = Annotated[
    str, typer.Option(help="--states, --layers: this word alone, in all the texts: its senses, its tags.")
]
LayerNumber = Annotated[
    int | None, typer.Option(help="--states: which layer; 0: what goes in, -1: the last, as without.")
]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it there: .html, a page; .png, .svg, .pdf.")]
WAYS_OF = {  # which ways of looking an option is of
    "--beside": ("gradients",),
    "--to": ("alignment", "attention"),
    "--cell": ("neurons",),
    "--head": ("attention",),
    "--word": ("states", "layers"),
    "--layer": ("states",),
}


def look(
    run: Run = None,
    texts: Texts = None,
    file: FromFile = None,
    alignment: Alignment = False,
    attention: Attention = False,
    probabilities: Probabilities = False,
    neurons: Neurons = False,
    states: States = False,
    layers: Layers = False,
    samples: Samples = False,
    gradients: Gradients = False,
    gates: Gates = False,
    cliff: Cliff = False,
    positions: Positions = False,
    beside: Beside = None,
    steps: Steps = 100,
    cell: Cells = None,
    to: Towards = None,
    head: Heads = None,
    word: Word = "",
    layer: LayerNumber = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Look inside a model: numbers here and, with --out, a picture or a page that opens offline."""
    from lexigraph.outputs import free_file
    from lexigraph.views.picture import SUFFIXES, save

    options = {"--beside": beside, "--cell": cell, "--head": head, "--word": word, "--layer": layer, "--to": to}
    flags = {"alignment": alignment, "attention": attention, "probabilities": probabilities, "neurons": neurons,
             "states": states, "layers": layers, "samples": samples, "gradients": gradients, "gates": gates,
             "cliff": cliff, "positions": positions}  # fmt: skip
    way = _way(flags, run, options)
    if layers and (texts or file == "-"):
        raise UsageError("--layers reads no texts but those of a file with tags: --file tags.conll.")
    if out is not None:
        free_file(out, "a picture", SUFFIXES, force)
    if run is None:
        seen = _cliff()
    elif layers:
        seen = _layers(run, file, word, device)
    elif positions:
        seen = _positions(run, device)
    elif neurons:
        seen = _neurons(run, _whole(texts, file), cell or [], device)
    else:
        given = list(read_texts(texts or ([""] if samples and file is None else None), file))
        if way in ("alignment", "attention", "probabilities", "gates") and len(given) != 1:
            raise UsageError(f"--{way} follows one text, and there are {len(given)}.")
        ways: dict[str, Callable[[], Seen]] = {
            "alignment": lambda: _alignment(run, given[0], to, device),
            "attention": lambda: _attention(run, given[0], head or [], to, device),
            "probabilities": lambda: _probabilities(run, given[0], device),
            "gates": lambda: _gates(run, given[0], device),
            "gradients": lambda: _gradients([run, *(beside or [])], given, steps, device),
            "states": lambda: _states(run, given, word, -1 if layer is None else layer, device),
            "samples": lambda: _samples(run, given, device),
        }
        seen = ways[way]()
    if out is not None:
        save(seen.picture, out)
    if as_json:
        print_json(seen.facts)
    else:
        print_table(seen.columns, seen.rows)
    if out is not None:
        notify(f"The picture: {out}")


def _way(flags: Mapping[str, bool], run: Path | None, options: Mapping[str, object]) -> str:
    """The one way of looking that is asked for, with options of its own."""
    if sum(flags.values()) != 1:
        raise UsageError(f"Say what to look at, one thing at a time: {', '.join(f'--{name}' for name in flags)}.")
    (way,) = (name for name, wanted in flags.items() if wanted)
    if (run is None) != (way == "cliff"):
        of_none = "--cliff is of no run: leave the run out."
        raise UsageError(of_none if way == "cliff" else "Name the run to look into.")
    for option, given in options.items():
        if given and way not in WAYS_OF[option]:
            raise UsageError(f"{option} is an option of {' and '.join(f'--{name}' for name in WAYS_OF[option])}.")
    return way


def _whole(texts: list[str] | None, file: str | None) -> str:
    """The texts as one, of a file with its blank lines: what a cell keeps track of may depend on them."""
    from lexigraph.cli.options import MOST_CHARS
    from lexigraph.text.source import Source, line_blocks

    if texts or not file or file == "-":
        return "\n".join(read_texts(texts, file))
    return "\n".join(line for block in line_blocks(Source(file), MOST_CHARS) for line in block)


class Seen(NamedTuple):
    """What a way of looking finds: for programs, as a table, and to be drawn."""

    facts: Mapping[str, object] | Sequence[object]
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    picture: Picture


def _alignment(run: Path, text: str, to: str | None, device: str) -> Seen:
    """Where a translator looked."""
    from lexigraph.views import alignment

    model = load_model(run, device)
    found = alignment.translated(model, text, to)
    assert found.alignment is not None
    best = [(row.argmax(), row.max()) for row in found.alignment]
    rows = [
        (piece, found.source[place], f"{share:.2f}") for piece, (place, share) in zip(found.target, best, strict=True)
    ]
    facts = {"source": found.source, "target": found.target, "translation": found.text}
    facts |= {"alignment": found.alignment.tolist()}
    return Seen(facts, ("written", "looked at", "share"), rows, alignment.picture(model, found))


def _attention(run: Path, text: str, heads: Sequence[str], to: str | None, device: str) -> Seen:
    """What each head of a transformer looks at; of a pair (source, tab, target), while the target is written."""
    from lexigraph.views import attention, vision

    model = load_model(run, device)
    if vision.sees(model):
        over = vision.chosen(vision.looks(model, text), heads)
        best = [(look.name, *map(str, look.best), f"{look.weights.max():.2f}") for look in over.looks]
        told = [{"name": look.name, "weights": look.weights.tolist()} for look in over.looks]
        return Seen(told, ("piece or head", "row", "column", "share"), best, vision.picture(model, over))
    (source, _, target) = text.partition("\t")
    found = attention.chosen(attention.heads(model, source, target or None, to), heads)
    facts = [
        {"layer": head.name, "head": head.number, "favours": head.kind, "bits": head.entropy,
         "distance": head.distance, "shares": head.shares, "rows": head.rows, "columns": head.columns,
         "weights": head.weights.tolist()}
        for head in found
    ]  # fmt: skip
    return Seen(facts, attention.COLUMNS, attention.rows(found), attention.picture(model, found))


def _positions(run: Path, device: str) -> Seen:
    """How alike the positions of patches are."""
    from lexigraph.views import vision

    model = load_model(run, device)
    found = vision.similarities(model)
    means = vision.means(found)
    rows = [(name, f"{value:+.3f}") for name, value in means.items()]
    facts = {"similarities": found.tolist(), "means": means}
    return Seen(facts, ("mean cosine with others in", "value"), rows, vision.positions(model, found))


def _probabilities(run: Path, text: str, device: str) -> Seen:
    """How probable each token was."""
    from lexigraph.views import probabilities
    from lexigraph.views.picture import shown

    model = load_model(run, device)
    found = probabilities.along(model, text)
    rows = [
        (shown(each.token), f"{each.probability:.4f}",
         ", ".join(f"{shown(token)} {share:.2f}" for token, share in each.alternatives))
        for each in found
    ]  # fmt: skip
    facts = [vars(each) for each in found]
    return Seen(facts, ("token", "probability", "most probable"), rows, probabilities.picture(model, found))


def _neurons(run: Path, text: str, cells: Sequence[str], device: str) -> Seen:
    """What single cells keep track of; without a choice, those that go best with a property of the text."""
    from lexigraph.views import neurons

    model = load_model(run, device)
    found = neurons.along(model, text, gates=bool(cells))
    made = [] if cells else neurons.jobs(found)
    chosen = list(dict.fromkeys(cells or [job.cell for job in made]))[:8]
    rows: list[tuple[str, ...]] = [
        (job.property, job.cell, f"{job.r:+.3f}", f"{job.held_out:+.3f}", f"{job.by_chance:.3f}") for job in made
    ]
    columns: tuple[str, ...] = ("property", "cell", "r where chosen", "r held out", "largest by chance")
    if cells:
        columns = ("cell", "mean", "deviation", "least", "most")
        values = {name: found.cell(name) for name in chosen}
        rows = [(name, *(f"{x:.3f}" for x in (v.mean(), v.std(), v.min(), v.max()))) for name, v in values.items()]
    facts = {"jobs": [vars(job) for job in made], "cells": chosen}
    return Seen(facts, columns, rows, neurons.picture(model, found, chosen, made))


def _states(run: Path, texts: list[str], word: str, layer: int, device: str) -> Seen:
    """The states of all tokens, or of one word in all texts, as a map."""
    from lexigraph.views import states

    model = load_model(run, device)
    found = states.senses(model, word, texts, layer) if word else states.places(model, texts, layer)
    tokens = [token for text in found.texts for token in text]
    rows = [(token, f"{x:.3f}", f"{y:.3f}") for token, (x, y) in zip(tokens, found.places.tolist(), strict=True)]
    facts = {"layer": found.layer, "explained": found.explained, "tokens": tokens, "places": found.places.tolist()}
    return Seen(facts, ("token", "x", "y"), rows, states.picture(model, found))


def _layers(run: Path, file: str | None, word: str, device: str) -> Seen:
    """What a task takes of each layer of its part, and what each layer knows of the tags in a file."""
    from lexigraph.views import layers, probing

    if word and not file:
        raise UsageError("--word needs texts with tags: --file tags.conll.")
    model = load_model(run, device)
    taken = layers.weights(model) if file else layers.mixed(model)
    known = probing.probed(model, probing.tagged(file), word) if file else None
    facts: dict[str, object] = {"weights": {str(layer): weight for layer, weight in taken.items()}}
    columns: tuple[str, ...] = ("layer", "weight") if taken else ("layer",)
    rows = {str(layer): [f"{weight:.3f}"] for layer, weight in taken.items()}
    if known:
        facts |= {"accuracy": {str(layer): each for layer, each in known.layers.items()},
                  "most_frequent_tag": known.most_frequent, "fitted": known.fitted, "judged": known.judged,
                  "tags": known.tags}  # fmt: skip
        columns = (*columns, "accuracy of a probe", "95 %")
        named = {str(layer): each for layer, each in known.layers.items()} | {"each word's tag": known.most_frequent}
        empty = [""] * bool(taken)
        rows = {
            name: [*rows.get(name, empty), f"{each['value']:.3f}", " to ".join(f"{x:.3f}" for x in each["interval"])]
            for name, each in named.items()
        }
    title = f"What the layers know of {word or 'tags'}" if known else "What is taken of each layer"
    table = [(name, *cells) for name, cells in rows.items()]
    return Seen(facts, columns, table, layers.picture(model, taken, known, title))


def _samples(run: Path, prompts: list[str], device: str) -> Seen:
    """What a run wrote at several times of its training."""
    from lexigraph.views import samples

    found = samples.over_time(run, prompts, device)
    rows = [(each.epoch, each.text.replace("\n", "⏎")) for each in found]
    facts = [each._asdict() for each in found]
    return Seen(facts, ("when", "what"), rows, samples.picture(load_model(run, device), found))


def _cliff() -> Seen:
    """Where four optimizers go on the loss of a recurrent unit."""
    from lexigraph.views import cliff

    paths = cliff.paths()
    facts = {name: (cliff.longest(path), float(cliff.losses(path)[-1])) for name, path in paths.items()}
    rows = [(name, f"{step:.4f}", f"{loss:.4f}") for name, (step, loss) in facts.items()]
    named = {name: {"longest_step": step, "loss": loss} for name, (step, loss) in facts.items()}
    return Seen(named, ("steps", "the longest", "loss at the end"), rows, cliff.picture(paths))


def _gradients(runs: Sequence[Path], texts: list[str], steps: int, device: str) -> Seen:
    """How the gradient of each run flows back."""
    from lexigraph.views import gradients
    from lexigraph.views.picture import made_by

    models = [load_model(run, device) for run in runs]
    flows = [gradients.flow(model, texts, steps, run.name) for model, run in zip(models, runs, strict=True)]
    rows: list[tuple[str, ...]] = []
    for each in flows:
        for back in sorted({1, len(each.norms["h"])}):
            far = f"{back} step{'s' * (back > 1)} back"
            rows += [(each.name, f"‖∂L/∂{key}‖ {far}", f"{n[back - 1]:.3g}") for key, n in each.norms.items()]
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
    facts: Mapping[str, object] = {
        each.name: {
            "norms": {key: norms.tolist() for key, norms in each.norms.items()},
            "singular_values": {key: values.tolist() for key, values in each.singular.items()},
            "gates": {gate: {"shut": a, "open": b} for gate, (a, b) in each.saturated.items()},
            "weights_norm": each.weights_norm,
            "kept_by_clipping": each.kept,
        }
        for each in flows
    }
    return Seen(facts, ("run", "", "value"), rows, gradients.picture(flows, made_by(*models)))


def _gates(run: Path, text: str, device: str) -> Seen:
    """The gates of a run along one text."""
    from lexigraph.views import gates

    model = load_model(run, device)
    found = gates.along(model, text)
    means = {gate: values.mean(1) for gate, values in found.values.items()}
    rows = [(word, *(f"{mean[n]:.3f}" for mean in means.values())) for n, word in enumerate(found.tokens)]
    facts = {"tokens": found.tokens, "gates": {gate: mean.tolist() for gate, mean in means.items()}}
    return Seen(facts, ("token", *means), rows, gates.picture(model, found))
