"""Ways to pre-train on little text, for the same number of tokens: loss against tokens seen, then linear probes.

    python benchmarks/pretraining.py grammar runs/pretraining --tokens 600000 --set model.dim=64
    python benchmarks/pretraining.py my.txt runs/p --only bert          one variant; on a GPU, several side by side
    python benchmarks/pretraining.py my.txt runs/p --table              what is finished, and no training

Each variant has a folder of its own in OUT, is trained by `lexigraph.train`, and gone on with if it is there already;
what is measured stands in its `results.json` under "pretraining". --set is for all (train.compile=true and the like).
All variants have one tokenizer and one split. Tokens are those of batches, padding included.

NLL of masked tokens is measured with 15 % masked, that of next tokens over all tokens: columns of one kind can be
compared with each other, the two kinds cannot. `bert, spans` guesses spans, which is harder.

After it, `downstream` asks the frozen network: logistic regression on the mean state of a sentence (over its tokens
and the network's layers) for tense, number and polarity of sentences of the built-in grammar, on combinations of
word and construction that the probe has not seen (evaluation/latent/probes.py), and for the construction. The mean of
the four is its last column; `untrained` is what first weights make of it. A `Downstream` takes a model and gives
scores by name, so that another suite can stand in its place.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexigraph
from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import TextModel
from lexigraph.evaluation.latent.probes import FEATURES, labelled_pairs, probe
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.nn.network import Reader, columns_of
from lexigraph.run import Run
from lexigraph.text.builtin import records
from lexigraph.text.vocabularies import Vocabularies
from lexigraph.training.distribution import World
from lexigraph.training.schedules import batches_before

Changes = dict[str, Any]
FALLING: Changes = {"objective.mask_rate": 0.3, "objective.final_mask_rate": 0.15}
PLAIN: Changes = {
    "model.gated": False,
    "model.inner": 0,
    "objective.mask_rate": 0.15,
    "objective.final_mask_rate": 0.0,
}
VARIANTS: dict[str, tuple[str, Changes]] = {  # recipe, and what is changed in it
    "gpt": ("gpt", {}),
    "bert": ("bert", {}),
    "bert, larger first weights": ("bert", {"model.init": 0}),
    "bert, 30 to 15 % masked": ("bert", {"model.init": 0, **FALLING}),
    "bert, batches grow fourfold": ("bert", {"model.init": 0, "train.batch_growth": 4}),
    "bert, spans": ("bert", {"model.init": 0, "objective.spans": True}),
    "bert, gated": ("bert", {"model.init": 0, "model.gated": True}),
    "electra": ("electra", {}),
    "gpt-bert, 1:15, plain": ("gpt-bert", PLAIN),
    "gpt-bert, 1:15": ("gpt-bert", FALLING),
    "gpt-bert, 1:1": ("gpt-bert", {**FALLING, "objective.causal_share": 0.5}),
}
ALWAYS: Changes = {"tokenizer.special": ["<mask>"], "train.tensorboard": False, "train.warmup": 50}
VALIDATIONS = 4
Downstream = Callable[[TextModel], dict[str, float]]


def asked_for(name: str, given: argparse.Namespace) -> tuple[str, Changes]:
    """The recipe of a variant and all that is changed, steps for so many tokens included."""
    recipe, changes = VARIANTS[name]
    changes = {**ALWAYS, **changes, **recipes.settings(given.set), "data.train": given.corpus}
    settings = recipes.read(recipe, changes).train
    steps = max(VALIDATIONS, round(given.tokens / settings.batch_tokens * 2 / (1 + settings.batch_growth)))
    changes |= {"train.steps": steps, "train.validate_every": -(-steps // VALIDATIONS)}
    if changes.get("objective.final_mask_rate"):
        changes["objective.mask_steps"] = steps
    if changes.get("model.gated", recipe == "gpt-bert") and "model.inner" not in recipes.settings(given.set):
        dim = recipes.read(recipe, changes).model.dim
        changes["model.inner"] = 8 * dim // 3  # three matrices with as many weights as two
    return recipe, changes


def measured(name: str, given: argparse.Namespace, downstream: Downstream) -> None:
    """Train a variant, if that has not been done, and note in its results what came of it."""
    folder = given.out / re.sub(r"\W+", "-", name)
    recipe, changes = asked_for(name, given)
    if not folder.exists() or not Run.open(folder).finished:
        lexigraph.train(recipe, out=folder, set=changes, resume=folder.exists(), quiet=True)
    run = Run.open(folder)
    settings = run.recipe().train
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    curve = []
    for line in lines:
        if line["kind"] == "valid":
            batches = batches_before(line["step"], settings.steps, settings.batch_growth)
            scores = {key: line[key] for key in ("nll", "next_nll", "f1") if key in line}
            if recipe == "gpt":
                scores = {"next_nll": line["loss"]}
            curve.append({"tokens": batches * settings.batch_tokens, **scores})
    results = run.json("results.json")
    results["pretraining"] = {"variant": name, "curve": curve, "downstream": downstream(api.load(folder))}
    run.write("results.json", results)


# ---- downstream: linear probes of frozen states ----------------------------------------------------------------


def probes(spaced: bool, training: int, testing: int) -> Downstream:
    """Accuracy of each probe, in per cent."""

    def of(model: TextModel) -> dict[str, float]:
        found = {}
        for feature, edit in FEATURES.items():
            sides = []
            for split, count in (("train", training), ("test", testing)):
                pairs = islice(labelled_pairs(edit, 0, split), count // 2)
                texts = [spelled(text, spaced) for pair in pairs for text in pair]
                sides += [states(model, texts), np.tile([0, 1], count // 2)]
            found[feature] = probe(*sides, together=2)["accuracy"]["value"]
        kept = [record.columns for record in records(("text", "label"), training + testing)]
        texts = [spelled(str(each["text"]), spaced) for each in kept]
        _, labels = np.unique([str(each["label"]) for each in kept], return_inverse=True)
        z = states(model, texts)
        found["construction"] = probe(z[:training], labels[:training], z[training:], labels[training:])["accuracy"][
            "value"
        ]
        return {name: 100 * value for name, value in found.items()}

    return of


@torch.inference_mode()
def states(model: TextModel, texts: Sequence[str]) -> np.ndarray:
    """The mean state of each text, over its tokens and the layers of the network."""
    network = model.network
    assert isinstance(network, Reader)
    begin, end = model.tokenizer.begin, model.tokenizer.eos
    rows = [np.array([begin, *row.tolist(), end]) for row in model.rows(texts)[0]]
    z = []
    for first in range(0, len(rows), 64):
        read = network.states(network.reading(rows[first : first + 64]).to(model.device))
        summed = torch.stack([layer.float() for layer in read.layers]).mean(0)
        inside = torch.arange(summed.shape[1], device=summed.device) < read.lengths[:, None]
        z.append(((summed * inside[..., None]).sum(1) / read.lengths[:, None]).cpu().numpy())
    return np.concatenate(z)


def untrained(given: argparse.Namespace, downstream: Downstream) -> dict[str, float]:
    """What the probes find in the first weights of bert, its vocabulary learned."""
    folder = given.out / "untrained"
    recipe, changes = asked_for("bert, larger first weights", given)
    if not folder.exists():
        api.prepare(recipe, out=folder, set=changes, quiet=True)
    run = Run.open(folder)
    training, _ = api.training_of(run, World(torch.device("cpu")))
    vocabularies = Vocabularies.load(run, columns_of(run.recipe()))
    return downstream(TextModel(training.network, vocabularies, run.recipe(), folder))


# ---- tables ------------------------------------------------------------------------------------------------------


def table(out: Path, first: dict[str, float] | None) -> str:
    """What is finished, a row a variant."""
    found = [json.loads(file.read_text()) for file in sorted(out.glob("*/results.json"))]
    order = list(VARIANTS)
    rows = sorted(
        (each for each in found if "pretraining" in each),
        key=lambda each: order.index(each["pretraining"]["variant"]),
    )
    if not rows:
        return "Nothing is finished yet."
    return "\n".join([*losses(rows), "", *downstream_table(rows, first)])


def losses(rows: list[dict[str, Any]]) -> list[str]:
    """Loss against tokens seen."""
    most = max(len(row["pretraining"]["curve"]) for row in rows)
    lines = [
        f"| NLL of masked / next tokens after so many thousand tokens |{' |' * most} seconds |",
        "| --- |" + " --- |" * (most + 1),
    ]
    for row in rows:
        cells = [_cell(point) for point in row["pretraining"]["curve"]]
        cells += [""] * (most - len(cells))
        lines.append(f"| {row['pretraining']['variant']} | {' | '.join(cells)} | {row['seconds']:.0f} |")
    return lines


def _cell(point: dict[str, float]) -> str:
    values = [f"{point[key]:.2f}" if key in point else "–" for key in ("nll", "next_nll")]
    caught = f" (F1 {100 * point['f1']:.0f} %)" if "f1" in point else ""
    return f"{point['tokens'] // 1000}: {' / '.join(values)}{caught}"


def downstream_table(rows: list[dict[str, Any]], first: dict[str, float] | None) -> list[str]:
    """Accuracy of the probes, and their mean."""
    scores = {row["pretraining"]["variant"]: row["pretraining"]["downstream"] for row in rows}
    if first:
        scores["untrained"] = first
    names = list(next(iter(scores.values())))
    lines = [f"| probes, % right | {' | '.join(names)} | mean |", "| --- |" + " --- |" * (len(names) + 1)]
    for variant, own in scores.items():
        values = [own[name] for name in names]
        lines.append(f"| {variant} | {' | '.join(f'{value:.1f}' for value in [*values, np.mean(values)])} |")
    return lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("corpus")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--tokens", type=int, default=1_000_000, help="that each variant reads")
    arguments.add_argument("--only", action="append", choices=list(VARIANTS), help="this variant; else all")
    arguments.add_argument("--set", action="append", default=[], help="section.key=value, for all variants")
    arguments.add_argument("--table", action="store_true", help="only print what is finished")
    arguments.add_argument("--training", type=int, default=1000, help="sentences that a probe learns from")
    arguments.add_argument("--testing", type=int, default=500, help="sentences that a probe is tried on")
    given = arguments.parse_args()
    downstream = probes(given.corpus == "grammar", given.training, given.testing)
    for name in [] if given.table else given.only or VARIANTS:
        measured(name, given, downstream)
        print(f"{name} is done.", flush=True)
    first = None if given.only and not given.table else untrained(given, downstream)
    print(table(given.out, first))


if __name__ == "__main__":
    main()
